# SPDX-License-Identifier: Apache-2.0
"""How models with two states go on: a level with a velocity, or a level with a fluctuation around it.

Contract: x' = x + push y + noise, y' = left y + noise, where x is the measured statistic.  In a trend x is the level
and y its velocity; in a fluctuation x is the level plus the fluctuation y.  So one step serves both.  Source:
ARCHITECTURE section 5.8.  Not here: the step forward (tracks.py) and back (smoothing.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmurate.aggregators.filters.models import Floats, Models


@dataclass(frozen=True, eq=False)
class Pairs:
    """The constants of each model: float64[pairs, 1], trends first. Variances are in units."""

    trends: int
    """How many of the models are trends."""
    lasting: int
    """How many of the models, the first ones, keep a part of their second state."""
    push: Floats
    left: Floats
    noise_of_level: Floats
    noise_of_both: Floats
    """The covariance of the noise of both states."""
    noise: Floats
    usual: Floats
    """The variance of the second state in the long run."""

    def each(self, units: Floats) -> Floats:
        """The unit of each model, that of drifts or that of fluctuations: float64[pairs, d]."""
        return np.asarray(units[(np.arange(len(self.noise)) >= self.trends).astype(np.intp)])

    @classmethod
    def of(cls, models: Models) -> Pairs:
        """Trends, then fluctuations."""
        rows = [(1.0, models.damping, q / 3, q / 2, q, q * models.lasting) for q in models.trends]
        for left, size in models.fluctuations:
            new = (1 - left * left) * size
            rows.append((left - 1, left, new, new, new, size))
        kept = len(models.trends) + sum(left > 0 for left, _ in models.fluctuations)
        return cls(len(models.trends), kept, *np.array(rows, np.float64).reshape(-1, 6, 1).transpose(1, 0, 2))
