# SPDX-License-Identifier: Apache-2.0
"""What a filter over the values of horizons would gain, against plain least squares and against LPU with its filter.

`python -m benchmarks.horizon_filter kinds 512 1 1 1e6` has, for T periods, s changes, d values and n users, the mean
squared error of the filter over that of plain least squares, and the share of truths within two standard errors, in the
first horizon and in the second, on truths in which everybody changes once a horizon (in so many steps, or gradually),
on some that rest for a horizon before they rise, and on the kinds of streams of agents/simulate/stream_kinds.py.
`... lpu 1e6 512 1024` divides the filter's error in the second horizon by that of LPU with its own filter, as
`python -m benchmarks.horizons filter` does without one.
Nodes have normal errors of their exact variances; levels are those of SaO2 with T = w, fan-out 2.  What clamping takes
from users who change more often is not in it.  Not here: the filter (aggregators/trees).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.horizons import RUNS, STEPS, filtered, rising
from murmurate.agents.simulate.stream_kinds import KINDS
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.horizons import SaO2
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.trees.least_squares_guard import LeastSquaresGuard
from murmurate.aggregators.trees.residue import NodeEstimate, ResidueEstimates, node_variance
from murmurate.aggregators.trees.residue_filter import ResidueFilter
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions.node import Node

Floats = np.ndarray
SERIES = 24
LATE = (2, 4, 8, 16)
"""By how many standard errors of a node of the lowest level a value rises in a horizon, after one of rest."""


class LevelReports(NamedTuple):
    """What the users of one level tell: a report's variance without a change and with one, and how many they are."""

    absent: float
    held: float
    users: float


class FilterErrors(NamedTuple):
    """Squared errors and the variances said of them, of plain least squares and of the filter: float64[t, d]."""

    plain: Floats
    plain_variance: Floats
    best: Floats
    best_variance: Floats

    def ratio(self, part: slice) -> float:
        """The filter's mean squared error over that of plain least squares."""
        return float(self.best[part].mean() / self.plain[part].mean())

    def within(self, part: slice) -> float:
        """The share of truths within two of the filter's standard errors."""
        return float((self.best[part] <= 4 * self.best_variance[part]).mean())


def levels(periods: int, changes: int, d: int, users: int) -> tuple[ResidueTree, tuple[LevelReports, ...]]:
    """The tree of SaO2 for so many users, T = w and epsilon 1, and its levels of a cohort."""
    measure = Mean.of_size(2, says_none=False) if d == 1 else Frequency.of_size(d, says_none=False)
    setting = Setting(measure, 10**6, periods, 16_384, first_t=0, seed=bytes(32), min_batch=100)
    made = SaO2(setting, horizon=str(periods), changes=str(changes), users=str(users))
    found = []
    for level, slots in enumerate(made._levels.slots):
        absent, held = Node(made._horizons[0], level, made.tree.nodes(level)[0]).moments()
        found.append(LevelReports(absent, held, users * slots / setting.slots))
    return made.tree, tuple(found)


def drawn(tree: ResidueTree, told: Sequence[LevelReports], truth: Floats, seed: int) -> FilterErrors:
    """The errors over horizons of this truth, float64[t, d]; coordinates are independent."""
    rng, (periods, d) = np.random.default_rng(seed), truth.shape
    cohort = sum(level.users for level in told)
    follow = ResidueFilter(tree, d, told[0].absent / told[0].users, sampling=0.25 / cohort)
    guard = LeastSquaresGuard(d, tree.periods)
    found, plain = np.empty((4, periods, d)), ResidueEstimates(tree, d)
    for t in range(periods):
        step = t % tree.periods + 1
        if step == 1:
            plain = ResidueEstimates(tree, d)
        nodes = []
        for h, node in tree.ending(step):
            change = truth[t] - (truth[t - tree.span(h)] if step > tree.span(h) else 0.0)
            of = told[h]
            exact = node_variance(of.absent, of.held, round(of.users), changed=np.abs(change), change=change)
            noisy = change + rng.normal(size=d) * np.sqrt(exact)
            nodes.append(NodeEstimate(h, node, noisy, of.absent / of.users, exact))
        closed = plain.close(nodes)
        best = follow.close(nodes)
        value, variance = guard.joined((best.estimate, best.variance), (closed.estimate, closed.variance))
        found[:, t] = (closed.estimate - truth[t]) ** 2, closed.variance, (value - truth[t]) ** 2, variance
    return FilterErrors(*found)


def of_kind(name: str, periods: int, d: int, series: int) -> Floats:
    """So many series of a kind, side by side; of two values the second one."""
    each = [KINDS[name](np.random.default_rng([seed, 5, *name.encode()]), periods, max(d, 2)) for seed in range(series)]
    return np.concatenate([one[:, 1:] if d == 1 else one for one in each], axis=1)


def of_steps(periods: int, noise: float) -> dict[str, Floats]:
    """Truths of two horizons in which everybody changes once a horizon, and those that rest before they rise. noise:
    the standard error of a node of the lowest level.
    """
    found = {}
    for steps in (one for one in STEPS if one < periods):
        each = [rising(periods, steps, seed) for seed in range(SERIES)]
        found[f"{steps} steps" if steps else "gradual"] = np.stack(each, axis=1)
    for times in LATE:
        rise = np.minimum(0.1 + times * noise * np.arange(1, periods + 1) / periods, 0.9)
        late = np.concatenate((np.full(periods, 0.1), rise))
        found[f"late {times}"] = np.tile(late[:, np.newaxis], SERIES)
    return found


def kinds(periods: int, changes: int, d: int, users: int) -> None:
    """The table of kinds."""
    tree, told = levels(periods, changes, d, users)
    print(f"filter / plain, T = {periods}, s = {changes}, d = {d}, {users:.0e} users, {tree.levels} levels: ratio of")
    print("mean squared errors and truths within two standard errors, in the first horizon and in the second")
    truths = of_steps(periods, np.sqrt(told[0].absent / told[0].users)) if d == 1 else {}
    truths |= {name: of_kind(name, 2 * periods, d, max(2, SERIES // d)) for name in KINDS}
    first, second = slice(0, periods), slice(periods, None)
    for seed, (name, truth) in enumerate(truths.items()):
        errors = drawn(tree, told, truth, seed)
        said = (f"{errors.ratio(part):6.2f} {errors.within(part):7.1%}" for part in (first, second))
        print(f"  {name:12}" + "   ".join(said), flush=True)


def against_lpu(users: int, windows: Sequence[int]) -> None:
    """The filter's mean squared error over that of LPU with its filter, in the second horizon."""
    print("sao2 with the filter (s = 1, T = w) / lpu with the filter, mean squared errors, one bit, epsilon 1")
    print("    users      w  gradual" + "".join(f"{steps:>8}" for steps in STEPS[1:]))
    for w in windows:
        tree, told = levels(w, 1, 1, users)
        found = []
        for steps in STEPS:
            truth = np.stack([rising(w, steps, seed) for seed in range(SERIES)], axis=1)
            ours = drawn(tree, told, truth, 1).best[w:].mean()
            found.append(ours / np.mean([filtered(users, w, steps, seed) for seed in range(RUNS)]))
        print(f"{users:9.0e} {w:6} {found[0]:8.2f}" + "".join(f"{one:8.2f}" for one in found[1:]), flush=True)


if __name__ == "__main__":
    what, *given = sys.argv[1:] or ["kinds"]
    numbers = [int(float(word)) for word in given]
    if what == "kinds":
        kinds(*(numbers or (512, 1, 1, 10**6)))
    else:
        against_lpu(numbers[0] if numbers else 10**6, numbers[1:] or (512,))
