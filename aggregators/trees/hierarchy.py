# SPDX-License-Identifier: Apache-2.0
"""Sums over stretches straight from noisy nodes, without consistency: what ToPS calls H2 and H16.

Contract: the sum of the fewest nodes that hold a stretch of leaves, which may lie in several trees in a row; its
variance is the number of those nodes, in units of one node's.  Prefix sums of every level make an answer O(levels).
Source: ToPS 3.4.  Not here: consistent estimates, whose variance is 2.7 times smaller at fanout 16 (consistency.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.trees import Tree


class NodeSums:
    """Noisy nodes of trees in a row, ready to answer.

    >>> sums = NodeSums(Tree(2, 2), [np.array([1, 2, 3, 4]), np.array([30, 70])])
    >>> int(sums.answer(1, 4)), sums.variance(1, 4)
    (72, 2)
    """

    def __init__(self, tree: Tree, levels: Sequence[NDArray[Any]]) -> None:
        sizes = [len(level) for level in levels]
        if len(sizes) != tree.levels or sizes != [sizes[-1] * tree.nodes(level) for level in range(1, len(sizes) + 1)]:
            raise ParameterError(f"levels: found {sizes} nodes; allowed: {tree.levels} levels of whole trees")
        self.tree = tree
        self._before = [np.concatenate([np.zeros(1, level.dtype), np.cumsum(level)]) for level in levels]

    def answer(self, low: int, high: int) -> Any:
        """The noisy sum of the leaves low..high-1."""
        if not low <= high < len(self._before[0]):
            raise ParameterError(f"leaves: found {low} to {high}; allowed: up to {len(self._before[0]) - 1}")
        runs = self.tree.canonical_runs(low, high)
        return sum(self._before[level - 1][end] - self._before[level - 1][first] for level, first, end in runs)

    def variance(self, low: int, high: int) -> int:
        """The variance of that answer, in units of one node's: the number of its nodes."""
        return sum(end - first for _, first, end in self.tree.canonical_runs(low, high))


def node_totals(tree: Tree, leaves: NDArray[Any]) -> list[NDArray[Any]]:
    """The true numbers of all nodes above these leaves, which fill whole trees: level by level from the leaves."""
    if len(leaves) % tree.leaves:
        raise ParameterError(f"leaves: found {len(leaves)}; allowed: a multiple of {tree.leaves}")
    found = [leaves]
    for _ in range(tree.levels - 1):
        found.append(found[-1].reshape(-1, tree.fanout).sum(axis=1))
    return found
