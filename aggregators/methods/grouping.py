# SPDX-License-Identifier: Apache-2.0
"""PeGaSus's grouping: successive estimates that differ by their noise alone are one group.

Contract: an estimate joins the group if, with it, the mean square around the group's mean, less the part that noise
explains, is below `kappa` times that part; else it begins the next group.  Only estimates are used, so that grouping
the releases themselves costs no privacy.  Source: PeGaSus, ARCHITECTURE section 5.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from murmurate.aggregators.methods.method import Floats


class Grouping:
    """The newest group, as sums over its estimates."""

    def __init__(self, kappa: float) -> None:
        self.kappa = kappa
        self.clear()

    def clear(self) -> None:
        """Let the next estimate begin a group."""
        self.size, self._squares, self._noise = 0, 0.0, 0.0
        self._sum: Floats = np.zeros(0)

    def begin(self, mean: Floats, variance: float, size: int) -> None:
        """Begin a group of `size` estimates with this mean and variance, as far apart as their noise makes them."""
        self.size, self._sum, self._noise = size, size * mean, size * variance
        self._squares = size * float((mean**2).mean()) + (size - 1) * variance

    def take(self, estimate: Floats, variance: float) -> bool:
        """Take the next estimate and the mean of its statistics' variances. Gives whether it joins the group."""
        size, noise = self.size + 1, self._noise + variance
        squares = self._squares + float((estimate**2).mean())
        joined = self._sum + estimate if self.size else estimate
        mean_noise = noise / size
        apart = squares - float((joined**2).mean()) / size - self.size * mean_noise
        if self.size and apart / size < self.kappa * mean_noise * (1 - 1 / size):
            self.size, self._squares, self._noise, self._sum = size, squares, noise, joined
            return True
        self.size, self._squares, self._noise, self._sum = 1, float((estimate**2).mean()), variance, estimate
        return False

    @property
    def hidden(self) -> float:
        """The largest mean square distance of the newest truth from the group's mean that grouping does not notice.

        It is three times the average within a group: in a trend the last period is that far from the middle.
        """
        return 3 * self.kappa * self._noise / self.size * (1 - 1 / self.size) if self.size else 0.0

    def facts(self) -> dict[str, Any]:
        """The part of the state that is no array."""
        return {"size": self.size, "squares": self._squares, "noise": self._noise}

    @property
    def sums(self) -> Floats:
        """The array of the state: the sum of the group's estimates."""
        return self._sum

    def load(self, facts: dict[str, Any], sums: Floats) -> None:
        """Take over `facts` and `sums`."""
        self.size, self._squares, self._noise = facts["size"], facts["squares"], facts["noise"]
        self._sum = sums.copy()
