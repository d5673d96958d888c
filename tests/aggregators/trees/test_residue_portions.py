# SPDX-License-Identifier: Apache-2.0
"""Portions of users in a residue tree: golden values, factors by brute force, the paper's rules, whole slots."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.trees import (
    GOALS,
    Goal,
    NodeEstimate,
    ResidueEstimates,
    ResidueTask,
    best_tree,
    factors,
    in_slots,
    level_terms,
    portions,
    published_weights,
)
from murmurate.aggregators.trees.residue_portions import enough
from murmurate.randomizers import ParameterError
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.vectors.exsub_terms import best_length, best_majority, total_error
from tests.aggregators.trees.residue_given import dense
from tests.cases import every

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "residue_golden.json").read_text(encoding="ascii")
)
NAMES: dict[Goal, str] = {"mean": "mean", "prefix": "prefix", "ranges": "all"}
X: Any = "x"
SHORT = ResidueTask(12, 8, 12, 10**6)
LONG = ResidueTask(1, 8, 1, 10**6)
TREES = [ResidueTree(T, r, told, cut) for T, r, cut in [(8, 2, 0), (13, 2, 1), (11, 3, 0)] for told in (False, True)]


@every("row", GOLDEN["factors"])
def test_factors_are_the_golden_ones(row: dict[str, Any]) -> None:
    tree = ResidueTree(row["T"], row["r"])
    assert [len(tree.nodes(level)) for level in range(tree.levels)] == row["used"]
    for goal in GOALS:
        assert factors(tree, goal).tolist() == row[NAMES[goal]]


@every("row", GOLDEN["portions"])
def test_levels_and_portions_are_the_golden_ones(row: dict[str, Any]) -> None:
    periods, r, d, s, epsilon = row["T,r,d,s,eps"]
    task = ResidueTask(d, s, d, round(epsilon * 10**6))
    tree = ResidueTree(periods, r)
    levels = level_terms(tree, task)
    assert [[one.nodes, one.changes, one.number, one.m] for one in levels] == row["par"]
    assert [one.absent for one in levels] == pytest.approx(row["v0"], rel=1e-6)
    for goal in GOALS:
        found = portions(tree, replace(task, goal=goal)).portions
        assert found == pytest.approx(row[NAMES[goal]], rel=1e-5)


@every(("tree", "goal"), product(TREES, GOALS))
def test_factors_are_sums_of_squared_weights(tree: ResidueTree, goal: Goal) -> None:
    sizes = np.array([1.0, 0.3, 2.0, 0.7])[: tree.levels]
    told = [
        NodeEstimate(level, node, np.zeros(1), float(sizes[level]))
        for level in range(tree.levels) for node in tree.nodes(level)
    ]  # fmt: skip
    answers = {
        "mean": np.eye(tree.periods),
        "prefix": np.tril(np.ones((tree.periods, tree.periods))),
        "ranges": np.array([
            [first <= t <= last for t in range(tree.periods)]
            for last in range(tree.periods) for first in range(last + 1)
        ], np.float64),
    }[goal]  # fmt: skip
    weights = np.zeros((len(answers), len(told)))
    if goal == "mean":
        for step in range(1, tree.periods + 1):
            known = [at for at, one in enumerate(told) if one.node * tree.span(one.level) <= step]
            weights[step - 1, known] = dense(tree, [told[at] for at in known], step, 1)[1][-1]
    else:
        weights = answers @ dense(tree, told, tree.periods, 1)[1]
    squares = (weights**2).sum(axis=0)
    wanted = [sum(w for w, one in zip(squares, told, strict=True) if one.level == h) for h in range(tree.levels)]
    np.testing.assert_allclose(factors(tree, goal, sizes), wanted, rtol=1e-9)


RATIOS = [
    (32, SHORT, "uniform", 1.0, (1.1245, 1.2584, 1.3027)),
    (32, SHORT, "simple", 1.0, (None, 1.2530, 1.4403)),
    (32, SHORT, "simple", 0.5, (None, 1.0204, 1.0251)),
    (32, SHORT, "calibrated", 1.0, (None, 1.0755, 1.0857)),
    (32, SHORT, "calibrated", 0.5, (None, 1.0043, 1.0347)),
    (128, LONG, "uniform", 1.0, (1.3009, 1.1928, 1.1899)),
    (128, LONG, "simple", 1.0, (None, 2.5304, 3.2686)),
    (128, LONG, "simple", 0.5, (None, 1.2562, 1.2994)),
    (128, LONG, "calibrated", 1.0, (None, 1.7901, 1.6632)),
    (128, LONG, "calibrated", 0.5, (None, 1.1307, 1.0890)),
]


@every(("periods", "task", "rule", "power", "wanted"), RATIOS)
def test_errors_of_the_papers_portions_relative_to_the_best(
    periods: int, task: ResidueTask, rule: Any, power: float, wanted: tuple[float | None, ...]
) -> None:
    """docs/TREES.md has these figures; power .5 is the root of the paper's portions, its missing step."""
    tree = ResidueTree(periods, 2)
    for goal, ratio in zip(GOALS, wanted, strict=True):
        best = portions(tree, replace(task, goal=goal))
        if ratio is not None and power == 1:
            found = portions(tree, replace(task, goal=goal, rule=rule))
            assert sum(found.portions) == pytest.approx(1, rel=1e-12)
            assert found.error / best.error == pytest.approx(ratio, abs=6e-5)
        elif ratio is not None:
            shares = np.sqrt(np.maximum(published_weights(tree, goal, rule), 0))[:-1]
            shares = np.append(shares / shares.sum() * (1 - best.portions[-1]), best.portions[-1])
            alone = np.array([one.absent for one in best.levels])
            assert factors(tree, goal) @ (alone / shares) / best.error == pytest.approx(ratio, abs=6e-5)


