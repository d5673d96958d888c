# SPDX-License-Identifier: Apache-2.0
"""The mean of a number over the users who have one, in the stream's own unit, and the share of users who have one.

Contract: the mean of holders is a ratio of two estimates, unbiased up to 1/n, with the standard error of a ratio; it is
NaN unless the share of holders is significantly above 0.  Not here: the part that a mean and a total have in common
(amounts.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmurate.aggregators.measures.amounts import Amounts, scale_of
from murmurate.aggregators.measures.holders import Holding, holding, seen
from murmurate.aggregators.measures.measure import Range, stands
from murmurate.aggregators.measures.planned import Holders
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.methods.last_estimate import measured
from murmurate.aggregators.methods.method import Decision, Estimate
from murmurate.randomizers import ParameterError, Question
from murmurate.randomizers.sessions import Count


@dataclass(frozen=True)
class Mean(Amounts):
    """The mean of the users who have a value, and their share."""

    name = "mean"

    def ones(self) -> Count:
        """Thermometer bits of the number's place on its grid, where everybody has one."""
        if self.says_none:
            raise ParameterError(
                f"method: found one of horizons for a {self.name} of users who may have no value; "
                'allowed: with missing = { carry = "always" }'
            )
        return Count(self.d, none=False)

    def journey(self) -> tuple[float, float]:
        """The lowest number, and one step more: one change."""
        return self.domain.value(0), self.domain.value(1)

    @property
    def d_of_ones(self) -> int:
        """The mean alone."""
        return 1

    def of_ones(self, shares: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """The mean on the scale -1 to 1: that of the number of bits."""
        step = 2 / len(shares)
        return np.array([shares.sum() * step - 1]), np.array([variance.sum() * step**2])

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The mean squared error on the scale -1 to 1: of the mean or, where users may have no value, of the holders'
        mean.
        """
        if holds := holding(question):
            return holds.mean_error(profile, max(1, round(n)), users) ** 2
        return super().round_error(question, n, users, profile)

    def _of_holders(self, decision: Decision, question: Holding, ends: Range) -> NamedFigures:
        """The figures from estimates of share and total: the holders' mean, which is NaN unless there are known to be
        holders, and their share.
        """
        standing, vector, (low, half) = stands(decision), decision.vector, scale_of(ends)
        share, total = standing.statistics.tolist()
        own_share, own_total = vector.unbiased.tolist()
        mean = error = own = own_error = np.nan
        alone = _measured_variance(decision, question)
        if seen(share, min(alone, float(standing.variance[0]))):  # the drift since makes no holder uncertain
            mean, error = total / share, _ratio_error(decision, question, standing, vector.best is not None)
            if seen(own_share, alone):
                method = Estimate(decision.t, vector.unbiased, vector.measured_variance)
                own, own_error = own_total / own_share, _ratio_error(decision, question, method, True)
        near = np.clip(mean, -1, 1)
        own_variance = np.array([(half * own_error) ** 2, vector.measured_variance[0]])
        return self._named(
            decision.with_vector(unbiased=np.array([low + half * (own + 1), own_share]), own_variance=own_variance),
            np.array([low + half * (near + 1), min(max(share, 0.0), 1.0)]),
            np.array([half * np.minimum(error, 1 + abs(near)), np.sqrt(standing.variance[0])]),
            _course_of_holders(standing, low, half),
        )

    def _true_figure(self, mean: float, share: float) -> float:
        """The mean of those who have a value, NaN if nobody has one."""
        return mean

    def true_figures(self, holders: Holders) -> Floats:
        """The mean of the holders, or the middle of the range in periods without any: float64[periods, 1]."""
        total, present = self.sums(holders)
        return np.where(present > 0, total / np.maximum(present, 1), self.guess)[:, None]


def _course_of_holders(standing: Estimate, low: float, half: float) -> Floats | None:
    """The mean and variance of the estimates so far, for the holders' mean and their share, computed from those of
    share and total as if the share had been constant.
    """
    if standing.course is None or not standing.course[0, 0] > 0:
        return None
    (share, total), (of_share, of_total) = standing.course.tolist()
    mean = total / share
    moved = (of_total + mean * mean * of_share) / share**2
    return np.array([[low + half * (min(max(mean, -1.0), 1.0) + 1), share], [half**2 * moved, of_share]])


def _measured_variance(decision: Decision, question: Holding) -> float:
    """The variance of the estimated share as of its measurement, without the drift since."""
    vector = decision.vector
    variance = float(vector.variance[0])
    if vector.answer is None:
        return variance
    fresh = measured(decision.t, question, vector.answer, vector.users).variance
    return min(variance, float(fresh[0]))  # several answers together may be more precise than the newest


def _ratio_error(decision: Decision, question: Holding, standing: Estimate, averaged: bool) -> float:
    """The standard error of total / share, by the delta method. The errors of a measured share and total are
    correlated, which makes the ratio's error smaller; their drift since then is taken for uncorrelated.

    averaged: whether the variances are those of estimates that rest on answers of any number, as a filter's are, and
    not those of the newest answer with the drift since then.
    """
    share, total = standing.statistics.tolist()
    mean = total / share
    of_share, of_total = standing.variance.tolist()
    answer, users = decision.vector.answer, decision.vector.users
    if answer is None:
        return float(np.sqrt(of_total + mean * mean * of_share) / share)
    fresh = measured(decision.t, question, answer, users).variance
    profile = question.plausible(question.profile(answer.support, answer.counted))
    alone = question.mean_error(profile, answer.counted, users) ** 2
    if not averaged:
        drifted = np.maximum(standing.variance - fresh, 0)
        return float(np.sqrt(alone + (drifted[1] + mean * mean * drifted[0]) / share**2))
    measured_mean = profile[1] / profile[0] if profile[0] else 0.0
    apart = fresh[1] + measured_mean**2 * fresh[0]
    together = min(1.0, alone * profile[0] ** 2 / apart) if profile[0] and apart else 1.0
    return float(np.sqrt(together * (of_total + mean * mean * of_share)) / share)
