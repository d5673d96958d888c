# SPDX-License-Identifier: Apache-2.0
"""The cells of one user's entries: put in order, told apart, and skipped, for many users at once.

Contract: an array of cells is uint16[entries, n], one column a user, EMPTY where there is no entry.  All steps work on
whole rows, and none of them looks at one user alone.  Source: Batcher 1968 (the bitonic sorter).  Not here: hash
functions (frequency/hashing.py), and which of the cells a report names (collision.py, coco.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.frequency.hashing import Words

Cells = NDArray[np.uint16]
Flags = NDArray[np.bool_]
EMPTY: Final = 0xFFFF
MAX_CELLS: Final = EMPTY
"""The largest number of cells of a vector's mechanism, whose last cell is then below EMPTY."""
_NEAR = 1e-9
_HALF = np.uint64(32)
_TOP = 1 << 64


def in_order(cells: Cells) -> Cells:
    """The cells of each column in rising order, EMPTY last."""
    entries, n = cells.shape
    rows = 1 << (entries - 1).bit_length()
    sorted_cells = np.full((rows, n), EMPTY, np.uint16)
    sorted_cells[:entries] = cells
    size = 2
    while size <= rows:
        blocks = sorted_cells.reshape(-1, size, n)
        _exchange(blocks[:, : size // 2], blocks[:, : size // 2 - 1 : -1])
        step = size // 4
        while step:
            blocks = sorted_cells.reshape(-1, 2 * step, n)
            _exchange(blocks[:, :step], blocks[:, step:])
            step //= 2
        size *= 2
    return sorted_cells[:entries]


def _exchange(low: Cells, high: Cells) -> None:
    """Put the smaller of two cells into `low`, the larger into `high`, for all places at once."""
    smaller = np.minimum(low, high)
    np.maximum(low, high, out=high)
    low[...] = smaller


def firsts(cells: Cells) -> Flags:
    """Which places of ordered cells hold one that no earlier place holds: bool[entries, n]."""
    first: Flags = cells != np.uint16(EMPTY)
    first[1:] &= cells[1:] != cells[:-1]
    return first


def ranks(first: Flags) -> Iterator[NDArray[np.uint8]]:
    """For each place, the number of different cells up to it: uint8[n], overwritten by the next."""
    rank = np.zeros(first.shape[1], np.uint8)
    for new in first.view(np.uint8):
        rank += new
        yield rank


def skipping(index: Cells, cells: Cells, first: Flags) -> Cells:
    """The cell with this index among those that are not in the column: uint16[n]."""
    found = index.copy()
    for cell, new in zip(cells, first, strict=True):
        found += (cell <= found) & new
    return found


def skipping_one(index: int, cells: list[int]) -> int:
    """What `skipping` gives for one user, from different cells in rising order."""
    for cell in cells:
        index += cell <= index
    return index


def scaled(words: Words, parts: Words | np.uint64) -> Words:
    """The number floor(word * parts / 2^64) of each uniform word, for up to 2^32 parts: uint64[n]."""
    low = words & np.uint64(0xFFFFFFFF)
    low *= parts
    low >>= _HALF
    high = words >> _HALF
    high *= parts
    high += low
    high >>= _HALF
    return high


def words_of_part(part: int, parts: int) -> int:
    """The number of words of 2^64 that `scaled` gives this part of so many."""
    return -(-(part + 1) * _TOP // parts) + (-part * _TOP // parts)


def least(objective: Callable[[Any, Any], Any], excess: Fraction, numbers: NDArray[np.int64]) -> int:
    """The number of cells at which the objective is smallest, the smaller one of two; exact.

    objective: a function of a number of cells and of e^epsilon - 1, for floats and for Fractions. Floats find the few
    numbers whose objective is within a billionth of the smallest, and Fractions decide among those.
    """
    values = objective(numbers.astype(np.float64), float(excess))
    near = numbers[values <= values.min() * (1 + _NEAR)]
    return min(map(int, near), key=lambda number: (objective(Fraction(number), excess), number))
