# SPDX-License-Identifier: Apache-2.0
"""The auditor that follows, on a real broker: killed again and again, it finds each violation within seconds."""

from __future__ import annotations

import json
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.broker import Broker
from tests.faults.deployed import Deployed, Process
from tests.faults.planted import auditor, until_more, violations
from tests.faults.recordings import recording
from tests.faults.test_audit_ledger import TEXT, write

PERIODS = 8
WITHIN_S = 10.0

pytestmark = pytest.mark.faults


@pytest.fixture(name="deployed")
def running(broker: Broker, tmp_path: Path) -> Iterator[Deployed]:
    found = Deployed(tmp_path, f"t-follow-{secrets.token_hex(4)}", broker.bootstrap, TEXT)
    try:
        found.create(2)
        yield found
    finally:
        found.close()


def killed(of: Deployed, process: Process) -> Process:
    """Kill it, and start the next one in its place."""
    process.kill()
    of.others.remove(process)
    following = process.again()
    of.others.append(following)
    return following


def test_it_finds_each_planted_violation_within_seconds_however_often_it_is_killed(deployed: Deployed) -> None:
    following = auditor(deployed)
    source = str(recording(deployed.folder / "clicks.jsonl", users=80, periods=PERIODS))
    worker, feed = deployed.worker(), deployed.feed(source)
    for count in range(2, PERIODS + 1, 2):  # while it goes on
        assert len(deployed.releases(count)) == count
        following = killed(deployed, following)
    assert feed.wait() == 0
    worker.terminate()
    assert worker.wait() == 0
    until_more(following, "holds  ", following.said().count("holds  "), 120)
    assert "VIOLATION" not in following.said()

    for kind, violation in list(violations(deployed, "screen")):
        said = following.said().count(f"VIOLATION {kind}")
        write(deployed, violation)
        until_more(following, f"VIOLATION {kind}", said, WITHIN_S)
        said = following.said().count("VIOLATIONS  ")
        following = killed(deployed, following)
        until_more(following, "VIOLATIONS  ", said, 120)
    following.terminate()
    assert following.wait() == 4
    once = deployed.run("audit", "ledger", "--json")
    assert once.returncode == 4
    counts = json.loads(once.stdout)["violations"]
    table = following.said().splitlines()
    for kind, count in counts.items():
        if count:
            assert any(line.split()[:2] == [kind, str(count)] for line in table), (kind, count, table[-20:])
    assert "user-" not in following.said()


def test_what_it_says_when_it_is_stopped_and_what_it_refuses(deployed: Deployed) -> None:
    following = auditor(deployed)
    following.until("holds  ", 60)
    following._process.send_signal(signal.SIGTERM)
    assert following.wait() == 0
    assert following.said().splitlines()[-1] == "  holds"
    (deployed.folder / "audited" / "auditor.state").write_bytes(b"nothing of ours")
    other = auditor(deployed)
    assert other.wait() == 2
    assert "Remedy: empty it" in other.said().splitlines()[-1]
