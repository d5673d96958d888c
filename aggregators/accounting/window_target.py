# SPDX-License-Identifier: Apache-2.0
"""How much a device may spend in a window so that all rounds of a method, mixed, keep a central target.

Contract: what `largest_epsilon` returns was certified by `worst_window` for the smallest batch; it has three digits, or
is the limit, or the target itself.  The mechanism is the method's own choice at each amount.  Not here: choosing the
mechanism of rounds that are alike (target.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from murmurate.aggregators.accounting.claim import DIGITS, MixedClaim
from murmurate.aggregators.accounting.schedules import WindowRounds
from murmurate.aggregators.accounting.target import MixedTarget, checked_target, place_of, value_at
from murmurate.aggregators.accounting.worst import worst_window
from murmurate.randomizers.thresholds import MICRO

_TRIED: Final = 8
_NEAR: Final = 0.98
"""A claim of so much of the target is near enough."""


def largest_epsilon(
    rounds_at: Callable[[int], WindowRounds], target: MixedTarget, *, smallest: int, limit: int
) -> tuple[int, MixedClaim]:
    """About the largest epsilon of a window, in micro-nats, whose rounds keep the target; and their claim.

    rounds_at: what a method may ask with so many micro-nats in a window. smallest: the reports of the smallest batch.

    1. The limit, if it keeps the target; what keeps it without any mixing.
    2. Between the largest epsilon that keeps it and the smallest that does not, by logarithms of their claims.
    """
    checked_target(target)

    def claim(epsilon: int) -> MixedClaim:
        return worst_window(rounds_at(epsilon), smallest, target.delta, target.corrupt)

    found = {limit: claim(limit)}
    if found[limit].epsilon <= target.epsilon:
        return limit, found[limit]
    alone = math.floor(Fraction(repr(float(target.epsilon))) * MICRO)
    found[alone] = claim(alone)
    low, high = alone, limit
    for _ in range(_TRIED):
        epsilon = value_at(place_of(_guess(found, target.epsilon, low, high), DIGITS), DIGITS)
        if not low < epsilon < high:
            break
        found[epsilon] = claim(epsilon)
        low, high = (epsilon, high) if found[epsilon].epsilon <= target.epsilon else (low, epsilon)
        if found[low].epsilon >= _NEAR * target.epsilon:
            break
    return low, found[low]


def _guess(found: dict[int, MixedClaim], wanted: float, low: int, high: int) -> int:
    """An epsilon on the line, in logarithms, through the two nearest claims: a little below the one that is wanted. The
    middle, where that is not between those that are known.
    """
    first, second = sorted(found, key=lambda epsilon: abs(math.log(found[epsilon].epsilon / wanted)))[:2]
    rise = math.log(found[second].epsilon / found[first].epsilon)
    steep = math.log(second / first) / rise if rise else 0.0
    guess = math.floor(first * (_NEAR**0.5 * wanted / found[first].epsilon) ** min(steep, 4.0))
    return guess if low < guess < high else math.isqrt(low * high)
