# SPDX-License-Identifier: Apache-2.0
"""Searches for frequent items and sets of items: golden values of Wang 2021, brute force, and whole searches by real
reports of users of whom none is asked twice.
"""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.aggregators.hitters.itemset_search import (
    ITEMSET_PARTS,
    GuessedItemset,
    guesses,
    itemset_candidates,
    largest_itemset,
    ranked_together,
)
from murmurate.aggregators.hitters.ldp_miner import MINER_PARTS, miner_question
from murmurate.aggregators.hitters.padded_delta import weaker_question, weaker_sampling
from murmurate.aggregators.hitters.set_search import (
    ITEM_PARTS,
    corrected,
    correction,
    first_candidates,
    kept_sizes,
    length_from,
    needs_candidates,
    ranking,
    sampled_question,
    size_question,
)
from murmurate.randomizers import GRR, OLH, Itemsets, Key, ParameterError, Question, Size, Viewed
from murmurate.randomizers.frequency.hashing import hash_pairs
from murmurate.randomizers.layouts import FILLER
from tests.cases import drawn, every

DATA = Path(__file__).resolve().parents[2] / "data"
GOLDEN = json.loads((DATA / "set_search.json").read_text(encoding="ascii"))
PSFO = json.loads((DATA / "psfo.json").read_text(encoding="ascii"))
KEY = Key(bytes(range(3, 35)), deployment="baskets")


# ---- items ----


@every("case", PSFO)
def test_the_better_oracle_is_asked_for_a_padded_sample(case: dict[str, Any]) -> None:
    asked = sampled_question(("items", case["d"], case["l"], 0), case["l"], None, case["eps"])
    assert asked.mechanism.name.upper() == case["adap"] == ("GRR" if case["d"] < case["adap_bound"] else "OLH")
    variance = case["var_grr_per_user"] if case["adap"] == "GRR" else case["var_olh_per_user"]
    assert float(asked.noise(np.zeros(1))[0]) == pytest.approx(variance, rel=1e-7 if case["adap"] == "GRR" else 0.01)


def test_of_sizes_follow_the_length_and_the_correction() -> None:
    case = GOLDEN["svim_L_update"]
    told = np.array([5000.0, *case["f_hat"]])
    kept = kept_sizes(told, 0.0)
    assert kept.tolist() == [0.0, *case["f_hat"]]  # who holds none plays no part
    assert length_from(kept) == case["L"]
    assert correction(kept, case["L"]) == pytest.approx(case["u"], rel=1e-9)
    shares, variances = corrected(np.array([0.2, 0.1]), np.array([1.0, 2.0]), 1.5)
    assert shares == pytest.approx([0.3, 0.15])
    assert variances == pytest.approx([2.25, 4.5])


def test_sizes_that_can_be_chance_are_dropped_and_without_any_the_length_is_one() -> None:
    sizes = np.array([0.5, 0.4, -0.3, 0.05, 0.02])
    assert kept_sizes(sizes, 0.01**2).tolist() == [0, 0.4, 0, 0.05, 0]  # z is 2.24 for a chance of .05 over 4
    assert kept_sizes(sizes, np.full(5, 0.0089**2)).tolist() == [0, 0.4, 0, 0.05, 0.02]
    nothing = kept_sizes(sizes, 1.0)
    assert not nothing.any()
    assert (length_from(nothing), correction(nothing, 1)) == (1, 1.0)
    for wrong in (np.zeros(1), np.array([0.1, math.nan])):
        with pytest.raises(ParameterError, match="sizes: found"):
            kept_sizes(wrong, 1.0)


@drawn(30, long=300, sizes=st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_the_correction_undoes_what_a_short_padding_takes_away(sizes: list[int]) -> None:
    """Of users by their number of candidates, holdings over what padding to L tells of them on average."""
    kept = np.array([0.0, *map(float, sizes)])
    length = length_from(kept)
    assert 1 <= length <= len(sizes)
    held = sum(c * users for c, users in enumerate(kept))
    told = sum(c * users * min(1.0, length / c) for c, users in enumerate(kept) if c)
    assert correction(kept, length) == pytest.approx(held / told if told else 1.0)


def test_candidates_are_the_best_twice_k_in_rising_order_and_ties_go_to_the_first() -> None:
    estimates = np.array([0.1, 0.4, 0.4, -0.1, 0.0, 0.2])
    assert ranking(estimates, 3).tolist() == [1, 2, 5]
    assert first_candidates(estimates, 1).tolist() == [1, 2]
    assert first_candidates(estimates, 2).tolist() == [0, 1, 2, 5]
    assert first_candidates(estimates, 9).tolist() == list(range(6))
    assert [needs_candidates(d, 32) for d in (20, 64, 96, 97, 1000)] == [False, False, False, True, True]


def test_more_items_than_an_oracle_can_list_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="prefix by prefix"):
        sampled_question(("items", (1 << 31) - 1, 4, 1), 1, None, 1.0)
    some = sampled_question(("items", (1 << 31) - 1, 4, 1), 2, [5, 1 << 30], 1.0)
    assert some.statistics == 2


