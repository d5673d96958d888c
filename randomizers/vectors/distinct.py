"""How to draw different coordinates from words, exactly uniformly, with some of them already taken.

Contract: the coordinates of a draw are those of the words in their order, w // q with q = 2^bits // number, without
words that give no coordinate, and without coordinates that are taken or were drawn before, until there are `count`.
Words are of 16 bits up to 4 096 coordinates, else of 32.  Which of the free coordinates are drawn does not matter to
this rule, so all sets of `count` of them are equally likely, exactly.  It ends when it has enough: a user whose words
run out draws again from a longer stretch of the same words (`more` tells who).  Not here: what the coordinates are for
(subset_reports.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.vectors.scratch import Scratch

Keys = NDArray[np.unsignedinteger[Any]]
Rows = NDArray[np.intp]
NARROW = 1 << 12
"""The largest number of coordinates that words of 16 bits draw."""
DRAWN = 3
"""The mark of a coordinate that words drew; 0, 1 and 2 mark coordinates that were taken."""


class DrawnKeys(NamedTuple):
    """The coordinates of n users."""

    keys: Keys
    """Rising in each row: 4 times the coordinate, plus its mark; larger numbers in places that are not needed."""
    more: Rows
    """The users whose words ran out, and whose rows are therefore not complete."""


class DistinctCoordinates:
    """Draws of different ones of `number` coordinates."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.bits = 16 if number <= NARROW else 32
        self.share = (1 << self.bits) // number
        """The number of words that give the same coordinate."""
        self.dtype = np.dtype(f"<u{self.bits // 8}")
        self.top = self.dtype.type((1 << self.bits) - 1)

    def words_for(self, count: int, taken: int) -> int:
        """A number of words with which `count` coordinates are nearly always found, so many being taken."""
        fits = self.number * self.share / (1 << self.bits)
        free = [fits * (self.number - taken - i) / self.number for i in range(count)]
        return ceil(sum(1 / p for p in free) + 7 * sqrt(sum((1 - p) / (p * p) for p in free)) + 4 * bool(count))

    def unused(self, columns: int) -> Keys:
        """Keys, rising, for places where no coordinate is needed: larger than all others, and different."""
        return np.asarray(self._past + 4 * np.arange(columns), self.dtype)

    @property
    def _past(self) -> int:
        """What no word gives as a key: words that give no coordinate are below it."""
        return 4 * (((1 << self.bits) - 1) // self.share + 1)

    def _keys(self, words: Keys) -> Keys:
        keys = words // self.dtype.type(self.share)
        keys <<= 2
        keys |= DRAWN
        return np.asarray(keys)

    def start(self, words: Keys, taken: int, count: int, scratch: Scratch) -> Keys:
        """The keys of each user's first `count` words, behind unused places for so many that are taken."""
        keys = scratch.array("keys", (len(words), taken + count), self.dtype)
        np.floor_divide(words[:, :count], self.dtype.type(self.share), out=keys[:, taken:])
        keys <<= 2
        keys |= DRAWN
        keys[:, :taken] = self.unused(taken)
        return keys

    def fill(self, keys: Keys, words: Keys, used: NDArray[np.int64], scratch: Scratch) -> DrawnKeys:
        """Draw as many coordinates for each row of `keys` as it has places for words.

        keys: dtype[n, width], which is overwritten: marked coordinates that are taken, unused places, and the user's
        first words, as `start` gives them.  words: dtype[n, k], contiguous.  used: how many of the words are in `keys`.
        1. Sort; of equal coordinates the first stays, which is the taken one if there is one.
        2. The others, and words that give no coordinate, are replaced by the user's next words.
        3. Repeat for the users that had any.
        """
        (n, width), per_user = keys.shape, words.shape[1]
        part, active, used, flat = keys, np.arange(n), used, words.reshape(-1)
        more, turn = [np.empty(0, np.intp)], 0
        while part.size:
            part.sort(axis=1)
            wrong = self._wrong(part.reshape(-1), width, scratch)
            row = wrong // width
            counts = np.bincount(row, minlength=len(part))
            ready, short = counts == 0, used + counts > per_user
            if part is not keys:
                done = ready | short
                keys[active[done]] = part[done]
            if short.any():
                more.append(active[short])
                stays = ~short[row]
                wrong, row = wrong[stays], row[stays]
                counts[short], ready = 0, ready | short
            following = active * per_user + used - (np.cumsum(counts) - counts)
            part.reshape(-1)[wrong] = self._keys(flat[following[row] + np.arange(len(wrong))])
            again, used = np.flatnonzero(~ready), used + counts
            if 2 * len(again) > len(part):
                continue  # a few rows that are ready already cost less than a copy of the others
            room = scratch.array("even" if turn % 2 else "odd", (len(again), width), self.dtype)
            part = np.take(part, again, axis=0, out=room, mode="clip")
            active, used, turn = active[again], used[again], turn + 1
        return DrawnKeys(keys, np.unique(np.concatenate(more)))

    def _wrong(self, flat: Keys, width: int, scratch: Scratch) -> Rows:
        """The places in sorted rows that hold no coordinate, or one for the second time."""
        wrong, none = (scratch.array(name, flat.shape, np.bool_) for name in ("wrong", "none"))
        apart, first = scratch.array("apart", flat.shape, self.dtype), 4 * self.number
        np.bitwise_xor(flat[1:], flat[:-1], out=apart[1:])
        np.less(apart, self.dtype.type(4), out=wrong)
        wrong[::width] = False
        np.subtract(flat, self.dtype.type(first), out=apart)
        wrong |= np.less(apart, self.dtype.type(self._past - first), out=none)
        return np.flatnonzero(wrong)

    def one(self, words: Sequence[int], count: int, taken: set[int]) -> list[int] | None:
        """The coordinates that one user's words draw, besides those taken; None where the words run out."""
        found: list[int] = []
        seen = set(taken)
        for coordinate in self._of(words):
            if len(found) == count:
                break
            if coordinate not in seen:
                seen.add(coordinate)
                found.append(coordinate)
        return found if len(found) == count else None

    def _of(self, words: Sequence[int]) -> Iterator[int]:
        coordinates = (word // self.share for word in words)
        return (coordinate for coordinate in coordinates if coordinate < self.number)
