# SPDX-License-Identifier: Apache-2.0
"""The promise of noisy percentiles: of every set of at most four values over four, beside every one of which one value
was replaced, the whole of what epsilon does not cover, which must be at most delta. Integrals are in closed form, and
what floats round is far below the smallest delta looked at.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest

from murmurate.aggregators.central.percentile import PAK_BETA, SmoothPercentile
from tests.cases import every

Law = tuple[float, float]
TOP, MOST = 3, 4


def below(law: Law, x: float) -> float:
    """The chance of a Laplace number below x."""
    z = (x - law[0]) / law[1]
    return 0.5 * math.exp(z) if z < 0 else 1 - 0.5 * math.exp(-z)


def uncovered(one: Law, other: Law, epsilon: float) -> float:
    """The integral of what the first law has beyond e^epsilon times the second one.

    1. Between the centres the logarithm of the ratio is straight. 2. Where it crosses epsilon, stretches begin and end.
    3. Of each the difference of the chances counts, if it is positive.
    """

    def ahead(x: float) -> float:
        first, second = (math.log(2 * s) + abs(x - c) / s for c, s in (one, other))
        return second - first - epsilon

    far = 800 * max(one[1], other[1])
    ends = sorted([one[0] - far, one[0], other[0], one[0] + far])
    points = [ends[0]]
    for left, right in pairwise(ends):
        low, high = ahead(left), ahead(right)
        if low * high < 0:
            points.append(left + (right - left) * low / (low - high))
        points.append(right)
    total = 0.0
    for left, right in pairwise(points):
        mass = below(one, right) - below(one, left) - math.exp(epsilon) * (below(other, right) - below(other, left))
        total += max(0.0, mass)
    return total


def worst(percentile: SmoothPercentile, size: int) -> float:
    """The largest of these over all pairs of neighbours of a size, in both directions."""
    laws = {values: percentile.law(np.array(values)) for values in combinations_with_replacement(range(TOP + 1), size)}
    pairs = {
        (values, tuple(sorted((*values[:i], *values[i + 1 :], new))))
        for values in laws
        for i in range(size)
        for new in range(TOP + 1)
    }
    return max(uncovered(laws[one], laws[other], percentile.epsilon) for one, other in pairs)


def test_what_is_uncovered_is_counted_as_it_should_be() -> None:
    # Of two laws of one scale, a distance apart that is worth twice epsilon: (1 - e^(-epsilon / 2)) in closed form.
    assert uncovered((0.0, 1.0), (2.0, 1.0), 1.0) == pytest.approx(1 - math.exp(-0.5))
    assert uncovered((0.0, 1.0), (1.0, 1.0), 1.0) == pytest.approx(0, abs=1e-12)
    grid = np.linspace(-60, 60, 600_001)
    one, other = (np.exp(-abs(grid - c) / s) / (2 * s) for c, s in ((0.3, 1.0), (0.9, 1.3)))
    summed = np.maximum(one - math.exp(0.2) * other, 0).sum() * (grid[1] - grid[0])
    assert uncovered((0.3, 1.0), (0.9, 1.3), 0.2) == pytest.approx(summed, rel=1e-4)


@every("epsilon", [0.1, 0.5, 1.0, 2.0])
@every("delta", [1e-3, 1e-6])
@every("beta", [None, PAK_BETA])
def test_a_replaced_value_is_covered_but_for_delta(epsilon: float, delta: float, beta: float | None) -> None:
    for share in (0.5, 0.75, 0.995):
        percentile = SmoothPercentile(share, epsilon, delta, TOP, beta)
        assert max(worst(percentile, size) for size in range(1, MOST + 1)) <= delta


def test_half_of_epsilon_does_not_cover_it() -> None:
    """The audit can see: noise that is half as wide leaves more than delta."""
    percentile = SmoothPercentile(0.5, 1.0, 1e-6, TOP)
    wide = {values: percentile.law(np.array(values)) for values in [(0, 0, 0), (0, 0, 3), (0, 3, 3)]}
    narrow = {values: (centre, scale / 3) for values, (centre, scale) in wide.items()}
    assert uncovered(narrow[0, 0, 3], narrow[0, 3, 3], 1.0) > 1e-6
