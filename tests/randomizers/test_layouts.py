# SPDX-License-Identifier: Apache-2.0
"""What the words of a value mean: every value is one, no other row is, and none and refused have rows of their own."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ParameterError
from murmurate.randomizers.layouts import FILLER, NONE, REFUSED, UNIT, RowLayout, layout
from tests.cases import every

SMALL: list[tuple[Any, ...]] = [
    ("code", 5),
    ("bits", 4, 0),
    ("bits", 4, 1),
    ("items", 3, 2, 1),
    ("items", 4, 3, 0),
    ("items", 1, 1, 1),
    ("row", (2, 3, 2), 1),
    ("row", (2,), 0),
    ("measured", ("code", 3), 4),
    ("measured", ("items", 2, 2, 1), 2),
]


@pytest.mark.parametrize("spec", SMALL, ids=str)
def test_every_listed_value_is_one_and_no_other_row_is(spec: tuple[Any, ...]) -> None:
    of = layout(spec)
    listed = set(of.enumerate())
    near = [0, 1, 2, 3, 4, 5, 7, 11, 12, FILLER - 1, FILLER, FILLER + 1, NONE, REFUSED, 1 << 27, 3 << 27, 15 << 27]
    rows = list(listed | set(near if of.words == 1 else product(near, repeat=of.words)))
    right = ~of.wrong(of.array(rows))
    assert {row for row, good in zip(rows, right, strict=True) if good} == listed
    first = [row if of.words == 1 else row[0] for row in listed if row != of.nothing]
    assert max(first) < 1 << 31


@every("spec", [("items", 9, 64, 0), ("signed", 4, 2, 1), ("bits", 256, 1), ("bits", 31, 1), ("bits", 32, 0)])
def test_a_layout_reads_back_from_a_list_of_json(spec: tuple[Any, ...]) -> None:
    assert layout(list(spec)).spec() == spec
    assert layout(list(spec)).words == {"items": 64, "signed": 4, "bits": spec[1] // 32 + 1}[spec[0]]


def test_a_signed_value_holds_pairs_by_item_and_no_zero() -> None:
    of = layout(("signed", 4, 2, 1))
    good = [(0, 1, FILLER, 0), (FILLER, 0, FILLER, 0), (0, 0, 3, 2 * UNIT), (1, UNIT + 1, 2, UNIT - 1), (NONE, 0, 0, 0)]
    bad = [(0, UNIT, FILLER, 0), (0, 1, 0, 1), (2, 1, 1, 1), (4, 1, FILLER, 0), (FILLER, 1, FILLER, 0),
           (FILLER, 0, 1, 1), (0, 2 * UNIT + 1, FILLER, 0), (NONE, 1, 0, 0), (REFUSED,) * 4]  # fmt: skip
    assert of.wrong(of.array(good + bad)).tolist() == [False] * len(good) + [True] * len(bad)


def test_attributes_share_a_word_while_their_product_is_at_most_two_to_the_31() -> None:
    of = layout(("row", (1 << 16, 1 << 15, 2, 1 << 31, 3, 3), 0))
    assert isinstance(of, RowLayout)
    assert of.places == ((0, 1 << 15), (0, 1), (1, 1), (2, 1), (3, 3), (3, 1))
    codes = ((1 << 16) - 1, 7, 1, (1 << 31) - 1, 2, 1)
    rows = of.array([of.packed(codes)])
    assert not of.wrong(rows)[0]
    assert [int(of.digit(of.rows(rows), i)[0]) for i in range(6)] == list(codes)


@every(
    "spec",
    [
        None, [], "code", ["code"], ["code", 1], ["code", True], ["code", 2.0], ["bits", 0, 0], ["bits", 257, 0],
        ["bits", 8, 2], ["bits", 8, 1.0], ["items", 0, 1, 0], ["items", 1 << 31, 1, 0], ["items", 5, 65, 0],
        ["row", [], 0], ["row", [0], 0], ["row", [2] * 65, 0], ["row", 2, 0], ["measured", ["code", 2], 1],
        ["measured", ["measured", ["code", 2], 2], 2], ["other", 1], [["code"], 2],
    ],
)  # fmt: skip
def test_what_is_no_layout_is_refused(spec: Any) -> None:
    with pytest.raises(ParameterError, match="allowed"):
        layout(spec)


def test_large_layouts_are_not_listed() -> None:
    with pytest.raises(ParameterError, match="values to list"):
        list(layout(("bits", 48, 0)).enumerate())
    assert np.asarray(layout(("items", 5, 2, 1)).nothing).tolist() == [NONE, 0]
