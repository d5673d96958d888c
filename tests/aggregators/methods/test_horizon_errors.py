# SPDX-License-Identifier: Apache-2.0
"""Exact errors of methods of horizons: beside portions, beside what releases say, and where they cross LPU's."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.horizon_errors import crossing, horizon_error, horizon_unit
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import HORIZON_METHODS, method
from murmurate.aggregators.trees.residue_portions import ResidueTask, in_slots
from murmurate.randomizers import GRR
from tests.aggregators.methods.test_horizons import USERS, decided, sao2, setting
from tests.cases import every

BIT = Setting(Mean.of_size(2, says_none=False), 1_000_000, 128, 12_800, first_t=0, seed=bytes(32))
"""One number that is 0 or 1, at epsilon 1."""
HALF = np.array([0.0, 1.0])


def test_without_changes_it_is_the_error_of_portions_over_periods_and_users_of_a_cohort() -> None:
    of = setting()
    made = sao2(of)
    levels, d = made._levels, of.measure.d_of_ones
    task = ResidueTask(d, 4, 2, of.epsilon_micro, "mean", "optimal")
    dealt = in_slots(levels.tree, task, of.slots // levels.cohorts, USERS / of.slots, of.min_batch)
    found = horizon_error(made, USERS, told=0)
    assert found.variance == pytest.approx(dealt.error / 8 / (USERS / found.cohorts), rel=2e-3)
    assert (found.periods, found.fanout, found.cohorts, found.changes) == (8, 2, 2, 4)


@every("name", ["sao2", "efmrtt"], long=list(HORIZON_METHODS))
def test_what_releases_say_of_themselves_has_the_exact_error_as_its_mean(name: str) -> None:
    """Users of whom nobody ever has a value, and users whose only change is the first value."""
    said, least, of = dict[int, float](), 0.0, setting(says_none=True)
    for told in (0, 1):
        shares, found = np.repeat([[0.2, 0.3, 0.5, 0.0] if told else [0.0, 0.0, 0.0, 1.0]], 9, axis=0), []
        for seed in range(20):
            made = method(MethodOptions(name, horizon="8", changes="4", fanout="2", users=str(USERS)), of)
            assert isinstance(made, HorizonMethod)
            rng = np.random.default_rng(seed)
            periods = [decided(made, t, shares, rng).vector.variance.mean() for t in range(5, 14)]
            found += periods[1:]  # horizons begin with the second period, to which somebody can belong
            least = horizon_error(made, USERS, told=0).variance
        said[told] = float(np.mean(found))
    assert said[0] == pytest.approx(least, rel=0.02)
    assert said[0] < 1.02 * said[1]


def test_users_needed_are_those_from_which_on_no_level_is_cut() -> None:
    found = horizon_error(sao2(setting()), USERS)
    assert 100 * found.cohorts * found.levels < found.users_needed < USERS


@every("changes", [1, 8], long=[2, 4])
def test_on_one_bit_longer_windows_are_for_horizons(changes: int) -> None:
    assert crossing(BIT, BIT, changes, HALF) == {1: 128, 2: 1_024, 4: 2_048, 8: 4_096}[changes]
    noise = float(GRR(d=2, epsilon=1.0).variance(1, 0.0))
    ratios = [
        horizon_unit(BIT.measure.ones(), 10**6, changes, w, w, told=False) / (w * noise) for w in (128, 1_024, 4_096)
    ]
    assert ratios == pytest.approx(
        {1: [1.10, 0.27, 0.096], 2: [2.85, 0.72, 0.26], 4: [5.5, 1.47, 0.54], 8: [9.3, 2.67, 1.0]}[changes], rel=0.04
    )
