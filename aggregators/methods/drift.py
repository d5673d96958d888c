# SPDX-License-Identifier: Apache-2.0
"""The error of an older release by now, if nothing was measured since: estimated from the steps between estimates.

Contract: an estimate of the mean over the statistics of (c_t - r)^2, never below the release's own variance unless that
exceeds 1, and 1 while nothing is known.  A random walk's mean square grows with the time, a trend's with its square;
the larger is taken, and for each the larger of the newest step and the mean of the last ones: one step alone is small
by chance as often as not.  The noise of the estimates is left in: rather too much than too little.
"""

from __future__ import annotations

from murmurate.aggregators.methods.last_estimate import LastEstimate

Moved = tuple[float, int]
MEMORY = 8


class Drift:
    """The newest steps from estimate to estimate."""

    def __init__(self) -> None:
        self._moved: list[Moved] = []
        """Mean square difference of two estimates, and the periods between them; the newest last."""

    def note(self, old: LastEstimate, new: LastEstimate) -> None:
        """Note the step from one estimate to the next; the first estimate has none before it."""
        if old.measured_t is not None and new.measured_t is not None:
            step = float(((new.unbiased - old.unbiased) ** 2).mean()), new.measured_t - old.measured_t
            self._moved = [*self._moved, step][-MEMORY:]

    def bound(self, standing: LastEstimate, t: int) -> float:
        """The mean square error of this release at t: the steps before it, stretched to its age."""
        if standing.measured_t is None or not self._moved:
            return 1.0
        age = t - standing.measured_t
        walked = _large([step * age / gap for step, gap in self._moved])
        trended = _large([step * (age / gap) ** 2 for step, gap in self._moved])
        return min(1.0, float(standing.variance.mean()) + max(walked, trended))

    def facts(self) -> list[Moved]:
        """The whole state."""
        return self._moved

    def load(self, facts: list[Moved]) -> None:
        """Take over `facts`."""
        self._moved = [(step, gap) for step, gap in facts]


def _large(steps: list[float]) -> float:
    return max(steps[-1], sum(steps) / len(steps))
