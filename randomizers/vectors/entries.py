# SPDX-License-Identifier: Apache-2.0
"""The entries of a sparse vector: which items a user holds, each with a sign, from the words of a value.

Contract: `entries` gives the item of each entry, rising, and its sign, 0 where there is none.  Items of sets are all
+1.  A number x from -1 to 1 becomes +1 with probability (1 + x) / 2, exactly, and else -1: drawn in each round
under the purpose "sign", from the value, before any mechanism sees it.  So a sign is unbiased, and a mechanism that
holds epsilon over signs holds it over numbers: a mixture of laws has no larger ratios than the laws.  A user without a
value holds nothing.  Source: ARCHITECTURE rule 23.  Not here: what a mechanism reports of them (sparse.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.layouts import FILLER, NONE, UNIT, ItemsLayout, Layout, SignedLayout
from murmurate.randomizers.question import Value
from murmurate.randomizers.randomness import Draw, DrawOne, canonical_words, canonical_words_one

Signs = NDArray[np.int8]
Items = NDArray[np.uint32]
Held = tuple[tuple[int, int], ...]
"""The entries of one user: pairs of an item and a sign, by item."""
_COIN = 15
"""Bits of a 32-bit word that a sign leaves out: 17 bits decide, as many as a number has steps from -1 to 1."""


class Entries(NamedTuple):
    """The entries of n users, in columns."""

    items: Items
    """uint32[n, most]: rising items, then fillers."""
    signs: Signs
    """int8[n, most]: +1 or -1, 0 beside a filler."""

    @property
    def held(self) -> NDArray[np.int64]:
        """The number of entries of each user: int64[n]."""
        return np.asarray(np.count_nonzero(self.signs, axis=1))


def most_entries(of: Layout) -> int:
    """The most entries that a value can have: `most`, or the number of items; 1 of a layout without entries."""
    return min(of.most, of.d) if isinstance(of, (ItemsLayout, SignedLayout)) else 1


def entries(of: ItemsLayout | SignedLayout, rows: NDArray[np.uint32], draw: Draw, mechanism: bytes) -> Entries:
    """The entries of these rows of words, numbers rounded to signs. mechanism: the digest of the one who draws."""
    if isinstance(of, ItemsLayout):
        items = np.ascontiguousarray(rows)
        if of.none:
            items = np.where(of.silent(rows)[:, np.newaxis], np.uint32(FILLER), items)
        return Entries(items, (items != FILLER).astype(np.int8))
    items, numbers = rows[:, ::2].copy(), rows[:, 1::2]  # a copy, since fillers are put into it
    if of.none:
        items[of.silent(rows)] = FILLER
    signs = np.empty(items.shape, np.int8)
    if ((numbers == 0) | (numbers == 2 * UNIT)).all():  # signs already: nothing is drawn that could matter
        np.subtract(numbers == 2 * UNIT, numbers == 0, out=signs, dtype=np.int8)
    else:
        for lane, words in draw.open(mechanism, canonical_words(rows), "sign").words(of.most, np.uint32):
            up = words >> np.uint32(_COIN) < numbers[lane]
            signs[lane] = 2 * up.astype(np.int8) - 1
    signs[items == FILLER] = 0
    return Entries(items, signs)


def entries_one(of: ItemsLayout | SignedLayout, value: Value, draw: DrawOne, mechanism: bytes) -> Held:
    """What `entries` gives, for one user in plain Python."""
    words = words_of(value)
    if isinstance(of, ItemsLayout):
        return _of_set(of, words)
    coins = draw.open(mechanism, canonical_words_one(words), "sign")(of.most, 32)
    return tuple((item, 1 if coin >> _COIN < number else -1) for item, number, coin in _numbered(of, words, coins))


def law_of_entries(of: ItemsLayout | SignedLayout, value: Value) -> Iterator[tuple[Held, Fraction]]:
    """Every rounding of a value, with its probability."""
    words = words_of(value)
    if isinstance(of, ItemsLayout):
        yield _of_set(of, words), Fraction(1)
        return
    held = [(item, Fraction(number, 2 * UNIT)) for item, number, _ in _numbered(of, words)]
    for signs in product((1, -1), repeat=len(held)):
        chance = Fraction(1)
        for (_, up), sign in zip(held, signs, strict=True):
            chance *= up if sign > 0 else 1 - up
        if chance:
            yield tuple((item, sign) for (item, _), sign in zip(held, signs, strict=True)), chance


def words_of_entries(of: ItemsLayout | SignedLayout, held: Held) -> tuple[int, ...]:
    """The words of a value with these entries: of numbers -1 and 1, or of a set, whose entries have no sign."""
    free = of.most - len(held)
    if isinstance(of, ItemsLayout):
        return tuple(item for item, _ in held) + (FILLER,) * free
    pairs = ((item, UNIT + sign * UNIT) for item, sign in held)
    return tuple(word for pair in pairs for word in pair) + (FILLER, 0) * free


def _of_set(of: ItemsLayout, words: tuple[int, ...]) -> Held:
    return () if words[0] == NONE else tuple((item, 1) for item in words if item < of.d)


def _numbered(of: SignedLayout, words: tuple[int, ...], coins: list[int] | None = None) -> list[tuple[int, int, int]]:
    """The item, the number and the coin of each entry of a signed value."""
    if words[0] == NONE:
        return []
    places = zip(words[::2], words[1::2], coins or [0] * of.most, strict=True)
    return [place for place in places if place[0] < of.d]


def words_of(value: Value) -> tuple[int, ...]:
    """A value as a tuple of words, also where it is a single one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
