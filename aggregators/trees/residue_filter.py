# SPDX-License-Identifier: Apache-2.0
"""A filter over the values of horizons: a mixture of Kalman filters over the nodes that end.

Contract: a node that ends now tells the present value less the one at its beginning, with independent noise.  So the
state of each filter is the present value, the value at the beginning of each level's open node (its anchor, zero
without doubt where that is the horizon's beginning), and a velocity.  The models are rest, walks, trends, jumps, and
values that are free in each period, which alone give plain least squares.  They are mixed anew in each period, as an
interacting mixture: each begins from the mean of all, weighed by how likely a change of model is, and is then weighed
by what it foretold of the nodes.  The present value is carried from one horizon to the next, with the sampling error
between cohorts.  Its variances are only as good as its models: where users are few and values move slowly they are too
small, and no one uses them as they are.
Source: interacting multiple models (Blom and Bar-Shalom 1988); anchors and grid are ours; ARCHITECTURE section 5.18.
Not here: how far its estimates are trusted (least_squares_guard.py), the method that it stands behind
(aggregators/methods/filtered_horizon.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.trees.residue import NodeEstimate, StepEstimate
from murmurate.randomizers.errors import SnapshotError
from murmurate.randomizers.residue_tree import ResidueTree

Floats = NDArray[np.float64]


class Motion(NamedTuple):
    """One model of how a value moves. Variances are in units of the noise of a node of the lowest level."""

    step: float
    """The variance that a period adds to the value."""
    turn: float | None
    """The variance that a period adds to the velocity; None where there is none."""
    stay: float
    """The chance that the model holds for another period; else one is drawn by `odds`."""
    odds: float


FREE: Final = 1e4
MOTIONS: Final = (
    Motion(0, None, 0.995, 2),
    *(Motion(step, None, 0.99, 1) for step in (1e-4, 1e-3, 1e-2, 0.1, 1, 10)),
    Motion(FREE, None, 0.3, 0.3),
    Motion(FREE, None, 0.99, 3),
    *(Motion(step, turn, 0.99, 1) for step, turn in ((1e-6, 1e-6), (1e-5, 1e-4), (1e-3, 1e-2), (0.1, 1e-3), (1, 1e-4))),
)
VELOCITY: Final = 1.0
"""The variance of a velocity before anything is known of it."""

_LEAST_NOISE: Final = 0.25


class ResidueFilter:
    """The filter of some coordinates over one horizon after another. K models; states of levels + 2 numbers."""

    def __init__(
        self, tree: ResidueTree, coordinates: int, unit: float, *, sampling: float = 0.0,
        motions: Sequence[Motion] = MOTIONS,
    ) -> None:  # fmt: skip
        """unit: the noise of a node of the lowest level. sampling: the variance between the values of two cohorts."""
        self.tree, self.unit, self.sampling = tree, unit, sampling
        self._odds = np.array([one.odds for one in motions]) / sum(one.odds for one in motions)
        stay = np.array([one.stay for one in motions])
        self._changes = np.diag(stay) + (1 - stay)[:, np.newaxis] * self._odds  # float64[K from, K to]
        self._steps = np.array([one.step for one in motions]) * unit
        self._turns = np.array([one.turn or 0.0 for one in motions]) * unit
        self._trends = np.array([one.turn is not None for one in motions])
        size, models = tree.levels + 2, len(motions)
        self._weights = np.tile(self._odds, (coordinates, 1))
        self._means = np.zeros((coordinates, models, size))
        """The present value, the anchor of each level, the velocity: float64[d, K, size]."""
        self._covariances = np.zeros((coordinates, models, size, size))
        self._covariances[..., 0, 0] = 1.0
        self._at = 0

    def close(self, told: Sequence[NodeEstimate]) -> StepEstimate:
        """The estimate of the next step, from the nodes that end with it."""
        self._at = self._at % self.tree.periods + 1
        if self._at == 1:
            self._begin()
        self._mix()
        self._move()
        likely = np.zeros_like(self._weights)
        for one in told:
            likely += self._learn(one)
        for level in range(self.tree.levels):
            if self._at % self.tree.span(level) == 0:
                self._anchor(level + 1)
        self._weights *= np.exp(likely - likely.max(axis=1, keepdims=True))
        self._weights /= self._weights.sum(axis=1, keepdims=True)
        values = self._means[..., 0]
        mean = (self._weights * values).sum(axis=1)
        spread = np.maximum(self._covariances[..., 0, 0], 0) + (values - mean[:, np.newaxis]) ** 2
        return StepEstimate(self._at, mean, (self._weights * spread).sum(axis=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state; it does not share memory with this."""
        state = {"weights": self._weights, "means": self._means, "covariances": self._covariances}
        state["at"] = np.array([self._at])
        return {name: array.copy() for name, array in state.items()}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over `arrays` of a filter of the same tree, coordinates and models."""
        wanted = {name: array.shape for name, array in self.arrays().items()}
        found = {name: array.shape for name, array in arrays.items()}
        if found != wanted:
            raise SnapshotError(f"residue filter: found a state of {found}; allowed: {wanted}")
        self._weights, self._means = arrays["weights"].copy(), arrays["means"].copy()
        self._covariances, self._at = arrays["covariances"].copy(), int(arrays["at"][0])

    def _begin(self) -> None:
        """Keep the present value and the velocity; every anchor is zero, for sure."""
        self._means[..., 1:-1] = 0
        self._covariances[..., 1:-1, :] = 0
        self._covariances[..., :, 1:-1] = 0
        self._covariances[..., 0, 0] += self.sampling

    def _mix(self) -> None:
        """Let every model begin from the mean of all, as likely as each has become it."""
        d, models, size = self._means.shape
        after = self._weights @ self._changes
        parts = np.swapaxes(self._weights[..., np.newaxis] * self._changes / after[:, np.newaxis], 1, 2)
        center = (self._weights[..., np.newaxis] * self._means).sum(axis=1, keepdims=True)
        off = self._means - center
        squares = (self._covariances + off[..., np.newaxis] * off[..., np.newaxis, :]).reshape(d, models, -1)
        mixed = parts @ off
        self._covariances = (parts @ squares).reshape(d, models, size, size)
        self._covariances -= mixed[..., np.newaxis] * mixed[..., np.newaxis, :]
        self._means, self._weights = mixed + center, after

    def _move(self) -> None:
        """One period passes."""
        resting, trends = ~self._trends, self._trends
        self._means[:, resting, -1] = 0
        self._covariances[:, resting, -1, :] = 0
        self._covariances[:, resting, :, -1] = 0
        self._covariances[:, resting, -1, -1] = VELOCITY * self.unit
        self._means[:, trends, 0] += self._means[:, trends, -1]
        self._covariances[:, trends, 0, :] += self._covariances[:, trends, -1, :]
        self._covariances[:, trends, :, 0] += self._covariances[:, trends, :, -1]
        self._covariances[..., -1, -1] += self._turns
        self._covariances[..., 0, 0] += self._steps

    def _learn(self, one: NodeEstimate) -> Floats:
        """Take a node that ends now. Gives the logarithm of how likely each model thought it: float64[d, K]."""
        anchor = one.level + 1
        least = _LEAST_NOISE * one.weighing  # where few reports show less than there is
        noise = np.broadcast_to(np.maximum(one.actual_variance, least), one.estimate.shape)[:, np.newaxis]
        seen = self._covariances[..., 0] - self._covariances[..., anchor]
        expected = seen[..., 0] - seen[..., anchor] + noise
        off = one.estimate[:, np.newaxis] - (self._means[..., 0] - self._means[..., anchor])
        gain = seen / expected[..., np.newaxis]
        self._means += gain * off[..., np.newaxis]
        self._covariances -= gain[..., np.newaxis] * seen[..., np.newaxis, :]
        return np.asarray(-0.5 * (np.log(expected) + off**2 / expected))

    def _anchor(self, at: int) -> None:
        """The level's next node begins now."""
        self._means[..., at] = self._means[..., 0]
        self._covariances[..., at, :] = self._covariances[..., 0, :]
        self._covariances[..., :, at] = self._covariances[..., :, 0]
