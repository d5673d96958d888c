# SPDX-License-Identifier: Apache-2.0
"""The common part of mechanisms for the mean of a number: a grid of whole numbers, and exact moments of reports.

Contract: a value is a cell 0..d-1 that stands for -1 + 2 cell / (d - 1), so both ends are on the grid; what a report
is worth (`worth`) has exactly that mean, and the variance floor + slope v^2, both Fractions of the integer levels.
`support` counts bits, of the report's number and of that number's square, so it is additive and no count exceeds the
reports, and still it has the exact sums of worths and of their squares.  A profile is the mean and the mean square;
`estimate` is the mean.  Source: ARCHITECTURE section 5.3.  Not here: mapping a quantity to the grid (its range is
declared, never taken from data), and silence (presence.py).
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.mechanism import Counts, Floats, Mechanism
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_ints

GRID = (1 << 16) + 1
"""The default number of cells of a grid: steps of 2^-15."""
MAX_GRID = (1 << 22) + 1


class MeanMechanism(Mechanism):
    """A local randomizer for the mean of values in [-1, 1]."""

    max_domain = MAX_GRID
    measure = "mean"
    says_none = False
    floor: Fraction
    """The variance of one report's worth where the value is 0."""
    slope: Fraction
    """The coefficient of v^2 in the variance of one report's worth; it may be negative."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """The length of the support."""

    @property
    def statistics(self) -> int:
        """The single statistic, the mean."""
        return 1

    @abstractmethod
    def worth(self, report: bytes) -> Fraction:
        """The contribution of one report to the sum of values: unbiased, exact."""

    @abstractmethod
    def _sums(self, support: Counts, n: int) -> tuple[Fraction, Fraction]:
        """The sum of the worths of n reports with this support, and of their squares."""

    def value(self, cell: int) -> Fraction:
        """The number in [-1, 1] that a cell stands for."""
        return Fraction(2 * self.checked(cell), self.d - 1) - 1

    def estimate(self, support: Counts, n: int) -> Floats:
        """The mean, unbiased and raw: float64[1]. It may lie outside [-1, 1]."""
        return self.profile(support, n)[:1]

    def mean(self, support: Counts, n: int) -> float:
        """The estimate as one number."""
        return float(self.profile(support, n)[0])

    def profile(self, support: Counts, n: int) -> Floats:
        """The mean and the mean square, unbiased and raw: float64[2].

        Where every report has the same square (SR) they have no information on the mean square, and the square of
        the mean stands in for it, the least it can be. Noise and sampling together are exact all the same; noise alone
        is never too small, nor is noise with the part of the sampling that is left where n of few users answer.
        """
        total, squares = (whole / n for whole in self._sums(checked_support(self, support, n, self.outcomes), n))
        square = (squares - self.floor) / (1 + self.slope) if self.slope != -1 else total**2
        return np.array([float(total), float(square)])

    def plausible(self, profile: Floats) -> Floats:
        """The nearest possible moments: a mean from -1 to 1, and a mean square from the square of the mean to 1."""
        mean = min(max(float(profile[0]), -1.0), 1.0)
        return np.array([mean, min(max(float(profile[1]), mean * mean), 1.0)])

    def noise(self, profile: Floats) -> Floats:
        """The noise floor + slope times the mean square: float64[1]."""
        return np.asarray(float(self.floor) + float(self.slope) * profile[1:2], np.float64)

    def sampling(self, profile: Floats) -> Floats:
        """The variance of the values: float64[1]."""
        return np.asarray(profile[1:2] - profile[:1] ** 2, np.float64)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of the mean of n users who all hold one value, which stands where others take a
        frequency; for different values give the root of their mean square.
        """
        v = np.asarray(frequency)
        if not isinstance(n, int) or n < 1 or v.dtype.kind not in "iuf" or not np.all(np.abs(v) <= 1):
            raise ParameterError(f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1, values from -1 to 1")
        return np.asarray((float(self.floor) + v * v * float(self.slope)) / n, np.float64)


def checked_support(mechanism: Mechanism, support: Counts, n: int, length: int) -> Counts:
    """The counts, if n reports of this mechanism can have them."""
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


def square_bits(cells: int) -> int:
    """The number of bits of the square of a cell's number."""
    return ((cells - 1) ** 2).bit_length()


def count_square_bits(numbers: NDArray[np.unsignedinteger[Any]], cells: int) -> Counts:
    """For each bit of a square, the lowest first, how many of these numbers (below `cells`) have it set in theirs."""
    bits = square_bits(cells)
    return count_bits(pack_ints(numbers.astype(np.uint64) ** np.uint64(2), bit_bytes(bits)), bits)


def bits_sum(counts: NDArray[np.integer[Any]]) -> int:
    """The sum of numbers, from how many of them have each bit set, the lowest first."""
    return sum(int(count) << bit for bit, count in enumerate(counts))
