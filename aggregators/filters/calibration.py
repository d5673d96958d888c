"""What a filter learns of itself: whether it misses by more than it says, and where its estimates have been.

Contract: `Misses` needs no right model.  A standardized innovation is what a period's reports say less what was
foretold, over the standard error that was foretold; its mean square is 1 where the models fit.  What it is more than
that, of each statistic and of all together, discounted and beyond chance, is a variance by which the truth moves and
no model says so: as much as it leaves in an estimate is added to its bar.  A statistic's own mean square counts by how
far those of all statistics lie apart beyond chance.  `EstimateHistory` is the mean of the estimates so far, discounted
too, and the variance by which they moved beyond what their own errors explain: an estimate that becomes more exact
moves, too, and says nothing of the statistic.  Thresholds are judged by it (aggregators/monitoring.py).
Source: ARCHITECTURE section 5.9; adaptive conformal inference has the idea.
"""

from __future__ import annotations

import numpy as np

from murmurate.aggregators.filters.models import Floats

MEMORY = 0.99
"""What is left of the weight of misses after another answer."""
APART = 0.04
"""The variance of the mean squares of different statistics before anything is known of it."""
SUPPOSED = 4.0
"""How many statistics the guess APART weighs as much as."""
LARGEST = 12.0
"""The largest square that counts: what jumps is no habit."""
RECENT = 0.98
"""What is left of the weight of past estimates after another period."""


class Misses:
    """Of one filter. independent: the share of its statistics that are observations of their own; sure: so many
    standard errors of a mean square are chance.
    """

    def __init__(self, statistics: int, independent: float, sure: float) -> None:
        self.squares = np.zeros(statistics)
        """Squares of standardized innovations, added up and discounted: float64[statistics]."""
        self.answers = 0.0
        """How many answers, discounted, the squares were added up over."""
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
    """Where the estimates of one filter have been."""

    def __init__(self, statistics: int) -> None:
        self.sums = np.zeros((3, statistics))
        """Sums of estimates, of their squares and of the variances of their errors, discounted: float64[3, statistics].
        """
        self.periods = 0.0
        """How many periods, discounted, the sums were added up over."""
        self.newest = np.zeros(statistics)
        """The variance of the error of the last one: float64[statistics]."""

    def learn(self, estimate: Floats, variance: Floats) -> None:
        """A period is over. variance: of the error of its estimate."""
        self.sums, self.periods = self._after(estimate, variance)
        self.newest = variance

    def seen(self, estimate: Floats) -> tuple[Floats, Floats]:
        """Mean and variance, this estimate among them; of the variance what the errors leave of it, which have become
        smaller since.
        """
        (total, squares, errors), periods = self._after(estimate, self.newest)
        mean = total / periods
        explained = np.maximum(errors / periods - self.newest, 0)
        return mean, np.maximum(squares / periods - mean * mean - explained, 0)

    def _after(self, estimate: Floats, variance: Floats) -> tuple[Floats, float]:
        added = np.stack((estimate, estimate * estimate, variance))
        return self.sums * RECENT + added, self.periods * RECENT + 1
