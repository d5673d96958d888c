"""From a decision to the figures that a release shows: frequencies, a mean in the stream's own unit, a distribution.

Contract: `unbiased` is raw and of the period's own method; `estimate` is the best there is and always possible, and
`stderr` its error as a figure of its period: the filter's where one follows the stream, else what the newest reports
allow.  What nothing is known of is NaN: all of it before the first answer, and the mean of holders where nobody is
known to hold a value.  That mean is a ratio, unbiased up to 1/n.  Not here: what to release when (methods), the record
(agents/stages/release.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from murmurate.aggregators.distribution_posterior import posterior
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.methods.dissimilarity import not_asked
from murmurate.aggregators.methods.method import Answer, Decision, Estimate, Floats
from murmurate.aggregators.methods.standing import measured
from murmurate.aggregators.methods.threshold import SEEN
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping, shaped
from murmurate.randomizers import SW, Clipped, ValueAndPresence, Viewed, WaveAndPresence

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Figures:
    """Three times the statistics of a release, in the order of the stream's names; NaN where nothing is known."""

    estimate: Floats
    stderr: Floats
    unbiased: Floats
    course: Floats | None = None
    """Mean and variance of the estimates so far, where a filter follows the stream: float64[2, names]."""


def figures(decision: Decision, range_: Range | None, shaping: Shaping = NORM_SUB) -> Figures:
    """What a decision says. range_: of numbers, what -1 and 1 stand for; shaping: of the estimates of a frequency."""
    told = _told(decision, range_, shaping)
    if decision.measured_t is not None:
        return told
    unknown = np.full(len(told.unbiased), np.nan)  # the method has zeros there, to compare its first answer with
    return Figures(unknown, unknown, unknown) if decision.best is None else replace(told, unbiased=unknown)


def _told(decision: Decision, range_: Range | None, shaping: Shaping) -> Figures:
    """The same, as if something had been measured."""
    mechanism = decision.mechanism
    if isinstance(mechanism, Viewed) and isinstance(mechanism.view, Clipped):
        return _clipped(decision, mechanism, mechanism.view, range_ or (-1.0, 1.0))
    said = decision.best or Estimate(decision.t, decision.unbiased, decision.variance)
    if isinstance(mechanism, ValueAndPresence):
        return _holders(decision, mechanism, said, range_ or (-1.0, 1.0))
    if isinstance(mechanism, SW | WaveAndPresence):
        if said.of_reports:
            return Figures(*_behind(said, mechanism), decision.unbiased)
        if decision.best is None and decision.measured_t is not None and decision.answer is not None:
            return Figures(*_of_reports(decision, mechanism, decision.answer), decision.unbiased)
    stderr = np.sqrt(said.variance)
    if mechanism.measure == "mean":
        low, half = _scale(range_ or (-1.0, 1.0))
        near = np.clip(said.statistics, -1, 1)
        course = None
        if said.course is not None:
            course = np.stack((low + half * (said.course[0] + 1), half**2 * said.course[1]))
        return Figures(low + half * (near + 1), half * stderr, low + half * (decision.unbiased + 1), course)
    return Figures(_shares(decision, shaping), stderr, decision.unbiased, said.course)


def _clipped(decision: Decision, mechanism: Viewed, view: Clipped, range_: Range) -> Figures:
    """What its inner mechanism says, whose scale is a part of the range; what a threshold takes is an error, too."""
    told = figures(replace(decision, mechanism=mechanism.inner), view.within(*range_))
    taken = np.zeros(len(told.stderr))
    taken[0] = decision.clipped * (range_[1] - range_[0])
    return replace(told, stderr=np.hypot(told.stderr, taken))


def _behind(said: Estimate, mechanism: SW | WaveAndPresence) -> tuple[Floats, Floats]:
    """The distribution behind shares of reports, and its error: of as many reports as know these shares as well."""
    shares = np.clip(said.statistics, 0, 1)
    reports = float((shares * (1 - shares)).mean() / said.variance.mean())
    found = posterior(channel_of(mechanism), shares * reports)
    return found.frequencies, np.sqrt(found.variance)


