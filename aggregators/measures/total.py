"""A total: the sum of a number over all users, told per user of the population, and how many have a value.

Contract: a user without a value adds nothing, so a total is known whoever holds one, and times the number of users it
is the sum of everybody's numbers.  It is a sum of the mechanism's two statistics, unbiased, and its error is exact:
that of the sum, which is no ratio, with the covariance of both and, where users are drawn, their sampling.

Sums over periods.  The sum of `unbiased` over the periods of a stretch is an unbiased estimate of the sum of their
totals.  Mechanism noise is independent from period to period, so its variances add up.  Under budget division everybody
answers every time and there is no other error: the variance of the sum is the sum of squared standard errors.  Under
population division the errors of drawing users are not independent: the groups of one window are disjoint, and after w
periods the same group may answer again.  For numbers that have nothing to do with each other from period to period
their variances add up all the same; for others the sampling part may be smaller, or larger by a factor of at most
k w / (w - 1), where k is the number of times that a group answers in the stretch: its periods divided by w, rounded up.
So the standard error of the sum is at most sqrt(k w / (w - 1)) times the root of the sum of squares.
Not here: what means and totals share (amounts.py), totals that a trusted edge sums (`model = "central"`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from murmurate.aggregators.measures.amounts import Amounts
from murmurate.aggregators.measures.holders import Holding, JointErrors, holding
from murmurate.aggregators.measures.measure import Range, stands
from murmurate.aggregators.measures.planned import Holders
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.methods.method import Decision, Estimate
from murmurate.randomizers import Question


@dataclass(frozen=True)
class Total(Amounts):
    """A total per user, and the share of those who have a value."""

    name = "total"

    @property
    def figure_limits(self) -> Range:
        """As a number, or from and to nothing where users may have none."""
        low, high = self.range
        return (min(low, 0.0), max(high, 0.0)) if self.says_none else (low, high)

    @property
    def axis(self) -> Range:
        """Where nobody has a value the total is 0, which need not lie in the range."""
        return self.figure_limits

    @property
    def what(self) -> str:
        """Which numbers, and what their sum is divided by."""
        return f"{super().what}, per user of the population"

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The error of numbers on the scale -1 to 1; with silence that of the sum of both statistics."""
        if holds := holding(question):
            return JointErrors.of(holds, profile, max(1, round(n)), users).variance(_weight(self.range))
        return super().round_error(question, n, users, profile)

    def _weight_of_holders(self, told: NamedFigures) -> float:
        """The share of holders: nobody else's number is clipped."""
        return float(told.estimate[1]) if self.says_none else 1.0

    def _of_holders(self, decision: Decision, question: Holding, ends: Range) -> NamedFigures:
        """The sum over those who hold a value, per user of all, and their share."""
        said, told = stands(decision), decision.vector
        half, weight = (ends[1] - ends[0]) / 2, _weight(ends)
        sums = np.array([[half * weight, half], [1.0, 0.0]])  # of share and total: the figure, and the share
        estimate, own = sums @ said.statistics, sums @ told.unbiased
        squares = np.array([weight * weight, 1.0])
        variance, own_variance = said.variance @ squares, told.measured_variance @ squares
        if told.answer is not None:
            n = told.answer.counted
            fresh = JointErrors.of(question, question.profile(told.answer.support, n), n, told.users)
            filtered = told.best is not None
            variance = _of_filter(fresh, said, weight) if filtered else _of_newest(fresh, said.variance, weight)
            own_variance *= fresh.variance(weight) / fresh.apart(weight)
        course = None if said.course is None else np.stack((sums @ said.course[0], sums**2 @ said.course[1]))
        low, high = self.figure_limits
        return self._named(
            decision.with_vector(
                unbiased=own, own_variance=np.array([half**2 * own_variance, told.measured_variance[0]])
            ),
            np.clip(estimate, [low, 0.0], [high, 1.0]),
            np.sqrt(np.array([half**2 * float(variance), float(said.variance[0])])),
            course,
        )

    def _true_figure(self, mean: float, share: float) -> float:
        """The sum per user: nothing where nobody holds a number."""
        return mean * share if share else 0.0

    def true_figures(self, holders: Holders) -> Floats:
        """The sum per user."""
        return np.asarray(self.sums(holders)[0] / holders.sum(axis=1))[:, np.newaxis]


def _weight(ends: Range) -> float:
    """How often the share counts beside the total of a scale with these ends: its middle, in halves of its length."""
    return (ends[1] + ends[0]) / (ends[1] - ends[0])


def _of_filter(fresh: JointErrors, said: Estimate, weight: float) -> float:
    """The variance of total + weight * share, of a filter's estimates of both.

    A filter that gives an answer the weight g errs by the noise of answers and by what it has not followed yet, in
    variance as 1 to 1 - g.  The noise of both goes together as in an answer.  What has not been followed does as where
    holders come and go and their mean has its own way: whoever comes brings the mean along.
    """
    of_share, of_total = said.variance.tolist()
    share, total = said.statistics.tolist()
    apart, most = of_total + weight * weight * of_share, sqrt(of_share * of_total)
    mean = min(max(total / share, -1.0), 1.0) if share > 0 else 0.0
    noise = apart * fresh.variance(weight) / fresh.apart(weight)
    behind = apart + 2 * weight * min(max(mean * of_share, -most), most)
    gain = min(1.0, of_total / fresh.of_total)
    return float((noise + (1 - gain) * behind) / (2 - gain))


def _of_newest(fresh: JointErrors, variance: Floats, weight: float) -> float:
    """The variance of total + weight * share of the newest answer, and what both may have drifted since, each by
    itself, as far as is known.
    """
    drifted = np.maximum(variance - np.array([fresh.of_share, fresh.of_total]), 0.0)
    return fresh.variance(weight) + float(drifted[1] + weight * weight * drifted[0])
