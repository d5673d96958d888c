# SPDX-License-Identifier: Apache-2.0
"""Discrete Laplace noise on a circle of 2^(bits + 1) whole numbers: every number is possible, whatever it is added to.

Contract: noise X has P[x] in proportion to e^-(rate |x|) for x from -2^bits to 2^bits - 1, but for the rounding of
levels.  X = G with a chance near 1 / (1 + e^-rate), else -1 - G, and the digits b_i of G are independent: b_i is 1 with
1 / (1 + e^(rate 2^i)), a whole level of 2^64, rounded up.  Added modulo 2^(bits + 1) to two numbers that are at most
`span` apart it has ratios of at most e^epsilon: rate = (epsilon - 2^-32) / span, where 2^-32 pays for the rounding of
levels, of which the least is above 2^35.  `largest_ratio` finds the largest that occurs, in exact arithmetic.
Source: ARCHITECTURE section 5.17; Ghosh, Roughgarden and Sundararajan 2009 for the law.  Not here: unbounded noise
(central/discrete_laplace.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.central.discrete_laplace import exp_below
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.thresholds import MICRO, low_level

_TOP = 1 << 64
_SLACK = Fraction(1, 1 << 32)
_DECAY = 20  # nats from 0 to the far end of the circle, at least
MAX_BITS_OF_NOISE: Final = 31
"""The most digits, so that the sum of 2^31 reports fits into 64 bits."""


class FarPart(NamedTuple):
    """What G adds from some number on."""

    chance: float
    """The probability that G is at least that number."""
    mean: float
    """The mean of G where it is, and of 0 elsewhere."""


class CircularNoise:
    """Noise that keeps epsilon for whole numbers at most `span` apart. Immutable, pure."""

    def __init__(self, epsilon_micro: int, span: int) -> None:
        rate = (Fraction(epsilon_micro, MICRO) - _SLACK) / span
        self.bits = 1
        while rate * (1 << self.bits) < _DECAY:
            self.bits += 1
        if self.bits > MAX_BITS_OF_NOISE:
            raise ParameterError(f"noise: found {self.bits} digits; allowed: {MAX_BITS_OF_NOISE}, by fewer steps")
        self.half, self.size = 1 << self.bits, 2 << self.bits
        powers = [Fraction(exp_below(rate * (1 << i)), 1 << 256) for i in range(self.bits)]
        self.levels = tuple(low_level(1 / (power + 1), 64) for power in powers)
        """The number of words out of 2^64 for which a digit is 1, the lowest digit first; of the sign as of digit 0."""

    @property
    def words(self) -> int:
        """The number of words: one for the sign, and one for each digit."""
        return 1 + self.bits

    def noise(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The noise of each row of words, uint64[n, words]: int64[n]."""
        size = np.zeros(len(words), np.int64)
        for digit, level in enumerate(self.levels):
            size |= (words[:, 1 + digit] < np.uint64(level)).astype(np.int64) << digit
        return np.where(words[:, 0] < np.uint64(self.levels[0]), ~size, size)

    def noise_one(self, words: Sequence[int]) -> int:
        """What `noise` gives, for one row in plain Python."""
        size = sum((words[1 + digit] < level) << digit for digit, level in enumerate(self.levels))
        return ~size if words[0] < self.levels[0] else size

    def chance(self, value: int) -> Fraction:
        """The exact probability of a noise from -2^bits to 2^bits - 1."""
        size, negative = (value, False) if value >= 0 else (~value, True)
        words = self.levels[0] if negative else _TOP - self.levels[0]
        for digit, level in enumerate(self.levels):
            words *= level if size >> digit & 1 else _TOP - level
        return Fraction(words, _TOP**self.words)

    def largest_ratio(self, apart: Iterable[int]) -> Fraction:
        """The largest P[x] / P[x'] of any x and x' that differ by one of these numbers, around the circle.

        Of x = g and x' = g + a, both of one sign; of x = -1 - g and x' = g', g + g' = a - 1; and of the other way
        around, g + g' = 2^(bits + 1) - a - 1.
        """
        return max(max(self._ratios(a)) for a in apart)

    def _ratios(self, apart: int) -> Iterator[Fraction]:
        sign = Fraction(self.levels[0], _TOP - self.levels[0])
        for turned in (False, True):
            yield self._largest(apart, turned=turned, sums=False) or Fraction(0)
            for total in (apart - 1, self.size - apart - 1):
                found = self._largest(total, turned=turned, sums=True)
                if found is not None:
                    yield found * (1 / sign if turned else sign)

    def _largest(self, number: int, *, turned: bool, sums: bool) -> Fraction | None:
        """The largest P[g] / P[g'] (turned: its inverse) where g' = g + number (sums: g + g' = number), digit by digit
        with a carry; None where there are no such g and g'.
        """
        best: dict[int, Fraction] = {0: Fraction(1)}
        for digit, level in enumerate(self.levels):
            odds, after = Fraction(level, _TOP - level), dict[int, Fraction]()
            for carry, product in best.items():
                for one in (0, 1):
                    for other in (0, 1):
                        total = (one + other if sums else number_digit(number, digit) + one) + carry
                        if total & 1 != (number_digit(number, digit) if sums else other):
                            continue
                        power = (other - one) if turned else (one - other)
                        found = product * odds**power
                        after[total >> 1] = max(after.get(total >> 1, found), found)
            best = after
        return best.get(number >> self.bits if sums else 0)

    def tail(self, least: int) -> FarPart:
        """What G adds from this number on, 0 to 2^bits: the sum over the digits at which a larger G departs from it."""
        ones = [level / _TOP for level in self.levels]
        below = [0.0]  # the mean of the digits below each one
        for digit, one in enumerate(ones):
            below.append(below[-1] + one * (1 << digit))
        if least >= self.half:
            return FarPart(0.0, 0.0)
        prefix, value, chance, mean = 1.0, 0, 0.0, 0.0
        for digit in reversed(range(self.bits)):
            if least >> digit & 1:
                prefix, value = prefix * ones[digit], value + (1 << digit)
            else:
                more = prefix * ones[digit]
                chance, mean = chance + more, mean + more * (value + (1 << digit) + below[digit])
                prefix *= 1 - ones[digit]
        return FarPart(chance + prefix, mean + prefix * least)

    def moments(self, value: int) -> tuple[float, float]:
        """The mean and the mean square of value + noise around the circle, taken from -2^bits to 2^bits - 1."""
        minus = self.levels[0] / _TOP
        ones = [(level / _TOP, float(1 << digit)) for digit, level in enumerate(self.levels)]
        mean = sum(one * weight for one, weight in ones)
        square = mean**2 + sum(one * (1 - one) * weight**2 for one, weight in ones)
        noise = (1 - minus) * mean - minus * (1 + mean)
        of_square = value**2 + 2 * value * noise + (1 - minus) * square + minus * (1 + 2 * mean + square)
        gone = self.tail(self.half - abs(value))
        part, far = (1 - minus if value > 0 else minus), abs(value) + (value < 0)
        less = part * self.size * gone.chance
        return (
            value + noise - (less if value > 0 else -less),
            of_square + part * self.size * (self.size * gone.chance - 2 * (far * gone.chance + gone.mean)),
        )

    def at_least(self, value: int, least: int) -> float:
        """The probability that value + noise around the circle is at least this number, which is not below value."""
        minus = self.levels[0] / _TOP
        found = (1 - minus) * (self.tail(least - value).chance - self.tail(self.half - max(value, 0)).chance)
        return found + minus * self.tail(self.half + value).chance if value < 0 else found


def number_digit(number: int, digit: int) -> int:
    """One binary digit of a number."""
    return number >> digit & 1
