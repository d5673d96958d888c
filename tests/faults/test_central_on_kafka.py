# SPDX-License-Identifier: Apache-2.0
"""Central streams on a real broker: whatever is killed, the same bytes as on the embedded runtime, and the auditor has
nothing to say.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import orjson
import pytest

from murmurate.agents.kafka.client import Place, Write
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.curated import Curated
from tests.faults.broker import Broker
from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed, by_stream
from tests.faults.recordings import START_MS, promise

CENTRAL = """
[curator]
epsilon = 1.0
window = "3s"

[streams.revenue]
model = "central"
measure = "total"
every = "1s"
range = [0, 100]
step = 0.1
counts = true
holdout = { periods = 2, events = 500 }
tree = { fanout = 2, levels = 3 }

[streams.spent]
model = "central"
measure = "total"
every = "1s"
range = [-20, 100]
step = 1
threshold = 50
protects = { user = 2 }
tree = { fanout = 2, levels = 3, block = 1 }

[streams.screens]
model = "central"
measure = "count"
every = "1s"
values = ["home", "basket"]
other = true
tree = { fanout = 2, levels = 4 }
"""
LOCAL = """
[streams.screen]
measure = "frequency"
values = ["home", "basket"]
every = "1s"
method = "lpu"
"""
NAMES = ("revenue", "spent", "screens")


def recording(path: Path, *, users: int, periods: int, local: bool) -> Path:
    """Each user speaks now and then, a little out of order; one value in ten is wrong."""
    draw = random.Random(17)
    streams = [*NAMES, *(["screen"] if local else [])]
    with path.open("wb") as file:
        for t in range(periods):
            lines = []
            for user in range(users):
                for stream in draw.sample(streams, draw.randrange(len(streams))):
                    at = draw.randrange(1000)
                    said = draw.choice(["home", "basket"]) if "screen" in stream else round(30 * draw.random(), 1)
                    value = None if draw.random() < 0.1 else said
                    event = {"stream": stream, "user": f"user-{user}", "time": START_MS + 1000 * t + at, "value": value}
                    lines.append((at + draw.randrange(300), orjson.dumps(event) + b"\n"))
            file.writelines(line for _, line in sorted(lines, key=lambda one: one[0]))
    return path


async def planted(told: Deployed) -> None:
    """A second noisy copy of a sum: the same period once more, one step larger."""
    said = [decode_record(got.value or b"") for got in await told._everything("tallies")]
    one = next(one for one in said if isinstance(one, Curated) and one.sums)
    assert one.sums is not None
    (whole, rest), *others = one.sums
    copy = one.model_copy(update={"sums": ((whole + 1, rest), *others)})
    async with told.client.sender() as sender:
        await sender.send([Write(Place(f"{told.plan.name}.tallies", 0), encode(copy))])


def ends(
    folder: Path, name: str, broker: Broker, *, users: int, periods: int, kills: int, workers: int, local: bool
) -> None:
    """The releases are those of a replay, byte for byte; every one of them once; and the auditor agrees."""
    text = promise(epsilon=2.0, periods=4, min_batch=20, partitions=2) + CENTRAL + (LOCAL if local else "")
    told = Deployed(folder / "deployed", name, broker.bootstrap, text)
    try:
        told.create()
        source = str(recording(folder / "all.jsonl", users=users, periods=periods, local=local))
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
        released = [one for one in map(orjson.loads, found) if one["stream"] in NAMES]
        assert sum(one["decision"] == "published" for one in released) > periods
        assert feed.wait() == 0
        audit = told.run("audit", "ledger", "--json")
        assert audit.returncode == 0, audit.stdout + audit.stderr
        assert orjson.loads(audit.stdout)["leaves"] >= periods
        assert orjson.loads(audit.stdout)["thresholds"] == 1
        asyncio.run(planted(told))
        audit = told.run("audit", "ledger", "--json")
        assert audit.returncode == 4, audit.stdout + audit.stderr
        counts = orjson.loads(audit.stdout)["violations"]
        assert {what: n for what, n in counts.items() if n} == {"miscurated": 1}
    finally:
        told.close()


def test_a_killed_worker_changes_no_byte(broker: Broker, deployment_name: str, tmp_path: Path) -> None:
    ends(tmp_path, deployment_name, broker, users=60, periods=6, kills=1, workers=2, local=False)


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("workers", [1, 4])
def test_twenty_kills_change_no_byte(workers: int, broker: Broker, deployment_name: str, tmp_path: Path) -> None:
    ends(tmp_path, deployment_name, broker, users=400, periods=75, kills=20, workers=workers, local=True)
