# SPDX-License-Identifier: Apache-2.0
"""Bars and errors on streams of kinds that need a model of their own: what fluctuates, moves fast, returns or stands.

Truths are fluctuations, a fast walk and a day; reports err by a normal noise of known variance (`Even`), so that a run
is a hundredth of a real one.  Seeds are fixed: bounds lie between what the filter gives and what it gave without these
models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.filters.calibration import EstimateHistory, Misses
from murmurate.aggregators.filters.models import Floats, Models
from murmurate.aggregators.filters.pairs import Pairs
from murmurate.aggregators.filters.seasons import Seasons
from murmurate.aggregators.filters.tracks import Tracks
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import ParameterError, SnapshotError

NOISE = 1e-4
"""The variance of an answer."""
SETTLED = 60


@dataclass(frozen=True)
class Told:
    """Reports that say numbers: what is counted stands for them in millionths."""

    statistics: int

    def summing(self) -> NDArray[np.bool_]:
        return np.zeros(self.statistics, np.bool_)

    def profile(self, support: NDArray[np.int64], n: int) -> Floats:
        return np.asarray(support / 1e6)

    def plausible(self, profile: Floats) -> Floats:
        return profile

    def noise(self, profile: Floats) -> Floats:
        return np.full_like(profile, NOISE * 1_000)

    def drawn(self, profile: Floats) -> Floats:
        return np.zeros_like(profile)

    def sampling(self, profile: Floats) -> Floats:
        return np.zeros_like(profile)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        return np.zeros_like(profile)


def followed(truth: Floats, seed: int, **options: Any) -> tuple[Floats, Floats]:
    """Errors and their variances, of numbers between -1 and 1: float64[periods, statistics]."""
    periods, d = truth.shape
    filter_ = AdaptiveFilter(d, ranges=[(-1, 1)] * d, **options)
    seen = truth + np.random.default_rng([seed, 1]).normal(0, NOISE**0.5, truth.shape)
    errors, variances = np.empty_like(truth), np.empty_like(truth)
    for t in range(periods):
        filter_.learn(Told(d), Answer(np.rint(seen[t] * 1e6).astype(np.int64), 1_000), users=None)
        estimate, variances[t] = filter_.release()
        errors[t] = estimate - truth[t]
        filter_.advance()
    return errors[SETTLED:], variances[SETTLED:]


def covered(errors: Floats, variances: Floats) -> float:
    return float((errors**2 <= 4 * variances).mean())


@pytest.mark.parametrize(("kept", "size"), [(0.0, 0.3), (0.0, 1.0), (0.0, 10.0), (0.8, 1.0)])
def test_bars_hold_where_the_truth_fluctuates_around_a_level(kept: float, size: float) -> None:
    rng = np.random.default_rng(1)
    truth, now = np.empty((300, 8)), np.zeros(8)
    for t in range(300):
        now = kept * now + rng.normal(0, ((1 - kept**2) * size * NOISE) ** 0.5, 8)
        truth[t] = 0.2 + now
    errors, variances = followed(truth, 1)
    assert covered(errors, variances) > 0.88
    best = size / (1 + size)  # of white noise: what any filter leaves at least
    assert (errors**2).mean() / NOISE < 1.2 * (best if kept == 0 else 0.75 * best)


def test_a_truth_that_moves_faster_than_the_noise_is_no_worse_than_unfiltered() -> None:
    truth = np.cumsum(np.random.default_rng(2).normal(0, (5 * NOISE) ** 0.5, (300, 8)), axis=0)
    errors, variances = followed(truth, 2)
    assert (errors**2).mean() < 1.02 * NOISE
    assert covered(errors, variances) > 0.92


def test_a_season_that_is_declared_is_learned_and_bars_hold() -> None:
    rng = np.random.default_rng(3)
    day = rng.normal(0, 0.05, (24, 4))  # hours that have nothing to do with each other
    truth = 0.2 + day[np.arange(300) % 24] + np.cumsum(rng.normal(0, 0.0005, (300, 4)), axis=0)
    known, variances = followed(truth, 3, season=24)
    unknown, _ = followed(truth, 3)
    assert (known**2).mean() < 0.4 * (unknown**2).mean()
    assert covered(known, variances) > 0.92


def test_a_smooth_day_is_learned_from_few_of_them() -> None:
    """Two waves a day: four numbers to learn, which reports of all hours tell."""
    turn = 2 * np.pi * np.arange(200)[:, None] / 24
    truth = 0.2 + 0.03 * np.sin(turn + np.arange(4)) + 0.015 * np.sin(2 * turn + 3 * np.arange(4))
    errors, variances = followed(truth, 5, season=24)
    assert (errors**2).mean() / NOISE < 0.1  # .13 where a day is supposed to be as sharp as a few hours
    assert covered(errors, variances) > 0.92


def test_a_season_that_is_not_there_costs_little() -> None:
    truth = 0.2 + np.cumsum(np.random.default_rng(4).normal(0, 0.001, (300, 4)), axis=0)
    known, variances = followed(truth, 4, season=24)
    unknown, _ = followed(truth, 4)
    assert (known**2).mean() < 1.1 * (unknown**2).mean()
    assert covered(known, variances) > 0.92


def test_misses_beyond_what_was_said_widen_the_bars_by_what_the_gain_leaves() -> None:
    rng = np.random.default_rng(5)
    misses, d = Misses(50, 1.0, sure=1.0), 50
    foretold, noise, none = np.full(d, 0.5), np.ones(d), np.zeros(d)
    for _ in range(400):
        misses.learn(rng.normal(0, 1.5**0.5, d), foretold, noise, none)
    assert misses.unsaid.max() < 0.1  # as it was said
    for _ in range(400):
        misses.learn(rng.normal(0, 3**0.5, d), foretold, noise, none)
    left = 1.5 * (1 / 1.5) ** 2  # 1.5 of variance that was not said; a gain of 1/3 leaves two thirds of an error
    assert misses.unsaid.mean() == pytest.approx(left, rel=0.25)
    before = misses.unsaid.copy()
    misses.learn(np.full(d, 100.0), foretold, noise, np.ones(d))  # all have jumped: no miss
    assert np.all(misses.unsaid <= before)


def test_the_course_is_mean_and_variance_of_what_was_said() -> None:
    course, said = EstimateHistory(2), np.random.default_rng(6).normal([0.1, 0.3], [0.01, 0.1], (500, 2))
    error = np.full(2, 0.05)  # the same all the time, so that it explains nothing
    for estimate in said[:-1]:
        course.learn(estimate, error)
    mean, variance = course.seen(said[-1])
    weights = 0.98 ** np.arange(500)[::-1]
    assert mean == pytest.approx(np.average(said, axis=0, weights=weights))
    assert variance == pytest.approx(np.average((said - mean) ** 2, axis=0, weights=weights))


def test_an_estimate_that_becomes_more_exact_does_not_count_as_one_that_moves() -> None:
    """Means of ever more reports of a truth that stands: they end within their errors of where they were."""
    course, reports = EstimateHistory(500), np.random.default_rng(8).normal(0.2, 1, (40, 500))
    for t in range(1, 40):
        course.learn(reports[:t].mean(axis=0), np.full(500, 1 / t))
    _, variance = course.seen(reports.mean(axis=0))
    assert variance.mean() < 0.02  # .046 without a look at the errors, of which 1 / 40 is left


def test_of_many_statistics_that_err_as_said_none_is_taken_for_one_that_misses() -> None:
    rng, d = np.random.default_rng(9), 200
    misses, foretold, noise, none = Misses(d, 1.0, sure=0.6), np.full(d, 0.5), np.ones(d), np.zeros(d)
    for _ in range(300):
        misses.learn(rng.normal(0, 1.5**0.5, d), foretold, noise, none)
    assert misses.unsaid.mean() < 0.005  # of a variance of .5; .009 where each counts by itself as much as ever
    odd = np.where(np.arange(d) < 10, 3**0.5, 1.0)  # and those that do are found
    for _ in range(300):
        misses.learn(rng.normal(0, 1.5**0.5, d) * odd, foretold, noise, none)
    assert misses.unsaid[:10].min() > 0.3
    assert misses.unsaid[10:].mean() < 0.02


def test_a_step_of_a_fluctuation_is_the_textbooks() -> None:
    models = Models(levels=(), trends=(), fluctuations=((0.8, 0.5), (0.0, 2.0)), odds=(1.0, 1.0), stay=1.0)
    tracks, d, unit = Tracks.at(models, np.full(1, 0.2), np.full(1, 0.1), np.full(1, 1e9)), 1, 0.01
    units = np.array([[7.0], [unit]])  # that of drifts has nothing to do with it
    tracks.begin(units)
    pairs = Pairs.of(models)
    states = [(np.array([0.2, 0.0]), np.array([[0.1 + v, v], [v, v]])) for v in (0.005, 0.02)]
    for miss in (0.3, -0.1, 0.25):
        tracks.observe(np.full(d, miss), np.full(d, 0.03), np.full(d, 0.03))
        weights = np.array([[0.5], [0.5], [1e-30], [1e-30]])  # nothing jumps
        tracks.predict(weights, models.shares, units, np.full(d, 0.1), (np.zeros(d), np.ones(d)))
        for row, (x, p) in enumerate(states):
            gain = p[:, 0] / (p[0, 0] + 0.03)
            x, p = x + gain * (miss - x[0]), p - np.outer(gain, p[0])
            left, noise = float(pairs.left[row, 0]), float(pairs.noise[row, 0]) * 0.01
            step = np.array([[1, left - 1], [0, left]])
            states[row] = x, p = step @ x, step @ p @ step.T + noise
            assert (tracks.level[row, 0], tracks.velocity[row, 0]) == pytest.approx(tuple(x))
            said = tracks.variance[row, 0], tracks.cross[row, 0], tracks.velocity_variance[row, 0]
            assert said == pytest.approx((p[0, 0], p[0, 1], p[1, 1]))


def test_a_step_of_a_season_is_the_textbooks() -> None:
    models = Models().with_season()
    seasons, unit = Seasons(models, 6, np.zeros(1)), np.full(1, 0.01)
    seasons.begin(9.0)
    x, p = np.zeros(7), seasons.covariance[1] * 0.01
    around, walk = models.seasonal[1][3] * 0.01, models.seasonal[1][4] * 0.01
    drift = seasons._step[1] * 0.01
    assert drift[0, 0] == pytest.approx(walk)
    for t in range(9):
        row = np.zeros(7)
        row[[0, 1 + t % 6]] = 1
        level, variance = seasons.ahead(unit)
        assert level[1, 0] == pytest.approx(row @ x, abs=1e-12)
        assert variance[1, 0] == pytest.approx(row @ p @ row + around)
        seen = 0.1 * t
        seasons.observe(np.full(1, seen), 2.0)
        gain = p @ row / (row @ p @ row + around + 0.02)
        x, p = x + gain * (seen - row @ x), p - np.outer(gain, row @ p)
        seasons.advance()
        p = p + drift


def test_a_season_belongs_to_the_setting_and_its_state_goes_on() -> None:
    one, other = (AdaptiveFilter(3, season=4) for _ in range(2))
    with pytest.raises(SnapshotError, match="another setting"):
        AdaptiveFilter(3).load(one.facts(), one.arrays())
    with pytest.raises(ParameterError, match="season: found 1; allowed: a whole number of periods from 2"):
        AdaptiveFilter(3, season=1)
    rng = np.random.default_rng(7)
    for turn in range(30):
        answer = Answer(rng.integers(0, 300_000, 3), 1_000)
        one.learn(Told(3), answer, users=None)
        other.learn(Told(3), answer, users=None)
        one.advance(1 + turn % 3)
        other.advance(1 + turn % 3)
        again = AdaptiveFilter(3, season=4)
        again.load(other.facts(), {name: array.copy() for name, array in other.arrays().items()})
        other = again
        for mine, its in zip((*one.release(), *one.past()), (*other.release(), *other.past()), strict=True):
            assert mine.tobytes() == its.tobytes()
