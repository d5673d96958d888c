# SPDX-License-Identifier: Apache-2.0
"""PCKV, EFMRTT, DDRM and FutureRand: golden figures, what equals what, malformed reports. Laws: test_compared.py."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from murmurate.aggregators.accounting import blanket_epsilon
from murmurate.randomizers import ParameterError, ReportError
from murmurate.randomizers.thresholds import exp_floor
from murmurate.randomizers.vectors import DDRM, EFMRTT, PCKVAGRR, PCKVGRR, PCKVUE, ExSub, FutureRand, SparseOracle
from murmurate.randomizers.vectors.future_rand import _largest_inner, flip_pattern, quick_ratio
from tests.cases import every
from tests.randomizers.vectors.compared import COMPARED

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "vectors_compared.json").read_text(encoding="utf-8"))
LAYOUT = ("signed", 128, 8, 0)


def total(absent: float, held: float) -> float:
    """The variance of one user over all coordinates, of which s are held, divided by d."""
    return (8 * held + 120 * absent) / 128


@every(("name", "expected"), list(GOLDEN["mean_total/d"].items()))
def test_variances_of_means_are_the_known_ones(name: str, expected: float) -> None:
    assert total(*COMPARED[name](LAYOUT, 1).mean_moments) == pytest.approx(expected, rel=5e-8)


@every(("name", "expected"), list(GOLDEN["share_total/d"].items()))
def test_variances_of_shares_are_the_known_ones(name: str, expected: float) -> None:
    assert total(*COMPARED[name](LAYOUT, 1).share_moments) == pytest.approx(expected, rel=5e-8)


@every(("d", "most", "epsilon"), [(3, 2, 1), (128, 8, 1), (1000, 20, 0.5), (5, 5, 4)])
def test_pckv_agrr_has_the_law_of_exsub_with_one_symbol(d: int, most: int, epsilon: float) -> None:
    """ExSub's formulas for m = 1 over d + s coordinates, with the probabilities of integer levels."""
    made, ratio, places = PCKVAGRR(("signed", d, most, 0), epsilon), math.exp(epsilon), d + most
    kept = 1 - 1 / ratio
    weight = 1 - kept * (1 - Fraction(most, 2 * places))
    own, absent = 1 / (2 * places * float(weight)), 1 / (ratio * 2 * places * float(weight))
    assert [float(chance) for chance in made.supports[:3]] == pytest.approx([own, absent, absent], rel=1e-13)
    gap = own - absent
    inside = (most * made.mean_moments.held + (places - most) * made.mean_moments.absent) + most
    assert inside == pytest.approx(1 / gap**2, rel=1e-12)  # the total over all d + s coordinates is m / g^2 - s
    exsub = ExSub(("signed", d, most, 0), epsilon, 1)
    assert made.mean_moments == pytest.approx(exsub.mean_moments, rel=1e-9)
    assert made.share_moments == pytest.approx(exsub.share_moments, rel=1e-9)
    assert made.realised <= exp_floor(made.epsilon_micro)
    assert float(made.realised) == pytest.approx(ratio, rel=1e-12)


def test_pckv_grr_does_not_use_all_of_epsilon() -> None:
    assert math.log(PCKVGRR(("signed", 3, 2, 0), 1).realised) == pytest.approx(0.620, abs=5e-4)


@every("layout", [("signed", 9, 4, 0), ("items", 9, 4, 1)])
def test_efmrtt_is_ddrm_with_one_entry(layout: tuple[str, int, int, int]) -> None:
    one, other = EFMRTT(layout, 1), DDRM(layout, 1, 1)
    assert (one.supports, one.realised, one.blanket()) == (other.supports, other.realised, other.blanket())
    assert one.digest != other.digest
    assert one.mean_moments.absent == pytest.approx((4 / math.tanh(0.5)) ** 2)
    assert DDRM(layout, 1, 2).mean_moments.absent == pytest.approx((2 / math.tanh(0.25)) ** 2)
    assert DDRM(layout, 1).blanket() is None


