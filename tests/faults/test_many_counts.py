# SPDX-License-Identifier: Apache-2.0
"""A stream whose tallies are two blocks each, on Kafka: workers die and come back between them, and no byte changes.

Its short form is a stream of tests/faults/test_every_mechanism.py, whose tallies are one block each.
"""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from murmurate.topics.block import TallyBlock
from murmurate.topics.codec import decode_record
from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed
from tests.faults.recordings import START_MS, promise

PERIODS, USERS = 30, 400
WORDS = tuple(f"value-{i}" for i in range(4095))
DEPLOYMENT = (
    promise(epsilon=2.0, periods=4, min_batch=2, partitions=2)
    + f"""
[streams.wide]
measure = "frequency"
values = {list(WORDS)}
mechanism = "she"
every = "1s"
method = {{ name = "lpu", filter = "off" }}
"""
)  # 65 536 counts


def recording(path: Path, seed: int) -> Path:
    """Each user speaks in about half of the periods."""
    draw = random.Random(seed)
    with path.open("wb") as file:
        for t in range(PERIODS):
            moments = sorted((draw.randrange(1000), user) for user in range(USERS) if draw.random() < 0.5 or not t)
            for at, user in moments:
                value = WORDS[draw.randrange(40)]
                event = {"stream": "wide", "user": f"user-{user}", "time": START_MS + 1000 * t + at, "value": value}
                file.write(orjson.dumps(event) + b"\n")
    return path


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2])
def test_kill_9_between_blocks_of_tallies_changes_no_byte(deployed: Deployed, tmp_path: Path, seed: int) -> None:
    source = str(recording(tmp_path / "wide.jsonl", seed))
    wanted = deployed.expected(source)
    for _ in range(2):
        deployed.worker()
    chaos = Chaos(deployed, seed=seed, pause_s=1.5)
    chaos.plan([chaos.kill] * 12)
    feed = deployed.feed(source, "--speed", "1x")
    found = deployed.releases(len(wanted), 180.0, chaos)
    assert found == wanted, deployed.blame(found, wanted)
    chaos.finish()
    assert chaos.kills == 12
    assert feed.wait() == 0
    blocks = [decode_record(got.value or b"") for got in deployed.everything("tallies")]
    assert {block.sequence for block in blocks if isinstance(block, TallyBlock)} == {0, 1}
    audit = deployed.run("audit", "ledger", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr
