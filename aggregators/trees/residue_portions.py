# SPDX-License-Identifier: Apache-2.0
"""How many users tell each level of a residue tree: portions by what answers weigh, and whole numbers of slots.

Contract: F_h is the sum, over all answers of a goal and all nodes of level h, of the squared weight of a node in an
answer, and v0_h the variance of one user's report; then all answers together have the variance sum F_h v0_h / (n W_h).
It is smallest at W_h ~ sqrt(F_h v0_h) ("optimal").  Where nodes that paths need are all that is told, F_h is a closed
form; where `every` node is, weights of least squares depend on W, and W is the fixed point, to which repeating the
formula leads; repeated until the error is within a thousandth of the least.  Goals: "mean" the value of each period as
told at its end, "prefix" the sums of the periods 1..t, "ranges" the sums t1..t2; with least squares, sums are those
told after the horizon.  The paper's rules are "uniform", "simple" (r^h (T - r^h) for prefixes, r^h for ranges) and
"calibrated".  The last two give nothing or less to the top, which the last periods need, or far too much: it gets the
optimal portion, and so does any level without a positive one.
Source: Wang et al. 2023 (SaO2), sections 4 and 7.4, with corrections; ARCHITECTURE section 5.18.  Not here: which slots
these are (randomizers/sessions), estimates (residue.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heapify, heapreplace
from math import ceil, sqrt
from typing import Literal

import numpy as np

from murmurate.aggregators.trees.residue import Floats
from murmurate.aggregators.trees.residue_squares import ResidueSquares, in_batches
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.vectors.exsub_terms import best_length, best_majority, support_terms

Goal = Literal["mean", "prefix", "ranges"]
Rule = Literal["optimal", "uniform", "simple", "calibrated"]
ReportForm = Literal["paper", "majority", "best"]
GOALS: tuple[Goal, ...] = ("mean", "prefix", "ranges")
RULES: tuple[Rule, ...] = ("optimal", "uniform", "simple", "calibrated")
REPORT_FORMS: tuple[ReportForm, ...] = ("paper", "majority", "best")
MAX_LENGTH = (1 << 16) - 1
"""The most coordinates of a report: what a secret counter holds."""
_ENDS = 128  # sums that stand for all of a longer horizon, where every node is told; fewer of the longest
_WEIGHTS = 1 << 19  # weights of these sums
_CLOSE = 1e-3  # portions that change by less are the fixed point
_MOST_STEPS = 40
_LESS = 1 - 1e-9  # more than what floating point may be off
_LEAST = 1e-6  # portions of levels that others make up for, as a top of which one value alone is the sum


@dataclass(frozen=True)
class ResidueTask:
    """What users tell in a horizon, and what it is for."""

    d: int
    """The number of coordinates of a value."""
    changes: int
    """The most changes s that a user tells in a horizon."""
    most_a_node: int
    """The most coordinates that change between two values: d at most, 2 for one of several categories."""
    epsilon_micro: int
    goal: Goal = "mean"
    rule: Rule = "optimal"
    form: ReportForm = "paper"
    """Which reports are likelier: as the paper has it those with any change of the user's; those in which more symbols
    agree with the user than do not ("majority"), by as many as is best for each level; or at each level that of both
    with less error ("best").
    """

    def __post_init__(self) -> None:
        for name, low, high in (("d", 1, 1 << 24), ("changes", 1, 1 << 12), ("most_a_node", 1, self.d)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise ParameterError(f"{name}: found {shown(value)}; allowed: {low} to {high}")
        for name, known in (("goal", GOALS), ("rule", RULES), ("form", REPORT_FORMS)):
            if getattr(self, name) not in known:
                raise ParameterError(f"{name}: found {shown(getattr(self, name))}; allowed: {', '.join(known)}")


@dataclass(frozen=True)
class ResidueLevel:
    """What the users of one level tell, and how well."""

    nodes: int
    coordinates: int
    """The number of coordinates of all nodes: d a node."""
    changes: int
    """The most changes s_h that a user tells here: no more than the nodes can have."""
    m: int
    """The number of coordinates in a report of all nodes together, stubs included."""
    tau: int
    """The condition under which reports are likelier (exsub_terms.py): 0, or a majority of so many."""
    absent: float
    """The variance v0 of one user's part of a node where nothing has changed."""
    held: float
    """The variance v1 of one user's part where there is a change."""

    @property
    def of_all(self) -> float:
        """The variances of all coordinates together, of users who tell all the changes that they may."""
        return self.changes * self.held + (self.coordinates - self.changes) * self.absent

    @property
    def number(self) -> int:
        """The number d'_h of coordinates of all nodes, and a stub for each change."""
        return self.coordinates + self.changes


