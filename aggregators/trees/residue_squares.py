# SPDX-License-Identifier: Apache-2.0
"""Best estimates of all periods of a horizon and of sums over them, from every node told until a step.

Contract: the least-squares solution over all nodes, weighed as in residue.py, in O(d) a node.  Upwards, bests as there;
then values from the top down.  A value between two ends of a node is drawn towards both: with A and B the summed
variances of the children before and after it, and D and L the sums of all their bests and of those before,

    x = x(start) + L + lambda (x(end) - x(start) - D)        lambda = A / (A + B)

because children are independent given what the node's two ends are.  Any linear answer's weights on nodes come from
the same two passes backwards (`weights`), so its variance is exact whatever the nodes' variances are.  What the nodes
that were told do not determine is NaN, with an infinite variance.
Source: derived for SaO2's tree; tests compare with a dense solver.  Not here: estimates while a horizon runs
(residue.py), of which the last is the value at the last step here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.trees.residue import Floats, NodeEstimate, checked
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.residue_tree import ResidueTree

_BATCH = 1 << 21  # weights that are held at a time


class _Level(NamedTuple):
    """One level's part in the two passes; n of its nodes have ended, in g complete groups of r and some more."""

    share: Floats
    """The weight of the children's sum in a node's best, its own number having the rest: float64[n]."""
    pull: Floats
    """The weight lambda of the far end at each end within a group: float64[g, r - 1]."""
    unknown: NDArray[np.bool_]
    """Whether the value at each node's beginning, and at the last one's end, is undetermined: bool[n + 1]."""


