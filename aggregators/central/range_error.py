# SPDX-License-Identifier: Apache-2.0
"""What a threshold costs the sums over random ranges: the error that ToPL finds its threshold by.

Contract: ranges are all stretches of 1 to r values that fit, each as likely.  A clipped value's noise is independent of
the others', as local noise is, so it adds over a range's length; what clipping takes is the same for all, so it adds
over the length and is squared: the mean of the squared length is what counts (erratum E11: the paper divides it by
four).  The variance of a value is that of the mechanism on [-1, 1] times (theta / 2)^2.  Source: ToPL, equation 8;
ARCHITECTURE erratum E11.  Not here: the distribution (aggregators/distribution.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.clipping import excess
from murmurate.randomizers import ParameterError

Floats = NDArray[np.float64]


def range_moments(longest: int) -> tuple[float, float]:
    """The mean and the mean square of the length of a random range.

    >>> range_moments(10)
    (4.0, 22.0)
    """
    if longest < 1:
        raise ParameterError(f"longest: found {longest}; allowed: at least 1")
    return (longest + 2) / 3, (longest + 1) * (longest + 2) / 6


def threshold_errors(frequencies: Floats, top: float, *, longest: int, variance: float) -> Floats:
    """The mean squared error of a random range for a threshold at the upper edge of each cell.

    frequencies: of equal cells over 0 to top; variance: of the mechanism, on [-1, 1].
    """
    cells = len(frequencies)
    edges: Floats = np.arange(1, cells + 1, dtype=np.float64) * np.float64(top / cells)
    middles: Floats = edges - np.float64(top / (2 * cells))
    taken = excess(middles, edges) @ frequencies
    return np.asarray(longest / 3 * (edges / 2) ** 2 * variance + longest**2 / 6 * taken**2)


def best_threshold(frequencies: Floats, top: float, *, longest: int, variance: float) -> float:
    """The edge with the least of these errors."""
    errors = threshold_errors(frequencies, top, longest=longest, variance=variance)
    return float((1 + int(np.argmin(errors))) * top / len(frequencies))
