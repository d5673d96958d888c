# SPDX-License-Identifier: Apache-2.0
"""How far to trust a filter's estimates, judged by how far they lie from least squares.

Contract: p is an unbiased estimate of known variance V, here by least squares; b is a filter's, which says that its
variance is s.  If b is as good as it says, the mean of (b - p)^2 is V - s.  What a running mean of (b - p)^2 / V has
beyond that is the square of a bias, over V, never less than 0; a margin is added for what chance hides in the mean,
wider while few periods are in it.  With a squared bias of u V the best weight of p is u V / (V - s + u V), and the
error of both together is s + that weight times (V - s): from s, where no bias shows, to V, where it is large.  So what
is said is never less exact than p says it is, and a filter whose models fit badly gives way to p.
Source: shrinkage towards what data allow, after James and Stein 1961; running means and margin are ours, and measured
by `python -m benchmarks.horizon_filter`.  Not here: the two estimates (residue.py, residue_filter.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import SnapshotError

Floats = NDArray[np.float64]

SHORTEST: Final = 333
"""The least number of periods over which differences are averaged; two thirds of a horizon where that is more."""
MARGIN: Final = 0.5
"""What is added to the mean of squared differences, over V, once it is of all these periods: about two standard errors
of that mean where nothing moves, since the noise of long nodes lasts for a large part of a horizon.  With .3 squared
errors at rest are a fifth less, and bars hold 91 instead of 93 % where a slow rise follows two horizons of rest.
"""


class LeastSquaresGuard:
    """The judgement of some statistics, period by period."""

    def __init__(self, statistics: int, periods: int) -> None:
        """periods: how many a horizon has."""
        self._keep = 1 - 1 / max(SHORTEST, 2 * periods / 3)
        self._apart = np.zeros(statistics)
        """The sum of (b - p)^2 / V, older ones weighed less: float64[statistics]."""
        self._explained = np.zeros(statistics)
        """The sum of (V - s) / V, weighed alike: float64[statistics]."""
        self._heard = np.zeros(1)
        """The sum of the weights, which tends to 1."""

    def joined(self, best: tuple[Floats, Floats], plain: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """The estimate to show and its variance, from the filter's and that of least squares, each with its variance;
        that of least squares is finite.
        """
        (value, said), (unbiased, variance) = best, plain
        known = np.maximum(variance, np.finfo(np.float64).tiny)
        gained = 1 - np.minimum(said / known, 1)
        new = 1 - self._keep
        self._apart = self._keep * self._apart + new * (value - unbiased) ** 2 / known
        self._explained = self._keep * self._explained + new * gained
        self._heard = self._keep * self._heard + new
        shown = np.maximum((self._apart - self._explained) / self._heard, 0)  # by chance they may lie close for long
        bias = shown + MARGIN / np.sqrt(self._heard)
        weight = bias / (gained + bias)  # that of least squares
        return value + weight * (unbiased - value), known * (1 - gained * (1 - weight))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state; it does not share memory with this."""
        state = {"apart": self._apart, "explained": self._explained, "heard": self._heard}
        return {name: array.copy() for name, array in state.items()}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over `arrays` of a guard of as many statistics."""
        wanted = {name: array.shape for name, array in self.arrays().items()}
        found = {name: array.shape for name, array in arrays.items()}
        if found != wanted:
            raise SnapshotError(f"guard of a filter: found a state of {found}; allowed: {wanted}")
        self._apart, self._explained = arrays["apart"].copy(), arrays["explained"].copy()
        self._heard = arrays["heard"].copy()
