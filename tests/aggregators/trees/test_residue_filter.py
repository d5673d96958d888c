# SPDX-License-Identifier: Apache-2.0
"""The filter over nodes of horizons: of free values it is least squares, and of values at rest far better."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.aggregators.trees.residue import NodeEstimate, ResidueEstimates
from murmurate.aggregators.trees.residue_filter import FREE, Motion, ResidueFilter
from murmurate.randomizers import SnapshotError
from murmurate.randomizers.residue_tree import ResidueTree


def test_values_that_are_free_in_each_period_are_least_squares() -> None:
    tree, rng = ResidueTree(13, 2, every=True), np.random.default_rng(8)
    free = ResidueFilter(tree, 3, 1.0, motions=[Motion(FREE, None, 0.5, 1)])
    for _ in range(2):
        plain = ResidueEstimates(tree, 3)
        for step in range(1, tree.periods + 1):
            told = [NodeEstimate(h, q, rng.normal(size=3), 1.0 + h) for h, q in tree.ending(step)]
            wanted = plain.close(told)
            found = free.close(told)
            np.testing.assert_allclose(found.estimate, wanted.estimate, atol=2e-3)
            np.testing.assert_allclose(found.variance, wanted.variance, rtol=2e-3)


def test_values_at_rest_have_a_quarter_of_the_error_and_two_standard_errors_hold() -> None:
    tree, rng, d, noise = ResidueTree(32, 2, every=True), np.random.default_rng(9), 200, 1e-4
    follow, true, off, best, held = ResidueFilter(tree, d, noise), rng.random(d), [], [], []
    for _ in range(2):
        plain = ResidueEstimates(tree, d)
        for step in range(1, tree.periods + 1):
            told = [
                NodeEstimate(h, q, true * (q == 1) + noise**0.5 * rng.normal(size=d), noise)
                for h, q in tree.ending(step)
            ]
            closed = plain.close(told)
            found = follow.close(told)
            off.append((closed.estimate - true) ** 2)
            best.append((found.estimate - true) ** 2)
            held.append(best[-1] <= 4 * found.variance)
    assert np.mean(best) < 0.25 * np.mean(off)
    assert np.mean(held) > 0.95


def test_a_state_of_other_coordinates_is_refused() -> None:
    tree = ResidueTree(4, 2, every=True)
    with pytest.raises(SnapshotError, match="allowed"):
        ResidueFilter(tree, 2, 1.0).load(ResidueFilter(tree, 3, 1.0).arrays())
