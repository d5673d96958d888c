# SPDX-License-Identifier: Apache-2.0
"""A horizon that is cut by a stop on a real broker: every worker ends, events go on, another file is refused meanwhile.

Contract: the releases are those of a replay of the same recording, byte for byte, and the auditor has nothing to say.
Not here: workers that are killed (test_shares_on_kafka.py), stops at every record (tests/agents/stages).
"""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.faults.broker import Broker
from tests.faults.deployed import Deployed, Process
from tests.faults.recordings import promise
from tests.faults.test_shares_on_kafka import METHODS, STREAMS, recording

PERIODS = 12
METHOD = METHODS["changes"]


def deployed(folder: Path, name: str, broker: Broker) -> Deployed:
    """A deployment whose horizons last three periods."""
    text = promise(epsilon=2.0, periods=4, min_batch=20, partitions=2)
    text += f'[streams.changes]\nevery = "1s"\nmethod = {METHOD}\nmissing = {{ carry = "2s" }}\nshare = 1.0\n'
    return Deployed(folder, name, broker.bootstrap, text + STREAMS["changes"].table)


def refuses(told: Deployed, old: str, new: str) -> str:
    """What a worker says, on its end, of a file in which one thing has changed."""
    other = told.folder / "other.toml"
    text = told.file.read_text()
    assert old in text
    other.write_text(text.replace(old, new))
    args = [*told.command, "worker", "-c", str(other), "--instance", "other"]
    process = Process(args, told.folder / "other.log", {"MURMURATE__WEB__LISTEN": "127.0.0.1:0"})
    try:
        assert process.wait() != 0
    finally:
        if process.running:
            process.kill()
    return process.said()


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_a_stop_of_everybody_within_a_horizon_changes_no_byte(
    broker: Broker, deployment_name: str, tmp_path: Path
) -> None:
    told = deployed(tmp_path / "deployed", deployment_name, broker)
    try:
        told.create()
        source = str(recording(["changes"], tmp_path / "all.jsonl", users=1_900, periods=PERIODS))
        wanted = told.expected(source)
        assert [orjson.loads(one)["decision"] for one in wanted].count("published") > PERIODS // 2
        told.worker().until('"ready"', 60.0)
        feed = told.feed(source, "--speed", "1x")
        assert told.releases(5, 120.0) == wanted[:5]  # the second horizon has begun, and goes on to the seventh period
        told.workers[0].terminate()
        assert told.workers[0].wait() == 0
        assert feed.wait() == 0  # longer than a window, and than the patience of its round
        for old, new in ((METHOD, METHOD.replace("changes = 4", "changes = 3")), ("epsilon = 2.0", "epsilon = 1.0")):
            assert "config" in refuses(told, old, new)
        told.worker(instance="w0").until('"ready"', 60.0)
        assert told.releases(len(wanted), 180.0) == wanted
        audit = told.run("audit", "ledger", "--json")
        assert audit.returncode == 0, audit.stdout + audit.stderr
    finally:
        told.close()
