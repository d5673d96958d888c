# SPDX-License-Identifier: Apache-2.0
"""Central streams for tests: plans, events with amounts, a run beside local streams, and what the curator must say."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from murmurate.agents.embedded.runtime import Keys, Runtime, Schedule
from murmurate.agents.embedded.task import Faults
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.measures.event_count import EventCount
from murmurate.aggregators.measures.summed import CentralTotal, SummedMeasure
from murmurate.config.plan import CentralPlan, HoldoutPlan, Plan
from murmurate.randomizers.trees import Tree
from murmurate.topics.codec import decode_record
from murmurate.topics.curated import Curated
from murmurate.topics.domains import AnyValue, Categories, Grid
from murmurate.topics.events import Fields
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Event, deployment, stream

CENTS = Grid(0.0, 50.0, 501, "points")
"""Amounts in steps of 0.1."""


def central(name: str, measure: SummedMeasure | None = None, **changes: Any) -> CentralPlan:
    """One central stream: the sum of an amount, in trees of four leaves, unless something else is said."""
    plan = CentralPlan(
        name=name,
        measure=measure or CentralTotal(CENTS, unit="EUR", threshold=200, counts=True),
        every_ms=SECOND,
        epsilon_micro=1_000_000,
        tree=Tree(2, 3),
        block=1,
        topic=TOPIC,
        fields=Fields(stream="/stream"),
        config="fedcba9876543210",
    )
    return replace(plan, **changes)


FOUND = CentralTotal(CENTS, unit="EUR", finds=True, counts=True)
SPENT = central("spent")
FOUND_SPENT = central("found", FOUND, holdout=HoldoutPlan(2, 40, again=True), config="00000000000000aa")
BLOCKS = central("blocks", block=2, config="00000000000000bb")
FEW = central("few", events=2, window_ms=3 * SECOND, config="00000000000000cc")
VISITS = central("visits", EventCount(AnyValue()), config="00000000000000dd")
SCREENED = central("screened", EventCount(Categories(("home", "basket"), other=True)), config="00000000000000ee")
EVERY_KIND = (SPENT, FOUND_SPENT, BLOCKS, FEW, VISITS, SCREENED)


def only(*streams: CentralPlan, **changes: Any) -> Plan:
    """A deployment of central streams alone."""
    return replace(deployment(**changes), streams=(), central=streams or EVERY_KIND)


def beside(*streams: CentralPlan, **changes: Any) -> Plan:
    """A deployment with a local stream, too."""
    return replace(deployment(stream("screen"), **changes), central=streams or EVERY_KIND)


def spending(plan: Plan, *, users: int = 24, periods: int = 10, seed: int = 5, sources: int = 2) -> list[Event]:
    """Events of all streams, in the order of arrival, at most 300 ms after their time; some with a bad value."""
    rng, events, begin = random.Random(seed), [], (FIRST - 1) * SECOND
    for u in range(users):
        for each in plan.everything:
            for t in range(periods + 1):
                for _ in range(rng.choice([0, 0, 1, 1, 3])):
                    time = begin + t * SECOND + rng.randrange(SECOND)
                    amount: Any = round(rng.choice([0.3, 2.0, 18.5, 45.0]) * rng.random(), 1)
                    screen = rng.choice(["home", "basket", "elsewhere", None])
                    value = screen if each.name in ("screen", "visits", "screened") else amount
                    value = "rubbish" if rng.random() < 0.05 else value
                    events.append(Event(each.name, f"user-{u}", time, value, u % sources, time + rng.randrange(300)))
    return sorted(events, key=lambda event: (event.arrives, event.user, event.stream))


def ran(
    plan: Plan, records: Sequence[Out], *, schedule: Schedule | None = None, faults: Faults | None = None,
    step: int = 0, keys: Keys = KEYS, sources: int = 2,
) -> Runtime:  # fmt: skip
    """A runtime that has taken all the records, `step` at a time, with every stream begun at FIRST."""
    runtime = Runtime(plan, keys, sources={TOPIC: sources}, schedule=schedule, faults=faults, keep=True)
    runtime.start({each.name: FIRST * SECOND // each.every_ms for each in plan.everything})
    for at in range(0, len(records), step or len(records)):
        runtime.write(records[at : at + (step or len(records))])
        runtime.run()
    return runtime


def records_of(runtime: Runtime, topic: str, partition: int = 0) -> list[bytes]:
    log = Log(topic, partition)
    return [runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))]


def curated(runtime: Runtime, name: str) -> list[Curated]:
    """What the curator said of a stream."""
    said = [decode_record(value) for p in range(runtime.plan.tallies) for value in records_of(runtime, "tallies", p)]
    return [one for one in said if isinstance(one, Curated) and one.stream == name]
