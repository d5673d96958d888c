# SPDX-License-Identifier: Apache-2.0
"""What users say in each period, against a second implementation that keeps everything and looks at it again."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.stages.code_values import CodeValues
from murmurate.topics.domains import Categories
from tests.agents.world import stream
from tests.cases import drawn

EVERY = 1000
OTHER, NONE = 3, 4
"""home, basket, help, other, none"""


@dataclass
class Plain:
    """The rules in words: dictionaries, no vectors."""

    several: str
    carry: int | None
    forget: int
    events: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    seen: dict[int, int] = field(default_factory=dict)
    shown: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))  # periods with any event

    def say(self, user: int, t: int) -> int | None:
        """The user's value in period t, None if not in its population."""
        begin, end = t * EVERY, (t + 1) * EVERY
        by_period: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for time, code in self.events[user]:
            if time < end:
                by_period[time // EVERY].append((time, code))
        spoken = {p: (max(e) if self.several == "last" else min(e)) for p, e in by_period.items()}
        newest = spoken[max(spoken)] if spoken else None
        if self.carry is None:
            joined = user in self.seen and self.seen[user] < end
            return (OTHER if newest is None else newest[1]) if joined else None
        if user not in self.seen or self.seen[user] >= begin:
            return None
        before = [p * EVERY for p in self.shown[user] if p < t]
        if max([self.seen[user], *before]) < begin - self.forget:
            return None
        if t in spoken:
            return spoken[t][1]
        if self.carry and newest is not None and begin - newest[0] <= self.carry:
            return newest[1]
        return NONE


EVENT = st.tuples(st.integers(0, 7), st.integers(-200, 2600), st.integers(0, 3), st.booleans())


@drawn(
    120,
    long=2000,
    batches=st.lists(st.lists(EVENT, max_size=12), min_size=1, max_size=9),
    several=st.sampled_from(["last", "first"]),
    carry=st.sampled_from([0, 1000, 2000, None]),
    forget=st.sampled_from([1500, 3000, 10**12]),
    settle=st.booleans(),
    torn=st.booleans(),
)
def test_values_are_those_of_a_model_that_forgets_nothing(
    batches: list[list[tuple[int, int, int, bool]]],
    several: str,
    carry: int | None,
    forget: int,
    settle: bool,
    torn: bool,
) -> None:
    plan = stream("screen", several=several, carry_ms=carry, every_ms=EVERY)
    values, model = CodeValues(plan, forget), Plain(several, carry, forget)
    users = 0
    for t, batch in enumerate(batches):
        # before period t closes: events of it and of later ones; `good`: else the value is refused, and shows its user
        events = [(u, max(t * EVERY, t * EVERY + ahead), code, good) for u, ahead, code, good in batch]
        users = max([users, *(u + 1 for u, *_ in events)])
        every = np.array([(u, time) for u, time, _, _ in events], np.int64).reshape(-1, 2)
        values.mark_seen(every[:, 0], every[:, 1])
        taken = [(u, time, code) for u, time, code, good in events if good]
        columns = np.array(taken, np.int64).reshape(-1, 3)
        values.take(columns[:, 0], columns[:, 1], columns[:, 2].astype(np.uint32))
        for u, time, code, good in events:
            model.seen[u] = min(time, model.seen.get(u, time))
            model.shown[u].add(time // EVERY)
            if good:
                model.events[u].append((time, code))
        if torn:
            kept, values = values.arrays(), CodeValues(plan, forget)
            values.load(kept)
        frozen = values.close(t, users)
        said = [int(v) if m else None for v, m in zip(frozen.values, frozen.members, strict=True)]
        assert said == [model.say(u, t) for u in range(users)]
        if settle:
            values.settle(t)
            assert not values.frozen


@settings(max_examples=200, deadline=None)
@given(
    events=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2999), st.integers(0, 3)), max_size=20),
    order=st.randoms(use_true_random=False),
    several=st.sampled_from(["last", "first"]),
)
def test_the_order_of_arrival_within_open_periods_changes_nothing(
    events: list[tuple[int, int, int]], order: object, several: str
) -> None:
    plan = stream("screen", several=several, carry_ms=1000, every_ms=EVERY)
    shuffled = list(events)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    results = []
    for arrangement, size in ((events, 20), (shuffled, 3)):
        values = CodeValues(plan, 10**12)
        for at in range(0, len(arrangement), size):
            columns = np.array(arrangement[at : at + size], np.int64).reshape(-1, 3)
            values.mark_seen(columns[:, 0], columns[:, 1])
            values.take(columns[:, 0], columns[:, 1], columns[:, 2].astype(np.uint32))
        frozen = [values.close(t, 4) for t in range(3)]
        results.append([(f.values.tolist(), f.members.tolist()) for f in frozen])
    assert results[0] == results[1]


