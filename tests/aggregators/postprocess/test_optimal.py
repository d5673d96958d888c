# SPDX-License-Identifier: Apache-2.0
"""Norm-Sub, MLE-Apx and the capped simplex are optima: an optimiser that knows only the objective finds the same."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.aggregators.postprocess.context import Context
from murmurate.aggregators.postprocess.mle import mle_apx
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.aggregators.postprocess.simplex import capped_simplex

Estimate = NDArray[np.float64]
Objective = Callable[[NDArray[Any]], Any]
STEP = 1e-100


def least(objective: Objective, d: int, *, cap: float = 1.0, total: float = 1.0) -> Estimate:
    """The minimum of a convex function on 0 <= f <= cap, sum f = total, by moving mass between two values at a time.

    Slopes are complex steps, Im h(f + i s) / s: exact to the last digits, and no derivative is written by hand.
    """

    def slope(f: Estimate, direction: Estimate) -> float:
        return float(objective(f + 1j * STEP * direction).imag) / STEP

    units = np.eye(d)
    f = np.full(d, total / d)
    for _ in range(20_000):
        slopes = np.array([slope(f, unit) for unit in units])
        giver = int(np.argmax(np.where(f > 0, slopes, -np.inf)))
        taker = int(np.argmin(np.where(f < cap, slopes, np.inf)))
        if slopes[giver] - slopes[taker] < 1e-11:
            return f
        direction = units[taker] - units[giver]
        low, high = 0.0, float(min(f[giver], cap - f[taker]))
        if slope(f + high * direction, direction) > 0:
            for _ in range(60):
                middle = (low + high) / 2
                if slope(f + middle * direction, direction) > 0:
                    high = middle
                else:
                    low = middle
        f = np.clip(f + high * direction, 0.0, cap)
    raise AssertionError("the optimiser did not come to an end")


CASES = [
    [0.5, 0.3, 0.25, 0.1, -0.05, -0.02],
    [0.4, 0.2, 0.1, 0.05, -0.01, -0.04],
    [0.5, 0.2, -0.01],
    [0.45, 0.35, 0.2, 0.2, 0.05, -0.1],
    [-0.5, -0.25, -0.125],
    [1.2, 0.9, 0.9],
    [0.3, -0.4],
    *np.random.default_rng(3).normal(0.2, 0.4, (6, 5)).clip(-0.25, 1.1).tolist(),
]


def distance(estimate: Estimate) -> Objective:
    return lambda f: ((f - estimate) ** 2).sum()


@pytest.mark.parametrize("case", CASES)
def test_norm_sub_is_the_nearest_point_of_the_simplex(case: list[float]) -> None:
    estimate = np.array(case)
    np.testing.assert_allclose(norm_sub(estimate), least(distance(estimate), len(case)), atol=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("cap", "total"), [(1.0, 1.0), (0.6, 1.0), (0.75, 1.25)])
def test_the_capped_simplex_is_the_nearest_point_under_the_cap(case: list[float], cap: float, total: float) -> None:
    estimate = np.array(case)
    expected = least(distance(estimate), len(case), cap=cap, total=total)
    np.testing.assert_allclose(capped_simplex(estimate, cap=cap, total=total), expected, atol=1e-9)


PROBABILITIES = [
    (0.5, 1 / (math.e + 1)),  # OUE, epsilon 1: p + q < 1
    (0.5, 1 / (math.e**3 + 1)),
    (math.e / (math.e + 4), 1 / (math.e + 4)),  # GRR, d = 5
    (0.8, 0.4),  # p + q > 1
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("p", "q"), PROBABILITIES)
def test_mle_apx_is_the_most_likely_point_of_the_simplex(case: list[float], p: float, q: float) -> None:
    estimate = np.array(case).clip(-q / (p - q), (1 - q) / (p - q))

    def objective(f: NDArray[Any]) -> Any:
        return ((f - estimate) ** 2 * (p - q) ** 2 / (q * (1 - q) + f * (p - q) * (1 - p - q))).sum()

    found = mle_apx(estimate, Context(p=p, q=q, n=1000, d=len(case)))
    np.testing.assert_allclose(found, least(objective, len(case)), atol=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_mle_apx_is_norm_sub_where_the_variance_is_the_same_for_all(case: list[float]) -> None:
    found = mle_apx(np.array(case).clip(-0.5, 1.5), Context(p=0.75, q=0.25, n=1000, d=len(case)))
    np.testing.assert_allclose(found, norm_sub(np.array(case).clip(-0.5, 1.5)), atol=1e-14)


def test_mle_apx_as_it_is_printed_would_not_sum_to_one() -> None:
    # (8.6) with its printed signs, on two worked examples: the dissertation's own slip, as the docstring says.
    p, q = 0.5, 1 / (math.e + 1)
    gap, b = p - q, q * (1 - q)
    sums = []
    for case in CASES[1:3]:
        estimate = np.array(case)
        x = (gap * estimate.sum() - gap) / (gap * (1 - p - q) - len(case) * b)
        sums.append(float(((gap * estimate - b * x) / (gap + gap * (1 - p - q) * x)).sum()))
    assert all(abs(total - 1) > 0.01 for total in sums), sums