@dataclass(frozen=True)
class ResiduePortions:
    """The portions of users that tell the levels of a tree."""

    tree: ResidueTree
    levels: tuple[ResidueLevel, ...]
    portions: tuple[float, ...]
    """The share W_h of users of each level; together 1."""
    error: float
    """The variance of all answers together, times the number of users."""
    slots: tuple[int, ...] = ()
    """Whole numbers of slots, from level 0, where portions are such."""

    def users_needed(self, min_batch: int) -> int:
        """How many users a horizon needs for each level to have `enough` of them."""
        return ceil(enough(min_batch) / min(self.portions))


def enough(min_batch: int) -> float:
    """How many users are expected where fewer than `min_batch` come once in three million times: 5 sigma more."""
    return min_batch + 5 * sqrt(min_batch)


def level_terms(tree: ResidueTree, task: ResidueTask) -> tuple[ResidueLevel, ...]:
    """What each level tells, and how long its reports are: best over d' coordinates of which s_h have changed.

    >>> levels = level_terms(ResidueTree(8, 2), ResidueTask(3, 4, 3, 10**6))
    >>> [(one.nodes, one.changes, one.number, one.m) for one in levels]
    [(4, 4, 16, 2), (2, 4, 10, 1), (1, 3, 6, 1), (1, 3, 6, 1)]
    """
    return tuple(_level(task, len(tree.nodes(level))) for level in range(tree.levels))


@lru_cache(maxsize=256)
def _level(task: ResidueTask, nodes: int) -> ResidueLevel:
    """A level at its best m and tau.  Of both forms the majority is the better one where its error is less for users
    who tell no change and for those who tell all: then it is less for all between.
    """
    d, s = task.d * nodes, min(task.changes, task.most_a_node * nodes)
    most, micro = min(d + s, MAX_LENGTH), task.epsilon_micro

    def told(m: int, tau: int) -> ResidueLevel:
        absent, held = support_terms(d, s, micro / MICRO, m, tau).mean_moments
        return ResidueLevel(nodes, d, s, m, tau, float(absent), float(held))

    plain = told(best_length(d, s, micro, 0, most, over=d + s), 0)
    if task.form == "paper":
        return plain
    majority = told(*best_majority(d, s, micro, most, over=d + s))
    less = max(majority.absent / plain.absent, majority.of_all / plain.of_all) < _LESS
    return majority if less or task.form == "majority" else plain


def factors(tree: ResidueTree, goal: Goal, variances: Sequence[float] | Floats = ()) -> Floats:
    """F_h of each level, float64[levels]; where `every` node is told, at these variances of a node of each level.

    >>> [factors(ResidueTree(8, 2), goal).tolist() for goal in GOALS]
    [[4.0, 4.0, 4.0, 1.0], [20.0, 34.0, 46.0, 1.0], [60.0, 112.0, 218.0, 8.0]]
    """
    if not tree.every:
        return np.array(_closed_factors(tree, goal))
    if len(variances) != tree.levels or not all(0 < one < np.inf for one in variances):
        raise ParameterError(f"variances: found {len(variances)}; allowed: {tree.levels} positive ones, of each level")
    sizes = np.asarray(variances, np.float64)
    return _online_factors(tree, sizes) if goal == "mean" else _revised_factors(tree, goal, sizes)


