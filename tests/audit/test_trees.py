# SPDX-License-Identifier: Apache-2.0
"""What all released leaves of a tree tell together about one event: exactly, and through the product's own code.

Two streams differ in one event, which changes one leaf by at most the sensitivity.  Released leaves are exact sums
plus consistent noise.  For every value that the noisy nodes may have, both streams must release the same leaves (so a
release is a function of noisy nodes and of nothing else), and the law of those leaves must keep e^epsilon either way.
The law is enumerated over a box of node values; for two levels also as a whole, with a bound on what lies outside.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from murmurate.aggregators.trees import LeafNoise, dyadic_leaves, node_totals
from murmurate.randomizers.central import DiscreteLaplace
from murmurate.randomizers.trees import Tree
from tests.aggregators.trees.given import GivenNoise
from tests.cases import every
from tests.randomizers.central.neighbours import at_most_e_to_the

Stream = tuple[int, ...]
"""The exact sums of all leaves."""


def node_values(tree: Tree, low: int, high: int) -> np.ndarray:
    """Every vector of node values from low to high: int64[vectors, nodes], leaves first."""
    nodes = sum(tree.nodes(level) for level in range(1, tree.levels + 1))
    return np.array(list(product(range(low, high + 1), repeat=nodes)), np.int64)


def by_level(tree: Tree, rows: np.ndarray) -> list[np.ndarray]:
    """Rows of node values as levels of trees in a row."""
    ends = np.cumsum([tree.nodes(level) for level in range(1, tree.levels + 1)])
    return [np.ascontiguousarray(part).reshape(-1) for part in np.split(rows, ends[:-1], axis=1)]


def noise_behind(tree: Tree, stream: Stream, values: np.ndarray) -> np.ndarray:
    """The noise that gives these noisy nodes for this stream."""
    totals = np.concatenate(node_totals(tree, np.array(stream, np.int64)))
    return np.asarray(values - totals)


def released(tree: Tree, stream: Stream, values: np.ndarray) -> np.ndarray:
    """The released leaves, times the denominator: exact sums plus consistent noise. int64[vectors, leaves]."""
    noise = dyadic_leaves(by_level(tree, noise_behind(tree, stream, values)), tree.fanout)
    return np.asarray(noise.reshape(-1, tree.leaves) + np.array(stream) * tree.denominator)


@lru_cache(maxsize=16)
def whole_chances(law: DiscreteLaplace, reach: int) -> tuple[np.ndarray, int]:
    """The chances of -reach..reach as whole numbers, and the power of two that they are out of."""
    chances = [law.chance(x) for x in range(-reach, reach + 1)]
    top = max(chance.denominator for chance in chances)
    return np.array([chance.numerator * (top // chance.denominator) for chance in chances], object), top


def joint_law(tree: Tree, law: DiscreteLaplace, stream: Stream, values: np.ndarray) -> dict[tuple[int, ...], int]:
    """The chance of every release that these node values give, as whole numbers out of one power of two."""
    noise = noise_behind(tree, stream, values)
    chances, _ = whole_chances(law, 64)
    each = np.multiply.reduce(chances[noise + 64], axis=1)
    found: dict[tuple[int, ...], int] = defaultdict(int)
    for leaves, chance in zip(released(tree, stream, values).tolist(), each, strict=True):
        found[tuple(leaves)] += chance
    return found


def neighbours(tree: Tree, sensitivity: int) -> list[tuple[Stream, Stream]]:
    """Streams that differ by one event: in any leaf, by any size up to the sensitivity."""
    base = tuple(3 * leaf % 5 for leaf in range(tree.leaves))
    pairs = []
    for leaf in range(tree.leaves):
        for size in {1, sensitivity, -sensitivity}:
            other = list(base)
            other[leaf] += size
            pairs.append((base, tuple(other)))
    return pairs


def largest_ratio(tree: Tree, epsilon: Fraction, sensitivity: int, values: np.ndarray) -> Fraction:
    """The largest ratio of the chances of one release under two neighbouring streams."""
    law = DiscreteLaplace(epsilon / (tree.levels * sensitivity))
    worst = Fraction(0)
    for one, other in neighbours(tree, sensitivity):
        assert (released(tree, one, values) == released(tree, other, values)).all()
        first, second = (joint_law(tree, law, stream, values) for stream in (one, other))
        assert first.keys() == second.keys()
        for leaves, chance in first.items():
            ratio = Fraction(chance, second[leaves])
            worst = max(worst, ratio, 1 / ratio)
    return worst


@every(("epsilon", "sensitivity"), [(Fraction(1), 1), (Fraction(3), 2), (Fraction(1, 5), 3)])
def test_released_leaves_of_two_levels_tell_at_most_epsilon_about_an_event(epsilon: Fraction, sensitivity: int) -> None:
    tree = Tree(2, 2)
    worst = largest_ratio(tree, epsilon, sensitivity, node_values(tree, -4, 6))
    assert at_most_e_to_the(epsilon) * (1 - Fraction(1, 1 << 20)) < worst <= at_most_e_to_the(epsilon)


@pytest.mark.parametrize("size", [(0, 2), pytest.param((-1, 2), marks=pytest.mark.audit)])
def test_released_leaves_of_three_levels_tell_at_most_epsilon_about_an_event(size: tuple[int, int]) -> None:
    tree, epsilon = Tree(2, 3), Fraction(3, 2)
    assert largest_ratio(tree, epsilon, 1, node_values(tree, *size)) <= at_most_e_to_the(epsilon)


def test_a_tree_that_forgets_a_level_is_caught() -> None:
    # ToPS prints Lap((h - s) / epsilon) once, without the threshold: epsilon becomes as many times larger.
    tree, epsilon = Tree(2, 2), Fraction(1)
    assert largest_ratio(tree, 2 * epsilon, 1, node_values(tree, -2, 4)) > at_most_e_to_the(epsilon)


def test_the_whole_law_of_two_levels_keeps_epsilon() -> None:
    """Not of a box: releases come from all node values (n1 + t, n2 + t, r - 2 t), so their law is one sum over t."""
    tree, epsilon, far = Tree(2, 2), Fraction(2), 80
    law, most = DiscreteLaplace(Fraction(1)), at_most_e_to_the(epsilon)
    steps = np.arange(-far, far + 1)
    chances, top = whole_chances(law, 2 * far + 20)
    outside = law.beyond(far - 20)  # of n1: so much at most have all t beyond
    for values in node_values(tree, -1, 2):
        alike = values + np.stack([steps, steps, -2 * steps], axis=1)
        assert len(np.unique(released(tree, (0, 0), alike), axis=0)) == 1
        for one, other in (((0, 0), (1, 0)), ((0, 0), (0, 1)), ((2, 1), (1, 1))):
            sums = [
                Fraction(
                    np.multiply.reduce(chances[noise_behind(tree, stream, alike) + 2 * far + 20], axis=1).sum(), top**3
                )
                for stream in (one, other)
            ]
            assert sums[0] + outside <= most * sums[1]
            assert sums[1] + outside <= most * sums[0]


def test_the_stage_that_asks_for_one_leaf_at_a_time_releases_the_same() -> None:
    tree, stream = Tree(2, 3), (1, 0, 4, 2)
    values = node_values(tree, 0, 1)
    whole = released(tree, stream, values)
    for row, wanted in zip(noise_behind(tree, stream, values), whole, strict=True):
        lazy = LeafNoise(tree, GivenNoise([row[:4], row[4:6], row[6:]]), chunk=2)
        assert [stream[i] * tree.denominator + lazy.numerator(i) for i in range(4)] == wanted.tolist()