LEAST_SQUARES = [
    (32, SHORT, (0.64, 0.79, 0.68)),
    (128, LONG, (0.84, 0.84, 0.74)),
    (128, ResidueTask(16, 8, 2, 10**6), (0.69, 0.78, 0.68)),
]


@every(("periods", "task", "wanted"), LEAST_SQUARES)
def test_every_node_with_least_squares_has_less_error(
    periods: int, task: ResidueTask, wanted: tuple[float, ...]
) -> None:
    for goal, ratio in zip(GOALS, wanted, strict=True):
        sums = portions(ResidueTree(periods, 2), replace(task, goal=goal))
        best = best_tree(periods, 2, replace(task, goal=goal))
        assert best.tree.every
        assert best.error / sums.error == pytest.approx(ratio, abs=0.005)


@every("goal", GOALS)
def test_no_other_portions_have_less_error(goal: Goal) -> None:
    rng = np.random.default_rng(5)
    for tree in (ResidueTree(32, 2), ResidueTree(27, 3, every=True)):
        best = portions(tree, replace(SHORT, goal=goal))
        alone = np.array([one.absent for one in best.levels])
        for _ in range(20):
            shares = np.array(best.portions) * np.exp(rng.normal(scale=0.2, size=tree.levels))
            variances = alone / (shares / shares.sum())
            assert factors(tree, goal, variances) @ variances > best.error * (1 - (1e-3 if tree.every else 1e-12))


def test_the_error_is_that_of_the_estimates() -> None:
    found = portions(ResidueTree(32, 2, every=True), SHORT)
    variances = [one.absent / share for one, share in zip(found.levels, found.portions, strict=True)]
    estimates, total = ResidueEstimates(found.tree, 1), 0.0
    for step in range(1, 33):
        ends = found.tree.ending(step)
        told = [NodeEstimate(level, node, np.zeros(1), variances[level]) for level, node in ends]
        total += float(estimates.close(told).variance[0])
    assert total == pytest.approx(found.error, rel=1e-12)


def test_how_many_users_the_smallest_level_asks_for() -> None:
    """5.8 million for two cohorts, where all of them are to fill batches of 1 000; least squares asks for 14 400."""
    task = replace(LONG, goal="prefix")
    assert 2 * portions(ResidueTree(128, 2), task).users_needed(1000) == pytest.approx(5.8e6, rel=0.01)
    assert portions(ResidueTree(128, 2, every=True), task).users_needed(1000) == pytest.approx(14_400, rel=0.01)


