"""Means among holders of many items: quotients of a mean over all users and the share of holders, with their errors.

Contract: the error is that of a ratio by the delta method, with the exact correlation that reports and sampling give
the two estimates; drift since they were measured is taken for uncorrelated.  A quotient is NaN unless its share exceeds
0 by as many standard errors as leave one wrong one to be expected in 44 releases, whatever the number of items: with
one item that is 2 (holders.py).  Below it nothing is known of the mean among holders.  Not here: a single number with a
share (mean.py).
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
    (2.0, 4.08)
    """
    return SEEN if d == 1 else -NORMAL.inv_cdf(NORMAL.cdf(-SEEN) / d)


def quotients(newest: MeasuredPair, standing: Estimate, *, filtered: bool) -> tuple[Floats, Floats]:
    """The means among holders, raw, and their standard errors, at most what is possible: two float64[d].

    filtered: whether the variances are those of estimates that average answers, as a filter's are; else those of the
    newest answer, and the drift since then.
    """
    (means, shares), (of_means, of_shares) = np.split(standing.statistics, 2), np.split(standing.variance, 2)
    own_means, own_shares = (of_means, of_shares) if filtered else np.split(newest.variance, 2)
    alone = np.minimum(of_shares, np.split(newest.variance, 2)[1])  # the drift since makes no holder uncertain
    known: NDArray[np.bool_] = shares > errors_from_zero(len(shares)) * np.sqrt(alone)
    share = np.where(known, shares, 1.0)
    ratio = np.where(known, means / share, np.nan)
    together = newest.correlation(standing.statistics) * np.sqrt(own_means * own_shares)
    drifted = np.maximum(of_means - own_means, 0) + ratio**2 * np.maximum(of_shares - own_shares, 0)
    squared = own_means - 2 * ratio * together + ratio**2 * own_shares + drifted
    error = np.sqrt(np.maximum(squared, 0)) / share
    return ratio, np.minimum(error, 1 + np.abs(np.clip(ratio, -1, 1)))
