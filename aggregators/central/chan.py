# SPDX-License-Identifier: Apache-2.0
"""Chan's tree: a binary tree of noisy sums that has no fixed height, each level with a smaller share of epsilon.

Contract: the levels get the shares .1, .09, .081, ... of epsilon, which sum to 1 however high the tree grows (erratum
E17: without the factor .1, as printed, they sum to 9).  Like H2 it answers from the fewest nodes that hold a stretch,
and a tree of fixed height gives each level an even share.  It is there to be compared with: a tree that grows for ever
costs its high levels ever more noise, and trees in a row cost a stretch one node more.
Source: ToPS, section 3.4; Chan, Shi and Song 2011; ARCHITECTURE erratum E17.  Not here: sums of nodes
(aggregators/trees/hierarchy.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.trees import Tree

Floats = NDArray[np.float64]

CHAN_DECAY: Final = 0.9
"""The share of a level over that of the level below."""


def even_shares(levels: int) -> Floats:
    """The shares of epsilon that the levels of a tree of fixed height get, the leaves' first."""
    return np.full(levels, 1 / levels)


def chan_shares(levels: int) -> Floats:
    """The shares of the lowest levels of a tree that grows for ever; those of all levels sum to 1.

    >>> chan_shares(3).round(4).tolist()
    [0.1, 0.09, 0.081]
    """
    return np.asarray((1 - CHAN_DECAY) * CHAN_DECAY ** np.arange(levels), np.float64)


def stretch_variance(tree: Tree, low: int, high: int, shares: Floats) -> float:
    """The variance of a sum of leaves low..high-1 with Laplace noise on each node, over theta^2 / epsilon^2."""
    return sum(
        2 / float(shares[level - 1]) ** 2 * (end - first) for level, first, end in tree.canonical_runs(low, high)
    )
