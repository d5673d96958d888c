# SPDX-License-Identifier: Apache-2.0
"""A method tried by simulation: which periods are scored, that scoring fewer of them changes nothing but the time it
takes, and when a trial ends.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from murmurate.agents.simulate import simulate_method
from murmurate.agents.simulate.simulate_method import FEWEST, MOST_OF_COSTLY, SCORED, Bench, scored
from murmurate.agents.simulate.simulated_answers import Holders
from murmurate.agents.simulate.trial_truths import made_up
from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.result import NamedFigures
from murmurate.aggregators.methods.method import Decision, Setting
from murmurate.aggregators.methods.options import MethodOptions
from tests.config.deployments import planned
from tests.measured import sized

USERS, PERIODS, W, CELLS = 5_000, 120, 4, 4
STREAM = planned(
    streams={"screen": {"measure": "distribution", "range": [0, 1], "cells": CELLS, "every": "1m"}}
).streams[0]


def setting(measure: str = "distribution", w: int = W) -> Setting:
    return Setting(sized(STREAM.d, measure), epsilon_micro=2_000_000, w=w, slots=400, first_t=0, seed=bytes(32))


@cache
def made(number: int) -> Holders:
    return made_up(STREAM, USERS, drift=0.004, presence=0.9, periods=PERIODS, seed=number)


def bench(within: float = 1.0) -> Bench:
    return Bench(made, STREAM.d, within)


@pytest.mark.parametrize("method", ["lpu", "lsp", "lpa"])
def test_a_distributions_estimate_is_scored_in_each_part_of_a_run_once(method: str) -> None:
    for seed in range(3):
        at = scored(method, setting(), PERIODS, seed)
        assert len(at) == SCORED
        parts = np.linspace(W, PERIODS, SCORED + 1).astype(int)
        assert ((parts[:-1] <= at) & (at < parts[1:])).all()


def test_scored_periods_do_not_keep_time_with_a_schedule() -> None:
    w = 10  # as long as a part
    found = Counter(
        (np.concatenate([scored("lsp", setting(w=w), 10 + 10 * SCORED, seed) for seed in range(5)]) % w).tolist()
    )
    assert sorted(found) == list(range(w))
    assert max(found.values()) <= 1.3 * 5 * SCORED / w


def test_all_periods_that_count_are_scored_where_that_takes_no_em() -> None:
    for method, measure in (("lbu", "distribution"), ("lpu", "frequency"), ("lpu", "mean")):
        assert scored(method, setting(measure), PERIODS, 0).tolist() == list(range(W, PERIODS))
    assert scored("lpu", setting(), SCORED + W, 0).tolist() == list(range(W, SCORED + W))


def test_em_is_run_for_no_more_than_the_scored_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = list[int]()

    def watched(self: Distribution, decision: Decision) -> NamedFigures:
        shown.append(decision.t)
        return result(self, decision)

    result = Distribution.result
    monkeypatch.setattr(Distribution, "result", watched)
    bench()._run(MethodOptions("lpu"), setting(), 0)
    assert shown == scored("lpu", setting(), PERIODS, 0).tolist()


def test_fewer_scored_periods_change_neither_the_series_nor_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate_method, "SCORED", 20)
    at = scored("lpa", setting(), PERIODS, 0) - W
    few = bench()._run(MethodOptions("lpa"), setting(), 0)
    monkeypatch.setattr(simulate_method, "SCORED", PERIODS)
    every = bench()._run(MethodOptions("lpa"), setting(), 0)
    assert few.series.tobytes() == every.series.tobytes()
    assert few.luck.tobytes() == every.luck.tobytes()
    assert few.filtered.tobytes() == every.filtered[at].tobytes()


@pytest.mark.parametrize("most", [FEWEST + 1, pytest.param(MOST_OF_COSTLY, marks=pytest.mark.audit)])
def test_a_trial_of_a_distribution_ends_and_says_how_well_errors_are_known(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = list[int]()
    monkeypatch.setattr(simulate_method, "MOST_OF_COSTLY", most)

    def watched(number: int) -> Holders:
        numbers.append(number)
        return made(number)

    tried = replace(bench(within=1e-6), truths=watched).try_out(MethodOptions("lpu"), setting())
    assert numbers == list(range(most))
    assert 0.005 < tried.within < 0.1
