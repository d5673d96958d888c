# SPDX-License-Identifier: Apache-2.0
"""Discrete Laplace noise from keyed words: P[x] = (1 - a) / (1 + a) a^|x| with a = e^-gamma, unbounded and exact.

Contract: for every whole x: P[x] <= e^gamma P[x + 1] and P[x + 1] <= e^gamma P[x], in exact arithmetic (`chance`).  The
constructor compares every pair of neighbours that the tables can make, and refuses a gamma for which one fails.

How: x = g with chance near 1 / (1 + a), else x = -1 - g; g >= 0 is written with digits g = (q n + t) w + lower digits,
where lower digits take 2^10 values or fewer, w is the product of their sizes and t takes n values.  Digits of a
geometric law are independent: each is drawn from one 64-bit word by a table of whole levels.  The first word gives the
sign and t, or says (seldom) that q >= 1; then a further word gives t or that q is one more, without end.
Levels are those of a rate smaller than gamma by `slack`, which pays for their rounding: e^(gamma - slack) and an error
of a word in each level stay below e^gamma at every digit, at every carry, where q grows, and between -1 and 0.
Source: ARCHITECTURE section 5.5; Canonne, Kamath and Steinke 2020 for the law.  Not here: where words come from
(noise.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.central.word_table import TOP, WordTable
from murmurate.randomizers.errors import ParameterError, shown

Further = Callable[[NDArray[np.int64], int], NDArray[np.uint64]]
"""A function of rows and the number of the trial (1, 2, ...) that gives one more word for each of these rows."""

LANE = 1 << 14  # rows whose words and noise stay in a core's second-level cache
_DECAY = 10  # nats from digit t = 0 to q = 1: e^-10 of the rows take a further word; below the small gamma
_SMALL, _SMALL_DECAY = Fraction(1, 1 << 20), 4  # e^-4 of them, so that no level is too small to be rounded
_MOST = 1023  # values of t, so that both signs and "q >= 1" fit into 2^11 cells
_DIGIT = 10  # bits of a lower digit
_SCALE = 256  # bits behind the point of e^gamma and of powers of it
_FAR = 1024  # bits behind the point of chances far out


class DiscreteLaplace:
    """Noise on the whole numbers: immutable, pure.

    >>> noise = DiscreteLaplace(Fraction(1, 2))
    >>> noise.words, round(float(noise.chance(0)), 7), noise.chance(10**4) > 0, round(float(noise.variance), 6)
    (1, 0.2449187, True, 7.835396)
    """

    __slots__ = ("_block", "_first", "_later", "_lower", "_size", "_tables", "_weight", "gamma", "slack")

    def __init__(self, gamma: Fraction | int) -> None:
        if isinstance(gamma, bool) or not isinstance(gamma, (int, Fraction)) or not Fraction(1, 1 << 40) <= gamma <= 20:
            raise ParameterError(f"gamma: found {shown(gamma)}; allowed: a whole number or Fraction, 2^-40 to 20")
        self.gamma = Fraction(gamma)
        decay = _DECAY if self.gamma >= _SMALL else _SMALL_DECAY
        bits = self._split(decay)
        self._weight = 1 << sum(bits)
        self._size = -(-decay * self.gamma.denominator // (self.gamma.numerator * self._weight))
        self._block = self._size * self._weight
        ratio = exp_below(self.gamma)
        self.slack = self._least_slack(len(bits))
        while True:
            self._realise(self.gamma - self.slack, bits)
            if all(one << _SCALE <= ratio * other for one, other in self._neighbours()):
                break
            self.slack *= 2
            if self.slack > self.gamma / 16:
                found = f"{self.gamma}, for which no table of 64-bit words keeps e^gamma at every carry"
                raise ParameterError(f"gamma: found {found}; allowed: a larger one")
        tops = [digit * self._weight for digit in range(self._size + 1)]
        self._tables = (
            WordTable([*self._first[0], *self._first[1]], [*tops, *(~top for top in tops)]),
            WordTable(self._later, tops),
            [
                WordTable(levels, [digit << place for digit in range(len(levels))])
                for levels, place in zip(self._lower, (sum(bits[:i]) for i in range(len(bits))), strict=True)
            ],
        )

    @property
    def words(self) -> int:
        """The number of 64-bit words that every value takes; few values take further ones."""
        return 1 + len(self._lower)

    def noise(self, words: NDArray[np.uint64], further: Further) -> NDArray[np.int64]:
        """One value for each row of uint64[n, words]: int64[n]. `further` is asked for the words of rows that go on."""
        if not isinstance(words, np.ndarray) or words.dtype != np.uint64 or words.ndim != 2:
            found = f"{words.dtype}{list(words.shape)}" if isinstance(words, np.ndarray) else type(words).__name__
            raise ParameterError(f"noise: words: found {found}; allowed: uint64[n, {self.words}]")
        if words.shape[1] != self.words:
            raise ParameterError(f"noise: words: found {words.shape[1]} a value; allowed: {self.words}")
        first, _, lower = self._tables
        out = np.empty(len(words), np.int64)
        going: list[NDArray[np.int64]] = []
        for start in range(0, len(words), LANE):
            lane, values = words[start : start + LANE], out[start : start + LANE]
            values[:] = first.pick(np.ascontiguousarray(lane[:, 0]))
            rows = np.flatnonzero((values == self._block) | (values == ~self._block))
            if len(rows):
                going.append(rows + start)
            for place, table in enumerate(lower):  # a digit below a power of two: ~(top + low) is (~top) xor low
                np.bitwise_xor(values, table.pick(np.ascontiguousarray(lane[:, 1 + place])), out=values)
        if going:
            self._go_on(out, np.concatenate(going), further)
        return out

    def _go_on(self, out: NDArray[np.int64], rows: NDArray[np.int64], further: Further) -> None:
        trial = 0
        while len(rows):
            trial += 1
            more = self._tables[1].pick(further(rows, trial))
            out[rows] += np.where(out[rows] < 0, -more, more)
            rows = rows[more == self._block]

    def noise_one(self, words: Sequence[int], further: Iterator[int]) -> int:
        """What `noise` gives, for one row in plain Python."""
        first, later, lower = self._tables
        value = first.pick_one(words[0])
        for place, table in enumerate(lower):
            value ^= table.pick_one(words[1 + place])
        more = value ^ (value >> 63)
        if more >= self._block:
            more = self._block
        while more == self._block:
            more = later.pick_one(next(further))
            value += -more if value < 0 else more
        return value

    def chance(self, value: int) -> Fraction:
        """The exact probability of a value."""
        sign, size = (0, value) if value >= 0 else (1, ~value)
        top, low = divmod(size, self._weight)
        more, digit = divmod(top, self._size)
        one = 1
        for levels in self._lower:
            low, place = divmod(low, len(levels))
            one *= levels[place]
        power = len(self._lower) + 1
        if not more:
            return Fraction(one * self._first[sign][digit], TOP**power)
        one *= self._first[sign][-1] * self._later[-1] ** (more - 1) * self._later[digit]
        return Fraction(one, TOP ** (power + more))

    def beyond(self, size: int) -> Fraction:
        """At least the probability that |x| >= size; less than 2^-900 above that from the last carry below it on."""
        more, rest = divmod(max(size - 1, 0), self._block)
        either = self._first[0][-1] + self._first[1][-1]
        if more:
            return Fraction(either, TOP) * power_above(self._later[-1], more - 1)
        start = rest // self._weight
        return Fraction(sum(self._first[0][start:]) + sum(self._first[1][start:]), TOP)

    @property
    def mean(self) -> Fraction:
        """The exact mean of what is drawn: 0 but for the rounding of levels."""
        (plus, g), (minus, h) = ((Fraction(sum(self._first[sign]), TOP), self._moments(sign)[0]) for sign in (0, 1))
        return plus * g - minus * (1 + h)

    @property
    def variance(self) -> Fraction:
        """The exact variance of what is drawn (the ideal one, at the full gamma, is 1 / (cosh(gamma) - 1))."""
        plus, minus = (Fraction(sum(self._first[sign]), TOP) for sign in (0, 1))
        (_, square), (mean, other) = self._moments(0), self._moments(1)
        return plus * square + minus * (1 + 2 * mean + other) - self.mean**2

    def _moments(self, sign: int) -> tuple[Fraction, Fraction]:
        """Mean and mean square of g where the sign is this one."""
        n = self._size
        later = [Fraction(level, TOP) for level in (sum(d * t for d, t in enumerate(self._later)), self._later[-1])]
        mean = later[0] / (1 - later[1])  # of (q - 1) n + t once q >= 1: solves m = sum d t_d + t_n (n + m)
        square = Fraction(sum(d * d * t for d, t in enumerate(self._later)), TOP) + 2 * n * mean * later[1]
        square /= 1 - later[1]
        levels = self._first[sign]
        total = sum(levels)
        top = Fraction(sum(d * t for d, t in enumerate(levels)) + levels[-1] * mean, total)
        both = Fraction(sum(d * d * t for d, t in enumerate(levels)) + levels[-1] * (2 * n * mean + square), total)
        low, spread, weight = Fraction(0), Fraction(0), 1
        for digits in self._lower:
            first = Fraction(sum(d * t for d, t in enumerate(digits)), TOP)
            spread += (Fraction(sum(d * d * t for d, t in enumerate(digits)), TOP) - first**2) * weight**2
            low += first * weight
            weight *= len(digits)
        mean = top * self._weight + low
        return mean, (both - top**2) * self._weight**2 + spread + mean**2

    def _split(self, decay: int) -> list[int]:
        """Bits of the lower digits, the lowest first.

        With few values of t its levels are large, and their rounding is paid by less slack: a small gamma needs that.
        """
        bits = max(0, (self.gamma.denominator // self.gamma.numerator).bit_length() - 1)  # a step of t is a nat at most
        for digits in range(3):
            if self.gamma * _MOST * (1 << _DIGIT * digits) >= decay:
                bits = min(bits, _DIGIT * digits)  # no more digits than it takes
                break
        return [_DIGIT] * (bits // _DIGIT) + [bits % _DIGIT] * (bits % _DIGIT > 0)

    def _least_slack(self, digits: int) -> Fraction:
        """A power of two that pays for an error of a word in every level that two neighbours differ by."""
        step = float(self.gamma * self._weight)
        least = math.exp(-step * self._size - float(self.gamma)) / 2 * min(1.0, math.expm1(step))
        return Fraction(1, 1 << int(-math.log2(4 / (least * TOP) + digits * 2 * (1 << _DIGIT) / TOP)))

    def _realise(self, rate: Fraction, bits: Sequence[int]) -> None:
        """All levels, for a geometric law of this rate."""
        self._lower, place = list[list[int]](), 0
        for size in bits:
            self._lower.append(_rounded(_powers(rate * (1 << place), 1 << size)))
            place += size
        step = _powers(rate * self._weight, self._size + 1)
        rest = (step[self._size] << _SCALE) // (step[0] - step[1])  # all that is beyond
        tops = [*step[: self._size], rest]
        self._later = _rounded(tops)
        less = _powers(rate, 2)[1]
        both = _rounded([*tops, *(top * less >> _SCALE for top in tops)])
        self._first = both[: len(tops)], both[len(tops) :]

    def _neighbours(self) -> Iterator[tuple[int, int]]:
        """All ratios of neighbouring chances, either way, as pairs of whole numbers (one to the other).

        1. Two digits side by side, where all that is below goes from its last value to 0.
        2. The same for t, of either sign and for q = 0 and later.
        3. From the last t to q = 1, and from one q to the next.
        4. From -1 to 0, where all digits are 0.
        """
        up, down = 1, 1
        for levels in self._lower:
            yield from _either_way(levels, up, down)
            up, down = up * levels[-1], down * levels[0]
        for levels in (*self._first, self._later):
            yield from _either_way(levels[:-1], up, down)
            yield from _either_way([levels[-2] * TOP, levels[-1] * self._later[0]], up, down)
        yield from _either_way([self._first[0][0], self._first[1][0]], 1, 1)

    def __repr__(self) -> str:
        return f"DiscreteLaplace(gamma={self.gamma})"


def exp_below(x: Fraction) -> int:
    """A whole number at most 2^256 e^x, for x up to 20, and closer than 2^-180 of it: every term is rounded down."""
    total = term = 1 << _SCALE
    k = 1
    while term:
        term = term * x.numerator // (x.denominator * k)
        total += term
        k += 1
    return total


def power_above(level: int, times: int) -> Fraction:
    """At least (level / 2^64)^times, for a level below 2^64, and above it by less than 2^-900 for times below 2^100.

    Whole numbers over 2^1024 are squared and multiplied, and rounded up. Nothing is above 1, so a squaring at most
    doubles the error of its factor and a product adds two errors; either adds one more unit: 2 `times` units in all.
    """
    one = 1 << _FAR
    found, square = one, level * one // TOP
    while times:
        if times & 1:
            found = -(-found * square >> _FAR)
        square = -(-square * square >> _FAR)
        times >>= 1
    return Fraction(found, one)


def _either_way(levels: Sequence[int], up: int, down: int) -> Iterator[tuple[int, int]]:
    for i in range(len(levels) - 1):
        one, other = levels[i] * up, levels[i + 1] * down
        yield one, other
        yield other, one


def _powers(rate: Fraction, count: int) -> list[int]:
    """About 2^256 times e^-(rate i), for i below count."""
    step = (1 << 2 * _SCALE) // exp_below(rate)
    found = [1 << _SCALE]
    for _ in range(count - 1):
        found.append(found[-1] * step >> _SCALE)
    return found


def _rounded(weights: Sequence[int]) -> list[int]:
    """Whole levels in proportion to these weights, which add to 2^64: each is off by less than one."""
    total, so_far, before, levels = sum(weights), 0, 0, list[int]()
    for weight in weights:
        so_far += weight
        end = (so_far * TOP * 2 + total) // (2 * total)
        levels.append(end - before)
        before = end
    return levels
