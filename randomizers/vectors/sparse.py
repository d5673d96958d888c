# SPDX-License-Identifier: Apache-2.0
"""Oracles for sparse vectors that count, for each coordinate, how many reports support +1 and how many -1.

Contract: a report supports the sign that a user holds at a coordinate with probability `own`, the opposite sign with
`opposite`, and either sign of a coordinate that the user does not hold with `absent`; both signs at once with
`both_held` and `both_absent`.  These are realised and exact, the same for every value and every user, so that with g =
own - opposite and h = own + opposite - 2 absent

    mean of the numbers    (C+ - C-) / (n g)              share of holders    (C+ + C- - 2 n absent) / (n h)

are unbiased, with the exact variances of `mean_moments` and `share_moments`.  The support is int64[2 d]: the supports
of +1 of all coordinates, then those of -1.  Where h is 0, shares cannot be told (`tells_shares`).  Of sets the share is
the mean of the signs, all +1, unless a subclass has no signs.

A number x that is drawn as a sign adds the variance 1 - x^2.  Reports do not tell squares: `noise` takes the smallest
that mean and share allow, (mean)^2 / share, so that it is never too small; `sampling` is the rest, so that both
together are exact.  Source: ARCHITECTURE section 5.17.  Not here: mechanisms.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.mechanism import nearest_of_sum
from murmurate.randomizers.question import Atom, Blanket, Counts, Floats
from murmurate.randomizers.vectors.vector import VectorQuestion


class Supports(NamedTuple):
    """The probabilities that a report supports signs of a coordinate; realised, exact."""

    own: Fraction
    """The probability of supporting the sign that the user holds."""
    opposite: Fraction
    """The probability of supporting the opposite of the sign that the user holds."""
    absent: Fraction
    """The probability of supporting one certain sign of a coordinate that the user does not hold."""
    both_held: Fraction = Fraction(0)
    """The probability of supporting both signs of a coordinate that the user holds."""
    both_absent: Fraction = Fraction(0)
    """The probability of supporting both signs of a coordinate that the user does not hold."""


class Moments(NamedTuple):
    """The variance of one user's part of an estimate."""

    absent: float
    """At a coordinate that the user does not hold."""
    held: float
    """At one where the user has +1 or -1."""


