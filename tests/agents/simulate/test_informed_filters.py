# SPDX-License-Identifier: Apache-2.0
"""The linear filters that are told how the truth moves are as good as the best one there is, on the same answers."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.agents.simulate.informed_filters import Floats, squared_errors, summed

PERIODS, LATE, VALUES = 200, 60, 40
"""Every value is one more run of the same truth."""


def answers(true: Floats, seed: int) -> Floats:
    return true + np.random.default_rng(seed).normal(0, 1, true.shape)


def told(seen: Floats, true: Floats, season: int | None = None) -> float:
    """The error of the best of the family; 1 is the noise's own."""
    found = squared_errors(seen + 0.5, true + 0.5, start=0.5, unit=1e-3, season=season)
    assert found.shape[1:] == true.shape
    return float(found[:, LATE:].mean(axis=(1, 2)).min())


def error(said: Floats, true: Floats) -> float:
    return float(((said - true)[LATE:] ** 2).mean())


def kalman(seen: Floats, drift: float) -> Floats:
    level, variance, said = np.zeros(seen.shape[1]), 100.0, np.empty_like(seen)
    for t, now in enumerate(seen):
        variance += drift
        gain = variance / (variance + 1)
        level, variance = level + gain * (now - level), variance * (1 - gain)
        said[t] = level
    return said


@pytest.mark.parametrize("drift", [0.0, 0.001, 0.1, 5.0])
def test_of_a_walk_or_what_stands_the_kalman_filter(drift: float) -> None:
    true = np.cumsum(np.random.default_rng(2).normal(0, np.sqrt(drift), (PERIODS, VALUES)), axis=0)
    seen = answers(true, 3)
    assert 0.9 < told(seen, true) / error(kalman(seen, drift), true) < 1.03


@pytest.mark.parametrize("size", [0.3, 3.0, 50.0])
def test_of_white_noise_the_answer_drawn_to_the_mean(size: float) -> None:
    true = np.random.default_rng(4).normal(0, np.sqrt(size), (PERIODS, VALUES))
    seen = answers(true, 5)
    assert 0.9 < told(seen, true) / error(seen * size / (size + 1), true) < 1.04  # the mean is to be learned


def test_of_a_declared_season_its_profile_and_without_it_much_less() -> None:
    chance, hours = np.random.default_rng(6), np.arange(PERIODS) % 10
    smooth = 3 * np.sin(2 * np.pi * hours[:, None] / 10 + chance.uniform(0, 6, VALUES))
    rough = chance.normal(0, 2, (10, VALUES))[hours]
    seen = answers(rough, 7)
    means = np.array([seen[t % 10 : t + 1 : 10].mean(axis=0) for t in range(PERIODS)])
    assert 0.8 < told(seen, rough, season=10) / error(means, rough) < 1.03
    assert told(answers(smooth, 8), smooth, season=10) < 0.85 * told(seen, rough, season=10)  # three harmonics of ten
    assert told(seen, rough, season=10) < 0.25 * told(seen, rough)


def test_of_a_trend_less_than_any_walk() -> None:
    true = np.outer(np.arange(PERIODS), np.random.default_rng(9).normal(0, 0.5, VALUES))
    seen = answers(true, 10)
    walks = [error(kalman(seen, drift), true) for drift in (0.01, 0.1, 0.3, 1, 3, 10)]
    assert told(seen, true) < 0.3 * min(walks)


def test_frequencies_are_made_to_sum_to_one_unless_they_do() -> None:
    seen = np.array([[0.5, 0.3], [0.6, 0.6]])
    assert summed(seen, sums=False).tolist() == [pytest.approx([0.6, 0.4]), pytest.approx([0.5, 0.5])]
    assert summed(seen, sums=True) is seen
