# SPDX-License-Identifier: Apache-2.0
"""Distributions of several kinds, made by formula, and counts of the reports of users who hold them."""

from __future__ import annotations

import numpy as np

from murmurate.aggregators.distribution_waves import Buckets, BucketsAndNone, channel_of
from murmurate.randomizers import SW, WaveAndPresence

KINDS = ("hill", "two hills", "exponential", "step", "spikes", "gamma", "hill and spikes")


def truth(kind: str, cells: int, rng: np.random.Generator, *, none: float = 0.0) -> np.ndarray:
    """Frequencies of cells, and of none after them where there is any."""
    x = (np.arange(cells) + 0.5) / cells
    spikes = np.zeros(cells)
    spikes[rng.choice(cells, max(3, cells // 20), replace=False)] = 1
    shapes = {
        "hill": x * (1 - x) ** 4,
        "two hills": np.exp(-(((x - 0.25) / 0.08) ** 2) / 2) + 0.6 * np.exp(-(((x - 0.7) / 0.05) ** 2) / 2) + 0.02,
        "exponential": np.exp(-6 * x),
        "step": np.where(x < 0.4, 3.0, 0.5),
        "spikes": 0.4 / cells + 0.6 * spikes / spikes.sum(),
        "gamma": rng.gamma(1, 1, cells),
        "hill and spikes": x * (1 - x) ** 2 / (x * (1 - x) ** 2).sum() + 0.4 * spikes / spikes.sum(),
    }
    f = shapes[kind] / shapes[kind].sum()
    return np.append(f * (1 - none), none) if none else f


def channel(cells: int, epsilon: float, *, none: bool = False) -> Buckets | BucketsAndNone:
    """What carries such a distribution to reports."""
    return channel_of(WaveAndPresence(d=cells + 1, epsilon=epsilon) if none else SW(d=cells, epsilon=epsilon))


def counts(through: Buckets | BucketsAndNone, f: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Of n users' reports."""
    seen = through.forward(f)
    return rng.multinomial(n, seen / seen.sum())