@every(("made", "n", "expected"), [
    (EFMRTT(("signed", 9, 1, 0), 1), 1000, 0.1250407), (EFMRTT(("signed", 9, 1, 0), 1), 10_000, 0.04320635),
    (PCKVAGRR(LAYOUT, 1), 1000, 0.03602374), (PCKVAGRR(LAYOUT, 1), 10_000, 0.01270679),
])  # fmt: skip
def test_shuffled_reports_have_the_known_epsilon(made: SparseOracle, n: int, expected: float) -> None:
    blanket = made.blanket()
    assert blanket is not None
    found = blanket_epsilon(blanket, n, 1e-5 if n == 1000 else 1e-6, 1.0)
    assert found == pytest.approx(expected, rel=5e-5)


def test_future_rand_is_the_printed_one_or_uses_all_of_epsilon() -> None:
    printed, golden = FutureRand.printed(LAYOUT, 1), GOLDEN["future_rand"]
    assert float(printed.gap) == pytest.approx(golden["gap"], rel=3e-9)
    assert math.log(printed.realised) == pytest.approx(golden["true_epsilon"], rel=3e-8)
    assert list(printed.pattern.annulus) == golden["annulus"]
    assert flip_pattern(64, 25_000_000).annulus == (16, 31)
    tuned = FutureRand(LAYOUT, 1)
    assert 1 - 1e-8 < math.log(tuned.realised) <= 1
    assert tuned.gap > 3 * printed.gap
    assert tuned.mean_moments.absent == pytest.approx(143.23, rel=1e-4)
    with pytest.raises(ParameterError, match="a ratio exceeds"):
        FutureRand(LAYOUT, 1, tuned.inner_nano + 1)
    with pytest.raises(ParameterError, match="a ratio exceeds"):
        FutureRand(LAYOUT, 1, 20 * 10**9)


@every("s", [1, 3, 30])
def test_future_rand_is_tuned_in_floats_as_by_exact_ratios(s: int) -> None:
    for inner in (1_000, 10**7, 10**8, 10**9, 4 * 10**9):
        found = quick_ratio(s, inner)
        assert np.isnan(found) or found == pytest.approx(float(flip_pattern(s, inner).ratio), rel=1e-12)
    inner, bound = _largest_inner(s, 900_000), exp_floor(900_000)
    assert flip_pattern(s, inner).ratio <= bound < flip_pattern(s, inner + 1).ratio


@every("epsilon", [0.1, 1, 5])
def test_future_rand_of_one_entry_is_randomized_response(epsilon: float) -> None:
    made = FutureRand(("signed", 3, 1, 0), epsilon)
    assert float(made.gap) == pytest.approx(math.tanh(epsilon / 2), rel=1e-8)


def test_malformed_reports_and_counts_are_told() -> None:
    signs, cells = EFMRTT(("signed", 10, 2, 0), 1), PCKVUE(("signed", 10, 2, 0), 1)
    assert signs.malformed(np.array([[255, 3], [0, 4]], np.uint8)).tolist() == [False, True]
    rows = np.array([[1, 0, 2, 0], [1, 0, 1, 0], [0, 0, 0, 4], [0, 4, 0, 0]], np.uint8)
    assert cells.malformed(rows).tolist() == [False, True, True, True]
    symbols = PCKVAGRR(("signed", 3, 2, 0), 1)
    assert symbols.malformed(np.array([[9], [10]], np.uint8)).tolist() == [False, True]
    with pytest.raises(ReportError):
        symbols.support(np.array([[10]], np.uint8))
    with pytest.raises(ReportError, match="do not add up"):
        signs.check(np.full(20, 3), 7)
    with pytest.raises(ReportError, match="more signs than reports"):
        cells.check(np.full(20, 4), 7)
    assert symbols.support(np.array([[0], [5], [9]], np.uint8)).tolist() == [1, 0, 0, 0, 0, 1]
    assert signs.support(np.array([[1, 2], [3, 0]], np.uint8)).tolist() == [2, 1] + 7 * [0] + [1] + [0, 1] + 7 * [2] + [
        1
    ]


def test_what_tells_no_shares_says_so() -> None:
    made = DDRM(LAYOUT, 1)
    assert (made.statistics, made.outcomes, made.tells_shares) == (128, 256, False)
    with pytest.raises(ParameterError, match="shares"):
        made.share_variance(10, 0.1)
    with pytest.raises(ParameterError, match="k: found 9"):
        DDRM(LAYOUT, 1, 9)
