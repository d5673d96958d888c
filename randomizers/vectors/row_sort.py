# SPDX-License-Identifier: Apache-2.0
"""Sorting many rows of a few hundred numbers each.

Contract: `sort_rows` gives the rows in rising order.  NumPy sorts rows of up to 512 numbers of 16 or 32 bits in the
registers of a processor that has AVX-512, and longer ones five times as slowly.  So longer ones are sorted in two
parts; the largest of both are then the larger ones of each of the last of the first part and its counterpart in the
second, taken backwards (Batcher's merge), and the parts are sorted again.  Not here: what is sorted (distinct.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.vectors.scratch import Scratch

Rows = NDArray[np.unsignedinteger[Any]]
_QUICK = 512
"""The longest rows that are sorted at once: the longest that stay in registers."""


def sort_rows(rows: Rows, scratch: Scratch) -> Rows:
    """The rows, each in rising order; in place or in room of `scratch`."""
    n, width = rows.shape
    if not _QUICK < width <= 2 * _QUICK:
        rows.sort(axis=1)
        return rows
    first, second = rows[:, :_QUICK], rows[:, _QUICK:]
    first.sort(axis=1)
    second.sort(axis=1)
    rest = width - _QUICK
    last, backwards = first[:, _QUICK - rest :], second[:, ::-1]
    larger = scratch.array("larger", (n, rest), rows.dtype)
    np.maximum(last, backwards, out=larger)
    np.minimum(last, backwards, out=last)
    second[...] = larger
    first.sort(axis=1)
    second.sort(axis=1)
    return rows
