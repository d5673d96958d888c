# SPDX-License-Identifier: Apache-2.0
"""The filter of very many coordinates: the adaptive one where all have a place, and honest about those that enter."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.filters.joining import JoiningFilter
from murmurate.aggregators.filters.many import ManyCoordinates, ManyFilter, largest
from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.filters.two_groups import shrunk
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import ParameterError

NOBODY = np.zeros(0, np.int64)
RANGE = (-1.0, 1.0)


def measurement(rng: np.random.Generator, truth: np.ndarray, error: float) -> OutsideEstimate:
    return OutsideEstimate(truth + error * rng.standard_normal(len(truth)), np.full(len(truth), error**2), 100)


def test_with_a_place_for_everybody_it_is_the_adaptive_filter_to_the_bit() -> None:
    d, rng = 30, np.random.default_rng(1)
    many, one = ManyFilter(d, ManyCoordinates(d, (RANGE,), (), 5)), AdaptiveFilter(d, ranges=[RANGE] * d)
    for _ in range(6):
        seen = measurement(rng, np.linspace(-0.5, 0.5, d), 0.1)
        for each in (many, one):
            each.learn(seen, Answer(NOBODY, seen.users), None)
        np.testing.assert_array_equal(many.release(), one.release())
        np.testing.assert_array_equal(many.past(), one.past())
        for each in (many, one):
            each.advance()


def test_estimates_of_whoever_has_no_place_are_no_numbers_and_named_ones_always_have_one() -> None:
    d, rng = 2_000, np.random.default_rng(2)
    many = ManyFilter(d, ManyCoordinates(d, (RANGE,), (1_999, 3), 5))
    truth = np.zeros(d)
    truth[[17, 1_000]] = 0.5, -0.6
    for _ in range(20):
        seen = measurement(rng, truth, 0.1)
        many.learn(seen, Answer(NOBODY, seen.users), None)
        estimate, variance = many.release()
        assert np.isfinite(estimate).sum() == np.isfinite(variance).sum() == 258
        assert many.followed[:2].tolist() == [1_999, 3]
        assert len(set(many.followed.tolist())) == 258
        many.advance()
    estimate, _ = many.release()
    assert np.argsort(-np.nan_to_num(np.abs(estimate)))[:2].tolist() == [1_000, 17]


def test_bars_of_what_entered_for_being_large_hold() -> None:
    d, held = 20_000, list[bool]()
    truth = np.zeros(d)
    truth[:30] = 0.6 / np.arange(1, 31)
    many, rng = ManyFilter(d, ManyCoordinates(d, (RANGE,), (), 10)), np.random.default_rng(3)
    for _ in range(25):
        seen = measurement(rng, truth, 0.05)
        many.learn(seen, Answer(NOBODY, seen.users), None)
        estimate, variance = many.release()
        at = largest(np.nan_to_num(np.abs(estimate)), 10)
        held += (np.abs(estimate - truth)[at] <= 2 * np.sqrt(variance[at])).tolist()
        many.advance()
    assert np.mean(held) > 0.85


def test_a_statistic_that_begins_anew_is_known_as_after_a_first_measurement() -> None:
    rng, followed = np.random.default_rng(4), JoiningFilter(8, ranges=[RANGE] * 8)
    for _ in range(5):
        seen = measurement(rng, np.zeros(8), 0.1)
        followed.learn(seen, Answer(NOBODY, seen.users), None)
        followed.advance()
    seen = measurement(rng, np.zeros(8), 0.1)
    followed.learn(seen, Answer(NOBODY, seen.users), None)
    before = followed.release()
    followed.begin_anew(np.array([2]), np.array([0.7]), np.array([0.01]))
    estimate, variance = followed.release()
    assert estimate[2] == pytest.approx(0.7, abs=0.02)
    assert 0.005 < variance[2] < 0.03
    others = np.delete(np.arange(8), 2)
    np.testing.assert_allclose(estimate[others], before[0][others], atol=0.01)


def test_what_is_due_to_chance_is_taken_off_and_what_is_not_stays() -> None:
    rng = np.random.default_rng(5)
    noise, zeros = np.ones(65_536), rng.standard_normal(65_536)
    mean, variance = shrunk(zeros, noise, expected=20, beyond=5.1)
    assert np.abs(zeros).max() > 4
    assert np.abs(mean).max() < 1.5
    assert (variance >= 0.25).all()
    zeros[:100] += 12
    mean, variance = shrunk(zeros, noise, expected=20, beyond=5.1)
    np.testing.assert_allclose(mean[:100], zeros[:100], rtol=0.05)


def test_the_first_of_equal_ones_are_the_largest() -> None:
    assert largest(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), 3).tolist() == [1, 3, 2]
    assert largest(np.array([1.0, 2.0]), 5).tolist() == [1, 0]
    assert largest(np.zeros(4), 0).tolist() == []


def test_statistics_of_another_number_are_refused() -> None:
    with pytest.raises(ParameterError, match="filter: found 9 statistics; allowed: 2 times 5"):
        ManyFilter(9, ManyCoordinates(5, (RANGE, (0.0, 1.0)), (), 2))
