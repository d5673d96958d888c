# SPDX-License-Identifier: Apache-2.0
"""Keyed permutations: rows are ordered by 128-bit words of the keyed randomness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key
from murmurate.randomizers.randomness import contexts

CHUNK = 1 << 16
"""Rows whose words are drawn at once."""
ROW, ROWS = 96, 512
"""About how many numbers are sorted as one row, and how many rows at once: so many fit into the cache."""
_LAST = np.iinfo(np.uint64).max


def permutation(key: Key, users: NDArray[np.uint8], *, round: bytes) -> NDArray[np.int64]:
    """A permutation of n users (uint8[n, 16]): int64[n]. Without the key it is indistinguishable from a uniform one."""
    return by_words(len(users), lambda rows: key.words("permutation", users[rows], round=round, k=2))


def permutation_of_rows(key: Key, count: int, part: int, *, round: bytes) -> NDArray[np.int64]:
    """A permutation of `count` rows without users, by their positions and this part of the round."""
    return by_words(count, lambda rows: key.words("permutation", contexts(rows, part), round=round, k=2))


def by_words(count: int, words: Callable[[NDArray[np.int64]], NDArray[np.uint64]]) -> NDArray[np.int64]:
    """The order of `count` rows by their 128-bit words, which `words` gives for some rows: uint64[rows, 2].

    1. Sort numbers that hold a row's upper bits and, below them, its position. 2. Sort the few rows with equal upper
    bits by all 128.  The result is that of np.lexsort over all words, in a fifth of the time and without holding them.
    """
    width = np.uint64(max(count - 1, 1).bit_length())
    keys = np.empty(count, np.uint64)
    for start in range(0, count, CHUNK):
        rows = np.arange(start, min(start + CHUNK, count))
        keys[rows[0] : rows[-1] + 1] = words(rows)[:, 0] >> width << width | rows.view(np.uint64)
    keys = in_order(keys)
    order = (keys & ((np.uint64(1) << width) - np.uint64(1))).view(np.int64)
    keys >>= width
    same = keys[1:] == keys[:-1]
    if same.any():
        tied = np.zeros(count, np.bool_)
        tied[1:] |= same
        tied[:-1] |= same
        rows = order[tied]
        all_bits = words(rows)
        order[tied] = rows[np.lexsort((all_bits[:, 1], all_bits[:, 0]))]
    return order


def in_order(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The numbers as np.sort gives them, in half its time if they are evenly spread: there is a short row for each
    value of their upper bits, and vector instructions sort short rows fast. `keys` may be overwritten.
    """
    bits = (len(keys) // ROW).bit_length() - 1
    if bits < 4:
        keys.sort()
        return keys
    bits = min(bits, 16)
    upper = (keys >> np.uint64(64 - bits)).astype(np.uint16)
    keys = keys.take(np.argsort(upper, kind="stable"))
    counts = np.bincount(upper, minlength=1 << bits)
    if counts.max() > 4 * ROW + 4 * len(keys) // (1 << bits):  # unevenly spread: rows would take too much room
        keys.sort()
        return keys
    ends, places = np.cumsum(counts), np.arange(counts.max())
    for first in range(0, 1 << bits, ROWS):
        mine = counts[first : first + ROWS]
        stop = ends[first : first + ROWS][-1]
        there = places < mine[:, None]
        rows = np.full(there.shape, _LAST, np.uint64)
        rows[there] = keys[stop - mine.sum() : stop]
        rows.sort(axis=1)
        keys[stop - mine.sum() : stop] = rows[there]
    return keys


def by_target(targets: NDArray[Any], of: int) -> list[NDArray[np.int64]]:
    """For each of `of` targets the positions that go there, in their order."""
    narrow = targets.astype(np.uint8 if of <= 1 << 8 else np.uint16)
    return np.split(np.argsort(narrow, kind="stable"), np.cumsum(np.bincount(narrow, minlength=of))[:-1])
