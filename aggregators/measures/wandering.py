# SPDX-License-Identifier: Apache-2.0
"""Synthetic truths for planning: shares, or a mean, that wander around their start.

Contract: the same seed gives the same path, by the keyed PRF under a key that is no secret.  Drift is the root mean
square change of a statistic in a period.  In each period a path is drawn back by a 500th of its distance from the
start, so that it neither stays at a border nor spreads with the time simulated.  Not here: users
(agents/simulate/trial_truths.py).
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key
from murmurate.randomizers.randomness import contexts

Floats = NDArray[np.float64]

BACK = 0.002
"""The part of its distance from the start by which a synthetic truth is drawn back in each period."""
BUMP = 0.3
"""The standard deviation of synthetic numbers around their mean, on a range of length 2."""
FARTHEST = 0.5
"""The largest distance of a synthetic mean from the middle of the range."""
_KEY = Key(hashlib.sha256(b"murmurate/shapes/1").digest(), deployment="shapes")  # no secret: nobody is there yet


def wandering_shares(base: Floats, drift: float, periods: int, seed: int) -> Floats:
    """Shares that wander with steps proportional to their size, so that none falls below 0; their root mean square step
    is `drift`.
    """
    steps = _normal(f"walk {seed}", (periods, len(base)))
    shares, path = base, np.empty_like(steps)
    for t, step in enumerate(steps):
        path[t] = shares
        away = shares * (step - shares @ step)
        usual = np.sqrt((shares**2 * (1 - 2 * shares + shares @ shares)).mean())
        shares = shares + (drift / usual * away if usual else 0) + BACK * (base - shares)
        shares = np.maximum(shares, 0)
        shares = shares / shares.sum()
    return path


def wandering_number(drift: float, periods: int, seed: int) -> Floats:
    """A mean that wanders around the middle of -1 to 1: float64[periods]."""
    at, path = 0.0, np.empty(periods)
    for t, step in enumerate(_normal(f"way {seed}", (periods, 1))[:, 0].tolist()):
        path[t] = at
        at = min(max((1 - BACK) * at + drift * step, -FARTHEST), FARTHEST)
    return path


def bumps(middles: Floats, cells: int) -> Floats:
    """Shares of cells around each of these means: float64[len(middles), cells]."""
    heights = np.exp(-(((np.linspace(-1, 1, cells) - middles[:, None]) / BUMP) ** 2) / 2)
    return np.asarray(heights / heights.sum(axis=1, keepdims=True))


def _normal(purpose: str, shape: tuple[int, int]) -> Floats:
    """Standard normal numbers, a function of the name, by the method of Box and Muller."""
    rows = contexts(np.arange(shape[0] * shape[1]))
    words = _KEY.words("permutation", rows, round=hashlib.sha256(purpose.encode()).digest(), k=2)
    one, other = ((words >> np.uint64(11)).astype(np.float64).T + 0.5) / (1 << 53)
    return np.asarray((np.sqrt(-2 * np.log(one)) * np.cos(2 * np.pi * other)).reshape(shape))
