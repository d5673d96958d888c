# SPDX-License-Identifier: Apache-2.0
"""Means among holders of many items: quotients of a mean over all users and the share of holders, with their errors.

Contract: the error is that of a ratio by the delta method, with the exact correlation that reports and sampling give
the two estimates; drift since they were measured is taken for uncorrelated.  Of a filter the part that is noise is told
apart from its lag behind the truth, in which mean and share have more in common.  A quotient is NaN unless its share
exceeds 0 by so many standard errors that one item that nobody holds is to be expected in 44 releases, whatever the
number of items: with one item by 2 (holders.py).  Not here: a single number with a share (mean.py).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.holders import SEEN
from murmurate.aggregators.measures.result import Floats
from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.method import Answer, Estimate
from murmurate.randomizers.vectors import SparseOracle

NORMAL: Final = NormalDist()


class Variances(NamedTuple):
    """The variances of means over all users and of shares: two float64[d]."""

    of_means: Floats
    of_shares: Floats

    def apart(self, ratio: Floats) -> Floats:
        """The variance of mean - ratio * share if both errors were uncorrelated."""
        return np.asarray(self.of_means + ratio**2 * self.of_shares)

    def beyond(self, other: Variances) -> Variances:
        """The parts by which these exceed others."""
        return Variances(*(np.maximum(mine - theirs, 0) for mine, theirs in zip(self, other, strict=True)))


class MeasuredPair(NamedTuple):
    """The newest answer about means and shares, as far as errors depend on it."""

    question: SparseOracle
    variance: Floats
    """The variance of each mean and share as of their measurement: float64[2 d]."""
    answer: Answer | None
    users: float | None
    """The number of users of whom those who answered are a sample; None if everybody was asked."""

    def correlation(self, statistics: Floats) -> Floats:
        """The correlation of each mean and share in an answer, in a population with these statistics: float64[d]."""
        if self.answer is None or not self.answer.counted:
            return np.zeros(len(statistics) // 2)
        n, near = self.answer.counted, self.question.plausible(statistics)
        sampled = 0.0 if self.users is None else finite_population_factor(n, self.users)
        of_means, of_shares = np.split(self.question.noise(near) + sampled * self.question.sampling(near), 2)
        means, shares = np.split(near, 2)
        together = self.question.covariance(1, means) + sampled * means * (1 - shares)
        return np.asarray(np.clip(together / np.sqrt(of_means * of_shares), -1, 1))


def errors_from_zero(d: int) -> float:
    """The number of standard errors by which a share among d must exceed 0 before the mean of its holders is told.

    >>> errors_from_zero(1), round(errors_from_zero(1000), 2)
    (2, 4.08)
    """
    return SEEN if d == 1 else -NORMAL.inv_cdf(NORMAL.cdf(-SEEN) / d)


def quotients(newest: MeasuredPair, standing: Estimate, *, filtered: bool) -> tuple[Floats, Floats]:
    """The means among holders, raw, and their standard errors, at most what is possible: two float64[d].

    filtered: whether the variances are those of a filter; else those of the newest answer, and the drift since then.
    """
    means, shares = np.split(standing.statistics, 2)
    now, fresh = (Variances(*np.split(variance, 2)) for variance in (standing.variance, newest.variance))
    alone = np.minimum(now.of_shares, fresh.of_shares)  # the drift since makes no holder uncertain
    known: NDArray[np.bool_] = shares > errors_from_zero(len(shares)) * np.sqrt(alone)
    share = np.where(known, shares, 1.0)
    ratio = np.where(known, means / share, np.nan)
    if filtered:
        squared = now.apart(ratio) - 2 * ratio * _together(newest, standing, ratio)
    else:
        together = newest.correlation(standing.statistics) * np.sqrt(fresh.of_means * fresh.of_shares)
        squared = fresh.apart(ratio) - 2 * ratio * together + now.beyond(fresh).apart(ratio)
    error = np.sqrt(np.maximum(squared, 0)) / share
    return ratio, np.minimum(error, 1 + np.abs(np.clip(ratio, -1, 1)))


def _together(newest: MeasuredPair, standing: Estimate, ratio: Floats) -> Floats:
    """The covariance of a filter's estimates of mean and share: that of their noise, and that of their lags.

    The noise of a filter of gain K, in answers of variance R, is K^2 R / (1 - (1 - K)^2), and two of gains K and k have
    K k R' / (K + k - K k) in common, where R' is the covariance in an answer. Their lags have (1 - K) (1 - k) Q / (K +
    k - K k) in common, where Q is the covariance of what mean and share move by in a period: the ratio times the
    variance of the share's, if the number of holders and their mean drift independently. For small gains both come to
    the forms below.
    """
    variance, fresh = standing.variance, newest.variance
    if (noise := standing.of_noise) is None:  # as one gain for all answers would have it
        noise = variance / (2 - np.minimum(1, variance / fresh))
    noise = np.minimum(noise, variance)
    (of_means, of_shares), gains = np.split(noise, 2), np.split(noise / fresh, 2)
    lag_of_means, lag_of_shares = np.split(variance - noise, 2)
    part = 2 / (gains[0] + gains[1])
    common = newest.correlation(standing.statistics) * np.sqrt(of_means * of_shares * gains[0] * gains[1])
    most = np.sqrt(lag_of_means * lag_of_shares)
    return np.asarray(part * common + np.clip(part * gains[1] * ratio * lag_of_shares, -most, most))
