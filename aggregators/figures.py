"""From a decision to the figures that a release shows: frequencies, a mean in the stream's own unit, a distribution.

Contract: `unbiased` is raw, `estimate` the best that its reports allow and always possible, `stderr` that of `unbiased`
as a figure of its period.  A mean of holders is a ratio, so that it is unbiased up to 1/n; where nobody is known to
hold a value it is the middle of the range, with half the range for its error.  Not here: what to release when
(methods), the record (agents/stages/release.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmurate.aggregators.distribution import em
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.methods.method import Decision, Floats
from murmurate.aggregators.methods.standing import measured
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.randomizers import SW, ValueAndPresence, WaveAndPresence

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Figures:
    """Three times the statistics of a release, in the order of the stream's names."""

    estimate: Floats
    stderr: Floats
    unbiased: Floats


def figures(decision: Decision, range_: Range | None) -> Figures:
    """What a decision says. range_: of numbers, what -1 and 1 stand for."""
    mechanism = decision.mechanism
    if isinstance(mechanism, ValueAndPresence):
        return _holders(decision, mechanism, range_ or (-1.0, 1.0))
    if mechanism.measure == "mean":
        return _mean(decision, range_ or (-1.0, 1.0))
    stderr = np.sqrt(decision.variance)
    if decision.measured_t is None:
        return Figures(decision.unbiased, stderr, decision.unbiased)
    if isinstance(mechanism, SW | WaveAndPresence) and decision.answer is not None:
        likeliest = em(channel_of(mechanism), decision.answer.support).frequencies
        return Figures(likeliest, stderr, decision.unbiased)
    return Figures(norm_sub(decision.unbiased), stderr, decision.unbiased)


def _mean(decision: Decision, range_: Range) -> Figures:
    low, half = range_[0], (range_[1] - range_[0]) / 2
    raw = decision.unbiased
    return Figures(low + half * (np.clip(raw, -1, 1) + 1), half * np.sqrt(decision.variance), low + half * (raw + 1))


def _holders(decision: Decision, mechanism: ValueAndPresence, range_: Range) -> Figures:
    """The mean of those who hold a value, and their share."""
    low, half = range_[0], (range_[1] - range_[0]) / 2
    share, total = decision.unbiased.tolist()
    raw, error = 0.0, 1.0
    if decision.answer is not None and share > 0:
        raw, error = total / share, _ratio_error(decision, mechanism, share, total / share)
    near = min(max(raw, -1.0), 1.0)
    return Figures(
        np.array([low + half * (near + 1), min(max(share, 0.0), 1.0)]),
        np.array([half * min(error, 1 + abs(near)), np.sqrt(decision.variance[0])]),
        np.array([low + half * (raw + 1), share]),
    )


def _ratio_error(decision: Decision, mechanism: ValueAndPresence, share: float, mean: float) -> float:
    """The standard error of total / share: when it was measured, and what both have drifted since, as far as known."""
    answer, users = decision.answer, decision.users
    assert answer is not None  # noqa: S101 - asked before
    fresh = measured(decision.t, mechanism, answer, users)
    drift_share, drift_total = np.maximum(decision.variance - fresh.variance, 0).tolist()
    drift = (drift_total + mean * mean * drift_share) / share**2
    profile = mechanism.plausible(mechanism.profile(answer.support, answer.counted))
    return float(np.sqrt(mechanism.mean_error(profile, answer.counted, users) ** 2 + drift))