# ---- itemsets ----


def test_the_golden_guesses() -> None:
    case = GOLDEN["svsm_guess"]
    names = sorted(case["f"])
    found = guesses(np.array([case["f"][name] for name in names]), 16)
    assert ["".join(names[place] for place in one.places) for one in found] == [name for name, _ in case["ranked"]]
    assert [one.guess for one in found] == pytest.approx([guess for _, guess in case["ranked"]], rel=1e-7)


@drawn(
    25,
    long=250,
    shares=st.lists(st.integers(-3, 12), min_size=0, max_size=9),
    k=st.sampled_from([1, 4, 5, 8, 9, 17]),
    largest=st.sampled_from([None, 1, 2, 3]),
)
def test_guesses_are_those_of_all_sets_of_items_listed(shares: list[int], k: int, largest: int | None) -> None:
    estimates = np.array(shares, float) / 40
    found = guesses(estimates, k, largest)
    best = [place for place in ranking(estimates, k).tolist() if estimates[place] > 0]
    top = max((estimates[place] for place in best), default=1.0)
    most = min(max(2, largest_itemset(k)), largest or k)
    sets = (of for n in range(2, most + 1) for of in combinations(best, n))
    listed = sorted((math.prod(0.9 * estimates[place] / top for place in of) for of in sets), reverse=True)[: 2 * k]
    assert [one.guess for one in found] == pytest.approx(listed)
    assert len({one.places for one in found}) == len(found)
    for one in found:
        assert one.places == tuple(sorted(one.places))
        assert one.guess == pytest.approx(math.prod(0.9 * estimates[place] / top for place in one.places))


def test_guesses_of_the_largest_search_take_no_list_of_all_sets() -> None:
    estimates = np.asarray(0.3 / np.arange(1, 1001) ** 0.7, np.float64)
    found = guesses(estimates, 512)  # of 512 items there are more than 10^16 sets of up to eight
    assert len(found) == 1024
    assert (np.diff([one.guess for one in found]) <= 0).all()
    assert found[0].places == (0, 1)


def test_items_and_itemsets_are_ranked_together() -> None:
    items = [(4,), (9,)], np.array([0.3, 0.1]), np.array([1e-4, 2e-4])
    sets = itemset_candidates([9, 4, 2], [GuessedItemset((0, 1), 0.5), GuessedItemset((1, 2), 0.2)])
    assert sets == [(2, 4), (4, 9)]
    found = ranked_together(items, (sets, np.array([0.05, 0.2]), np.array([3e-4, 4e-4])), 3)
    assert found.itemsets == ((4,), (4, 9), (9,))
    assert found.shares.tolist() == [0.3, 0.2, 0.1]
    assert found.variances.tolist() == [1e-4, 4e-4, 2e-4]
    assert not ranked_together(([], np.zeros(0), np.zeros(0)), ([], np.zeros(0), np.zeros(0)), 3).itemsets


# ---- the weaker promise ----


@every("case", GOLDEN["psfo_olh_delta"])
def test_the_golden_values_of_the_weaker_promise(case: dict[str, Any]) -> None:
    found = weaker_sampling(case["l"], case["eps"], case["delta"])
    assert found.together == case["l_prime"]
    assert found.epsilon == pytest.approx(case["eps_prime"], rel=1e-7)
    fewer = found.together - 1
    cells = math.ceil(case["l"] / fewer * math.expm1(case["eps"]) + 2)
    assert math.comb(case["l"], found.together) > case["delta"] * cells**fewer  # one less would not do
    assert weaker_sampling(case["l"], case["eps"], 1e-300).together == case["l"]


def test_the_weaker_question_exceeds_epsilon_for_no_more_functions_than_delta_says() -> None:
    """By the exact law of reports under each of 4000 hash functions."""
    layout, length, epsilon, delta = ("items", 9, 4, 0), 4, 1.0, 0.05
    asked = weaker_question(layout, length, epsilon, delta)
    assert asked.epsilon > epsilon
    inner = asked.mechanism
    assert isinstance(inner, OLH)
    own, seeds = list(range(length)), np.arange(4000, dtype=np.uint64)
    cells = np.stack([hash_pairs(seeds, np.array([item]), inner.g) for item in own], axis=1)
    most = np.array([np.bincount(of).max() for of in cells.astype(np.int64)])
    ratio = 1 + (float(inner.realised) - 1) * most / length
    assert (ratio > math.exp(epsilon)).any()
    assert (ratio > math.exp(epsilon)).mean() <= delta
    with pytest.raises(ParameterError, match="weaker_question: found sets of up to 5"):
        weaker_question(("items", 9, 5, 0), 4, epsilon, delta)
    for wrong in ((0, 1.0, 0.1), (3, 0.0, 0.1), (3, 1.0, 0.0), (3, 1.0, 1.0)):
        with pytest.raises(ParameterError, match="weaker_sampling: found"):
            weaker_sampling(*wrong)