class ResidueSquares:
    """The least-squares solution of the weighing of all nodes until a step; independent of their numbers.

    weighing: for each level float64[nodes that have ended], in order, all of them whether told or not; infinite for
    those that were not told or are missing.

    >>> squares = ResidueSquares(ResidueTree(2, 2, every=True), [np.ones(2), np.ones(1)])
    >>> values = squares.values([np.array([[3.0], [0.0]]), np.array([[6.0]])])
    >>> values[:, 0].tolist(), [level.round(3).tolist() for level in squares.weights(np.eye(2))]
    ([4.0, 5.0], [[[0.667, -0.333], [0.333, 0.333]], [[0.333], [0.667]]])
    """

    def __init__(self, tree: ResidueTree, weighing: list[Floats], steps: int | None = None) -> None:
        self.tree, self.steps = tree, tree.periods if steps is None else steps
        wanted = [self.steps // tree.span(level) for level in range(tree.levels)]
        if not 1 <= self.steps <= tree.periods or [len(level) for level in weighing] != wanted:
            found = f"{shown(steps)} steps and {[len(level) for level in weighing]} nodes"
            raise ParameterError(f"residue squares: found {found}; allowed: {wanted} nodes")
        if not all((level > 0).all() for level in weighing):
            raise ParameterError("residue squares: weighing: found 0 or less; allowed: positive, or infinite")
        self._levels: list[_Level] = []
        self._solve([np.asarray(level, np.float64) for level in weighing])

    def _solve(self, weighing: list[Floats]) -> None:
        """The shares of bests upwards, then pulls and what is unknown downwards."""
        r, best, bests, shares = self.tree.fanout, weighing[0], [weighing[0]], [np.zeros(len(weighing[0]))]
        for own in weighing[1:]:
            children = _groups(best, len(own), r).sum(axis=1)
            shares.append(_share(own, children))
            best = _joint(own, children)
            bests.append(best)
        unknown = np.zeros(1, bool)
        for share, best in zip(reversed(shares), reversed(bests), strict=True):
            groups = _groups(best, len(unknown) - 1, r)
            before = np.cumsum(groups, axis=1)[:, :-1]
            after = np.cumsum(groups[:, ::-1], axis=1)[:, -2::-1]
            pull = _share(before, after)
            within = (np.isinf(before) & np.isinf(after)) | ((pull < 1) & unknown[:-1, np.newaxis])
            within |= (pull > 0) & unknown[1:, np.newaxis]
            ended = np.isinf(np.cumsum(best[groups.size :]))
            ends = np.concatenate((unknown[:-1, np.newaxis], within), axis=1).ravel()
            unknown = np.concatenate((ends, unknown[-1:], ended | unknown[-1]))
            self._levels.insert(0, _Level(share, pull, unknown))

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Whether the nodes leave the value at each step undetermined: bool[steps]."""
        return self._levels[0].unknown[1:]

    def values(self, numbers: list[Floats]) -> Floats:
        """The values at all steps, float64[steps, d], from each level's numbers; missing nodes' are 0."""
        r, best, bests = self.tree.fanout, numbers[0], [numbers[0]]
        for own, level in zip(numbers[1:], self._levels[1:], strict=True):
            children = _groups(best, len(own), r).sum(axis=1)
            best = own + level.share[:, np.newaxis] * (children - own)
            bests.append(best)
        ends = np.zeros((1, numbers[0].shape[1]))
        for best, level in zip(reversed(bests), reversed(self._levels), strict=True):
            groups = _groups(best, len(ends) - 1, r)
            sums = np.cumsum(groups, axis=1)
            beyond = ends[1:] - ends[:-1] - sums[:, -1]
            within = ends[:-1, np.newaxis] + sums[:, :-1] + level.pull[..., np.newaxis] * beyond[:, np.newaxis]
            inner = np.concatenate((ends[:-1, np.newaxis], within), axis=1).reshape(-1, best.shape[1])
            rest = ends[-1] + np.cumsum(best[len(inner) :], axis=0)
            ends = np.concatenate((inner, ends[-1:], rest))
        return np.asarray(np.where(self.unknown[:, np.newaxis], np.nan, ends[1:]))

    def weights(self, answers: Floats) -> list[Floats]:
        """The weights of nodes in sums of values with these coefficients, float64[answers, steps]: a row an answer.

        Each level's is float64[answers, nodes that have ended].
        """
        if np.any(answers[:, self.unknown]):
            raise ParameterError("answers: found a step that the nodes do not determine; allowed: those that they do")
        r, count = self.tree.fanout, len(answers)
        found: list[Floats] = []
        ends = np.concatenate((np.zeros((count, 1)), answers), axis=1)  # coefficients of values at a level's ends
        for at, level in enumerate(self._levels):
            groups = len(self._levels[at + 1].unknown) - 1 if at + 1 < len(self._levels) else 0
            inner, rest = ends[:, : groups * r].reshape(count, groups, r), ends[:, groups * r + 1 :]
            within = inner[:, :, 1:]
            pulled = within * level.pull
            drawn = pulled.sum(axis=2)
            below = np.concatenate((_from_here(within), np.zeros((count, groups, 1))), axis=2) - drawn[..., np.newaxis]
            found.append(np.concatenate((below.reshape(count, groups * r), _from_here(rest)), axis=1))
            above = np.zeros((count, groups + 1))
            above[:, :-1] = inner[:, :, 0] + within.sum(axis=2) - drawn
            above[:, 1:] += drawn
            above[:, -1] += ends[:, groups * r :].sum(axis=1)
            ends = above
        for at in range(len(self._levels) - 1, 0, -1):
            of_children = found[at] * self._levels[at].share
            found[at] = found[at] - of_children
            found[at - 1][:, : of_children.shape[1] * r] += np.repeat(of_children, r, axis=1)
        return found

    def variances(self, answers: Floats, variances: list[Floats]) -> Floats:
        """The variances of these answers, float64[answers, d], where nodes have these: float64[nodes, d] a level."""
        return np.asarray(
            sum(weights**2 @ level for weights, level in zip(self.weights(answers), variances, strict=True))
        )


class RevisedHorizon:
    """The periods of a horizon as all its nodes until a step tell them, with exact variances of values and of sums."""

    def __init__(self, tree: ResidueTree, told: Iterable[NodeEstimate], d: int, steps: int | None = None) -> None:
        """Take the nodes of a horizon in any order; those that are not given, or end after `steps`, are missing."""
        self.tree, self.d, self.steps = tree, d, tree.periods if steps is None else steps
        counts = [self.steps // tree.span(level) for level in range(tree.levels)]
        self._weighing = [np.full(count, inf) for count in counts]
        self._numbers = [np.zeros((count, d)) for count in counts]
        self._variances = [np.zeros((count, d)) for count in counts]
        for one in told:
            at = one.node - 1
            if not (0 <= one.level < tree.levels and tree.tells(one.level, one.node)) or (
                at < counts[one.level] and self._weighing[one.level][at] < inf
            ):
                raise ParameterError(f"found node {one.node} of level {one.level}; allowed: told ones, each once")
            if at < counts[one.level]:
                self._weighing[one.level][at] = checked(one, d).weighing
                self._numbers[one.level][at] = one.estimate
                self._variances[one.level][at] = one.actual_variance
        self.squares = ResidueSquares(tree, self._weighing, self.steps)

    @cached_property
    def values(self) -> Floats:
        """The value at each step: float64[steps, d]."""
        return self.squares.values(self._numbers)

    @cached_property
    def variances(self) -> Floats:
        """The variance of the value at each step: float64[steps, d]."""
        found = np.full((self.steps, self.d), inf)
        for steps in in_batches(np.flatnonzero(~self.squares.unknown), self.steps):
            answers = np.zeros((len(steps), self.steps))
            answers[np.arange(len(steps)), steps] = 1
            found[steps] = self.squares.variances(answers, self._variances)
        return found

    def sum(self, first: int, last: int) -> tuple[Floats, Floats]:
        """The sum of the values at the steps first..last, and its variance: two float64[d]."""
        if not 1 <= first <= last <= self.steps:
            raise ParameterError(f"sum: found steps {shown(first)} to {shown(last)}; allowed: 1 to {self.steps}")
        steps = np.arange(1, self.steps + 1)
        return self.answer((steps >= first) & (steps <= last))

    def answer(self, coefficients: NDArray[Any]) -> tuple[Floats, Floats]:
        """A sum of values with these coefficients, float64[steps], and its variance: two float64[d]."""
        wanted = np.asarray(coefficients, np.float64)
        if np.any(wanted[self.squares.unknown]):
            return np.full(self.d, np.nan), np.full(self.d, inf)
        known = np.nan_to_num(self.values)
        return wanted @ known, self.squares.variances(wanted[np.newaxis], self._variances)[0]


def in_batches(steps: NDArray[np.integer[Any]], of: int) -> Iterator[NDArray[np.integer[Any]]]:
    """Steps of a horizon of so many, as many at a time as have weights that fit into a few megabytes."""
    size = max(1, _BATCH // (2 * of))
    for first in range(0, len(steps), size):
        yield steps[first : first + size]


def _groups(children: Floats, groups: int, r: int) -> Floats:
    """The children of complete nodes: float64[groups, r], or float64[groups, r, d]."""
    return children[: groups * r].reshape(groups, r, *children.shape[1:])


def _from_here(terms: Floats) -> Floats:
    """The sums of each term and of all that follow it on the last axis."""
    return np.asarray(np.cumsum(terms[..., ::-1], axis=-1)[..., ::-1])


def _share(first: Floats, second: Floats) -> Floats:
    """What `share_of_second` gives, for arrays."""
    with np.errstate(invalid="ignore"):
        share = first / (first + second)
    return np.where(np.isinf(second), 0.0, np.where(np.isinf(first), 1.0, share))


def _joint(first: Floats, second: Floats) -> Floats:
    """What `joint_variance` gives, for arrays."""
    share = _share(first, second)
    return np.where(np.isinf(second), first, share * np.where(np.isinf(second), 1.0, second))
