# SPDX-License-Identifier: Apache-2.0
"""A sign for every coordinate, where a pattern of flips is drawn for all entries of a user at once: FutureRand.

Contract: a user's i-th entry x is reported as x b_i, other coordinates are fair coins.  The flips b are drawn together.
With p = 1 / (e^inner + 1), a pattern of j flips has the probability p^j (1 - p)^(s - j) where j is in the *annulus*

    max(0, ceil(s p - 2 sqrt(s))) <= j <= the largest j with (2 p)^j (2 (1 - p))^(s - j) >= 1

and all other patterns share what is left equally.  Flips are drawn one after the other, each by a 64-bit word and the
probability of a flip given the number of those before, rounded to a whole level of 2^64, from 1 to 2^64 - 1.
`realised` is the largest ratio of what these levels give, exactly, and the constructor refuses an inner epsilon at
which it is above e^epsilon.  As printed (`FutureRand.printed`) inner is epsilon / (5 sqrt(s)), which uses 0.34 of an
epsilon of 1 at s = 8; unless it is named it is the largest that bisection finds to keep epsilon.
Source: Ohrimenko, Wirth and Wu 2022 (FutureRand), ARCHITECTURE section 5.17.  A whole vector is told at once; telling
one entry after the other, as in a stream, has the same law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, isqrt
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.central.discrete_laplace import exp_below
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.layouts import layout as layout_of
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level, micro_nats
from murmurate.randomizers.vectors.entries import most_entries
from murmurate.randomizers.vectors.sign_bits import SignBits

_BITS = 64
_TOP = 1 << _BITS
NANO: Final = 1_000_000_000
MAX_NANO: Final = 20 * NANO
_SURE = 1e-11
"""How far from the bound a ratio in floats is on the right side of it."""
_SMALL = 1e-5
"""A chance of a flip, or of none, below which its rounding to a whole level could show in a ratio."""
_FEW = 24
"""The number of entries up to which exact patterns are as quick as floats."""


class FlipPattern(NamedTuple):
    """The law of a pattern of s flips, as it is drawn."""

    annulus: tuple[int, int]
    """The least and the largest number of flips at which a pattern keeps its probability."""
    levels: tuple[tuple[int, ...], ...]
    """For place i and f flips before it, the number of words out of 2^64 that flip place i."""
    gap: Fraction
    """The probability that an entry keeps its sign, less that of a flip, up to the rounding of levels."""
    ratio: Fraction
    """The largest ratio of probabilities of a report."""

    def flips(self, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which places are flipped, each by a word: bool[n, s] from uint64[n, s or more]."""
        flips = np.empty((len(words), len(self.levels)), np.bool_)
        before = np.zeros(len(words), np.int64)
        for place, row in enumerate(self.levels):
            flips[:, place] = words[:, place] < np.array(row, np.uint64)[before]
            before += flips[:, place]
        return flips

    def flips_one(self, words: Sequence[int]) -> list[bool]:
        """What `flips` gives, for one user in plain Python."""
        flips = list[bool]()
        for word, row in zip(words, self.levels, strict=False):
            flips.append(word < row[sum(flips)])
        return flips


