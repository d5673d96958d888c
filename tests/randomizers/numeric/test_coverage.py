# SPDX-License-Identifier: Apache-2.0
"""Two standard errors, with the own estimate plugged in, cover the truth as often as they should."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from murmurate.randomizers import Key
from murmurate.randomizers.numeric import HM, PM, SR, SW, MeanMechanism, ValueAndPresence, WaveHistogram
from murmurate.randomizers.randomness import contexts
from tests.randomizers.numeric.instances import WAVES

KEY = Key(hashlib.sha256(b"coverage").digest(), deployment="shop")
RUNS, N = 1000, 500
# 1000 intervals, of which 95.4 % should hold: one standard error is 0.7 %.


@pytest.mark.parametrize("kind", [*(pytest.param(kind, marks=pytest.mark.audit) for kind in (SR, PM)), HM, SW])
def test_intervals_of_a_mean_hold_as_often_as_they_say(kind: type[MeanMechanism | SW]) -> None:
    made = kind(d=257, epsilon=1.0)
    users, cells = contexts(np.arange(N)), np.full(N, 180)
    truth, held = float(made.value(180)), 0
    for run in range(RUNS):
        draw = KEY.draw(users, round=hashlib.sha256(b"%d" % run).digest())
        mean = made.mean(made.support(made.perturb(cells, draw)), N)
        near = min(1.0, max(-1.0, mean))
        variance = made.mean_variance(N, near**2) if isinstance(made, SW) else float(made.variance(N, near))
        held += abs(mean - truth) <= 2 * variance**0.5
    assert 0.93 < held / RUNS < 0.97


def test_intervals_of_the_share_of_holders_hold_as_often_as_they_say() -> None:
    made = ValueAndPresence(d=258, epsilon=1.0)
    users, cells = contexts(np.arange(N)), np.where(np.arange(N) % 5 < 2, 180, 257)  # two in five hold a value
    held = 0
    for run in range(RUNS):
        draw = KEY.draw(users, round=hashlib.sha256(b"%d" % run).digest())
        share = float(made.estimate(made.support(made.perturb(cells, draw)), N)[0])
        held += abs(share - 0.4) <= 2 * float(np.sqrt(made.variance(N, min(1.0, max(0.0, share)))))
    assert 0.93 < held / RUNS < 0.97


@pytest.mark.parametrize("kind", [*(pytest.param(kind, marks=pytest.mark.audit) for kind in (SR, HM)), PM])
def test_intervals_of_a_mean_from_its_whole_profile_hold_as_often_as_they_say(kind: type[MeanMechanism]) -> None:
    # Values that differ, and all of them asked: the mechanism alone is what they do not know.
    made = kind(d=257, epsilon=1.0)
    users, cells = contexts(np.arange(N)), np.arange(N) % 200 + 57
    truth, held = float(np.mean([float(made.value(int(cell))) for cell in cells])), 0
    for run in range(RUNS):
        draw = KEY.draw(users, round=hashlib.sha256(b"%d" % run).digest())
        profile = made.profile(made.support(made.perturb(cells, draw)), N)
        held += abs(profile[0] - truth) <= 2 * float(np.sqrt(made.noise(made.plausible(profile))[0] / N))
    assert 0.93 < held / RUNS < 0.97


@pytest.mark.parametrize("kind", WAVES)
def test_intervals_of_frequencies_hold_as_often_as_they_say(kind: type[WaveHistogram]) -> None:
    # 200 runs of 4000 users, 17 values: 3400 intervals, of which one standard error is 0.4 %.
    made, runs, n = kind(d=17, epsilon=1.0), 200, 4000
    cells = np.minimum(np.arange(n) % 40, 16)
    users, truth, held = contexts(np.arange(n)), np.bincount(cells, minlength=17) / n, 0
    for run in range(runs):
        draw = KEY.draw(users, round=hashlib.sha256(b"%d" % run).digest())
        raw = made.profile(made.support(made.perturb(cells, draw)), n)
        held += int((np.abs(raw - truth) <= 2 * np.sqrt(made.noise(made.plausible(raw)) / n)).sum())
    assert 0.93 < held / (runs * 17) < 0.97


def test_intervals_of_the_mean_of_holders_of_a_sample_hold_as_often_as_they_say() -> None:
    # 500 of 2000 users are asked, in every run others; three in five hold a value.
    made, users = ValueAndPresence(d=258, epsilon=2.0), 2000
    cells = np.where(np.arange(users) % 5 < 3, np.arange(users) * 7 % 257, 257)
    values = np.array([float(value) for cell in cells if (value := made.value(int(cell))) is not None])
    rng, held = np.random.default_rng(7), 0
    for run in range(RUNS):
        asked = np.sort(rng.choice(users, N, replace=False))
        draw = KEY.draw(contexts(asked), round=hashlib.sha256(b"%d" % run).digest())
        profile = made.profile(made.support(made.perturb(cells[asked], draw)), N)
        held += abs(profile[1] / profile[0] - values.mean()) <= 2 * made.mean_error(profile, N, users)
    assert 0.93 < held / RUNS < 0.97
