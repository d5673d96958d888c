# SPDX-License-Identifier: Apache-2.0
"""A window of likelier cells that slides with the value: the one shape behind PM, value + presence and Square Wave.

Contract: of `cells` outputs the `width` (odd) that start at the value's own place have the level `high`, all others
`low`, out of 2^64, and the few words that do not divide go to the middle of the window: so the mean of the output is
exactly linear in the start, and (high + rest) / low never exceeds e^epsilon.  `low` is rounded up.  Source:
ARCHITECTURE rule 2; sections 5.3 and 5.4 for the continuous originals.  Not here: what a cell means.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.thresholds import exp_floor

TOP = 1 << 64

Words = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, slots=True)
class Window:
    """The levels of a window, and the cell into which a word of 64 bits falls."""

    cells: int
    width: int
    low: int
    """The number of words of each cell outside the window."""
    high: int
    """The number of words of each cell inside the window."""
    rest: int
    """The number of words that the middle of the window has besides those of its neighbours."""

    @classmethod
    def fit(cls, name: str, cells: int, width: int, epsilon_micro: int) -> "Window":
        """The levels for this epsilon: low = (2^64 + (width - 1)^2) / (width e^epsilon + cells - width), rounded up.

        Then width high + rest = 2^64 - (cells - width) low <= width e^epsilon low - (width - 1)^2, and since
        rest < width, high + rest <= e^epsilon low.
        """
        ratio = exp_floor(epsilon_micro)
        low = -((-TOP - (width - 1) ** 2) // (width * ratio + cells - width))
        high, rest = divmod(TOP - (cells - width) * low, width)
        if high <= low:
            raise ParameterError(
                f"{name}: epsilon: found {epsilon_micro} micro-nats, which {cells} outputs cannot tell from 0; "
                "allowed: a larger epsilon or a coarser grid"
            )
        return cls(cells, width, low, high, rest)

    @property
    def gain(self) -> Fraction:
        """The change of the output's mean when the window moves by a cell: 1 - cells low / 2^64."""
        return 1 - Fraction(self.cells * self.low, TOP)

    @property
    def inside(self) -> Fraction:
        """The probability of an output in the window."""
        return Fraction(TOP - (self.cells - self.width) * self.low, TOP)

    @property
    def outside(self) -> Fraction:
        """The probability of as many cells that all lie outside."""
        return Fraction(self.width * self.low, TOP)

    @property
    def realised(self) -> Fraction:
        """The largest ratio: the middle of the window against a cell outside."""
        return Fraction(self.high + self.rest, self.low)

    def place(self, words: Words, starts: Words) -> Words:
        """The cell of each word: uint64[n] from words and window starts, uint64[n].

        The first words are those of the cells outside, from left to right, the others those of the window.
        """
        beyond = np.uint64((self.cells - self.width) * self.low)
        skip = words // np.uint64(self.low)
        skip += (skip >= starts) * np.uint64(self.width)
        step = (words - beyond) // np.uint64(self.high)
        step[step == self.width] = self.width // 2
        step += starts
        return np.where(words < beyond, skip, step)

    def place_one(self, word: int, start: int) -> int:
        """What `place` gives, for one word in plain Python."""
        beyond = (self.cells - self.width) * self.low
        if word < beyond:
            skip = word // self.low
            return skip + self.width * (skip >= start)
        step = (word - beyond) // self.high
        return start + (self.width // 2 if step == self.width else step)

    def chance(self, cell: int, start: int) -> Fraction:
        """The exact probability of a cell."""
        step = cell - start
        if not 0 <= step < self.width:
            return Fraction(self.low, TOP)
        return Fraction(self.high + self.rest * (step == self.width // 2), TOP)

    def within(self, cells: Words, start: int) -> NDArray[np.bool_]:
        """Which cells lie in the window that starts there."""
        return np.asarray((cells >= start) & (cells < start + self.width))

    def square(self, width: int) -> Fraction:
        """The sum of squares of `width` whole steps around their middle."""
        return Fraction(width * (width * width - 1), 12)
