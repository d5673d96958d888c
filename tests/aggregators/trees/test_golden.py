# SPDX-License-Identifier: Apache-2.0
"""Trees against values worked out by others (tests/data/trees_golden.json)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from murmurate.aggregators.trees import (
    SMOOTHERS,
    LeafNoise,
    block_error,
    choose_block,
    dyadic_leaves,
    exact_range_variance,
    least_squares,
    node_variances,
    range_variance,
    spread,
)
from murmurate.aggregators.trees.smoothers import MovingSmoother, RecentSmoother
from murmurate.randomizers.trees import Tree
from tests.aggregators.trees.given import GOLDEN, GivenNoise
from tests.cases import every


def test_consistent_estimates_of_two_trees_in_a_row() -> None:
    golden = GOLDEN["consistency"]
    found = least_squares([np.array(level, float) for level in golden["levels_leaf_to_top"]], golden["b"])
    for name, level in zip(("leaves", "mid", "top"), found, strict=True):
        np.testing.assert_allclose(level, golden[name], rtol=1e-6)


def test_whole_number_leaves() -> None:
    golden = GOLDEN["exact_int_tree"]
    levels = [np.array(level) for level in golden["levels"]]
    assert dyadic_leaves(levels, golden["b"]).tolist() == golden["leaf_numerators"]
    tree = Tree(golden["b"], len(levels))
    assert tree.denominator == 1 << golden["log2_denominator"]
    assert [LeafNoise(tree, GivenNoise(levels)).numerator(i) for i in range(4)] == golden["leaf_numerators"]
    assert sum(golden["leaf_numerators"]) / tree.denominator == golden["top_check"]


def test_variances_of_nodes() -> None:
    for name, golden in GOLDEN["node_variance"].items():
        fanout = int(name.split()[0].removeprefix("b="))
        weights = "dyadic" if "dyadic" in name else "least_squares"
        found = node_variances(Tree(fanout, len(golden)), weights)
        np.testing.assert_allclose([float(v) for v in found], golden, rtol=1e-6)


def test_variances_of_stretches() -> None:
    for fanout, levels, low, high, _, golden in GOLDEN["range_variance"]["rows"]:
        tree = Tree(fanout, levels)
        found = range_variance(tree, low, high, weights="least_squares")
        np.testing.assert_allclose(found, golden, rtol=1e-6)
        np.testing.assert_allclose(float(exact_range_variance(tree, low, high, weights="least_squares")), found, 1e-12)


def test_levels_that_are_left_out() -> None:
    golden = GOLDEN["opt_s"]
    tree = Tree(golden["b"], 5)
    assert tree.leaves * golden["b"] == golden["r"]
    found = [block_error(tree, s, 0.05) for s in range(5)]
    np.testing.assert_allclose(found, golden["eq7_over_theta2_eps005"], rtol=1e-6)
    assert {name: choose_block(tree, float(name)) for name in golden["s"]} == golden["s"]


@every("exact", [False, True])
def test_smoothers(exact: bool) -> None:
    golden = GOLDEN["smoothers"]
    kind = Fraction if exact else float
    options = {"moving": {"width": golden["moving_w"]}, "exponential": {"recent": kind(str(golden["alpha"]))}}
    made = {name: one(golden["block"], kind(golden["u0"]), **options.get(name, {})) for name, one in SMOOTHERS.items()}
    assert isinstance(made["moving"], MovingSmoother)
    for t, *row in golden["rows"]:
        if t:
            for smoother in made.values():
                smoother.add(kind(golden["u"][t - 1]))
        found = [smoother.prediction for smoother in made.values()]
        assert all(isinstance(prediction, kind) for prediction in found)
        np.testing.assert_allclose([float(prediction) for prediction in found], row, rtol=1e-6)


def test_a_whole_release_over_two_trees() -> None:
    golden = GOLDEN["ToPS_release"]
    leaves = []
    for noise, wanted in zip(golden["noise_trees"], golden["consistent_leaves"], strict=True):
        found = least_squares([np.array(level, float) for level in noise], golden["b"])[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        leaves += found.tolist()
    block, theta = golden["b"] ** golden["s"], golden["theta"]
    values = [min(value, theta) for value in golden["values"]]
    whole = [sum(values[i : i + block]) for i in range(0, len(values) - block + 1, block)]
    totals = [total + noise for total, noise in zip(whole, leaves, strict=False)]
    smoother = RecentSmoother(block, block * theta / 2)
    released = list(spread(totals, smoother))
    released += [smoother.prediction] * (len(values) - len(released))
    np.testing.assert_allclose(released, golden["released"], rtol=1e-6)
