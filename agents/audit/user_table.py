# SPDX-License-Identifier: Apache-2.0
"""The auditor's own table from pseudonyms to rows: many at a time, in memory that grows with the users alone.

Contract: a pseudonym keeps the row of its first appearance; rows count from 0.  An open-addressing table of rows, of at
least four times as many places as users, probed from the second half of the pseudonym on, which is as good as random;
both halves are compared.  Shares no code with the stages' index.  Not here: what stands in a row (people.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Halves = NDArray[np.uint64]
Pairs = NDArray[np.uint64]
"""The halves of some pseudonyms: uint64[n, 2]."""
NOBODY = -1
"""The row of a pseudonym that the table does not have."""
_LEAST = 1 << 10
ROOM = 4
"""The least number of places for a user: most are then found at the first one."""
_PAIR = np.complex128
"""16 bytes that NumPy moves at once: the two halves of a pseudonym, and never a number."""


class UserTable:
    """Pseudonyms, uint8[16] each, by row."""

    def __init__(self) -> None:
        self._pairs = np.zeros(_LEAST, _PAIR)
        self._places = np.full(ROOM * _LEAST, NOBODY, np.int32)
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
        return self._pairs[rows].view(np.uint8).reshape(-1, 16)

    def find(self, users: NDArray[np.uint8]) -> Rows:
        """The row of each pseudonym, or NOBODY."""
        pairs = _pairs(users)
        at = self._home(pairs[:, 1])
        found = self._places.take(at)
        left = np.flatnonzero(self._others(found, pairs))
        at = at.take(left)
        while len(left):
            at = (at + 1) & (len(self._places) - 1)
            rows = self._places.take(at)
            found[left] = rows
            on = np.flatnonzero(self._others(rows, pairs.take(left, axis=0)))
            left, at = left.take(on), at.take(on)
        return found.astype(np.int64)

    def _others(self, rows: NDArray[np.int32], pairs: Pairs) -> NDArray[np.bool_]:
        """Whether these rows are other users than these."""
        held = self._pairs.take(rows).view(np.uint64)
        held ^= pairs.reshape(-1)
        return np.asarray(((held[::2] | held[1::2]) != 0) & (rows != NOBODY), np.bool_)

    def add(self, users: NDArray[np.uint8]) -> Rows:
        """The rows of these pseudonyms, of which those that are new get the next ones, in their order."""
        found = self.find(users)
        missing = np.flatnonzero(found == NOBODY)
        if len(missing):
            new = _pairs(users[missing])
            _, first, which = np.unique(new[:, 1], return_index=True, return_inverse=True)
            if (new[first[which], 0] != new[:, 0]).any():  # two users share the second half
                _, first, which = np.unique(new, axis=0, return_index=True, return_inverse=True)
            order = np.argsort(first, kind="stable")
            rank = np.empty(len(first), np.int64)
            rank[order] = np.arange(len(first))
            found[missing] = self._size + rank[which.reshape(-1)]
            self._append(new[first[order]])
        return found

    def _append(self, pairs: Pairs) -> None:
        before, size = self._size, self._size + len(pairs)
        if size > len(self._pairs):
            wider = np.zeros(max(size, len(self._pairs) * 5 // 4), _PAIR)
            wider[:before] = self._pairs[:before]
            self._pairs = wider
        self._pairs[before:size] = pairs.view(_PAIR).reshape(-1)
        self._size = size
        if ROOM * size > len(self._places):
            self._places = np.full(1 << (ROOM * size).bit_length(), NOBODY, np.int32)
            before = 0
        self._place(np.arange(before, size))

    def _place(self, rows: Rows) -> None:
        """Where several rows want one place, one of them gets it and the others go on."""
        at = self._home(self._pairs[rows].view(np.uint64)[1::2])
        while len(rows):
            free = self._places[at] == NOBODY
            self._places[at[free]] = rows[free]
            on = self._places[at] != rows
            rows, at = rows[on], (at[on] + 1) & (len(self._places) - 1)

    def _home(self, second: Halves) -> Rows:
        return (second & np.uint64(len(self._places) - 1)).view(np.int64)


def _pairs(users: NDArray[np.uint8]) -> Pairs:
    return np.ascontiguousarray(users).view(np.uint64)
