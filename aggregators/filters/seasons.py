# SPDX-License-Identifier: Apache-2.0
"""A season that the file declares: a level and a profile of the day that is learned, as rows of the mixture.

Contract: each row is the exact Kalman filter of one way of moving, for all statistics at once: a level that walks, a
value for each phase of the season, of which neighbours are alike, and white fluctuation around both.  How much is left
to learn is the same for all statistics, in units of the observation variance of an average period, so that a covariance
is kept once; what was learned is kept for each.  Where a season has more periods than PHASES, neighbouring ones are one
phase.  A season that is declared but absent costs little: the weights of its rows soon vanish.  Our own (ARCHITECTURE
section 5.8).  Not here: how likely each row is (adaptive.py).
"""

from __future__ import annotations

import numpy as np

from murmurate.aggregators.filters.models import Floats, Models

PHASES = 168
"""The most periods that a season may have: the hours of a week."""
CHANGING = 1e-5
"""The part of a profile's variance that is new in each period."""


class Seasons:
    """The rows of one filter."""

    def __init__(self, models: Models, periods: int, center: Floats) -> None:
        """periods: of a season; center: where a statistic lies before anything is known."""
        rows, phases = len(models.seasonal), min(periods, PHASES)
        self.periods, self.phases = periods, phases
        self.at = 0
        """The period of the season."""
        each = np.array(models.seasonal, np.float64).reshape(-1, 5)
        amplitude, alike, width, around, walk = each.T[:, :, None, None]
        apart = np.arange(phases) / phases
        # At a distance of a part x of the season, smooth values correlate by exp(-2 (sin(pi x) / width)^2).
        smooth = np.exp(-2 * (np.sin(np.pi * (apart - apart[:, None])) / width) ** 2)
        profile = amplitude * (alike * smooth + (1 - alike) * np.eye(phases))
        self._around = around[:, 0, 0]
        self._step = np.zeros((rows, phases + 1, phases + 1))
        self._step[:, 0, 0] = walk[:, 0, 0]
        self._step[:, 1:, 1:] = CHANGING * profile
        self.states = np.zeros((rows, phases + 1, len(center)))
        """Levels and profiles: float64[rows, 1 + phases, statistics]."""
        self.states[:, 0] = center
        self.covariance = np.zeros((rows, phases + 1, phases + 1))
        """The covariance of the states, in units."""
        self.covariance[:, 1:, 1:] = profile

    def begin(self, room: float) -> None:
        """Set the variance of the first level, now that the unit is known. room: in units."""
        self.covariance[:, 0, 0] = room

    def ahead(self, unit: Floats) -> tuple[Floats, Floats]:
        """The mean and variance of each statistic in this period: two float64[rows, statistics]."""
        phase = self._phase
        along = self.covariance[:, :, 0] + self.covariance[:, :, phase]
        size = along[:, 0] + along[:, phase] + self._around
        return self.states[:, 0] + self.states[:, phase], np.maximum(size, 0)[:, None] * unit

    def observe(self, seen: Floats, noise: float) -> None:
        """Take a measurement. noise: its usual variance, in units."""
        phase = self._phase
        along = self.covariance[:, :, 0] + self.covariance[:, :, phase]
        total = along[:, 0] + along[:, phase] + self._around + noise
        miss = seen - (self.states[:, 0] + self.states[:, phase])
        gain = along / total[:, None]
        self.states += gain[:, :, None] * miss[:, None, :]
        self.covariance -= gain[:, :, None] * along[:, None, :]

    def advance(self) -> None:
        """Go on to the next period."""
        self.at = (self.at + 1) % self.periods
        self.covariance += self._step

    @property
    def _phase(self) -> int:
        """The column of the phase."""
        return 1 + self.at * self.phases // self.periods
