# SPDX-License-Identifier: Apache-2.0
"""What a value is worth that was found for being large: its first measurement, with the winner's curse taken off.

Contract: of many candidates those are found whose measured share exceeds a bar, so that errors upwards are found more
often than errors downwards.  Given the bar, the law of such a measurement is a normal one cut off below it, whatever
the other candidates are; so an interval of shares under which it is neither too large nor too small is exact for normal
errors (95 %, cut off at 0).  Its middle is the estimate and a quarter of its length the standard error, and a little
more, so that two standard errors reach both ends also behind a filter.  Far above the bar that is the measurement itself, with its own error.
Source: conditional inference after selection (Cohen and Sackrowitz 1989; Fithian, Sun and Taylor 2014).  Not here: what
is found (finding.py), how later measurements, which nothing selects, take over (followed.py).
"""

from __future__ import annotations

from math import erfc, sqrt
from typing import Final

import numpy as np

from murmurate.aggregators.methods.method import Floats

SIDE: Final = 0.025
"""The chance on each side that the truth lies outside."""
FAR: Final = 30.0
"""How many standard errors from a measurement its truth is looked for: normal chances vanish beyond."""
MORE: Final = 1.05
"""How many times larger standard errors are made: a filter mixes what it is told with what it expects."""
STEPS: Final = 50
"""Halvings of an interval, after which doubles differ no more."""


def first_sight(shares: Floats, errors: Floats, bars: Floats) -> tuple[Floats, Floats]:
    """Estimates and standard errors of shares that were measured with these errors and had to exceed these bars.

    >>> estimate, error = first_sight(np.array([0.10, 0.045]), np.array([0.01, 0.01]), np.array([0.04, 0.04]))
    >>> estimate.round(3), error.round(3)
    (array([0.1  , 0.032]), array([0.01 , 0.017]))
    """
    found = [_interval(*one) for one in zip(shares.tolist(), errors.tolist(), bars.tolist(), strict=True)]
    low, high = np.array(found, np.float64).reshape(-1, 2).T
    return (low + high) / 2, MORE * (high - low) / 4


def _interval(share: float, error: float, bar: float) -> tuple[float, float]:
    """The truths under which the measurement is neither among the smallest nor among the largest that are found."""
    bar = min(bar, share)
    return _truth(share, error, bar, SIDE), max(share, _truth(share, error, bar, 1 - SIDE))


def _truth(share: float, error: float, bar: float, chance: float) -> float:
    """The truth, at least 0, under which a measurement that exceeds the bar exceeds the share with this chance."""
    low, high = max(0.0, share - FAR * error), share + FAR * error
    if _above(low, share, error) >= chance * _above(low, bar, error):
        return low
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _above(middle, share, error) < chance * _above(middle, bar, error):
            low = middle
        else:
            high = middle
    return low


def _above(truth: float, at: float, error: float) -> float:
    """The chance that a measurement of the truth exceeds a share."""
    return erfc((at - truth) / (error * sqrt(2))) / 2
