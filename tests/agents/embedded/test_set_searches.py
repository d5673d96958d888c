# SPDX-License-Identifier: Apache-2.0
"""Streams that find items and itemsets in phases of a period: no crash between phases and no interleaving changes a
byte, candidates come from reports alone, and the audit counts every round again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from murmurate.agents.audit.auditor import Audit, audit
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.measures.found_items import FoundItems
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan, StreamPlan
from murmurate.topics.codec import decode
from murmurate.topics.domains import Items
from murmurate.topics.messages import Round
from tests.agents.world import (
    FIRST,
    KEYS,
    SECOND,
    TOPIC,
    Crashes,
    Event,
    Shuffled,
    arrivals,
    by_stream,
    deployment,
    played,
    stream,
)

NAMES = tuple(f"item {number}" for number in range(40))
POPULAR = (0.7, 0.5, 0.4)
POINTS = ("before fold", "after fold", "in the transaction", "after the commit", "in a recovery")


def searching(name: str, method: str, share: float, *, carry_ms: int | None = 0, many: bool = False) -> StreamPlan:
    """A stream of sets in which this method finds up to six names."""
    items = Items(300 if many else NAMES, 3)
    found = FoundItems(items, carry_ms is not None, top=6, find="itemsets" if method == "svsm" else "items")
    plan = stream(name, "lpu", share_micro=round(share * 1e6), carry_ms=carry_ms, measure="items", domain=items)
    return replace(plan, measure=found, method=MethodOptions(method, filter="off"), w=2, slots=80)


PLAN = deployment(
    searching("basket", "svsm", 0.45),
    searching("places", "svim", 0.1, carry_ms=None, many=True),
    searching("mood", "ldp_miner", 0.45, carry_ms=1000),
    split="budget",
    min_batch=2,
    epsilon_micro=20_000_000,
)


def crowd(users: int, periods: int, seed: int = 3) -> list[Event]:
    """Sets of mostly the same items, in order of arrival; some users are silent in a period."""
    rng, events = random.Random(seed), []
    for user in range(users):
        for each in PLAN.streams:
            for t in range(periods + 1):
                if t and rng.random() < 0.2:
                    continue
                held = {number for number, share in enumerate(POPULAR) if rng.random() < share} | {rng.randrange(40)}
                numbers = rng.sample(sorted(held), min(3, len(held)))
                value = numbers if each.name == "places" else [NAMES[number] for number in numbers]
                time = (FIRST - 1 + t) * SECOND + rng.randrange(SECOND)
                events.append(Event(each.name, f"user-{user}", time, value, user % 2, time + rng.randrange(300)))
    return sorted(events, key=lambda event: (event.arrives, event.user, event.stream))


def records(users: int, periods: int) -> list[Out]:
    """Their arrivals, until all of these periods are over."""
    return arrivals(crowd(users, periods), until=(FIRST + periods + 2) * SECOND, every=500)


MANY, FEW = records(150, 2), records(50, 1)


@pytest.fixture(scope="module")
def calm() -> Runtime:
    return played(PLAN, MANY, step=100)


def audited(runtime: Runtime, plan: Plan = PLAN) -> Audit:
    def read(topic: str, partition: int) -> Sequence[bytes]:
        log = Log(topic, partition)
        return [runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))]

    return audit(plan, KEYS.edge.devices, read, {TOPIC: 2})


def rounds(runtime: Runtime) -> list[Round]:
    return [one for one in map(decode, runtime.logs.all("rounds")) if isinstance(one, Round)]


def test_what_many_hold_is_found_in_several_rounds_a_period_and_the_audit_holds(calm: Runtime) -> None:
    released = by_stream(calm)
    said = {name: [orjson.loads(record) for record in found] for name, found in released.items()}
    assert {name: len(found) for name, found in said.items()} == {"basket": 3, "mood": 3, "places": 3}
    assert any("item 0" in one["estimate"] for one in said["basket"])
    assert any(" + " in name for one in said["basket"] for name in one["estimate"])
    assert all(one["names"] == "found" for found in said.values() for one in found)
    assert all(one["discovery"]["threshold"] > 0 for one in said["places"])
    asked = [round_ for round_ in rounds(calm) if round_.stream == "basket" and round_.t == FIRST + 1]
    assert len(asked) == 5
    assert audited(calm).holds


def test_no_slot_is_asked_twice_in_a_period_by_the_rounds_that_are_written(calm: Runtime) -> None:
    for t in range(FIRST, FIRST + 3):
        for name in ("basket", "places", "mood"):
            masks = [round_.slots for round_ in rounds(calm) if (round_.stream, round_.t) == (name, t)]
            assert sum(mask.count() for mask in masks) <= 40
            chosen = [mask.mask() for mask in masks]
            assert not any((one & other).any() for at, one in enumerate(chosen) for other in chosen[:at])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.audit) for seed in range(1, 6))])
def test_a_crash_between_any_phases_changes_no_byte(calm: Runtime, seed: int) -> None:
    rng = random.Random(seed)
    kinds = ("perturb", "shuffle", "aggregate", "publish")
    crashes = Crashes({(point, kind): rng.sample(range(1, 60), 4) for point in POINTS for kind in kinds})
    runtime = played(PLAN, MANY, faults=crashes, schedule=Shuffled(rng), step=100)
    assert crashes.died >= 30
    assert by_stream(runtime) == by_stream(calm)
    assert {round_.digest for round_ in rounds(runtime)} == {round_.digest for round_ in rounds(calm)}
    assert audited(runtime).holds


@pytest.mark.parametrize("examples", [1, pytest.param(300, marks=pytest.mark.audit)])
def test_no_interleaving_of_the_logs_changes_a_release(examples: int) -> None:
    few = by_stream(played(PLAN, FEW, step=1000))

    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    @given(seed=st.integers(0, 2**32), step=st.sampled_from([100, 1000]))
    def law(seed: int, step: int) -> None:
        runtime = played(PLAN, FEW, schedule=Shuffled(random.Random(seed)), step=step, keep=False)
        assert by_stream(runtime) == few

    law()
