# SPDX-License-Identifier: Apache-2.0
"""The filter behind methods of horizons: their own series stays, errors shrink where little moves, bars hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.filtered_horizon import FilteredHorizon
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.randomizers import ParameterError
from tests.aggregators.methods.test_horizons import USERS, answered, setting, truth
from tests.cases import every

FIRST, PERIODS = 5, 8
OWN: dict[str, Any] = {"horizon": str(PERIODS), "changes": "4", "fanout": "2", "users": str(USERS)}


def made(filtering: str = "adaptive") -> FilteredHorizon | HorizonMethod:
    found = method(MethodOptions("sao2", **OWN, filter=filtering), setting())
    assert isinstance(found, FilteredHorizon | HorizonMethod)
    return found


def run(
    machine: FilteredHorizon | HorizonMethod, shares: np.ndarray, seed: int, lost: int | None = None
) -> list[Decision]:
    """The decisions of these periods; the rounds of one may be lost."""
    rng, decisions = np.random.default_rng(seed), list[Decision]()
    for t in range(FIRST, FIRST + len(shares)):
        step = machine.open(t)
        while isinstance(step, Request):
            answer = answered(step, t, shares, FIRST, rng)
            step = machine.tally(Answer(np.zeros_like(answer.support), 0) if t == lost else answer)
        decisions.append(step)
    return decisions


def test_the_methods_own_series_is_the_same_to_the_bit() -> None:
    shares = truth(20, 1)
    for ours, alone in zip(run(made(), shares, 2), run(made("off"), shares, 2), strict=True):
        assert ours.vector.unbiased.tolist() == alone.vector.unbiased.tolist()
        assert ours.vector.variance.tolist() == alone.vector.variance.tolist()
        assert ours.vector.best is not None
        assert alone.vector.best is None


@every(("moving", "most"), [(False, 0.75), (True, 1.03)])
def test_errors_are_smaller_where_little_moves_and_two_standard_errors_hold(moving: bool, most: float) -> None:
    shares = truth(48, 3) if moving else np.tile(truth(1, 3), (48, 1))
    plain, best, held = [], [], []
    for seed in range(6):
        for decision, true in zip(run(made(), shares, seed), shares, strict=True):
            found = decision.vector.best
            assert found is not None
            plain.append((decision.vector.unbiased - true) ** 2)
            best.append((found.statistics - true) ** 2)
            held.append(best[-1] <= 4 * found.variance)
    assert np.mean(best) < most * np.mean(plain)
    assert np.mean(held) > 0.93


def test_where_a_round_is_lost_the_methods_own_last_estimate_stands() -> None:
    shares = np.tile(truth(1, 4), (16, 1))
    lost, alone = run(made(), shares, 5, lost=FIRST + 12), run(made("off"), shares, 5, lost=FIRST + 12)
    assert [one.vector.best is None for one in lost] == [t == 12 for t in range(16)]
    assert lost[12].vector.variance.tolist() == alone[12].vector.variance.tolist()
    first = run(made(), shares, 5, lost=FIRST)  # the first round of all: the filter waits for the next horizon
    assert [one.vector.best is None for one in first] == [t < 8 for t in range(16)]


def test_a_crash_between_any_two_calls_changes_nothing() -> None:
    shares, whole, state = truth(20, 6), made(), made().state()
    one, other = np.random.default_rng(7), np.random.default_rng(7)
    for t in range(FIRST, FIRST + len(shares)):
        machine, calm = made(), whole.open(t)
        machine.load(state)
        torn = machine.open(t)
        while isinstance(calm, Request):
            assert isinstance(torn, Request)
            again = made()
            again.load(machine.state())
            machine = again
            calm = whole.tally(answered(calm, t, shares, FIRST, one))
            torn = machine.tally(answered(torn, t, shares, FIRST, other))
        state = machine.state()
        assert isinstance(torn, Decision)
        assert state == whole.state()
        assert calm.vector.best is not None
        assert torn.vector.best is not None
        assert torn.vector.best.statistics.tolist() == calm.vector.best.statistics.tolist()
        assert torn.vector.best.variance.tolist() == calm.vector.best.variance.tolist()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ParameterError, match="revise: found 8 with a filter"):
        MethodOptions("sao2", **OWN, filter="adaptive", revise=8)
    wide = Setting(Frequency.of_size(80, says_none=False), 2_000_000, 9, 576, FIRST, bytes(32), min_batch=100)
    with pytest.raises(ParameterError, match="80 coordinates; allowed: up to 64"):
        method(MethodOptions("sao2", **OWN, filter="adaptive"), wide)
