# SPDX-License-Identifier: Apache-2.0
"""Smoothers and plain hierarchies: periods add up to their blocks, states go on, nodes add up to stretches."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.trees import SMOOTHERS, NodeSums, choose_block, node_totals, spread
from murmurate.aggregators.trees.smoothers import ExponentialSmoother, MovingSmoother, RecentSmoother
from murmurate.randomizers import ParameterError
from murmurate.randomizers.trees import Tree
from tests.cases import every

TOTALS = [Fraction(x, 7) for x in (40, -3, 91, 12, 12, 250, 0)]


@every("name", SMOOTHERS)
def test_periods_of_a_block_add_up_to_its_noisy_sum(name: str) -> None:
    released = list(spread(TOTALS, SMOOTHERS[name](5, Fraction(8))))
    assert [sum(released[i : i + 5]) for i in range(0, 35, 5)] == TOTALS


@every("name", SMOOTHERS)
def test_blocks_of_one_period_are_released_as_they_are(name: str) -> None:
    assert list(spread(TOTALS, SMOOTHERS[name](1, Fraction(8)))) == TOTALS


@every("name", SMOOTHERS)
def test_a_smoother_goes_on_from_the_state_of_another(name: str) -> None:
    whole = list(spread(TOTALS, SMOOTHERS[name](3, Fraction(8))))
    for cut in range(len(TOTALS)):
        first, second = SMOOTHERS[name](3, Fraction(8)), SMOOTHERS[name](3, Fraction(0))
        before = list(spread(TOTALS[:cut], first))
        second.restore(first.state())
        assert before + list(spread(TOTALS[cut:], second)) == whole


@every("name", SMOOTHERS)
def test_a_prediction_is_constant_on_constant_blocks(name: str) -> None:
    smoother = SMOOTHERS[name](4, Fraction(20))
    for _ in range(5):
        assert smoother.prediction == 5
        smoother.add(Fraction(20))


def test_what_is_no_block_or_option_is_refused() -> None:
    with pytest.raises(ParameterError, match="block: found 0 periods"):
        RecentSmoother(0, 1.0)
    with pytest.raises(ParameterError, match="width: found 0 blocks"):
        MovingSmoother(2, 1.0, width=0)
    with pytest.raises(ParameterError, match=r"recent: found 1\.5"):
        ExponentialSmoother(2, 1.0, recent=1.5)
    with pytest.raises(ParameterError, match="epsilon: found 0"):
        choose_block(Tree(16, 5), 0)


@every("kind", [np.int64, np.float64, object])
def test_nodes_without_noise_add_up_to_every_stretch(kind: Any) -> None:
    tree = Tree(3, 3)
    leaves = np.arange(1, 28).astype(kind) * 2
    sums = NodeSums(tree, node_totals(tree, leaves))
    for low in range(28):
        for high in range(low, 28):
            assert sums.answer(low, high) == leaves[low:high].sum()
            assert sums.variance(low, high) == len(tree.canonical_nodes(low, high))
    with pytest.raises(ParameterError, match="leaves: found 0 to 28; allowed: up to 27"):
        sums.answer(0, 28)
    with pytest.raises(ParameterError, match=r"levels: found \[9, 3\] nodes"):
        NodeSums(tree, [np.arange(9), np.arange(3)])
