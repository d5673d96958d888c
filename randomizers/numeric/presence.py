# SPDX-License-Identifier: Apache-2.0
"""A number or *none* in one report: the share of users who hold a value, and the mean of those.

Contract: a value is a cell 0..d-2 of a grid over [-1, 1], or d - 1: none, with a window of its own (sliding.py).  Two
statistics are exactly unbiased: `share`, of users who hold a value, and `total`, the sum of values over all users
(none counts 0), and so are the squares; their variances and covariance are exact.  The mean of holders is total /
share, and `mean_variance` is the exact variance of its linear part (the ratio has a bias of order 1 / n).  Width:
d - 2 cells times min(1, 2 e^(-epsilon/4)), our own: with it share, total and mean are each at least as good as RR for
one half of the users and HM for the other (tests/randomizers/numeric/test_presence.py).
Source: ARCHITECTURE section 5.3 and rule 7, derived here.  Not here: streams in which everybody always has a value.
"""

from fractions import Fraction
from math import inf, sqrt

import numpy as np

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.mechanism import Counts, Floats, Reports
from murmurate.randomizers.numeric.mean import (
    GRID,
    MAX_GRID,
    bits_sum,
    checked_support,
    count_square_bits,
    square_bits,
)
from murmurate.randomizers.numeric.sliding import Sliding, odd_near
from murmurate.randomizers.packing import count_bits, unpack_ints
from murmurate.randomizers.thresholds import Epsilon, exp_floor


