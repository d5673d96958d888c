# SPDX-License-Identifier: Apache-2.0
"""How to draw uniform subsets from words: by their number for few values, by the lowest words for many.

Contract: a way draws a set of k - 1 or of k of the other values, uniform among all such sets, or reports a *tie*.  No
finite number of words can be divided evenly among sets; the words left over are ties, whose probability is the same
whatever the truth.  `draw` and `draw_one` give the same sets.  Not here: whether the own value is included (subset.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.packing import bit_bytes, pack_bits, pack_ints

BITS = 64
NUMBERED = 20
"""The largest domain whose sets are listed: at most 92 378 of a size."""
_NARROW = 256  # the largest domain with words of 32 bits
_FEW = 32  # columns
_TIE = np.uint32((1 << 32) - 1)

Rows = NDArray[np.uint8]
Flags = NDArray[np.bool_]


class Way(ABC):
    """A way to draw subsets of d values, one of which is the user's own. `included` decides whether it is in the set of
    k, with k - 1 of the others, or all k are others.
    """

    words: int
    """The number of words that one draw takes."""

    def __init__(self, d: int, k: int) -> None:
        self.d, self.k, self.others = d, k, d - 1

    @abstractmethod
    def draw(self, own: NDArray[np.integer[Any]], included: Flags, words: NDArray[np.unsignedinteger[Any]]) -> Rows:
        """Packed sets of k of d values. uint8[n, bytes]; words may be overwritten."""

    @abstractmethod
    def draw_one(self, own: int, included: bool, words: list[int]) -> list[int] | None:
        """The values of one such set; None for a tie."""

    @property
    @abstractmethod
    def odds(self) -> Fraction:
        """The probability of a given set with the own value, drawn as such, relative to a given one without it, drawn
        as such.
        """

    @property
    @abstractmethod
    def each(self) -> tuple[Fraction, Fraction]:
        """The probabilities of a given set with the own value where it is included, and of one without it where it is
        not.
        """

    @cached_property
    def tied(self) -> Rows:
        """The report for a tie, whatever the truth: the first k values."""
        return np.asarray(pack_bits(np.arange(self.d)[None] < self.k)[0])


class Numbered(Way):
    """Sets drawn from a list, in the order of their bits as numbers: word // (2^64 // sets) is the position."""

    words = 1

    def __init__(self, d: int, k: int) -> None:
        super().__init__(d, k)
        self._with, self._without = comb(d - 1, k - 1), comb(d - 1, k)
        self._steps = tuple(((1 << BITS) - 1) // sets for sets in (self._with, self._without))
        lists = [sets_of(d - 1, k - 1), sets_of(d - 1, k)]
        self._sets = np.concatenate([part for sets in lists for part in (sets, [_TIE])], dtype=np.uint32)

    def draw(self, own: NDArray[np.integer[Any]], included: Flags, words: NDArray[np.unsignedinteger[Any]]) -> Rows:
        """The packed sets: take the set of others at the position, then insert the own value's bit."""
        word = words[:, 0]
        inside, outside = (np.uint64(step) for step in self._steps)
        place = word // inside
        if inside == outside:
            place += np.where(included, np.uint64(0), np.uint64(self._with + 1))
        else:
            place = np.where(included, place, word // outside + np.uint64(self._with + 1))
        sets = self._sets.take(place.view(np.int64))
        ties = sets == _TIE
        bit = np.left_shift(np.uint32(1), own.astype(np.uint32))
        above = sets & np.negative(bit)
        sets += above
        sets |= bit * included
        rows = pack_ints(sets, bit_bytes(self.d))
        if ties.any():
            rows[ties] = self.tied
        return rows

    def draw_one(self, own: int, included: bool, words: list[int]) -> list[int] | None:
        """What `draw` gives, for one user in plain Python."""
        place = words[0] // self._steps[not included]
        if place == (self._with if included else self._without):
            return None
        others = int(self._sets[place + (0 if included else self._with + 1)])
        return [cell + (cell >= own) for cell in range(self.others) if others >> cell & 1] + [own] * included

    @property
    def odds(self) -> Fraction:
        """The probability of a given set with the own value, relative to one without it."""
        return Fraction(*self._steps)

    @property
    def each(self) -> tuple[Fraction, Fraction]:
        """The probability of a set with the own value, and of one without it."""
        with_it, without = (Fraction(step, 1 << BITS) for step in self._steps)
        return with_it, without


class Lowest(Way):
    """One word a value, of 32 bits for 21 to 256 values and of 64 bits for more: the others with the lowest words.

    Where words tie at the edge (below 2 d / 2^32: once in 10^7 at d = 200, in 10^15 at 2 000) it is a tie, which leaves
    all else even.
    """

    def __init__(self, d: int, k: int) -> None:
        super().__init__(d, k)
        self.bits = 32 if NUMBERED < d <= _NARROW else 64
        self.words = -(-d * self.bits // BITS)

    def draw(self, own: NDArray[np.integer[Any]], included: Flags, words: NDArray[np.unsignedinteger[Any]]) -> Rows:
        """The packed sets: the own value is in or out, and of the others those with the lowest words fill up to k."""
        k, all_rows = self.k, np.arange(len(words))
        cells = words.view(f"<u{self.bits // 8}")[:, : self.d]
        cells[all_rows, own] = (1 << self.bits) - 1  # behind all others
        edge = np.partition(cells, k - 1, axis=1)[:, k - 1, None]  # the k-th of the others: in if the own cell is out
        below = pack_bits(cells < edge)
        upto = pack_bits(cells <= edge)
        ties = held(below) != k - 1
        if k < self.others:
            ties |= held(upto) != k
        rows, byte, bit = np.where(included[:, None], below, upto), own >> 3, np.left_shift(1, own & 7)
        rows[all_rows, byte] = np.where(included, rows[all_rows, byte] | bit, rows[all_rows, byte] & ~bit)
        rows[ties] = self.tied
        return rows

    def draw_one(self, own: int, included: bool, words: list[int]) -> list[int] | None:
        """What `draw` gives, for one user in plain Python."""
        cells = [word >> at & (1 << self.bits) - 1 for word in words for at in range(0, BITS, self.bits)][: self.d]
        others = sorted((word, cell) for cell, word in enumerate(cells) if cell != own)
        around = [word for word, _ in others[max(0, self.k - 2) : self.k + 1]]
        if len(set(around)) < len(around):
            return None
        return [cell for _, cell in others[: self.k - included]] + [own] * included

    @property
    def odds(self) -> Fraction:
        """The ratio of the numbers of sets without and with the own value, since each kind is equally likely."""
        return Fraction(self.d - self.k, self.k)

    @property
    def each(self) -> tuple[Fraction, Fraction]:
        """The probabilities of equally likely sets, less that of ties."""
        clear = apart(self.others, self.k, 1 << self.bits)
        return clear / comb(self.others, self.k - 1), clear / comb(self.others, self.k)


@lru_cache(maxsize=64)
def sets_of(others: int, k: int) -> NDArray[np.uint32]:
    """Every set of k of so many, as bits, in the order of these numbers: uint32[sets]."""
    numbers = np.arange(1 << others, dtype=np.uint32)
    return np.asarray(numbers[np.bitwise_count(numbers) == k])


def apart(others: int, k: int, words: int) -> Fraction:
    """The probability that, of so many words out of so many, the k-th lowest ties with none.

    The k-th is one of them, k - 1 lie below and the rest above: where those take i and j different words, there are
    C(words, i + j + 1) ways to choose the words, times the ways to spread each side over all of its own.
    """
    below, above = spreads(k - 1), spreads(others - k)
    ways = sum(comb(words, i + j + 1) * left * right for i, left in enumerate(below) for j, right in enumerate(above))
    arrangements = factorial(others) // (factorial(k - 1) * factorial(others - k))
    return Fraction(ways * arrangements, words**others)


def spreads(n: int) -> list[int]:
    """The number of ways in which n things fill exactly i places, none of them empty, for i = 0 to n."""
    row = [1]
    for _ in range(n):
        row = [i * (one + other) for i, (one, other) in enumerate(zip([*row, 0], [0, *row], strict=True))]
    return row


def held(packed: Rows) -> NDArray[np.intp]:
    """The number of bits set in each row. A sum over few columns is slow, so columns are added one by one."""
    bits = np.bitwise_count(packed)
    if bits.shape[1] > _FEW:
        return np.asarray(bits.sum(axis=1, dtype=np.intp))
    total = bits[:, 0].astype(np.intp)
    for column in bits.T[1:]:
        total += column
    return total