@lru_cache(maxsize=64)
def _closed_factors(tree: ResidueTree, goal: Goal) -> tuple[float, ...]:
    """The factors where a node is in the values of `long` periods from its end on, and in no other way.

    Its coefficient in the sum until t is then clip(t - end + 1, 0, long): `first` and `second` are the sums of it and
    of its square over all t.
    """
    found = []
    for level in range(tree.levels):
        span, nodes = tree.span(level), np.array(tree.nodes(level), np.int64)
        left = tree.periods - nodes * span + 1
        top = level == tree.levels - 1
        long = left if top else np.minimum((tree.fanout - 1 - (nodes - 1) % tree.fanout) * span, left)
        after = left - long
        first = long * (long + 1) // 2 + after * long
        second = long * (long + 1) * (2 * long + 1) // 6 + after * long**2
        terms = {"mean": long, "prefix": second, "ranges": (tree.periods + 1) * second - first**2}[goal]
        found.append(float(sum(terms.tolist())))
    return tuple(found)


def _online_factors(tree: ResidueTree, variances: Floats) -> Floats:
    """The factors of each period's value at its end: those of the bests on its path, times the weights in a best."""
    used = _closed_factors(replace(tree, every=False), "mean")
    found, within, best = used[0] * np.eye(tree.levels)[0], np.eye(tree.levels)[0], float(variances[0])
    for level in range(1, tree.levels):
        children = tree.fanout * best
        share = variances[level] / (variances[level] + children)
        within = share**2 * tree.fanout * within
        within[level] = (1 - share) ** 2
        best = share * children
        found = found + used[level] * within
    return np.asarray(found)


