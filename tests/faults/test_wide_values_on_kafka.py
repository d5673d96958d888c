# SPDX-License-Identifier: Apache-2.0
"""Values of several words on a real broker: sets, vectors, rows, strings and measured values, with silence and wrong
ones among them, release the same bytes as embedded, however many workers there are and whenever one is killed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.agents.wide import DOMAINS, WRONG, registered, said
from tests.faults.broker import Broker
from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed, by_stream
from tests.faults.recordings import START_MS, promise

PERIODS, USERS = 4, 500
COMMAND = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from tests.agents.wide import command
command()
"""
"""What starts `murmurate` with the measure of these streams."""
NAMES = {kind: kind.replace(" ", "-") for kind in DOMAINS}
MISSING = {"rows": 'missing = { carry = "always" }', "strings": 'missing = { carry = "2s" }'}
STREAMS = "".join(
    f"""
[streams.{name}]
measure = "told"
kind = "{kind}"
every = "1s"
share = 0.14
method = "lpu"
{MISSING.get(kind, "")}
"""
    for kind, name in NAMES.items()
)


def recording(path: Path) -> Path:
    """Each user speaks of a stream in every period or so; one value in ten is wrong."""
    draw = random.Random(15)
    kinds = sorted(DOMAINS)
    with path.open("wb") as file:
        for t in range(PERIODS):
            for at, user in sorted((draw.randrange(1000), user) for user in range(USERS) if draw.random() < 0.7):
                for kind in kinds:
                    value = draw.choice(WRONG[kind]) if draw.random() < 0.1 else said(kind, draw)
                    where = {"stream": NAMES[kind], "user": f"user-{user}", "time": START_MS + 1000 * t + at}
                    file.write(orjson.dumps({**where, "value": value}) + b"\n")
    return path


@pytest.fixture(name="told")
def deployed_told(broker: Broker, deployment_name: str, tmp_path: Path) -> Iterator[Deployed]:
    text = promise(epsilon=2.0, periods=4, min_batch=2, partitions=2) + STREAMS
    with registered():
        found = Deployed(tmp_path, deployment_name, broker.bootstrap, text, run=[sys.executable, "-c", COMMAND])
        try:
            found.create(2)
            yield found
        finally:
            found.close()


@pytest.mark.parametrize(
    ("workers", "kills"),
    [(1, 0), pytest.param(2, 1, marks=pytest.mark.faults), pytest.param(4, 4, marks=pytest.mark.faults)],
)
def test_values_of_every_kind_give_the_same_bytes_as_embedded(
    told: Deployed, workers: int, kills: int, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "all.jsonl"))
    wanted = told.expected(source)
    told_of = {one["stream"] for one in map(orjson.loads, wanted) if one["reports"]["counted"]}
    assert told_of == set(NAMES.values())
    for _ in range(workers):
        told.worker()
    chaos = Chaos(told, seed=workers, pause_s=1.0)
    chaos.plan([chaos.kill] * kills)
    feed = told.feed(source, "--speed", "1x")
    found = told.releases(len(wanted), 120.0, chaos)
    assert by_stream(found) == by_stream(wanted), told.blame(by_stream(found), by_stream(wanted))
    chaos.finish()
    assert feed.wait() == 0
    audit = told.run("audit", "ledger", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr
