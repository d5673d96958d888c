# SPDX-License-Identifier: Apache-2.0
"""The adaptive filter of places whose statistic may change: one that is no longer followed gives its place to another.

Contract: `begin_anew` sets some statistics to what the filter would know after a first measurement of them, with the
odds of the models that all statistics together have shown so far; the others stay as they are.  `resized` gives a
filter of other places, some of which keep their statistic.  Not here: which statistics are followed (many.py, and
aggregators/methods/followed.py).  There is no season and no revision: both would need the past of a new statistic.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.adaptive import LEAST, AdaptiveFilter
from murmurate.aggregators.filters.models import Floats
from murmurate.aggregators.filters.tracks import Tracks

_LEVELS = ("level", "variance")
_SECOND = ("velocity", "cross", "velocity_variance")
_OF_EACH: Final = ("occupied", "precision", "chance", "likelihood", "gained", *_LEVELS, *_SECOND, "squares", "unsaid",
                   "course", "newest", "states")  # fmt: skip
"""The names of the arrays of a state whose last axis is the statistics."""


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

    def resized(self, kept: NDArray[np.int64], noise: Floats) -> JoiningFilter:
        """A filter of shares by themselves: first those that stand at these places of this one, as they are, then as
        many more as `noise` has entries, the variances of measurements of them in the current period. `begin_anew` is
        what says where these are.
        """
        places = np.append(kept, np.zeros(len(noise), np.int64))  # any state will do until a place is begun anew
        found = JoiningFilter(len(places), wholes=(1,) * len(places))
        arrays = self.arrays()
        for name in _OF_EACH:
            arrays[name] = arrays[name][..., places]
        arrays["precision"][len(kept) :] = arrays["gained"][len(kept) :] = 1 / noise
        found.load({**self.facts(), "setting": found.facts()["setting"]}, arrays)
        return found
