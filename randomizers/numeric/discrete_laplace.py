"""Discrete Laplace noise from keyed words: P[x] = (1 - a) / (1 + a) a^|x| with a = e^-gamma, by integer tables.

Contract: noise is a function of its words (uint64[n, words]), so the same key gives the same noise; probabilities are
whole numbers out of 2^64 and products of them (`chance`).  Inside the range -reach..reach neighbouring values differ by
at most e^gamma either way, in exact arithmetic; what lies beyond (less than 2^-57 of the law) is left out, each value
inside keeping its share.  The size of the noise is a number in base 256 whose digits are independent, as a geometric
law's are; low levels are rounded up, so a digit's carry is paid by the digit above.  Where levels get so low that
rounding would make the law rise at a carry, the table ends; where too much would be left out, gamma is refused: every
carry is compared when noise is made.  Source: ARCHITECTURE section 5.5; Canonne, Kamath and Steinke 2020
for the law.  Not here: where the words come from, and what noise is for.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown

TOP = 1 << 64
BASE = 256
_SLACK = 1 << 10  # words that may be left over when a table is filled, and go to digit 0
_SCALE = 512  # bits behind the point of e^gamma, since carries multiply it
_ENOUGH = 45  # nats: e^-45 is below 2^-64,
_LEAST = 40  # and e^-40 below 2^-57


class DiscreteLaplace:
    """Noise on the whole numbers: immutable, pure.

    >>> noise = DiscreteLaplace(Fraction(1, 2))
    >>> noise.words, noise.reach, round(float(noise.chance(0)), 7)
    (2, 91, 0.2449187)
    """

    __slots__ = ("_digits", "_edges", "_sign", "gamma", "reach")

    def __init__(self, gamma: Fraction | int) -> None:
        if isinstance(gamma, bool) or not isinstance(gamma, (int, Fraction)) or not Fraction(1, 1 << 40) <= gamma <= 20:
            raise ParameterError(f"gamma: found {shown(gamma)}; allowed: a whole number or Fraction, 2^-40 to 20")
        self.gamma = Fraction(gamma)
        ratio = exp_below(self.gamma)
        self._digits: list[list[int]] = []  # levels of the digits, the lowest first
        share, step, bound, weight = Fraction(1), self.gamma, ratio, 1  # of this digit: its decay, and the bound on it
        while True:
            if step * BASE > _ENOUGH:
                share *= Fraction(self._end(ratio, bound, step), TOP)
                weight *= len(self._digits[-1])
                break
            levels = _levels(bound, BASE)
            self._digits.append(levels)
            share *= Fraction(levels[0], TOP)
            weight *= len(levels)
            bound *= Fraction(levels[0], levels[-1])  # 255 -> 0 and a carry must stay within e^gamma too
            bound = Fraction(bound.numerator * (1 << _SCALE) // bound.denominator, 1 << _SCALE)
            step *= BASE
        self.reach = weight
        self._sign = -(-TOP // (ratio * share + 2))  # words of either sign; the rest is 0
        if not _near(TOP - 2 * self._sign, self._sign * share, ratio):
            raise self._refused()
        self._edges = [np.cumsum(np.array(levels[:-1], np.uint64), dtype=np.uint64) for levels in self._digits]

    def _end(self, ratio: Fraction, bound: Fraction, step: Fraction) -> int:
        """Add the highest digit, as long as all carries allow, and return its first level."""
        for size in range(max(2, int(_ENOUGH / step) + 1), max(1, int(_LEAST / step)), -1):
            levels = _levels(bound, size)
            if _keeps([*self._digits, levels], ratio):
                self._digits.append(levels)
                return levels[0]
        raise self._refused()

    def _refused(self) -> ParameterError:
        found = f"{self.gamma}, for which no table of 64-bit words keeps e^gamma at every carry"
        return ParameterError(f"gamma: found {found}; allowed: another, as a rule a larger one")

    @property
    def words(self) -> int:
        """The number of 64-bit words that one value takes."""
        return 1 + len(self._digits)

    def noise(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """One value for each row of uint64[n, words]: int64[n]."""
        if not isinstance(words, np.ndarray) or words.dtype != np.uint64 or words.ndim != 2:
            found = f"{words.dtype}{list(words.shape)}" if isinstance(words, np.ndarray) else type(words).__name__
            raise ParameterError(f"noise: words: found {found}; allowed: uint64[n, {self.words}]")
        if words.shape[1] != self.words:
            raise ParameterError(f"noise: words: found {words.shape[1]} a value; allowed: {self.words}")
        size = np.ones(len(words), np.int64)
        for place, edges in enumerate(self._edges):
            size += np.searchsorted(edges, np.ascontiguousarray(words[:, 1 + place]), side="right") * BASE**place
        sign = words[:, 0]
        minus, plus = sign < np.uint64(self._sign), sign >= np.uint64(TOP - self._sign)
        return size * (plus.astype(np.int64) - minus)

    def noise_one(self, words: list[int]) -> int:
        """What `noise` gives, for one row in plain Python."""
        size = 1
        for place, levels in enumerate(self._digits):
            digit, word = 0, words[1 + place]
            while word >= levels[digit]:
                word -= levels[digit]
                digit += 1
            size += digit * BASE**place
        return size if words[0] >= TOP - self._sign else -size if words[0] < self._sign else 0

    def chance(self, value: int) -> Fraction:
        """The exact probability of a value."""
        if not value:
            return Fraction(TOP - 2 * self._sign, TOP)
        size, chance = abs(value) - 1, Fraction(self._sign, TOP)
        if size >= self.reach:
            return Fraction(0)
        for levels in self._digits:
            size, digit = divmod(size, BASE)
            chance *= Fraction(levels[digit], TOP)
        return chance

    @property
    def variance(self) -> Fraction:
        """The exact variance of what is drawn (the ideal one is 1 / (cosh(gamma) - 1))."""
        mean, spread = Fraction(1), Fraction(0)
        for place, levels in enumerate(self._digits):
            first = Fraction(sum(digit * level for digit, level in enumerate(levels)), TOP)
            second = Fraction(sum(digit * digit * level for digit, level in enumerate(levels)), TOP)
            mean += first * BASE**place
            spread += (second - first**2) * BASE ** (2 * place)
        return Fraction(2 * self._sign, TOP) * (spread + mean**2)

    def __repr__(self) -> str:
        return f"DiscreteLaplace(gamma={self.gamma})"


def exp_below(x: Fraction) -> Fraction:
    """A Fraction at most e^x and closer than 2^-440 of it, for x up to 20: every term is rounded down."""
    total = term = 1 << _SCALE
    k = 1
    while term:
        term = term * x.numerator // (x.denominator * k)
        total += term
        k += 1
    return Fraction(total, 1 << _SCALE)


def _keeps(digits: list[list[int]], ratio: Fraction) -> bool:
    """Whether neighbouring numbers of these digits differ by at most `ratio` either way, at every digit and carry: what
    lies above a carry is the same for both, and below it the digits go from their last to 0.
    """
    carried = Fraction(1)
    for levels in digits:
        if not all(_near(carried * one, other, ratio) for one, other in pairwise(levels)):
            return False
        carried *= Fraction(levels[-1], levels[0])
    return True


def _near(one: Fraction | int, other: Fraction | int, ratio: Fraction) -> bool:
    return one <= ratio * other and other <= ratio * one


def _levels(ratio: Fraction, size: int) -> list[int]:
    """Levels of digits 0..size-1 that add to 2^64, each at most `ratio` times the next: as large a first as fits."""
    top, under = ratio.numerator, ratio.denominator
    low, high = 1, TOP
    while low < high:
        first = (low + high + 1) // 2
        if sum(_chain(first, size, top, under)) <= TOP:
            low = first
        else:
            high = first - 1
    levels = _chain(low, size, top, under)
    levels[0] += TOP - sum(levels)
    if any(one * under > other * top for one, other in pairwise(levels)):
        raise ParameterError(f"gamma: found a ratio of {float(ratio)} that no table of {size} keeps; allowed: larger")
    return levels


def _chain(first: int, size: int, top: int, under: int) -> list[int]:
    levels = [first]
    upper = first + _SLACK
    for _ in range(size - 1):
        upper = -(-upper * under // top)
        levels.append(upper)
    return levels
