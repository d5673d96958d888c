# SPDX-License-Identifier: Apache-2.0
"""Consistent estimates: unbiased, adding up, of least variance, and whole numbers that depend on no order."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from murmurate.aggregators.trees import (
    dyadic_leaves,
    exact_range_variance,
    least_squares,
    node_totals,
    node_variances,
)
from murmurate.aggregators.trees.consistency import dyadic_downwards, dyadic_upwards
from murmurate.randomizers import ParameterError
from murmurate.randomizers.trees import Tree
from tests.aggregators.trees.given import ancestors, given, leaf_weights, trees
from tests.cases import every

SMALL = trees(64)


def fractions(values: object) -> np.ndarray:
    return np.array([Fraction(int(x)) for x in np.asarray(values)], object)


@every("tree", trees(256))
def test_true_sums_are_left_as_they_are_so_that_leaves_are_unbiased(tree: Tree) -> None:
    leaves = np.random.default_rng(tree.leaves).integers(-1000, 1000, 2 * tree.leaves)
    totals = node_totals(tree, leaves)
    assert (dyadic_leaves(totals, tree.fanout) == leaves * tree.denominator).all()
    for found, wanted in zip(least_squares([fractions(level) for level in totals], tree.fanout), totals, strict=True):
        assert (found == wanted).all()


@every("tree", SMALL)
def test_least_squares_estimates_add_up_to_their_parents(tree: Tree) -> None:
    levels = least_squares([fractions(level) for level in given(tree, 1).levels], tree.fanout)
    for below, above in pairwise(levels):
        assert (below.reshape(-1, tree.fanout).sum(axis=1) == above).all()


@every("tree", SMALL)
def test_whole_number_leaves_add_up_to_the_consistent_estimate_of_every_node(tree: Tree) -> None:
    noise = given(tree, 2)
    leaves = dyadic_leaves(noise.levels, tree.fanout)
    upwards = dyadic_upwards(noise.levels, tree.fanout)
    for level in range(1, tree.levels + 1):
        below = leaves.reshape(-1, tree.span(level)).sum(axis=1)
        depth = tree.levels - level  # consistent nodes of this level are H times b^(levels - 1 + depth)
        nodes = dyadic_downwards(upwards[-1], upwards[level - 1 : -1], tree.fanout)
        assert (nodes * tree.fanout ** (tree.levels - 1 - depth) == below).all()


@every("tree", trees(256))
def test_float_least_squares_is_the_exact_one_to_rounding(tree: Tree) -> None:
    levels = given(tree, 3).levels
    exact = least_squares([fractions(level) for level in levels], tree.fanout)
    for found, wanted in zip(least_squares(levels, tree.fanout), exact, strict=True):
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-9, atol=1e-6)


@every("tree", [*trees(32), Tree(2, 6)])
def test_sums_over_any_stretch_of_least_squares_leaves_are_the_dense_minimum_variance_answer(tree: Tree) -> None:
    # Gauss and Markov: with A[nodes, leaves] and noise of one variance, the best unbiased estimate of w'x is
    # w' (A'A)^-1 A' N. The two-pass estimate has these weights exactly iff A'A W = A' with W[leaves, nodes].
    below = ancestors(tree)
    weights = leaf_weights(tree, "least_squares")
    assert ((below.T @ below).astype(object) @ weights == below.T).all()


@every("tree", SMALL)
def test_whole_number_leaves_are_unbiased_for_every_single_leaf(tree: Tree) -> None:
    unbiased = leaf_weights(tree, "dyadic") @ ancestors(tree).astype(object)
    assert (unbiased == np.eye(tree.leaves, dtype=np.int64)).all()


@every("fanout", [2, 3, 4, 8, 16, 32])
def test_whole_number_weights_cost_at_most_one_part_in_the_fanout_cubed(fanout: int) -> None:
    # A stretch's variance is a sum of node variances with the same shares for both, so levels bound all stretches.
    tree = Tree(fanout, 5)
    pairs = zip(node_variances(tree, "dyadic"), node_variances(tree, "least_squares"), strict=True)
    most = 1 + Fraction(1, fanout**3)
    assert max(one / least for one, least in pairs) == most
    rng = np.random.default_rng(4)
    for low, high in np.sort(rng.integers(0, 16 * tree.leaves, (40, 2))).tolist():
        least = exact_range_variance(tree, low, high, weights="least_squares")
        assert least <= exact_range_variance(tree, low, high) <= most * least


def test_an_order_of_adding_shows_in_floats_and_not_in_whole_numbers() -> None:
    tree, turned = Tree(16, 3), np.roll(np.arange(16), 5)  # the same tree with its sub-trees in another order
    levels = given(tree, 5).levels
    other = [level.reshape(16, -1)[turned].ravel() for level in levels[:2]] + levels[2:]
    assert (dyadic_leaves(other, 16).reshape(16, 16) == dyadic_leaves(levels, 16).reshape(16, 16)[turned]).all()
    rough, rough_other = ([level / 1e5 for level in each] for each in (levels, other))
    floats, others = (least_squares(each, 16)[0].reshape(16, 16) for each in (rough, rough_other))
    assert (others != floats[turned]).any()


def test_levels_that_are_no_tree_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"levels: found \[3, 1\] nodes; allowed: each level 2 times"):
        dyadic_leaves([np.arange(3), np.arange(1)], 2)
    with pytest.raises(ParameterError, match="leaves: found 3; allowed: a multiple of 4"):
        node_totals(Tree(2, 3), np.arange(3))