@every(("told", "goal", "users"), product((False, True), GOALS, (1_000_000, 4_000, 1_200)))
def test_slots_fill_every_level_or_the_tree_is_cut(told: bool, goal: Goal, users: int) -> None:
    tree, slots = ResidueTree(16, 2, told), 420
    task = ResidueTask(16, 8, 2, 10**6, goal)
    found = in_slots(tree, task, slots, users / slots, 1000)
    assert sum(found.slots) == slots
    assert min(found.slots) * users / slots >= enough(1000)
    assert found.portions == pytest.approx([count / slots for count in found.slots])
    others = [in_slots(replace(tree, cut=cut), task, slots, users / slots, 1000) for cut in range(tree.levels)]
    assert found.error == min(one.error for one in others)
    assert (found.tree.levels == 1) == (users == 1_200)
    if users == 1_000_000:
        assert found.error < 1.01 * portions(tree, task).error


@every("levels", [1, 3, 6])
def test_slots_are_dealt_as_all_ways_to_deal_them_say(levels: int) -> None:
    tree = ResidueTree(2 ** (levels - 1), 2)
    task = ResidueTask(3, 4, 3, 10**6, "prefix")
    found = in_slots(tree, task, 14, 1000.0, 1000)
    if found.tree == tree:
        alone = np.array([one.absent for one in found.levels])
        ways = [way for way in product(range(2, 15), repeat=levels) if sum(way) == 14] if levels < 6 else []
        errors = [factors(tree, "prefix") @ (alone * 14 / np.array(way)) for way in ways]
        assert not ways or found.error == pytest.approx(min(errors), rel=1e-12)


def test_too_few_users_for_one_level_are_refused_with_how_many_it_takes() -> None:
    with pytest.raises(ParameterError, match=r"found 1000 in 10 slots; allowed: at least 1159, "):
        in_slots(ResidueTree(8, 2), SHORT, 10, 100.0, 1000)


@pytest.mark.parametrize(
    "made", [lambda: ResidueTask(0, 1, 1, 10**6), lambda: ResidueTask(3, 1, 4, 10**6),
             lambda: ResidueTask(3, 1, 3, 10**6, X), lambda: ResidueTask(3, 1, 3, 10**6, "mean", X),
             lambda: factors(ResidueTree(4, 2, True), "mean")],
)  # fmt: skip
def test_what_is_no_task_is_refused(made: Any) -> None:
    with pytest.raises(ParameterError, match="allowed"):
        made()


@every("d", [8], long=[2, 4, 8, 16, 64, 200, 1_000])
def test_the_best_majority_is_the_best_of_all_and_never_worse_than_exsub(d: int) -> None:
    for s, epsilon in product((1, 2, 3, 8, 16), (0.1, 1.0, 3.0, 6.0)):
        if s > d:
            continue
        micro, most = round(epsilon * 10**6), d + s
        errors = [
            float(total_error(d, s, micro, tau, best_length(d, s, micro, tau, most, most), most))
            for tau in range(s + 1)
        ]
        m, tau = best_majority(d, s, micro, most, most)
        assert float(total_error(d, s, micro, tau, m, most)) == min(errors[1:]) == errors[tau]
        assert min(errors[1:]) <= errors[0] * (1 + 1e-9)


@every("epsilon", [0.5, 4.0], long=[0.1, 1.0, 2.0, 6.0])
def test_the_best_form_has_no_more_error_whoever_tells_how_much(epsilon: float) -> None:
    for d, s in product((1, 4, 16), (1, 2, 8)):
        task, tree = ResidueTask(d, s, d, round(epsilon * 10**6)), ResidueTree(32, 2, every=True)
        for plain, best in zip(level_terms(tree, task), level_terms(tree, replace(task, form="best")), strict=True):
            assert best.absent <= plain.absent
            assert best.of_all <= plain.of_all
            assert best.tau == 0 or (best.of_all < plain.of_all and s > 1)
