"""What is told of numbers by two statistics: the share of those who hold one, and the total of their values.

Contract: the mean of holders is a ratio, and known only where somebody is known to hold a value; a total is a sum of
both, and always known.  Not here: what a release shows of them (mean.py, total.py), where numbers are clipped
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
"""A mechanism that tells the share of holders and the total of their values."""
SEEN: Final = 2
"""Standard errors that the share of holders is measured above none before their mean is a number.  Below, the interval
of two standard errors that belongs to a ratio (Fieller's) has no end: no mean whatever is excluded.
"""


def holding(question: Question) -> Holding | None:
    """The mechanism, where it tells a share and a total; None where it tells a mean, since everybody has a value."""
    return question if isinstance(question, ValueAndPresence) else None


def seen(share: float, variance: float) -> bool:
    """Whether somebody is known to hold a value. variance: of the share."""
    return share > SEEN * sqrt(variance)


@dataclass(frozen=True)
class JointErrors:
    """The variances of share and total as one answer tells them, and their covariance."""

    of_share: float
    of_total: float
    together: float
    """The covariance: positive where the values are, since whoever is taken for silent loses the value too."""

    @classmethod
    def of(cls, question: Holding, profile: Floats, n: int, users: float | None) -> JointErrors:
        """Those of n reports with this raw profile, a sample of so many users; None: everybody was asked."""
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
        """What that would be if the errors of both had nothing to do with each other."""
        return self.of_total + weight * weight * self.of_share
