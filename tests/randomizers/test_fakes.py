# SPDX-License-Identifier: Apache-2.0
"""Fake reports: uniform, well formed, and taken out of estimates without bias.

Statistical tests reject by chance once in a million runs.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import (
    BLH,
    GRR,
    OLH,
    OUE,
    HadamardResponse,
    Key,
    ParameterError,
    ReportError,
    SubsetSelection,
)
from murmurate.randomizers.fakes import (
    WORDS,
    checked_faked,
    estimate_with_fakes,
    fake_reports,
    fake_support,
    takes_fakes,
    variance_with_fakes,
)
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.registry import MECHANISMS, mechanism
from tests.cases import every

FALSE_ALARM = 1e-6


def deviations(d: int) -> float:
    """How many standard deviations none of d normal numbers is away, but for a false alarm."""
    return NormalDist().inv_cdf(1 - FALSE_ALARM / 2 / d)


def most_chi_square(freedom: int) -> float:
    """More than the quantile of a chi-square (Laurent and Massart 2000, lemma 1)."""
    return freedom + 2 * math.sqrt(freedom * -math.log(FALSE_ALARM)) - 2 * math.log(FALSE_ALARM)


ROUND = bytes(range(32))
FAKED = (
    GRR(d=3, epsilon=1), GRR(d=300, epsilon=2), OLH(d=40, epsilon=1, pool=5).of_round(ROUND),
    OLH(d=40, epsilon=3, pool=0), BLH(d=9, epsilon=0.5, pool=300).of_round(ROUND), HadamardResponse(d=10, epsilon=1),
    SubsetSelection(d=12, epsilon=1), SubsetSelection(d=5, epsilon=3), SubsetSelection(d=20, epsilon=1),
)  # fmt: skip


def words(n: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 64, (n, WORDS), np.uint64, endpoint=False)


@every("of", FAKED)
def test_fakes_are_reports_that_a_value_could_have_given(of: PureOracle) -> None:
    reports = fake_reports(of, words(2_000))
    assert reports.shape == (2_000, of.wire_size)
    assert not of.malformed(reports).any()
    assert len(fake_reports(of, words(0))) == 0


@every("of", [GRR(d=3, epsilon=1), HadamardResponse(d=10, epsilon=1), SubsetSelection(d=6, epsilon=1, k=2),
              BLH(d=3, epsilon=1, pool=4).of_round(ROUND), OLH(d=3, epsilon=1, pool=3).of_round(ROUND)])  # fmt: skip
def test_all_reports_are_equally_likely(of: PureOracle) -> None:
    n = 40_000
    seen = Counter(row.tobytes() for row in fake_reports(of, words(n)))
    assert set(seen) == set(of.law(0))
    expected = n / len(seen)
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < most_chi_square(len(seen) - 1)


def test_a_word_past_the_last_whole_share_is_passed_over() -> None:
    """Seven outputs leave two of 2^64 words over; where three words in a row are left over, the last one decides."""
    grr, past, share = GRR(d=7, epsilon=1), (1 << 64) - 1, (1 << 64) // 7
    tries = [(0, 0, past), (share - 1, past, 0), (share, 0, 0), (7 * share - 1, 0, 0), (past, 5 * share, 0)]
    tries += [(past, past, 4 * share), (past, past, past)]
    found = fake_reports(grr, np.array([(0, *row) for row in tries], np.uint64))
    assert found[:, 0].tolist() == [0, 0, 1, 6, 5, 4, past % 7]


def test_a_fake_names_a_hash_function_as_a_user_with_the_same_word_does() -> None:
    """A pool of three: the first of its thirds of 2^32 is one longer than the others."""
    olh = OLH(d=3, epsilon=1, pool=3).of_round(ROUND)
    edges = [-(-(k << 32) // 3) for k in (0, 1, 2, 3)]
    given = np.zeros((6, WORDS), np.uint64)
    given[:, 0] = [edge << 32 for edge in (*edges[:3], *(edge - 1 for edge in edges[1:]))]
    assert fake_reports(olh, given)[:, 0].tolist() == [0, 1, 2, 0, 1, 2]


def test_the_words_of_a_key_give_the_same_fakes_everywhere() -> None:
    """The bytes that the words of this key and round give: a mixing zone that starts again draws the same."""
    key = Key(bytes(range(32)), deployment="shop")
    drawn = key.words("scatter", contexts(np.arange(6)), round=ROUND, k=WORDS)
    assert fake_reports(GRR(d=1_000, epsilon=1), drawn).tobytes().hex() == KNOWN_GRR
    assert fake_reports(OLH(d=1_000, epsilon=1), drawn).tobytes().hex() == KNOWN_OLH


KNOWN_GRR = "d6031702a5000000f4006f02"
KNOWN_OLH = "de1803832202993c00ec08003a1200791e02"


@every("of", FAKED)
def test_a_fake_supports_a_value_as_often_as_is_said(of: PureOracle) -> None:
    """Exactly, where the reports can be listed; else by counting, each value tested at its part of the false alarms."""
    share = fake_support(of)
    if of.reports_possible <= 1_000 and getattr(of, "pool", 1) == 1:
        every_report = np.array([list(report) for report in of.law(0)], np.uint8)
        assert of.support(every_report).tolist() == [share * len(every_report)] * of.d
    n = 20_000
    counts = of.support(fake_reports(of, words(n)))
    apart = np.abs(counts - n * float(share)) / np.sqrt(n * float(share * (1 - share)))
    seeds = getattr(of, "pool", 0)  # hash functions of a small pool are not balanced
    if not seeds:
        assert apart.max() < deviations(of.d) + 0.5


@every("of", FAKED)
def test_estimates_are_those_without_fakes_and_hashings_scale_up(of: PureOracle) -> None:
    """None: the mechanism's own.  Some: what their support adds is taken out (ARCHITECTURE erratum C24)."""
    rng, n, fakes = np.random.default_rng(3), 500, 200
    support = rng.integers(0, n, of.d)
    assert np.array_equal(estimate_with_fakes(of, support, n, 0), of.estimate(support, n))
    assert np.array_equal(variance_with_fakes(of, n, 0, 0.3), of.variance(n, 0.3))
    found = estimate_with_fakes(of, support, n, fakes)
    if isinstance(of, (OLH, BLH, HadamardResponse)):
        assert np.allclose(found, (n + fakes) / n * of.estimate(support, n + fakes), rtol=1e-12, atol=1e-12)
    if isinstance(of, GRR):
        printed = (n + fakes) / n * of.estimate(support, n + fakes) - fakes / n / of.d
        assert np.allclose(found, printed, rtol=1e-12, atol=1e-12)