def test_frozen_values_stay_as_they_were_whatever_comes_later() -> None:
    values = CodeValues(stream("screen", carry_ms=None), 10**12)
    row = np.zeros(1, np.int64)
    values.take(row, np.array([10]), np.array([2], np.uint32))
    first = values.close(0, 1)
    values.take(row, np.array([1010]), np.array([3], np.uint32))
    values.close(1, 1)
    assert first.values.tolist() == [2]
    assert values.frozen[0].values.tolist() == [2]
    assert values.frozen[1].values.tolist() == [3]


def test_the_last_millisecond_of_a_period_is_in_it_and_the_next_is_not() -> None:
    values = CodeValues(stream("screen", carry_ms=0), 10**12)
    row = np.zeros(1, np.int64)
    values.mark_seen(row, np.array([0]))
    values.take(row, np.array([1999]), np.array([1], np.uint32))
    values.take(row, np.array([2000]), np.array([2], np.uint32))
    values.close(0, 1)
    assert values.close(1, 1).values.tolist() == [1]
    assert values.close(2, 1).values.tolist() == [2]
    assert values.close(3, 1).values.tolist() == [NONE]


@pytest.mark.parametrize("carry", [0, 1500, None])
def test_what_was_said_before_the_first_close_of_all_stands_as_if_those_periods_had_closed(carry: int | None) -> None:
    said = []
    for first in (0, 3):
        values, rows = CodeValues(stream("screen", carry_ms=carry, every_ms=EVERY), 2500), np.arange(4)
        times = np.array([100, 1100, 2900, 3100])
        values.mark_seen(rows, times)
        values.take(rows, times, np.array([0, 1, 2, 3], np.uint32))
        frozen = [values.close(t, 4) for t in range(first, 5)][-2:]
        said.append([(one.values[one.members].tolist(), one.members.tolist()) for one in frozen])
        assert sorted(name for name in values.arrays() if "frozen" not in name) == ["code", "shown", "time"]
    assert said[0] == said[1]


def test_second_counts_valid_events_that_give_way_in_closed_periods() -> None:
    values = CodeValues(stream("screen", carry_ms=0), 10**12)
    rows = np.array([0, 0, 1, 2, 2, 2, 0])
    times = np.array([1, 2, 1, 5, 4, 4, 1001])
    values.take(rows, times, np.zeros(7, np.uint32))
    assert values.second == 0
    values.close(0, 5)
    assert values.second == 3
    values.close(1, 5)
    assert values.second == 3


@pytest.mark.parametrize(("d", "width"), [(4, 2), (1 << 15, 2), ((1 << 15) + 1, 4)])
def test_codes_are_as_wide_as_the_domain_asks_for_and_the_largest_comes_back(d: int, width: int) -> None:
    categories = Categories(tuple(f"v{i}" for i in range(d - 1)))
    for carry in (0, 5000):
        values, row = CodeValues(stream("screen", domain=categories, carry_ms=carry), 10**12), np.zeros(1, np.int64)
        values.take(row, np.array([7]), np.array([d - 2], np.uint32))
        frozen = values.close(0, 2)
        assert frozen.values.tolist() == [d - 2, d - 1]
        assert frozen.values.dtype.itemsize == width


@pytest.mark.parametrize("carry", [0, 1000, None])
def test_who_is_asked_is_the_same_whether_values_are_refused_or_not(carry: int) -> None:
    populations = []
    for good in ([True] * 12, [False] * 12, [t % 5 == 0 for t in range(12)]):
        values, row = CodeValues(stream("screen", carry_ms=carry, every_ms=EVERY), 3000), np.zeros(1, np.int64)
        for t in (0, 1, 2, 8, 9, 11):  # silent for longer than `forget_after` in between
            time = np.array([t * EVERY + 5])
            values.mark_seen(row, time)
            if good[t]:
                values.take(row, time, np.array([1], np.uint32))
        populations.append([values.close(t, 1).members.tolist() for t in range(14)])
    assert populations[0] == populations[1] == populations[2]
    asked = range(14) if carry is None else [1, 2, 3, 4, 5, 9, 10, 11, 12, 13]
    assert [t for t in range(14) if populations[0][t] == [True]] == list(asked)