def _of_reports(decision: Decision, mechanism: SW | WaveAndPresence, answer: Answer) -> tuple[Floats, Floats]:
    """The distribution behind the newest reports, and its error: what they have drifted since comes on top."""
    n, users = answer.counted, decision.users
    sampled = 0.0 if users is None else not_asked(n, users)
    found = posterior(channel_of(mechanism), answer.support, sampled=sampled)
    fresh = measured(decision.t, mechanism, answer, users).variance
    return found.frequencies, np.sqrt(found.variance + np.maximum(decision.variance - fresh, 0))


def _scale(range_: Range) -> tuple[float, float]:
    """Its low end, and half its length."""
    return range_[0], (range_[1] - range_[0]) / 2


def _shares(decision: Decision, shaping: Shaping) -> Floats:
    """Shares that a population can have."""
    said = decision.best or Estimate(decision.t, decision.unbiased, decision.variance)
    return shaped(shaping, said.statistics, said.variance, decision.mechanism)


def _holders(decision: Decision, mechanism: ValueAndPresence, said: Estimate, range_: Range) -> Figures:
    """The mean of those who hold a value, and their share."""
    low, half = _scale(range_)
    share, total = said.statistics.tolist()
    own_share, own_total = decision.unbiased.tolist()
    mean = error = own = np.nan
    alone = _measured_variance(decision, mechanism)
    if _seen(share, min(alone, float(said.variance[0]))):  # nobody is forgotten because time has passed
        mean, error = total / share, _ratio_error(decision, mechanism, said)
        if _seen(own_share, alone):
            own = own_total / own_share
    near = np.clip(mean, -1, 1)
    return Figures(
        np.array([low + half * (near + 1), min(max(share, 0.0), 1.0)]),
        np.array([half * np.minimum(error, 1 + abs(near)), np.sqrt(said.variance[0])]),
        np.array([low + half * (own + 1), own_share]),
        _course_of_holders(said, low, half),
    )


def _course_of_holders(said: Estimate, low: float, half: float) -> Floats | None:
    """Of the mean and the share, from those of share and total, as if the share had stood."""
    if said.course is None or not said.course[0, 0] > 0:
        return None
    (share, total), (of_share, of_total) = said.course.tolist()
    mean = total / share
    moved = (of_total + mean * mean * of_share) / share**2
    return np.array([[low + half * (min(max(mean, -1.0), 1.0) + 1), share], [half**2 * moved, of_share]])


def _seen(share: float, variance: float) -> bool:
    """Whether somebody is known to hold a value. variance: of the share."""
    return share > SEEN * sqrt(variance)


def _measured_variance(decision: Decision, mechanism: ValueAndPresence) -> float:
    """The variance of the method's share when it was measured, whatever has drifted since."""
    stands = float(decision.variance[0])
    if decision.answer is None:
        return stands
    fresh = measured(decision.t, mechanism, decision.answer, decision.users).variance
    return min(stands, float(fresh[0]))  # several answers together may know more than the newest


def _ratio_error(decision: Decision, mechanism: ValueAndPresence, said: Estimate) -> float:
    """The standard error of total / share, by the delta method. Errors of share and total go together where they were
    measured, which makes that of their ratio smaller; what both have drifted since does not, as far as is known.
    """
    share, total = said.statistics.tolist()
    mean = total / share
    of_share, of_total = said.variance.tolist()
    if decision.answer is None:
        return float(np.sqrt(of_total + mean * mean * of_share) / share)
    answer, users = decision.answer, decision.users
    fresh = measured(decision.t, mechanism, answer, users).variance
    profile = mechanism.plausible(mechanism.profile(answer.support, answer.counted))
    alone = mechanism.mean_error(profile, answer.counted, users) ** 2
    if decision.best is None:
        drifted = np.maximum(said.variance - fresh, 0)
        return float(np.sqrt(alone + (drifted[1] + mean * mean * drifted[0]) / share**2))
    measured_mean = profile[1] / profile[0] if profile[0] else 0.0
    apart = fresh[1] + measured_mean**2 * fresh[0]
    together = min(1.0, alone * profile[0] ** 2 / apart) if profile[0] and apart else 1.0
    return float(np.sqrt(together * (of_total + mean * mean * of_share)) / share)
