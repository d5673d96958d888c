# SPDX-License-Identifier: Apache-2.0
"""Leaves as they are needed: bit for bit those of the whole tree, from every starting leaf, in little memory."""

from __future__ import annotations

import hashlib
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.trees import LeafNoise, dyadic_leaves, fits
from murmurate.aggregators.trees.lazy import heaviest
from murmurate.randomizers import Key, ParameterError
from murmurate.randomizers.central import DiscreteLaplace, NodeNoise
from murmurate.randomizers.trees import Tree
from tests.aggregators.trees.given import GivenNoise, given, leaf_weights, trees
from tests.cases import every

KEY = Key(hashlib.sha256(b"central").digest(), deployment="shop")
DIGEST = hashlib.sha256(b"tree").digest()
SIZES = (1, 7, 1 << 16)


@every("tree", [Tree(3, 1), *trees(256)])
def test_online_equals_offline_bit_for_bit_whatever_the_noise(tree: Tree) -> None:
    noise = given(tree, tree.leaves)
    offline = dyadic_leaves(noise.levels, tree.fanout)
    for chunk in (*SIZES, tree.fanout, tree.fanout**2):
        online = LeafNoise(tree, noise, chunk=chunk)
        assert [online.numerator(leaf) for leaf in range(tree.leaves)] == offline.tolist()


@every("tree", [tree for tree in trees(256) if tree.levels > 2])
def test_a_stage_that_starts_anew_at_any_leaf_goes_on_with_the_same_noise(tree: Tree) -> None:
    noise = given(tree, 1)
    offline = dyadic_leaves(noise.levels, tree.fanout)
    for start in range(tree.leaves):
        anew = LeafNoise(tree, noise, chunk=tree.fanout)
        assert anew.numerator(start) == offline[start]
        assert (anew.numerators(start, tree.leaves - start) == offline[start:]).all()


@every("gamma", [Fraction(3), Fraction(1, 700), Fraction(1, 10**6)])
def test_keyed_noise_gives_the_same_leaves_lazily_and_at_once(gamma: Fraction) -> None:
    tree = Tree(16, 4)
    noise = NodeNoise(KEY, DIGEST, gamma)
    levels = [noise.of(level, 0, tree.nodes(level)) for level in range(1, 5)]
    offline = dyadic_leaves(levels, 16)
    lazy = LeafNoise(tree, noise, chunk=256)
    assert (lazy.numerators(0, tree.leaves) == offline).all()
    assert [lazy.numerator(leaf) for leaf in (4095, 0, 17, 256, 255)] == offline[[4095, 0, 17, 256, 255]].tolist()


def test_beyond_63_bits_leaves_are_true_modulo_2_to_the_64() -> None:
    tree = Tree(16, 5)
    noise = given(Tree(16, 5), 3, most=1 << 45)
    exact = [level.astype(object) for level in noise.levels]
    offline = np.array([(int(x) + (1 << 63)) % (1 << 64) - (1 << 63) for x in whole_leaves(exact, 16)])
    assert (LeafNoise(tree, noise, chunk=4096).numerators(0, tree.leaves) == offline).all()


def whole_leaves(levels: list[np.ndarray], fanout: int) -> np.ndarray:
    """The same two passes in Python's whole numbers, written for the root alone."""
    upwards = [levels[0]]
    for height, own in enumerate(levels[1:]):
        upwards.append(upwards[-1].reshape(-1, fanout).sum(axis=1) + own * (fanout - 1) * fanout**height)
    found = upwards.pop()
    for depth, own in enumerate(reversed(upwards)):
        rest = found - own.reshape(-1, fanout).sum(axis=1) * fanout ** (2 * depth + 1)
        found = own * fanout ** (2 * depth + 2) + np.repeat(rest, fanout)
    return found


@every("tree", [*trees(64), Tree(16, 2)])
def test_no_leaf_moves_further_than_its_weights_allow(tree: Tree) -> None:
    weights = leaf_weights(tree, "dyadic")
    assert all(sum(map(abs, row)) <= heaviest(tree) for row in weights)
    assert max(sum(map(abs, row)) for row in weights) >= heaviest(tree) / 2


def test_a_tree_whose_noise_or_totals_would_not_fit_is_told_apart() -> None:
    tree = Tree(16, 5)
    law = DiscreteLaplace(Fraction(1, 10**6))
    assert fits(tree, law)
    assert fits(tree, law, total=10**9)
    assert not fits(tree, law, total=1 << 31)
    assert not fits(tree, Fraction(1, 10**8))
    assert fits(Tree(16, 4), Fraction(1, 10**8))
    room = (1 << 63) // tree.denominator / heaviest(tree)
    assert law.beyond(int(room)) < Fraction(1, 1 << 81)


@every("tree", [Tree(2, 25), Tree(16, 5), Tree(256, 3), Tree(4, 3), Tree(2, 1)])
def test_less_noise_fits_wherever_more_does_up_to_the_largest_gamma(tree: Tree) -> None:
    gammas = [Fraction(1, 1 << scale) for scale in range(36, 0, -4)] + [Fraction(n) for n in (1, 3, 9, 10, 11, 15, 20)]
    fitting = [fits(tree, gamma) for gamma in gammas]
    assert fitting == sorted(fitting)
    assert fitting[-1]


def test_what_fits_holds_the_largest_noise_that_is_allowed_for() -> None:
    tree = Tree(4, 3)
    most = int(((1 << 63) - 1) // tree.denominator / heaviest(tree))
    for signs in np.random.default_rng(1).choice([-1, 1], (50, sum(tree.nodes(level) for level in (1, 2, 3)))):
        levels = [signs[:16] * most, signs[16:20] * most, signs[20:] * most]
        exact = whole_leaves([level.astype(object) for level in levels], 4)
        assert LeafNoise(tree, GivenNoise(levels)).numerators(0, 16).tolist() == exact.tolist()


@pytest.mark.audit
def test_a_million_leaves_keep_a_few_thousand_numbers_and_never_hold_more_than_a_pass() -> None:
    tree = Tree(16, 6)
    noise = NodeNoise(KEY, DIGEST, Fraction(1, 5000))
    LeafNoise(tree, noise).numerator(0)  # tables and key schedules
    tracemalloc.start()
    lazy = LeafNoise(tree, noise)
    for leaf in range(0, tree.leaves, 4096):
        lazy.numerator(leaf)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 64 << 10
    assert peak < 6 << 20  # all leaves at once are 8 MiB, and as many again for each pass


@every(("first", "count"), [(-1, 1), (0, 17), (16, 1), (3, -1)])
def test_leaves_that_there_are_not_are_refused(first: int, count: int) -> None:
    lazy = LeafNoise(Tree(4, 3), given(Tree(4, 3), 1))
    with pytest.raises(ParameterError, match="leaves: found"):
        lazy.numerators(first, count)
    with pytest.raises(ParameterError, match="leaf: found 16; allowed: 0 to 15"):
        lazy.numerator(16)
