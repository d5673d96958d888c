"""A number or silence in one report: the share of users who hold a value, and the mean of those.

Contract: a value is a cell 0..d-2 of a grid over [-1, 1], or d - 1: none.  PM's window (window.py) slides over one
window more than the grid needs, and that last window is the one of *none*; its cells are one report.  So one epsilon
pays for both, every value gives every report, and two statistics are exactly unbiased: `share`, of users who hold a
value, and `total`, the sum of values over all users (none counts 0).  Their variances and covariance are exact; the
mean of holders is total / share, and `mean_variance` is the exact variance of its linear part (the ratio has a bias
of order 1 / n).  Width: d - 2 cells times min(1, 2 e^(-epsilon/4)), our own: with it share, total and mean are each at
least as good as RR for one half of the users and HM for the other (tests/randomizers/numeric/test_presence.py).
Source: streams.md 2.4 and DESIGN rule 7, derived here.  Not here: streams in which everybody always has a value.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.mechanism import Counts, Floats, Mechanism, Reports
from murmurate.randomizers.numeric.mean import GRID, MAX_GRID, bits_sum, checked_support
from murmurate.randomizers.numeric.piecewise import odd_near
from murmurate.randomizers.numeric.window import TOP, Window
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_ints, unpack_ints
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor


class ValueAndPresence(Mechanism):
    """A cell number, or a bit of its own that says none. `support` is int64[bits]: how many have each bit set."""

    name = "value_presence"
    max_domain = MAX_GRID + 1
    measure = "mean"
    says_none = True

    def __init__(self, *, d: int = GRID + 1, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        if d < 3:
            raise ParameterError(f"{self.name}: d: found {d}; allowed: two cells and none, at least 3")
        steps = d - 2
        width = odd_near(min(Fraction(steps), 2 * steps / exp_floor(self.epsilon_micro, 4)), steps)
        self.cells = steps + width  # of the grid that reports name; one window more is none's
        self.window = window = Window.fit(self.name, self.cells + width, width, self.epsilon_micro)
        self._flag = (self.cells - 1).bit_length()
        self.p, self.q = window.inside, window.outside  # of the report none, from none and from a holder
        self._unit = 2 / (window.gain * steps)
        self.silent = Fraction(window.low, TOP) * window.square(self.cells) * self._unit**2
        self.floor = self.silent + Fraction(window.high - window.low, TOP) * window.square(width) * self._unit**2
        self.slope = 1 / window.gain - 1

    @property
    def wire_size(self) -> int:
        """Bytes that hold a cell number and the bit of none."""
        return bit_bytes(self._flag + 1)

    @property
    def reports_possible(self) -> int:
        """Every cell, and none."""
        return self.cells + 1

    @property
    def realised(self) -> Fraction:
        """The middle of the window against a cell outside."""
        return self.window.realised

    def value(self, cell: int) -> Fraction | None:
        """The number in [-1, 1] that a value stands for, or None."""
        return None if self.checked(cell) == self.d - 1 else Fraction(2 * cell, self.d - 2) - 1

    def _starts(self, values: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
        return np.where(values == self.d - 1, self.cells, values).astype(np.uint64)

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """One word a user."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        for rows, words in draw.open(self.digest, canonical(values)).words(1, np.uint64):
            cells = self.window.place(words[:, 0], self._starts(values[rows]))
            cells[cells >= self.cells] = 1 << self._flag
            reports[rows] = pack_ints(cells, self.wire_size)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """The same in plain Python."""
        value = self.checked_one(value, draw)
        word = draw.open(self.digest, canonical_one(value))(1, 64)[0]
        cell = self.window.place_one(word, self._start(value))
        return self._report(cell if cell < self.cells else 1 << self._flag)

    def _start(self, value: int) -> int:
        return self.cells if self.checked(value) == self.d - 1 else value

    def _report(self, number: int) -> bytes:
        return number.to_bytes(self.wire_size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Reports past the last cell that are not none."""
        numbers = unpack_ints(self._reports(reports))
        return np.asarray((numbers >= self.cells) & (numbers != 1 << self._flag))

    def support(self, reports: Reports) -> Counts:
        """How many reports have each bit set, the lowest first and that of none last: int64[bits]."""
        return count_bits(self._well_formed(reports), self._flag + 1)

    def worth(self, report: bytes) -> tuple[Fraction, Fraction]:
        """What one report adds to the share of holders and to the total of values: unbiased, exact."""
        number = int.from_bytes(report, "little")
        none = number == 1 << self._flag
        share = (self.p - none) / self.window.gain
        return share, Fraction(0) if none else (number - Fraction(self.cells - 1, 2)) * self._unit

    def estimate(self, support: Counts, n: int) -> Floats:
        """The share of holders and the total a user, unbiased and raw: float64[2]."""
        counts = checked_support(self, support, n, self._flag + 1)
        none = int(counts[-1])
        middle = (n - none) * Fraction(self.cells - 1, 2)
        share = (self.p - Fraction(none, n)) / self.window.gain
        return np.array([float(share), float((bits_sum(counts[:-1]) - middle) * self._unit / n)])

    def mean(self, support: Counts, n: int) -> float:
        """The mean of those who hold a value: total / share, where a share above zero was seen."""
        share, total = self.estimate(support, n)
        if share <= 0:
            raise ReportError(f"{self.name}: mean: found no share of holders above 0; allowed: more reports")
        return float(total / share)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of the share, where this share of n users holds a value."""
        f = np.asarray(frequency)
        if not isinstance(n, int) or n < 1 or f.dtype.kind not in "iuf" or not np.all((f >= 0) & (f <= 1)):
            raise ParameterError(f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1, shares from 0 to 1")
        none, holder = (float(x * (1 - x) / self.window.gain**2) for x in (self.p, self.q))
        return np.asarray((none + f * (holder - none)) / n, np.float64)

    def total_variance(self, n: int, share: float, mean_square: float) -> float:
        """The exact variance of the total a user, of n users this share of whom holds values of this mean square."""
        self.variance(n, share)
        holder = float(self.floor) + mean_square * float(self.slope)
        return (share * holder + (1 - share) * float(self.silent)) / n

    def covariance(self, n: int, share: float, mean: float) -> float:
        """The exact covariance of share and total: holders who are taken for silent lose their value too."""
        self.variance(n, share)
        return share * mean * float(self.q / self.window.gain) / n

    def mean_variance(self, n: int, share: float, mean: float, mean_square: float) -> float:
        """The exact variance of the linear part of the holders' mean, (total - mean share) / share."""
        if not share > 0:
            raise ParameterError(f"{self.name}: mean_variance: found a share of {shown(share)}; allowed: above 0 to 1")
        both = self.total_variance(n, share, mean_square) - 2 * mean * self.covariance(n, share, mean)
        return (both + mean * mean * float(self.variance(n, share))) / share**2

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The levels of all cells, and the sum of the last window's."""
        start = self._start(value)
        self._check_listable()
        law = {self._report(cell): self.window.chance(cell, start) for cell in range(self.cells)}
        return law | {self._report(1 << self._flag): self.p if start == self.cells else self.q}

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Reports in the window of `one` and not in that of `other`."""
        numbers = unpack_ints(self._reports(reports))
        cells = np.where(numbers < self.cells, numbers, np.asarray(self.cells, numbers.dtype))
        return self.window.within(cells, self._start(one)) & ~self.window.within(cells, self._start(other))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The chances of a report in the lowest cell's window, from there and from none."""
        return self.window.inside, self.window.outside
