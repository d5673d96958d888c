# SPDX-License-Identifier: Apache-2.0
"""Shares of users behind views on a real broker: whatever is killed, the same bytes as a replay of the recording."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from tests.agents.shares import SHARES
from tests.faults.broker import Broker
from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed, by_stream
from tests.faults.recordings import START_MS, promise

STREAMS = {**SHARES, "changes": SHARES["items"]}
LPU = '"lpu"'
METHODS = {"changes": '{ name = "sao2", horizon = "3s", changes = 4 }'}
"""What is not asked by lpu: of horizons, what users have told so far is part of the state of their partition."""


def recording(kinds: Sequence[str], path: Path, *, users: int, periods: int) -> Path:
    """Each user speaks in every other period or so, a little out of order; one value in ten is wrong."""
    draw = random.Random(16)
    with path.open("wb") as file:
        for t in range(periods):
            lines = []
            for user in range(users):
                if draw.random() < 0.5:
                    at = draw.randrange(1000)
                    for kind in kinds:
                        share = STREAMS[kind]
                        value = draw.choice(share.wrong) if draw.random() < 0.1 else share.said(draw)
                        event = {"stream": kind, "user": f"user-{user}", "time": START_MS + 1000 * t + at}
                        lines.append((at + draw.randrange(300), orjson.dumps({**event, "value": value}) + b"\n"))
            file.writelines(line for _, line in sorted(lines, key=lambda one: one[0]))
    return path


def ends(
    kinds: Sequence[str], folder: Path, name: str, broker: Broker, *, users: int, periods: int, kills: int, workers: int
) -> None:
    """The releases are those of a replay, byte for byte; then the auditor has nothing to say."""
    text = promise(epsilon=2.0, periods=4, min_batch=20, partitions=4 if kills > 1 else 2)
    share = 1_000_000 // len(kinds) / 1_000_000
    for kind in kinds:
        method = METHODS.get(kind, LPU)
        text += f'[streams.{kind}]\nevery = "1s"\nmethod = {method}\nmissing = {{ carry = "2s" }}\nshare = {share}\n'
        text += STREAMS[kind].table
    told = Deployed(folder / "deployed", name, broker.bootstrap, text)
    try:
        told.create()
        source = str(recording(kinds, folder / "all.jsonl", users=users, periods=periods))
        wanted = told.expected(source)
        for _ in range(workers):
            told.worker().until('"ready"', 60.0)
        chaos = Chaos(told, seed=kills, pause_s=2.5 if kills > 1 else 1.0)
        chaos.plan([chaos.kill] * kills)
        feed = told.feed(source, "--speed", "1x")
        found = told.releases(len(wanted), 180.0, chaos)
        assert by_stream(found) == by_stream(wanted), told.blame(by_stream(found), by_stream(wanted))
        chaos.finish()
        assert chaos.kills == kills
        published = [one["stream"] for one in map(orjson.loads, found) if one["decision"] == "published"]
        assert all(published.count(kind) > periods // 2 for kind in kinds)
        print(f"{', '.join(kinds)}: {kills} kills, {len(found)} releases; longest pause {told.longest_pause_s:.1f} s")
        assert feed.wait() == 0
        audit = told.run("audit", "ledger", "--json")
        assert audit.returncode == 0, audit.stdout + audit.stderr
    finally:
        told.close()


def test_a_killed_worker_changes_no_byte_of_any_of_them(broker: Broker, deployment_name: str, tmp_path: Path) -> None:
    ends(list(STREAMS), tmp_path, deployment_name, broker, users=1_900, periods=4, kills=1, workers=2)


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_twenty_kills_change_no_byte_of_transcripts(
    workers: int, broker: Broker, deployment_name: str, tmp_path: Path
) -> None:
    ends(["changes"], tmp_path, deployment_name, broker, users=3_000, periods=60, kills=20, workers=workers)


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", SHARES)
def test_twenty_kills_change_no_byte(kind: str, broker: Broker, deployment_name: str, tmp_path: Path) -> None:
    ends([kind], tmp_path, deployment_name, broker, users=4_000, periods=75, kills=20, workers=3)
