"""What every mechanism for the mean of a number keeps: a grid of whole numbers, and exact moments of its reports.

Contract: a value is a cell 0..d-1 that stands for -1 + 2 cell / (d - 1), so both ends are on the grid; what a report
is worth (`worth`) has exactly that mean, and the variance floor + slope v^2, both Fractions of the integer levels.
`support` counts bits, so it is additive and no count exceeds the reports; `estimate` has one entry, the mean.  Source:
streams.md section 2.4.  Not here: mapping a quantity to the grid (its range is declared, never taken from data), and
silence (presence.py).
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.mechanism import Counts, Floats, Measure, Mechanism

GRID = (1 << 16) + 1
"""Cells where nobody asks for another number: steps of 2^-15."""
MAX_GRID = (1 << 22) + 1


class MeanMechanism(Mechanism):
    """A local randomizer for the mean of values in [-1, 1]."""

    max_domain = MAX_GRID
    measure: ClassVar[Measure] = "mean"
    says_none = False
    floor: Fraction
    """The variance of one report's worth where the value is 0."""
    slope: Fraction
    """What v^2 adds to it; it may be negative."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """How long the support is."""

    @abstractmethod
    def worth(self, report: bytes) -> Fraction:
        """What one report adds to the sum of values: unbiased, exact."""

    @abstractmethod
    def _total(self, support: Counts, n: int) -> Fraction:
        """The sum of the worths of n reports with this support."""

    def value(self, cell: int) -> Fraction:
        """The number in [-1, 1] that a cell stands for."""
        return Fraction(2 * self.checked(cell), self.d - 1) - 1

    def estimate(self, support: Counts, n: int) -> Floats:
        """The mean, unbiased and raw: float64[1]. It may lie outside [-1, 1]."""
        counts = checked_support(self, support, n, self.outcomes)
        return np.array([float(self._total(counts, n) / n)])

    def mean(self, support: Counts, n: int) -> float:
        """The same as a number."""
        return float(self.estimate(support, n)[0])

    def variance(self, n: int, value: float | Floats) -> Floats:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The exact variance of the mean of n users who all hold this value; for different values give the root of
        their mean square.
        """
        v = np.asarray(value)
        if not isinstance(n, int) or n < 1 or v.dtype.kind not in "iuf" or not np.all(np.abs(v) <= 1):
            raise ParameterError(f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1, values from -1 to 1")
        return np.asarray((float(self.floor) + v * v * float(self.slope)) / n, np.float64)


def checked_support(mechanism: Mechanism, support: Counts, n: int, length: int) -> Counts:
    """The counts, if they can be those of n reports of this mechanism."""
    counts = np.asarray(support)
    if counts.shape != (length,) or counts.dtype.kind not in "iu":
        raise ReportError(
            f"{mechanism.name}: support: found {counts.dtype}{list(counts.shape)}; allowed: int64[{length}]"
        )
    if isinstance(n, bool) or not isinstance(n, int) or n < 1 or counts.min() < 0 or counts.max() > n:
        raise ReportError(
            f"{mechanism.name}: found n = {shown(n)} and counts that do not fit; allowed: n >= 1, counts from 0 to n"
        )
    return counts


def bits_sum(counts: NDArray[np.integer[Any]]) -> int:
    """The sum of numbers of which so many have each bit set, the lowest first."""
    return sum(int(count) << bit for bit, count in enumerate(counts))
