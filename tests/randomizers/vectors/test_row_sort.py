# SPDX-License-Identifier: Apache-2.0
"""Rows of any length are sorted as NumPy sorts them, also those that are sorted in two parts."""

from __future__ import annotations

import numpy as np

from murmurate.randomizers.vectors.row_sort import sort_rows
from murmurate.randomizers.vectors.scratch import Scratch
from tests.cases import every


@every("width", [0, 1, 97, 511, 512, 513, 526, 767, 1023, 1024, 1025])
def test_rows_are_sorted_as_numpy_sorts_them(width: int) -> None:
    rng, scratch = np.random.default_rng(width), Scratch()
    for dtype in (np.uint16, np.uint32):
        for highest in (3, 200, np.iinfo(dtype).max):
            rows = rng.integers(0, highest, (40, width), dtype, endpoint=True)
            wanted = np.sort(rows, axis=1)
            assert (sort_rows(rows, scratch) == wanted).all()
