# SPDX-License-Identifier: Apache-2.0
"""A Kalman filter of levels that follow a random walk, with one gain for all statistics of a release.

Contract: the level x of every statistic, its mean squared error P, and Q, what a period adds to P; Q is learned from
the differences between answers and predictions.  Every answer comes with its own variance R.  Source: ARCHITECTURE
section 5.2 (RescueDP, FAST; there Q and R are given, for counts).  Not here: the filter of the releases that users
read, which mixes many models (aggregators/filters).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from murmurate.aggregators.methods.method import Floats

ALPHA = 0.2
"""The weight of a new answer in the estimate of Q."""


class Kalman:
    """The filter of one stream."""

    def __init__(self) -> None:
        self.level: Floats = np.zeros(0)
        """The estimate x, float64[statistics]; empty before the first answer."""
        self.error = 0.0
        """P, at the period of the last answer."""
        self.wander = 0.0
        """Q, what a period adds to P."""
        self.t = 0
        """The period of the last answer."""

    def correct(self, measured: Floats, variance: float, t: int) -> float:
        """Take an answer of period t, with the mean of its statistics' variances. Gives its weight, the gain K."""
        gap, self.t = t - self.t, t
        if not len(self.level):
            self.begin(measured, variance, variance, t)
            return 1.0
        surprise = float(((measured - self.level) ** 2).mean())
        unexplained = max(0.0, (surprise - self.error - variance) / gap)
        self.wander = (1 - ALPHA) * self.wander + ALPHA * unexplained
        expected = self.error + gap * self.wander
        gain = expected / (expected + variance)
        self.level = self.level + gain * (measured - self.level)
        self.error = (1 - gain) * expected
        return gain

    def begin(self, level: Floats, error: float, usual: float, t: int) -> None:
        """Take a first level of period t with its mean squared error; usual: that of an answer."""
        self.level, self.error, self.wander, self.t = level, error, usual / 10, t

    def error_at(self, t: int) -> float:
        """The mean squared error of the level as a prediction of period t."""
        return self.error + (t - self.t) * self.wander

    def facts(self) -> dict[str, Any]:
        """The part of the state that is no array; the rest is `level`."""
        return {"error": self.error, "wander": self.wander, "t": self.t}

    def load(self, facts: dict[str, Any], level: Floats) -> None:
        """Take over `facts` and the level."""
        self.level = level.copy()
        self.error, self.wander, self.t = facts["error"], facts["wander"], facts["t"]
