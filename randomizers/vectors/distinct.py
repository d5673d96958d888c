# SPDX-License-Identifier: Apache-2.0
"""How to draw different coordinates from words, exactly uniformly, with some of them already taken.

Contract: the coordinates of a draw are those of the words in their order, w // q with q = 2^bits // number, without
words that give no coordinate, and without coordinates that are taken or were drawn before, until there are as many as
are needed.  Words are of 16 bits up to 4 096 coordinates, else of 32.  Which of the free coordinates are drawn does not
matter to this rule, so all sets of so many of them are equally likely, exactly.  It ends when it has enough: a user
whose words run out draws again from a longer stretch of the same words (`more` tells who).  Not here: what the
coordinates are for (subset_reports.py), how long rows are sorted (row_sort.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.vectors.row_sort import sort_rows
from murmurate.randomizers.vectors.scratch import Scratch

Keys = NDArray[np.unsignedinteger[Any]]
Rows = NDArray[np.intp]
NARROW = 1 << 12
"""The largest number of coordinates that words of 16 bits draw."""
DRAWN = 3
"""Marks: 0 a coordinate that was taken, and is not in the row; 1 and 2 ones that were taken and are; 3 and more, one
that words drew.
"""
_ALIKE = 16  # rows in which the same is done at once, as NumPy takes its time for each row
_NEARLY = 4  # standard deviations of the number of words that are tried at first, besides 4 words more


class DrawnKeys(NamedTuple):
    """The coordinates of n users."""

    keys: Keys
    """Rising in each row: 2^shift times the coordinate, plus its mark; anything in the rows of `more`."""
    shift: int
    """The bits of marks."""
    more: Rows
    """The users whose words ran out, and whose rows are therefore not complete."""


class TakenKeys(NamedTuple):
    """The coordinates that some users have taken before words draw others."""

    rows: Rows
    """The users, each once."""
    coordinates: Keys
    """Different ones in each row: dtype[rows, taken]."""
    marks: Keys
    """The marks of these coordinates, 0 to 2: a row needs one fewer from words for each that is not 0."""


class DistinctCoordinates:
    """Draws of different ones of `number` coordinates."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.bits = 16 if number <= NARROW else 32
        self.share = (1 << self.bits) // number
        """The number of words that give the same coordinate."""
        self.dtype = np.dtype(f"<u{self.bits // 8}")

    @lru_cache(maxsize=1 << 10)  # noqa: B019 - a few numbers for each of few instances
    def words_for(self, count: int, taken: int, deviations: int = 7) -> int:
        """A number of words with which `count` coordinates are nearly always found, so many being taken."""
        fits = self.number * self.share / (1 << self.bits)
        free = [fits * (self.number - taken - i) / self.number for i in range(count)]
        spread = sqrt(sum((1 - p) / (p * p) for p in free))
        return ceil(sum(1 / p for p in free) + deviations * spread + 4 * bool(count))

    def draw(self, words: Keys, needs: NDArray[np.int64], taken: TakenKeys, count: int, scratch: Scratch) -> DrawnKeys:
        """Draw `needs` coordinates for each user, so that with those taken and marked every row has `count`.

        words: dtype[n, k].  Who does not get enough from the first of them tries all.
        """
        if not count:
            return DrawnKeys(np.empty((len(words), 0), self.dtype), DRAWN, np.empty(0, np.intp))
        usual = self.words_for(int(needs.max(initial=0)), taken.coordinates.shape[1], _NEARLY)
        drawn = self._attempt(words[:, :usual], needs, taken, count, scratch)
        if usual >= words.shape[1] or not len(drawn.more):
            return drawn
        again = drawn.more
        own = np.isin(taken.rows, again)
        left = TakenKeys(np.searchsorted(again, taken.rows[own]), taken.coordinates[own], taken.marks[own])
        second = self._attempt(words[again], needs[again], left, count, Scratch())
        marks = np.minimum(second.keys & self._below(second.shift, second.keys.dtype), DRAWN)
        drawn.keys[again] = (second.keys >> second.shift << drawn.shift) | marks
        return drawn._replace(more=again[second.more])

    def _attempt(
        self, words: Keys, needs: NDArray[np.int64], taken: TakenKeys, count: int, scratch: Scratch
    ) -> DrawnKeys:
        """Draw from these words alone, in five steps.

        1. A key for each word: its coordinate (`number` for none), then as a mark its number, 3 for all words that
           every user needs.
        2. Before them the key of no coordinate, as one that is taken, and keys of what is taken; in unused places keys
           that are larger than all others, and different.
        3. Sorted, words that give no coordinate, or one for the second time, are found: the first of equal ones is
           the one that is taken, or else the earliest.
        4. The number of words that each user uses: those that are needed, and one more for each wrong one among them.
        5. The rows without wrong, unused and later ones.
        """
        n, special = len(words), 1 + taken.coordinates.shape[1]
        least = int(needs.min(initial=words.shape[1]))
        words = words[
            :, : least + ((1 << 32) // (self.number + 1) - DRAWN - 2)
        ]  # of 2^24 coordinates marks have 7 bits
        tried = words.shape[1]
        shift = (DRAWN + 2 + tried - least).bit_length()
        dtype = np.dtype("<u2" if self.bits == 16 and self.number + special << shift <= 1 << 16 else "<u4")
        width, below = special + tried, self._below(shift, dtype)
        room = scratch.array("keys", (-(-n // _ALIKE), _ALIKE * width), dtype)
        keys, none = room.reshape(-1, width)[:n], self.number * self.share
        if none >> self.bits:  # every word gives a coordinate
            keys[:, special:] = words
        else:
            np.minimum(words, self.dtype.type(none), out=keys[:, special:])
        room //= dtype.type(self.share)
        room <<= dtype.type(shift)
        room |= np.tile(np.maximum(np.arange(-special, tried) - least + DRAWN + 1, DRAWN).astype(dtype), _ALIKE)
        keys[:, 0] = self.number << shift
        keys[:, 1:special] = (np.iinfo(dtype).max - (np.arange(special - 1) << shift)).astype(dtype)
        keys[taken.rows, 1:special] = taken.coordinates.astype(dtype) << dtype.type(shift) | taken.marks.astype(dtype)
        keys = sort_rows(keys, scratch)
        flat = keys.reshape(-1)
        wrong = self._wrong(flat, width, shift, scratch)
        ends, more = _ends(needs - least + DRAWN + 1, wrong // width, flat[wrong] & below, DRAWN + 1 + tried - least)
        code = scratch.array("apart", keys.shape, dtype)
        np.subtract(keys, dtype.type(1), out=code)
        code &= below
        keep = scratch.array("wrong", keys.shape, np.bool_)
        np.less(code, (ends - 1).astype(dtype)[:, np.newaxis], out=keep)
        keep.reshape(-1)[wrong] = False
        keep[more] = np.arange(width) < count
        found = scratch.array("chosen keys", (n, count), dtype)
        np.take(flat, np.flatnonzero(keep), out=found.reshape(-1), mode="clip")
        return DrawnKeys(found, shift, more)

    def _below(self, shift: int, dtype: np.dtype[Any]) -> Any:
        """The bits of a mark."""
        return dtype.type((1 << shift) - 1)

    def _wrong(self, flat: Keys, width: int, shift: int, scratch: Scratch) -> Rows:
        """The places in sorted rows that hold the same coordinate, or none, as the place before."""
        apart = scratch.array("apart", flat.shape, flat.dtype)
        wrong = scratch.array("wrong", flat.shape, np.bool_)
        np.bitwise_xor(flat[1:], flat[:-1], out=apart[1:])
        np.less_equal(apart, self._below(shift, flat.dtype), out=wrong)
        wrong[::width] = False
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


def _ends(ends: NDArray[np.int64], row: Rows, code: Keys, most: int) -> tuple[NDArray[np.int64], Rows]:
    """The first mark that each user does not use, and the users who would need marks from `most` on.

    ends: those of users without wrong words. row, code: the user and the mark of each wrong word.
    """
    late = np.flatnonzero(code > DRAWN)
    ends = ends + np.bincount(row, minlength=len(ends))
    row, code = row[late], code[late]
    ends -= np.bincount(row, minlength=len(ends))
    while len(row):
        counted = code < ends[row]
        found, later = np.flatnonzero(counted), np.flatnonzero(~counted)
        if not len(found):
            break
        ends += np.bincount(row[found], minlength=len(ends))
        row, code = row[later], code[later]
    return ends, np.flatnonzero(ends > most)
