"""Paths of made-up truths: shares, or a number, that wander around where they begin.

Contract: the same name gives the same path, by the keyed PRF under a key that is no secret.  Drift is the root mean
square of what a statistic moves in a period.  A path is drawn back by a 500th of its way a period, so that it neither
ends at a border nor grows with the time simulated.  Not here: users (agents/simulate/trial_truths.py).
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key
from murmurate.randomizers.randomness import contexts

Floats = NDArray[np.float64]

BACK = 0.002
"""How much of its way a made-up truth is drawn back in a period."""
BUMP = 0.3
"""The standard deviation of numbers around their mean, where the range is 2 long."""
FARTHEST = 0.5
"""How far from the middle a made-up number goes."""
_KEY = Key(hashlib.sha256(b"murmurate/shapes/1").digest(), deployment="shapes")  # no secret: nobody is there yet


def wandering_shares(base: Floats, drift: float, periods: int, seed: int) -> Floats:
    """Shares whose steps go with their size, so that none falls below 0, all of them together by `drift`."""
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
    """A number that wanders around the middle of -1 and 1: float64[periods]."""
    at, path = 0.0, np.empty(periods)
    for t, step in enumerate(_normal(f"way {seed}", (periods, 1))[:, 0].tolist()):
        path[t] = at
        at = min(max((1 - BACK) * at + drift * step, -FARTHEST), FARTHEST)
    return path


def bumps(middles: Floats, cells: int) -> Floats:
    """Shares of cells around each of these numbers: float64[len(middles), cells]."""
    heights = np.exp(-(((np.linspace(-1, 1, cells) - middles[:, None]) / BUMP) ** 2) / 2)
    return np.asarray(heights / heights.sum(axis=1, keepdims=True))


def _normal(purpose: str, shape: tuple[int, int]) -> Floats:
    """Normal numbers of a name, by Box and Muller."""
    rows = contexts(np.arange(shape[0] * shape[1]))
    words = _KEY.words("permutation", rows, round=hashlib.sha256(purpose.encode()).digest(), k=2)
    one, other = ((words >> np.uint64(11)).astype(np.float64).T + 0.5) / (1 << 53)
    return np.asarray((np.sqrt(-2 * np.log(one)) * np.cos(2 * np.pi * other)).reshape(shape))