# ---- whole searches ----

ITEMS, MOST, USERS, K = 60, 6, 24_000, 8


def baskets() -> np.ndarray:
    """Sets in which low items are frequent and the first two are mostly held together."""
    rng = np.random.default_rng(23)
    shares = 0.5 * 0.75 ** np.arange(ITEMS)
    held = rng.random((USERS, ITEMS)) < shares
    held[:, 1] = held[:, 0] & (rng.random(USERS) < 0.9)
    rows = np.full((USERS, MOST), FILLER, np.uint32)
    for row, of in zip(rows, held, strict=True):
        items = np.flatnonzero(of)[:MOST]
        row[: len(items)] = items
    return rows


class Phases:
    """Users in disjoint parts, each asked once."""

    def __init__(self, rows: np.ndarray, parts: tuple[int, ...]) -> None:
        self.ends = np.cumsum(parts) * len(rows) // sum(parts)
        self.rows, self.next, self.users = rows, 0, np.random.default_rng(1).integers(0, 256, (len(rows), 16), np.uint8)

    def ask(self, question: Question) -> tuple[np.ndarray, np.ndarray]:
        start = self.ends[self.next - 1] if self.next else 0
        mine = slice(start, self.ends[self.next])
        round_ = bytes([self.next]) * 32
        self.next += 1
        reports = question.perturb(self.rows[mine], KEY.draw(self.users[mine], round=round_))
        n = len(reports)
        return question.of_round(round_).estimate(question.of_round(round_).support(reports), n), question.variance(
            n, 0.0
        )


def sizes_of(phases: Phases, asked: Viewed) -> np.ndarray:
    assert isinstance(asked.view, Size)
    sizes, variance = phases.ask(asked)
    return kept_sizes(sizes[: asked.view.most + 1], variance)


def items_found(phases: Phases, epsilon: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """SVIM: the candidates, their shares and the variances."""
    layout = ("items", ITEMS, MOST, 1)
    candidates = first_candidates(phases.ask(sampled_question(layout, 1, None, epsilon))[0], K)
    kept = sizes_of(phases, size_question(layout, candidates.tolist(), epsilon))
    length = length_from(kept)
    asked = sampled_question(layout, length, candidates.tolist(), epsilon)
    shares, _ = phases.ask(asked)
    n = int(phases.ends[phases.next - 1] - phases.ends[phases.next - 2])
    return candidates, *corrected(shares, asked.variance(n, np.clip(shares, 0, 1)), correction(kept, length))


def test_a_search_by_reports_finds_the_most_frequent_items_with_their_shares() -> None:
    rows = baskets()
    phases = Phases(rows, ITEM_PARTS)
    candidates, shares, variances = items_found(phases, 3.0)
    truth = np.array([(rows == item).any(axis=1).mean() for item in range(ITEMS)])
    best = candidates[ranking(shares, K)]
    assert len(set(best.tolist()) & set(ranking(truth, K).tolist())) >= K - 1
    error = (shares - truth[candidates]) / np.sqrt(variances)
    assert np.abs(error[ranking(shares, K)]).max() < 5


def test_a_search_by_reports_finds_two_items_that_are_held_together() -> None:
    rows = baskets()
    phases = Phases(rows, ITEMSET_PARTS)
    candidates, shares, variances = items_found(phases, 4.0)
    guessed = guesses(shares, K, MOST)
    itemsets = itemset_candidates(candidates.tolist(), guessed)
    layout = ("items", ITEMS, MOST, 1)
    kept = sizes_of(phases, size_question(layout, itemsets, 4.0))
    length = length_from(kept)
    asked = sampled_question(layout, length, itemsets, 4.0)
    told, variance = phases.ask(asked)
    told, together_variances = corrected(told, np.broadcast_to(variance, told.shape), correction(kept, length))
    found = ranked_together(
        ([(item,) for item in candidates.tolist()], shares, variances), (itemsets, told, together_variances), K
    )
    assert (0, 1) in found.itemsets
    share = float(found.shares[found.itemsets.index((0, 1))])
    truth = ((rows == 0).any(axis=1) & (rows == 1).any(axis=1)).mean()
    assert share == pytest.approx(truth, abs=5 * math.sqrt(found.variances[found.itemsets.index((0, 1))]))
    listed = Itemsets(layout, length, itemsets)
    assert listed.held.number == len(itemsets) == 2 * K


def test_the_older_search_is_less_exact_by_the_square_of_the_length() -> None:
    layout, candidates = ("items", 1000, 10, 1), list(range(64))
    older = miner_question(layout, 64, candidates, 1.0)
    newer = sampled_question(layout, 4, candidates, 1.0)
    assert older.mechanism.name == "olh"
    assert isinstance(newer.mechanism, GRR)
    assert sum(MINER_PARTS) == sum(ITEM_PARTS) == 10
    assert float(older.noise(np.zeros(1))[0]) > 500 * float(newer.noise(np.zeros(1))[0])
