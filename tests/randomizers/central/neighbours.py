# SPDX-License-Identifier: Apache-2.0
"""All neighbouring chances of a discrete Laplace law, and a bound on e^gamma that shares no code with the product."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from itertools import pairwise

from murmurate.randomizers.central import DiscreteLaplace

DIGITS = 130


def at_most_e_to_the(gamma: Fraction) -> Fraction:
    """A number below e^gamma: `exp` of decimal is rounded correctly, so the number below what it gives is below it
    too."""
    down = Context(prec=DIGITS, rounding=ROUND_FLOOR)
    x = down.divide(down.create_decimal(gamma.numerator), down.create_decimal(gamma.denominator))
    return Fraction(down.next_minus(down.exp(x)))


def lower_digits(noise: DiscreteLaplace) -> list[int]:
    return [len(levels) for levels in noise._lower]


def carries(noise: DiscreteLaplace, every: int = 1) -> Iterator[int]:
    """Numbers x >= 0 such that x and x + 1, and -1 - x and -2 - x, make every pair of neighbouring levels in the
    tables.

    Those are: each digit from each of its values to the next, with all digits below it going from their last value to
    0; the highest digit likewise, for q = 0, 1 and 2; and from one q to the next. `every`: only each such one.
    """
    below = 1
    for size in lower_digits(noise):
        yield from (below - 1 + digit * below for digit in (*range(0, size - 1, every), size - 2))
        below *= size
    for more in range(3):
        start = more * noise._block + below - 1
        yield from (start + digit * below for digit in (*range(0, noise._size, every), noise._size - 1))


def worst_ratio_keeps(noise: DiscreteLaplace, every: int = 1) -> bool:
    """Whether no two neighbours of the law differ by more than e^gamma, either way, in exact arithmetic."""
    most = at_most_e_to_the(noise.gamma)
    top, under = most.numerator, most.denominator
    pairs = {0: noise.chance(0), -1: noise.chance(-1)}
    sides = [[pairs[0], pairs[-1]]]
    for x in carries(noise, every):
        sides += [[noise.chance(x), noise.chance(x + 1)], [noise.chance(-1 - x), noise.chance(-2 - x)]]
    return all(
        under * one.numerator * other.denominator <= top * other.numerator * one.denominator
        and under * other.numerator * one.denominator <= top * one.numerator * other.denominator
        for one, other in (pair for side in sides for pair in pairwise(side))
    )
