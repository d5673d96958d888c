# SPDX-License-Identifier: Apache-2.0
"""When periods close, to the millisecond; and who comes too late or too early."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.agents.stages.closing import Closing, ahead, late, newest_closing, next_closing, opened
from tests.agents.world import deployment, stream

PLAN = deployment()  # lateness 500, future 5000
SCREEN = stream("screen")


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def closes(closing: Closing, partition: int, time_ms: int) -> list[int]:
    """What a progress record closes."""
    closing.progress(partition, time_ms)
    closed = []
    while closing.due:
        closed.append(closing.close())
    return closed


@pytest.mark.parametrize(
    ("clock", "first"), [(0, 0), (499, 0), (500, 0), (1499, 0), (1500, 1), (1501, 1), (2499, 1), (2500, 2)]
)
def test_a_period_closes_in_the_very_millisecond_of_its_end_plus_lateness(clock: int, first: int) -> None:
    assert opened(1000, 500, clock) == first
    closing = Closing(1000, 500, 1)
    closing.progress(0, 0)
    assert closes(closing, 0, clock) == list(range(first))


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=4), st.integers(0, 9000), st.integers(0, 10**6))
def test_the_newest_instant_of_the_grid_closes_what_the_clock_itself_would_close(
    every: list[int], lateness: int, clock: int
) -> None:
    instant = newest_closing(every, lateness, clock)
    assert 0 <= instant <= clock
    assert [opened(each, lateness, instant) for each in every] == [opened(each, lateness, clock) for each in every]
    assert instant == 0 or any((instant - lateness) % each == 0 for each in every)
    following = next_closing(every, lateness, clock)
    assert following > clock >= newest_closing(every, lateness, following - 1)
    assert newest_closing(every, lateness, following) == max(following, 0)


def test_no_period_closes_before_every_source_partition_has_reached_its_end() -> None:
    closing = Closing(1000, 500, 3)
    assert closes(closing, 0, 10_000) == []
    assert closes(closing, 1, 10_000) == []
    assert closing.times == {0: 10_000, 1: 10_000}
    assert closes(closing, 2, 1000) == []
    assert closing.open_t == 0
    assert closes(closing, 2, 3499) == [0, 1]
    assert closes(closing, 2, 3500) == [2]
    assert closes(closing, 0, 20_000) == []


def test_a_source_that_was_set_back_is_waited_for_again_and_what_was_closed_stays_closed() -> None:
    closing = Closing(1000, 500, 2)
    for partition in (0, 1):
        assert closes(closing, partition, 500) == []
    assert closes(closing, 0, 9_000_000) == []  # a machine whose clock was wrong
    assert closes(closing, 1, 2500) == [0, 1]
    assert closes(closing, 0, 2000) == []  # set back, behind what is closed
    assert closing.open_t == closing.reached_t == 2
    assert closes(closing, 1, 5500) == []
    assert closes(closing, 0, 3500) == [2]


def test_a_source_partition_that_was_added_is_waited_for_and_closes_nothing_by_itself() -> None:
    closing = Closing(1000, 500, 1)
    closing.progress(0, 0)
    assert closes(closing, 1, 10**9) == []
    assert closes(closing, 0, 1500) == [0]
    assert closes(closing, 2, 0) == closes(closing, 0, 10**6) == []
    assert closes(closing, 2, 2500) == [1]


@given(clocks=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20_000)), max_size=40))
def test_each_period_closes_once_and_in_order_whatever_the_clocks_say(clocks: list[tuple[int, int]]) -> None:
    closing, closed = Closing(1000, 500, 3), list[int]()
    shown: dict[int, int] = {}
    furthest = 0
    for partition, time in clocks:
        shown[partition] = time
        closed += closes(closing, partition, time)
        if len(shown) == 3:  # never before the end plus lateness, by the slowest clock; what was closed stays closed
            furthest = max(furthest, min(shown.values()))
            assert all((t + 1) * 1000 + 500 <= furthest for t in closed)
            assert closing.open_t == opened(1000, 500, furthest)
    assert closed == list(range(closed[0], closed[0] + len(closed))) if closed else True


def test_an_event_is_late_from_the_tick_after_its_periods_end_plus_lateness() -> None:
    events = times(0, 999, 1000, 1001)
    assert late(PLAN, SCREEN, events, None).tolist() == [False] * 4
    assert late(PLAN, SCREEN, events, 1499).tolist() == [False] * 4
    assert late(PLAN, SCREEN, events, 1500).tolist() == [True, True, False, False]


def test_an_event_is_from_the_future_one_millisecond_past_what_is_allowed() -> None:
    assert ahead(PLAN, times(5999, 6000, 6001), 1000).tolist() == [False, False, True]
