# SPDX-License-Identifier: Apache-2.0
"""Exact confidence bounds of a binomial proportion (Clopper and Pearson 1934), without SciPy.

Contract: `upper(k, n, alpha)` is the p at which at most k hits of n have probability alpha, `lower` the one for at
least k: each is wrong for one case in 1 / alpha or less.  The tail is the regularised incomplete beta function, by
Lentz's continued fraction.
"""

import math
from collections.abc import Callable

_TINY = 1e-300
_PRECISION = 1e-12


def lower(hits: int, trials: int, alpha: float) -> float:
    """The smallest proportion that explains this many hits.

    >>> round(lower(60, 100, 0.025), 6)
    0.497209
    """
    return 0.0 if hits == 0 else _solve(lambda p: _beta(hits, trials - hits + 1, p), alpha)


def upper(hits: int, trials: int, alpha: float) -> float:
    """The largest proportion that explains this few hits.

    >>> round(upper(60, 100, 0.025), 6)
    0.696705
    """
    return 1.0 - lower(trials - hits, trials, alpha)


def _solve(tail: Callable[[float], float], alpha: float) -> float:
    """The p at which a rising function reaches alpha, approached from below."""
    low, high = 0.0, 1.0
    while high - low > _PRECISION * high and high > _TINY:
        middle = (low + high) / 2
        if tail(middle) < alpha:
            low = middle
        else:
            high = middle
    return low


def _beta(a: int, b: int, x: float) -> float:
    """I_x(a, b): the probability of at least a hits of a + b - 1 at proportion x."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: int, b: int, x: float) -> float:
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _nonzero(1 + step * d)
            c = _nonzero(1 + step / c)
            value *= d * c
        if abs(d * c - 1) < _PRECISION:
            return value
    raise ArithmeticError(f"the incomplete beta function of {a}, {b} did not converge at {x}")


def _nonzero(x: float) -> float:
    return x if abs(x) > _TINY else _TINY
