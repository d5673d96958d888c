# SPDX-License-Identifier: Apache-2.0
"""Many reports of exclusive subsets at once, from the words of a lane of users: byte for byte what one user gets.

Contract: that of `SubsetReports._from_words`, in columns.  Which of a user's specials are drawn on purpose follows from
the first words; the other coordinates come as rows of keys (distinct.py), in which a special of the report has the mark
1 for +1 or 2 for -1.  Users with a plain report have no special among their keys.  Not here: what the words mean
(subset_reports.py), how different coordinates are found (distinct.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.layouts import FILLER
from murmurate.randomizers.packing import bit_bytes
from murmurate.randomizers.question import Reports
from murmurate.randomizers.vectors.distinct import DRAWN, DrawnKeys, TakenKeys
from murmurate.randomizers.vectors.scratch import Scratch

if TYPE_CHECKING:
    from murmurate.randomizers.vectors.subset_reports import SubsetReports

WORD = 32
Words = NDArray[np.uint32]
Rows = NDArray[np.intp]


class ForcedUsers(NamedTuple):
    """The users whose cell was drawn on purpose."""

    rows: Rows
    """The users, those with the most specials in their reports first."""
    inside: NDArray[np.int64]
    """The number of specials in each one's report."""
    specials: NDArray[np.uint32]
    """The coordinates of all specials, the entries and then stubs: uint32[rows, s]."""
    states: NDArray[np.uint8]
    """What they are: 0 not in the report, 1 in it with +1, 2 with -1: uint8[rows, s]."""


