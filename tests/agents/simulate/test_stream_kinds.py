# SPDX-License-Identifier: Apache-2.0
"""Streams of many kinds: whole users in every period, the same for the same seed, and each moves as it says."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.agents.simulate.stream_kinds import DAY, KINDS, holders
from murmurate.agents.simulate.synthetic_counts import Floats

USERS = 100_000


def shares(kind: str, seed: int = 0, d: int = 2, periods: int = 480) -> Floats:
    return np.asarray(holders(kind, seed, d=d, users=USERS, periods=periods) / USERS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 7])
def test_every_period_has_all_users_and_the_seed_decides_the_rest(kind: str, d: int) -> None:
    one, same, other = (holders(kind, seed, d=d, users=2_000, periods=150) for seed in (3, 3, 4))
    assert one.shape == (150, d)
    assert np.all(one.sum(axis=1) == 2_000)
    assert np.all(one >= 0)
    assert one.tobytes() == same.tobytes()
    assert (kind, d) == ("still", 2) or one.tobytes() != other.tobytes()


def test_people_drawn_anew_differ_by_how_few_they_are() -> None:
    assert shares("people-4000")[:, 1].std() == pytest.approx(np.sqrt(0.12 * 0.88 / 4_000), rel=0.15)
    assert shares("people-1000")[:, 1].std() == pytest.approx(np.sqrt(0.12 * 0.88 / 1_000), rel=0.15)


def test_of_white_noise_nothing_is_left_and_of_a_wavering_value_four_fifths() -> None:
    def kept(kind: str) -> float:
        path = shares(kind, periods=2_000)[:, 1]
        return float(np.corrcoef(path[:-1], path[1:])[0, 1])

    assert abs(kept("white")) < 0.1
    assert kept("wavering") == pytest.approx(0.8, abs=0.06)


def test_days_are_alike_and_hours_are_not() -> None:
    for kind in ("daily", "timetable"):
        path = shares(kind)[:, 1]
        apart = path[DAY:] - path[:-DAY], path[DAY // 2 :] - path[: -DAY // 2]
        assert (apart[0] ** 2).mean() < 0.3 * (apart[1] ** 2).mean()


def test_still_values_stand_and_levels_come_back() -> None:
    assert len(np.unique(shares("still"))) == 2
    assert len(np.unique(shares("levels", periods=2_000)[:, 1])) == 3


def test_wild_periods_move_more_than_quiet_ones_and_heavy_tails_more_than_either() -> None:
    def moves(kind: str) -> Floats:
        logits = np.log(shares(kind, periods=2_000)[:, 1])
        return np.sort(np.abs(np.diff(logits)))

    assert moves("volatility")[1_800] > 8 * moves("volatility")[600]
    assert moves("heavy")[-5] > 10 * np.median(moves("heavy"))


def test_of_a_long_tail_most_values_are_near_zero() -> None:
    assert (shares("rare", d=64).mean(axis=0) < 1 / 64).sum() > 50
    assert shares("rare")[:, 0].mean() < 0.005 or shares("rare")[:, 1].mean() < 0.005
