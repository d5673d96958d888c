"""Shares of users behind views on a real broker: whatever is killed, the same bytes as a replay of the recording."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from tests.agents.shares import SHARES
from tests.faults.broker import Broker
from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed
from tests.faults.recordings import START_MS, promise

KIND = pytest.mark.parametrize("kind", SHARES)


def recording(kind: str, path: Path, *, users: int, periods: int) -> Path:
    """Each user speaks in every other period or so, a little out of order; one value in ten is wrong."""
    draw, share = random.Random(16), SHARES[kind]
    with path.open("wb") as file:
        for t in range(periods):
            lines = []
            for user in range(users):
                if draw.random() < 0.5:
                    at = draw.randrange(1000)
                    value = draw.choice(share.wrong) if draw.random() < 0.1 else share.said(draw)
                    event = {"stream": "it", "user": f"user-{user}", "time": START_MS + 1000 * t + at, "value": value}
                    lines.append((at + draw.randrange(300), orjson.dumps(event) + b"\n"))
            file.writelines(line for _, line in sorted(lines, key=lambda one: one[0]))
    return path


def ends(
    kind: str, folder: Path, name: str, broker: Broker, *, users: int, periods: int, kills: int, workers: int
) -> None:
    """The releases are those of a replay, byte for byte; then the auditor has nothing to say."""
    text = promise(epsilon=2.0, periods=10, min_batch=20, partitions=4)
    text += f'[streams.it]\nevery = "1s"\nmethod = "lpu"\nmissing = {{ carry = "2s" }}\n{SHARES[kind].table}'
    told = Deployed(folder / "deployed", name, broker.bootstrap, text)
    try:
        told.create()
        source = str(recording(kind, folder / "it.jsonl", users=users, periods=periods))
        wanted = told.expected(source)
        for _ in range(workers):
            told.worker().until('"ready"', 60.0)
        chaos = Chaos(told, seed=kills, pause_s=2.5)
        chaos.plan([chaos.kill] * kills)
        feed = told.feed(source, "--speed", "1x")
        found = told.releases(len(wanted), 180.0, chaos)
        assert found == wanted, told.blame(found, wanted)
        chaos.finish()
        assert chaos.kills == kills
        assert sum(orjson.loads(record)["decision"] == "published" for record in found) > periods // 2
        print(f"{kind}: {kills} kills, {len(found)} releases; longest pause {told.longest_pause_s:.1f} s")
        assert feed.wait() == 0
        audit = told.run("audit", "ledger", "--json")
        assert audit.returncode == 0, audit.stdout + audit.stderr
    finally:
        told.close()


@KIND
def test_a_killed_worker_changes_no_byte(kind: str, broker: Broker, deployment_name: str, tmp_path: Path) -> None:
    ends(kind, tmp_path, deployment_name, broker, users=400, periods=6, kills=1, workers=2)


@pytest.mark.faults
@pytest.mark.timeout(1200)
@KIND
def test_twenty_kills_change_no_byte(kind: str, broker: Broker, deployment_name: str, tmp_path: Path) -> None:
    ends(kind, tmp_path, deployment_name, broker, users=4_000, periods=75, kills=20, workers=3)
