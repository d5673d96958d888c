# SPDX-License-Identifier: Apache-2.0
"""Variances by formula against the dense covariance, for every stretch of small trees, as Fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Literal

import numpy as np
import pytest

from murmurate.aggregators.trees import exact_range_variance, leaf_variance, node_variances, range_variance
from murmurate.randomizers import ParameterError
from murmurate.randomizers.trees import Tree
from tests.aggregators.trees.given import leaf_weights, trees
from tests.cases import every

BOTH: tuple[Literal["dyadic", "least_squares"], ...] = ("dyadic", "least_squares")


@every(("tree", "weights"), product([*trees(36), Tree(2, 1)], BOTH))
def test_the_variance_of_every_stretch_is_that_of_the_dense_covariance(
    tree: Tree, weights: Literal["dyadic", "least_squares"]
) -> None:
    dense = leaf_weights(tree, weights)
    covariance = dense @ dense.T
    zero = covariance * 0
    row = np.block([[covariance, zero], [zero, covariance]])  # two trees in a row
    for low in range(2 * tree.leaves):
        for high in range(low, 2 * tree.leaves + 1):
            exact = row[low:high, low:high].sum() if high > low else 0
            assert exact_range_variance(tree, low, high, weights=weights) == exact
            assert range_variance(tree, low, high, weights=weights) == pytest.approx(float(exact), rel=1e-12)
    assert leaf_variance(tree, weights=weights) == pytest.approx(float(covariance[0, 0]), rel=1e-12)


def test_stretches_over_many_trees_add_whole_trees_and_two_ends() -> None:
    tree = Tree(4, 3)
    whole = node_variances(tree)[-1]
    for low, high in ((3, 16 * 7 + 5), (16, 16 * 9), (0, 16 * 3 + 1)):
        ends = exact_range_variance(tree, low, -(-low // 16) * 16) + exact_range_variance(tree, high // 16 * 16, high)
        assert exact_range_variance(tree, low, high) == ends + (high // 16 - -(-low // 16)) * whole


def test_consistency_never_errs_more_than_the_fewest_nodes_and_least_squares_never_more_than_whole_numbers() -> None:
    tree = Tree(4, 3)
    for low in range(48):
        for high in range(low + 1, 49):
            least, dyadic = (exact_range_variance(tree, low, high, weights=weights) for weights in reversed(BOTH))
            assert least <= dyadic
            assert least <= len(tree.canonical_nodes(low, high))


@pytest.mark.audit
@every("tree", [Tree(16, 3), Tree(2, 9), Tree(5, 4)])
def test_larger_trees_agree_with_the_dense_covariance_of_floats(tree: Tree) -> None:
    for weights in BOTH:
        dense = leaf_weights(tree, weights).astype(float)
        before = np.concatenate([np.zeros((1, dense.shape[1])), dense.cumsum(axis=0)])
        for low, high in np.sort(np.random.default_rng(1).integers(0, tree.leaves + 1, (500, 2))):
            found = range_variance(tree, int(low), int(high), weights=weights)
            assert found == pytest.approx(((before[high] - before[low]) ** 2).sum(), rel=1e-9, abs=1e-12)


def test_weights_and_stretches_that_there_are_not_are_refused() -> None:
    with pytest.raises(ParameterError, match="weights: found 'best'; allowed: dyadic, least_squares"):
        range_variance(Tree(2, 2), 0, 1, weights="best")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="leaves: found 2 to 1"):
        range_variance(Tree(2, 2), 2, 1)
    assert exact_range_variance(Tree(2, 2), 1, 1) == Fraction(0)
