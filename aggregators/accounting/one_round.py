# SPDX-License-Identifier: Apache-2.0
"""The least certified epsilon of one round, found in a few steps from where losses would be normal.

Contract: the decimal number of so many digits that `blanket.epsilon` gives, certified by the same bound at exactly this
epsilon; one less in the last digit where that stops a hair above the least.  A release claims one whenever the number
of its reports is new, so the way there matters: many reports' losses are nearly normal, so the normal law's epsilon is
at most some hundredths off and its slope less, and one or two evaluations are enough.  Where they are not (few reports,
an epsilon next to the local one, inaccuracy beyond what is allowed), the search from afar is taken.  Not here: bounds
(blanket.py), the search from afar (search.py).
"""

from __future__ import annotations

import math
from typing import Final

from murmurate.aggregators.accounting.blanket import MOST_REPORTS, delta, epsilon
from murmurate.aggregators.accounting.delta_curve import loss_variance
from murmurate.aggregators.accounting.search import FLOOR, PART, next_above, next_below, rounded_up
from murmurate.randomizers.question import Blanket

_TRIED: Final = 6
"""Evaluations after which the search from afar is the better one."""
_HALVINGS: Final = 40
_SURE: Final = 0.25
"""By which part of a step of the last digit a bound has to miss delta, as the slope has it, not to be asked."""
_TRUSTED: Final = 0.02
"""How close to the normal law's epsilon its slope is trusted so."""


def round_epsilon(blanket: Blanket, n: int, allowed: float, limit: float, digits: int) -> float:
    """The least epsilon of so many digits that is certified for this delta, or the limit if that is less."""
    return _near(blanket, min(n, MOST_REPORTS), allowed, limit, digits) or epsilon(blanket, n, allowed, limit, digits)


def _near(blanket: Blanket, n: int, allowed: float, limit: float, digits: int) -> float | None:
    """The epsilon, by steps along the slope of the bound's logarithm; None where these do not find it.

    A candidate is the answer when it is certified and the number below it is not: it was asked, or the slope says so.
    """
    guess = _normal(math.sqrt(loss_variance(blanket) / n), allowed, limit / 2)
    if guess is None:
        return None
    at, slope = guess
    misses: dict[float, float] = {}  # the logarithm of the bound over delta, by candidate
    candidate = rounded_up(at, digits)
    for _ in range(_TRIED):
        if not FLOOR < candidate < limit:
            return None
        found = delta(blanket, n, candidate)
        if not found.excess <= PART * allowed or found.bound <= 0:
            return None
        misses[candidate] = missing = math.log(found.bound / allowed)
        above, below = next_above(candidate, digits), next_below(candidate, digits)
        if missing > 0 and misses.get(above, 1.0) <= 0:
            return above
        sure = _SURE if abs(math.log(candidate / at)) < _TRUSTED else math.inf
        last = -slope * math.log(candidate / below)  # what the number below misses more
        if missing <= 0 and (misses[below] > 0 if below in misses else missing + last > sure * last):
            return candidate
        root = candidate * math.exp(max(-0.5, min(0.5, -missing / slope)))
        step = rounded_up(root, digits)
        candidate = min(step, below) if missing <= 0 else max(step, above)
    return None


def _normal(mu: float, allowed: float, most: float) -> tuple[float, float] | None:
    """The epsilon of two normal laws mu apart at this delta, and the slope of delta there, both by logarithms; None
    where it is above the most.  Nothing rests on its accuracy.
    """
    if not _curve(mu, most)[0] < allowed < _curve(mu, FLOOR)[0]:
        return None
    low, high = math.log(FLOOR), math.log(most)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _curve(mu, math.exp(middle))[0] > allowed else (low, middle)
    at = math.exp(high)
    value, falls = _curve(mu, at)
    return (at, -at * falls / value) if value > 0 else None


def _curve(mu: float, at: float) -> tuple[float, float]:
    """The delta of two normal laws mu apart at this epsilon, and how fast it falls there."""
    one = math.erfc((at / mu - mu / 2) / math.sqrt(2)) / 2
    other = math.exp(at) * math.erfc((at / mu + mu / 2) / math.sqrt(2)) / 2
    return max(0.0, one - other), other
