# SPDX-License-Identifier: Apache-2.0
"""Reports that are cells of a sliding window: the common part of PM, Square Wave and both with *none*.

Contract: the window of window.py starts at the value's cell, of `cells` outputs.  A mechanism with *none* has one
window more, beyond the grid: it is the one of *none*, and its cells are one report; so one epsilon pays for both, and
every value gives every report.  A cell's worth is its distance from the middle over gain (values - 1) / 2, none's is
0: exactly unbiased, of variance floor + slope v^2, and `silent` for none.  Source: ARCHITECTURE section 5.3 and rule 7.
Not here: how wide a window is good, and what the server counts.
"""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.mechanism import Mechanism, Reports
from murmurate.randomizers.numeric.window import TOP, Window
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import Atom, Blanket
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon


class Sliding(Mechanism):
    """A mechanism whose report is the number of a cell, likelier in a window that starts at the value, or *none*."""

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        if self.points < 2:
            raise ParameterError(f"{self.name}: d: found {d}; allowed: two cells and none, at least 3")
        steps, width = self.points - 1, self._width()
        self.cells = steps + width
        """The number of outputs that stand for a number."""
        outputs = self.cells + width if self.says_none else self.cells
        self.window = window = Window.fit(self.name, outputs, width, self.epsilon_micro)
        self._unit = 2 / (window.gain * steps)  # what a step of the output is worth
        self.silent = Fraction(window.low, TOP) * window.square(self.cells) * self._unit**2
        self.floor = self.silent + Fraction(window.high - window.low, TOP) * window.square(width) * self._unit**2
        self.slope = 1 / window.gain - 1

    @abstractmethod
    def _width(self) -> int:
        """The number of cells of the window, which is odd."""

    @property
    def points(self) -> int:
        """The number of values that stand for a number: all but *none*."""
        return self.d - 1 if self.says_none else self.d

    @property
    def silence(self) -> int:
        """The report that stands for *none*: the number after the last cell's."""
        return self.cells

    @property
    def reports_possible(self) -> int:
        """The number of cells, plus *none* where it can be reported."""
        return self.cells + bool(self.says_none)

    @property
    def wire_size(self) -> int:
        """The bytes that hold the number of a cell, and of none."""
        return int_bytes(self.silence + bool(self.says_none))

    @property
    def realised(self) -> Fraction:
        """The ratio of the middle of the window to a cell outside."""
        return self.window.realised

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from one word a user."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        for rows, words in draw.open(self.digest, canonical(values)).words(1, np.uint64):
            starts = values[rows].astype(np.uint64)
            if self.says_none:
                starts[values[rows] == self.d - 1] = self.cells
            numbers = self.window.place(words[:, 0], starts)
            if self.says_none:
                numbers[numbers >= self.cells] = self.silence
            reports[rows] = pack_ints(numbers, self.wire_size)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        word = draw.open(self.digest, canonical_one(value))(1, 64)[0]
        number = self.window.place_one(word, self._start(value))
        return self._report(number if number < self.cells else self.silence)

    def _start(self, value: int) -> int:
        return self.cells if self.checked(value) == self.d - 1 and self.says_none else value

    def _report(self, number: int) -> bytes:
        return number.to_bytes(self.wire_size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports lie past the last cell and are not *none*."""
        numbers = unpack_ints(self._reports(reports))
        past = np.asarray(numbers >= self.cells)
        return past & (numbers != self.silence) if self.says_none else past

    def _cell_worth(self, number: int) -> Fraction:
        return (number - Fraction(self.cells - 1, 2)) * self._unit

    def _sums_worth(self, total: int, squares: int, n: int) -> tuple[Fraction, Fraction]:
        """The total worth of n cells, and of its squares, from the sums of their numbers and of their squares."""
        middle = Fraction(self.cells - 1, 2)
        return (total - n * middle) * self._unit, (squares - 2 * middle * total + n * middle**2) * self._unit**2

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The levels of all cells; those of the last window are summed where it stands for *none*."""
        start = self._start(value)
        self._check_listable()
        law = {self._report(cell): self.window.chance(cell, start) for cell in range(self.cells)}
        if self.says_none:
            law[self._report(self.silence)] = self.window.inside if start == self.cells else self.window.outside
        return law

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports lie in the window of `one` and not in that of `other`."""
        cells = unpack_ints(self._reports(reports))
        if self.says_none:  # its report is any cell of its window
            cells = np.minimum(cells, np.asarray(self.cells, cells.dtype))
        return self.window.within(cells, self._start(one)) & ~self.window.within(cells, self._start(other))

    def blanket(self) -> Blanket:
        """Every cell has the lower level from everybody. Two windows without a common cell are told apart best, and the
        one of none is such, its cells counted singly; only where no window lies clear of the first, at the smallest
        epsilons, the last one shares a cell with it (ARCHITECTURE section 5.16).
        """
        window, one = self.window, Fraction(1)
        low, high, middle = Fraction(window.low, TOP), Fraction(window.high, window.low), self.realised
        outputs = self.cells + window.width if self.says_none else self.cells
        common = 0 if self.says_none else max(0, window.width - (self.points - 1))
        sides = window.width - 1 - common
        kinds = (
            (1, middle, one), (1, one, middle), (sides, high, one), (sides, one, high), (common, high, high),
            (outputs - 2 * window.width + common, one, one),
        )  # fmt: skip
        return tuple(Atom(cells * low, *kind) for cells, *kind in kinds if cells)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of such a report for the lowest cell and for the last value."""
        own = range(min(self.window.width, self._start(self.d - 1)))
        rest = self.window.rest * (self.window.width // 2 in own)
        return Fraction(self.window.high * len(own) + rest, TOP), Fraction(self.window.low * len(own), TOP)


def odd_near(size: Fraction, most: int) -> int:
    """The odd whole number nearest to a size, from 1 to `most`."""
    width = 2 * int(size / 2) + 1
    return min(width, most - (most % 2 == 0))
