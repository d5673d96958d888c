# SPDX-License-Identifier: Apache-2.0
"""Strings of bits, sets of items, and sets of items with numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import ClassVar

import numpy as np

from murmurate.randomizers.layouts.layout import (
    FILLER,
    MAX_BITS,
    MAX_MOST,
    MAX_WORD,
    UNIT,
    Layout,
    Mask,
    Row,
    checked,
)
from murmurate.randomizers.question import LayoutSpec


@dataclass(frozen=True)
class BitsLayout(Layout):
    """A layout of strings of m bits."""

    word: ClassVar[str] = "bits"
    m: int
    none: bool

    def __post_init__(self) -> None:
        checked("bits: m", self.m, 1, MAX_BITS)

    @property
    def words(self) -> int:  # type: ignore[override]
        """The number of words that hold a leading 0 and m bits."""
        return self.m // 32 + 1

    def spec(self) -> LayoutSpec:
        """The description by name, length and whether there is *none*."""
        return "bits", self.m, int(self.none)

    def _wrong(self, rows: Row) -> Mask:
        past = np.uint32((1 << (31 - self.m % 32)) - 1)
        return np.asarray((rows[:, 0] >= MAX_WORD) | (rows[:, -1] & past != 0))

    def _listed(self) -> Iterator[tuple[int, ...]]:
        for number in range(1 << self.m):
            line = number << (32 * self.words - 1 - self.m)
            yield tuple(line >> 32 * (self.words - 1 - i) & 0xFFFFFFFF for i in range(self.words))

    @property
    def _size(self) -> int:
        return 1 << self.m


@dataclass(frozen=True)
class ItemsLayout(Layout):
    """A layout of sets of at most `most` items below d."""

    word: ClassVar[str] = "items"
    d: int
    most: int
    none: bool

    def __post_init__(self) -> None:
        checked("items: d", self.d, 1, FILLER)
        checked("items: most", self.most, 1, MAX_MOST)

    @property
    def words(self) -> int:  # type: ignore[override]
        """The number of words: one for each item."""
        return self.most

    def spec(self) -> LayoutSpec:
        """The description by name, number of items, largest set and whether there is *none*."""
        return "items", self.d, self.most, int(self.none)

    def _wrong(self, rows: Row) -> Mask:
        bad = np.zeros(len(rows), np.bool_)
        for column in range(self.most):
            here = rows[:, column]
            known = here < self.d
            if column:
                known &= rows[:, column - 1] < here
            bad |= ~known & (here != FILLER)
        return bad

    def _listed(self) -> Iterator[tuple[int, ...]]:
        for size in range(min(self.most, self.d) + 1):
            for items in combinations(range(self.d), size):
                yield items + (FILLER,) * (self.most - size)

    @property
    def _size(self) -> int:
        return sum(comb(self.d, size) for size in range(self.most + 1))


@dataclass(frozen=True)
class SignedLayout(Layout):
    """A layout of at most `most` items below d, each with a number from -1 to 1 on a grid that is not 0."""

    word: ClassVar[str] = "signed"
    d: int
    most: int
    none: bool

    def __post_init__(self) -> None:
        checked("signed: d", self.d, 1, FILLER)
        checked("signed: most", self.most, 1, MAX_MOST)

    @property
    def words(self) -> int:  # type: ignore[override]
        """The number of words: two for each item."""
        return 2 * self.most

    def spec(self) -> LayoutSpec:
        """The description by name, number of items, largest set and whether there is *none*."""
        return "signed", self.d, self.most, int(self.none)

    def _wrong(self, rows: Row) -> Mask:
        words = np.ascontiguousarray(rows.T)  # one row for each place, since columns in steps take twice the time
        items, numbers = words[::2], words[1::2]
        empty = items == FILLER
        bad = (items >= self.d) & ~empty
        bad[1:] |= (items[1:] <= items[:-1]) & ~empty[1:]
        bad |= (numbers > 2 * UNIT) | np.where(empty, numbers != 0, numbers == UNIT)
        return np.asarray(bad.any(axis=0))

    def _listed(self) -> Iterator[tuple[int, ...]]:
        numbers = (*range(UNIT), *range(UNIT + 1, 2 * UNIT + 1))
        for size in range(min(self.most, self.d) + 1):
            for items in combinations(range(self.d), size):
                for of in product(numbers, repeat=size):
                    pairs = zip(items, of, strict=True)
                    yield tuple(word for pair in pairs for word in pair) + (FILLER, 0) * (self.most - size)

    @property
    def _size(self) -> int:
        return sum(comb(self.d, size) * (2 * UNIT) ** size for size in range(self.most + 1))
