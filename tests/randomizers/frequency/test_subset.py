# SPDX-License-Identifier: Apache-2.0
"""Subset selection: even subsets, and what happens where words tie."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import GRR, OUE, ParameterError, ReportError
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.frequency.subset import SubsetSelection
from murmurate.randomizers.frequency.subsets import NUMBERED, Lowest, Numbered, apart, sets_of
from murmurate.randomizers.thresholds import exp_floor
from tests.audit.registry import EPSILONS
from tests.cases import every
from tests.randomizers.chosen import Chosen
from tests.randomizers.frequency.checks import (
    FEW,
    check_bad_input_is_refused,
    check_both_halves_write_the_same_bytes,
    check_reports_follow_the_law,
    check_the_promise,
    check_unbiased_and_as_variable_as_said,
    close,
)


class ByLowest(SubsetSelection):
    """As in a large domain."""

    numbered = 0


KINDS = [SubsetSelection, ByLowest]


@every("kind", KINDS)
@every(("d", "k"), [(2, None), (3, None), (4, None), (5, None), (5, 2), (5, 4), (6, 3)])
@every("epsilon", FEW)
def test_no_report_tells_more_than_epsilon(kind: type[SubsetSelection], d: int, k: int | None, epsilon: Any) -> None:
    check_the_promise(kind(d=d, epsilon=epsilon, k=k))


@every(("d", "k"), [(21, 1), (21, 2)], long=[(40, 2)])
def test_no_report_tells_more_than_epsilon_where_words_are_narrow(d: int, k: int) -> None:
    made = SubsetSelection(d=d, epsilon=1, k=k)
    assert audit_exact(made).violations == ()
    laws = [made.law(value) for value in range(d)]
    assert {sum(law.values()) for law in laws} == {1}
    assert max(max(c) / min(c) for c in zip(*(law.values() for law in laws), strict=True)) == made.realised
    assert made.realised <= exp_floor(made.epsilon_micro)


@every("epsilon", EPSILONS)
@every("d", [2, 7, NUMBERED, NUMBERED + 1, 1024, 1 << 16])
def test_the_whole_promise_is_used_and_no_more(d: int, epsilon: Any) -> None:
    made = SubsetSelection(d=d, epsilon=epsilon)
    assert math.exp(epsilon) * (1 - 2**-14) <= float(made.realised)
    assert made.realised <= exp_floor(made.epsilon_micro)


@every(
    ("d", "epsilon", "k"), [(2, 1, 1), (4, 1, 1), (6, 1, 2), (128, 1, 34), (128, 0.5, 48), (1024, 4, 18), (5, 20, 1)]
)
def test_k_is_the_whole_number_nearest_to_its_best(d: int, epsilon: float, k: int) -> None:
    assert SubsetSelection(d=d, epsilon=epsilon).k == k == max(1, round(d / (math.exp(epsilon) + 1)))


def test_with_one_value_it_is_generalized_randomized_response() -> None:
    one, grr = SubsetSelection(d=4, epsilon=1, k=1), GRR(d=4, epsilon=1)
    close(one.p, float(grr.p), 1e-15)
    close(one.q, float(grr.q), 1e-15)


@every("d", [32, 128, 1024])
@every("epsilon", [0.5, 1, 2, 4])
def test_its_variance_of_a_rare_value_is_below_that_of_unary_encoding(d: int, epsilon: float) -> None:
    made, oue = (kind(d=d, epsilon=epsilon) for kind in (SubsetSelection, OUE))
    assert made.variance(1, 0) < oue.variance(1, 0)


def test_its_variance_is_the_papers() -> None:
    # p and q of the ideal mechanism, by hand: d = 6, k = 2, e^eps = 3 gives p = 6/10, q = (2/5)(2/5) + (3/5)(1/5)
    made = SubsetSelection(d=6, epsilon=math.log(3), k=2)
    close(made.p, 0.6)
    close(made.q, 0.28)
    close(float(made.variance(1, 0)), 0.28 * 0.72 / 0.32**2)


@every(("others", "k"), [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 3), (4, 4)])
@every("words", [2, 3, 5])
def test_the_chance_of_a_tie_is_the_one_counted_over_all_words(others: int, k: int, words: int) -> None:
    clear = 0
    for drawn in product(range(words), repeat=others):
        around = sorted(drawn)[max(0, k - 2) : k + 1]
        clear += len(set(around)) == len(around)
    assert apart(others, k, words) == Fraction(clear, words**others)


@every(("others", "k"), [(1, 0), (1, 1), (4, 2), (7, 3), (19, 10)])
def test_the_sets_of_a_size_are_all_there_once_and_in_order(others: int, k: int) -> None:
    sets = sets_of(others, k).tolist()
    assert sets == sorted(sum(1 << v for v in chosen) for chosen in combinations(range(others), k))
    assert len(sets) == math.comb(others, k)


@every(("d", "k"), [(2, 1), (4, 1), (4, 2), (4, 3), (5, 2), (9, 4), (20, 10)])
@every("told", [False, True])
def test_a_number_of_words_stands_for_each_set_and_what_is_left_for_a_tie(d: int, k: int, told: bool) -> None:
    # The first and the last word of each set, and the first and the last of those that are left.
    way, sets = Numbered(d, k), math.comb(d - 1, k - told)
    share = (2**64 - 1) // sets
    edges = [word for place in range(sets) for word in (place * share, (place + 1) * share - 1)]
    rows = np.array([*edges, sets * share, 2**64 - 1], np.uint64)[:, None]
    assert way.each[not told] == Fraction(share, 2**64)
    assert 1 - sets * way.each[not told] < Fraction(1, 2**46)
    for value in range(d) if d < 20 else (0, 7, 19):
        drawn = way.draw(np.full(len(rows), value), np.full(len(rows), told), rows.copy())
        found = [int.from_bytes(report.tobytes(), "little") for report in drawn]
        fits = {sum(1 << v for v in chosen) for chosen in combinations(range(d), k) if (value in chosen) == told}
        assert found[:-2:2] == found[1:-2:2]
        assert set(found[:-2:2]) == fits
        assert len(fits) == sets
        assert found[-2:] == [2**k - 1] * 2
        for row, bits in list(zip(rows[:, 0].tolist(), found, strict=True))[-20_000:]:
            one = way.draw_one(value, told, [row])
            assert bits == (2**k - 1 if one is None else sum(1 << v for v in one))


@every(("d", "k"), [(21, 10), (64, 17), (96, 1)])
def test_a_tie_is_as_rare_as_it_is_said(d: int, k: int) -> None:
    way = Lowest(d, k)
    inside, outside = way.each
    assert inside * math.comb(d - 1, k - 1) == outside * math.comb(d - 1, k) > 1 - Fraction(2 * d, 1 << way.bits)


@every(("d", "k"), [(2, 1), (4, 1), (4, 2), (4, 3)])
@every("told", [False, True])
def test_over_all_words_every_subset_is_given_equally_often_and_ties_give_the_first(d: int, k: int, told: bool) -> None:
    # Words 0, 1, 2 and the largest one stand for all: ties of every kind occur. Whatever the value, as many ties.
    few = (0, 1, 2, 2**64 - 1)
    for value in range(d):
        rows = np.array([(2**64 - 1 if told else 0, *drawn) for drawn in product(few, repeat=d)], np.uint64)
        made = ByLowest(d=d, epsilon=1, k=k)
        reports = made.perturb(np.full(len(rows), value), Chosen(rows))
        counted = Counter(report[0] for report in reports)
        ties = round(len(rows) * (1 - apart(d - 1, k, len(few))))
        counted[(1 << k) - 1] -= ties
        fits = {sum(1 << v for v in chosen) for chosen in combinations(range(d), k) if (value in chosen) == told}
        assert {int(y): c for y, c in counted.items() if c} == dict.fromkeys(fits, (len(rows) - ties) // len(fits))


def test_both_halves_agree_where_words_tie() -> None:
    made = ByLowest(d=4, epsilon=1, k=2)
    rows = np.array([(first, *drawn) for first in (0, 2**64 - 1) for drawn in product((0, 7, 9), repeat=4)], np.uint64)
    whole = made.perturb(np.full(len(rows), 2), Chosen(rows))
    for row, report in zip(rows, whole, strict=True):
        assert made._one(2, [int(word) for word in row]) == report.tobytes()


@every("d", [NUMBERED + 1, 32, 33, 256])
def test_both_halves_agree_where_narrow_words_tie(d: int) -> None:
    made, chance = SubsetSelection(d=d, epsilon=1), np.random.default_rng(d)
    assert made._way.words == -(-d // 2)
    cells = chance.integers(0, 2 * d, (2_000, 2 * made._way.words), np.uint32)
    rows = np.column_stack((chance.integers(0, 1 << 64, 2_000, np.uint64), cells.view("<u8")))
    whole = made.perturb(np.full(2_000, d - 1), Chosen(rows))
    ties = 0
    for row, report in zip(rows, whole, strict=True):
        words = [int(word) for word in row]
        assert made._one(d - 1, words) == report.tobytes()
        ties += made._way.draw_one(d - 1, True, words[1:]) is None
    assert 200 < ties < 1_800


@every("kind", KINDS)
@every(
    ("d", "epsilon", "k"),
    [
        (2, 1.0, None),
        (8, 1.0, 7),
        (9, 1.0, 8),
        (13, 0.5, None),
        (17, 1.0, None),
        (20, 0.05, None),
        (21, 0.05, None),
        (256, 2.0, None),
        (300, 2.0, None),
    ],
)
def test_both_halves_write_the_same_bytes(kind: type[SubsetSelection], d: int, epsilon: float, k: int | None) -> None:
    check_both_halves_write_the_same_bytes(kind(d=d, epsilon=epsilon, k=k))


def test_words_are_those_of_another_version_than_the_first() -> None:
    made = SubsetSelection(d=6, epsilon=1)
    said = b'{"d":6,"epsilon_micro":1000000,"k":2,"name":"subset"}'
    assert made.digest == hashlib.sha256(b"murmurate/mechanism/2\n" + said).digest()
    assert isinstance(made._way, Numbered)
    assert isinstance(SubsetSelection(d=NUMBERED + 1, epsilon=1)._way, Lowest)


@every("kind", KINDS)
@every("value", [0, 5])
def test_reports_follow_the_law(kind: type[SubsetSelection], value: int) -> None:
    check_reports_follow_the_law(kind(d=6, epsilon=1), value)


@every("kind", KINDS)
def test_estimates_are_unbiased_and_as_variable_as_they_say(kind: type[SubsetSelection]) -> None:
    check_unbiased_and_as_variable_as_said(kind(d=6, epsilon=1))


def test_bad_input_is_refused() -> None:
    made = SubsetSelection(d=6, epsilon=1)
    check_bad_input_is_refused(made)
    reports = np.array([[0b11], [0b111], [0b1], [0b1000001]], np.uint8)
    assert made.malformed(reports).tolist() == [False, True, True, True]
    with pytest.raises(ReportError, match="found 3 that no value gives"):
        made.support(reports)


@every("k", [0, 4, -1, 1.0, True, "1"])
def test_a_k_outside_the_domain_is_refused(k: Any) -> None:
    with pytest.raises(ParameterError, match=r"subset: k: found .*; allowed: a whole number from 1 to 3"):
        SubsetSelection(d=4, epsilon=1, k=k)


@every("d", [1, 0, -3, 2.0, True, "4", 1 << 40])
def test_a_domain_that_is_none_is_refused_first(d: Any) -> None:
    with pytest.raises(ParameterError, match="d: found"):
        SubsetSelection(d=d, epsilon=1)


def test_the_spec_names_k() -> None:
    assert SubsetSelection(d=6, epsilon=1).spec() == {"name": "subset", "d": 6, "epsilon_micro": 1_000_000, "k": 2}
