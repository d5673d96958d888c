"""What a filter learns of itself: whether it misses by more than it says, and where its estimates have been.

Contract: `Misses` needs no right model.  A standardized innovation is what a period's reports say less what was
foretold, over the standard error that was foretold; its mean square is 1 where the models fit.  What it is more than
that, of each statistic and of all together, discounted and beyond chance, is a variance by which the truth moves and
no model says so: as much as it leaves in an estimate is added to its bar.  `Course` is the mean and the variance of the
estimates so far, discounted too: how far a statistic moves, by which thresholds are judged (aggregators/monitoring.py).
Source: spec filter.md, second look; adaptive conformal inference has the idea.
"""

from __future__ import annotations

import numpy as np

from murmurate.aggregators.filters.models import Floats

MEMORY = 0.99
"""Of misses, after another answer."""
TOGETHER = 50.0
"""How many answers of its own weigh as much for a statistic as what all of them together say."""
LARGEST = 12.0
"""No square counts for more: what jumps is no habit."""
RECENT = 0.98
"""Of the course, after another period."""


class Misses:
    """Of one filter. independent: the share of its statistics that are observations of their own; sure: so many
    standard errors of a mean square are chance.
    """

    def __init__(self, statistics: int, independent: float, sure: float) -> None:
        self.squares = np.zeros(statistics)
        """Of standardized innovations, added up: float64[statistics],"""
        self.answers = 0.0
        """over so many."""
        self.unsaid = np.zeros(statistics)
        """The variance that errors have beyond what models say: float64[statistics]."""
        self._independent, self._sure = max(1.0, statistics * independent), sure

    def learn(self, miss: Floats, foretold: Floats, noise: Floats, jumped: Floats) -> None:
        """An answer is in. foretold: the variance of the statistic that was foretold, noise: that of the measurement;
        jumped: how likely it has jumped, which says nothing.
        """
        total = foretold + noise
        square = np.minimum(miss * miss / total, LARGEST)
        self.squares = self.squares * MEMORY + square + jumped * (1 - square)
        self.answers = self.answers * MEMORY + 1
        own = self.squares / self.answers
        weight = self.answers / (self.answers + TOGETHER)
        mean = weight * own + (1 - weight) * (float(own.sum()) / len(own))
        chance = np.sqrt(2 / self.answers * (weight**2 + (1 - weight**2) / self._independent))
        moved = total * np.maximum(0, mean - 1 - self._sure * chance)
        # A gain of foretold / total takes that part of what has moved into the estimate, and leaves the rest.
        self.unsaid = moved * (noise / total) ** 2


class Course:
    """Where the estimates of one filter have been."""

    def __init__(self, statistics: int) -> None:
        self.sums = np.zeros((2, statistics))
        """Of estimates and of their squares, discounted: float64[2, statistics],"""
        self.periods = 0.0
        """over so many."""

    def learn(self, estimate: Floats) -> None:
        """A period is over."""
        self.sums, self.periods = self._after(estimate)

    def seen(self, estimate: Floats) -> tuple[Floats, Floats]:
        """Mean and variance, this estimate among them."""
        (total, squares), periods = self._after(estimate)
        mean = total / periods
        return mean, np.maximum(squares / periods - mean * mean, 0)

    def _after(self, estimate: Floats) -> tuple[Floats, float]:
        return self.sums * RECENT + np.stack((estimate, estimate * estimate)), self.periods * RECENT + 1
