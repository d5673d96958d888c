# SPDX-License-Identifier: Apache-2.0
"""Whether a threshold is looked for at all: where none could pay, by what the search itself says, and what it costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.clipping import PERIODS
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.methods.asking import oracle
from murmurate.aggregators.methods.method import Answer, Setting
from murmurate.aggregators.methods.threshold import (
    ExpectedAnswers,
    cells_of,
    find,
    first_question,
    grid_of,
    mean_noise,
    wave_of,
)
from murmurate.aggregators.methods.worthwhile import COST, worthwhile
from murmurate.aggregators.wave_readings import Readings
from murmurate.randomizers import Viewed
from tests.measured import sized

TOP, USERS = 65_536, 100_000


def setting(w: int, epsilon: float, *, none: bool) -> Setting:
    return Setting(sized(TOP + 1 + none, "mean", says_none=none), int(epsilon * 1e6), w, 4_000, 1, bytes(32))


def first_of(of: Setting) -> Viewed:
    return first_question(of)[0]


def answered(first: Viewed, amounts: np.ndarray, share: float) -> np.ndarray:
    """The reports that so many users are expected to give. amounts: a distribution over cells."""
    held = share * amounts
    chances = channel_of(wave_of(first)).forward(np.append(held, 1 - share) if first.says_none else held)
    return np.rint(USERS * chances).astype(np.int64)


def usual(w: int, *, averages: bool) -> ExpectedAnswers:
    return ExpectedAnswers(Fraction(1, w), divided=False, periods=PERIODS if averages else 1)


@pytest.mark.parametrize("none", [False, pytest.param(True, marks=pytest.mark.audit)])
@pytest.mark.parametrize(
    ("w", "averages", "looks"), [(20, True, False), (40, True, False), (100, True, True), (4, False, True)]
)
def test_a_threshold_is_looked_for_where_some_amounts_would_have_one(
    w: int, averages: bool, looks: bool, none: bool
) -> None:
    of, answers = setting(w, 1, none=none), usual(w, averages=averages)
    assert worthwhile(of, answers) == looks
    first, rng = first_of(of), np.random.default_rng(3)
    kinds = [np.eye(grid_of(first).cells)[0]]
    kinds += [rng.dirichlet(np.full(grid_of(first).cells, 0.01)) * np.exp(-np.arange(grid_of(first).cells) / 40)]
    clips = []
    for kind in kinds:
        support = answered(first, kind / kind.sum(), 1.0 - 0.4 * none)
        told = find(of, answers, 1, Answer(support, int(support.sum())))
        assert told is not None
        clips.append(told[0].clip)
    assert (min(clips) < TOP) == looks


@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_behind_a_filter_nobodys_answer_says_much_less_of_the_mean_than_a_window_would_have(
    epsilon: float, none: bool
) -> None:
    w = 100
    of, answers = setting(w, epsilon, none=none), usual(w, averages=True)
    first, mechanism = first_of(of), oracle(of, of.epsilon_micro)
    values = 2 * cells_of(grid_of(first))[0] / grid_of(first).clip - 1
    ratios = []
    rng = np.random.default_rng(4)
    for share in (0.01, 0.3, 1.0) if none else (1.0,):
        for amounts in (*np.eye(grid_of(first).cells)[::64], *rng.dirichlet(np.full(grid_of(first).cells, 0.01), 4)):
            held = share * amounts
            likely = np.append(held, 1 - share) if none else held
            readings = Readings.of(wave_of(first), answered(first, amounts, share), likely)
            mean = float(values @ amounts)
            apart = np.append(values - mean, 0) if none else values
            read = float(readings.noise(apart[None])[0]) / share**2 * readings.users
            window = mean_noise(mechanism, 1, share, np.array([mean]), np.array([float(values**2 @ amounts)]))
            ratios.append(np.sqrt(read / float(window[0])))
    assert worthwhile(of, answers) == (max(ratios) <= COST)


def test_under_budget_division_one_answer_with_all_of_epsilon_is_worth_more_than_a_window_of_small_ones() -> None:
    answers = ExpectedAnswers(Fraction(1, 20), divided=True, periods=PERIODS)
    assert all(worthwhile(setting(20, epsilon, none=none), answers) for epsilon in (0.5, 2) for none in (False, True))


def test_who_answers_and_when_moves_nothing() -> None:
    of, answers = setting(20, 1, none=True), usual(20, averages=True)
    other = Setting(**{**vars(of), "slots": 40, "first_t": 9, "seed": b"\1" * 32, "min_batch": 500})
    assert worthwhile(of, answers) is worthwhile(other, answers) is False
