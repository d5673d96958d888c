# SPDX-License-Identifier: Apache-2.0
"""The value at each step of a horizon, from the changes that a residue tree tells: best of all nodes told so far.

Contract: weighted least squares.  The best estimate of a node's change is the mean of its own number and of the sum of
its children's bests, each weighed by the inverse of its variance; the value at a step is the sum of the bests on its
path (`ResidueTree.path`).  That is the least-squares solution over all nodes that have ended, in O(d) a node, since a
node is joined to the others by its two ends alone.  Where nodes that paths need are all that is told, children never
add up to a node, and what comes out is each path's plain sum (Algorithm 2).

Weights are the same for all coordinates and made of `weighing` alone, which is public and says nothing of the node's
own noise (v0 / n): with weights that follow the noise, as those of variances that are estimated from the same reports,
estimates are biased.  Whatever `weighing` is, estimates are unbiased, and `variance`, carried along with squared
weights, is exact for independent nodes, for each coordinate; where it is an unbiased estimate, so is what comes out.

Levels are told by different users.  Nodes of one level are told by the same ones, and of those who change in both,
reports are correlated: an answer with coefficients c on nodes has, beyond sum c^2 V, for each pair of nodes of a level
2 c c' (kappa E[R R'] + S) / n, with kappa of `pair_covariance` and S the users' covariance of the two changes.  It is
0 for nodes in which no user changes both times, and for r = 2 without least squares; ARCHITECTURE section 5.18 has
its size.  It is a fact about raw data, and left out here.
Source: Wang et al. 2023 (SaO2), section 4 and Algorithm 2; least squares is ours.  Not here: better estimates after
the horizon and sums over periods (residue_squares.py), who tells which level (residue_portions.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1, inf, isinf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, SnapshotError, shown
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.vectors.exsub_terms import acceptance, is_accepted, specials_law, support_terms

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeEstimate:
    """The estimated change of one node: float64[d], with its variance."""

    level: int
    node: int
    """The node's number within its level, from 1."""
    estimate: Floats
    weighing: float
    """What the weights of least squares take for the variance: positive and public (see above)."""
    variance: Floats | float | None = None
    """The variance at each coordinate or at all; `weighing` where it is None."""

    @property
    def actual_variance(self) -> Floats | float:
        """`variance`, or `weighing` in its place."""
        return self.weighing if self.variance is None else self.variance


@dataclass(frozen=True, eq=False)
class StepEstimate:
    """The estimated value at one step: float64[d]; NaN, with an infinite variance, if a needed node is missing."""

    step: int
    estimate: Floats
    variance: Floats
    shares: tuple[float, ...] = ()
    """For each node above level 0 that ends with the step, from level 1: the weight of its children's sum in its best.
    """


def node_variance(
    absent: float,
    held: float,
    received: int,
    *,
    changed: Floats | float = 0.0,
    change: Floats | float = 0.0,
    population: int | None = None,
) -> Floats:
    """The variance of a node's estimate from so many reports: [f v1 + (1 - f) v0] / n_h + S^2 (1 / n_h - 1 / n).

    absent, held: v0 and v1, one report's variance where a user has no change and where there is one.  changed: f, the
    share of users with a change.  change: the mean change R; S^2 = f - R^2 is the variance of users' changes.
    population: n, all users of whom those of the level were drawn; without it the second term is S^2 / n_h.

    >>> round(float(node_variance(4.0, 6.0, 100, changed=0.5, change=0.5, population=200)), 9)
    0.05125
    """
    if received < 1 or (population is not None and population < received):
        raise ParameterError(f"received: found {shown(received)} of {shown(population)}; allowed: 1 or more, up to all")
    share, mean = np.asarray(changed, np.float64), np.asarray(change, np.float64)
    others = 0.0 if population is None else 1 / population
    sampled = np.maximum(share - mean**2, 0) * (1 / received - others)
    return np.asarray((share * held + (1 - share) * absent) / received + sampled)


def pair_covariance(d: int, s: int, epsilon: float, m: int, tau: int = 0) -> float:
    """kappa: the covariance of one user's parts at two coordinates that have changed, over the product of the changes.

    d: coordinates of the level, over all its nodes; s, m and tau of its ExSub (exsub_terms.py).  It is 0 for s = 1.

    >>> round(pair_covariance(2, 3, 0.8, 3), 8)  # d' = 5
    -4.55849993
    """
    if s < 2:
        return 0.0
    law = [float(share) for share in specials_law(d, s, m)]
    lift = expm1(epsilon) / (1 + expm1(epsilon) * sum(p * float(acceptance(k, tau)) for k, p in enumerate(law)))
    alike = lift * sum(p * _alike(k, tau) for k, p in enumerate(law)) / (s * (s - 1))
    return alike / float(support_terms(d, s, epsilon, m, tau).gap) ** 2 - 1


def _alike(k: int, tau: int) -> float:
    """How many ordered pairs of k specials agree in being right or wrong, less those that do not, in accepted cells."""
    chance, found = 0.5**k, 0.0
    for agreeing in range(k + 1):
        if is_accepted(agreeing, k - agreeing, tau):
            found += chance * ((2 * agreeing - k) ** 2 - k)
        chance *= (k - agreeing) / (agreeing + 1)
    return found


