# SPDX-License-Identifier: Apache-2.0
"""What a filter learns of itself: whether its innovations are larger than its models predict, and its past estimates.

Contract: `Misses` needs no right model.  A standardized innovation is the difference between a period's measurement and
its prediction, over the standard error of the two; its mean square is 1 if the models fit.  The excess over 1, of each
statistic and of all together, discounted and beyond chance, is a variance by which the truth moves outside all models:
the part of it that remains in an estimate is added to its bar.  A statistic's own mean square counts by how far those
of all statistics differ beyond chance.  `EstimateHistory` is the mean of the estimates so far, discounted too, and the
variance by which they moved beyond what their own errors explain: an estimate that becomes more exact moves as well,
without any change of the statistic.  Thresholds are judged by it (aggregators/monitoring.py).
Source: ARCHITECTURE section 5.9; adaptive conformal inference has the idea.
"""

from __future__ import annotations

import numpy as np

from murmurate.aggregators.filters.models import Floats

MEMORY = 0.99
"""The part of its weight that a miss keeps after another answer."""
APART = 0.04
"""The variance of the mean squares of different statistics before anything is known of it."""
SUPPOSED = 4.0
"""The weight of the guess APART, in statistics."""
LARGEST = 12.0
"""Squares above this count as this, so that one jump is not taken for a habit."""
RECENT = 0.98
"""The part of its weight that an estimate keeps after another period."""


class Misses:
    """The mean squares of one filter's innovations. independent: the share of its statistics that are independent
    observations; sure: as many standard errors of a mean square are taken for chance.
    """

    def __init__(self, statistics: int, independent: float, sure: float) -> None:
        self.squares = np.zeros(statistics)
        """Squares of standardized innovations, added up and discounted: float64[statistics]."""
        self.answers = 0.0
        """How many answers, discounted, the squares were added up over."""
        self.unsaid = np.zeros(statistics)
        """The variance that errors have beyond the models' own: float64[statistics]."""
        self._independent, self._sure = max(1.0, statistics * independent), sure

    def learn(self, miss: Floats, foretold: Floats, noise: Floats, jumped: Floats) -> None:
        """Take the innovation of an answer. foretold: the variance of the predicted statistic, noise: that of the
        measurement; jumped: the chance of a jump, by which the innovation does not count.
        """
        total = foretold + noise
        square = np.minimum(miss * miss / total, LARGEST)
        self.squares = self.squares * MEMORY + square + jumped * (1 - square)
        self.answers = self.answers * MEMORY + 1
        own = self.squares / self.answers
        usual = float(own.sum()) / len(own)
        # Of normal errors the variance of such a mean square is 2 / answers, where each of them counts alike.
        alike = self.answers**2 * (1 - MEMORY**2) / (1 - (1 - self.answers * (1 - MEMORY)) ** 2)
        off, others = own - usual, self._independent - 1
        beyond = float((off * off).sum()) / len(own) - 2 / alike
        apart = max(0.0, SUPPOSED * APART + others * beyond) / (SUPPOSED + others)
        weight = apart / (apart + 2 / self.answers)
        mean = weight * own + (1 - weight) * usual
        chance = np.sqrt(2 / self.answers * (weight**2 + (1 - weight**2) / self._independent))
        moved = total * np.maximum(0, mean - 1 - self._sure * chance)
        # A gain of foretold / total takes that part of what has moved into the estimate, and leaves the rest.
        self.unsaid = moved * (noise / total) ** 2


class EstimateHistory:
    """The mean and variance of one filter's past estimates."""

    def __init__(self, statistics: int) -> None:
        self.sums = np.zeros((3, statistics))
        """Sums of estimates, of their squares and of the variances of their errors, discounted: float64[3, statistics].
        """
        self.periods = 0.0
        """How many periods, discounted, the sums were added up over."""
        self.newest = np.zeros(statistics)
        """The variance of the error of the newest estimate: float64[statistics]."""

    def learn(self, estimate: Floats, variance: Floats) -> None:
        """Take the estimate of a period that is over. variance: of its error."""
        self.sums, self.periods = self._after(estimate, variance)
        self.newest = variance

    def seen(self, estimate: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the estimates, this one among them. The part of the variance that comes from the larger
        errors of earlier estimates is taken off.
        """
        (total, squares, errors), periods = self._after(estimate, self.newest)
        mean = total / periods
        explained = np.maximum(errors / periods - self.newest, 0)
        return mean, np.maximum(squares / periods - mean * mean - explained, 0)

    def _after(self, estimate: Floats, variance: Floats) -> tuple[Floats, float]:
        added = np.stack((estimate, estimate * estimate, variance))
        return self.sums * RECENT + added, self.periods * RECENT + 1
