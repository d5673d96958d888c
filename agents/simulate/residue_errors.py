# SPDX-License-Identifier: Apache-2.0
"""Errors of the mean of one bit over a horizon, through a residue tree, by protocol and by the form of the tree.

Contract: the same arguments and seed give the same errors.  Each user's bit begins at 0 and flips at s of T random
steps; a level's nodes have the exact variance of `node_variance`, normal errors, and go through `ResidueEstimates`.
Three forms: "printed", the tree as SaO2 prints it: every level tells all its nodes and s changes, and levels share
users alike, one too many where T is no power of r; a value is the sum of its path.  "needed": the nodes that paths
have, as many changes as they can have, and the levels that there are.  "every": all nodes, least squares, and the best
portions.  Covariances between nodes of a level are left out (aggregators/trees/residue.py): in table 3 they are at most
.8 % of a path's variance, and 0 for r = 2.  Source: Wang et al. 2023 (SaO2), sections 4 and 7.2.  Not here: whole
reports (told_horizons.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.sparse_laws import SparseLaw
from murmurate.aggregators.trees import NodeEstimate, ResidueEstimates, ResidueTask, node_variance, published_weights
from murmurate.aggregators.trees.residue_portions import Goal, Rule, best_portions, factors, portions
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions.protocols import protocol
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.vectors.exsub_terms import best_length, support_terms

Floats = NDArray[np.float64]
Form = Literal["printed", "needed", "every"]
FORMS: Final[tuple[Form, ...]] = ("printed", "needed", "every")
SIGNS: Final = {
    "DDRM": "ddrm_online", "ToPL": "topl_online", "EFMRTT": "efmrtt_online", "FutureRand": "future_rand_online",
    "FutureRand, printed": "future_rand_printed",
}  # fmt: skip
"""The product's protocols of a sign for each coordinate, by the names of tables."""
PROTOCOLS: Final = ("ExSub", "majority", *SIGNS)


@dataclass(frozen=True)
class HorizonOfBits:
    """A bit of each of n users through T periods, which flips s times."""

    periods: int
    fanout: int
    changes: int
    epsilon: Fraction
    n: int


class ToldLevel(NamedTuple):
    """What the users of one level tell, and how large a part of all users they are."""

    absent: float
    """The variance v0 of one user's part of a node where nothing has changed."""
    held: float
    """The variance v1 of one user's part where there is a change."""
    share: float


class HorizonErrors(NamedTuple):
    """Errors of a horizon's values, each told at the end of its period."""

    largest: float
    """The mean, over drawn horizons, of the largest distance between estimate and truth."""
    total: float
    """The expected sum of all distances, from exact variances."""
    off: float
    """The drawn mean square over the exact variance, averaged over periods, less 1."""


@lru_cache(maxsize=1024)
def online_law(name: str, entries: int, s: int, epsilon: Fraction) -> SparseLaw:
    """The law of a protocol of so many coordinates, of which s change; ExSub's at the best length.

    >>> law = online_law("ExSub", 64, 8, Fraction(1))
    >>> round(law.mean_moments[0], 5)
    57.14138
    """
    if name in SIGNS:  # the number of coordinates does not matter to them
        told = protocol(SIGNS[name], 1, max(entries, s), epsilon, {"s": s}).supports
        return SparseLaw(*(float(part) for part in told))
    micro, tau = round(epsilon * MICRO), int(name == "majority")
    m = best_length(entries, s, micro, tau, entries + s, over=entries + s)
    terms = support_terms(entries, s, float(epsilon), m, tau)
    held, gap = float(terms.held), float(terms.gap)
    return SparseLaw((held + gap) / 2, (held - gap) / 2, float(terms.absent) / 2)