def _revised_factors(tree: ResidueTree, goal: Goal, variances: Floats) -> Floats:
    """The factors of sums told after the horizon: exact up to 128 periods.

    Of longer horizons 16 to 128 sums that lie evenly stand for all: 1 024 periods come within 1.3 % of the error and
    within 2 in 100 000 of the best portions.
    """
    counts = [tree.periods // tree.span(level) for level in range(tree.levels)]
    squares = ResidueSquares(tree, [np.full(count, size) for count, size in zip(counts, variances, strict=True)])
    ends = np.arange(tree.periods)
    if tree.periods > _ENDS:  # by golden section: multiples of a power of r would need few levels
        few = np.arange(max(16, min(_ENDS, _WEIGHTS // tree.periods)))
        ends = (few * (sqrt(5) - 1) / 2 % 1 * tree.periods).astype(np.int64)
    scale, sums = tree.periods / len(ends), [(np.zeros(count), np.zeros(count)) for count in counts]
    for batch in in_batches(ends, tree.periods):
        weights = squares.weights((np.arange(tree.periods) <= batch[:, np.newaxis]).astype(np.float64))
        sums = [(a + w.sum(axis=0), b + (w**2).sum(axis=0)) for (a, b), w in zip(sums, weights, strict=True)]
    if goal == "prefix":
        return np.array([scale * np.sum(b) for _, b in sums])
    return np.array([np.sum((tree.periods + 1) * scale * b - (scale * a) ** 2) for a, b in sums])


def published_weights(tree: ResidueTree, goal: Goal, rule: Rule) -> Floats:
    """The paper's portions as they stand there, not normalised: float64[levels], of which some may be 0 or less."""
    spans = np.array([tree.span(level) for level in range(tree.levels)], np.float64)
    r = tree.fanout
    if rule == "uniform" or goal == "mean":
        return np.ones(tree.levels)
    if rule == "simple":
        return spans * (tree.periods - spans) if goal == "prefix" else spans
    most = (r - 1) * spans
    return (tree.periods - r * spans + most * (most + 1) * (2 * most + 1) / (6 * most**2)) * spans


def portions(tree: ResidueTree, task: ResidueTask) -> ResiduePortions:
    """The portions of levels by a task's rule."""
    levels = level_terms(tree, task)
    alone = np.array([level.absent for level in levels])
    found = best_portions(tree, task.goal, alone)
    if task.rule != "optimal":
        wanted = published_weights(tree, task.goal, task.rule)
        repaired = wanted <= 0
        repaired[-1] |= task.rule != "uniform" and task.goal != "mean"
        wanted[repaired] = 0
        found = np.where(repaired, found, wanted / max(wanted.sum(), 1e-300) * (1 - found[repaired].sum()))
        found = found / found.sum()
    return _with_error(tree, task.goal, levels, found)


def best_portions(tree: ResidueTree, goal: Goal, alone: Floats) -> Floats:
    """The optimal portions at these v0 of each level: W ~ sqrt(F v0), repeated where F depends on W."""
    found = np.full(tree.levels, 1 / tree.levels)
    for _ in range(_MOST_STEPS if tree.every else 1):
        before, found = found, np.sqrt(factors(tree, goal, alone / found) * alone)
        found = np.maximum(found / found.sum(), _LEAST)
        if np.abs(found - before).max() < _CLOSE:
            break
    return np.asarray(found / found.sum())


def _with_error(tree: ResidueTree, goal: Goal, levels: tuple[ResidueLevel, ...], shares: Floats) -> ResiduePortions:
    variances = np.array([level.absent for level in levels]) / shares
    error = float(factors(tree, goal, variances) @ variances)
    return ResiduePortions(tree, levels, tuple(shares.tolist()), error)


def best_tree(periods: int, fanout: int, task: ResidueTask) -> ResiduePortions:
    """The tree with the smaller error, by its portions: of needed nodes, or of every one with least squares."""
    found = [portions(ResidueTree(periods, fanout, every), task) for every in (False, True)]
    return min(found, key=lambda one: one.error)


def in_slots(tree: ResidueTree, task: ResidueTask, slots: int, users: float, min_batch: int) -> ResiduePortions:
    """Portions in whole slots of so many expected users each, in which every level has `enough` users.

    The tree is cut where its upper levels cannot be filled, or where filling them costs the others more than they give:
    of all cuts that can be filled from the top down, the first whose next one has the larger error.
    """
    least = ceil(enough(min_batch) / users) if users > 0 else slots + 1
    best: ResiduePortions | None = None
    for cut in range(tree.cut, tree.cut + tree.levels):
        shorter = replace(tree, cut=cut)
        if shorter.levels * least > slots:
            continue
        found = portions(shorter, task)
        dealt = _dealt(found.portions, slots, least)
        found = _with_error(shorter, task.goal, found.levels, np.array(dealt) / slots)
        if best is not None and found.error >= best.error:
            break
        best = replace(found, slots=dealt)
    if best is None:
        needed = f"at least {ceil(enough(min_batch))}, for one level and min_batch {min_batch}"
        raise ParameterError(f"users: found {slots * users:g} in {slots} slots; allowed: {needed}")
    return best


def _dealt(shares: Sequence[float], slots: int, least: int) -> tuple[int, ...]:
    """Whole numbers k that add up to `slots`, each at least `least`, with the smallest sum of W^2 / k."""
    counts = [max(least, int(share * (slots - least * len(shares))) - 1) for share in shares]
    gains = [
        (-(share**2) / (count * (count + 1)), at) for at, (share, count) in enumerate(zip(shares, counts, strict=True))
    ]
    heapify(gains)
    for _ in range(slots - sum(counts)):
        at = gains[0][1]
        counts[at] += 1
        heapreplace(gains, (-(shares[at] ** 2) / (counts[at] * (counts[at] + 1)), at))
    return tuple(counts)
