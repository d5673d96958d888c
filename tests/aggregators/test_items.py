# SPDX-License-Identifier: Apache-2.0
"""Shares of users who hold items: what is true, the exact promise of their question, and how good its answers are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.measures.items import PADDED, ItemShares
from murmurate.randomizers import OLH, Key, Viewed
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.mechanism import MAX_LAW
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.thresholds import exp_floor
from murmurate.topics.domains import Items
from tests.aggregators.coverage import within
from tests.cases import every

ROUND = bytes(range(32))
BASKET = Items(("bread", "milk", "eggs", "tea"), 3)


def test_items_are_called_by_name_or_by_number_and_nobody_is_called_none() -> None:
    assert ItemShares(BASKET, pad=2).names == ("bread", "milk", "eggs", "tea")
    assert ItemShares(Items(3, 2), pad=2).names == ("0", "1", "2")
    assert ItemShares(Items(("none", "tea"), 2), pad=1).names == ("none", "tea")


def test_what_is_true_is_counted_from_what_was_said() -> None:
    rows = BASKET.rows([["bread", "tea"], [], ["bread"], ["eggs", "bread", "tea"]])
    everybody = np.vstack((rows, np.array([BASKET.nothing] * 4, np.uint32)))
    assert ItemShares(BASKET, pad=2).truth(everybody).tolist() == [3 / 8, 0, 1 / 8, 2 / 8]
    assert ItemShares(BASKET, says_none=False, pad=2).truth(rows).tolist() == [3 / 4, 0, 1 / 4, 2 / 4]
    assert np.isnan(ItemShares(BASKET, pad=2).truth(everybody[:0])).all()


def test_of_4096_items_and_many_users_truth_and_a_release_are_exact() -> None:
    measure, n = ItemShares(Items(4096, 8), pad=8), 10_000
    items = np.sort((np.arange(n)[:, None] * 7 + np.arange(8) * 512) % 4096, axis=1).astype(np.uint32)
    held = np.bincount(items.reshape(-1), minlength=4096) / n
    np.testing.assert_array_equal(measure.truth(items), held)


SETS = [(1, 1, 1, 1), (3, 3, 2, 1), (3, 3, 1, 3), (4, 2, 2, 1), (3, 2, 2, Fraction(1, 10))]


@every(("d", "most", "pad", "epsilon"), SETS)
@every("none", [True, False])
def test_no_report_tells_more_than_epsilon_of_any_set_or_of_none(
    d: int, most: int, pad: int, epsilon: Fraction, none: bool
) -> None:
    audited(d, most, pad, epsilon, none)


@pytest.mark.audit
@every("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(2), Fraction(4)])
@every(("d", "most", "pad"), [(3, 3, 1), (3, 3, 3), (4, 3, 3), (4, 4, 2), (5, 2, 1)])
@every("none", [True, False])
def test_no_report_tells_more_than_epsilon_of_larger_sets_and_at_other_claims(
    d: int, most: int, pad: int, epsilon: Fraction, none: bool
) -> None:
    audited(d, most, pad, epsilon, none)


def audited(d: int, most: int, pad: int, epsilon: Fraction, none: bool) -> None:
    """Every oracle that serves, over all sets and none: no ratio above e^epsilon, and reports that all of them give."""
    measure = ItemShares(Items(d, most), none, pad=pad)
    (view,) = measure.views
    asked_by = [measure.question(name, epsilon) for name in PADDED]  # others have audits of their own
    pooled = Viewed(view, OLH(d=view.d, epsilon=epsilon, pool=4))
    listed = [asked for asked in (*asked_by, pooled) if asked.reports_possible <= MAX_LAW]
    assert {"grr", "olh", "oue"} == {asked.answered_by for asked in listed}
    for asked in listed:
        found = audit_exact(asked, round=ROUND)
        assert found.violations == ()
        values = list(layout(measure.layout).enumerate())
        laws = [asked.of_round(ROUND).law(value) for value in values]
        assert all(law.keys() == laws[0].keys() and sum(law.values()) == 1 for law in laws)
        ratio = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
        assert ratio <= exp_floor(asked.epsilon_micro)
        if asked.answered_by == "grr" and most >= pad:  # the draw's larger ratio is used up
            assert ratio > 1 + (exp_floor(asked.epsilon_micro) - 1) * Fraction(999_999, 1_000_000)


def test_of_padded_sets_grr_is_best_while_the_paper_says_so_and_else_olh() -> None:
    """Wang 2021, (5.3): GRR if d < L (4 L - 1) e^epsilon + 1. Users hold items, so that the exact border is nearby."""

    def better(d: int, pad: int) -> str:
        measure = ItemShares(Items(d, 8), pad=pad)
        return min(("grr", "olh"), key=lambda name: measure.usual_variance(measure.question(name, 1.0), 1))

    e = np.e
    for pad in (1, 2, 4, 8):
        border = pad * (4 * pad - 1) * e + 1
        few, many = max(pad, int(border * 0.7)), int(border * 1.4) + 2
        assert better(few, pad) == "grr"
        assert better(many, pad) == "olh"


@every(
    ("d", "most", "pad", "epsilon"), [(24, 4, 3, 1.0), (24, 4, 4, 1.0), (8, 8, 8, 0.3), (8, 2, 8, 4.0), (300, 8, 8, 1)]
)
def test_auto_has_the_smallest_exact_error_of_all_that_serve(d: int, most: int, pad: int, epsilon: float) -> None:
    measure = ItemShares(Items(d, most), pad=pad)
    of = {name: measure.usual_error(measure.question(name, epsilon)) for name in measure.possible}
    assert set(PADDED) < set(of)
    assert measure.usual_error(measure.question("auto", epsilon)) == pytest.approx(min(of.values()))
    asked = measure.question("auto", epsilon)
    exact = asked.variance(1000, min(1.0, pad / d)).mean()
    assert measure.usual_variance(asked, 1000) == pytest.approx(exact)


def test_auto_weighs_the_bias_of_padding_against_the_variance_of_telling_whole_sets() -> None:
    """Of 8 items and sets of 0 to 8, padded to 1: (7 + 6 + ... + 1) / 9 items of a user are not counted."""
    measure = ItemShares(Items(8, 8), pad=1)
    assert measure.usual_bias == pytest.approx(28 / 9 / 8)
    padded, asked = measure.question("grr", 1.0), measure.question("auto", 1.0)
    assert measure.usual_variance(padded, 1) < measure.usual_variance(asked, 1)  # by variance alone it would be taken
    assert measure.usual_error(padded) > 10 * measure.usual_error(asked)
    assert measure.bias_of(asked) == ""
    assert 'which "auto" assumes, by 0.39 on average' in measure.bias_of(padded)
    values = list(layout(measure.layout).enumerate())[:256]
    sizes = [sum(item < 8 for item in value) for value in values if isinstance(value, tuple)]
    weight = np.array([1 / sizes.count(size) for size in sizes])  # all sizes equally frequent
    told = np.array([min(size, 1) for size in sizes])
    assert weight @ (np.array(sizes) - told) / weight.sum() / 8 == pytest.approx(measure.usual_bias)


def test_all_of_a_set_is_told_whatever_the_pad_and_nothing_is_under_counted() -> None:
    held = np.tile(BASKET.rows([["bread", "milk", "tea"]]), (60_000, 1))
    draw = Key(bytes(range(9, 41)), deployment="items").draw(contexts(np.arange(len(held))), round=ROUND)
    measure = ItemShares(BASKET, pad=1)
    for name in sorted(set(measure.possible) - set(PADDED)):
        asked = measure.question(name, 3.0).of_round(ROUND)
        assert measure.bias_of(asked) == ""
        found = asked.estimate(asked.support(asked.perturb(held, draw)), len(held))
        assert (np.abs(found - np.array([1, 1, 0, 1])) <= 5 * np.sqrt(asked.variance(len(held), 1))).all(), name


@every("name", ["grr", "olh", "oue"])
def test_estimates_are_unbiased_and_their_variance_is_as_it_is_said(name: str) -> None:
    """400 users answer 2 000 rounds: of the mean four standard errors, of the variances together 5 %."""
    measure, n, rounds = ItemShares(BASKET, pad=3), 400, 2_000
    question = measure.question(name, 1.0)
    values = list(layout(measure.layout).enumerate())
    held = np.array([values[user % 16 if user % 3 else user % 5] for user in range(n)], np.uint32)
    key, found = Key(bytes(range(9, 41)), deployment="items"), []
    users = contexts(np.arange(n * rounds))
    for start in range(0, rounds, 50):  # a pool of hash functions is another one in every round
        digest = bytes([start // 50, *range(31)])
        asked = question.of_round(digest)
        reports = asked.perturb(np.tile(held, (50, 1)), key.draw(users[start * n : (start + 50) * n], round=digest))
        found += [asked.estimate(asked.support(some), n) for some in reports.reshape(50, n, -1)]
    true = measure.truth(held)
    wanted = question.variance(n, true)
    assert (np.abs(np.mean(found, axis=0) - true) <= 4 * np.sqrt(wanted / rounds)).all()
    assert (np.var(found, axis=0) / wanted).mean() == pytest.approx(1, abs=0.05)


def test_who_holds_more_than_the_pad_counts_in_part_and_check_says_so() -> None:
    measure = ItemShares(BASKET, pad=2)
    asked = measure.question("grr", 3.0)
    held = np.tile(BASKET.rows([["bread", "milk", "tea"]]), (60_000, 1))
    draw = Key(bytes(range(9, 41)), deployment="items").draw(contexts(np.arange(len(held))), round=ROUND)
    found = asked.estimate(asked.support(asked.perturb(held, draw)), len(held))
    error = np.sqrt(asked.variance(len(held), 2 / 3))
    assert (np.abs(found - np.array([2, 2, 0, 2]) / 3) <= 5 * error).all()
    assert "more than pad = 2" in measure.bias_of(asked)
    assert ItemShares(BASKET, pad=3).bias_of(asked) == ""
    assert ItemShares(Items(2, 3), pad=2).bias_of(asked) == ""


@every(("filtered", "truths"), [("adaptive", 4)], long=[("off", 16), ("adaptive", 16)])
def test_two_standard_errors_hold_the_truth_as_often_as_they_say(filtered: str, truths: int) -> None:
    """Of sets of up to three of 12 items."""
    table = {"measure": "items", "items": 12, "most": 3, "pad": 3}
    assert 0.93 <= within(table, filtered=filtered, truths=truths).mean() <= 0.97
