# SPDX-License-Identifier: Apache-2.0
"""The index of users of a raw partition: which row a pseudonym has. Found in bulk, without a Python loop over users.

Contract: rows are given in the order in which users first appear, and never change.  Open addressing over the second
half of the pseudonym; the first half decided the partition, so that its low bits are all alike here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Rows = NDArray[np.int64]
UNKNOWN = -1


class UserIndex:
    """A hash table from pseudonyms to rows."""

    def __init__(self) -> None:
        self._size = 0
        self._first, self._second = np.zeros((2, 1024), np.uint64)  # both halves of each pseudonym, by row
        self._table = np.full(4096, UNKNOWN, np.int32)

    def __len__(self) -> int:
        return self._size

    @property
    def users(self) -> Bytes:
        """All pseudonyms in the order of their rows: uint8[n, 16]."""
        return self.since(0)

    def since(self, row: int) -> Bytes:
        """The pseudonyms from a row on."""
        return np.column_stack((self._first[row : self._size], self._second[row : self._size])).view(np.uint8)

    def find(self, users: Bytes) -> Rows:
        """The row of each pseudonym, UNKNOWN for a new one: int64[n]."""
        keys = _halves(users)
        mask = len(self._table) - 1
        at = (keys[:, 1] & np.uint64(mask)).astype(np.int64)
        rows, same = self._look(keys, at)
        missed = np.flatnonzero(~same & (rows != UNKNOWN))  # somebody else is there: look at the next place
        at = at[missed]
        while len(missed):
            at = (at + 1) & mask
            found, same = self._look(keys[missed], at)
            rows[missed] = found
            other = ~same & (found != UNKNOWN)
            missed, at = missed[other], at[other]
        return rows

    def _look(self, keys: NDArray[np.uint64], at: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """The row at each of these places of the table, and whether it is that of the pseudonym looked for."""
        found = self._table[at].astype(np.int64)
        same = (self._first[found] == keys[:, 0]) & (self._second[found] == keys[:, 1])  # UNKNOWN reads the last row
        return found, same & (found != UNKNOWN)

    def add(self, users: Bytes) -> Rows:
        """Give rows to new pseudonyms, none of which is known; one that comes twice gets one row: int64[n]."""
        keys = _halves(users)
        order = np.lexsort((keys[:, 0], keys[:, 1]))
        first = np.ones(len(keys), np.bool_)
        first[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
        groups = np.cumsum(first) - 1  # in sorted order; lexsort is stable, so a group's first is its first appearance
        firsts = order[first]
        rank = np.empty(len(firsts), np.int64)
        rank[np.argsort(firsts)] = np.arange(len(firsts))
        rows = np.empty(len(keys), np.int64)
        rows[order] = self._size + rank[groups]
        self._append(keys[np.sort(firsts)])
        return rows

    def _append(self, keys: NDArray[np.uint64]) -> None:
        start, self._size = self._size, self._size + len(keys)
        if self._size > len(self._first):
            room = np.zeros(max(self._size, len(self._first) * 3 // 2) - len(self._first), np.uint64)
            self._first, self._second = np.concatenate((self._first, room)), np.concatenate((self._second, room))
        self._first[start : self._size], self._second[start : self._size] = keys[:, 0], keys[:, 1]
        if 2 * self._size > len(self._table):
            self._table = np.full(1 << (4 * self._size - 1).bit_length(), UNKNOWN, np.int32)
            start = 0
        self._place(np.arange(start, self._size))

    def _place(self, rows: Rows) -> None:
        mask = len(self._table) - 1
        at = (self._second[rows] & np.uint64(mask)).astype(np.int64)
        while len(rows):
            free = self._table[at] == UNKNOWN
            self._table[at[free]] = rows[free]  # of several at one place the last stays
            lost = self._table[at] != rows
            rows, at = rows[lost], (at[lost] + 1) & mask


def _halves(users: Bytes) -> NDArray[np.uint64]:
    return np.ascontiguousarray(users).view("<u8").reshape(-1, 2)