class ResidueEstimates:
    """Estimates of one horizon, step by step; what is kept is three numbers a level and coordinate at most.

    >>> tree, one = ResidueTree(4, 2, every=True), np.ones(1)
    >>> estimates = ResidueEstimates(tree, 1)
    >>> estimates.close([NodeEstimate(0, 1, 3 * one, 1.0)]).estimate
    array([3.])
    >>> second = estimates.close([NodeEstimate(0, 2, 0 * one, 1.0), NodeEstimate(1, 1, 6 * one, 1.0)])
    >>> second.step, second.estimate, second.variance.round(6)  # 6 weighs 2/3, and 3 + 0 the rest
    (2, array([5.]), array([0.666667]))
    """

    def __init__(self, tree: ResidueTree, coordinates: int) -> None:
        if isinstance(coordinates, bool) or not isinstance(coordinates, int) or coordinates < 1:
            raise ParameterError(f"coordinates: found {shown(coordinates)}; allowed: at least 1")
        self.tree, self.d = tree, coordinates
        self.steps = 0
        """The number of steps that are closed."""
        self._weighing = np.zeros(tree.levels)
        """By level, of the children so far of the node that is open above: the weighing variance of their sum."""
        self._sums = np.zeros((tree.levels, coordinates))
        """The sum of their bests: float64[levels, d]; a best that is unknown adds 0, and an infinite weighing."""
        self._variances = np.zeros((tree.levels, coordinates))
        """The variance of that sum: float64[levels, d], finite."""

    def close(self, told: Sequence[NodeEstimate]) -> StepEstimate:
        """The estimate of the next step, from the nodes that end with it; those that are not given are missing.

        1. Refuse nodes that do not end here. 2. Level by level: a node's best, from its own number and its children's.
        3. The sum over the path.
        """
        step = self.steps + 1

        # 1. nodes of this step alone, each once
        ending = dict(self.tree.ending(step)) if step <= self.tree.periods else {}
        given = {one.level: checked(one, self.d) for one in told}
        if step > self.tree.periods or len(given) < len(told) or any(ending.get(n.level) != n.node for n in told):
            found = ", ".join(f"node {one.node} of level {one.level}" for one in told)
            allowed = ", ".join(f"node {node} of level {level}" for level, node in ending.items()) or "none"
            raise ParameterError(f"step {step}: found {found or 'a step'}; allowed: {allowed}")

        # 2. bests, which take the place of their children
        shares: list[float] = []
        for level in range(self.tree.levels):
            if step % self.tree.span(level):
                break
            best = _best(given.get(level), self.d)
            if level:
                below = level - 1
                shares.append(share_of_second(best.weighing, float(self._weighing[below])))
                best = _joined(best, _Best(self._weighing[below], self._sums[below], self._variances[below]))
                self._weighing[below], self._sums[below], self._variances[below] = 0, 0, 0
            self._weighing[level] += best.weighing
            self._sums[level] += best.estimate
            self._variances[level] += best.variance
        self.steps = step

        # 3. what is open on each level is the path
        if isinf(self._weighing.sum()):
            return StepEstimate(step, np.full(self.d, np.nan), np.full(self.d, inf), tuple(shares))
        return StepEstimate(step, self._sums.sum(axis=0), self._variances.sum(axis=0), tuple(shares))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state; it does not share memory with this."""
        state = {"steps": np.array([self.steps]), "weighing": self._weighing}
        state |= {"sums": self._sums, "variances": self._variances}
        return {name: array.copy() for name, array in state.items()}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over `arrays` of a horizon of the same tree and coordinates."""
        wanted = {name: (array.shape, array.dtype.kind) for name, array in self.arrays().items()}
        found = {name: (array.shape, array.dtype.kind) for name, array in arrays.items()}
        if found != wanted or not 0 <= arrays["steps"][0] <= self.tree.periods:
            raise SnapshotError(f"residue estimates: found a state of {found}; allowed: {wanted}")
        self.steps = int(arrays["steps"][0])
        self._weighing, self._sums = arrays["weighing"].copy(), arrays["sums"].copy()
        self._variances = arrays["variances"].copy()


class _Best(NamedTuple):
    """The best estimate of a node, or of the children of one; of what is unknown 0, with an infinite `weighing`."""

    weighing: float
    estimate: Floats
    variance: Floats


def _best(own: NodeEstimate | None, d: int) -> _Best:
    """What a node's own number says of it, or that there is none."""
    if own is None:
        return _Best(inf, np.zeros(d), np.zeros(d))
    return _Best(own.weighing, own.estimate, np.broadcast_to(np.asarray(own.actual_variance, np.float64), (d,)))


def _joined(own: _Best, children: _Best) -> _Best:
    """A node's best, from its own number and its children's sum."""
    share = share_of_second(own.weighing, children.weighing)
    estimate = own.estimate + share * (children.estimate - own.estimate)
    variance = (1 - share) ** 2 * own.variance + share**2 * children.variance
    return _Best(joint_variance(own.weighing, children.weighing), estimate, variance)


def checked(one: NodeEstimate, d: int) -> NodeEstimate:
    """A node's estimate, if it is of d coordinates and its variances are variances."""
    variance = np.asarray(one.actual_variance, np.float64)
    if one.estimate.shape != (d,) or variance.shape not in ((), (d,)):
        found = f"an estimate of shape {one.estimate.shape} and a variance of shape {variance.shape}"
        raise ParameterError(f"node {one.node} of level {one.level}: found {found}; allowed: ({d},)")
    if not 0 < one.weighing < inf or not ((variance >= 0) & (variance < inf)).all():
        found = f"weighing {one.weighing}" if not 0 < one.weighing < inf else "a variance that is none"
        raise ParameterError(f"node {one.node} of level {one.level}: found {found}; allowed: positive and finite ones")
    return one


def share_of_second(first: float, second: float) -> float:
    """The weight of the second of two independent estimates with these variances, of which either may be infinite."""
    if isinf(second):
        return 0.0
    return 1.0 if isinf(first) else first / (first + second)


def joint_variance(first: float, second: float) -> float:
    """The variance of two independent estimates together, each weighed by the inverse of its own."""
    if isinf(first) or isinf(second):
        return min(first, second)
    return first * second / (first + second)
