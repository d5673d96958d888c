# SPDX-License-Identifier: Apache-2.0
"""The matrices of Square Wave in full, and EM as the textbook writes it: what the fast ones must equal."""

from __future__ import annotations

import numpy as np

from murmurate.aggregators.distribution import Channel


class Dense:
    """A channel by its matrix."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix
        self.outputs, self.inputs = matrix.shape

    def forward(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix @ x)

    def backward(self, w: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix.T @ w)


def matrix(channel: Channel) -> np.ndarray:
    """Column by column."""
    return np.stack([channel.forward(unit) for unit in np.eye(channel.inputs)], axis=1)


def band(d: int, reach: int, p: float, q: float) -> np.ndarray:
    """The bucketised wave as the paper defines it."""
    j, i = np.indices((d + 2 * reach, d))
    return np.where((i <= j) & (j <= i + 2 * reach), p, q)


def overlap(b: float, p: float, q: float, inputs: int, outputs: int) -> np.ndarray:
    """The continuous wave by the fourth differences of g(t) = max(t, 0)^2 / 2."""
    x, y = np.linspace(0, 1, inputs + 1), np.linspace(-b, 1 + b, outputs + 1)

    def g(t: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(t, 0) ** 2 / 2)

    def below(c: float) -> np.ndarray:  # how much of the cell lies under y <= v + c
        y0, y1, v0, v1 = y[:-1, None], y[1:, None], x[None, :-1], x[None, 1:]
        return np.asarray(g(c - y0 + v1) - g(c - y0 + v0) - g(c - y1 + v1) + g(c - y1 + v0))

    return np.asarray(q * (1 + 2 * b) / outputs + (p - q) * inputs * (below(b) - below(-b)))
