"""Many reports of exclusive subsets at once, from the words of a lane of users: byte for byte what one user gets.

Contract: that of `SubsetReports._from_words`, in columns.  All users' coordinates are drawn in one array of keys: the
coordinate, and behind it two bits for what it is: 0 a special that the report leaves out, 1 one with sign +1, 2 one
with sign -1, 3 drawn by words.  Users with a plain report have no special among their keys.  Not here: what the words
mean (subset_reports.py), how different coordinates are found (distinct.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.layouts import FILLER
from murmurate.randomizers.packing import bit_bytes
from murmurate.randomizers.question import Reports
from murmurate.randomizers.vectors.distinct import DrawnKeys, Keys
from murmurate.randomizers.vectors.scratch import Scratch

if TYPE_CHECKING:
    from murmurate.randomizers.vectors.subset_reports import SubsetReports

WORD = 32
Words = NDArray[np.uint32]
Rows = NDArray[np.intp]


class SubsetLane:
    """The reports of one lane of users, drawn together."""

    def __init__(
        self, of: SubsetReports, items: Words, signs: NDArray[np.int8], words: Words, scratch: Scratch
    ) -> None:
        self.of, self.words, self.scratch = of, words, scratch
        self.forced, self.inside, self.state = self._forced(items, signs)
        drawn = self._drawn()
        self.keys = drawn.keys
        self.more = drawn.more
        """The users whose words ran out, and whose reports mean nothing."""

    def reports(self) -> Reports:
        """The rows of all users."""
        return self._listed() if self.of.rows.listed else self._mapped()

    def _forced(self, items: Words, signs: NDArray[np.int8]) -> tuple[Rows, NDArray[np.int64], Keys]:
        """The users whose cell was drawn on purpose, the number of specials in it, and the keys of all specials.

        1. Cells, by the word of 64 bits.
        2. Which specials are in them: each next one of those that are left, by a word of 64 bits.
        3. Keys of the specials: the entries, then stubs.
        """
        of, s = self.of, self.of.s
        word = np.ascontiguousarray(self.words[:, :2]).view("<u8")[:, 0]
        edges = np.array(of.table.edges, np.uint64)
        rows = np.flatnonzero(word < edges[-1]) if len(edges) else np.empty(0, np.intp)
        cell = np.searchsorted(edges, word[rows], "right")
        agreeing = np.array([cell.agreeing for cell in of.table.cells], np.int64)[cell]
        inside = agreeing + np.array([cell.opposite for cell in of.table.cells], np.int64)[cell]
        order = np.tile(np.arange(s, dtype=np.int64), (len(rows), 1))
        choice = np.ascontiguousarray(self.words[rows, 2 : 2 + 2 * s]).view("<u8")
        even = np.ones(len(rows), np.bool_)
        for i in range(min(s - 1, int(inside.max(initial=0)))):  # of one that is left, nothing is chosen
            some = np.flatnonzero(inside > i)
            at = (choice[some, i] // np.uint64((1 << 2 * WORD) // (s - i))).astype(np.int64)
            even[some] &= at < s - i
            at = np.minimum(at, s - i - 1) + i
            moved = order[some, at]
            order[some, at] = order[some, i]
            order[some, i] = moved
        rows, order, agreeing, inside = rows[even], order[even], agreeing[even, np.newaxis], inside[even, np.newaxis]
        items, minus = items[rows], signs[rows] < 0
        missing = items == FILLER
        stubs = of.d + np.arange(s) - (s - missing.sum(axis=1))[:, np.newaxis]
        specials = np.where(missing, stubs, items).astype(of.draws.dtype)
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.broadcast_to(np.arange(s), order.shape), axis=1)
        state = np.where(place < inside, 1 + (minus ^ (place >= agreeing)), 0).astype(of.draws.dtype)
        return rows, inside[:, 0], specials << of.draws.dtype.type(2) | state

    def _drawn(self) -> DrawnKeys:
        """The keys of all users, rising, complete but for those in `more`."""
        of, s, n = self.of, self.of.s, len(self.words)
        rest = self.words[:, of.head :]
        words = self.scratch.array("words", rest.shape, rest.dtype)
        words[:] = rest
        words = words.view(of.draws.dtype)
        count = of.to_draw(None)
        keys, spare = of.draws.start(words, s, count, self.scratch), of.draws.unused(s + count)
        keys[self.forced, :s] = self.state
        fewer = of.to_draw(0) + (self.inside if of.leaves_out else -self.inside)
        for column in range(int(fewer.min(initial=count)), count):
            keys[self.forced[fewer <= column], s + column] = spare[column]
        used = np.full(n, count, np.int64)
        used[self.forced] = fewer
        return of.draws.fill(keys, words, used, self.scratch)

    def _coins(self) -> NDArray[np.uint8]:
        """The bytes whose bits are the signs of the coordinates: uint8[n, a whole number of words]."""
        return np.ascontiguousarray(self.words[:, 2 + 2 * self.of.s : self.of.head]).view(np.uint8)

    def _listed(self) -> Reports:
        """Lists: specials that are left out go, and drawn coordinates get their signs."""
        form, m, top = self.of.rows, self.of.m, self.of.draws.top
        keys = self.keys
        if len(self.forced):
            part = keys[self.forced]
            part[part & 3 == 0] = top
            part.sort(axis=1)
            keys[self.forced] = part
        shape = len(keys), form.width
        symbols = self.scratch.array("symbols", shape, self.of.draws.dtype)
        symbols[:, m:] = 0
        if not self.of.has_signs:
            np.right_shift(keys[:, :m], 2, out=symbols[:, :m])
            return form.pack(symbols.astype(form.dtype, copy=False), self.scratch)
        symbols[:, :m] = keys[:, :m]
        coins = np.unpackbits(~self._coins(), bitorder="little").reshape(len(keys), -1)
        plus = self.scratch.array("plus", shape, symbols.dtype)
        plus[:] = coins[:, : form.width]
        plus &= symbols
        symbols >>= 1
        plus &= symbols
        symbols ^= plus
        return form.pack(symbols.astype(form.dtype, copy=False), self.scratch)

    def _mapped(self) -> Reports:
        """Bits: a byte for each coordinate is set or cleared, and one more takes what is no coordinate."""
        of, n, number = self.of, len(self.keys), self.of.number
        chosen = self.scratch.array("chosen", (n, number + 1), np.bool_)
        chosen[:] = of.leaves_out
        mark = self.keys & 3
        value = (mark == 1) | (mark == 2) if of.leaves_out else mark != 0
        at = self.scratch.array("at", self.keys.shape, np.int64)
        np.right_shift(self.keys, 2, out=at)
        np.minimum(at, number, out=at)
        at += (np.arange(n) * (number + 1))[:, np.newaxis]
        chosen.reshape(-1)[at] = value
        if not of.has_signs:
            return of.rows.map(chosen[:, :number], np.empty((n, 0), np.uint8))
        signs = self._coins()[:, : bit_bytes(of.m)].copy()
        if of.m % 8:
            signs[:, -1] &= (1 << of.m % 8) - 1
        reports = of.rows.map(chosen[:, :number], signs)
        self._own_signs(reports)
        return reports

    def _own_signs(self, reports: Reports) -> None:
        """Give the specials of a cell their signs: the bit at the number of coordinates before each."""
        of, start = self.of, bit_bytes(self.of.number)
        rows, bits = self.forced, reports[self.forced, :start]
        before = np.cumsum(np.bitwise_count(bits), axis=1, dtype=np.int64)
        everyone = np.arange(len(rows))
        for column in range(of.s):
            coordinate = (self.state[:, column] >> 2).astype(np.int64)
            mark = self.state[:, column] & 3
            byte, bit = coordinate >> 3, coordinate & 7
            upto = bits[everyone, byte]
            rank = before[everyone, byte] - np.bitwise_count(upto >> bit.astype(np.uint8))
            has = mark != 0
            to, place, put = rows[has], start + (rank[has] >> 3), (1 << (rank[has] & 7)).astype(np.uint8)
            reports[to, place] = np.where(mark[has] == 2, reports[to, place] | put, reports[to, place] & ~put)
