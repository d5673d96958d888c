# SPDX-License-Identifier: Apache-2.0
"""The share of those who hold a number and the total of their values: what both say together.

Contract: the mean of holders is a ratio, and is known only where the share is significantly above 0; a total is a sum
of both, and is always known.  Not here: what a release shows of them (mean.py, total.py), where numbers are clipped
(methods/threshold.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.method import Floats
from murmurate.randomizers import Question, ValueAndPresence

Holding = ValueAndPresence
"""A mechanism that estimates the share of holders and the total of their values."""
SEEN: Final = 2
"""The number of standard errors by which the share of holders must exceed 0 before their mean is released.  Below it,
the interval of two standard errors of a ratio (Fieller's) is unbounded: no mean whatever is excluded.
"""


def holding(question: Question) -> Holding | None:
    """The mechanism, if it estimates a share and a total; None if it estimates a mean, since everybody has a value."""
    return question if isinstance(question, ValueAndPresence) else None


def seen(share: float, variance: float) -> bool:
    """Whether the share is significantly above zero, so that there are holders. variance: that of the share."""
    return share > SEEN * sqrt(variance)


@dataclass(frozen=True)
class JointErrors:
    """The variances of share and total as one answer tells them, and their covariance."""

    of_share: float
    of_total: float
    together: float
    """The covariance, which has the sign of the mean of values: a holder who is reported as none adds to neither."""

    @classmethod
    def of(cls, question: Holding, profile: Floats, n: int, users: float | None) -> JointErrors:
        """The errors in n reports with this raw profile. users: the number of users of whom those who reported are a
        sample; None if everybody was asked.
        """
        near = question.plausible(profile)
        share, total, _ = near.tolist()
        sampled = 0.0 if users is None else finite_population_factor(n, users)
        of_share, of_total = (question.noise(near) + sampled * question.sampling(near)).tolist()
        together = question.covariance(n, share, total / share) if share else 0.0
        return cls(of_share / n, of_total / n, together + sampled * total * (1 - share) / n)

    def variance(self, weight: float) -> float:
        """The variance of total + weight * share."""
        return self.apart(weight) + 2 * weight * self.together

    def apart(self, weight: float) -> float:
        """The variance of total + weight * share if both errors were uncorrelated."""
        return self.of_total + weight * weight * self.of_share
