# SPDX-License-Identifier: Apache-2.0
"""What every post-processing promises for any estimate, and what it refuses."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from murmurate.aggregators.postprocess.base import answers, post_pos, threshold
from murmurate.aggregators.postprocess.context import Context
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.aggregators.postprocess.registry import METHODS, NON_NEGATIVE, SUM_TO_ONE, post_process
from murmurate.aggregators.postprocess.simplex import capped_simplex
from murmurate.randomizers import GRR, OUE, ParameterError
from tests.cases import drawn

Estimate = NDArray[np.float64]
Q = 1 / (math.e + 1)


def oue(d: int, n: int = 5000) -> Context:
    return Context(p=0.5, q=Q, n=n, d=d)


# Within what counts from 0 to n give at epsilon 1: -1.16 to 3.16. Quarters make ties.
numbers = st.one_of(st.floats(-1, 3), st.integers(-4, 12).map(lambda i: i / 4))
estimates = st.integers(2, 40).flatmap(lambda d: arrays(np.float64, d, elements=numbers))
few = settings(max_examples=25, deadline=None)
every_method = pytest.mark.parametrize("name", sorted(METHODS))


@pytest.mark.parametrize("name", sorted(NON_NEGATIVE))
@drawn(12, long=200, estimate=estimates)
def test_no_frequency_is_negative(name: str, estimate: Estimate) -> None:
    assert post_process(name, estimate, oue(len(estimate))).min() >= 0


@pytest.mark.parametrize("name", sorted(SUM_TO_ONE))
@drawn(12, long=200, estimate=estimates)
def test_frequencies_sum_to_one(name: str, estimate: Estimate) -> None:
    assert abs(math.fsum(post_process(name, estimate, oue(len(estimate))).tolist()) - 1) < 1e-12


@few
@given(estimates)
def test_norm_cut_never_sums_to_more_than_one_and_changes_nothing_it_keeps(estimate: Estimate) -> None:
    found = post_process("norm-cut", estimate, oue(len(estimate)))
    assert math.fsum(found.tolist()) <= 1 + 1e-12
    kept = found > 0
    assert found[kept].tolist() == estimate[kept].tolist()
    out = (estimate > 0) & ~kept
    if out.any():  # the largest one left out does not fit with all that are equal to it
        first = estimate[out].max()
        assert math.fsum(estimate[estimate >= first].tolist()) > 1


@every_method
@drawn(12, long=200, estimate=estimates)
def test_the_order_of_values_stays(name: str, estimate: Estimate) -> None:
    assume(name != "significant" or not _debt(estimate))
    found = post_process(name, estimate, oue(len(estimate)))
    by_estimate = found[np.argsort(estimate, kind="stable")]
    assert np.all(np.diff(by_estimate) >= -1e-12)


def _debt(estimate: Estimate) -> bool:
    """Whether what is left to spread is more for each than the smallest one that stays has."""
    stay = estimate >= threshold(oue(len(estimate)), 0.05)
    return bool(not stay.all() and (1 - estimate[stay].sum()) / (~stay).sum() > estimate[stay].min(initial=np.inf))


@every_method
@drawn(12, long=200, estimate=estimates, seed=st.integers(0, 1 << 30))
def test_values_may_come_in_any_order_and_equal_ones_stay_equal(name: str, estimate: Estimate, seed: int) -> None:
    context, order = oue(len(estimate)), np.random.default_rng(seed).permutation(len(estimate))
    found = post_process(name, estimate, context)
    np.testing.assert_allclose(post_process(name, estimate[order], context), found[order], rtol=1e-9, atol=1e-12)
    for number in np.unique(estimate):
        assert len(set(found[estimate == number].tolist())) == 1


@pytest.mark.parametrize(
    "name", ["base", "base-pos", "base-cut", "norm", "norm-mul", "norm-sub", "norm-cut", "mle-apx"]
)
@drawn(12, long=200, estimate=estimates)
def test_once_is_enough(name: str, estimate: Estimate) -> None:
    context = oue(len(estimate))
    once = post_process(name, estimate, context)
    assume(once.max() <= 3)
    np.testing.assert_allclose(post_process(name, once, context), once, atol=1e-12)


@pytest.mark.parametrize("name", ["norm", "norm-sub"])
@drawn(12, long=200, estimate=estimates, shift=st.floats(-1e3, 1e3))
def test_a_common_shift_changes_nothing(name: str, estimate: Estimate, shift: float) -> None:
    context = oue(len(estimate))
    np.testing.assert_allclose(
        post_process(name, estimate + shift, context), post_process(name, estimate, context), atol=1e-9
    )


@few
@given(estimates, st.floats(0.25, 4))
def test_a_common_factor_changes_nothing_for_norm_mul(estimate: Estimate, factor: float) -> None:
    context = oue(len(estimate))
    found = post_process("norm-mul", estimate, context)
    np.testing.assert_allclose(post_process("norm-mul", estimate * factor, context), found, atol=1e-12)


@few
@given(arrays(np.int64, 5, elements=st.integers(0, 1000)))
def test_norm_changes_nothing_for_grr_whose_estimates_sum_to_one(support: NDArray[np.int64]) -> None:
    n = int(support.sum())
    assume(n > 0)
    grr = GRR(d=5, epsilon=1)
    estimate = grr.estimate(support, n)
    np.testing.assert_allclose(post_process("norm", estimate, Context.of(grr, n)), estimate, atol=1e-12)


@every_method
@drawn(12, long=200, estimate=estimates)
def test_the_estimate_itself_stays_as_it_was_and_the_same_comes_twice(name: str, estimate: Estimate) -> None:
    before = estimate.tobytes()
    found = post_process(name, estimate, oue(len(estimate)))
    again = post_process(name, estimate, oue(len(estimate)))
    assert found.tobytes() == again.tobytes()
    found[:] = 9
    assert estimate.tobytes() == before


@pytest.mark.parametrize(
    ("name", "estimate", "expected"),
    [
        ("base-pos", [-0.5, -0.25], [0, 0]),
        ("base-cut", [-0.5, -0.25], [0, 0]),
        ("significant", [-0.5, -0.25], [0.5, 0.5]),
        ("norm", [-0.5, -0.25], [0.375, 0.625]),
        ("norm-mul", [-0.5, -0.25], [0.5, 0.5]),
        ("norm-sub", [-0.5, -0.25], [0.375, 0.625]),
        ("norm-cut", [-0.5, -0.25], [0, 0]),
        ("norm-cut", [0.5, 0.5], [0.5, 0.5]),
        ("norm-cut", [0.75, 0.75], [0, 0]),  # ties fall together
        ("norm-cut", [1.5, 0.25], [0, 0]),  # the largest alone is too much
        ("norm-cut", [0.1] * 10, [0.1] * 10),  # 1 within rounding
        ("norm-mul", [5e-324, 0.0], [1, 0]),
        ("norm-mul", [2.0, 2.0], [0.5, 0.5]),
        ("mle-apx", [1.0, 0.0], [1, 0]),
        ("mle-apx", [2.5, -1.0], [1, 0]),
        ("mle-apx", [0.25, 0.25], [0.5, 0.5]),
    ],
)
def test_edge_cases_are_exact(name: str, estimate: list[float], expected: list[float]) -> None:
    found = post_process(name, np.array(estimate), oue(len(estimate)))
    np.testing.assert_allclose(found, expected, atol=1e-15)


@every_method
@pytest.mark.parametrize("estimate", [[-1.0, -1.0, -1.0], [-0.5, -0.25], [0.0, 0.0], [0.75, 0.25], [0.25] * 4])
def test_all_negative_all_equal_and_two_values_are_estimates_too(name: str, estimate: list[float]) -> None:
    found = post_process(name, np.array(estimate), oue(len(estimate)))
    assert found.shape == (len(estimate),)
    assert np.isfinite(found).all()


# ---- the capped simplex and Post-Pos, whose signatures are their own ----


@few
@given(estimates, st.floats(0.001, 1), st.floats(0.01, 5))
def test_the_capped_simplex_is_kept_and_its_points_come_back(estimate: Estimate, share: float, cap: float) -> None:
    total = share * cap * len(estimate)
    found = capped_simplex(estimate, cap=cap, total=total)
    assert found.min() >= 0
    assert found.max() <= cap
    assert math.fsum(found.tolist()) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(capped_simplex(found, cap=cap, total=total), found, atol=1e-12 * cap)
    # The projection's own inequality, at the farthest corner for this direction.
    away = estimate - found
    corner = np.clip(total - cap * np.arange(len(estimate)), 0, cap)  # full ones first, the last one in part
    assert np.sort(away)[::-1] @ corner - away @ found <= 1e-9


@few
@given(estimates)
def test_a_cap_of_one_leaves_the_plain_simplex(estimate: Estimate) -> None:
    np.testing.assert_allclose(capped_simplex(estimate), norm_sub(estimate), atol=1e-12)


@pytest.mark.parametrize(
    ("estimate", "cap", "expected"),
    [
        ([1e300, 0.0, -1e300], 0.5, [0.5, 0.5, 0.0]),
        ([1.0, 1.0, 1.0], 0.5, [1 / 3] * 3),
        ([9.0, 8.0], 0.5, [0.5, 0.5]),
        ([-3.0, -2.0, -2.5], 1.0, [0.0, 0.75, 0.25]),
    ],
)
def test_far_ones_and_ties_meet_the_cap(estimate: list[float], cap: float, expected: list[float]) -> None:
    np.testing.assert_allclose(capped_simplex(np.array(estimate), cap=cap), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("estimate", "total", "expected"),
    [
        ([0.9, 0.6, 0.3, -0.1, 1.4], 2, [0.63333333, 0.33333333, 0.033333333, 0.0, 1.0]),
        ([0.2, 0.1, 0.05, -0.3], 1, [0.41666667, 0.31666667, 0.26666667, 0.0]),
    ],
)
def test_shares_of_items_that_sum_to_a_number_are_those_of_other_code(
    estimate: list[float], total: float, expected: list[float]
) -> None:
    np.testing.assert_allclose(capped_simplex(np.array(estimate), cap=1, total=total), expected, atol=5e-9)


@few
@given(estimates)
def test_answers_are_clipped_and_not_the_values(estimate: Estimate) -> None:
    sets = np.array([[True] * len(estimate), [False] * len(estimate), [True] + [False] * (len(estimate) - 1)])
    raw = answers(estimate, sets)
    np.testing.assert_allclose(raw, [estimate.sum(), 0, estimate[0]], atol=1e-12)
    np.testing.assert_array_equal(post_pos(estimate, sets), np.maximum(raw, 0))


# ---- thresholds and contexts ----


@pytest.mark.parametrize(("d", "alpha"), [(2, 2.0), (4, 2.0), (3, 2.0), (2, 100.0)])
def test_a_threshold_is_never_below_zero(d: int, alpha: float) -> None:
    assert threshold(oue(d), alpha) == 0


def test_a_threshold_lets_alpha_values_of_noise_through() -> None:
    # Binomial: 20,000 values that nobody holds; 1e-6 is 4.9 deviations of sqrt(200) around 200.
    noise = np.random.default_rng(7).normal(0, oue(20_000).deviation, 20_000)
    assert abs(int((noise >= threshold(oue(20_000), 200)).sum()) - 200) < 4.9 * math.sqrt(200)


def test_a_context_knows_the_variance_its_oracle_states() -> None:
    oracle = OUE(d=10, epsilon=1)
    context = Context.of(oracle, 1000)
    assert context.variance == pytest.approx(float(oracle.variance(1000, 0.0)), rel=1e-12)
    assert context.deviation == pytest.approx(math.sqrt(context.variance), rel=1e-15)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"q": 0.0}, "allowed: 0 < q < p < 1"),
        ({"p": 1.0}, "allowed: 0 < q < p < 1"),
        ({"p": 0.25}, "allowed: 0 < q < p < 1"),
        ({"p": math.nan}, "allowed: 0 < q < p < 1"),
        ({"n": 0}, "n: found 0"),
        ({"n": True}, "n: found True"),
        ({"n": 2.0}, "n: found 2.0"),
        ({"d": 1}, "d: found 1; allowed: a whole number from 2"),
        ({"alpha": 0.0}, "alpha: found 0.0"),
        ({"alpha": math.inf}, "alpha: found inf"),
    ],
)
def test_a_context_of_no_oracle_cannot_be_built(change: dict[str, Any], reason: str) -> None:
    good: dict[str, Any] = {"p": Fraction(1, 2), "q": 0.25, "n": 10, "d": 4}
    Context(**good)
    with pytest.raises(ParameterError, match=reason):
        Context(**(good | change))


@every_method
@pytest.mark.parametrize(
    ("estimate", "reason"),
    [
        (np.array([0.5, np.nan, 0.5]), r"found 1 not finite \(the first in place 1\)"),
        (np.array([np.inf, 0.0, 0.0]), "found 1 not finite"),
        (np.array([0.5, 0.5]), r"found float64\[2\]; allowed: float64\[3\]"),
        (np.array([[0.5, 0.5, 0.0]]), r"found float64\[1, 3\]; allowed: finite, float64\[d\]"),
        (np.array([]), "allowed: finite"),
        (np.array(["a", "b", "c"]), "allowed: finite"),
        (np.array([True, False, True]), "allowed: finite"),
    ],
)
def test_what_is_no_estimate_is_refused_with_the_reason(name: str, estimate: Any, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        post_process(name, estimate, oue(3))


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda: post_process("norm-all", np.array([0.5, 0.5]), oue(2)), "found 'norm-all'; allowed: base, "),
        (lambda: post_process("mle-apx", np.array([4.0, 0.0]), oue(2)), "allowed: -1.16395 to 3.16395"),
        (lambda: post_process("mle-apx", np.array([0.0, -1.5]), oue(2)), "allowed: -1.16395 to 3.16395"),
        (lambda: capped_simplex(np.array([0.5, 0.5]), cap=0.4), "at most d times cap"),
        (lambda: capped_simplex(np.array([0.5, 0.5]), total=0), "total above 0"),
        (lambda: capped_simplex(np.array([0.5, 0.5]), cap=math.nan), "total above 0"),
        (lambda: answers(np.array([0.5, 0.5]), np.array([True, False])), r"found bool\[2\]; allowed: bool\[k, 2\]"),
        (lambda: answers(np.array([0.5, 0.5]), np.array([[1, 0]])), "allowed: bool"),
        (lambda: threshold(oue(2), -1), "found -1"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_reason(refused: Callable[[], object], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        refused()
