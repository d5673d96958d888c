# SPDX-License-Identifier: Apache-2.0
"""The truth against a second implementation in dictionaries, and each rule by an example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest
from hypothesis import strategies as st

import murmurate.agents.replay.truth
from murmurate.agents.replay.source import Batch, Source
from murmurate.agents.replay.true_period import TruePeriod
from murmurate.agents.replay.truth import Truth, true_periods
from murmurate.config.plan import Plan
from murmurate.topics.block import REFUSED
from tests.agents.replay.plans import MINUTE, START, counts, plan, stream
from tests.cases import drawn

FIRST = START // MINUTE
Event = tuple[int, int, int]
"""User, milliseconds after START, code."""


class Scripted(Source):
    """Batches as a test says them: (clock, events)."""

    def __init__(self, plan: Plan, script: list[tuple[int, list[Event]]], end: int, enrolled: int | None) -> None:
        super().__init__(plan, ("screen",))
        self.enrolled, self._n, self._script, self._end = enrolled is not None, enrolled, script, START + end

    def users(self) -> int | None:
        return self._n

    def first_t(self, stream: str) -> int:
        return FIRST

    def batches(self) -> Iterator[Batch]:
        for clock, events in self._script:
            users, times, codes = zip(*events, strict=True) if events else ((), (), ())
            yield Batch(
                "screen",
                START + clock,
                None if self.enrolled else [b"u-%d" % user for user in users],
                np.array(users, np.int64) if self.enrolled else None,
                np.array(times, np.int64) + START,
                np.array(codes, np.uint32),
                {},
                len(events),
            )


def told(
    events: list[tuple[int, list[Event]]],
    *,
    end: int = 10 * MINUTE,
    enrolled: int | None = None,
    carry_ms: int | None = 0,
    several: Literal["last", "first"] = "last",
) -> list[list[int]]:
    of = plan(stream(carry_ms=carry_ms, several=several))
    periods = list(true_periods(of, Scripted(of, events, end, enrolled)))
    begins = max(FIRST, (START + events[0][0] - 10_000) // MINUTE)
    assert [period.t for period in periods] == list(range(begins, begins + len(periods)))
    return [counts(period) for period in periods]


def plainly(
    events: list[tuple[int, list[Event]]], *, end: int, enrolled: int | None, carry_ms: int | None, several: str
) -> list[list[int]]:
    """The rules once more, a user and a period at a time, without arrays."""
    lateness, future, d = 10_000, 300_000, 3 if carry_ms is None else 4
    # where values stand for ever, nobody is there before their first event
    shown: dict[int, int] = {} if carry_ms is None else dict.fromkeys(range(enrolled or 0), -START)
    kept, out = list[Event](), list[list[int]]()
    opened: int | None = None
    for clock, batch in [*events, (end, [])]:
        reached = (START + clock - lateness) // MINUTE
        for t in range(reached if opened is None else opened, reached):
            counts = [0] * d
            for user in shown:
                mine = [(time, code) for u, time, code in kept if u == user and (START + time) // MINUTE <= t]
                newest = max(((START + time) // MINUTE for time, _ in mine), default=None)
                same = [(time, code) for time, code in mine if (START + time) // MINUTE == newest]
                value = (max(same) if several == "last" else min(same)) if same else None
                if carry_ms is None:
                    if START + shown[user] < (t + 1) * MINUTE:
                        counts[0 if value is None else value[1]] += 1
                elif START + shown[user] < t * MINUTE:
                    stands = value is not None and t * MINUTE - START - value[0] <= carry_ms
                    counts[value[1] if stands and value is not None else d - 1] += 1
            if t >= FIRST:
                out.append(counts)
        opened = reached if opened is None else max(opened, reached)
        for user, time, code in batch:
            if (START + time) // MINUTE >= opened and time <= clock + future:
                shown[user] = min(time, shown[user]) if user in shown else time
                if code != REFUSED:
                    kept.append((user, time, code))
    return out


moments = st.integers(-2 * MINUTE, 8 * MINUTE)
single = st.tuples(st.integers(0, 4), moments, st.sampled_from([0, 1, 2, 2, REFUSED]))
scripts = st.lists(st.tuples(st.integers(0, 7 * MINUTE), st.lists(single, max_size=8)), min_size=1, max_size=8)


@drawn(
    120,
    long=2000,
    script=scripts.map(lambda found: list(zip(sorted(c for c, _ in found), [b for _, b in found], strict=True))),
    enrolled=st.sampled_from([None, 5]),
    carry=st.sampled_from([0, 30_000, MINUTE, 3 * MINUTE, None]),
    several=st.sampled_from(["last", "first"]),
)
def test_the_truth_is_what_the_rules_say(
    script: list[tuple[int, list[Event]]], enrolled: int | None, carry: int | None, several: Literal["last", "first"]
) -> None:
    rest = {"end": 9 * MINUTE, "enrolled": enrolled, "carry_ms": carry}
    got = told(script, end=9 * MINUTE, enrolled=enrolled, carry_ms=carry, several=several)
    assert got == plainly(script, **rest, several=several)  # type: ignore[arg-type]


def test_who_first_speaks_in_a_period_is_asked_from_the_next_one_on() -> None:
    assert told([(0, []), (10_000, [(1, 15_000, 0)]), (71_000, [(1, 65_000, 1)])], end=2 * MINUTE + 10_000) == [
        [0, 0, 0, 0], [0, 1, 0, 0]
    ]  # fmt: skip


def test_a_refused_value_enrols_its_user_and_sets_nothing() -> None:
    assert told([(0, []), (10_000, [(1, 15_000, REFUSED)])], end=2 * MINUTE + 10_000) == [[0, 0, 0, 0], [0, 0, 0, 1]]


def test_a_carried_value_stands_until_carry_after_its_event_and_then_is_none() -> None:
    got = told([(0, [(0, 30_000, 2)])], end=5 * MINUTE + 10_000, enrolled=1, carry_ms=90_000)
    assert got == [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]]


def test_a_late_event_and_one_from_the_future_never_came() -> None:
    of = plan(stream())
    late, ahead = (3, 5_000, 0), (4, 71_000 + 300_001, 0)
    truth = Truth(of, source := Scripted(of, [(0, []), (71_000, [late, ahead, (1, 70_000, 1)])], 200_000, None))
    found: list[TruePeriod] = [period for batch in source.batches() for period in truth.fold(batch)]
    found += truth.close(source.end_clock)
    assert truth.refused == {"late": 1, "future": 1, "value": 0}
    assert [period.users for period in found] == [0, 0, 1]


def test_of_equal_times_the_greater_code_counts_whatever_came_first() -> None:
    for order in ([(0, 9_000, 1), (0, 9_000, 2)], [(0, 9_000, 2), (0, 9_000, 1)]):
        assert told([(0, order)], end=MINUTE + 10_000, enrolled=1) == [[0, 0, 1, 0]]
        assert told([(0, order)], end=MINUTE + 10_000, enrolled=1, several="first") == [[0, 1, 0, 0]]


@pytest.mark.parametrize("spare", [0, 1 << 20])
def test_how_events_are_cut_into_batches_changes_nothing(spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(murmurate.agents.replay.truth, "SPARE_ROWS", spare)
    generator = np.random.default_rng(5)
    columns = [generator.integers(0, top, 4_000).tolist() for top in (50, MINUTE, 3)]
    events: list[Event] = list(zip(*columns, strict=True))
    parts = [(0, events[i : i + 100]) for i in range(0, 4_000, 100)]
    assert told(parts, end=MINUTE + 10_000, enrolled=50) == told([(0, events)], end=MINUTE + 10_000, enrolled=50)


def test_a_line_of_truth_names_its_values() -> None:
    period = TruePeriod("screen", 7, 4, np.array([0.25, 0.5, 0, 0.25]))
    assert period.record(("home", "search", "help", "none")) == {
        "stream": "screen", "t": 7, "users": 4, "truth": {"home": 0.25, "search": 0.5, "help": 0.0, "none": 0.25}
    }  # fmt: skip
