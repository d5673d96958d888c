# SPDX-License-Identifier: Apache-2.0
"""The least epsilon that a bound certifies for a delta, as a decimal number of few digits, rounded up.

Contract: whatever is returned was certified: the bound at exactly this epsilon is at most delta, or it is the limit.
Candidates are decimal numbers of so many significant digits, so that the answer is the same on machines whose
logarithms differ in the last bit, and does not fall when delta does.  A bound whose inaccuracy is above a thousandth of
delta certifies nothing.  Not here: the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from typing import NamedTuple

from murmurate.aggregators.accounting.errors import NotCertifiedError

FLOOR = 1e-6
"""No epsilon below a micro-nat is claimed."""
PART = 1e-3
"""How much of delta may be inaccuracy."""
_ROUNDS = 200
_STEPS = 8
_STEEP = 1e3


class CertifiedDelta(NamedTuple):
    """An upper bound of delta, and how much of it is inaccuracy of the computation."""

    bound: float
    excess: float


Curve = Callable[[float], CertifiedDelta]
"""A bound by epsilon."""


def rounded_up(value: float, digits: int) -> float:
    """The least decimal number of so many significant digits that is not below the value.

    >>> rounded_up(0.0462349, 3), rounded_up(0.0463, 3), rounded_up(1.2345, 3)
    (0.0463, 0.0463, 1.24)
    """
    exact = Context(prec=15).create_decimal(Decimal(value))
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(exact))


def next_above(value: float, digits: int) -> float:
    """The next decimal number of so many significant digits."""
    return float(Context(prec=digits).next_plus(Decimal(repr(value))))


def next_below(value: float, digits: int) -> float:
    """The decimal number of so many significant digits before this one.

    >>> next_below(0.0463, 3), next_below(0.1, 3)
    (0.0462, 0.0999)
    """
    return float(Context(prec=digits).next_minus(Decimal(repr(value))))


def least_epsilon(coarse: Curve, fine: Curve, delta: float, limit: float, digits: int) -> float:
    """The least certified epsilon of so many digits; the limit where that is no more.

    1. A root of the coarse bound, in logarithms.  2. The fine bound there, and a step along the coarse slope.
    3. From the number of so many digits above that on, the first one that the fine bound certifies.
    """
    if limit <= FLOOR or _excess(coarse, FLOOR, delta) <= 0:
        root = FLOOR
    else:
        root = _root(coarse, delta, limit)
        if root >= limit:
            return limit
        near = root * (1 - 1e-5)
        slope = (_excess(coarse, root, delta) - _excess(coarse, near, delta)) / math.log(root / near)
        for _ in range(_STEPS):
            missing = _excess(fine, root, delta)
            if not slope < 0 or not math.isfinite(missing) or abs(missing / slope) < 10.0 ** (-digits - 2):
                break
            root = min(limit, max(FLOOR, root * math.exp(max(-0.5, min(0.5, -missing / slope)))))
    candidate = rounded_up(root, digits)
    for _ in range(_ROUNDS):
        if candidate >= limit:
            return limit
        found = fine(candidate)
        if not found.excess <= PART * delta:
            raise NotCertifiedError(
                f"delta: found an inaccuracy of {found.excess:.2g}; allowed: a thousandth of it, {PART * delta:.2g}"
            )
        if found.bound <= delta:
            return candidate
        candidate = next_above(candidate, digits)
    return limit


def _excess(curve: Curve, epsilon: float, delta: float) -> float:
    """The logarithm of the bound over delta."""
    bound = curve(epsilon).bound
    return math.log(bound / delta) if bound > 0 else -math.inf


def _root(curve: Curve, delta: float, limit: float) -> float:
    """Where the bound is delta: between two epsilons on both sides, by secants that keep both (Illinois)."""
    low, high = math.log(FLOOR), math.log(limit)
    above, below = _root_of(curve, low, delta), -_STEEP  # at the limit nothing is left
    side = 0
    for _ in range(_ROUNDS):
        middle = (low * below - high * above) / (below - above)
        if not low < middle < high:
            middle = (low + high) / 2
        value = _root_of(curve, middle, delta)
        if value > 0:
            low, above, below, side = middle, value, below / 2 if side > 0 else below, 1
        else:
            high, below, above, side = middle, value, above / 2 if side < 0 else above, -1
        if high - low < 1e-14 or abs(value) < 1e-3:
            return math.exp(middle)
    return math.exp(high)


def _root_of(curve: Curve, log_epsilon: float, delta: float) -> float:
    """The logarithm of the bound over delta, no further below 0 than a secant can use."""
    return max(-_STEEP, _excess(curve, math.exp(log_epsilon), delta))
