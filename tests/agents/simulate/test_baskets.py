# SPDX-License-Identifier: Apache-2.0
"""Made-up baskets and files, what is truly frequent in them, and searches over drawn reports.

Statistical tests have fixed seeds and allow 5 standard errors.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate.baskets import Baskets, BasketShape, baskets_of, frequent, made_up_baskets
from murmurate.agents.simulate.set_searches import (
    SET_METHODS,
    BasketSearch,
    _every_item,
    _shares,
    held_itemsets,
    layout_of_baskets,
    searched_sets,
)
from murmurate.aggregators.hitters.set_search import sampled_question

SMALL = BasketShape(4_000, 60, 3.0, 1.2)


def as_sets(baskets: Baskets) -> list[set[int]]:
    made: list[set[int]] = [set() for _ in range(baskets.n)]
    for user, item in zip(baskets.users.tolist(), baskets.items.tolist(), strict=True):
        made[user].add(item)
    return made


def test_baskets_are_sets_whose_first_items_are_frequent_and_the_same_seed_gives_the_same() -> None:
    baskets, again, other = made_up_baskets(SMALL), made_up_baskets(SMALL), made_up_baskets(SMALL, seed=6)
    assert np.array_equal(baskets.items, again.items)
    assert not np.array_equal(baskets.items, other.items)
    assert sum(map(len, as_sets(baskets))) == len(baskets.items)  # nobody holds anything twice
    assert 2.2 < len(baskets.items) / baskets.n < 3.0
    assert baskets.counts[0] == baskets.counts.max()
    assert (np.diff(baskets.users) >= 0).all()


def test_parts_are_disjoint_users_in_proportion() -> None:
    baskets = made_up_baskets(SMALL)
    parts = baskets.parts((5, 1, 4), np.random.default_rng(1))
    assert [part.n for part in parts] == [2000, 400, 1600]
    assert np.sum([part.counts for part in parts], axis=0).tolist() == baskets.counts.tolist()
    kept = np.arange(baskets.n) % 3 == 0
    assert as_sets(baskets.of(kept)) == as_sets(baskets)[::3]


def test_the_most_frequent_sets_are_those_of_all_sets_counted() -> None:
    baskets = made_up_baskets(BasketShape(500, 12, 4.0, 0.7))
    sets = as_sets(baskets)
    every = {
        of: sum(held.issuperset(of) for held in sets) for size in (1, 2, 3, 4) for of in combinations(range(12), size)
    }
    for k, largest in ((5, 1), (12, 2), (30, 4), (9, 3)):
        found = frequent(baskets, k, largest)
        counts = sorted((count for of, count in every.items() if len(of) <= largest), reverse=True)[:k]
        assert [one.holders for one in found] == counts
        assert all(every[one.items] == one.holders for one in found)
    itemsets = [(0, 1), (2, 5, 7), (3, 4)]
    held = held_itemsets(baskets, itemsets)
    assert sorted(zip(held.users.tolist(), held.numbers.tolist(), strict=True)) == sorted(
        (user, number) for user, of in enumerate(sets) for number, items in enumerate(itemsets) if of.issuperset(items)
    )


def test_a_file_is_read_and_what_is_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "shop_sets.txt"
    file.write_text("7 3 7\n\n100\n" + " ".join(map(str, range(200, 300))) + "\n", encoding="ascii")
    baskets = baskets_of(file)
    assert (baskets.name, baskets.n, baskets.d) == ("shop", 3, 67)  # a user's first 64 items, of 7, 3 and 100 besides
    assert as_sets(baskets)[:2] == [{0, 1}, {2}]
    for text in ("", "1 2\n", "a b\nc\n"):
        file.write_text(text, encoding="ascii")
        with pytest.raises(SourceError, match=r"shop_sets.txt: found no users"):
            baskets_of(file)


@pytest.mark.parametrize("length", [1, 3, 8])
def test_drawn_reports_have_the_shares_and_the_variance_of_the_question(length: int) -> None:
    baskets, generator = made_up_baskets(SMALL), np.random.default_rng(3)
    asked = sampled_question(layout_of_baskets(baskets), length, None, 2.0)
    told = np.stack([_shares(baskets, asked, _every_item(baskets), generator) for _ in range(100)])
    sizes = np.bincount(baskets.users, minlength=baskets.n)
    weights = np.minimum(1, length / sizes[baskets.users])
    expected = np.bincount(baskets.items, weights, baskets.d) / baskets.n
    error = np.sqrt(asked.variance(baskets.n, np.minimum(expected, 1)))
    assert np.abs((told.mean(axis=0) - expected) / error * 10).max() < 5
    assert (told.var(axis=0) / error**2).mean() == pytest.approx(1, abs=0.1)


def test_every_search_finds_all_where_there_is_hardly_noise() -> None:
    baskets = made_up_baskets(BasketShape(40_000, 60, 3.0, 1.2))
    for method, largest, least in (("SVIM", 1, 0.97), ("LDPMiner", 1, 0.6), ("SVSM", 2, 0.85)):
        search = BasketSearch(method, 6.0, 8)
        found = searched_sets(baskets, search, frequent(baskets, 8, largest), 1)
        assert found == searched_sets(baskets, search, frequent(baskets, 8, largest), 1)
        assert found.ncr >= least
        assert found.squared_error is not None
        assert found.hits >= 5
    assert set(SET_METHODS) == {"SVIM", "LDPMiner", "SVSM"}


def test_svsm_without_a_pair_to_guess_ranks_items_alone() -> None:
    baskets = made_up_baskets(SMALL)
    assert searched_sets(baskets, BasketSearch("SVSM", 4.0, 4), frequent(baskets, 4), 1).ncr > 0.9
