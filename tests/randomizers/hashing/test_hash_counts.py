# SPDX-License-Identifier: Apache-2.0
"""`olh_counts`: the counts it keeps, what is asked of them later, and what no reports can have given.

Keys are fixed, so a test passes always or never; over the choice of a key each would alarm by chance with probability
at most 1e-6 (where it says so: 6e-5 a figure).
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import (
    OLH,
    Branches,
    LongPrefix,
    OLHCounts,
    Padded,
    ParameterError,
    ReportError,
    ValueRefusedError,
    Viewed,
    mechanism,
    question,
)  # fmt: skip
from murmurate.randomizers.frequency.hashing import hash_one
from murmurate.randomizers.randomness import contexts
from tests.cases import every
from tests.randomizers.frequency.checks import check_both_halves_write_the_same_bytes, check_reports_follow_the_law
from tests.randomizers.hashing.draws import KEY, ROUND, draw

BIGGEST = (1 << 52) + 1


def made(pool: int = 50, d: int = BIGGEST, epsilon: float = 2.0, g: int = 0) -> OLHCounts:
    return OLHCounts(d=d, epsilon=epsilon, pool=pool, g=g).of_round(ROUND)


def holders(n: int, codes: list[int], weights: list[int]) -> np.ndarray:
    return np.repeat(np.array(codes, np.int64), weights)[np.arange(n) % sum(weights)]


def test_a_support_is_the_number_of_reports_of_each_seed_and_cell() -> None:
    of = made(5, d=12)
    reports = of.perturb(np.arange(700) % 12, draw(700))
    table = [[0] * of.g for _ in range(of.pool)]
    for seed, cell in map(bytes, reports):
        table[seed][cell] += 1
    assert of.support(reports).reshape(of.pool, of.g).tolist() == table
    assert of.support(reports).dtype == np.int64
    assert of.outcomes == 5 * of.g
    parts = [of.support(reports[a:b]) for a, b in pairwise((0, 0, 1, 64, 700))]
    assert (np.sum(parts, axis=0) == of.support(reports)).all()


@every("g", [0, 7])
def test_both_halves_of_a_device_write_reports_that_follow_the_law(g: int) -> None:
    check_both_halves_write_the_same_bytes(made(300, d=1000, g=g))
    check_reports_follow_the_law(OLHCounts(d=5, epsilon=1.5, pool=3, g=g).of_round(ROUND), 3)


@every("d", [12, 1 << 24, BIGGEST])
def test_the_support_of_any_value_is_what_olh_would_have_counted(d: int) -> None:
    of, codes = made(50, d=d), np.array([d - 1, 0, 11, 0, d // 2])
    reports = of.perturb(holders(3000, [0, 11, d - 1], [3, 2, 1]), draw(3000))
    first = int.from_bytes(hashlib.sha256(b"murmurate/pool/1\n" + ROUND).digest()[:8], "little")
    pairs = [tuple(report) for report in reports.tolist()]
    slow = [sum(hash_one(first + seed, code, of.g) == cell for seed, cell in pairs) for code in codes.tolist()]
    counts = of.support(reports)
    assert of.support_of_counts(counts, codes).tolist() == slow
    assert of.support_of_counts(counts, codes.astype(np.uint64)).tolist() == slow
    assert of.support_of_counts(counts, codes[:0]).tolist() == []
    p, q = float(of.p), float(of.q)
    assert of.shares_of(counts, 3000, codes) == pytest.approx((np.array(slow) / 3000 - q) / (p - q))
    if d <= 1 << 24:
        assert OLH(d=d, epsilon=2.0, pool=50).of_round(ROUND).support_of(reports, codes).tolist() == slow


def test_counts_of_very_many_reports_are_added_without_overflow() -> None:
    of, codes = made(50, d=1000), np.arange(1000)
    counts = of.support(of.perturb(np.arange(4000) % 7, draw(4000)))
    few = of.support_of_counts(counts, codes)
    for times in (1 << 15, 1 << 25, 1 << 40):  # the first is added in 32 bits
        assert (of.support_of_counts(counts * times, codes) == few * times).all()


def test_shares_are_unbiased_and_off_by_as_much_as_they_say() -> None:
    # 300 rounds, each with functions of its own; a pool of 16 adds twice what the coins do. Means within 5 standard
    # errors, squares within 5 of theirs; the estimated sum of squares is within 5 of the truth.
    rounds, n, of = 300, 600, OLHCounts(d=BIGGEST, epsilon=2.0, pool=16)
    codes, weights = [7, BIGGEST - 1, 1 << 40, 5], [3, 2, 1, 0]
    values, truth = holders(n, codes, weights), np.array(weights) / 6
    users = contexts(np.arange(n))
    errors, said, squares = np.empty((rounds, 4)), np.empty((rounds, 4)), np.empty(rounds)
    for number in range(rounds):
        drawn = KEY.draw(users, round=hashlib.sha256(b"counts %d" % number).digest())
        here = of.of_round(drawn.round)
        counts = here.support(here.perturb(values, drawn))
        errors[number] = here.shares_of(counts, n, np.array(codes)) - truth
        said[number] = here.variances_of(counts, n, truth)
        squares[number] = here.sum_of_squares(counts, n)
    exact = float((truth * (truth - 1 / n)).sum())
    assert abs(squares.mean() - exact) < 5 * squares.std() / rounds**0.5
    f = truth * (truth - 1 / n)
    expected = of.noise(truth) / n + (exact - np.maximum(f, 0)) / (16 * (of.g - 1))
    assert (expected[3] > 1.5 * of.noise(np.zeros(1)) / n).all()
    assert said.mean(axis=0) == pytest.approx(expected, rel=0.06)  # no part of it counts below 0
    assert (np.abs(errors.mean(axis=0)) < 5 * np.sqrt(expected / rounds)).all()
    square = (errors**2).mean(axis=0)
    assert (np.abs(square / expected - 1) < 5 * np.std(errors**2, axis=0) / square / rounds**0.5).all()


@every(
    ("epsilon", "g", "p", "variance"),
    [
        (0.5, 3, 0.4518627619, 15.81740028),
        (1, 4, 0.4753668864, 3.691654617),
        (2, 8, 0.5135191668, 0.7245913891),
        (4, 56, 0.4981667119, 0.07602285187),
    ],
)
def test_cells_probability_and_variance_are_those_of_the_literature(
    epsilon: float, g: int, p: float, variance: float
) -> None:
    of = OLHCounts(d=BIGGEST, epsilon=epsilon)
    assert of.g == g
    assert float(of.p) == pytest.approx(p, rel=1e-6)
    assert float(of.noise(np.zeros(1))[0]) == pytest.approx(variance, rel=1e-6)


def test_no_value_is_listed() -> None:
    of = made(8)
    counts = of.support(of.perturb(np.arange(40), draw(40)))
    of.check(counts, 40)
    assert of.statistics == 0
    for found in (of.estimate(counts, 40), of.profile(counts, 40), of.added_variance(40, np.zeros(0))):
        assert found.shape == (0,)
    assert of.summing().shape == (0,)
    assert of.mean_noise(np.zeros(0)) == pytest.approx(float(of.noise(np.zeros(1))[0]))


@every(
    ("change", "says"),
    [
        (lambda counts: counts[:-1], "allowed: int64"),
        (lambda counts: counts.astype(float), "allowed: int64"),
        (lambda counts: counts - 1, "allowed: 0 to 40"),
        (lambda counts: counts + (np.arange(len(counts)) == 3), "found 41 reports in all cells; allowed: 40"),
        (lambda counts: counts * 0, "found 0 reports in all cells; allowed: 40"),
    ],
)
def test_counts_that_forty_reports_do_not_give_are_refused(change: Any, says: str) -> None:
    of = made(8)
    counts = change(of.support(of.perturb(np.arange(40), draw(40))))
    for read in (of.check, of.estimate, lambda a, b: of.shares_of(a, b, np.array([1])), of.sum_of_squares):
        with pytest.raises(ReportError, match=says):
            read(counts, 40)
    with pytest.raises(ReportError, match="found them of no reports"):
        of.shares_of(counts * 0 if counts.shape == (64,) and counts.dtype.kind == "i" else np.zeros(64, int), 0, counts)


def test_what_is_asked_must_be_in_the_domain_and_of_a_round() -> None:
    of, counts = made(8, d=1000), np.zeros(64, np.int64)
    for codes in (np.array([1000]), np.array([-1]), np.array([0.5]), [3], np.array([[1]])):
        with pytest.raises(ValueRefusedError, match="codes: found"):
            of.support_of_counts(counts, codes)  # type: ignore[arg-type]
    with pytest.raises(ReportError, match=r"counts: found int64\[3\]; allowed: int64\[64\]"):
        of.support_of_counts(np.zeros(3, np.int64), np.array([1]))
    with pytest.raises(ParameterError, match="round: found none"):
        OLHCounts(d=1000, epsilon=2, pool=8).support_of_counts(counts, np.array([1]))


def test_reports_that_no_value_gives_are_marked() -> None:
    of = made(300)
    rows = np.array([[43, 1, 7], [44, 1, 0], [0, 0, 8], [255, 255, 0]], np.uint8)
    assert of.malformed(rows).tolist() == [False, True, True, True]
    with pytest.raises(ReportError, match="found 3 that no value gives"):
        of.support(rows)


@every("pool", [0, -1, 1.5, True, (1 << 16) + 1])
def test_a_pool_that_is_none_or_too_large_is_refused(pool: Any) -> None:
    with pytest.raises(ParameterError, match="olh_counts: "):
        OLHCounts(d=5, epsilon=1, pool=pool)


def test_more_counts_than_a_tally_holds_are_refused() -> None:
    assert OLHCounts(d=5, epsilon=4, pool=1 << 16).outcomes < 1 << 22
    with pytest.raises(ParameterError, match="found a pool of 65536 with 149 cells each; allowed: 1 to 4194304 counts"):
        OLHCounts(d=5, epsilon=5, pool=1 << 16)


def test_a_named_number_of_cells_is_part_of_the_description_and_the_usual_one_is_not() -> None:
    assert made(g=8) == made()
    assert made().spec() == {"name": "olh_counts", "d": BIGGEST, "epsilon_micro": 2 * 10**6, "pool": 50}
    named = OLHCounts(d=9, epsilon=2, g=45)
    assert named.spec()["g"] == 45
    assert mechanism(named.spec()) == named
    assert named.digest != OLHCounts(d=9, epsilon=2).digest != OLH(d=9, epsilon=2).digest
    assert float(named.p / (1 - named.p) * 44) <= float(Fraction(7389057, 10**6))


def test_groups_of_prefixes_hand_on_their_counts_and_can_be_asked_group_by_group() -> None:
    of = ("bits", 48, 1)
    views = [LongPrefix(of, bits) for bits in (13, 20, 27, 34, 41, 48)]
    asked = Branches([(1, Viewed(view, OLHCounts(d=view.d, epsilon=4.0, pool=64))) for view in views])
    assert question(asked.spec()) == asked
    n, bound = 6000, asked.of_round(ROUND)
    rows = np.zeros((n, 2), np.uint32)
    rows[: n // 2] = 0x1234_5678, 0x9ABC_8000
    rows[n // 2 :, 0] = np.arange(n // 2)
    reports = bound.perturb(rows, draw(n))
    counts = bound.support(reports)
    bound.check(counts, n)
    assert counts.shape == (asked.outcomes,)
    assert asked.statistics == 0
    assert bound.estimate(counts, n).shape == bound.variance(n, 0.1).shape == (0,)
    assert bound.complete(counts)
    assert not bound.malformed(reports).any()
    for (received, part), inner, view in zip(bound.parts(counts), bound.questions, views, strict=True):
        assert isinstance(inner, Viewed)
        oracle = inner.inner
        assert isinstance(oracle, OLHCounts)
        share = oracle.shares_of(part, received, view.codes_of(rows[:1]))
        error = oracle.variances_of(part, received, share) ** 0.5
        assert abs(share[0] - 0.5) < 5 * (error[0] + 0.5 / received**0.5)
        assert 0 < error[0] < 0.1


def test_behind_a_sampling_view_nothing_is_listed_either() -> None:
    view = Padded(("items", 1 << 30, 3, 1), 2)
    asked = Viewed(view, OLHCounts(d=view.d, epsilon=2.0, pool=20)).of_round(ROUND)
    rows = np.tile(np.array([[3, 9, 0x7FFFFFFF]], np.uint32), (500, 1))
    counts = asked.support(asked.perturb(rows, draw(500)))
    asked.check(counts, 500)
    assert asked.statistics == 0
    for found in (asked.estimate(counts, 500), asked.profile(counts, 500), asked.added_variance(500, np.zeros(0))):
        assert found.shape == (0,)
