# SPDX-License-Identifier: Apache-2.0
"""Consistent noise of the leaves of one tree, as they are needed: in order, or from anywhere after a restart.

Contract: `numerator(leaf)` is what `dyadic_leaves` gives for the noise of all nodes, bit for bit, whichever leaves
were asked for before.  What is kept: a number for each sub-tree of at most `chunk` leaves, and the leaves of the one
that was asked for last.  The first leaf of all needs the noise of the whole tree, since its root weighs it: that is one
pass, 2^16 leaves at a time; after it a sub-tree's noise is made once more when its first leaf is reached.  Whole
numbers are modulo 2^64: `fits` says whether they are the true ones.
Source: ToPS appendix C; ARCHITECTURE section 5.5.  Not here: where noise comes from (central/noise.py).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.trees.consistency import dyadic_downwards, dyadic_upwards
from murmurate.randomizers.central.discrete_laplace import DiscreteLaplace
from murmurate.randomizers.central.noise import NoiseOfNodes, law_of
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.trees import Tree

CHUNK = 1 << 12
"""Most leaves that are kept, unless a caller says otherwise: 32 KiB for each tree of each cell."""
PASS = 1 << 16
"""Most leaves that are at hand during the pass over the whole tree: they stay in a core's second-level cache."""


class LeafNoise:
    """Consistent noise of one tree's leaves, in whole numbers over `tree.denominator`."""

    def __init__(self, tree: Tree, noise: NoiseOfNodes, *, chunk: int = CHUNK) -> None:
        self._tree, self._noise = tree, noise
        self._level = _highest(tree, chunk)
        """Level of the tops of the sub-trees whose leaves are made at a time."""
        self._tops: NDArray[np.int64] | None = None
        """Consistent noise of the top of every sub-tree, in order, times b^(2 levels - 1 - its level)."""
        self._at = -1
        """Number of the sub-tree whose leaves are at hand."""
        self._leaves = np.empty(0, np.int64)

    def numerator(self, leaf: int) -> int:
        """The noise of a leaf, exact, times `tree.denominator`."""
        span = self._tree.span(self._level)
        if not 0 <= leaf < self._tree.leaves:
            raise ParameterError(f"leaf: found {shown(leaf)}; allowed: 0 to {self._tree.leaves - 1}")
        return int(self._sub_tree(leaf // span)[leaf % span])

    def numerators(self, first: int, count: int) -> NDArray[np.int64]:
        """The noise of the leaves first..first+count-1, times `tree.denominator`."""
        if first < 0 or count < 0 or first + count > self._tree.leaves:
            found = f"{shown(count)} from {shown(first)}"
            raise ParameterError(f"leaves: found {found}; allowed: 0 to {self._tree.leaves - 1}")
        span = self._tree.span(self._level)
        out = np.empty(count, np.int64)
        for at in range(first // span, -(-(first + count) // span)):
            low, high = max(first, at * span), min(first + count, (at + 1) * span)
            out[low - first : high - first] = self._sub_tree(at)[low - at * span : high - at * span]
        return out

    def _sub_tree(self, at: int) -> NDArray[np.int64]:
        """The leaves of a sub-tree."""
        if at != self._at:
            whole = self._level == self._tree.levels
            upwards = self._upwards(self._level, at)
            tops = upwards[-1] if whole else self._all_tops()[at : at + 1]
            depth = self._tree.levels - self._level
            self._leaves = dyadic_downwards(tops, upwards[:-1], self._tree.fanout, depth)
            self._at = at
        return self._leaves

    def _all_tops(self) -> NDArray[np.int64]:
        """The consistent noise of all tops, worked out once: up from what lies below them, down from the root."""
        if self._tops is None:
            tree, lowest = self._tree, self._level
            large = max(lowest, _highest(tree, PASS))
            parts = [self._upwards(large, at)[lowest - 1] for at in range(tree.nodes(large))]
            tops = np.concatenate(parts)
            above = [self._noise.of(level, 0, tree.nodes(level)) for level in range(lowest + 1, tree.levels + 1)]
            upwards = dyadic_upwards([tops, *above], tree.fanout, lowest)
            self._tops = dyadic_downwards(upwards[-1], upwards[:-1], tree.fanout)
        return self._tops

    def _upwards(self, top: int, at: int) -> list[NDArray[np.int64]]:
        """The upward pass over the sub-tree below a node of level `top`."""
        counts = [self._tree.span(top) // self._tree.span(level) for level in range(1, top + 1)]
        levels = [self._noise.of(level, at * count, count) for level, count in enumerate(counts, 1)]
        return dyadic_upwards(levels, self._tree.fanout)


def _highest(tree: Tree, leaves: int) -> int:
    """The highest level whose nodes hold at most so many leaves, or the leaves' own."""
    return max(level for level in range(1, tree.levels + 1) if level == 1 or tree.span(level) <= leaves)


def fits(tree: Tree, gamma: Fraction | int | DiscreteLaplace, total: int = 0) -> bool:
    """Whether leaves of at most `total` keep to 63 bits with their noise, but for a chance below 2^-64 a tree.

    Where it is not, numerators are true modulo 2^64 only: still a function of noisy nodes and so as private, but wrong.

    >>> [fits(Tree(16, 5), Fraction(1, 10**scale)) for scale in (6, 8)]
    [True, False]
    """
    law = gamma if isinstance(gamma, DiscreteLaplace) else law_of(gamma)
    room = ((1 << 63) - 1) // tree.denominator - total
    most = int(room / heaviest(tree))
    nodes = sum(tree.nodes(level) for level in range(1, tree.levels + 1))
    return most > 0 and nodes * law.beyond(most + 1) < Fraction(1, 1 << 64)


def heaviest(tree: Tree) -> Fraction:
    """At least the sum of the absolute weights with which nodes enter one leaf: how far noise of size 1 can move it.

    >>> round(float(heaviest(Tree(16, 5))), 3)
    2.125
    """
    b, upwards = tree.fanout, [Fraction(1)]
    for _ in range(tree.levels - 1):
        upwards.append(Fraction(b - 1, b) + upwards[-1])
    found = upwards.pop()
    for own in reversed(upwards):
        found = own * Fraction(2 * b - 2, b) + found / b
    return found
