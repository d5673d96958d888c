# SPDX-License-Identifier: Apache-2.0
"""Square Wave for a mean: its reports are counted cell by cell, and give the statistics that a mean stream follows.

Contract: windows are Square Wave's (square_wave.py, wave_presence.py), so that EM finds the distribution behind a
support; statistics, variances and profile are those of PM and of value + presence (mean.py, presence.py), exactly
unbiased.  It serves the hold-out phase, in which a stream of means estimates the distribution of its values.
Source: ToPL, ARCHITECTURE section 5.4.  Not here: EM; streams that name these mechanisms, which none may.
"""

from fractions import Fraction

import numpy as np

from murmurate.randomizers.mechanism import Counts, Floats, Reports
from murmurate.randomizers.numeric.mean import checked_support
from murmurate.randomizers.numeric.piecewise import PM
from murmurate.randomizers.numeric.presence import ValueAndPresence
from murmurate.randomizers.numeric.square_wave import MAX_CELLS, Wave
from murmurate.randomizers.packing import unpack_ints
from murmurate.randomizers.thresholds import MICRO


class WaveMean(PM):
    """The mechanism that sends a cell number. `support` is int64[d + 2 floor(b d)]: the number of reports that name
    each cell.
    """

    name = "sw_mean"
    max_domain = MAX_CELLS

    def _width(self) -> int:
        return _wave_width(self.epsilon_micro, self.points)

    @property
    def outcomes(self) -> int:
        """The number of cells of the output."""
        return self.cells

    def support(self, reports: Reports) -> Counts:
        """The number of reports that name each cell: int64[outcomes]."""
        return np.bincount(unpack_ints(self._well_formed(reports)), minlength=self.cells)

    def _sums(self, support: Counts, n: int) -> tuple[Fraction, Fraction]:
        return self._sums_worth(*_powers(support), n)


class WaveMeanAndPresence(ValueAndPresence):
    """The mechanism that sends a cell number, or a flag for *none*. `support` counts each, none last."""

    name = "sw_mean_presence"
    max_domain = MAX_CELLS + 1

    def _width(self) -> int:
        return _wave_width(self.epsilon_micro, self.points)

    @property
    def outcomes(self) -> int:
        """The number of cells of the output, and none."""
        return self.cells + 1

    def support(self, reports: Reports) -> Counts:
        """The number of reports that name each cell, and none: int64[outcomes]."""
        numbers = np.minimum(unpack_ints(self._well_formed(reports)), self.cells)
        return np.bincount(numbers, minlength=self.outcomes)

    def profile(self, support: Counts, n: int) -> Floats:
        """The share of holders, and the sums of values and of their squares per user, unbiased and raw: float64[3]."""
        counts = checked_support(self, support, n, self.outcomes)
        none = int(counts[-1])
        share = (self.p - Fraction(none, n)) / self.window.gain
        total, worth = (whole / n for whole in self._sums_worth(*_powers(counts[:-1]), n - none))
        square = (worth - self.silent - share * (self.floor - self.silent)) / (1 + self.slope)
        return np.array([float(share), float(total), float(square)])


def _wave_width(epsilon_micro: int, cells: int) -> int:
    """The width of the window, 2 floor(b cells) + 1."""
    return 2 * int(Wave.of(Fraction(epsilon_micro, MICRO)).b * cells) + 1


def _powers(counts: Counts) -> tuple[int, int]:
    """The sum of the numbers of the reported cells, and of their squares."""
    numbers = np.arange(len(counts))
    return int(counts @ numbers), int(counts @ numbers**2)
