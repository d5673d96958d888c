# SPDX-License-Identifier: Apache-2.0
"""Confidence: a chance by the errors alone, or by how far the stream has been from the threshold, too."""

from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pytest

from murmurate.aggregators.monitoring import reading


def test_without_a_course_it_is_the_chance_by_a_normal_error() -> None:
    told = reading(0.25, 0.05, 0.2)
    assert told.above
    assert told.confidence == pytest.approx((1 + erf(1 / sqrt(2))) / 2)
    assert reading(0.15, 0.05, 0.2).confidence == pytest.approx(told.confidence)
    assert not reading(0.15, 0.05, 0.2).above


def test_a_stream_that_has_stood_at_the_threshold_says_little_of_a_side() -> None:
    for mean in (0.2, 0.22, 0.28):  # within two errors of the threshold
        assert reading(0.3, 0.05, 0.2, course=(mean, 0.0)).confidence == 0.5
    moved = [reading(0.3, 0.05, 0.2, course=(0.2, variance)).confidence for variance in (0.0, 0.001, 0.01, 1.0)]
    assert moved == sorted(moved)
    assert moved[-1] == pytest.approx(reading(0.3, 0.05, 0.2).confidence, abs=1e-3)
    assert reading(0.7, 0.05, 0.2, course=(0.7, 0.0)).confidence > 0.999  # as far as ever


def test_no_error_leaves_no_doubt() -> None:
    for course in (None, (0.3, 0.0)):
        assert reading(0.3, 0.0, 0.2, course=course).confidence == 1
        assert reading(0.2, 0.0, 0.2, course=course).confidence == 0.5


def test_it_is_right_as_often_as_it_says_where_the_truth_is_around_the_threshold() -> None:
    """40 000 truths, normal around the threshold by half an error: some 400 are said at 90 % and more, of which .95 are
    right; that fewer than .87 are is chance once in 10^8 times.
    """
    rng = np.random.default_rng(1)
    truth = rng.normal(0.2, 0.025, 40_000)
    estimate = truth + rng.normal(0, 0.05, 40_000)
    right = {True: list[bool](), False: list[bool]()}
    for said, held in zip(estimate.tolist(), truth.tolist(), strict=True):
        for known, found in right.items():
            told = reading(said, 0.05, 0.2, course=(0.2, 0.025**2) if known else None)
            if told.confidence >= 0.9:
                found.append(told.above == (held > 0.2))
    assert np.mean(right[False]) < 0.8
    assert np.mean(right[True]) > 0.87


def test_a_stream_that_is_not_known_to_move_is_rarely_said_to_be_on_one_side() -> None:
    """20 000 truths at a threshold, within a third of an error, of which each has one estimate that hardly moves: some
    1 400 lie two errors and more off it, of which hardly more than half are on that side.
    """
    rng = np.random.default_rng(2)
    truth = rng.normal(0.2, 0.017, 20_000)
    estimate = truth + rng.normal(0, 0.05, 20_000)
    told = [reading(said, 0.05, 0.2, course=(said, 0.02**2)) for said in estimate.tolist()]
    sure = [read.confidence >= 0.95 for read in told]
    assert np.mean(np.abs(estimate - 0.2) > 2 * 0.05) > 0.05
    assert np.mean(sure) < 0.001


def test_a_stream_that_moves_by_more_than_its_error_is_told_by_the_error() -> None:
    plain, known = reading(0.3, 0.05, 0.2), reading(0.3, 0.05, 0.2, course=(0.2, 0.1**2))
    assert known.confidence == pytest.approx(plain.confidence, abs=0.003)