class SubsetLane:
    """The reports of one lane of users, drawn together."""

    def __init__(
        self, of: SubsetReports, items: Words, signs: NDArray[np.int8], words: Words, scratch: Scratch
    ) -> None:
        self.of, self.words, self.scratch = of, words, scratch
        self.forced = self._forced(items, signs)
        self.drawn = self._drawn()

    @property
    def more(self) -> Rows:
        """The users whose words ran out, and whose reports mean nothing."""
        return self.drawn.more

    def reports(self) -> Reports:
        """The rows of all users."""
        return self._listed() if self.of.rows.listed else self._mapped()

    def _forced(self, items: Words, signs: NDArray[np.int8]) -> ForcedUsers:
        """The users whose cell was drawn on purpose, and which of their specials are in it.

        1. Cells, by the word of 64 bits; users in the order of the numbers of specials in them, the largest first.
        2. Which specials are in them: each next one of those that are left, by a word of 64 bits, first those that
           agree.  Of one that is left, nothing is chosen.  Who gets a word that cannot be shared out evenly is plain.
        3. The coordinates of the specials: the entries, then stubs.
        """
        of, s = self.of, self.of.s
        word = np.ascontiguousarray(self.words[:, :2]).view("<u8")[:, 0]
        edges, cells_agreeing, cells_specials = of.table.columns
        rows = np.flatnonzero(word < edges[-1]) if len(edges) else np.empty(0, np.intp)
        cell = np.searchsorted(edges, word[rows], "right")
        order = np.argsort((s - cells_specials).astype(np.uint8)[cell], kind="stable")
        rows, cell = rows[order], cell[order]
        inside, agreeing = cells_specials[cell], cells_agreeing[cell]
        upto = np.searchsorted(-inside, -np.arange(s), "left")  # how many have more than 0, 1 ... specials inside
        most, everyone = int(inside.max(initial=0)), np.arange(len(rows))
        choice = np.ascontiguousarray(self.words[:, 2 : 2 + 2 * most][rows]).view("<u8").T
        left = np.repeat(np.arange(s, dtype=np.uint8)[:, np.newaxis], len(rows), axis=1)
        even, minus = np.ones(len(rows), np.bool_), signs[rows].T < 0
        states = np.zeros((s, len(rows)), np.uint8)
        for i in range(most):
            some = everyone[: upto[i]]
            at = np.zeros(len(some), np.int64)
            if i < s - 1:
                at = (choice[i, : len(some)] // np.uint64((1 << 2 * WORD) // (s - i))).astype(np.int64)
                even[: len(some)] &= at < s - i
                np.minimum(at, s - i - 1, out=at)
            at += i
            chosen = left[at, some].astype(np.int64)
            left[at, some] = left[i, : len(some)]
            states[chosen, some] = 1 + (minus[chosen, some] ^ (agreeing[: len(some)] <= i))
        own = items[rows]
        missing = own == FILLER
        stubs = of.d + np.arange(s, dtype=np.uint32) - (s - missing.sum(axis=1, dtype=np.uint32))[:, np.newaxis]
        specials = np.where(missing, stubs, own).astype(np.uint32, copy=False)
        if even.all():
            return ForcedUsers(rows, inside, specials, states.T)
        return ForcedUsers(rows[even], inside[even], specials[even], states.T[even])

    def _drawn(self) -> DrawnKeys:
        """The coordinates that make the reports, or those that they leave out."""
        of, forced = self.of, self.forced
        words = self.words[:, of.head :].view(of.draws.dtype)
        needs = np.full(len(words), of.to_draw(None))
        needs[forced.rows] = of.to_draw(0) + (forced.inside if of.leaves_out else -forced.inside)
        marks = (forced.states == 0).astype(np.uint8) if of.leaves_out else forced.states
        taken = TakenKeys(forced.rows, forced.specials, marks)
        return of.draws.draw(words, needs, taken, of.to_draw(None), self.scratch)

    def _coins(self) -> NDArray[np.uint8]:
        """The bytes whose bits are the signs of the coordinates: uint8[n, a whole number of words]."""
        return np.ascontiguousarray(self.words[:, 2 + 2 * self.of.s : self.of.head]).view(np.uint8)

    def _listed(self) -> Reports:
        """Lists: drawn coordinates get their signs from coins, specials have their own."""
        form, m, keys, shift = self.of.rows, self.of.m, self.drawn.keys, self.drawn.shift
        if not self.of.has_signs:
            return form.pack(keys >> keys.dtype.type(shift), None, self.scratch)
        signs = np.unpackbits(self._coins(), bitorder="little").reshape(len(keys), -1)[:, :m]
        own = keys[self.forced.rows]
        own &= own.dtype.type((1 << shift) - 1)
        place = np.flatnonzero(own < DRAWN)
        row = place // m
        signs[self.forced.rows[row], place - row * m] = own.reshape(-1)[place] == 2
        keys >>= keys.dtype.type(shift)
        keys <<= keys.dtype.type(1)
        return form.pack(keys, signs, self.scratch)

    def _mapped(self) -> Reports:
        """Bits: a byte for each coordinate is set or cleared, and those of the rows are cleared or set."""
        of, n, number = self.of, len(self.words), self.of.number
        keys = self.drawn.keys
        chosen = self.scratch.array("chosen", (n, number), np.bool_)
        chosen[:] = of.leaves_out
        if keys.shape[1]:
            at = self.scratch.array("at", keys.shape, np.int64)
            np.right_shift(keys, self.drawn.shift, out=at)
            np.minimum(at, number - 1, out=at)  # of who needs more words, any
            at += (np.arange(n) * number)[:, np.newaxis]
            chosen.reshape(-1)[at] = not of.leaves_out
        if not of.has_signs:
            return of.rows.map(chosen, np.empty((n, 0), np.uint8))
        signs = self._coins()[:, : bit_bytes(of.m)].copy()
        if of.m % 8:
            signs[:, -1] &= (1 << of.m % 8) - 1
        reports = of.rows.map(chosen, signs)
        self._own_signs(reports)
        return reports

    def _own_signs(self, reports: Reports) -> None:
        """Give the specials of a cell their signs: the bit at the number of coordinates before each."""
        of, start = self.of, bit_bytes(self.of.number)
        row, column = np.nonzero(self.forced.states)
        to, coordinate = self.forced.rows[row], self.forced.specials[row, column].astype(np.int64)
        minus = self.forced.states[row, column] == 2
        rank = coordinate
        if of.m < of.number:
            bits = reports[self.forced.rows, :start]
            before = np.cumsum(np.bitwise_count(bits), axis=1, dtype=np.uint16 if start < 1 << 13 else np.int64)
            byte = coordinate >> 3
            after = np.bitwise_count(bits[row, byte] >> (coordinate & 7).astype(np.uint8))
            rank = before[row, byte].astype(np.int64) - after
        place, put = start + (rank >> 3), (1 << (rank & 7)).astype(np.uint8)
        np.bitwise_and.at(reports, (to, place), ~put)
        np.bitwise_or.at(reports, (to, place), np.where(minus, put, 0).astype(np.uint8))
