"""A mean: that of a number over the users who have one, in the stream's own unit, and how many have.

Contract: the mean of holders is a ratio, unbiased up to 1/n, and unknown where nobody is known to hold a value; its
error is that of a ratio.  Errors count for the mean alone: how many have a value is not what was asked.  Not here:
what means and totals share (amounts.py).
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
from murmurate.randomizers import Question


@dataclass(frozen=True)
class Mean(Amounts):
    """A mean, and the share of those who have a value."""

    name = "mean"

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The error of numbers on the scale -1 to 1; with silence that of the holders' mean."""
        if holds := holding(question):
            return holds.mean_error(profile, max(1, round(n)), users) ** 2
        return super().round_error(question, n, users, profile)

    def _of_holders(self, decision: Decision, question: Holding, ends: Range) -> NamedFigures:
        """The mean of those who hold a value, and their share."""
        said, (low, half) = stands(decision), scale_of(ends)
        share, total = said.statistics.tolist()
        own_share, own_total = decision.vector.unbiased.tolist()
        mean = error = own = own_error = np.nan
        alone = _measured_variance(decision, question)
        if seen(share, min(alone, float(said.variance[0]))):  # nobody is forgotten because time has passed
            mean, error = total / share, _ratio_error(decision, question, said, decision.vector.best is not None)
            if seen(own_share, alone):
                method = Estimate(decision.t, decision.vector.unbiased, decision.vector.measured_variance)
                own, own_error = own_total / own_share, _ratio_error(decision, question, method, True)
        near = np.clip(mean, -1, 1)
        own_variance = np.array([(half * own_error) ** 2, decision.vector.measured_variance[0]])
        return self._named(
            decision.with_vector(unbiased=np.array([low + half * (own + 1), own_share]), own_variance=own_variance),
            np.array([low + half * (near + 1), min(max(share, 0.0), 1.0)]),
            np.array([half * np.minimum(error, 1 + abs(near)), np.sqrt(said.variance[0])]),
            _course_of_holders(said, low, half),
        )

    def _true_figure(self, mean: float, share: float) -> float:
        """The mean of holders. Of those who hold no value it is NaN."""
        return mean

    def true_figures(self, holders: Holders) -> Floats:
        """The mean of holders alone; the middle of the range where there is none."""
        total, present = self.sums(holders)
        return np.where(present > 0, total / np.maximum(present, 1), self.guess)[:, None]


def _course_of_holders(said: Estimate, low: float, half: float) -> Floats | None:
    """The course of the mean and the share, from those of share and total, as if the share had stood."""
    if said.course is None or not said.course[0, 0] > 0:
        return None
    (share, total), (of_share, of_total) = said.course.tolist()
    mean = total / share
    moved = (of_total + mean * mean * of_share) / share**2
    return np.array([[low + half * (min(max(mean, -1.0), 1.0) + 1), share], [half**2 * moved, of_share]])


def _measured_variance(decision: Decision, question: Holding) -> float:
    """The variance of the method's share when it was measured, whatever has drifted since."""
    told = decision.vector
    variance = float(told.variance[0])
    if told.answer is None:
        return variance
    fresh = measured(decision.t, question, told.answer, told.users).variance
    return min(variance, float(fresh[0]))  # several answers together may know more than the newest


def _ratio_error(decision: Decision, question: Holding, said: Estimate, averaged: bool) -> float:
    """The standard error of total / share, by the delta method. Errors of share and total go together where they were
    measured, which makes that of their ratio smaller; what both have drifted since does not, as far as is known.

    averaged: whether the variances are those of answers alone, of as many as there are, and not those of the newest
    one with the drift since.
    """
    share, total = said.statistics.tolist()
    mean = total / share
    of_share, of_total = said.variance.tolist()
    answer, users = decision.vector.answer, decision.vector.users
    if answer is None:
        return float(np.sqrt(of_total + mean * mean * of_share) / share)
    fresh = measured(decision.t, question, answer, users).variance
    profile = question.plausible(question.profile(answer.support, answer.counted))
    alone = question.mean_error(profile, answer.counted, users) ** 2
    if not averaged:
        drifted = np.maximum(said.variance - fresh, 0)
        return float(np.sqrt(alone + (drifted[1] + mean * mean * drifted[0]) / share**2))
    measured_mean = profile[1] / profile[0] if profile[0] else 0.0
    apart = fresh[1] + measured_mean**2 * fresh[0]
    together = min(1.0, alone * profile[0] ** 2 / apart) if profile[0] and apart else 1.0
    return float(np.sqrt(together * (of_total + mean * mean * of_share)) / share)
