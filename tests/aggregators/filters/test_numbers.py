# SPDX-License-Identifier: Apache-2.0
"""Means as well as frequencies: the filter over mechanisms for numbers, with real reports of made-up users."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import HM, Key, Mechanism, ValueAndPresence

PERIODS, ASKED, USERS = 60, 2_000, 40_000
KEY = Key(hashlib.sha256(b"the filter over numbers").digest(), deployment="test")


def cells(mechanism: Mechanism, mean: float, holders: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Values of a sample of users: normal around a mean, some of them silent where the mechanism has a none."""
    points = mechanism.d - 1 if mechanism.says_none else mechanism.d
    values = np.clip(rng.normal(mean, 0.2, ASKED), -1, 1)
    codes = np.rint((values + 1) / 2 * (points - 1)).astype(np.int64)
    return np.where(rng.random(ASKED) < holders, codes, mechanism.d - 1) if mechanism.says_none else codes


def answer(mechanism: Mechanism, codes: NDArray[np.int64], t: int, rng: np.random.Generator) -> Answer:
    """All reports of a round."""
    users = rng.integers(0, 256, (len(codes), 16), np.uint8)
    draw = KEY.draw(users, round=hashlib.sha256(t.to_bytes(4, "big")).digest())
    return Answer(mechanism.support(mechanism.perturb(codes, draw)), len(codes))


@pytest.mark.parametrize("mechanism", [HM(epsilon=1.0), ValueAndPresence(epsilon=1.0)], ids=lambda m: m.name)
def test_numbers_are_followed_with_error_bars_that_hold(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(1)
    ranges = [(-1.0, 1.0)] if mechanism.statistics == 1 else [(0.0, 1.0), (-1.0, 1.0)]
    filter_ = AdaptiveFilter(mechanism.statistics, ranges=ranges)
    error, raw, variances = list[NDArray[np.float64]](), list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    for t in range(PERIODS):
        mean, holders = 0.3 * np.sin(t / 40), 0.6 if t < 30 else 0.9
        heard = answer(mechanism, cells(mechanism, mean, holders, rng), t, rng)
        truth = np.array([mean]) if mechanism.statistics == 1 else np.array([holders, holders * mean])
        filter_.learn(mechanism, heard, users=USERS)
        estimate, variance = filter_.release()
        error.append(estimate - truth)
        raw.append(mechanism.profile(heard.support, heard.counted)[: mechanism.statistics] - truth)
        variances.append(variance)
        filter_.advance()
    squares = np.array(error) ** 2
    assert np.all(squares[10:].mean(axis=0) < 0.5 * (np.array(raw)[10:] ** 2).mean(axis=0))
    assert np.all((squares <= 4 * np.array(variances)).mean(axis=0) >= 0.85)


def test_another_unit_of_the_range_is_another_prior_and_soon_no_other_estimate() -> None:
    mechanism, rng = HM(epsilon=1.0), np.random.default_rng(2)
    narrow, wide = AdaptiveFilter(1, ranges=[(-1, 1)]), AdaptiveFilter(1, ranges=[(-4, 4)])
    for t in range(20):
        heard = answer(mechanism, cells(mechanism, 0.4, 1.0, rng), t, rng)
        narrow.learn(mechanism, heard, users=USERS)
        wide.learn(mechanism, heard, users=USERS)
        narrow.advance()
        wide.advance()
    (one, spread), (other, _) = narrow.release(), wide.release()
    assert abs(one[0] - other[0]) < np.sqrt(spread[0]) / 2
