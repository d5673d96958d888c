# SPDX-License-Identifier: Apache-2.0
"""How small the variance of a mechanism for vectors can be at best, in closed form, so that costly ones are built last.

Contract: FutureRand and SUCCINCT take long to build, since their parameters are searched.  Each reports, under signs
that do not depend on the user, something about a sum S of s random signs, with no ratio of probabilities above
e^epsilon.  By Cauchy and Schwarz no estimate from such a report has a smaller variance than 1 / g^2 at a coordinate
that is not held, where g is the largest mean that any report can give S, divided by s: its mean under the weights
e^epsilon where S >= tau and 1 elsewhere, at the best tau.  Source: ARCHITECTURE section 5.17; the bound is our own.
Not here: which mechanism is taken (rows.py).
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, exp
from typing import Final

COSTLY: Final = ("future_rand", "succinct")
"""The mechanisms that take long to build."""
SURE: Final = 1 - 1e-9
"""The part of the bound that is certain, as floats and probabilities are rounded."""


def least_variance(name: str, s: int, epsilon: float, frequency: float) -> float:
    """A variance that one report of the mechanism never stays below where so many of the users hold a coordinate; 0 of
    mechanisms that are quickly built.

    >>> round(least_variance("succinct", 8, 1.0, 0.0), 2), least_variance("exsub", 8, 1.0, 0.0)
    (47.8, 0.0)
    """
    return SURE / _largest_gap(s, epsilon) ** 2 - frequency if name in COSTLY else 0.0


@lru_cache(maxsize=256)
def _largest_gap(s: int, epsilon: float) -> float:
    """The largest mean of a sum of s random signs, divided by s, among all reports."""
    more, gap, chance, above = exp(epsilon) - 1, 0.0, 0.0, 0.0
    for plus in range(s, -1, -1):
        chance += comb(s, plus) / 2**s
        above += comb(s, plus) * (2 * plus - s) / 2**s
        gap = max(gap, more * above / (1 + more * chance))
    return gap / s
