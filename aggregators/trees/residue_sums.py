# SPDX-License-Identifier: Apache-2.0
"""Sums of the estimates that were told while a horizon ran, and their variances from those of the single estimates.

Contract: exact for independent nodes, whatever their variances and their weights are, from each estimate's variance and
from the share of its children in each node's best (`StepEstimate.shares`).  The estimate at a step is the sum of the
bests on its path, and a best never changes once its node has ended.  The paths of a node's beginning and of its end
differ by the node alone, so that its best has the variance V(end) - V(beginning).  In later estimates it stands whole
while it is on their paths, and then as a part of its parent's best, times the share: that is all that the errors of two
estimates have in common.  For a sum that takes the estimate at step u k(u) times, with G the sum of k over the steps on
whose paths a node is, and P its parent,

    variance = sum over nodes of V(best) G (G + 2 share(P) w(P))        w = G + share(P) w(P)

from the top down: O(nodes).  A variance that is not known is taken from the next step whose path goes through this one,
and a share that is not known is 1.  Either makes covariances larger or leaves them, so the answer is never too small.
Source: derived for SaO2's tree; tests compare with dense algebra.  Not here: sums of what is told after the horizon
(residue_squares.py), from which releases variances come (aggregators/queries/horizon_sums.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.trees.residue import Floats
from murmurate.randomizers.residue_tree import ResidueTree

Steps = NDArray[np.int64]


class SumWeights(NamedTuple):
    """A sum, and what bests weigh in its variance."""

    steps: Steps
    """The steps of the estimates that are added up, rising."""
    times: Floats
    """How many times each."""
    ends: Steps
    """The steps at which nodes with a weight end: at each step only one best begins to be on paths."""
    weights: Floats
    unknown: bool
    """Whether something that matters is not known."""

    @property
    def bounded(self) -> bool:
        """Whether the variance is a bound."""
        return self.unknown and len(self.steps) > 1


class OnlineSums:
    """Sums over one horizon.

    >>> sums = OnlineSums(ResidueTree(2, 2, every=True), np.array([1, 2]), [np.array([1 / 3])])  # three equal nodes
    >>> found = sums.weights(np.array([1, 2]), np.array([1, 1]))
    >>> found.ends.tolist(), found.weights.round(3).tolist(), round(sums.variance(found, np.array([0, 1, 2 / 3])), 3)
    ([2, 1], [1.0, 1.667], 2.333)
    """

    def __init__(self, tree: ResidueTree, known: Steps, shares: Sequence[Floats]) -> None:
        """known: the steps whose estimates' variances are known, rising.  shares: for each level from 1 that of each
        node's children in its best, NaN where it is not known.
        """
        self.tree, self._shares = tree, shares
        self._before = _before(tree)
        steps = np.arange(tree.periods + 1)
        following = np.append(known, tree.periods + 1)[np.searchsorted(known, steps)]
        beyond = np.where(self._top, tree.periods + 1, np.minimum(2 * steps - self._before, tree.periods + 1))
        self._stands_in = np.where(following < beyond, following, 0)
        self._stands_in[0] = 0

    @property
    def _top(self) -> NDArray[np.bool_]:
        """Whether the node whose best begins at a step is one of the top, on all later paths."""
        span = self.tree.span(self.tree.levels - 1)
        return np.asarray(np.arange(self.tree.periods + 1) % span == 0)

    def variance(self, of: SumWeights, variances: Floats) -> float:
        """The variance of a sum, from those of all estimates, float64[steps + 1]: 0 at step 0, anything where they are
        not known. No more than if all errors were one.
        """
        known = variances[self._stands_in]
        bests = np.maximum(known[of.ends] - known[self._before[of.ends]], 0)
        found = fsum((bests * of.weights).tolist())
        return min(found, fsum((of.times * np.sqrt(variances[of.steps])).tolist()) ** 2) if of.unknown else found

    def weights(self, steps: Steps, times: NDArray[Any]) -> SumWeights:
        """The weights in a sum that takes the estimates of these steps, rising, so many times.

        1. How often a node is on a path, from the top down. 2. What it weighs, by itself and with its parent. 3. What
        of that rests on something that is not known.
        """
        first, last, r, top = int(steps[0]), int(steps[-1]), self.tree.fanout, self.tree.levels - 1
        sums = np.zeros(last - first + 2)
        sums[steps - first + 1] = times
        sums = np.cumsum(sums)
        ends, weights, unknown = list[Steps](), list[Floats](), False
        above, lowest = np.zeros(0), 1  # what the parts of nodes of the level above weigh, from that node on
        for level in range(top, -1, -1):
            # 1.
            span = self.tree.span(level)
            begin = 1 if level == top else first // (span * r) * r + 1
            nodes = np.arange(begin, last // span + 1)
            end = nodes * span
            stop = np.full(len(nodes), last) if level == top else ((nodes - 1) // r + 1) * span * r - 1
            on_paths = _until(sums, stop - first) - _until(sums, end - 1 - first)
            # 2.
            parent = (nodes - 1) // r + 1 - lowest
            within = np.append(above, 0.0)[np.minimum(parent, len(above))] if level < top else np.zeros(len(nodes))
            alone = on_paths > 0
            ends.append(end[alone])
            weights.append((on_paths * (on_paths + 2 * within))[alone])
            if level:
                share, whole = self._shares[level - 1][begin - 1 : begin - 1 + len(nodes)], on_paths + within
                # 3.
                untold = np.isnan(share)
                unknown |= bool((untold & (whole > 0) & (end > first)).any())
                above, lowest = np.where(untold, 1.0, share) * whole, begin
        found = np.concatenate(ends)
        places = np.append(found, self._before[found])
        unknown |= bool((self._stands_in[places] != places).any())
        return SumWeights(steps, np.asarray(times, np.float64), found, np.concatenate(weights), unknown)


def _until(sums: Floats, places: Steps) -> Floats:
    """The sum of what stands up to each place, which may lie before or beyond all."""
    return np.asarray(sums[np.clip(places + 1, 0, len(sums) - 1)])


@lru_cache(maxsize=16)
def _before(tree: ResidueTree) -> Steps:
    """For each step, 0 included, where the node begins whose best begins to be on paths there."""
    spans = np.ones(tree.periods + 1, np.int64)
    for level in range(1, tree.levels):
        spans[:: tree.span(level)] = tree.span(level)
    spans[0] = 0
    return np.arange(tree.periods + 1) - spans
