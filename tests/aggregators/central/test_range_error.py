# SPDX-License-Identifier: Apache-2.0
"""The error by which ToPL finds its threshold, and the tree whose levels get ever smaller shares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.central.chan import chan_shares, even_shares, stretch_variance
from murmurate.aggregators.central.range_error import best_threshold, range_moments, threshold_errors
from murmurate.randomizers import HM, ParameterError
from murmurate.randomizers.trees import Tree
from tests.cases import every

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "tops_golden.json").read_text())


@every("row", GOLDEN["range_moments"])
def test_moments_of_the_length_of_a_random_range_are_golden(row: dict[str, Any]) -> None:
    assert range_moments(row["r"]) == pytest.approx((row["E_len"], row["E_len2"]), rel=1e-12)


def test_moments_are_those_of_all_ranges() -> None:
    lengths = np.array([high - low for low in range(13) for high in range(low + 1, 14)])
    assert range_moments(13) == pytest.approx((lengths.mean(), (lengths**2).mean()))
    with pytest.raises(ParameterError, match="longest: found 0"):
        range_moments(0)


def test_the_threshold_and_its_errors_are_golden() -> None:
    row, hybrid = GOLDEN["theta_eq8"], HM(epsilon=1)
    known: dict[str, Any] = {"longest": row["r"], "variance": float(hybrid.floor)}
    errors = threshold_errors(np.array(row["f"]), row["B"], **known)
    assert errors == pytest.approx(row["err_r2_6"], rel=1e-5)  # the product's HM rounds its chances
    assert best_threshold(np.array(row["f"]), row["B"], **known) == row["theta_r2_6"]


def test_shares_of_all_levels_of_chan_s_tree_sum_to_1() -> None:
    assert chan_shares(400).sum() == pytest.approx(1)
    assert (np.diff(np.cumsum(chan_shares(60))) > 0).all()
    assert chan_shares(60).sum() < 1
    assert even_shares(20).sum() == pytest.approx(1)


def test_variance_of_a_stretch_is_that_of_its_nodes() -> None:
    tree = Tree(2, 3)  # leaves 1..6: two leaves, and a node of two leaves in each of two trees
    assert stretch_variance(tree, 1, 7, even_shares(3)) == pytest.approx(4 * 2 * 9)
    shares = chan_shares(3)
    assert stretch_variance(tree, 1, 7, shares) == pytest.approx(4 / shares[0] ** 2 + 4 / shares[1] ** 2)
    # 20 levels of a fixed tree: 2 * 20^2 for each node.
    assert stretch_variance(Tree(2, 20), 0, 1, even_shares(20)) == pytest.approx(800)
