# SPDX-License-Identifier: Apache-2.0
"""When doors need a tick: at the instants at which periods can close, where events wait, and at no other time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from murmurate.agents.kafka.tick_times import EVENTS_MS, TickTimes
from murmurate.agents.stages.closing import opened
from murmurate.config.loader import build
from murmurate.config.planning import plan as planned

EVERY_MS, LATENESS_MS = (1000, 1500), 700
PLAN = planned(
    build({
        "schema": 1, "name": "ticking", "privacy": {"epsilon": 1.0, "window": {"periods": 5}, "min_batch": 2},
        "population": {"forget_after": "1d"}, "time": {"lateness": "700ms"}, "kafka": {"brokers": ["nowhere:9092"]},
        "streams": {
            name: {"measure": "frequency", "values": ["a", "b"], "every": f"{every}ms", "share": 0.5}
            for name, every in zip(("one", "two"), EVERY_MS, strict=True)
        },
    })
)  # fmt: skip
TOPIC = PLAN.streams[0].topic
TIMES = TickTimes(PLAN)


def test_a_door_without_a_clock_is_due() -> None:
    assert TIMES.due(TOPIC, None, 0, holds=False)


@given(some.integers(10**6, 10**7), some.integers(0, 5000))
def test_a_door_to_which_nothing_came_is_due_exactly_when_a_period_can_close(clock: int, later: int) -> None:
    now = clock + later
    closes = any(opened(every, LATENESS_MS, now) > opened(every, LATENESS_MS, clock) for every in EVERY_MS)
    assert TIMES.due(TOPIC, clock, now, holds=False) == closes


@given(some.integers(10**6, 10**7))
def test_one_waits_until_the_next_instant_and_no_longer(clock: int) -> None:
    wait_ms = round(TIMES.wait_s([TOPIC], clock, 60.0) * 1000)
    assert not TIMES.due(TOPIC, clock, clock + wait_ms - 1, holds=False)
    assert TIMES.due(TOPIC, clock, clock + wait_ms, holds=False)
    assert TIMES.wait_s([TOPIC], clock, 0.0) == 0.0


@pytest.mark.parametrize(("later", "due"), [(EVENTS_MS - 1, False), (EVENTS_MS, True), (-1, True)])
def test_events_wait_no_longer_than_a_quarter_of_a_second(later: int, due: bool) -> None:
    clock = 1_000_000 + LATENESS_MS + 1  # just after an instant
    assert TIMES.due(TOPIC, clock, clock + later, holds=True) is due
