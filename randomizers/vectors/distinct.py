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

Keys = NDArray[np.unsignedinteger[Any]]
Rows = NDArray[np.intp]
NARROW = 1 << 12
"""The largest number of coordinates that words of 16 bits draw."""
DRAWN = 3
"""The mark of a coordinate that words drew; 0, 1 and 2 mark coordinates that were taken."""


class DrawnKeys(NamedTuple):
    """The coordinates of n users."""

    keys: Keys
    """Rising in each row: 4 times the coordinate, plus its mark; `top` in places that are not needed."""
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
        fits = self.number * self.share / 2**self.bits
        free = [fits * (self.number - taken - i) / self.number for i in range(count)]
        return ceil(sum(1 / p for p in free) + 7 * sqrt(sum((1 - p) / (p * p) for p in free)) + 4 * bool(count))

    def first(self, words: Keys) -> Keys:
        """The keys of words as they come."""
        keys = words // self.dtype.type(self.share)
        keys <<= 2
        keys |= DRAWN
        return np.asarray(keys)

    def fill(self, keys: Keys, words: Keys, used: NDArray[np.int64]) -> DrawnKeys:
        """Draw as many coordinates for each row of `keys` as it has places for words.

        keys: dtype[n, width], which is overwritten: marked coordinates that are taken, `top` where none is needed, and
        in all other places the user's first words, as `first` gives them.  words: dtype[n, k].  used: how many of the
        words are in `keys`, which is overwritten, too.
        1. Sort; of equal coordinates the first stays, which is the taken one if there is one.
        2. The others, and words that give no coordinate, are replaced by the user's next words.
        3. Repeat for the users that had any.
        """
        n, width = keys.shape
        active, short = np.arange(n), []
        while len(active) and width:
            all_of_them = len(active) == n
            part = keys if all_of_them else keys[active]
            part.sort(axis=1)
            wrong = self._wrong(part)
            if not all_of_them:
                keys[active] = part
            if not len(wrong):
                break
            row = wrong // width
            counts = np.bincount(row, minlength=len(active))
            rank = np.arange(len(wrong)) - (np.cumsum(counts) - counts)[row]
            user = active[row]
            at = used[user] + rank
            there = at < words.shape[1]
            if not there.all():
                short.append(np.unique(user[~there]))
            fresh = np.full(len(wrong), self.top)
            fresh[there] = self.first(words[user[there], at[there]])
            keys[user, wrong - row * width] = fresh
            used[active] += counts
            active = active[counts > 0]
        return DrawnKeys(keys, np.unique(np.concatenate(short)) if short else np.empty(0, np.intp))

    def _wrong(self, keys: Keys) -> Rows:
        """The places in sorted rows that hold no coordinate, or one for the second time: flat indices."""
        n, width = keys.shape
        flat = keys.reshape(-1)
        coordinate = flat >> self.dtype.type(2)
        wrong = np.empty(n * width, np.bool_)
        np.equal(coordinate[1:], coordinate[:-1], out=wrong[1:])
        wrong.reshape(n, width)[:, 0] = False
        wrong |= coordinate >= self.dtype.type(self.number)
        wrong &= flat != self.top
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
