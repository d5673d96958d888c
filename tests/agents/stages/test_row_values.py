# SPDX-License-Identifier: Apache-2.0
"""What users say in each period where values are rows of words, against the model that keeps everything."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.stages.row_values import RowValues
from murmurate.config.plan import StreamPlan
from murmurate.topics.domains import Bits, Categories, Domain, Grid, Items, Measured, Signed
from tests.agents.stages.test_values import EVERY, NONE, OTHER, Plain
from tests.agents.world import stream

SETS = Items(6, 3)
ROWS = SETS.rows([[], [0], [0, 1], [0, 1, 5], [1], [5]])
EVENT = st.tuples(st.integers(0, 7), st.sampled_from([0, 3, 900, 1000, 2600]), st.integers(0, 5), st.booleans())


def plan(domain: Domain = SETS, **changes: Any) -> StreamPlan:
    return stream("screen", domain=domain, every_ms=EVERY, **changes)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    batches=st.lists(st.lists(EVENT, max_size=12), min_size=1, max_size=8),
    several=st.sampled_from(["last", "first"]),
    carry=st.sampled_from([0, 1000, 2000, None]),
    forget=st.sampled_from([1500, 3000, 10**12]),
    torn=st.booleans(),
)
def test_rows_are_those_of_a_model_that_forgets_nothing_and_compares_tuples(
    batches: list[list[tuple[int, int, int, bool]]], several: str, carry: int | None, forget: int, torn: bool
) -> None:
    of = plan(several=several, carry_ms=carry)
    values, model, users = RowValues(of, forget), Plain(several, carry, forget), 0
    for t, batch in enumerate(batches):
        events = [(u, t * EVERY + ahead, tuple(ROWS[row].tolist()), good) for u, ahead, row, good in batch]
        users = max([users, *(u + 1 for u, *_ in events)])
        values.mark_seen(np.array([e[0] for e in events], np.int64), np.array([e[1] for e in events], np.int64))
        good = [e for e in events if e[3]]
        for part in (good[: len(good) // 2], good[len(good) // 2 :]):
            values.take(
                np.array([e[0] for e in part], np.int64), np.array([e[1] for e in part], np.int64),
                np.array([e[2] for e in part], np.uint32).reshape(-1, 3),
            )  # fmt: skip
        for u, time, row, valid in events:
            model.seen[u] = min(time, model.seen.get(u, time))
            model.shown[u].add(time // EVERY)
            if valid:
                model.events[u].append((time, row))  # type: ignore[arg-type]
        if torn:
            kept, values = values.arrays(), RowValues(of, forget)
            values.load(kept)
        frozen = values.close(t, users)
        said = [
            tuple(row) if there else None for row, there in zip(frozen.values.tolist(), frozen.members, strict=True)
        ]
        instead: dict[object, tuple[int, ...]] = {NONE: SETS.nothing, OTHER: SETS.initial}
        expected = [model.say(u, t) for u in range(users)]
        assert said == [instead.get(value, value) for value in expected]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0, 5, 1005]), st.integers(0, 5)), max_size=30),
    st.integers(0, 99), st.sampled_from(["last", "first"]),
)  # fmt: skip
def test_the_order_of_arrival_changes_nothing_where_times_are_the_same(
    events: list[tuple[int, int, int]], seed: int, several: str
) -> None:
    shuffled = Random(seed).sample(events, len(events))
    found = []
    for order, size in ((events, 30), (shuffled, 4)):
        values = RowValues(plan(several=several, carry_ms=0), 10**12)
        for at in range(0, len(order), size):
            rows, times, said = np.array(order[at : at + size], np.int64).reshape(-1, 3).T
            values.mark_seen(rows, times)
            values.take(rows, times, ROWS[said])
        found.append([values.close(t, 3).values.tolist() for t in (0, 1)])
        assert values.second == len(events) - len({(user, time // EVERY) for user, time, _ in events})
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("domain", "nothing", "initial"),
    [
        (SETS, [0xFFFFFFFE, 0, 0], [0x7FFFFFFF] * 3),
        (Signed(4, 1), [0xFFFFFFFE, 0], [0x7FFFFFFF, 0]),
        (Bits(16), [0xFFFFFFFE], [0]),
        (Measured(Categories(("a", "b"), other=True), Grid(0, 1, 4, "points")), [3, 0], [2, 0]),
        (Measured(SETS, Grid(0, 1, 4, "points")), [0xFFFFFFFE, 0, 0, 0], [0x7FFFFFFF] * 3 + [0]),
    ],
)
def test_who_has_no_value_says_so_or_where_values_stand_for_ever_the_initial_one(
    domain: Domain, nothing: list[int], initial: list[int]
) -> None:
    for carry, row in ((0, nothing), (5000, nothing), (None, initial)):
        values = RowValues(plan(domain, carry_ms=carry), 10**12)
        values.mark_seen(np.arange(2), np.array([5, 6]))
        frozen = values.close(0, 2)
        assert frozen.values.tolist() == [row, row]
        assert frozen.values.dtype == np.uint32
        assert values.initial == (2 if carry is None else 0)


def test_a_frozen_period_takes_its_words_and_a_byte() -> None:
    values, users = RowValues(plan(carry_ms=0), 10**12), 1000
    values.mark_seen(np.arange(users), np.zeros(users, np.int64))
    values.take(np.arange(users), np.zeros(users, np.int64), np.repeat(ROWS[:1], users, axis=0))
    values.close(0, users)
    values.close(1, users)
    assert {name: array.nbytes for name, array in values.arrays().items()} == {
        "shown": 8 * users, "time": 0, "kept": 0,
        **{f"frozen/{t}/values": 12 * users for t in (0, 1)}, **{f"frozen/{t}/members": users for t in (0, 1)},
    }  # fmt: skip
