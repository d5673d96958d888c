# SPDX-License-Identifier: Apache-2.0
"""A measure of found items: what they are called, and what is true of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.aggregators.measures.found_items import FoundItems, largest_of
from murmurate.randomizers import Viewed
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import FILLER, NONE
from tests.aggregators.set_searches import sets_of
from tests.cases import drawn, every

NAMED = FoundItems(Items(("bread", "tea", "milk", "jam"), 3), find="itemsets", top=8)
NUMBERED = FoundItems(Items((1 << 31) - 1, 3), top=8)


def test_items_are_called_by_name_or_number_and_sets_by_theirs_in_rising_order() -> None:
    rows = np.array([[0, 2], [1, FILLER]], np.uint32)
    assert NAMED.names_of(rows) == ("bread + milk", "tea")
    assert NUMBERED.names_of(np.array([[7], [(1 << 31) - 2]], np.uint32)) == ("7", "2147483646")
    assert NUMBERED.names_of(NUMBERED.nothing) == ()
    assert NAMED.values_of(("bread + milk", "tea")).tolist() == rows.tolist()


@every(
    ("measure", "name"),
    [
        (NAMED, "milk + bread"), (NAMED, "bread + bread"), (NAMED, "bread + tea + milk"), (NAMED, "cellar"),
        (NAMED, ""), (NAMED, "bread + "), (NUMBERED, "1 + 2"), (NUMBERED, "01"), (NUMBERED, "2147483647"),
        (NUMBERED, "-1"), (NUMBERED, "x"), (NUMBERED, "٣"),
    ],
)  # fmt: skip
def test_whatever_else_a_text_says_it_is_no_name(measure: FoundItems, name: str) -> None:
    with pytest.raises(ValueError, match="allowed: "):
        measure.values_of((name,))
    assert not measure.monitors(name)


def test_any_name_that_could_be_found_may_have_a_threshold() -> None:
    assert NAMED.monitors("bread + jam")
    assert NUMBERED.monitors("0")
    assert NUMBERED.limits("0") == (0, 1)


@drawn(20, long=500, seed=st.integers(0, 2**32))
def test_the_truth_is_the_share_of_those_who_hold_all_items(seed: int) -> None:
    rng = np.random.default_rng(seed)
    measure = FoundItems(Items(6, 4), find="itemsets", top=20)
    rows = sets_of(rng.random(6), 50, 4, seed)
    rows[rng.random(50) < 0.2] = (NONE, 0, 0, 0)  # these hold nothing, not even item 0
    different, counts = np.unique(rows, axis=0, return_counts=True)
    values = measure.values_of(("0", "3", "0 + 3", "1 + 2 + 4"))
    held = [{int(item) for item in row if item < 6} if row[0] != NONE else set() for row in rows]
    wanted = [{int(item) for item in value if item < 6} for value in values]
    expected = [np.mean([want <= own for own in held]) for want in wanted]
    assert measure.true_shares(different, counts.astype(np.int64), values) == pytest.approx(expected)
    assert measure.true_shares(rows, np.ones(50, np.int64), values) == pytest.approx(expected)
    assert np.isnan(measure.true_shares(rows[:0], np.zeros(0, np.int64), values)).all()


def test_names_hold_fewer_items_than_the_logarithm_of_how_many_are_wanted_but_two_of_sets() -> None:
    assert [largest_of("itemsets", top, 64) for top in (1, 4, 8, 16, 32, 64, 512)] == [2, 2, 2, 3, 4, 5, 8]
    assert largest_of("itemsets", 512, 3) == 3
    assert largest_of("items", 512, 3) == 1


def test_no_mechanism_serves_by_name_and_what_devices_get_first_asks_for_candidates() -> None:
    assert NAMED.possible == ()
    question = NAMED.choose(1.0)
    assert isinstance(question, Viewed)
    assert question.view.name == "padded"
    assert NAMED.names == ()
    assert NAMED.most_names == 8
    assert NAMED.what == "the 8 most frequent items and sets of items of each user's set (up to 3 of 4 items)"
