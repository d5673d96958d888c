# SPDX-License-Identifier: Apache-2.0
"""The truth of values of several words is that of codes which are in the same order, whatever comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import murmurate.agents.replay.truth
from murmurate.agents.replay.source import Batch
from murmurate.agents.replay.truth import true_periods
from murmurate.topics.block import REFUSED
from murmurate.topics.domains import Items
from tests.agents.replay.plans import MINUTE, plan, stream
from tests.agents.replay.test_truth import Event, Scripted, scripts
from tests.agents.wide import Told

SETS = Items(9, 2)
IN_ORDER = SETS.rows([[0, 3], [0, 4], [2]])
"""Rows that are in the order of the codes 0, 1 and 2."""


@dataclass(frozen=True)
class Counted(Told):
    """How many users say each of these rows, and the last code's: no value."""

    def truth(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        last = [SETS.nothing] if self.says_none else []
        every = [*map(tuple, IN_ORDER.tolist()), *last, SETS.initial]
        return np.array([(counts == row).all(axis=1).sum() for row in every], np.float64)


class Rows(Scripted):
    """The same script, in rows."""

    def batches(self) -> Iterator[Batch]:
        for batch in super().batches():
            rows = np.full((len(batch), 2), REFUSED, np.uint32)
            good = batch.codes != REFUSED
            rows[good] = IN_ORDER[batch.codes[good]]
            yield replace(batch, codes=rows)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    scripts.map(lambda found: list(zip(sorted(c for c, _ in found), [b for _, b in found], strict=True))),
    st.sampled_from([None, 5]), st.sampled_from([0, 30_000, 3 * MINUTE, None]), st.sampled_from(["last", "first"]),
    st.sampled_from([0, 1 << 20]),
)  # fmt: skip
def test_rows_and_codes_in_the_same_order_have_the_same_truth(
    script: list[tuple[int, list[Event]]], enrolled: int | None, carry: int | None, several: Literal["last", "first"],
    spare: int,
) -> None:  # fmt: skip
    before, murmurate.agents.replay.truth.SPARE_ROWS = murmurate.agents.replay.truth.SPARE_ROWS, spare
    coded = plan(stream(carry_ms=carry, several=several))
    one = replace(coded.streams[0], measure=Counted(SETS, carry is not None))
    wide = replace(coded, streams=(one,))
    try:
        codes = list(true_periods(coded, Scripted(coded, script, 9 * MINUTE, enrolled)))
        rows = list(true_periods(wide, Rows(wide, script, 9 * MINUTE, enrolled)))
    finally:
        murmurate.agents.replay.truth.SPARE_ROWS = before
    assert [(period.t, period.users) for period in rows] == [(period.t, period.users) for period in codes]
    for a, b in zip(codes, rows, strict=True):
        expected = np.nan_to_num(a.figures) * a.users
        if carry is None:  # who was never valid says the first code, or the empty set
            expected[0] -= b.figures[-1]
        assert np.allclose(b.figures[:-1], expected)
