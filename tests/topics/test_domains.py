# SPDX-License-Identifier: Apache-2.0
"""What events may say: numbers become cells, by themselves and in bulk alike, and back to the number they stand for."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.topics import Categories, EventReader, Fields, Grid, Reason
from murmurate.topics.block import REFUSED
from murmurate.topics.errors import MappingError
from tests.cases import every

GRIDS = st.builds(
    lambda low, length, cells, form: Grid(low, low + length, cells, form),
    st.floats(-1e6, 1e6),
    st.floats(0.01, 1e6),
    st.integers(2, (1 << 16) + 1),
    st.sampled_from(["points", "stretches"]),
)
FARES = Grid(0, 120, (1 << 16) + 1, "points")


def read(value: str, *, domain: Grid | Categories = FARES, texts: bool = False) -> tuple[list[int], list[Reason]]:
    columns = EventReader({"fare": domain}, Fields(), texts=texts).read(
        [b'{"user":"u","time":5,"value":%b}' % value.encode()]
    )
    return columns.code.tolist(), [reason for _, reason in columns.refusals]


@settings(deadline=None, derandomize=True)
@given(grid=GRIDS, numbers=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20))
def test_numbers_have_the_same_cells_one_by_one_and_in_bulk(grid: Grid, numbers: list[float]) -> None:
    one_by_one = [grid.code(number) for number in numbers]
    assert grid.encode(np.array(numbers)).tolist() == one_by_one
    assert all(0 <= code < grid.cells for code in one_by_one)


@settings(deadline=None, derandomize=True)
@given(grid=GRIDS, part=st.floats(0, 1))
def test_the_number_of_a_cell_lies_in_that_cell(grid: Grid, part: float) -> None:
    code = min(int(part * grid.cells), grid.cells - 1)
    assert grid.code(grid.value(code)) == code
    assert grid.low <= grid.value(code) <= grid.high


@settings(deadline=None, derandomize=True)
@given(grid=GRIDS, number=st.floats(-2e6, 2e6))
def test_a_number_inside_is_at_most_half_a_cell_from_what_its_cell_stands_for(grid: Grid, number: float) -> None:
    inside = min(max(number, grid.low), grid.high)
    steps = grid.cells - 1 if grid.form == "points" else grid.cells
    finest = math.ulp(max(abs(grid.low), abs(grid.high)))  # what doubles can tell apart there
    assert abs(grid.value(grid.code(number)) - inside) <= (grid.high - grid.low) / steps * 0.500001 + finest


def test_both_ends_are_points_and_stretches_begin_at_their_lower_end() -> None:
    assert [Grid(-1, 1, 3, "points").value(code) for code in range(3)] == [-1, 0, 1]
    quarters = Grid(0, 1, 4, "stretches")
    assert [quarters.code(number) for number in (0, 0.2499, 0.25, 0.75, 1)] == [0, 0, 1, 3, 3]
    assert [quarters.edge(code) for code in range(5)] == [0, 0.25, 0.5, 0.75, 1]


@every(
    ("value", "code"),
    [
        ("0", 0),
        ("120", 65536),
        ("60", 32768),
        ("60.0", 32768),
        ("-5", 0),
        ("1e300", 65536),
        ("18446744073709551615", 65536),
    ],
)
def test_a_number_counts_and_one_outside_the_range_as_the_nearer_end(value: str, code: int) -> None:
    assert read(value) == ([code], [])


@every("value", ['"14.5"', "true", "null", "[14.5]", '{"a": 1}'])
def test_what_is_no_number_enrols_its_user_and_says_nothing(value: str) -> None:
    assert read(value) == ([REFUSED], [Reason.TYPE])


@every("value", ["NaN", "Infinity", "1e999"])
def test_a_number_that_json_has_not_enrols_its_user_and_says_nothing(value: str) -> None:
    assert read(value) == ([REFUSED], [Reason.JSON])


@every("text", ["14.5", "+14.5", "1.45e1", "14.50000", "0014.5"])
def test_a_table_has_its_numbers_as_texts(text: str) -> None:
    assert read(json.dumps(text), texts=True) == ([FARES.code(14.5)], [])


@every("text", ["", "14,5", "14.5 EUR", "nan", "inf", "0x10", "1_000", "--1", "1e9999", "١٤"])
def test_a_text_that_is_no_number_is_refused(text: str) -> None:
    assert read(json.dumps(text), texts=True) == ([REFUSED], [Reason.TYPE])


def test_texts_are_texts_in_a_table_too() -> None:
    assert read('"1"', domain=Categories(("0", "1")), texts=True) == ([1], [])


def test_a_code_of_categories_says_what_it_stands_for() -> None:
    for domain in (Categories(("home", "help"), other=True), Categories(("other", "other-"), other=True)):
        found = [domain.value(code) for code in range(domain.none)]
        assert [domain.codes()[value] for value in found] == [0, 1, 2]


BAD: list[tuple[Any, ...]] = [
    (1, 1, 5, "points"), (2, 1, 5, "points"), (0, math.inf, 5, "points"), (math.nan, 1, 5, "points"),
    (1e9, 1e9 + 1e-3, 5, "points"), ("0", 1, 5, "points"), (0, 1, 1, "points"), (0, 1, 1 << 23, "points"),
    (0, 1, 5, "cells"),
]  # fmt: skip


@every("parameters", BAD)
def test_a_range_that_holds_nothing_cannot_be_built(parameters: tuple[Any, ...]) -> None:
    with pytest.raises(MappingError, match="grid: found"):
        Grid(*parameters)
