# SPDX-License-Identifier: Apache-2.0
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

    def _weight_of_holders(self, figures: NamedFigures) -> float:
        """The share of holders: nobody else's number is clipped."""
        return float(figures.estimate[1]) if self.says_none else 1.0

    def _of_holders(self, decision: Decision, question: Holding, ends: Range) -> NamedFigures:
        """The sum over those who hold a value, per user of all, and their share."""
        standing, told = stands(decision), decision.vector
        half, weight = (ends[1] - ends[0]) / 2, _weight(ends)
        sums = np.array([[half * weight, half], [1.0, 0.0]])  # rows: the figure and the share, from share and total
        estimate, own = sums @ standing.statistics, sums @ told.unbiased
        squares = np.array([weight * weight, 1.0])
        variance, own_variance = standing.variance @ squares, told.measured_variance @ squares
        if told.answer is not None:
            n = told.answer.counted
            fresh = JointErrors.of(question, question.profile(told.answer.support, n), n, told.users)
            filtered = told.best is not None
            variance = _of_filter(fresh, standing, weight) if filtered else _of_newest(fresh, standing.variance, weight)
            own_variance *= fresh.variance(weight) / fresh.apart(weight)
        course = standing.course
        if course is not None:
            course = np.stack((sums @ course[0], sums**2 @ course[1]))
        low, high = self.figure_limits
        return self._named(
            decision.with_vector(
                unbiased=own, own_variance=np.array([half**2 * own_variance, told.measured_variance[0]])
            ),
            np.clip(estimate, [low, 0.0], [high, 1.0]),
            np.sqrt(np.array([half**2 * float(variance), float(standing.variance[0])])),
            course,
        )

    @property
    def moving(self) -> str:
        """The holders' mean, where users may have no value: the share of holders stays in a synthetic truth, and the
        total moves with both.
        """
        return "the mean of those with a value" if self.says_none else super().moving

    @property
    def drifts(self) -> str:
        """The words "of the range", in which the numbers lie and the total need not."""
        return "of the range "

    def _true_figure(self, mean: float, share: float) -> float:
        """The sum per user: nothing where nobody holds a number."""
        return mean * share if share else 0.0

    def true_figures(self, holders: Holders) -> Floats:
        """The sum per user."""
        return np.asarray(self.sums(holders)[0] / holders.sum(axis=1))[:, np.newaxis]


def _weight(ends: Range) -> float:
    """The weight of the share beside the total, on a scale with these ends: its middle in units of half its length."""
    return (ends[1] + ends[0]) / (ends[1] - ends[0])


def _of_filter(fresh: JointErrors, standing: Estimate, weight: float) -> float:
    """The variance of total + weight * share, computed from a filter's estimates of both.

    The error of a filter with gain g consists of the noise of answers and of its lag behind the truth, with variances
    in the ratio 1 to 1 - g (a random walk, steady state).  The noise of share and total is correlated as in one answer.
    Their lags are correlated as if the number of holders and their mean drifted independently.
    """
    of_share, of_total = standing.variance.tolist()
    share, total = standing.statistics.tolist()
    apart, most = of_total + weight * weight * of_share, sqrt(of_share * of_total)
    mean = min(max(total / share, -1.0), 1.0) if share > 0 else 0.0
    noise = apart * fresh.variance(weight) / fresh.apart(weight)
    behind = apart + 2 * weight * min(max(mean * of_share, -most), most)
    gain = min(1.0, of_total / fresh.of_total)
    return float((noise + (1 - gain) * behind) / (2 - gain))


def _of_newest(fresh: JointErrors, variance: Floats, weight: float) -> float:
    """The variance of total + weight * share in the newest answer, and of the drift of both since then, which is taken
    for uncorrelated.
    """
    drifted = np.maximum(variance - np.array([fresh.of_share, fresh.of_total]), 0.0)
    return fresh.variance(weight) + float(drifted[1] + weight * weight * drifted[0])
