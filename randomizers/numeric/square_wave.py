# SPDX-License-Identifier: Apache-2.0
"""Square Wave, bucketised first (B-R): a cell number, likelier within b of the value, for whole distributions.

Contract: cells of a number, width 2 floor(b cells) + 1; an output within floor(b cells) of the value has p = e^eps /
(width e^eps + cells - 1), any other q = p / e^eps, as integer levels (window.py): at most e^epsilon, never more.
`support` is the histogram of outputs.  `estimate` is its exact linear inverse (band.py), unbiased and very noisy; the
likeliest distribution is found by EM (aggregators/distribution.py).  The inverse spreads the fewer than `width` words
out of 2^64 that the middle of a window has besides evenly over it: that moves a chance by less than width cells / 2^64
of itself, 2^-44 at 1024 cells.  Source: ARCHITECTURE section 5.4, erratum E13 (printed b equals the right one at eps =
1 only).  Not here: continuous reports (R-B), which would put floats on the device; none (wave_presence.py).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.mechanism import Counts, Floats, Reports
from murmurate.randomizers.numeric.band import Band
from murmurate.randomizers.numeric.mean import checked_support
from murmurate.randomizers.numeric.sliding import Sliding
from murmurate.randomizers.numeric.window import TOP
from murmurate.randomizers.packing import unpack_ints
from murmurate.randomizers.thresholds import MICRO, Epsilon, exp_floor, micro_nats

CELLS = 1024
"""The default number of cells."""
MAX_CELLS = 1 << 15
"""The most cells of a grid: a support then has 2^16 entries at the smallest epsilon, as many as a tally may have."""


@dataclass(frozen=True, slots=True)
class Wave:
    """The continuous wave of an epsilon: density p within b of the value, q elsewhere in [-b, 1 + b]."""

    b: Fraction
    p: Fraction
    q: Fraction

    @classmethod
    def of(cls, epsilon: Epsilon) -> "Wave":
        """The wave with b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)), p = e^eps / (2 b e^eps + 1), q = p /
        e^eps.
        """
        micro = micro_nats(epsilon)
        nats, ratio = Fraction(micro, MICRO), exp_floor(micro)
        b = (nats * ratio - ratio + 1) / (2 * ratio * (ratio - 1 - nats))
        return cls(b, ratio / (2 * b * ratio + 1), 1 / (2 * b * ratio + 1))


class WaveHistogram(Sliding):
    """The common part of Square Wave with and without *none*: its window, the histogram of its reports and the inverse
    of that.
    """

    measure = "distribution"

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        window = self.window
        self.band = Band(self.points, window.width, float(window.inside / window.width), window.low / TOP)

    def _width(self) -> int:
        return 2 * int(Wave.of(Fraction(self.epsilon_micro, MICRO)).b * self.points) + 1

    @property
    def reach(self) -> int:
        """The number of cells on either side of the value that are likelier: floor(b cells)."""
        return self.window.width // 2

    @property
    def p(self) -> Fraction:
        """The probability of a cell within reach (the middle one has up to `width` words of 2^64 more)."""
        return self.window.chance(0, 0) if self.reach else self.window.inside

    @property
    def q(self) -> Fraction:
        """The probability of a cell out of reach."""
        return self.window.outside / self.window.width

    @property
    def outcomes(self) -> int:
        """The number of cells of the output, plus *none* where it can be reported."""
        return self.reports_possible

    def support(self, reports: Reports) -> Counts:
        """The number of reports that name each cell, and none: int64[outcomes]."""
        return np.bincount(unpack_ints(self._well_formed(reports)), minlength=self.outcomes)

    def estimate(self, support: Counts, n: int) -> Floats:
        """The frequencies of the cells, and of none, of all users, unbiased and raw: float64[d]."""
        shares = checked_support(self, support, n, self.outcomes) / n
        frequencies = self.band.inverse(shares[: self.cells])
        if self.says_none:
            none = (shares[-1] - float(self.window.outside)) / float(self.window.gain)
            frequencies = np.append(frequencies, none)
        return frequencies

    def plausible(self, profile: Floats) -> Floats:
        """The nearest frequencies that sum to 1, none below 0. Clipped one by one they would sum to many times that."""
        falling = np.sort(profile)[::-1]
        over = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
        return np.asarray(np.maximum(profile - over[np.flatnonzero(falling > over)[-1]], 0.0), np.float64)

    def noise(self, profile: Floats) -> Floats:
        """The variance of each entry from one report, less that of sampling."""
        total = self.band.variance(profile[: self.points])
        if self.says_none:
            gain, outside = float(self.window.gain), float(self.window.outside)
            none = outside + gain * profile[-1]
            total = np.append(total, none * (1 - none) / gain**2)
        return np.asarray(total - self.sampling(profile), np.float64)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The variance, exact from the frequencies of all d values. A single one is taken to be each value's in turn,
        with the rest spread evenly over the others: the mean over the values.
        """
        f = np.asarray(frequency)
        if not isinstance(n, int) or n < 1 or f.dtype.kind not in "iuf" or not np.all((f >= 0) & (f <= 1)):
            raise ParameterError(
                f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1 and frequencies from 0 to 1"
            )
        if f.shape == (self.d,):
            return np.asarray(self.noise(f) / n, np.float64)
        own = self.band.own
        if self.says_none:
            own = np.append(own, float(self.window.inside * (1 - self.window.inside) / self.window.gain**2))
        mine = float(own.mean())
        others = (self.d * float(self.noise(np.full(self.d, 1 / self.d)).mean()) - mine) / (self.d - 1)
        return np.asarray((f * mine + (1 - f) * others) / n, np.float64)


class SW(WaveHistogram):
    """The mechanism that sends a cell number of one to two bytes. `support` is int64[d + 2 floor(b d)]: the number of
    reports that name each cell.
    """

    name = "sw"
    says_none = False
    max_domain = MAX_CELLS

    def __init__(self, *, d: int = CELLS, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)

    def value(self, cell: int) -> Fraction:
        """The number in [-1, 1] for which a cell stands where a mean is wanted: both ends are on the grid."""
        return Fraction(2 * self.checked(cell), self.d - 1) - 1

    def worth(self, report: bytes) -> Fraction:
        """The contribution of one report to the sum of values: unbiased, exact."""
        return self._cell_worth(int.from_bytes(report, "little"))

    def mean(self, support: Counts, n: int) -> float:
        """The mean, exactly unbiased and raw."""
        counts = checked_support(self, support, n, self.outcomes)
        return float(self._sums_worth(int(counts @ np.arange(self.cells)), 0, n)[0] / n)

    def mean_variance(self, n: int, mean_square: float) -> float:
        """The exact variance of the mean of n users, whose values have this mean square."""
        if not isinstance(n, int) or n < 1 or not 0 <= mean_square <= 1:
            raise ParameterError(f"{self.name}: mean_variance: found n = {shown(n)}; allowed: n >= 1, squares to 1")
        return (float(self.floor) + mean_square * float(self.slope)) / n
