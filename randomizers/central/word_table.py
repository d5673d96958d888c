# SPDX-License-Identifier: Apache-2.0
"""Outcomes of one 64-bit word, each for exactly as many of the 2^64 words as its level says.

Contract: `count` of an outcome is its level, whole and exact; a word is looked up in two reads, whatever the levels
are.
Source: Walker 1977, with Vose's construction (1991), here in whole numbers, so that nothing is rounded.
Not here: where levels come from (discrete_laplace.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError

TOP = 1 << 64


class WordTable:
    """An alias table: the words are cut into equal cells, each of which holds at most two outcomes.

    >>> table = WordTable([1 << 63, 1 << 62, 1 << 62], [10, 20, 30])
    >>> table.pick_one(0), table.pick(np.array([0, (1 << 64) - 1], np.uint64)).tolist(), table.count(20) == 1 << 62
    (10, [10, 30], True)
    """

    __slots__ = ("_bits", "_last", "_pair")

    def __init__(self, levels: Sequence[int], values: Sequence[int]) -> None:
        if len(levels) != len(values) or sum(levels) != TOP or min(levels) < 0:
            raise ParameterError(
                f"levels: found {len(levels)} that add to {sum(levels)}; allowed: whole, adding to 2^64"
            )
        self._bits = max(1, (len(levels) - 1).bit_length())
        cells, width = 1 << self._bits, TOP >> self._bits
        left = [*levels, *[0] * (cells - len(levels))]
        own, other, cut = list(range(cells)), list(range(cells)), [width] * cells
        small, large = ([i for i in range(cells) if (left[i] < width) is below] for below in (True, False))
        while small:  # a small cell is filled up from a large one, which may become small by that
            cell, giver = small.pop(), large[-1]
            other[cell], cut[cell] = giver, left[cell]
            left[giver] -= width - left[cell]
            if left[giver] < width:
                small.append(large.pop())
        for cell in range(cells):
            if not cut[cell]:  # nothing of its own
                own[cell], cut[cell] = other[cell], width
        self._last = np.array([cell * width + cut[cell] - 1 for cell in range(cells)], np.uint64)
        self._pair = np.array([values[i] for pair in zip(own, other, strict=True) for i in pair], np.int64)

    def pick(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The outcome of each word."""
        cell = (words >> np.uint64(64 - self._bits)).view(np.int64)
        beyond = words > self._last.take(cell)
        cell <<= 1
        cell += beyond
        return self._pair.take(cell)

    def pick_one(self, word: int) -> int:
        """What `pick` gives, for one word in plain Python."""
        cell = word >> (64 - self._bits)
        return int(self._pair[2 * cell + (word > int(self._last[cell]))])

    def count(self, value: int) -> int:
        """How many of all words give this outcome."""
        width, found = TOP >> self._bits, 0
        for cell, last in enumerate(self._last.tolist()):
            own, other = self._pair[2 * cell : 2 * cell + 2].tolist()
            mine = last + 1 - cell * width
            found += mine * (own == value) + (width - mine) * (other == value)
        return found