class FutureRand(SignBits):
    """A pattern of flips whose rare numbers of flips are made equally likely.

    inner_nano: the inner epsilon in billionths of a nat; the largest that keeps epsilon unless it is named.
    """

    name = "future_rand"

    def __init__(self, layout: Any, epsilon: Epsilon, inner_nano: int | None = None) -> None:
        most = most_entries(layout_of(layout))
        self.inner_nano, self.pattern = tuned(self.name, most, micro_nats(epsilon), inner_nano)
        super().__init__(layout, epsilon)
        self._tell((1 + self.pattern.gap) / 2)

    @classmethod
    def printed(cls, layout: Any, epsilon: Epsilon) -> Self:
        """The mechanism with the inner epsilon of its paper, epsilon / (5 sqrt(s)), rounded down."""
        most = most_entries(layout_of(layout))
        return cls(layout, epsilon, printed_inner(most, micro_nats(epsilon)))

    def parameters(self) -> dict[str, Any]:
        """The inner epsilon."""
        return {"inner_nano": self.inner_nano}

    @property
    def realised(self) -> Fraction:
        """The largest ratio, which occurs for signed vectors and for sets where d >= 2 s; fewer items allow less."""
        return self.pattern.ratio

    @property
    def _drawn_words(self) -> int:
        return self.s

    def _told(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        flips = self.pattern.flips(words)
        return np.ones_like(flips), flips

    def _told_one(self, words: Sequence[int]) -> list[bool | None]:
        return list[bool | None](self.pattern.flips_one(words))

    def _chance(self, flips: Mapping[int, int]) -> Fraction:
        """The probability of these flips, over all others: a sum over the numbers of flips so far."""
        states = {0: Fraction(1)}
        for place in range(max(flips, default=-1) + 1):
            after: dict[int, Fraction] = {}
            for before, chance in states.items():
                flip = Fraction(self.pattern.levels[place][before], _TOP)
                for flipped in (0, 1):
                    if flips.get(place, flipped) == flipped:
                        more = chance * (flip if flipped else 1 - flip)
                        after[before + flipped] = after.get(before + flipped, Fraction(0)) + more
            states = after
        return sum(states.values(), Fraction(0))


def tuned(name: str, s: int, epsilon_micro: int, inner_nano: int | None) -> tuple[int, FlipPattern]:
    """An inner epsilon and its pattern, the largest that keeps epsilon unless it is named; name: for errors."""
    if inner_nano is None:
        inner_nano = _largest_inner(s, epsilon_micro)
    inner_nano = whole(name, "inner_nano", inner_nano, 1, MAX_NANO)
    pattern = flip_pattern(s, inner_nano)
    if pattern.ratio > exp_floor(epsilon_micro):
        found = f"{inner_nano}, with which a ratio exceeds e^epsilon"
        raise ParameterError(f"{name}: inner_nano: found {found}; allowed: a smaller one")
    return inner_nano, pattern


def printed_inner(s: int, epsilon_micro: int) -> int:
    """The inner epsilon of its paper, epsilon / (5 sqrt(s)), rounded down."""
    return max(1, isqrt((epsilon_micro * 1000) ** 2 // (25 * s)))


@lru_cache(maxsize=256)
def flip_pattern(s: int, inner_nano: int) -> FlipPattern:
    """The law of s flips for this inner epsilon.

    1. The annulus, and the weight of one pattern with j flips: whole numbers over the same denominator.
    2. The weight of all that may follow i places with f flips, from the last place on.
    3. Levels, and the largest and smallest probability of what i places show, times 2^i.
    """
    flip = low_level(1 / (Fraction(exp_below(Fraction(inner_nano, NANO)), 1 << 256) + 1), _BITS)
    keep = _TOP - flip
    first, last = annulus(s, flip)
    inside = range(first, last + 1)
    outside = sum(comb(s, j) for j in range(s + 1) if j not in inside)
    left = _TOP**s - sum(comb(s, j) * flip**j * keep ** (s - j) for j in inside)
    weight = [flip**j * keep ** (s - j) * max(1, outside) if j in inside else left for j in range(s + 1)]
    levels, following = list[tuple[int, ...]](), weight
    for _ in range(s):
        below = [following[f] + following[f + 1] for f in range(len(following) - 1)]
        nearest = ((2 * following[f + 1] * _TOP + total) // (2 * total) for f, total in enumerate(below))
        levels.append(tuple(min(max(level, 1), _TOP - 1) for level in nearest))  # every pattern stays possible
        following = below
    levels.reverse()
    high, low, largest, smallest = {0: 1}, {0: 1}, 1, 1
    for row in levels:
        high, low = (_one_place(row, states, of) for states, of in ((high, max), (low, min)))
        largest, smallest = (found << _BITS - 1 for found in (largest, smallest))  # in the units of this place
        largest, smallest = max(largest, *high.values()), min(smallest, *low.values())
    gap = Fraction(sum(comb(s, j) * weight[j] * (s - 2 * j) for j in range(s + 1)), s * following[0])
    return FlipPattern((first, last), tuple(levels), gap, Fraction(largest, smallest))


def _one_place(row: Sequence[int], states: Mapping[int, int], of: Callable[[int, int], int]) -> dict[int, int]:
    """The largest or smallest product of 2 P[flip or not] that leads to each number of flips, in units of 2^-63 more
    than before.
    """
    after: dict[int, int] = {}
    for before, product in states.items():
        for flipped, words in enumerate((_TOP - row[before], row[before])):
            found = product * words
            after[before + flipped] = of(after.get(before + flipped, found), found)
    return after


def annulus(s: int, flip: int) -> tuple[int, int]:
    """The least and the largest number of flips that keep their probability, where each has `flip` of 2^64 words."""
    keep = _TOP - flip
    kept = [j for j in range(s + 1) if (2 * flip) ** j * (2 * keep) ** (s - j) >= _TOP**s]
    near = [j for j in range(s + 1) if s * flip <= j * _TOP or (s * flip - j * _TOP) ** 2 <= 4 * s * _TOP**2]
    return near[0], max(kept, default=near[0])


@lru_cache(maxsize=256)
def _largest_inner(s: int, epsilon_micro: int) -> int:
    """An inner epsilon that keeps epsilon such that one more billionth does not, by bisection: in floats where they are
    sure which side of the bound a ratio is on, which they are but for the last few steps.
    """
    bound, low, high = exp_floor(epsilon_micro), 1, MAX_NANO + 1
    while high - low > 1:
        middle = (low + high) // 2
        beyond = quick_ratio(s, middle) / float(bound) - 1 if s > _FEW else math.nan
        keeps = beyond < 0 if abs(beyond) > _SURE else flip_pattern(s, middle).ratio <= bound
        low, high = (middle, high) if keeps else (low, middle)
    return low


def quick_ratio(s: int, inner_nano: int) -> float:
    """The largest ratio of `flip_pattern` in floats, within 10^-12 of itself; NaN where a level is so small that its
    rounding could matter.
    """
    flip = low_level(1 / (Fraction(exp_below(Fraction(inner_nano, NANO)), 1 << 256) + 1), _BITS)
    first, last = annulus(s, flip)
    j, ways = np.arange(s + 1), np.array([float(comb(s, k)) for k in range(s + 1)])
    weight = (flip / _TOP) ** j * (1 - flip / _TOP) ** (s - j)
    outside = (j < first) | (j > last)
    if outside.any():
        weight[outside] = (ways * weight)[outside].sum() / ways[outside].sum()
    rows, following = list[NDArray[np.float64]](), weight
    for _ in range(s):
        below = following[:-1] + following[1:]
        rows.append(following[1:] / below)
        following = below
    largest = smallest = 1.0
    high = low = np.ones(1)
    for chance in reversed(rows):
        if min(chance.min(), 1 - chance.max()) < _SMALL:
            return math.nan
        kept, flipped = 2 * (1 - chance), 2 * chance
        high = np.maximum(np.append(high * kept, 0), np.append(0, high * flipped))
        low = np.minimum(np.append(low * kept, np.inf), np.append(np.inf, low * flipped))
        largest, smallest = max(largest, float(high.max())), min(smallest, float(low.min()))
    return largest / smallest
