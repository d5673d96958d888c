# SPDX-License-Identifier: Apache-2.0
"""The auditor's own table from pseudonyms to rows: many at a time, in memory that grows with the users alone.

Contract: a pseudonym keeps the row of its first appearance; rows count from 0.  An open-addressing table of rows, of at
least twice as many places as users, probed by the second half of the pseudonym, which is as good as random; the first
half is compared too, one by one where two users should ever share the second.  Shares no code with the stages' index.
Not here: what stands in a row (people.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Halves = NDArray[np.uint64]
NOBODY = -1
"""The row of a pseudonym that the table does not have."""
_LEAST = 1 << 10


class UserTable:
    """Pseudonyms, uint8[16] each, by row."""

    def __init__(self) -> None:
        self._first, self._second = np.zeros(_LEAST, np.uint64), np.zeros(_LEAST, np.uint64)
        self._places = np.full(2 * _LEAST, NOBODY, np.int32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def users(self) -> NDArray[np.uint8]:
        """The pseudonyms in the order of their rows: uint8[n, 16]."""
        return self.of(slice(self._size))

    def of(self, rows: Rows | slice) -> NDArray[np.uint8]:
        """The pseudonyms of these rows: uint8[n, 16]."""
        rows = slice(*rows.indices(self._size)) if isinstance(rows, slice) else rows
        return np.stack((self._first[rows], self._second[rows]), axis=1).view(np.uint8)

    def find(self, users: NDArray[np.uint8]) -> Rows:
        """The row of each pseudonym, or NOBODY."""
        first, second = _halves(users)
        at = self._home(second)
        found = self._places.take(at).astype(np.int64)
        left = np.flatnonzero((self._second.take(found) != second) & (found != NOBODY))
        at = at[left]
        while len(left):
            at = (at + 1) & (len(self._places) - 1)
            rows = self._places.take(at)
            found[left] = rows
            on = np.flatnonzero((self._second.take(rows) != second[left]) & (rows != NOBODY))
            left, at = left[on], at[on]
        for place in np.flatnonzero((self._first.take(found) != first) & (found != NOBODY)).tolist():
            found[place] = self._find_one(first[place], second[place])
        return found

    def _find_one(self, first: np.uint64, second: np.uint64) -> int:
        rows = np.flatnonzero((self._first[: self._size] == first) & (self._second[: self._size] == second))
        return int(rows[0]) if len(rows) else NOBODY

    def add(self, users: NDArray[np.uint8]) -> Rows:
        """The rows of these pseudonyms, of which those that are new get the next ones, in their order."""
        found = self.find(users)
        missing = np.flatnonzero(found == NOBODY)
        if len(missing):
            new = np.stack(_halves(users[missing]), axis=1)
            _, first, which = np.unique(new[:, 1], return_index=True, return_inverse=True)
            if (new[first[which], 0] != new[:, 0]).any():  # two users share the second half
                _, first, which = np.unique(new, axis=0, return_index=True, return_inverse=True)
            order = np.argsort(first, kind="stable")
            rank = np.empty(len(first), np.int64)
            rank[order] = np.arange(len(first))
            found[missing] = self._size + rank[which.reshape(-1)]
            self._append(new[first[order]])
        return found

    def _append(self, halves: Halves) -> None:
        before, size = self._size, self._size + len(halves)
        for name, half in (("_first", halves[:, 0]), ("_second", halves[:, 1])):
            held = getattr(self, name)
            if size > len(held):
                wider = np.zeros(max(size, len(held) * 5 // 4), np.uint64)
                wider[:before] = held[:before]
                setattr(self, name, wider)
            getattr(self, name)[before:size] = half
        self._size = size
        if 2 * size > len(self._places):
            self._places = np.full(1 << (2 * size).bit_length(), NOBODY, np.int32)
            before = 0
        self._place(np.arange(before, size))

    def _place(self, rows: Rows) -> None:
        """Where several rows want one place, one of them gets it and the others go on."""
        at = self._home(self._second[rows])
        while len(rows):
            free = self._places[at] == NOBODY
            self._places[at[free]] = rows[free]
            on = self._places[at] != rows
            rows, at = rows[on], (at[on] + 1) & (len(self._places) - 1)

    def _home(self, second: Halves) -> Rows:
        return (second & np.uint64(len(self._places) - 1)).view(np.int64)


def _halves(users: NDArray[np.uint8]) -> tuple[Halves, Halves]:
    halves = np.ascontiguousarray(users).view(np.uint64)
    return halves[:, 0].copy(), halves[:, 1].copy()