@every("of", [GRR(d=4, epsilon=1), HadamardResponse(d=3, epsilon=2), SubsetSelection(d=5, epsilon=1, k=2)])
def test_mean_and_variance_are_exact_over_every_report_of_users_and_fakes(of: PureOracle) -> None:
    """Two users of value 0, one of value 2, and two fakes: moments of sums of independent supports, as fractions."""
    users, fakes = (0, 0, 2), 2
    n, share = len(users), fake_support(of)
    for value in range(of.d):
        own = [of.p if user == value else of.q for user in users]
        mean = sum(own) + fakes * share
        spread = sum(p * (1 - p) for p in own) + fakes * share * (1 - share)
        frequency = Fraction(users.count(value), n)
        gap = of.p - of.q
        assert (mean - fakes * share) / n - of.q == gap * frequency
        found = float(variance_with_fakes(of, n, fakes, float(frequency)))
        assert found == pytest.approx(float(spread / (n * gap) ** 2), rel=1e-12)


def test_estimates_of_users_and_fakes_are_right_on_average() -> None:
    """A hundred rounds of 400 users and 200 fakes; the mean of each estimate is normal, within its false alarms."""
    key, rounds, n, fakes = Key(bytes(range(32)), deployment="shop"), 100, 400, 200
    rng, total = np.random.default_rng(11), np.zeros(6)
    grr = GRR(d=6, epsilon=1)
    values = np.repeat(np.arange(6), (200, 100, 50, 30, 20, 0))
    for number in range(rounds):
        users = rng.integers(0, 256, (n, 16), np.uint8)
        reports = grr.perturb(values, key.draw(users, round=number.to_bytes(32, "little")))
        together = np.concatenate((reports, fake_reports(grr, words(fakes, number))))
        total += estimate_with_fakes(grr, grr.support(together), n, fakes)
    truth = np.bincount(values, minlength=6) / n
    deviation = np.sqrt(variance_with_fakes(grr, n, fakes, truth) / rounds)
    assert (np.abs(total / rounds - truth) < deviations(6) * deviation).all()


def test_only_mechanisms_whose_reports_are_equally_likely_take_fakes() -> None:
    taken = {name for name in MECHANISMS if takes_fakes(mechanism({"name": name, "d": 5, "epsilon": 1}))}
    assert taken == {"grr", "olh", "blh", "hr", "subset"}
    assert not takes_fakes(SubsetSelection(d=21, epsilon=1))
    for name in set(MECHANISMS) - taken:
        with pytest.raises(ParameterError, match=f"fakes: found {name}, (among whose reports|whose counts)"):
            checked_faked(mechanism({"name": name, "d": 5, "epsilon": 1}))


def test_words_and_counts_that_do_not_fit_are_refused() -> None:
    grr = GRR(d=4, epsilon=1)
    bad: Any
    for bad in (words(3)[:, :2], words(3).astype(np.int64), words(3)[0], [1, 2, 3, 4]):
        with pytest.raises(ParameterError, match="fakes: words: found"):
            fake_reports(grr, bad)
    for support in (np.zeros(3, np.int64), np.full(4, 11), np.full(4, -1)):
        with pytest.raises(ReportError, match="grr: support: found"):
            estimate_with_fakes(grr, support, 5, 5)
    wrong: list[tuple[Any, Any]] = [(0, 5), (5, -1), (5, 1.5), (True, 5)]
    for n, fakes in wrong:
        with pytest.raises(ParameterError, match=r"grr: (n|fakes): found"):
            variance_with_fakes(grr, n, fakes, 0.1)
    with pytest.raises(ParameterError, match="fakes: found oue"):
        fake_support(OUE(d=4, epsilon=1))
