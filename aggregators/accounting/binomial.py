# SPDX-License-Identifier: Apache-2.0
"""Binomial chances to a few units in the last place, however small they are.

Contract: `chances(x, n, p)` is P[Bin(n, p) = x] with a relative error below 2^-46 where it is above 1e-250, for n up to
10^9.  Source: Loader 2000, "Fast and accurate computation of binomial probabilities": Stirling's error and the deviance
are worked out without cancellation, so that no logarithm of a factorial is subtracted from another.  Not here: tails,
which pairs.py adds up.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.question import Floats

_SMALL: Final = 16
_EXACT: Final = np.array(
    [0.0]
    + [
        float(math.lgamma(n + 1) - ((n + 0.5) * math.log(n) - n + 0.5 * math.log(2 * math.pi)))
        for n in range(1, _SMALL)
    ]
)


def chances(x: NDArray[np.integer[Any]], n: NDArray[np.integer[Any]] | int, p: float) -> Floats:
    """P[Bin(n, p) = x] for 0 < p < 1; 0 where x is below 0 or above n: float64, of the shape of both together."""
    reached: Floats = np.asarray(x, np.float64)
    of: Floats = np.asarray(n, np.float64)
    reached, of = np.broadcast_arrays(reached, of)
    found = np.zeros(reached.shape)
    inner = (reached > 0) & (reached < of)
    a, m = reached[inner], of[inner]
    b = m - a
    logs = _stirling(m) - _stirling(a) - _stirling(b) - _deviance(a, p * m) - _deviance(b, (1 - p) * m)
    found[inner] = np.exp(logs) * np.sqrt(m / (2 * math.pi * a * b))
    none, all_ = (reached == 0) & (of >= 0), (reached == of) & (of > 0)
    found[none] = np.exp(of[none] * math.log1p(-p))
    found[all_] = np.exp(of[all_] * math.log(p))
    return found


def _stirling(n: Floats) -> Floats:
    """What the logarithm of n! has besides Stirling's formula."""
    square = n * n
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / n
    return np.where(n < _SMALL, _EXACT[np.minimum(n, _SMALL - 1).astype(np.int64)], series)


def _deviance(x: Floats, mean: Floats) -> Floats:
    """The value x log(x / mean) + mean - x, by a series where both are close."""
    apart = x - mean
    v = apart / (x + mean)
    square, power, total = v * v, 2 * x * v, apart * v
    for k in range(1, 12):
        power = power * square
        total = total + power / (2 * k + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = x * np.log(x / mean) - apart
    return np.where(np.abs(v) < 0.1, total, plain)
