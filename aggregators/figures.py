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

from murmurate.aggregators.distribution import em
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.methods.method import Decision, Estimate, Floats
from murmurate.aggregators.methods.standing import measured
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping, shaped
from murmurate.randomizers import SW, Recoded, ValueAndPresence, WaveAndPresence

Range = tuple[float, float]
SEEN = 2
"""Standard errors that the share of holders is measured above none before their mean is a number.  Below, the interval
of two standard errors that belongs to a ratio (Fieller's) has no end: no mean whatever is excluded.
"""


@dataclass(frozen=True, eq=False)
class Figures:
    """Three times the statistics of a release, in the order of the stream's names; NaN where nothing is known."""

    estimate: Floats
    stderr: Floats
    unbiased: Floats


def figures(decision: Decision, range_: Range | None, shaping: Shaping = NORM_SUB) -> Figures:
    """What a decision says. range_: of numbers, what -1 and 1 stand for; shaping: of the estimates of a frequency."""
    told = _told(decision, range_, shaping)
    if decision.measured_t is not None:
        return told
    unknown = np.full(len(told.unbiased), np.nan)  # the method has zeros there, to compare its first answer with
    return Figures(unknown, unknown, unknown) if decision.best is None else replace(told, unbiased=unknown)


def _told(decision: Decision, range_: Range | None, shaping: Shaping) -> Figures:
    """The same, as if something had been measured."""
    if isinstance(decision.mechanism, Recoded):
        return _recoded(decision, decision.mechanism, range_ or (-1.0, 1.0))
    mechanism = decision.mechanism
    said = decision.best or Estimate(decision.t, decision.unbiased, decision.variance)
    if isinstance(mechanism, ValueAndPresence):
        return _holders(decision, mechanism, said, range_ or (-1.0, 1.0))
    if isinstance(mechanism, SW | WaveAndPresence) and said.of_reports:
        shares, error = _behind(said, mechanism)
        return Figures(shares, error, decision.unbiased)
    stderr = np.sqrt(said.variance)
    if mechanism.measure == "mean":
        low, half = _scale(range_ or (-1.0, 1.0))
        near = np.clip(said.statistics, -1, 1)
        return Figures(low + half * (near + 1), half * stderr, low + half * (decision.unbiased + 1))
    return Figures(_shares(decision, shaping), stderr, decision.unbiased)


def _recoded(decision: Decision, mechanism: Recoded, range_: Range) -> Figures:
    """What its inner mechanism says, whose scale is a part of the range; what a threshold takes is an error, too."""
    told = figures(replace(decision, mechanism=mechanism.inner), mechanism.within(*range_))
    taken = np.zeros(len(told.stderr))
    taken[0] = decision.clipped * (range_[1] - range_[0])
    return replace(told, stderr=np.hypot(told.stderr, taken))


def _behind(said: Estimate, mechanism: SW | WaveAndPresence) -> tuple[Floats, Floats]:
    """The likeliest distribution behind shares of reports, and the error that the unbiased one would have: EM's own is
    smaller where the distribution is smooth, and not known.
    """
    shares = np.clip(said.statistics, 0, 1)
    reports = float((shares * (1 - shares)).mean() / said.variance.mean())  # that know as much
    likeliest = em(channel_of(mechanism), shares * reports).frequencies
    return likeliest, np.sqrt((mechanism.noise(likeliest) + mechanism.sampling(likeliest)) / reports)


def _scale(range_: Range) -> tuple[float, float]:
    """Its low end, and half its length."""
    return range_[0], (range_[1] - range_[0]) / 2


def _shares(decision: Decision, shaping: Shaping) -> Floats:
    """Shares that a population can have."""
    if decision.best is not None:
        return shaped(shaping, decision.best.statistics, decision.best.variance, decision.mechanism)
    if isinstance(decision.mechanism, SW | WaveAndPresence) and decision.answer is not None:
        return em(channel_of(decision.mechanism), decision.answer.support).frequencies
    return shaped(shaping, decision.unbiased, decision.variance, decision.mechanism)


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
    )


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
