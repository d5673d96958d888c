# SPDX-License-Identifier: Apache-2.0
"""Which events of a user count, beside the loop that says it in one line, and however periods and arrivals fall."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.stages import counting
from murmurate.agents.stages.counting import CountedEvents
from tests.cases import drawn

Happening = tuple[int, int, int]
"""A user, a time and a value."""
EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 2)), max_size=40)
LIMITS = st.tuples(st.integers(1, 4), st.integers(1, 25))
USERS = np.random.default_rng(3).integers(0, 256, (6000, 16), np.uint8)


def by_the_loop(events: Sequence[Happening], most: int, window: int) -> list[Happening]:
    """An event counts if fewer than `most` of its user that count lie within the window before it."""
    counted: dict[int, list[int]] = defaultdict(list)
    found = []
    for user, time, value in sorted(events):
        if sum(time - window < before <= time for before in counted[user]) < most:
            counted[user].append(time)
            found.append((user, time, value))
    return found


def taken(stage: CountedEvents, events: Sequence[Happening]) -> None:
    if events:
        users, times, values = zip(*events, strict=True)
        stage.take(USERS[list(users)], np.array(times, np.int64), np.array(values, np.uint32))


def counted(
    events: Sequence[Happening], most: int, window: int, cuts: Sequence[int], rng: random.Random, *, torn: bool = False
) -> list[list[int]]:
    """The values that count in each period, of events in an order and in blocks that a seed decides."""
    stage, found = CountedEvents(most, window), []
    waiting = list(events)
    for cut in cuts:
        here = [event[1] < cut or rng.random() < 0.3 for event in waiting]  # some of later periods come early
        come = [event for event, now in zip(waiting, here, strict=True) if now]
        waiting = [event for event, now in zip(waiting, here, strict=True) if not now]
        rng.shuffle(come)
        while come:
            part = rng.randrange(1, len(come) + 1)
            taken(stage, come[:part])
            come = come[part:]
            if torn:
                again = CountedEvents(most, window)
                again.load({name: array.copy() for name, array in stage.arrays()}, stage.left_out)
                stage = again
        found.append(sorted(stage.close(cut).tolist()))
    assert stage.left_out == len(events) - sum(map(len, found))
    return found


@drawn(
    150,
    long=2000,
    events=EVENTS,
    limit=LIMITS,
    cuts=st.sets(st.integers(1, 40)),
    seed=st.integers(0, 2**32),
    torn=st.booleans(),
)
def test_those_count_that_the_loop_counts_however_they_arrive_and_periods_are_cut(
    events: list[Happening], limit: tuple[int, int], cuts: set[int], seed: int, torn: bool
) -> None:
    most, window = limit
    ends = [*sorted(cuts), 41]
    expected = by_the_loop(events, most, window)
    begin, per_period = 0, []
    for end in ends:
        per_period.append(sorted(value for _, time, value in expected if begin <= time < end))
        begin = end
    assert counted(events, most, window, ends, random.Random(seed), torn=torn) == per_period


@settings(max_examples=200, deadline=None)
@given(events=EVENTS, limit=LIMITS)
def test_no_window_holds_more_that_count_and_every_event_left_out_has_its_reason(
    events: list[Happening], limit: tuple[int, int]
) -> None:
    most, window = limit
    found = by_the_loop(events, most, window)
    for user in range(4):
        times = [time for who, time, _ in found if who == user]
        for begin in range(-window, 41):
            assert sum(begin <= time < begin + window for time in times) <= most
        left = [time for who, time, _ in events if who == user]
        for time in times:
            left.remove(time)
        assert all(sum(time - window < before <= time for before in times) == most for time in left)


@settings(max_examples=200, deadline=None)
@given(events=EVENTS, limit=LIMITS, seed=st.integers(0, 2**32))
def test_what_counts_of_a_user_depends_on_that_users_events_alone(
    events: list[Happening], limit: tuple[int, int], seed: int
) -> None:
    ends = [10, 20, 41]
    marked = [(user, time, 8 * user + value) for user, time, value in events]
    together = counted(marked, *limit, ends, random.Random(seed))
    for user in range(4):
        alone = counted([event for event in marked if event[0] == user], *limit, ends, random.Random(seed + 1))
        assert [[value for value in values if value // 8 == user] for values in together] == alone


def test_one_event_more_can_change_all_that_count_after_it_so_the_promise_compares_with_a_users_absence() -> None:
    """An event every 9 ms, of which one counts in any 10: with the first one all others change places."""
    apart = [(0, 9 * i, i) for i in range(1, 41)]
    with_it, without = by_the_loop([(0, 0, 0), *apart], 1, 10), by_the_loop(apart, 1, 10)
    assert set(with_it).isdisjoint(without)
    assert (len(with_it), len(without)) == (21, 20)


def test_users_are_forgotten_only_once_nothing_of_them_can_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, most, window, ends = random.Random(2), 2, 15, [10, 20, 30, 40, 50, 60]
    events = [(user, rng.randrange(60), user % 3) for user in range(300) for _ in range(rng.choice([1, 1, 6]))]
    kept = counted(events, most, window, ends, random.Random(3))
    monkeypatch.setattr(counting, "KEPT", 0)
    assert counted(events, most, window, ends, random.Random(4), torn=True) == kept
    stage = CountedEvents(most, window)
    taken(stage, [(user, 5, 0) for user in range(300)])
    taken(stage, [(0, 15, 0)])
    stage.close(10)
    assert len(dict(stage.arrays())["users"]) == 300
    stage.close(20)  # of the others nothing before 5 + 15 can matter any more
    taken(stage, [(0, 25, 0), (7, 25, 0)])
    assert len(dict(stage.arrays())["users"]) == 2
    assert len(stage.close(30)) == 2