class ValueAndPresence(Sliding):
    """The mechanism that sends a cell number, or a flag for *none*. `support` is int64[bits]: the number of reports
    with each bit set, and then with each bit of the square of a cell's number. A profile is share, total and squares,
    each per user.
    """

    name = "value_presence"
    max_domain = MAX_GRID + 1
    measure = "mean"
    says_none = True

    def __init__(self, *, d: int = GRID + 1, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        self.p, self.q = self.window.inside, self.window.outside  # of the report none, from none and from a holder

    def _width(self) -> int:
        steps = self.points - 1
        return odd_near(min(Fraction(steps), 2 * steps / exp_floor(self.epsilon_micro, 4)), steps)

    @property
    def _flag(self) -> int:
        """The bit that stands for *none*."""
        return (self.cells - 1).bit_length()

    @property
    def silence(self) -> int:
        """The report *none*: that bit alone."""
        return 1 << self._flag

    @property
    def outcomes(self) -> int:
        """The number of bits of a report, and of the square of a cell's number."""
        return self._flag + 1 + square_bits(self.cells)

    @property
    def statistics(self) -> int:
        """The two statistics, share and total."""
        return 2

    def value(self, cell: int) -> Fraction | None:
        """The number in [-1, 1] for which a value stands, or None."""
        return None if self.checked(cell) == self.d - 1 else Fraction(2 * cell, self.d - 2) - 1

    def support(self, reports: Reports) -> Counts:
        """The number of reports with each bit set, the lowest first, with that of none, and with each bit of the square
        of a cell's number: int64[outcomes].
        """
        numbers = unpack_ints(self._well_formed(reports))
        cells = np.where(numbers < self.cells, numbers, np.asarray(0, numbers.dtype))
        return np.concatenate((count_bits(reports, self._flag + 1), count_square_bits(cells, self.cells)))

    def worth(self, report: bytes) -> tuple[Fraction, Fraction]:
        """The contributions of one report to the share of holders and to the total of values: unbiased, exact."""
        number = int.from_bytes(report, "little")
        none = number == self.silence
        return (self.p - none) / self.window.gain, Fraction(0) if none else self._cell_worth(number)

    def estimate(self, support: Counts, n: int) -> Floats:
        """The share of holders and the total per user, unbiased and raw: float64[2]."""
        return self.profile(support, n)[:2]

    def profile(self, support: Counts, n: int) -> Floats:
        """The share of holders, and the sums of values and of their squares per user, unbiased and raw: float64[3]."""
        counts = checked_support(self, support, n, self.outcomes)
        bits, none, squares = counts[: self._flag], int(counts[self._flag]), counts[self._flag + 1 :]
        share = (self.p - Fraction(none, n)) / self.window.gain
        total, worth = (whole / n for whole in self._sums_worth(bits_sum(bits), bits_sum(squares), n - none))
        square = (worth - self.silent - share * (self.floor - self.silent)) / (1 + self.slope)
        return np.array([float(share), float(total), float(square)])

    def plausible(self, profile: Floats) -> Floats:
        """The nearest possible moments: a share from 0 to 1, a total no larger than it, and squares between those of
        equal values and the share.
        """
        share = min(max(float(profile[0]), 0.0), 1.0)
        total = min(max(float(profile[1]), -share), share)
        return np.array([share, total, min(max(float(profile[2]), total * total / share if share else 0.0), share)])

    def noise(self, profile: Floats) -> Floats:
        """The noise of share and total: float64[2]."""
        share, _, square = profile
        gain = self.window.gain
        none, holder = (float(x * (1 - x) / gain**2) for x in (self.p, self.q))
        silent, floor, slope = float(self.silent), float(self.floor), float(self.slope)
        return np.array([none + share * (holder - none), silent + share * (floor - silent) + square * slope])

    def sampling(self, profile: Floats) -> Floats:
        """The variance among users of holding a value, and of the value: float64[2]."""
        share, total, square = profile
        return np.array([share * (1 - share), square - total * total])

    def mean(self, support: Counts, n: int) -> float:
        """The mean of those who hold a value, total / share, where the estimated share is above zero."""
        share, total = self.estimate(support, n)
        if share <= 0:
            raise ReportError(f"{self.name}: mean: found no share of holders above 0; allowed: more reports")
        return float(total / share)

    def mean_error(self, profile: Floats, n: int, users: float | None = None) -> float:
        """The standard error of total / share, by the delta method, from the nearest plausible profile.

        users: of how many users the n reports are a sample; None where everybody answers. Without holders infinite.
        """
        share, total, square = self.plausible(profile).tolist()
        if n < 1 or not share:
            return inf
        mean = total / share
        variance = self.mean_variance(n, share, mean, square / share)
        if users is not None and users > max(n, 1):  # the variance of values among holders, each 1 / share times
            variance += (square - share * mean**2) / share**2 / n * (users - n) / (users - 1)
        return sqrt(max(0.0, variance))

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of the share, where this share of n users holds a value."""
        f = np.asarray(frequency)
        if not isinstance(n, int) or n < 1 or f.dtype.kind not in "iuf" or not np.all((f >= 0) & (f <= 1)):
            raise ParameterError(f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1, shares from 0 to 1")
        none, holder = (float(x * (1 - x) / self.window.gain**2) for x in (self.p, self.q))
        return np.asarray((none + f * (holder - none)) / n, np.float64)

    def total_variance(self, n: int, share: float, mean_square: float) -> float:
        """The exact variance of the total per user, if this share of n users holds values of this mean square."""
        self.variance(n, share)
        return float(self.noise(np.array([share, 0.0, share * mean_square]))[1]) / n

    def covariance(self, n: int, share: float, mean: float) -> float:
        """The exact covariance of share and total: a holder who is reported as none adds to neither."""
        self.variance(n, share)
        return share * mean * float(self.q / self.window.gain) / n

    def mean_variance(self, n: int, share: float, mean: float, mean_square: float) -> float:
        """The exact variance of the linear part of the holders' mean, (total - mean share) / share."""
        if not share > 0:
            raise ParameterError(f"{self.name}: mean_variance: found a share of {shown(share)}; allowed: above 0 to 1")
        both = self.total_variance(n, share, mean_square) - 2 * mean * self.covariance(n, share, mean)
        return (both + mean * mean * float(self.variance(n, share))) / share**2
