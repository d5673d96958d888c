# SPDX-License-Identifier: Apache-2.0
"""A configuration measured: bars, errors and readings are those of the releases themselves."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.agents.simulate import filter_comparison as module
from murmurate.agents.simulate.configurations import Configuration
from murmurate.agents.simulate.filter_comparison import PEERS, compared, projected
from murmurate.agents.simulate.filter_error import SETTLED
from murmurate.agents.simulate.simulated_answers import run
from murmurate.aggregators.methods.options import MethodOptions
from tests.measured import figures

PERIODS = 60
ONE = Configuration("near zero", "rare", 8, users=2_000)


def test_what_is_scored_is_what_a_release_says() -> None:
    found, holders, setting = compared(ONE, 1, PERIODS), ONE.holders(1, PERIODS), ONE.setting(1)
    true = (holders / holders.sum(axis=1, keepdims=True))[SETTLED:]
    decisions = [one.decision for one in run(holders, MethodOptions("lpu", filter="adaptive"), setting, seed=1)]
    shown = [figures(decision, None) for decision in decisions][SETTLED:]
    estimate, stderr = (np.array([getattr(one, name) for one in shown]) for name in ("estimate", "stderr"))
    raw = projected(np.array([decision.vector.unbiased for decision in decisions[SETTLED:]]))
    assert found.filtered == pytest.approx(((estimate - true) ** 2).mean())
    assert found.raw == pytest.approx(((raw - true) ** 2).mean())
    assert len(found.peers) == len(PEERS)
    count = true > stderr
    assert 0 < found.counted == count.sum() < true.size
    assert found.shown == (np.abs(estimate - true) <= 2 * stderr)[count].sum()
    assert found.cells.sum() == found.counted
    assert found.width.sum() == pytest.approx(stderr[count].sum())


def test_readings_are_certain_ones_and_right_where_the_truth_is_on_their_side() -> None:
    true = np.array([[0.1], [0.2], [0.3], [0.4], [0.5]])
    # Thresholds are .14, .22, .3, .38 and .46, and an error of .1 is certain of what is .17 to .23 away.
    course = np.tile(np.array([[0.3], [1e6]]), (5, 1, 1))  # as far from everything as can be: nothing is known by it
    exact = module._readings(true, np.full((5, 1), 0.1), course, true)
    assert exact == (4, 4)  # .1 of .3, .2 of .38, .4 of .22, .5 of .3
    wrong = module._readings(0.6 - true, np.full((5, 1), 0.1), course, true)
    assert wrong == (4, 0)
    assert module._readings(true, np.full((5, 1), 1e-6), course, true) == (0, 0)  # more certain than that


def test_a_seed_says_the_same_again_and_another_one_does_not() -> None:
    one, same, other = (compared(ONE, seed, 40) for seed in (1, 1, 2))
    assert one.filtered == same.filtered != other.filtered
    assert np.array_equal(one.told, same.told)
