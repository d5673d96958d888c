# SPDX-License-Identifier: Apache-2.0
"""A stage in the hand: records go in with their offsets, what comes out is read; no runtime around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from murmurate.agents.stages.admission import raw_records
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out, Record, Stage, TakesRuns
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Mechanism, mechanism
from murmurate.topics.block import ReportBlock
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.message import Message
from murmurate.topics.messages import Done, Progress, Round, Settled, Start
from murmurate.topics.slots import Slots
from tests.agents.world import FIRST, KEYS, TOPIC

RAW = Log("raw", 0)
ROUNDS = Log("rounds", 0)
CLOSINGS = Log("closings", 0)
GRR: Mechanism = mechanism({"name": "grr", "d": 5, "epsilon_micro": 2_000_000})


class Hand:
    """Holds one stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.ends = stage, Counter[Log]()

    def give(self, log: Log, *records: bytes | Message) -> list[Out]:
        """Fold these, and take what is to be written."""
        for record in records:
            value = record if isinstance(record, bytes) else encode(record)
            self.stage.fold(Record(log, self.ends[log], value))
            self.ends[log] += 1
        return list(self.stage.drain().records)

    def give_run(self, log: Log, records: Sequence[bytes | Message]) -> list[Out]:
        """The same in one."""
        assert isinstance(self.stage, TakesRuns)
        values = [record if isinstance(record, bytes) else encode(record) for record in records]
        self.stage.fold_run(log, list(enumerate(values, self.ends[log])))
        self.ends[log] += len(values)
        return list(self.stage.drain().records)


def read(out: Sequence[Out], topic: str | None = None) -> list[Any]:
    """What was written, decoded."""
    return [decode_record(one.value) for one in out if topic in (None, one.log.topic)]


def pseudonyms(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 16), np.uint8)


def question(plan: Plan, stream: StreamPlan, t: int, **changes: Any) -> Round:
    """A round to everybody, unless something else is said."""
    usual: dict[str, Any] = {
        "stream": stream.name,
        "t": t,
        "slots": Slots.every(stream.slots),
        "mechanism": GRR.spec(),
        "purpose": "publication",
        "contributors": plan.partitions,
        "targets": plan.targets,
        "patience_ms": plan.patience_ms,
        "config": stream.config,
        "revision": stream.revision,
    }
    return Round(**(usual | changes))


def start(stream: StreamPlan, t: int = FIRST) -> Start:
    return Start(stream=stream.name, t=t, config=stream.config, revision=stream.revision)


def settled(stream: StreamPlan, t: int) -> Settled:
    return Settled(stream=stream.name, t=t)


def progress(time: int, partition: int = 0, topic: str = TOPIC) -> Progress:
    return Progress(topic=topic, partition=partition, time=time)


def rows(
    plan: Plan, stream: StreamPlan, users: np.ndarray, times: Sequence[int], codes: Sequence[int], p: int = 0
) -> list[bytes]:
    """Raw blocks of these events for one raw partition."""
    out = raw_records(plan, stream.name, users, np.array(times, np.int64), np.array(codes, np.uint32))
    return [one.value for one in out if one.log.partition == p]


def perturb(plan: Plan, partition: int = 0, sources: int = 1) -> Hand:
    return Hand(Perturb(plan, KEYS.edge, partition, {stream.topic: sources for stream in plan.streams}))


def reports(out: Sequence[Out]) -> dict[tuple[str, int], list[bytes]]:
    """By round and target, the reports that left perturb."""
    found: dict[tuple[str, int], list[bytes]] = {}
    for one in out:
        block = decode_record(one.value)
        if isinstance(block, ReportBlock):
            found.setdefault((block.round.hex(), one.log.partition), []).extend(r.tobytes() for r in block.reports)
    return found


def dones(out: Sequence[Out]) -> list[Done]:
    return [one for one in read(out, "reports") if isinstance(one, Done)]
