# SPDX-License-Identifier: Apache-2.0
"""The normal pair: two normal laws of variance 1 whose means are mu apart, an upper bound of a round.

Contract: at every E, the delta of a round is at most that of the pair `dominating_mu` apart, and `left` more.  Then
rounds whose mu^2 add up to at most M^2 on every path have at most the delta of the pair M apart, and the sum of what
was left, even if each is chosen after the answers before it: with one round less to go, what is left to come is at most
a convex decreasing function of E, which a dominating pair can only raise; and two normal pairs after each other are one
(Dong, Roth and Su 2022, corollary 3.3; Smith and Thakurta 2022).  Between the points of a grid delta is convex in E,
hence below a straight line between upper bounds of it.  Not here: which paths there are (schedules.py).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from murmurate.aggregators.accounting.blanket import COARSE
from murmurate.aggregators.accounting.delta_curve import deltas, loss_variance
from murmurate.aggregators.accounting.search import FLOOR, CertifiedDelta, least_epsilon
from murmurate.randomizers.question import Blanket

_FINE: Final = 5
"""Points of the grid in one standard deviation of a round's loss, about."""
_QUICK: Final = 3
"""Points of the grid in one standard deviation where a mu a hundredth larger is no harm."""
_EVEN: Final = 60
"""The number of points at even distances."""
_WIDER: Final = 1.05
"""The ratio of one distance to the next from there on."""
_AT_ONCE: Final = 24
"""How many points are worked out at a time."""
_ENOUGH: Final = 2e-5
"""How much above the least a mu may be."""
_SAFE: Final = 1e-13
"""The relative error of a normal chance, at most."""
_NORMAL: Final = NormalDist()


def normal_delta(mu: float, epsilon: float) -> tuple[float, float]:
    """The delta of the pair mu apart: a lower and an upper bound.

    >>> low, high = normal_delta(1.0, 0.0)
    >>> low < 0.38292492254802624 < high, high - low < 1e-12
    (True, True)
    """
    one, other = _above(epsilon / mu - mu / 2), math.exp(epsilon) * _above(epsilon / mu + mu / 2)
    off = _SAFE * (one + other)
    return max(0.0, one - other - off), max(0.0, one - other) + off


def normal_epsilon(mu: float, delta: float, limit: float, digits: int) -> float:
    """The least epsilon of so many digits at which the pair mu apart has this delta; the limit, if that is less."""

    def curve(at: float) -> CertifiedDelta:
        low, high = normal_delta(mu, at)
        return CertifiedDelta(high, high - low)

    return least_epsilon(curve, curve, delta, limit, digits)


@lru_cache(maxsize=4096)
def dominating_mu(blanket: Blanket, n: int, local: float, left: float, quick: bool = False) -> float:
    """A mu, hardly above the least, whose pair dominates n mixed reports but for `left`.

    1. Upper bounds of delta at a grid of epsilons, up to the first that is at most `left`.
    2. The least mu whose pair is nowhere below the lines between them, less `left`; by halving.
    """
    points, bounds = _grid(blanket, n, local, left, _QUICK if quick else _FINE)
    least = 2 * _NORMAL.inv_cdf((1 + min(max(bounds[0] - left, 1e-12), 0.9)) / 2)  # what E = 1 alone needs
    low, high = least * (1 - _ENOUGH), least * (1 + 0.02)
    while not _dominates(high, points, bounds, left):
        low, high = high, high + 2 * (high - low)
    while high > low * (1 + _ENOUGH):
        middle = (low + high) / 2
        low, high = (low, middle) if _dominates(middle, points, bounds, left) else (middle, high)
    return high


def _grid(blanket: Blanket, n: int, local: float, left: float, fine: int) -> tuple[list[float], list[float]]:
    """Epsilons from 0 on, and upper bounds of delta there."""
    step = max(FLOOR, math.sqrt(loss_variance(blanket) / n)) / fine
    points, bounds = [0.0], list[float]()
    while True:
        while len(points) < len(bounds) + _AT_ONCE:
            if len(points) > _EVEN:  # few reports: losses are far from normal
                step *= _WIDER
            points.append(points[-1] + step)
        at = np.array(points[len(bounds) :])
        inner = at[at < local]
        bounds += [*deltas(blanket, n, inner, COARSE).tolist(), *[0.0] * (len(at) - len(inner))]
        if (last := next((k for k, bound in enumerate(bounds) if bound <= left), None)) is not None:
            return points[: last + 1], bounds[: last + 1]


def _dominates(mu: float, points: list[float], bounds: list[float], left: float) -> bool:
    """Whether the pair is above every line: nearest to one it is where its slope by E, -P[N > e / mu + mu / 2], is the
    line's own.
    """
    if normal_delta(mu, 0.0)[0] + left < bounds[0]:
        return False
    for k in range(len(bounds) - 1):
        first, last = points[k], points[k + 1]
        slope = (bounds[k] - bounds[k + 1]) / (math.exp(last) - math.exp(first))
        near = mu * (-_NORMAL.inv_cdf(slope) - mu / 2) if 0 < slope < 1 else first
        at = min(max(near, first), last)
        line = bounds[k] - slope * (math.exp(at) - math.exp(first))
        if normal_delta(mu, at)[0] + left < line * (1 + 1e-12):
            return False
    return True


def _above(x: float) -> float:
    """The chance that a normal number is above x."""
    return math.erfc(x / math.sqrt(2)) / 2
