# SPDX-License-Identifier: Apache-2.0
"""Percentiles with noise of smooth sensitivity: the thresholds of Nissim et al. (S-P) and of PAK (S-PAK).

Contract: both are (epsilon, delta)-private for m values of which one is *replaced*, with Laplace noise; values lie in
[0, top].  `law` gives the centre and the scale of the noisy percentile, which is all that it tells; the Laplace number
is handed in.  S-PAK shifts the percentile up until it is too low with probability beta alone.  Noise of other shapes is
not offered: what is printed for the Gaussian is not private (erratum E18).  A threshold below 0 is 0; none is too large
here, as in the papers' runs.  Both are there to be compared with: noisy max (randomizers/central/noisy_max.py) is far
better and has no delta.
Source: ToPS, appendices A and B; ARCHITECTURE erratum E18.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import ParameterError

Floats = NDArray[np.float64]

SHARE: Final = 0.995
"""The part of the values that S-P's threshold leaves whole."""
PAK_SHARE: Final = 0.99575
"""The part that S-PAK aims at, which PAK gives for the 99.5th percentile."""
PAK_BETA: Final = 0.3 * 0.02
"""The probability with which S-PAK's threshold may lie below the percentile."""


@dataclass(frozen=True)
class SmoothPercentile:
    """A noisy percentile.

    >>> spak = SmoothPercentile(PAK_SHARE, epsilon=0.05, delta=1114112**-2.0, top=1657, beta=PAK_BETA)
    >>> round(spak.b, 10), round(spak.offset, 6), round(spak.kappa, 6)
    (0.0008977584, 4.422849, 1.188915)
    """

    share: float
    """The part of the values that is to lie at or below the percentile."""
    epsilon: float
    delta: float
    top: float
    """The largest value there may be."""
    beta: float | None = None
    """The probability with which S-PAK is too low. S-P has none: it is as often too low as too high."""

    def __post_init__(self) -> None:
        if not 0 < self.share < 1 or not 0 < self.delta < 1 or not self.epsilon > 0 or not self.top > 0:
            found = f"share {self.share}, delta {self.delta}, epsilon {self.epsilon}, top {self.top}"
            raise ParameterError(f"percentile: found {found}; allowed: between 0 and 1, twice, and above 0, twice")
        if self.beta is not None and not 0 < self.beta < 0.5:
            raise ParameterError(f"beta: found {self.beta}; allowed: between 0 and 1/2")
        if math.expm1(self.b) * self.offset >= self.a:
            raise ParameterError(f"beta: found {self.beta} at epsilon {self.epsilon}; allowed: larger ones")

    @property
    def a(self) -> float:
        """By how much the noise is wider than the sensitivity: epsilon / 2 for a Laplace number."""
        return self.epsilon / 2

    @property
    def b(self) -> float:
        """How fast the smooth sensitivity may fall with each value that is replaced."""
        return self.epsilon / (2 * math.log(1 / self.delta))

    @property
    def offset(self) -> float:
        """The Laplace number that is exceeded with probability beta, by which S-PAK shifts."""
        return 0.0 if self.beta is None else -math.log(2 * self.beta)

    @property
    def kappa(self) -> float:
        """The factor by which the shift widens the noise, since it moves with the sensitivity itself."""
        return 1 / (1 - math.expm1(self.b) * self.offset / self.a)

    def law(self, values: NDArray[Any]) -> tuple[float, float]:
        """Centre and scale of the Laplace law that the threshold has, before ones below 0 are 0."""
        ordered = np.sort(np.asarray(values, np.float64))
        if ordered.ndim != 1 or not len(ordered) or not 0 <= ordered[0] <= ordered[-1] <= self.top:
            raise ParameterError(f"values: found float64{list(ordered.shape)} not all in 0..{self.top}; allowed: some")
        rank = int(self.share * len(ordered)) + 1
        scale = self.kappa * smooth_sensitivity(ordered, rank, self.top, self.b) / self.a
        return float(ordered[rank - 1]) + scale * self.offset, scale

    def threshold(self, values: NDArray[Any], laplace: float) -> float:
        """The threshold; laplace: a number of the standard Laplace law."""
        centre, scale = self.law(values)
        return max(0.0, centre + scale * laplace)


def smooth_sensitivity(ordered: Floats, rank: int, top: float, b: float) -> float:
    """The largest e^(-b k) (V(j) - V(i)) with i <= rank <= j and k = j - i - 1 >= 0 values between, V of rising values
    1..m, below them 0 and above them `top`.

    1. Of equal values only those nearest the rank matter. 2. The best j does not fall as i rises, since e^(b i) times
    the product is V(j) e^(-b j) - V(i) e^(-b j), whose second part grows with i the less, the larger j is. 3. So rows i
    are searched from the coarsest to all, each only between the best j of its neighbours; all rows of a level at once.

    >>> x = np.array([1, 2, 2, 3, 5, 8, 9, 13, 21, 34.0])
    >>> round(smooth_sensitivity(x, 9, 100, 0.5), 5)
    47.91592
    """
    m = len(ordered)
    if not 1 <= rank <= m or not b > 0:
        raise ParameterError(f"rank: found {rank} of {m}, b {b}; allowed: 1 to {m}, b above 0")
    whole = np.concatenate(([0.0], ordered, [top]))
    below = rank - _first_of_each(whole[rank::-1])[::-1]  # rising places i, of each value the last
    above = rank + _first_of_each(whole[rank:])  # rising places j, of each value the first
    low, high = whole[below], whole[above]
    columns = len(above)
    best = np.zeros(len(below), np.int64)
    most, known = 0.0, np.zeros(0, np.int64)
    step = 1 << max(0, len(below).bit_length() - 1)
    while step:
        rows = np.arange(step - 1, len(below), 2 * step) if len(known) else np.arange(step - 1, len(below), step)
        after = np.searchsorted(known, rows)
        first = np.where(after > 0, best[known[after - 1]] if len(known) else 0, 0)
        last = np.where(
            after < len(known), best[known[np.minimum(after, len(known) - 1)]] if len(known) else 0, columns - 1
        )
        size = last - first + 1
        starts = np.cumsum(size) - size
        row = np.repeat(np.arange(len(rows)), size)
        column = np.arange(int(size.sum())) - np.repeat(starts - first, size)
        between = above[column] - below[rows][row] - 1
        found = np.where(between >= 0, np.exp(-b * between) * (high[column] - low[rows][row]), 0.0)
        peaks = np.maximum.reduceat(found, starts)
        at = np.where(found == peaks[row], column, columns)
        best[rows] = np.minimum.reduceat(at, starts)
        most = max(most, float(peaks.max()))
        known = np.union1d(known, rows)
        step //= 2
    return most


def _first_of_each(values: Floats) -> NDArray[np.int64]:
    """Where in a row that rises or falls each value stands first."""
    return np.flatnonzero(np.concatenate(([True], np.diff(values) != 0)))
