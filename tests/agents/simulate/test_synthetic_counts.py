# SPDX-License-Identifier: Apache-2.0
"""Made-up streams: the same for the same seed, whole users, and jumps where they say so."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.agents.replay.error_measures import area, events, roc
from murmurate.agents.replay.synthetic import probabilities
from murmurate.agents.simulate.synthetic_counts import BINARY, SEVERAL, CountsSource, numbers, stream
from tests.agents.replay.plans import plan
from tests.agents.replay.plans import stream as stream_plan

SIZES = {"users": 5_000, "periods": 300}


@pytest.mark.parametrize("model", [*BINARY, *SEVERAL])
def test_every_period_has_all_users_and_the_seed_decides_the_rest(model: str) -> None:
    d = 2 if model in BINARY else 6
    one, same, other = (stream(model, seed, d=d, **SIZES) for seed in (3, 3, 4))
    assert one.holders.shape == (300, d)
    assert np.all(one.holders.sum(axis=1) == 5_000)
    assert np.all(one.holders >= 0)
    assert one.holders.tobytes() == same.holders.tobytes()
    assert model in ("sin", "log") or one.holders.tobytes() != other.holders.tobytes()


@pytest.mark.parametrize("model", ["step", "jumps", "swaps"])
def test_what_jumps_stands_still_otherwise(model: str) -> None:
    true = stream(model, 0, d=2 if model == "step" else 6, **SIZES)
    moved = np.any(np.diff(true.holders, axis=0) != 0, axis=1)
    assert true.jumped.sum() > 1
    assert np.all(true.jumped[1:][moved])


def test_the_papers_streams_are_those_of_the_replay() -> None:
    for model in ("lns", "sin", "log"):
        p = probabilities(model, 300, 5)
        assert np.array_equal(stream(model, 5, **SIZES).holders[:, 1], np.rint(p * 5_000))


def test_how_much_they_move_can_be_said() -> None:
    calm, wild = (stream("lns", 1, spread=spread, **SIZES).shares[:, 1] for spread in (0.001, 0.016))
    assert np.abs(np.diff(wild)).mean() > 5 * np.abs(np.diff(calm)).mean()
    slow, fast = (stream("sin", 1, pace=pace, **SIZES).shares[:, 1] for pace in (0.01, 0.08))
    assert np.abs(np.diff(fast)).mean() > 5 * np.abs(np.diff(slow)).mean()


def test_users_one_by_one_hold_what_the_counts_say() -> None:
    true = numbers("sin", 1, cells=3, users=500, periods=4)
    of = plan(stream_plan("bit", ("a", "b", "c"), carry_ms=None))
    dealt = list(CountsSource(true.holders, 1, of, "bit").values())
    assert [np.bincount(codes, minlength=3).tolist() for codes in dealt] == true.holders.tolist()
    assert not np.array_equal(dealt[0], np.sort(dealt[0]))


def test_the_curve_of_events_is_that_of_all_thresholds() -> None:
    path = np.array([0.0, 1.0, 0.2, 0.9, 0.5])
    event = events(path)
    assert event.tolist() == [False, True, False, True, False]
    assert area(path, event) == 1
    assert area(-path, event) == 0
    assert area(np.zeros(5), event) == 0.5  # ties tell nothing
    said = np.array([0.3, 0.9, 0.6, 0.5, 0.1])  # one false alarm before the second event
    assert area(said, event) == pytest.approx(5 / 6)
    assert roc(said, event, np.array([0, 1 / 3, 1])).tolist() == pytest.approx([0.5, 1, 1], abs=1e-9)
