# SPDX-License-Identifier: Apache-2.0
"""The residue tree's estimates: least squares as a dense solver has it, unbiased, with exact variances, never worse
than the sums of SaO2's Algorithm 2.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from murmurate.aggregators.trees import (
    NodeEstimate,
    ResidueEstimates,
    RevisedHorizon,
    StepEstimate,
    node_variance,
    pair_covariance,
)
from murmurate.randomizers import ParameterError, SnapshotError
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.vectors.exsub_terms import is_accepted
from tests.aggregators.trees.residue_given import dense, ended, random_nodes
from tests.cases import every

SHAPES = [(1, 2), (2, 2), (7, 2), (16, 2), (13, 3), (21, 4), (6, 9)]
TREES = [ResidueTree(T, r, told) for T, r in SHAPES for told in (False, True)]
CUT = [ResidueTree(13, 2, told, cut) for told in (False, True) for cut in (1, 3)]


def at_each_step(tree: ResidueTree, told: list[NodeEstimate], d: int) -> list[StepEstimate]:
    estimates = ResidueEstimates(tree, d)
    ends = {step: [n for n in told if n.node * tree.span(n.level) == step] for step in range(1, tree.periods + 1)}
    return [estimates.close(nodes) for nodes in ends.values()]


@every("tree", TREES + CUT)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_each_step_is_the_dense_least_squares_of_all_nodes_that_have_ended(tree: ResidueTree, missing: float) -> None:
    rng = np.random.default_rng(tree.periods)
    told = random_nodes(tree, 2, rng, missing=missing)
    for found in at_each_step(tree, told, 2):
        known = ended(tree, told, found.step)
        values, weights = dense(tree, known, found.step, 2)
        np.testing.assert_allclose(found.estimate, values[-1], rtol=1e-10, atol=1e-10)
        if np.isnan(values[-1]).any():
            assert np.isinf(found.variance).all()
        else:
            variances = np.array([one.variance for one in known])
            np.testing.assert_allclose(found.variance, weights[-1] ** 2 @ variances, rtol=1e-10)


@every("tree", TREES + CUT)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_revised_values_are_the_dense_least_squares(tree: ResidueTree, missing: float) -> None:
    rng = np.random.default_rng(tree.periods + 1)
    told = random_nodes(tree, 2, rng, missing=missing)
    for steps in sorted({1, (tree.periods + 1) // 2, tree.periods}):
        known = ended(tree, told, steps)
        values, weights = dense(tree, known, steps, 2)
        revised = RevisedHorizon(tree, rng.permutation(np.array(told, object)).tolist(), 2, steps)
        np.testing.assert_allclose(revised.values, values, rtol=1e-10, atol=1e-10)
        variances = np.array([one.variance for one in known]).reshape(-1, 2)
        sure = ~np.isnan(values[:, 0])
        np.testing.assert_allclose(revised.variances[sure], weights[sure] ** 2 @ variances, rtol=1e-10)
        assert np.isinf(revised.variances[~sure]).all()
        if sure.all():
            first = steps // 2 + 1
            estimate, variance = revised.sum(first, steps)
            np.testing.assert_allclose(estimate, values[first - 1 :].sum(axis=0), rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(variance, weights[first - 1 :].sum(axis=0) ** 2 @ variances, rtol=1e-10)


@every("tree", TREES + CUT)
def test_it_is_never_worse_than_the_sum_of_the_path(tree: ResidueTree) -> None:
    rng = np.random.default_rng(3)
    sizes = rng.uniform(0.1, 5, tree.levels)
    told = [
        NodeEstimate(level, node, np.zeros(1), float(sizes[level]))
        for level in range(tree.levels) for node in tree.nodes(level)
    ]  # fmt: skip
    revised = RevisedHorizon(tree, told, 1).variances
    for found in at_each_step(tree, told, 1):
        sums = sum(sizes[level] for level, _ in tree.path(found.step))
        assert found.variance[0] <= sums * (1 + 1e-12)
        assert revised[found.step - 1, 0] <= found.variance[0] * (1 + 1e-12)
        assert tree.every or found.variance[0] == pytest.approx(sums, rel=1e-12)


def test_the_figures_of_a_tree_of_32_periods_of_equal_nodes() -> None:
    """Mean variances in units of v0 / n, uniform portions: sums, the best at the time, the best afterwards."""
    found = []
    for told in (False, True):
        tree = ResidueTree(32, 2, told)
        nodes = [NodeEstimate(h, q, np.zeros(1), float(tree.levels)) for h in range(6) for q in tree.nodes(h)]
        found.append(np.mean([step.variance for step in at_each_step(tree, nodes, 1)]))
        found.append(RevisedHorizon(tree, nodes, 1).variances.mean())
    assert np.round(found, 1).tolist() == [15.2, 15.2, 10.0, 5.0]


def test_estimates_are_unbiased_with_their_exact_variance_in_4000_runs() -> None:
    """A variance of 4 000 runs is off by 2.2 % (one sigma), their mean by less; draws are the same each time."""
    rng, tree, runs = np.random.default_rng(4), ResidueTree(21, 2, every=True), 4000
    truth = rng.normal(size=tree.periods + 1).cumsum()
    truth -= truth[0]
    told = []
    for one in random_nodes(tree, 1, rng, missing=0.1):
        span = tree.span(one.level)
        change = truth[one.node * span] - truth[(one.node - 1) * span]
        assert isinstance(one.variance, np.ndarray)
        noisy = change + np.sqrt(one.variance) * rng.normal(size=runs)
        told.append(NodeEstimate(one.level, one.node, noisy, one.weighing, float(one.variance[0])))
    online = [(found.estimate, found.variance[0]) for found in at_each_step(tree, told, runs)]
    revised = RevisedHorizon(tree, told, runs)
    for answers in (online, list(zip(revised.values, revised.variances[:, 0], strict=True))):
        ratios = []
        for step, (estimate, variance) in enumerate(answers, 1):
            if np.isfinite(variance):
                errors = estimate - truth[step]
                assert abs(errors.mean()) < 5 * np.sqrt(variance / runs)
                ratios.append((errors**2).mean() / variance)
        assert len(ratios) > 10
        assert np.abs(np.array(ratios) - 1).max() < 0.1
        assert abs(np.mean(ratios) - 1) < 0.05


def test_weights_made_of_public_variances_leave_estimates_unbiased_where_estimated_ones_do_not() -> None:
    """Counts that vary with the noise, as those of few reports do: a small number would seem the surer one."""
    rng, tree, runs = np.random.default_rng(6), ResidueTree(2, 2, every=True), 20_000
    told = [rng.poisson(4.0, runs), rng.poisson(4.0, runs), rng.poisson(8.0, runs)]  # variances are the means
    places = [(0, 1), (0, 2), (1, 1)]

    def last(weighing: list[float], at: slice) -> np.ndarray:
        nodes = [
            NodeEstimate(h, q, numbers[at].astype(float), size)
            for (h, q), numbers, size in zip(places, told, weighing, strict=True)
        ]
        return at_each_step(tree, nodes, len(told[0][at]))[-1].estimate

    assert last([4.0, 4.0, 8.0], slice(None)).mean() == pytest.approx(8.0, abs=0.07)
    guessed = [last([float(n[i]) + 0.5 for n in told], slice(i, i + 1))[0] for i in range(500)]
    assert np.mean(guessed) < 7.7


def test_the_variance_of_a_node_over_users_drawn_from_all() -> None:
    """A population is split at random into a level and the rest, and answers with noise of v0 or v1."""
    rng, runs, population, received = np.random.default_rng(7), 4000, 200, 60
    changes = np.repeat([1.0, -1.0, 0.0], [50, 20, 130])
    estimates = np.empty(runs)
    for run in range(runs):
        drawn = rng.permutation(changes)[:received]
        estimates[run] = (drawn + np.sqrt(np.where(drawn == 0, 0.5, 1.5)) * rng.normal(size=received)).mean()
    wanted = node_variance(0.5, 1.5, received, changed=70 / 200, change=30 / 200, population=population)
    assert estimates.mean() == pytest.approx(0.15, abs=5 * float(wanted / runs) ** 0.5)
    assert estimates.var() == pytest.approx(float(wanted), rel=0.1)


@every(("s", "tau"), [(2, 0), (3, 0), (3, 1), (4, 1)])
def test_the_covariance_of_two_changes_is_that_of_all_reports(s: int, tau: int) -> None:
    d, m, epsilon = s + 1, 3, 0.8
    weights, parts = [], []
    for chosen in combinations(range(d + s), m):
        for signs in product((1, -1), repeat=m):
            report = np.zeros(d + s)
            report[list(chosen)] = signs
            agreeing, opposite = (int((report[:s] == sign).sum()) for sign in (1, -1))
            weights.append(np.exp(epsilon) if is_accepted(agreeing, opposite, tau) else 1.0)
            parts.append(report[:2])
    chances, both = np.array(weights) / np.sum(weights), np.array(parts)
    gap = chances @ both[:, 0]
    assert pair_covariance(d, s, epsilon, m, tau) == pytest.approx(chances @ both.prod(axis=1) / gap**2 - 1, rel=1e-9)


def test_state_is_taken_over_at_every_step() -> None:
    rng, tree = np.random.default_rng(8), ResidueTree(13, 3, every=True)
    told = random_nodes(tree, 2, rng, missing=0.2)
    whole, reloaded = ResidueEstimates(tree, 2), ResidueEstimates(tree, 2)
    for step in range(1, tree.periods + 1):
        nodes = [one for one in told if one.node * tree.span(one.level) == step]
        state, reloaded = reloaded.arrays(), ResidueEstimates(tree, 2)
        reloaded.load(state)
        assert sum(array.size for array in state.values()) == 1 + tree.levels * 5
        wanted, found = whole.close(nodes), reloaded.close(nodes)
        np.testing.assert_array_equal(found.estimate, wanted.estimate)
        np.testing.assert_array_equal(found.variance, wanted.variance)


def test_what_does_not_fit_is_refused() -> None:
    tree, one = ResidueTree(2, 2), np.zeros(1)
    for nodes in ([NodeEstimate(1, 1, one, 1.0)], [NodeEstimate(0, 1, one, 1.0)] * 2, [NodeEstimate(0, 1, one, 0.0)],
                  [NodeEstimate(0, 1, np.zeros(2), 1.0)], [NodeEstimate(0, 1, one, 1.0, -1.0)]):  # fmt: skip
        with pytest.raises(ParameterError, match="allowed"):
            ResidueEstimates(tree, 1).close(nodes)
    ended = ResidueEstimates(tree, 1)
    assert [ended.close([]).step, ended.close([]).step] == [1, 2]
    with pytest.raises(ParameterError, match="step 3"):
        ended.close([])
    with pytest.raises(SnapshotError, match="allowed"):
        ResidueEstimates(tree, 2).load(ended.arrays())
    for told in ([NodeEstimate(0, 2, one, 1.0)], [NodeEstimate(0, 1, one, 1.0)] * 2):
        with pytest.raises(ParameterError, match="allowed"):
            RevisedHorizon(tree, told, 1)
    assert np.isnan(RevisedHorizon(tree, [], 1).sum(1, 2)[0]).all()
