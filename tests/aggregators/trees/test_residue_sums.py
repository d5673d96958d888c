# SPDX-License-Identifier: Apache-2.0
"""Sums over a horizon of what was told while it ran: against dense algebra, and bounds where not all is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.aggregators.trees.residue import NodeEstimate, ResidueEstimates
from murmurate.aggregators.trees.residue_sums import OnlineSums
from murmurate.randomizers.residue_tree import ResidueTree
from tests.cases import drawn


class DenseHorizon:
    """A horizon with random weights and other variances, and the covariance matrix of its estimates.

    Each node's number is a coordinate of its own, so that an estimate is its weights on all numbers.
    """

    def __init__(self, tree: ResidueTree, seed: int, missing: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.tree = tree
        nodes = [(level, node) for level in range(tree.levels) for node in tree.nodes(level)]
        there = rng.random(len(nodes)) >= missing
        weighing, variances = rng.uniform(0.2, 5, (2, len(nodes)))
        estimates, rows = ResidueEstimates(tree, len(nodes)), list[np.ndarray]()
        self.shares = [np.zeros(tree.periods // tree.span(level)) for level in range(1, tree.levels)]
        for step in range(1, tree.periods + 1):
            told = [
                NodeEstimate(*nodes[at], np.eye(len(nodes))[at], float(weighing[at]))
                for at in range(len(nodes))
                if there[at] and nodes[at][1] * tree.span(nodes[at][0]) == step
            ]
            closed = estimates.close(told)
            rows.append(closed.estimate)
            for level, share in enumerate(closed.shares, 1):
                self.shares[level - 1][step // tree.span(level) - 1] = share
        weights = np.array(rows)
        self.steps = np.flatnonzero(~np.isnan(weights).any(axis=1)) + 1
        """Those that the nodes determine."""
        self.covariance = np.full((tree.periods + 1, tree.periods + 1), np.nan)
        self.covariance[np.ix_(self.steps, self.steps)] = (
            weights[self.steps - 1] @ np.diag(variances) @ weights[self.steps - 1].T
        )

    def dense(self, steps: np.ndarray, times: np.ndarray) -> float:
        """The variance of the sum that takes these steps so many times."""
        return float(times @ self.covariance[np.ix_(steps, steps)] @ times)

    def found(self, sums: OnlineSums, steps: np.ndarray, times: np.ndarray) -> tuple[float, bool]:
        """The variance as it is found, and whether it is a bound."""
        weights = sums.weights(steps, times)
        return sums.variance(weights, np.nan_to_num(np.diag(self.covariance))), weights.bounded


@st.composite
def horizons(draw: st.DrawFn) -> DenseHorizon:
    periods, fanout = draw(st.integers(1, 40)), draw(st.integers(2, 5))
    whole = ResidueTree(periods, fanout)
    tree = ResidueTree(periods, fanout, draw(st.booleans()), draw(st.integers(0, whole.levels - 1)))
    return DenseHorizon(tree, draw(st.integers(0, 2**32)), draw(st.sampled_from([0, 0, 0.2])))


@drawn(25, long=300, horizon=horizons(), seed=st.integers(0, 2**32))
def test_the_variance_of_any_sum_is_that_of_dense_algebra(horizon: DenseHorizon, seed: int) -> None:
    rng = np.random.default_rng(seed)
    if not len(horizon.steps):
        return
    sums = OnlineSums(horizon.tree, horizon.steps, horizon.shares)
    low, high = np.sort(rng.choice(horizon.steps, 2))
    stretch = horizon.steps[(horizon.steps >= low) & (horizon.steps <= high)]
    some = np.sort(rng.choice(horizon.steps, rng.integers(1, len(horizon.steps) + 1), replace=False))
    for steps, times in ((stretch, np.ones(len(stretch))), (some, rng.integers(1, 5, len(some)))):
        variance, bounded = horizon.found(sums, steps, times)
        assert variance == pytest.approx(horizon.dense(steps, times), rel=1e-9)
        assert not bounded


@drawn(25, long=300, horizon=horizons(), seed=st.integers(0, 2**32), lost=st.sampled_from([0.1, 0.5, 0.9]))
def test_what_is_not_known_makes_the_variance_no_smaller(horizon: DenseHorizon, seed: int, lost: float) -> None:
    rng = np.random.default_rng(seed)
    known = horizon.steps[rng.random(len(horizon.steps)) >= lost]
    if not len(known):
        return
    shares = [np.where(rng.random(len(of)) < lost, np.nan, of) for of in horizon.shares]
    sums = OnlineSums(horizon.tree, known, shares)
    first = rng.integers(len(known))
    for steps in (known, known[first:], known[: first + 1]):
        variance, bounded = horizon.found(sums, steps, np.ones(len(steps)))
        dense = horizon.dense(steps, np.ones(len(steps)))
        alike = np.sqrt(np.diag(horizon.covariance)[steps]).sum() ** 2
        assert dense * (1 - 1e-9) <= variance <= alike * (1 + 1e-9)
        assert bounded or variance == pytest.approx(dense, rel=1e-9)


def test_a_horizon_of_8192_periods_takes_one_pass_over_its_nodes() -> None:
    tree = ResidueTree(8192, 2, every=True)
    shares = [np.full(8192 >> level, 0.4) for level in range(1, tree.levels)]
    sums = OnlineSums(tree, np.arange(1, 8193), shares)
    found = sums.weights(np.arange(100, 8001), np.ones(7901))
    assert len(found.ends) <= 7901 + tree.levels
    single = sums.weights(np.array([8001]), np.ones(1))
    assert [found.tolist() for found in (single.ends, single.weights)] == [
        [4096, 6144, 7168, 7680, 7936, 8000, 8001],
        [1.0] * 7,
    ]
