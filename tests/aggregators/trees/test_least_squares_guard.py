# SPDX-License-Identifier: Apache-2.0
"""How far a filter is trusted: all the way where least squares bears it out, not at all where it is plainly wrong."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.aggregators.trees.least_squares_guard import SHORTEST, LeastSquaresGuard
from murmurate.randomizers import SnapshotError

STATISTICS, PERIODS = 400, 3 * SHORTEST
V = np.ones(STATISTICS)


def errors(bias: float, said: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The estimates around a truth of 0 and their variances, after three times the guard's memory."""
    rng, guard = np.random.default_rng(seed), LeastSquaresGuard(STATISTICS, 8)
    found = V, V
    for _ in range(PERIODS):
        best = bias + rng.normal(size=STATISTICS) * np.sqrt(said)
        plain = best - bias + rng.normal(size=STATISTICS) * np.sqrt(1 - said)
        found = guard.joined((best, said * V), (plain, V))
    return found


@pytest.mark.parametrize(("bias", "least", "most"), [(0.0, 0.3, 0.45), (0.7, 0.4, 0.7), (3.0, 0.9, 1.05)])
def test_the_error_goes_from_the_filters_to_that_of_least_squares_as_bias_grows(
    bias: float, least: float, most: float
) -> None:
    estimate, variance = errors(bias, 0.05)
    assert least < variance.mean() < most
    assert np.mean(estimate**2) < 1.25 * variance.mean()  # squares of 400: .07 of it is a standard error
    assert (variance <= 1).all()


def test_the_first_periods_are_those_of_least_squares_for_the_most_part() -> None:
    guard = LeastSquaresGuard(1, 8)
    estimate, variance = guard.joined((np.zeros(1), np.zeros(1)), (np.ones(1), np.ones(1)))
    assert estimate > 0.9
    assert variance > 0.9


def test_a_filter_that_says_it_knows_less_than_least_squares_is_not_heard() -> None:
    guard = LeastSquaresGuard(1, 8)
    estimate, variance = guard.joined((np.zeros(1), np.full(1, 2.0)), (np.ones(1), np.ones(1)))
    assert (estimate.item(), variance.item()) == (1.0, 1.0)


def test_a_state_of_other_statistics_is_refused() -> None:
    with pytest.raises(SnapshotError, match="allowed"):
        LeastSquaresGuard(2, 8).load(LeastSquaresGuard(3, 8).arrays())
