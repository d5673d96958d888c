"""The piecewise mechanism (PM): a number of a wider grid, likely near the value.

Contract: the window of window.py starts at the value's cell; there are d - 1 + width outputs. A report's worth is its
distance from the middle over gain (d - 1) / 2: exactly unbiased, of variance floor + v^2 (1 / gain - 1), and one
value against another at most e^epsilon.  Width: the odd number next to (d - 1) / e^(epsilon/2), which is where the
continuous mechanism has its least worst variance.  Source: streams.md section 2.4 (Wang et al. 2019).  Not here: the
mixture with SR (hybrid.py).
"""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.mechanism import Counts, Reports
from murmurate.randomizers.numeric.mean import GRID, MeanMechanism, bits_sum
from murmurate.randomizers.numeric.window import TOP, Window
from murmurate.randomizers.packing import count_bits, int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor


class WindowMean(MeanMechanism):
    """A mechanism whose report is the number of a cell, of a window that starts at the value. PM and Square Wave."""

    def __init__(self, *, d: int = GRID, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        width = self._width()
        self.window = window = Window.fit(self.name, d - 1 + width, width, self.epsilon_micro)
        self._unit = 2 / (window.gain * (d - 1))  # what a step of the output is worth
        around = window.low * window.square(window.cells) + (window.high - window.low) * window.square(width)
        self.floor = around / TOP * self._unit**2
        self.slope = 1 / window.gain - 1

    @abstractmethod
    def _width(self) -> int:
        """Cells of the window: an odd number, at most d - 1 or 1."""

    @property
    def reports_possible(self) -> int:
        """Every cell of the output."""
        return self.window.cells

    @property
    def wire_size(self) -> int:
        """Bytes that hold the number of a cell."""
        return int_bytes(self.window.cells)

    @property
    def realised(self) -> Fraction:
        """The middle of the window against a cell outside."""
        return self.window.realised

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """One word a user."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        for rows, words in draw.open(self.digest, canonical(values)).words(1, np.uint64):
            cells = self.window.place(words[:, 0], values[rows].astype(np.uint64))
            reports[rows] = pack_ints(cells, self.wire_size)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """The same in plain Python."""
        value = self.checked_one(value, draw)
        word = draw.open(self.digest, canonical_one(value))(1, 64)[0]
        return self.window.place_one(word, value).to_bytes(self.wire_size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Reports of a cell past the last."""
        return np.asarray(unpack_ints(self._reports(reports)) >= self.window.cells)

    def worth(self, report: bytes) -> Fraction:
        """The distance from the middle, in units."""
        return (int.from_bytes(report, "little") - Fraction(self.window.cells - 1, 2)) * self._unit

    def sum_worth(self, total: int, n: int) -> Fraction:
        """The worth of n reports whose numbers sum to this."""
        return (total - n * Fraction(self.window.cells - 1, 2)) * self._unit

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The levels of all cells."""
        value = self.checked(value)
        self._check_listable()
        window = self.window
        return {y.to_bytes(self.wire_size, "little"): window.chance(y, value) for y in range(window.cells)}

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Reports in the window of `one` and not in that of `other`."""
        cells = unpack_ints(self._reports(reports))
        return self.window.within(cells, self.checked(one)) & ~self.window.within(cells, self.checked(other))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The chances of that for the lowest and the highest cell."""
        own = range(min(self.window.width, self.d - 1))
        rest = self.window.rest * (self.window.width // 2 in own)
        return Fraction(self.window.high * len(own) + rest, TOP), Fraction(self.window.low * len(own), TOP)


class PM(WindowMean):
    """A cell number of one to three bytes. `support` is int64[bits]: in how many reports each bit is set."""

    name = "pm"

    def _width(self) -> int:
        return odd_near(Fraction(self.d - 1) / exp_floor(self.epsilon_micro, 2), self.d - 1)

    @property
    def outcomes(self) -> int:
        """Bits of a report."""
        return (self.window.cells - 1).bit_length()

    def support(self, reports: Reports) -> Counts:
        """How many reports have each bit of their number set, the lowest first: int64[bits]."""
        return count_bits(self._well_formed(reports), self.outcomes)

    def _total(self, support: Counts, n: int) -> Fraction:
        return self.sum_worth(bits_sum(support), n)


def odd_near(size: Fraction, most: int) -> int:
    """The odd whole number nearest to a size, from 1 to `most`."""
    width = 2 * int(size / 2) + 1
    return min(width, most - (most % 2 == 0))
