# SPDX-License-Identifier: Apache-2.0
"""Nodes of residue trees for tests, and the dense least squares that they are compared with."""

from __future__ import annotations

from math import inf

import numpy as np

from murmurate.aggregators.trees.residue import Floats, NodeEstimate
from murmurate.randomizers.residue_tree import ResidueTree


def random_nodes(tree: ResidueTree, d: int, rng: np.random.Generator, *, missing: float = 0.0) -> list[NodeEstimate]:
    """Every node that a tree tells, with noise of its own size, in order of time; but for a share that is missing."""
    found = []
    for step in range(1, tree.periods + 1):
        for level, node in tree.ending(step):
            if rng.random() >= missing:
                variance = rng.uniform(0.5, 2, d)
                found.append(NodeEstimate(level, node, rng.normal(size=d), float(rng.uniform(0.1, 3)), variance))
    return found


def dense(tree: ResidueTree, told: list[NodeEstimate], steps: int, d: int) -> tuple[Floats, Floats]:
    """Least squares over the nodes that end until a step, by a dense pseudo-inverse.

    Values float64[steps, d], NaN where they are not determined, and weights float64[steps, nodes].
    """
    rows = np.array([row(tree, one, steps) for one in told]).reshape(len(told), steps)
    root = np.array([one.weighing for one in told]) ** -0.5
    inverse = np.linalg.pinv(rows * root[:, np.newaxis], rcond=1e-12)
    sums = np.tril(np.ones((steps, steps)))
    determined = np.abs(sums @ (inverse @ (rows * root[:, np.newaxis])) - sums).max(axis=1) < 1e-9
    weights = sums @ (inverse * root)
    values = weights @ np.array([one.estimate for one in told]).reshape(len(told), d)
    return np.where(determined[:, np.newaxis], values, np.nan), np.where(determined[:, np.newaxis], weights, inf)


def row(tree: ResidueTree, one: NodeEstimate, steps: int) -> Floats:
    """Which steps' changes a node adds up: float64[steps]."""
    found, span = np.zeros(steps), tree.span(one.level)
    found[(one.node - 1) * span : one.node * span] = 1
    return found


def ended(tree: ResidueTree, told: list[NodeEstimate], steps: int) -> list[NodeEstimate]:
    """The nodes that end until a step."""
    return [one for one in told if one.node * tree.span(one.level) <= steps]
