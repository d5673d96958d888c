# SPDX-License-Identifier: Apache-2.0
"""Mechanisms for sparse vectors whose support is, for each coordinate, a sum of numbers of either sign.

Contract: a report adds one number, of mean kappa times the number that its user has at the coordinate and of the same
mean square whatever the user holds, so that sums over n reports divided by n kappa are unbiased means, with the exact
variances of `mean_moments`.  A support has n times `largest` more than the sum, so that no count of a tally is below 0.
Shares of holders are not told; of sets all signs are +1 and the mean is the share.
Source: ARCHITECTURE section 5.17.  Not here: mechanisms (succinct.py), counts of supports (sparse.py).
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.mechanism import nearest_of_sum
from murmurate.randomizers.question import Counts, Floats
from murmurate.randomizers.vectors.sparse import Moments
from murmurate.randomizers.vectors.vector import VectorQuestion


class SignedSums(VectorQuestion):
    """A mechanism whose reports are added up with signs."""

    tells_shares = False

    @property
    @abstractmethod
    def largest(self) -> int:
        """The largest size of what one report adds."""

    @property
    @abstractmethod
    def sums_of_one(self) -> tuple[float, float]:
        """What a report adds on average for a number of 1, kappa, and its mean square."""

    @property
    def kappa(self) -> float:
        """What a report adds on average where its user has 1."""
        return self.sums_of_one[0]

    @property
    def outcomes(self) -> int:
        """One sum for each coordinate."""
        return self.d

    def _check_most(self, counts: Counts, n: int) -> None:
        """A sum over n reports is not larger than n times the largest."""
        most = 2 * n * self.largest
        if int(counts.max()) > most or int(counts.min()) < 0:
            raise ReportError(f"{self.name}: counts: found a sum that no {n} reports have; allowed: 0 to {most}")

    def estimate(self, support: Counts, n: int) -> Floats:
        """The means (of sets the shares): unbiased, raw: float64[d]."""
        support = np.asarray(support)
        self.check(support, n)
        if n < 1:
            raise ReportError(f"{self.name}: found n = {shown(n)}; allowed: n >= 1")
        return np.asarray((support - n * self.largest) / (n * self.kappa), np.float64)

    @cached_property
    def mean_moments(self) -> Moments:
        """The exact variances of one user's part of a mean."""
        square = self.sums_of_one[1] / self.kappa**2
        return Moments(square, square - 1)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of a mean of signs (of sets: of a share), from n reports of which so many hold it."""
        f = np.asarray(frequency, np.float64)
        if isinstance(n, bool) or not isinstance(n, int) or n < 1 or not np.all((f >= 0) & (f <= 1)):
            found = f"n = {shown(n)}"
            raise ParameterError(f"{self.name}: variance: found {found}; allowed: n >= 1 and frequencies from 0 to 1")
        return np.asarray((self.mean_moments.absent - f) / n, np.float64)

    def plausible(self, profile: Floats) -> Floats:
        """The nearest possible means."""
        return np.clip(profile, -1 if self.signed else 0, 1)

    def likely(self, profile: Floats) -> Floats:
        """The possible profile for variances: of sets the nearest of the same sum."""
        return self.plausible(profile) if self.signed else nearest_of_sum(profile)

    def noise(self, profile: Floats) -> Floats:
        """The variance of one report, with the smallest squares of numbers that means allow: never too small."""
        return self.mean_moments.absent - self._squares(profile)

    def sampling(self, profile: Floats) -> Floats:
        """The variance of each statistic among users; of means its smallest value, so that both are exact together."""
        return self._squares(profile) - profile * profile

    def _squares(self, profile: Floats) -> Floats:
        return profile * profile if self.signed else profile
