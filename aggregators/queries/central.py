# SPDX-License-Identifier: Apache-2.0
"""Sums of a central stream over a stretch of periods, from the consistent leaves of its trees.

Contract: the sum over whole leaves is the sum of what was released for them, and its variance is exact: that of the
stretch in its trees (trees/variance.py) for leaves that follow each other, independent trees added up, and where
records are missing inside a tree with the covariance of what is left on both sides.  Leaves are consistent already, so
nothing else that is linear in what was released is unbiased and varies less.  A part of a leaf, and periods whose leaf
is not complete, are taken from the periods' estimates; their errors go together, and standard errors are added.
Source: ToPS 3.4, appendix C; ARCHITECTURE section 5.15.  Not here: what is asked (answers.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from murmurate.aggregators.queries.columns import NO_TREE
from murmurate.aggregators.queries.errors import ReleaseFormatError
from murmurate.aggregators.queries.exact_sums import MILLION, ExactSums, millionths
from murmurate.aggregators.queries.index import PlantedTree, RecordedStream
from murmurate.aggregators.queries.stretch import Coverage, Ints, StretchSum, between, count, missing
from murmurate.aggregators.trees.variance import range_variance
from murmurate.randomizers.trees import Tree

THRESHOLDS = ("thresholds",)
"""Where a stream keeps from when on which threshold counted: no statistic is called so."""
Piece = tuple[int, int]
"""Leaves from and to before, counted over the trees of a run."""


class LeafSums:
    """One statistic of a central stream, ready to answer: an answer takes O(log periods + levels)."""

    def __init__(self, recorded: RecordedStream, name: str) -> None:
        """1. The leaves in their order. 2. Their places in runs of trees. 3. Periods that no leaf stands for."""
        periods, blocks = recorded.columns()
        figures, errors = periods.figures(name), periods.figures(name, second=True)
        block = np.array([planted.block for planted in recorded.trees] + [1], np.int64)
        own = (block[periods.tree] == 1) & (periods.tree != NO_TREE) & ~np.isnan(figures)
        totals = np.concatenate((figures[own], blocks.figures(name)))
        end, tree = (np.concatenate((a[own], b)) for a, b in ((periods.t, blocks.t), (periods.tree, blocks.tree)))
        order = np.argsort(end, kind="stable")
        totals, self._last, tree = totals[order], end[order], tree[order]
        self._first: Ints = self._last - block[tree] + 1
        self._totals, self._sizes = ExactSums(millionths(totals)), ExactSums(self._last - self._first + 1)
        self._runs = _Runs(recorded.trees, name, tree, self._first)

        known = ~np.isnan(errors)
        self._known: Ints = periods.t[known]
        self._estimates = ExactSums(millionths(figures[known]))
        self._errors = ExactSums(millionths(errors[known]))
        loose = ~self._in_leaf(self._known)
        self._loose: Ints = self._known[loose]
        self._loose_estimates = ExactSums(millionths(figures[known][loose]))
        self._loose_errors = ExactSums(millionths(errors[known][loose]))
        self._held_out: Ints = periods.t[periods.tree == NO_TREE]
        silent = periods.t[~own & ~known & (periods.tree != NO_TREE)]
        self._silent: Ints = silent
        self._silent_loose: Ints = silent[~self._in_leaf(silent)]
        ends = np.concatenate((periods.t[:1], self._first[:1]))
        self._begin, self._end = int(ends.min()), int(periods.t[-1]) + 1

    def _in_leaf(self, t: Ints) -> np.ndarray:
        """Whether each of these periods is in a leaf that is complete: bool[n]."""
        at = np.searchsorted(self._last, t)
        first = np.append(self._first, np.iinfo(np.int64).max)
        return np.asarray(first[at] <= t)

    def over(self, low: int, high: int) -> StretchSum:
        """The sum over the periods low..high-1."""
        at = int(np.searchsorted(self._first, low))
        end = max(at, int(np.searchsorted(self._last, high)))
        total, variance = self._totals.between(at, end), self._runs.variance(at, end)
        pieces = [(self._loose, self._loose_estimates, self._loose_errors, low, high)]
        pieces += [(self._known, self._estimates, self._errors, *cut) for cut in self._cut(low, high)]
        interpolated, added, seen = 0, 0, [(int(self._first[at]), int(self._last[end - 1]) + 1)] if end > at else []
        for places, estimates, errors, start, stop in pieces:
            first, last = between(places, start, stop)
            if first < last:
                interpolated, seen = (
                    interpolated + last - first,
                    [*seen, (int(places[first]), int(places[last - 1]) + 1)],
                )
                total, added = total + estimates.between(first, last), added + errors.between(first, last)
        covered = self._sizes.between(at, end) + interpolated
        return StretchSum(total, variance, self._coverage(low, high, covered, seen), interpolated, added)

    def _cut(self, low: int, high: int) -> list[Piece]:
        """The parts of leaves that the ends of a stretch cut, in periods."""
        found: list[Piece] = []
        for at in dict.fromkeys(np.searchsorted(self._last, (low, high)).tolist()):
            if at < len(self._last):
                first, stop = max(low, int(self._first[at])), min(high, int(self._last[at]) + 1)
                if first < stop and (int(self._first[at]) < low or int(self._last[at]) >= high):
                    found.append((first, stop))
        return found

    def _coverage(self, low: int, high: int, covered: int, seen: Sequence[Piece]) -> Coverage:
        cut = sum(count(self._silent, *piece) for piece in self._cut(low, high))
        reasons = {
            "before": min(high, max(self._begin, low)) - low,
            "after": high - max(low, min(self._end, high)),
            "hold_out": count(self._held_out, low, high),
            "unmeasured": count(self._silent_loose, low, high) + cut,
        }
        ends = (min(first for first, _ in seen), max(last for _, last in seen)) if seen else (low, low)
        return Coverage(high - low, covered, *ends, missing(high - low, covered, **reasons))


class _Runs:
    """Leaves as they lie in trees that follow each other, and the variances of their sums.

    Leaves in a row are a piece; pieces that share a tree are correlated, and make a cluster; clusters are independent.
    """

    def __init__(self, trees: Sequence[PlantedTree], name: str, tree: Ints, first: Ints) -> None:
        """1. Runs of trees that follow each other. 2. The place of each leaf in its run. 3. Pieces and clusters."""
        run, base = np.zeros(len(trees), np.int64), np.zeros(len(trees), np.int64)
        before: PlantedTree | None = None
        last = 0
        for at in sorted(range(len(trees)), key=lambda at: trees[at].first_t):
            this, place = trees[at], 0
            follows = before is not None and before._replace(first_t=this.first_t) == this
            if follows and before is not None and before.first_t + this.tree.leaves * this.block == this.first_t:
                place = base[last] + 1
            run[at], base[at] = (run[last] if place else at), place
            before, last = this, at
        self._trees = trees
        self._nodes = [round(dict(planted.node).get(name, 0.0) * MILLION) for planted in trees]
        shapes = [(planted.block, planted.tree.leaves, planted.first_t) for planted in trees] or [(1, 1, 0)]
        block, leaves, begin = np.array(shapes, np.int64).T
        inside = (first - begin[tree]) // block[tree] if len(tree) else first
        if len(tree) and ((inside < 0) | (inside >= leaves[tree]) | ((first - begin[tree]) % block[tree] != 0)).any():
            raise ReleaseFormatError("found a leaf outside its tree; allowed: as releases of one deployment have them")
        self._place = base[tree] * leaves[tree] + inside if len(tree) else inside
        self._tree = tree
        new_run = np.append(True, run[tree[1:]] != run[tree[:-1]]) if len(tree) else np.zeros(0, bool)
        gap = np.append(True, np.diff(self._place) != 1) if len(tree) else new_run
        self._pieces = np.flatnonzero(new_run | gap)
        apart = np.append(True, tree[1:] != tree[:-1]) if len(tree) else new_run
        self._clusters = np.flatnonzero((new_run | gap) & apart)
        ends = np.append(self._clusters[1:], len(tree))[: len(self._clusters)].tolist()  # none before the first leaf
        found = [self._of_cluster(low, high) for low, high in zip(self._clusters.tolist(), ends, strict=True)]
        self._variances = ExactSums(np.array([*found, None], object)[:-1])

    def variance(self, at: int, end: int) -> int:
        """The variance of the sum of the leaves at..end-1 of all that there are, in units of 10^-18."""
        if at == end:
            return 0
        first, last = (np.searchsorted(self._clusters, (at, end - 1), side="right") - 1).tolist()
        if first == last:
            return self._of_cluster(at, end)
        cut = self._of_cluster(at, int(self._clusters[first + 1])) + self._of_cluster(int(self._clusters[last]), end)
        return cut + self._variances.between(first + 1, last)

    def _of_cluster(self, at: int, end: int) -> int:
        """The variance of the sum of leaves of one cluster."""
        first, last = (np.searchsorted(self._pieces, (at, end - 1), side="right") - 1).tolist()
        cuts = [at, *self._pieces[first + 1 : last + 1].tolist(), end]
        pieces = [(int(self._place[a]), int(self._place[b - 1]) + 1) for a, b in pairwise(cuts)]
        planted, node = self._trees[self._tree[at]], self._nodes[self._tree[at]]
        units: int = round(pieces_variance(planted.tree, pieces) * node**2 * MILLION)
        return units


def thresholds(recorded: RecordedStream, low: int, high: int) -> list[float]:
    """The numbers at which those of a stretch of periods were clipped, in the order of time."""
    changes: list[tuple[int, float | None]] | None = recorded.answers.get(THRESHOLDS)
    if changes is None:
        changes = []
        for planted in sorted(recorded.trees, key=lambda planted: planted.first_t):
            if not changes or changes[-1][1] != planted.threshold:
                changes.append((planted.first_t, planted.threshold))
        recorded.answers[THRESHOLDS] = changes
    ends = [first for first, _ in changes[1:]] + [high]
    in_it = [value for (first, value), end in zip(changes, ends, strict=False) if first < high and end > low]
    return list(dict.fromkeys(value for value in in_it if value is not None))


def pieces_variance(tree: Tree, pieces: Sequence[Piece]) -> float:
    """The variance of the sum of consistent leaves in some stretches that do not touch, in units of one node's: exact.

    Of two stretches with a gap between, twice the covariance is V(all) - V(first and gap) - V(gap and second) + V(gap).
    """
    found = sum(range_variance(tree, low, high) for low, high in pieces)
    for (low, end), (start, high) in combinations(pieces, 2):
        if (end - 1) // tree.leaves == start // tree.leaves:
            found += range_variance(tree, low, high) - range_variance(tree, low, start)
            found += range_variance(tree, end, start) - range_variance(tree, end, high)
    return found
