# SPDX-License-Identifier: Apache-2.0
"""Multisets of reports as sorted numbers of 64 bits, which are compared at once.

Contract: reports of at most 8 bytes are their numbers.  Of longer ones a number is a keyed hash that is strongly
universal in each half: two different reports have one number with probability 2^-64, whoever chose them, since the
multipliers come from the edge's key.  Not here: which reports are compared (answers.py, recount.py).
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key
from murmurate.randomizers.randomness import contexts

Prints = NDArray[np.uint64]
NOTHING: Prints = np.zeros(0, np.uint64)
_WIDE = 8
_LANE = 1 << 14
_CONTEXT = hashlib.sha256(b"murmurate/audit/prints/1").digest()


class Printer:
    """Gives each report its number."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._multipliers: dict[int, NDArray[np.uint64]] = {}

    def of(self, reports: NDArray[np.uint8]) -> Prints:
        """The number of each report of uint8[n, width], in their order."""
        n, width = reports.shape
        if width <= _WIDE:
            padded = np.zeros((n, _WIDE), np.uint8)
            padded[:, :width] = reports
            return padded.view("<u8").reshape(-1)
        words = -(-width // 4)
        by = self._multipliers.get(width)
        if by is None:
            context = contexts(np.arange(words + 1), width)
            by = self._multipliers[width] = self._key.words("permutation", context, round=_CONTEXT, k=2).astype("u8")
        found = np.empty(n, np.uint64)
        for start in range(0, n, _LANE):
            lane = reports[start : start + _LANE]
            padded = np.zeros((len(lane), 4 * words), np.uint8)
            padded[:, :width] = lane
            halves = padded.view("<u4").astype(np.uint64) @ by[1:] + by[0]
            found[start : start + _LANE] = (halves[:, 0] & np.uint64(0xFFFFFFFF00000000)) | (
                halves[:, 1] >> np.uint64(32)
            )
        return found


def missing(wanted: Prints, there: Prints) -> int:
    """How many of a sorted multiset are not in another one, counted with their numbers."""
    return len(wanted) - common(wanted, there)


def common(one: Prints, other: Prints) -> int:
    """How many two sorted multisets have in common."""
    if len(one) == len(other) and np.array_equal(one, other):
        return len(one)
    of_one, n = np.unique(one, return_counts=True)
    of_other, m = np.unique(other, return_counts=True)
    _, here, there = np.intersect1d(of_one, of_other, assume_unique=True, return_indices=True)
    return int(np.minimum(n[here], m[there]).sum())
