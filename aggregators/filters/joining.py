# SPDX-License-Identifier: Apache-2.0
"""The adaptive filter of places whose statistic may change: one that is no longer followed gives its place to another.

Contract: `begin_anew` sets some statistics to what the filter would know after a first measurement of them, with the
odds of the models that all statistics together have shown so far; the others stay as they are.  Not here: which
statistics are followed (many.py).  There is no season and no revision: both would need the past of a new statistic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.adaptive import LEAST, AdaptiveFilter
from murmurate.aggregators.filters.models import Floats
from murmurate.aggregators.filters.tracks import Tracks

_LEVELS = ("level", "variance")
_SECOND = ("velocity", "cross", "velocity_variance")


class JoiningFilter(AdaptiveFilter):
    """The adaptive filter, whose statistics can be replaced one by one."""

    def begin_anew(self, places: NDArray[np.int64], measured: Floats, variance: Floats) -> None:
        """Follow other statistics at these places from the current period on, which has had an answer.

        measured: what is known of them, float64[places]; variance: of its errors.  1. All models begin with the same
        prior, and see the measurement.  2. A model's history is that of a statistic that was like all others so far.
        """
        begun = self._tracks_of(places)
        seen = begun.observe(measured, variance, variance)
        for name in (*_LEVELS, *_SECOND):
            getattr(self._tracks, name)[:, places] = getattr(begun, name)
        self._likelihood[:, places] = seen
        self._chance[:-1, places] = self._odds
        self._chance[-1, places] = LEAST
        self._occupied[:, places] = self._odds * self._periods
        self._misses.squares[places] = self._misses.answers
        self._misses.unsaid[places] = 0
        self._course.sums[:, places] = np.stack((measured, measured * measured, variance)) * self._course.periods
        self._course.newest[places] = variance
        self._weigh()

    def _tracks_of(self, places: NDArray[np.int64]) -> Tracks:
        """The tracks of these statistics before any answer."""
        low, high = self._bounds
        center, most = ((low + high) / 2)[places], (((high - low) / 2) ** 2)[places]
        begun = Tracks.at(self.models, center, self._spread[places], most)
        begun.begin(self._units[:, places])
        return begun
