"""The auditor's own table from pseudonyms to rows: many at a time, in memory that grows with the users alone.

Contract: a pseudonym keeps the row of its first appearance; rows count from 0.  An open-addressing table of row numbers
of at least twice as many places as users, probed by the second half of the pseudonym, which is as good as random.
Shares no code with the stages' index.  Not here: what stands in a row (people.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
NOBODY = -1
"""The row of a pseudonym that the table does not have."""
_LEAST = 1 << 10


class UserTable:
    """Pseudonyms, uint8[16] each, by row."""

    def __init__(self) -> None:
        self._halves = np.zeros((_LEAST, 2), np.uint64)
        self._places = np.full(2 * _LEAST, NOBODY, np.int32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def users(self) -> NDArray[np.uint8]:
        """The pseudonyms in the order of their rows: uint8[n, 16]."""
        return self._halves[: self._size].view(np.uint8)

    def find(self, users: NDArray[np.uint8]) -> Rows:
        """The row of each pseudonym, or NOBODY."""
        wanted = np.ascontiguousarray(users).view(np.uint64)
        found = np.full(len(wanted), NOBODY, np.int64)
        left = np.arange(len(wanted))
        at = self._home(wanted)
        while len(left):
            rows = self._places[at]
            same = (rows >= 0) & (self._halves[rows] == wanted[left]).all(axis=1)
            found[left[same]] = rows[same]
            going_on = (rows >= 0) & ~same
            left, at = left[going_on], (at[going_on] + 1) & (len(self._places) - 1)
        return found

    def add(self, users: NDArray[np.uint8]) -> Rows:
        """The rows of these pseudonyms, of which those that are new get the next ones, in their order."""
        found = self.find(users)
        missing = np.flatnonzero(found == NOBODY)
        if len(missing):
            new = np.ascontiguousarray(users[missing]).view(np.uint64)
            _, first, which = np.unique(new, axis=0, return_index=True, return_inverse=True)
            order = np.argsort(first, kind="stable")
            rank = np.empty(len(first), np.int64)
            rank[order] = np.arange(len(first))
            found[missing] = self._size + rank[which.reshape(-1)]
            self._append(new[first[order]])
        return found

    def _append(self, halves: NDArray[np.uint64]) -> None:
        size = self._size + len(halves)
        if size > len(self._halves):
            wider = np.zeros((max(size, len(self._halves) * 5 // 4), 2), np.uint64)
            wider[: self._size] = self._halves[: self._size]
            self._halves = wider
        self._halves[self._size : size] = halves
        before, self._size = self._size, size
        if 2 * size > len(self._places):
            self._places = np.full(1 << (2 * size).bit_length(), NOBODY, np.int32)
            before = 0
        self._place(np.arange(before, size))

    def _place(self, rows: Rows) -> None:
        """Where several rows want one place, one of them gets it and the others go on."""
        at = self._home(self._halves[rows])
        while len(rows):
            free = self._places[at] == NOBODY
            self._places[at[free]] = rows[free]
            going_on = self._places[at] != rows
            rows, at = rows[going_on], (at[going_on] + 1) & (len(self._places) - 1)

    def _home(self, halves: NDArray[np.uint64]) -> Rows:
        return (halves[:, 1] & np.uint64(len(self._places) - 1)).astype(np.int64)
