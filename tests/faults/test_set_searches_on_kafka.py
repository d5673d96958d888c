# SPDX-License-Identifier: Apache-2.0
"""Searches among sets on a real broker: several rounds a period, one after the other, while workers are killed.

Contract: the releases are those of a replay of the same recording, byte for byte, however many workers there are and
whenever one dies, in the middle of a period's phases too; and the auditor has nothing to say.  Not here: a crash at
every record (tests/agents/embedded/test_set_searches.py).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.faults.broker import Broker
from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed, by_stream
from tests.faults.recordings import START_MS, promise

PERIODS, USERS = 6, 900
POPULAR = (0.7, 0.5, 0.4)
STREAMS = """
[streams.baskets]
measure = "items"
find = "itemsets"
values = ["bread", "tea", "milk", "jam", "salt", "rice", "corn", "beans", "figs", "dates", "oats", "plums"]
most = 4
top = 6
every = "1s"
share = 0.6

[streams.places]
measure = "items"
find = "items"
items = 1000000
most = 4
top = 6
every = "1s"
share = 0.4
missing = { carry = "2s" }
"""
NAMES = ("bread", "tea", "milk", "jam", "salt", "rice", "corn", "beans", "figs", "dates", "oats", "plums")


def recording(path: Path) -> Path:
    """Sets of mostly the same items, of users who are silent now and then; one in twenty is no set of the stream's."""
    draw = random.Random(23)
    with path.open("wb") as file:
        for t in range(PERIODS):
            for at, user in sorted((draw.randrange(1000), user) for user in range(USERS) if draw.random() < 0.8):
                for stream in ("baskets", "places"):
                    held = [number for number, share in enumerate(POPULAR) if draw.random() < share]
                    numbers = {*held, draw.randrange(12)}
                    value = [NAMES[n] for n in numbers] if stream == "baskets" else [n * 81_817 for n in numbers]
                    said = ["bread", "bread"] if draw.random() < 0.05 else value
                    event = {"stream": stream, "user": f"user-{user}", "time": START_MS + 1000 * t + at, "value": said}
                    file.write(orjson.dumps(event) + b"\n")
    return path


@pytest.fixture(name="told")
def deployed(broker: Broker, deployment_name: str, tmp_path: Path) -> Iterator[Deployed]:
    text = promise(epsilon=6.0, periods=2, min_batch=4, partitions=2) + STREAMS
    found = Deployed(tmp_path, deployment_name, broker.bootstrap, text)
    try:
        found.create(2)
        yield found
    finally:
        found.close()


@pytest.mark.faults
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("workers", "kills"), [(1, 3), (2, 4), (4, 6)])
def test_kills_between_the_phases_of_a_search_change_no_byte(
    told: Deployed, workers: int, kills: int, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "all.jsonl"))
    wanted = told.expected(source)
    found = [orjson.loads(one) for one in wanted]
    assert [one["decision"] for one in found].count("published") >= PERIODS
    assert any("bread + tea" in one["estimate"] for one in found)
    assert any("0" in one["estimate"] for one in found if one["stream"] == "places")
    for _ in range(workers):
        told.worker()
    chaos = Chaos(told, seed=workers, pause_s=0.8)
    chaos.plan([chaos.kill] * kills)
    feed = told.feed(source, "--speed", "1x")
    released = told.releases(len(wanted), 240.0, chaos)
    assert by_stream(released) == by_stream(wanted), told.blame(by_stream(released), by_stream(wanted))
    chaos.finish()
    assert feed.wait() == 0
    audit = told.run("audit", "ledger", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr
