# SPDX-License-Identifier: Apache-2.0
"""Probabilities as integer levels, so that what decides is exact.

Contract: epsilon is a whole number of micro-nats; `exp_floor` is a Fraction below e^epsilon and within 2^-180 of it;
a low level is rounded up and the high one takes the remainder, so that a realised ratio never exceeds e^epsilon
(flooring the high level instead exceeds it, for GRR at d = 7 and 128).  Source: ARCHITECTURE rule 2.
"""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from murmurate.randomizers.errors import ParameterError, shown

MICRO = 1_000_000
MAX_MICRO = 20 * MICRO
_SCALE = 256  # bits behind the point while the series of e^x is summed

Epsilon = float | int | Fraction | Decimal


def micro_nats(epsilon: Epsilon) -> int:
    """Epsilon as a whole number of micro-nats, never more than was given.

    >>> micro_nats(1), micro_nats(0.29), micro_nats(1 / 3)
    (1000000, 290000, 333333)
    """
    allowed = "allowed: a number from 0.000001 (one micro-nat) to 20"
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float, Fraction, Decimal)):
        raise ParameterError(f"epsilon: found {type(epsilon).__name__}; {allowed}")
    exact = (
        Decimal(repr(float(epsilon))) if isinstance(epsilon, float) else epsilon
    )  # as it was written: 0.29 is 29/100
    if (isinstance(exact, Decimal) and not exact.is_finite()) or not 0 < exact * MICRO <= MAX_MICRO:
        raise ParameterError(f"epsilon: found {shown(epsilon)}; {allowed}")
    micro = int(exact * MICRO)
    if micro < 1:
        raise ParameterError(f"epsilon: found {shown(epsilon)}; {allowed}")
    return micro


@lru_cache(maxsize=1024)
def exp_floor(micro: int, parts: int = 1) -> Fraction:
    """A Fraction at most e^(micro / 10^6 / parts), closer than 2^-180 of it (every term of the series is rounded
    down).
    """
    if not 0 < micro <= MAX_MICRO or parts < 1:
        raise ParameterError(
            f"exp_floor: found {micro} micro-nats in {parts} parts; allowed: 1 to {MAX_MICRO} in 1 or more"
        )
    total = term = 1 << _SCALE
    k = 1
    while term:
        term = term * micro // (MICRO * parts * k)
        total += term
        k += 1
    return Fraction(total, 1 << _SCALE)


def low_level(probability: Fraction, bits: int) -> int:
    """The smallest integer level that is at least `probability` of 2^bits."""
    return -(-probability.numerator * (1 << bits) // probability.denominator)
