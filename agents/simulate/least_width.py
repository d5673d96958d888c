# SPDX-License-Identifier: Apache-2.0
"""How wide error bars must be where a truth rests, if they hold one that fluctuates: a bound for every procedure.

Contract: two ways in which a truth may move, in units of the variance of a period's answer.  It rests: level.  Or it
fluctuates: level + e_t, e_t independent, normal, of variance `fluctuation`.  Answers are truth + normal noise of
variance 1; `values` of them come in each period, each with its own level and all moving alike.  A procedure gives an
interval for each value and period, from the answers up to that period, and perhaps chance; it may know all that stands
here but the levels, and which of both ways it is.  Its width is a quarter of the interval's length, so that an interval
of two standard errors to both sides has that of one.

If, for all levels, a procedure's intervals hold the fluctuating truth in the share `coverage` of values and periods,
then their mean width where the truth rests is at least `least_width` times the error (root of the mean square) of the
mean of all answers so far, which is the estimate of a filter that knows of the rest: for some level, and for every
level if the intervals move along where a number is added to all answers.

Proof.  Let levels be normal, with a variance that grows without end.  Where the truth fluctuates, its law given the
answers of t periods becomes normal, of variance (fluctuation + 1 / t) / (1 + fluctuation), and no set of length 2 h
holds more of it than the share g(h) of the interval of h to both sides of its mean.  Let L be the density of the
answers where the truth fluctuates over that where it rests.  Coverage is then at most E[L g(h)], E being the mean at
rest, so for any price >= 0 the mean width is at least E[h / 2 - price L g(h)] + price coverage, which is not smaller
where each h is the best one.  The best price gives the bound.  L depends on the sum of squares of answers from their
means alone, a chi square, so that the bound is an integral.
Not here: any particular filter, other pairs of ways.  Source: ARCHITECTURE section 5.9.
"""

from __future__ import annotations

from math import erf, lgamma, log, sqrt
from typing import Final

import numpy as np

from murmurate.agents.simulate.configurations import PERIODS
from murmurate.agents.simulate.filter_error import SETTLED
from murmurate.aggregators.filters.models import Floats

STEPS: Final = 161
"""Points of each integral: with twice as many the bound is the same to .001."""
REACH: Final = 7.0
"""How far the integrals go, in standard deviations. What lies beyond counts as covered, for nothing."""
PRICES: Final = (1e-3, 1e2)
"""Between which the best price of a miss is looked for; whichever is found, the bound is one."""
GOLDEN: Final = (sqrt(5) - 1) / 2
NARROWEST: Final = 1e-3
"""How near the best price is approached, as a difference of logarithms."""
_erf = np.vectorize(erf, otypes=[np.float64])


def least_width(
    *, fluctuation: float, values: int, coverage: float, periods: int = PERIODS, settled: int = SETTLED
) -> float:
    """The least mean width at rest, over the error of a filter that is told. Periods up to `settled` do not count."""
    t = np.arange(settled + 1.0, periods + 1)
    chance, ratio = _laws(fluctuation, values * (t - 1))
    error = np.sqrt((fluctuation + 1 / t) / (1 + fluctuation))[:, None]

    def bound(log_price: float) -> float:
        """The mean of width and price, where each interval is the best one."""
        worth = np.exp(log_price) * ratio
        half = error * np.sqrt(2 * np.log(np.maximum(1.0, 2 * worth * sqrt(2 / np.pi) / error)))
        best = half / 2 - worth * _erf(half / (error * sqrt(2)))
        beyond = np.maximum(0, 1 - (chance * ratio).sum(axis=1))
        return float(np.exp(log_price) * (coverage - beyond.mean()) + (chance * best).sum(axis=1).mean())

    low, high = (log(price) for price in PRICES)
    while high - low > NARROWEST:  # the bound is concave in the price
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, right) if bound(left) > bound(right) else (left, high)
    return max(0.0, bound((low + high) / 2)) / sqrt(float((1 / t).mean()))


def total_variation(*, fluctuation: float, values: int, periods: int = PERIODS) -> float:
    """How well the answers of so many periods tell both ways apart: 0, not at all, to 1, surely."""
    chance, ratio = _laws(fluctuation, np.array([values * (periods - 1.0)]))
    return float((chance * np.maximum(0, 1 - ratio)).sum())


def _laws(fluctuation: float, degrees: Floats) -> tuple[Floats, Floats]:
    """For chi squares of these degrees of freedom at rest: chances of values side by side, and their likelihood ratios,
    fluctuation over rest: float64[degrees, STEPS] each. Values are spaced evenly in their cube roots (Wilson and
    Hilferty), which are nearly normal.
    """
    n = degrees[:, None]
    width = np.sqrt(2 / (9 * n))
    root = np.maximum(1e-6, 1 - width**2 + np.linspace(-REACH, REACH, STEPS) * width)
    square = n * root**3
    normal = np.array([lgamma(half) for half in (n / 2).ravel()])[:, None] + n / 2 * log(2)
    chance = np.exp((n / 2 - 1) * np.log(square) - square / 2 - normal) * n * root**2 * width
    ratio = np.exp(np.minimum(700.0, (square * fluctuation / (1 + fluctuation) - n * log(1 + fluctuation)) / 2))
    return chance / chance.sum(axis=1, keepdims=True), ratio
