"""Two standard errors, with the own estimate plugged in, cover the truth as often as they should."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from murmurate.randomizers import Key
from murmurate.randomizers.numeric import HM, PM, SR, SW, MeanMechanism, ValueAndPresence
from murmurate.randomizers.randomness import contexts

KEY = Key(hashlib.sha256(b"coverage").digest(), deployment="shop")
RUNS, N = 2000, 500
# 2000 intervals, of which 95.4 % should hold: one standard error is 0.5 %.


@pytest.mark.parametrize("kind", [SR, PM, HM, SW])
def test_intervals_of_a_mean_hold_as_often_as_they_say(kind: type[MeanMechanism]) -> None:
    made = kind(d=257, epsilon=1.0)
    users, cells = contexts(np.arange(N)), np.full(N, 180)
    truth, held = float(made.value(180)), 0
    for run in range(RUNS):
        draw = KEY.draw(users, round=hashlib.sha256(b"%d" % run).digest())
        mean = made.mean(made.support(made.perturb(cells, draw)), N)
        held += abs(mean - truth) <= 2 * float(np.sqrt(made.variance(N, min(1.0, max(-1.0, mean)))))
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
