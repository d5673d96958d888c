# SPDX-License-Identifier: Apache-2.0
"""Rows of symbols: of everything that can be sent, exactly what somebody can give is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ReportError
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.vectors import ExSub, SetSubset
from murmurate.randomizers.vectors.scratch import Scratch
from murmurate.randomizers.vectors.subset_reports import SubsetReports
from tests.cases import every
from tests.randomizers.vectors.laws import KEY


@every("made", [
    ExSub(["signed", 3, 2, 0], 1, 2), ExSub(["signed", 4, 2, 0], 1, 3), ExSub(["signed", 5, 1, 0], 1, 1),
    ExSub(["items", 2, 2, 0], 1, 3), ExSub(["signed", 3, 1, 0], 1, 4), SetSubset(["items", 9, 2, 0], 1, 2),
    SetSubset(["items", 9, 5, 0], 1, 5), SetSubset(["items", 10, 3, 0], 1, 8), SetSubset(["items", 300, 3, 0], 1, 1),
])  # fmt: skip
def test_of_all_rows_of_one_or_two_bytes_those_that_nobody_gives_are_malformed(made: SubsetReports) -> None:
    """Symbols twice or of both signs, out of range or out of order, too few or too many, and bits behind the last."""
    assert made.wire_size <= 2
    rows = np.arange(256**made.wire_size, dtype="<u2").view(np.uint8).reshape(-1, 2)[:, : made.wire_size]
    given = made.law(made.value(()))
    wrong = made.malformed(np.ascontiguousarray(rows))
    assert {row.tobytes() for row in rows[~wrong]} == given.keys()
    with pytest.raises(ReportError, match="that no value gives"):
        made.support(np.ascontiguousarray(rows))


def test_a_long_list_is_malformed_after_any_change_that_is_no_report() -> None:
    made = ExSub(["signed", 1024, 8, 0], 1)
    symbols = made.rows.symbols(
        made.perturb(made.of.array([made.value(())]), KEY.draw(contexts(np.arange(1)), round=bytes(32)))
    )

    def row(changed: Mapping[int, int]) -> Any:
        full = symbols.copy()
        for at, symbol in changed.items():
            full[0, at] = symbol
        return made.rows.pack(full, None, Scratch())

    first, second, last = int(symbols[0, 0]), int(symbols[0, 1]), made.m - 1
    assert not made.malformed(row({})).any()
    assert not made.malformed(row({0: first ^ 1})).any()
    for changed in ({0: second}, {0: second ^ 1}, {0: second, 1: first}, {last: 2 * 1032}, {last: 4095}):
        assert made.malformed(row(changed)).all(), changed
    padded = row({})
    padded[0, -1] |= 0x80  # 69 symbols of 4 bits: half of the last byte is padding
    assert made.malformed(padded).all()