def levels_of(name: str, form: Form, of: HorizonOfBits) -> tuple[ResidueTree, tuple[ToldLevel, ...]]:
    """The tree of a form, and its levels."""
    tree = ResidueTree(of.periods, of.fanout, every=form == "every")
    moments = []
    for level in range(tree.levels):
        nodes = of.periods // tree.span(level) if form == "printed" else len(tree.nodes(level))
        s = of.changes if form == "printed" else min(of.changes, nodes)
        moments.append(online_law(name, nodes, s, of.epsilon).mean_moments)
    if form == "every":
        shares = best_portions(tree, "mean", np.array([absent for absent, _ in moments])).tolist()
    else:
        spare = form == "printed" and tree.span(tree.levels - 1) < of.periods
        shares = [1 / (tree.levels + spare)] * tree.levels
    return tree, tuple(ToldLevel(v0, v1, share) for (v0, v1), share in zip(moments, shares, strict=True))


def flipped(of: HorizonOfBits, steps: int) -> float:
    """The chance that a bit flips an odd number of times within so many steps.

    >>> flipped(HorizonOfBits(4, 2, 2, Fraction(1), 1), 2)  # 4 of the 6 pairs of steps
    0.6666666666666666
    """
    ways = sum(math.comb(steps, k) * math.comb(of.periods - steps, of.changes - k) for k in range(1, of.changes + 1, 2))
    return ways / math.comb(of.periods, of.changes)


def horizon_errors(
    name: str, form: Form, of: HorizonOfBits, runs: int, seed: int, *, moving: bool = True
) -> HorizonErrors:  # fmt: skip
    """The errors of a protocol through a form of the tree; moving: whether users change, or nobody does.

    Drawn horizons are so many coordinates of one.
    """
    tree, levels = levels_of(name, form, of)
    generator = np.random.default_rng([seed, of.fanout, round(of.epsilon * MICRO)])
    estimates = ResidueEstimates(tree, runs)
    largest, total, off = np.zeros(runs), 0.0, 0.0
    for step in range(1, of.periods + 1):
        told = []
        for level, node in tree.ending(step):
            absent, held, share = levels[level]
            span, received = tree.span(level), max(1, round(of.n * share))
            before, after = (flipped(of, at * span) if moving else 0.0 for at in (node - 1, node))
            variance = node_variance(
                absent, held, received,
                changed=flipped(of, span) if moving else 0.0, change=after - before, population=of.n,
            )  # fmt: skip
            noise = generator.normal(size=runs) * np.sqrt(variance)
            told.append(NodeEstimate(level, node, noise, absent / received, float(variance)))
        closed = estimates.close(told)
        exact = float(closed.variance[0])
        largest = np.maximum(largest, np.abs(closed.estimate))
        total += math.sqrt(2 / math.pi * exact)
        off += float(np.mean(closed.estimate**2)) / exact - 1
    return HorizonErrors(float(largest.mean()), total, off / of.periods)


def portion_ratio(tree: ResidueTree, task: ResidueTask, goal: Goal, rule: Rule, *, rooted: bool) -> float:
    """The variance of all answers under a rule's portions, over that of the best; rooted: under their square roots.

    >>> round(portion_ratio(ResidueTree(32, 2), ResidueTask(12, 8, 12, 10**6), "prefix", "simple", rooted=False), 4)
    1.253
    """
    best = portions(tree, _for(task, goal, "optimal"))
    if not rooted:
        return portions(tree, _for(task, goal, rule)).error / best.error
    alone = np.array([level.absent for level in best.levels])
    shares = np.sqrt(np.maximum(published_weights(tree, goal, rule), 0))[:-1]
    shares = np.append(shares / shares.sum() * (1 - best.portions[-1]), best.portions[-1])
    return float(np.sum(factors(tree, goal, alone / shares) * alone / shares)) / best.error


def _for(task: ResidueTask, goal: Goal, rule: Rule) -> ResidueTask:
    return ResidueTask(task.d, task.changes, task.most_a_node, task.epsilon_micro, goal, rule, task.form)
