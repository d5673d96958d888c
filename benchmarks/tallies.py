# SPDX-License-Identifier: Apache-2.0
"""Tallies: what aggregate makes of counts and publish of tallies, in messages and in blocks: `python -m
benchmarks.tallies`.

A stream of 1 024 values has tallies that are messages; 131 072 counts travel in three blocks.  Of aggregate a sub-batch
is 2 000 reports by OUE, of publish a period is two tallies and a release by LPU without a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from benchmarks.measure import Row, at_least, best_seconds, heading, line
from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.publish import Publish
from murmurate.agents.stages.stage import Log, Record
from murmurate.agents.stages.tallies import RoundTallies, tally_records
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.randomizers import OUE, Key
from murmurate.randomizers.randomness import contexts
from murmurate.topics.block import TallyBlock, encode_batch
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.messages import Rejected, Round, Seal, Start, TallyInBlocks

D, REPORTS, MANY = 1024, 2_000, 1 << 17
PLAN = plan(
    build({
        "schema": 1, "name": "bench", "privacy": {"epsilon": 1.0, "window": {"periods": 20}, "min_batch": 2},
        "population": {"partitions": 2}, "kafka": {"targets": 2},
        "streams": {"x": {
            "measure": "frequency", "values": [f"v{i}" for i in range(D)], "every": "1m", "mechanism": "oue",
            "method": {"name": "lpu", "filter": "off"}, "missing": {"carry": "always"},
        }},
    })
)  # fmt: skip
BATCHES, TALLIES, ROUNDS = Log("batches", 0), Log("tallies", 0), Log("rounds", 0)
NOTHING = Rejected(malformed=0)


def rows() -> Iterator[Row]:
    took = best_seconds({
        "aggregate": aggregate(),
        "publish": publish(),
        "to blocks": lambda: list(tally_records(SAID, COUNTS)),
        "from blocks": from_blocks,
    })  # fmt: skip
    yield at_least("aggregate, d = 1 024", 1 / took["aggregate"], 100)
    yield at_least("publish, d = 1 024", 2 / took["publish"], 100)
    yield at_least("131 072 counts to blocks", 1 / took["to blocks"], 100)
    yield at_least("blocks to 131 072 counts", 1 / took["from blocks"], 100)


def first_round() -> Round:
    """The first that publish asks."""
    stage = Publish(PLAN)
    stage.fold(Record(ROUNDS, 0, _start()))
    (round_,) = [found for out in stage.drain().records[:1] if isinstance(found := decode_record(out.value), Round)]
    return round_


def aggregate() -> Callable[[], None]:
    """One sub-batch after another, each a sub-batch that it has not met."""
    round_, users = first_round().model_copy(update={"targets": 1 << 16}), contexts(np.arange(REPORTS))
    values = np.arange(REPORTS) % D
    drawn = Key(bytes(range(32)), deployment="bench").draw(users, round=round_.digest)
    reports = OUE(d=D, epsilon=1.0).perturb(values, drawn)
    stage, numbers = Aggregate(PLAN, 0), count()

    def next_batch() -> None:
        q = next(numbers)
        seal = Seal(
            round=round_.digest.hex(), q=q % (1 << 16), received=REPORTS, counted=REPORTS, rejected=NOTHING, missing=(),
            blocks=1, descriptor=round_,
        )  # fmt: skip
        for record in (*encode_batch(round_.digest, q, reports), encode(seal)):
            stage.fold(Record(BATCHES, 2 * q, record))
        assert stage.drain().urgent
        stage.replay_from({BATCHES: 2 * q + 2})

    return next_batch


def publish() -> Callable[[], None]:
    """One period after another."""
    stage, offsets, waiting = Publish(PLAN), count(), list[Round]()
    counts = tuple(int(n) for n in np.random.default_rng(1).integers(0, 900, D))

    def fold(log: Log, record: bytes) -> None:
        stage.fold(Record(log, next(offsets), record))
        found = (decode_record(out.value) for out in stage.drain().records if out.log == ROUNDS)
        waiting.extend(one for one in found if isinstance(one, Round))

    fold(ROUNDS, _start())

    def next_period() -> None:
        round_ = waiting.pop(0)
        for q in (0, 1):
            said = {
                "round": round_.digest.hex(), "q": q, "received": 1000, "counted": 1000, "rejected": NOTHING,
                "missing": (), "stream": "x", "t": round_.t, "targets": 2,
            }  # fmt: skip
            for record in tally_records(said, np.array(counts, np.int64)):
                fold(TALLIES, record)

    return next_period


SAID = {
    "round": "ab" * 32, "q": 0, "received": 10**6, "counted": 10**6, "rejected": NOTHING, "missing": (), "stream": "x",
    "t": 7, "targets": 2,
}  # fmt: skip
COUNTS = np.random.default_rng(1).integers(0, 10**6, MANY, np.int64)
RECORDS = list(tally_records(SAID, COUNTS))


def from_blocks() -> None:
    """As publish takes them."""
    came = RoundTallies()
    for at, record in enumerate(RECORDS):
        found = decode_record(record)
        if isinstance(found, TallyInBlocks):
            came.add(found, at)
        elif isinstance(found, TallyBlock):
            assert came.take(found, record, at) == "taken"
    assert came.whole


def _start() -> bytes:
    (stream,) = PLAN.streams
    return encode(Start(stream="x", t=100, config=stream.config, revision=stream.revision))


def main() -> None:
    """The table."""
    print(heading())
    for row in rows():
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
