# SPDX-License-Identifier: Apache-2.0
"""Truths to try methods on: they move by the drift that is asked for, stay where they are, or are a recording's."""

from pathlib import Path

import numpy as np
import pytest

from murmurate.agents.replay.source import SourceError
from murmurate.agents.replay.sources import open_source
from murmurate.agents.simulate.trial_truths import MOST, made_up, recorded
from murmurate.config.plan import Plan
from tests.config.deployments import planned

USERS, PERIODS = 1_000_000, 400
NUMBERS = {"measure": "mean", "range": [0, 120], "every": "1m"}
STRETCHES = {"measure": "distribution", "range": [0, 1], "cells": 12, "every": "1m"}
TEXTS = {"measure": "frequency", "values": ["home", "help", "search"], "every": "1m"}


def of(**table: object) -> Plan:
    return planned(streams={"screen": table})


def mean(shares: np.ndarray, cells: int) -> np.ndarray:
    return np.asarray(shares[:, :cells] @ np.linspace(0, 1, cells) / shares[:, :cells].sum(axis=1))


@pytest.mark.parametrize("drift", [0.0, 0.001, 0.01])
@pytest.mark.parametrize("table", [TEXTS, STRETCHES], ids=["texts", "stretches"])
def test_shares_move_by_the_drift_asked_for(table: dict[str, object], drift: float) -> None:
    stream = of(**table).streams[0]
    holders = made_up(stream, USERS, drift=drift, presence=0.8, periods=PERIODS, seed=1)
    assert holders.shape == (PERIODS, stream.d)
    assert (holders >= 0).all()
    assert (holders.sum(axis=1) == USERS).all()
    step = np.diff(holders / USERS, axis=0)
    # 400 steps of at least 4 statistics: their mean square is within 15 % of its expectation
    assert np.sqrt((step**2).mean()) == pytest.approx(drift, rel=0.15, abs=2e-6)
    assert holders[0, -1] == pytest.approx(0.2 * USERS, abs=2)


@pytest.mark.parametrize("presence", [0.3, 1.0])
def test_a_mean_moves_by_the_drift_as_a_part_of_its_range(presence: float) -> None:
    stream = of(**NUMBERS).streams[0]
    cells = stream.measure.tried().d - 1
    shares = made_up(stream, USERS, drift=0.004, presence=presence, periods=PERIODS, seed=2) / USERS
    assert shares[:, -1] == pytest.approx(1 - presence, abs=1e-5)
    assert np.sqrt((np.diff(mean(shares, cells)) ** 2).mean()) == pytest.approx(0.004, rel=0.15)
    assert np.abs(mean(shares, cells) - 0.5).max() < 0.3


def test_the_same_question_has_the_same_truth_and_each_seed_another() -> None:
    stream = of(**TEXTS).streams[0]
    one, again, other = (made_up(stream, 1_000, drift=0.01, presence=1.0, periods=20, seed=seed) for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    assert (one[0] == other[0]).all()  # where it begins


def test_a_synthetic_stream_is_its_own_formula() -> None:
    plan = planned(screen__values=["0", "1"], screen__missing={"carry": "always"})
    source = open_source("synthetic:sin,n=100,periods=50", plan)
    holders = recorded(plan, source, "screen", 200_000).holders
    t = np.arange(1, 51)
    assert holders[:, 1] == pytest.approx(200_000 * (0.05 * np.sin(0.01 * t) + 0.075), abs=1)
    of_numbers = of(**NUMBERS)  # 0 and 1 of a range up to 120: the lowest cell of a coarse grid
    found = recorded(of_numbers, open_source("synthetic:sin,n=100,periods=50", of_numbers), "screen", 200_000).holders
    assert found[:, 0].tolist() == [200_000] * 50


def test_a_recording_of_texts_is_counted_by_the_rules_of_the_stages(tmp_path: Path) -> None:
    plan = of(**TEXTS)
    values = np.array([[0, 0, 1, -1], [0, 1, 1, 2], [2, 2, 2, 2]])
    np.save(tmp_path / "seen.npy", values)
    holders = recorded(plan, open_source(str(tmp_path / "seen.npy"), plan), "screen", 400).holders
    assert holders.tolist() == [[200, 100, 0, 100], [100, 200, 100, 0], [0, 0, 400, 0]]


def test_a_recording_of_numbers_keeps_their_mean_and_their_spread_on_the_coarse_grid(tmp_path: Path) -> None:
    plan = of(**NUMBERS)
    values = np.array([np.linspace(10, 110, 4_000), np.full(4_000, 60.0)])
    values[:, ::2] = np.nan
    np.save(tmp_path / "fares.npy", values)
    holders = recorded(plan, open_source(str(tmp_path / "fares.npy"), plan), "screen", USERS).holders
    cells = plan.streams[0].measure.tried().d - 1
    places = np.linspace(0, 120, cells)
    for shares, numbers in zip(holders / USERS, values, strict=True):
        held = numbers[~np.isnan(numbers)]
        assert shares[-1] == pytest.approx(0.5)
        assert shares[:cells] @ places / 0.5 == pytest.approx(held.mean(), abs=0.1)
        assert shares[:cells] @ places**2 / 0.5 == pytest.approx((held**2).mean(), rel=0.01)


def test_no_more_is_read_than_is_looked_at_and_a_source_without_a_period_is_refused(tmp_path: Path) -> None:
    plan = of(**TEXTS)
    np.save(tmp_path / "long.npy", np.zeros((MOST + 5, 2), np.int64))
    assert len(recorded(plan, open_source(str(tmp_path / "long.npy"), plan), "screen", 10).holders) == MOST
    (tmp_path / "none.jsonl").write_text('{"stream": "screen", "user": "u", "time": "never", "value": "home"}\n')
    with pytest.raises(SourceError, match="found no good event"):
        recorded(plan, open_source(str(tmp_path / "none.jsonl"), plan), "screen", 10)


def test_of_a_source_with_several_streams_one_is_taken(tmp_path: Path) -> None:
    plan = planned(streams={"screen": {**TEXTS, "share": 0.5}, "tab": {**TEXTS, "share": 0.5}})
    events = [
        f'{{"stream": "{name}", "user": "u{user}", "time": "2026-11-18T09:0{minute}:10Z", "value": "{value}"}}'
        for minute in range(3)
        for name, value in (("screen", "home"), ("tab", "help"))
        for user in range(4)
    ]
    (tmp_path / "both.jsonl").write_text("\n".join(events) + "\n")
    source = open_source(str(tmp_path / "both.jsonl"), plan)
    assert recorded(plan, source, "tab", 8).holders.tolist()[-1] == [0, 8, 0, 0]
    assert recorded(plan, source, "screen", 8).holders.tolist()[-1] == [8, 0, 0, 0]
