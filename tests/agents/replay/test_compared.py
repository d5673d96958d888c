"""A configuration measured: bars, errors and readings are those of the releases themselves."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.agents.replay import compared as module
from murmurate.agents.replay.compared import PEERS, compared, projected
from murmurate.agents.replay.configurations import Configuration
from murmurate.agents.replay.drawn import run
from murmurate.agents.replay.filtered import SETTLED
from murmurate.aggregators.figures import figures

PERIODS = 60
ONE = Configuration("near zero", "rare", 8, users=20_000)


def test_what_is_scored_is_what_a_release_says() -> None:
    found, holders, setting = compared(ONE, 1, PERIODS), ONE.holders(1, PERIODS), ONE.setting(1)
    true = (holders / holders.sum(axis=1, keepdims=True))[SETTLED:]
    decisions = [one.decision for one in run(holders, {"name": "lpu", "filter": "adaptive"}, setting, seed=1)]
    shown = [figures(decision, None) for decision in decisions][SETTLED:]
    estimate, stderr = (np.array([getattr(one, name) for one in shown]) for name in ("estimate", "stderr"))
    raw = projected(np.array([decision.unbiased for decision in decisions[SETTLED:]]))
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
    # Thresholds are .14, .22, .3, .38 and .46, and with an error of .07 what is .115 to .163 away is that certain.
    error = np.full((5, 1), 0.07)
    assert module._readings(true, error, true) == (4, 4)  # .1 of .22, .3 of .14 and .46, .5 of .38
    assert module._readings(0.6 - true, error, true) == (4, 2)  # those of .3
    assert module._readings(true, np.full((5, 1), 1e-6), true) == (0, 0)  # more certain than that


def test_thresholds_lie_within_a_path_that_moves_and_are_round_where_it_hardly_does() -> None:
    path = np.linspace(0.1, 0.2, 101)  # its middle 80 % are .08 long
    assert module._thresholds(path, np.full(101, 0.019)) == pytest.approx([0.11, 0.13, 0.15, 0.17, 0.19])
    assert module._thresholds(path, np.full(101, 0.021)) == list(module.ROUND)


def test_a_seed_says_the_same_again_and_another_one_does_not() -> None:
    one, same, other = (compared(ONE, seed, 40) for seed in (1, 1, 2))
    assert one.filtered == same.filtered != other.filtered
    assert np.array_equal(one.told, same.told)