class SparseOracle(VectorQuestion):
    """A mechanism whose reports support signs of coordinates."""

    supports: Supports
    """The probabilities of supports, which a subclass's constructor sets."""

    @property
    def outcomes(self) -> int:
        """The length of the support: two counts for each coordinate."""
        return 2 * self.d

    @cached_property
    def gap(self) -> Fraction:
        """The probability of supporting a sign that is held, less that of supporting its opposite."""
        return self.supports.own - self.supports.opposite

    @cached_property
    def share_gap(self) -> Fraction:
        """The expected number of supported signs of a coordinate that is held, less that of one that is not."""
        return self.supports.own + self.supports.opposite - 2 * self.supports.absent

    @cached_property
    def mean_moments(self) -> Moments:
        """The exact variances of one user's part of a mean."""
        absent, held = self._mean_squares
        return Moments(float(absent), float(held - 1))

    @cached_property
    def _mean_squares(self) -> tuple[Fraction, Fraction]:
        """The mean squares of one user's part of a mean, at a coordinate that is not held and at one that is."""
        own, opposite, absent, both, neither = self.supports
        squared = self.gap**2
        return 2 * (absent - neither) / squared, (own + opposite - 2 * both) / squared

    @cached_property
    def share_moments(self) -> Moments:
        """The exact variances of one user's part of a share of holders."""
        own, opposite, absent, both, neither = self.supports
        if not self.share_gap:
            raise ParameterError(f"{self.name}: found asked for shares; allowed: means, which alone it tells")
        squared, either = self.share_gap**2, own + opposite
        return Moments(
            float((2 * (absent + neither) - 4 * absent**2) / squared), float((either + 2 * both - either**2) / squared)
        )

    # ---- the server's half ----

    def estimate(self, support: Counts, n: int) -> Floats:
        """The means and, where they are told, the shares of holders: unbiased, raw: float64[statistics]."""
        support = np.asarray(support)
        self.check(support, n)
        if n < 1:
            raise ReportError(f"{self.name}: found n = {shown(n)}; allowed: n >= 1")
        up, down = support[: self.d], support[self.d :]
        means = (up - down) / (n * float(self.gap))
        if self.statistics == self.d:
            return np.asarray(means, np.float64)
        shares = ((up + down) / n - 2 * float(self.supports.absent)) / float(self.share_gap)
        return np.concatenate((means, shares))

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of a mean of signs (of sets: of a share), from n reports of which so many hold it."""
        f = self._checked(n, frequency)
        absent, held = self.mean_moments
        return np.asarray((absent + f * (held - absent)) / n, np.float64)

    def share_variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of a share of holders, from n reports of which this share holds the item."""
        f = self._checked(n, frequency)
        absent, held = self.share_moments
        return np.asarray((absent + f * (held - absent)) / n, np.float64)

    def covariance(self, n: int, mean: float | Floats) -> Floats:
        """The exact covariance of the mean and the share of the same coordinate, for n reports with this mean."""
        own, opposite, *_ = self.supports
        return np.asarray(np.asarray(mean) * float((1 - own - opposite) / self.share_gap) / n, np.float64)

    def _checked(self, n: int, frequency: float | Floats) -> Floats:
        f = np.asarray(frequency, np.float64)
        if isinstance(n, bool) or not isinstance(n, int) or n < 1 or not np.all((f >= 0) & (f <= 1)):
            found = f"n = {shown(n)}"
            raise ParameterError(f"{self.name}: variance: found {found}; allowed: n >= 1 and frequencies from 0 to 1")
        return f

    def plausible(self, profile: Floats) -> Floats:
        """The nearest possible means and shares: no mean is larger than its share."""
        if not self.signed:
            return np.clip(profile, 0, 1)
        if self.statistics == self.d:
            return np.clip(profile, -1, 1)
        shares = np.clip(profile[self.d :], 0, 1)
        return np.concatenate((np.clip(profile[: self.d], -shares, shares), shares))

    def likely(self, profile: Floats) -> Floats:
        """The possible profile of the same sum of shares, since variances are linear in them."""
        if not self.signed:
            return nearest_of_sum(profile)
        if self.statistics == self.d:
            return self.plausible(profile)
        shares = nearest_of_sum(profile[self.d :])
        return np.concatenate((np.clip(profile[: self.d], -shares, shares), shares))

    def noise(self, profile: Floats) -> Floats:
        """The variance of one report at each statistic, for populations of this profile: never too small."""
        means, shares = self._halves(profile)
        absent, held = map(float, self._mean_squares)
        of_means = absent + shares * (held - absent) - self._squares(means, shares)
        if self.statistics == self.d:
            return of_means
        zero, one = self.share_moments
        return np.concatenate((of_means, zero + shares * (one - zero)))

    def sampling(self, profile: Floats) -> Floats:
        """The variance of each statistic among users; of means its smallest value (see above)."""
        means, shares = self._halves(profile)
        of_means = self._squares(means, shares) - means * means
        return of_means if self.statistics == self.d else np.concatenate((of_means, shares * (1 - shares)))

    def _halves(self, profile: Floats) -> tuple[Floats, Floats]:
        """The means and the shares of holders of a profile; shares that are not told are taken as the means allow."""
        means = np.asarray(profile[: self.d], np.float64)
        if not self.signed:
            return means, means
        return means, np.asarray(profile[self.d :], np.float64) if self.tells_shares else np.abs(means)

    def _squares(self, means: Floats, shares: Floats) -> Floats:
        """The smallest mean squares of numbers with these means and shares; of sets the shares."""
        if not self.signed:
            return shares
        if not self.tells_shares:
            return means * means
        return np.divide(means * means, shares, out=np.zeros_like(means), where=shares > 0)

    # ---- the auditor's ----

    @abstractmethod
    def supported(self, reports: Any, item: int, sign: int) -> Any:
        """Which of uint8[n, wire_size] support this sign of this item: bool[n]."""

    def four_atoms(self, mass: Fraction, apart: Fraction, alike: Fraction, neither: Fraction) -> Blanket:
        """The blanket of a mechanism with two levels of probability, the larger `realised` times the smaller.

        mass: the share of the blanket, which is the smaller level summed over all reports. apart: the part of it that
        is likelier under the first of the worst pair alone (and as much under the other). alike: the part likelier
        under both. neither: the rest (ARCHITECTURE section 5.17).
        """
        one, high = Fraction(1), self.realised
        atoms = [Atom(mass * apart, high, one), Atom(mass * apart, one, high)]
        atoms += [Atom(mass * alike, high, high)] if alike else []
        return (*atoms, Atom(mass * neither, one, one)) if neither else tuple(atoms)
