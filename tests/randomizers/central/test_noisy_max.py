# SPDX-License-Identifier: Apache-2.0
"""Noisy max for a threshold: golden scores, what its noise is drawn from, and how often it chooses what."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Key, ParameterError
from murmurate.randomizers.central import NoisyMax, count_above, noise_slope
from murmurate.randomizers.errors import ValueRefusedError
from tests.cases import every

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "tops_golden.json").read_text())["NM_query"]
KEY = Key(bytes(range(32)), deployment="shop")
FIRST = bytes([1]) * 32


def digest(i: int) -> bytes:
    return i.to_bytes(32, "big")


def test_scores_are_the_golden_ones() -> None:
    m, b = len(GOLDEN["v"]), GOLDEN["B"]
    slope = noise_slope(m, horizon=GOLDEN["r"], epsilon=GOLDEN["eps"], fanout=GOLDEN["b"])
    above = count_above(np.array(GOLDEN["v"]), np.arange(1, b + 1))
    scores = -slope * np.arange(1, b + 1) - above
    assert scores == pytest.approx(GOLDEN["q"], rel=1e-6)
    choice = NoisyMax(range(1, b + 1), slope=slope, gamma=20)  # hardly any noise
    assert (choice.costs == np.rint(slope * np.arange(1, b + 1))).all()
    assert choice.chosen(above, KEY, FIRST) == GOLDEN["argmax_theta"] == 1 + int(np.argmax(scores))


def test_the_slope_of_the_paper_and_its_setting() -> None:
    slope = noise_slope(65536, horizon=1 << 20, epsilon=0.05, fanout=16)
    assert slope == pytest.approx(GOLDEN["slope_m65536_r2p20_eps005"], rel=1e-6)
    assert slope == 3 * 65536 / (60 * (1 << 20) * 0.05) * math.sqrt(2 * 15 * 5**3)
    # One leaf more than a full tree needs one more level.
    more = noise_slope(65536, horizon=(1 << 20) + 1, epsilon=0.05, fanout=16) * ((1 << 20) + 1)
    assert more == pytest.approx(slope * (1 << 20) * math.sqrt(6**3 / 5**3))


def test_values_above_each_candidate_are_counted_and_counts_add_up() -> None:
    rng = np.random.default_rng(0)
    values, candidates = rng.integers(-3, 30, 500), np.array([0, 1, 5, 6, 28])
    above = count_above(values, candidates)
    assert above.tolist() == [int((values > theta).sum()) for theta in candidates]
    assert (count_above(values[:200], candidates) + count_above(values[200:], candidates) == above).all()
    assert count_above(values[:0], candidates).tolist() == [0] * 5


def test_as_good_candidates_are_chosen_as_often_but_for_ties_which_the_smallest_wins() -> None:
    law = NoisyMax([3, 8, 9], slope=0.0, gamma=Fraction(1)).law(np.array([7, 7, 7]), 60)
    assert law[0] > law[1] > law[2]
    assert 1 - sum(law) < Fraction(1, 10**20)
    # With noise of law (1 - a) / (1 + a) a^|k| two candidates tie with chance (1 - a) (1 + a^2) / (1 + a)^3.
    a = math.exp(-1)
    two = NoisyMax([3, 8], slope=0.0, gamma=Fraction(1)).law(np.array([7, 7]), 60)
    assert float(two[0] - two[1]) == pytest.approx((1 - a) * (1 + a * a) / (1 + a) ** 3, rel=1e-9)


def test_choices_follow_the_exact_law() -> None:
    """With 6 000 digests each frequency lies within 5.2 standard errors: a false alarm in 1e-6 (4 frequencies)."""
    choice = NoisyMax([1, 2, 3, 4], slope=0.8, gamma=Fraction(1, 2))
    above = np.array([5, 3, 1, 0])
    n = 6_000
    found = Counter(choice.choose(above, KEY, digest(i)) for i in range(n))
    for j, chance in enumerate(map(float, choice.law(above, 120))):
        assert abs(found[j] - n * chance) <= 5.2 * math.sqrt(n * chance * (1 - chance))


def test_the_same_key_and_digest_choose_alike_and_others_do_not() -> None:
    choice = NoisyMax(range(1, 200), slope=0.01, gamma=Fraction(1, 100))
    above = count_above(np.arange(100) % 37, choice.candidates)
    first = [choice.chosen(above, KEY, digest(i)) for i in range(20)]
    assert first == [choice.chosen(above, KEY, digest(i)) for i in range(20)]
    assert len(set(first)) > 10
    other = Key(bytes(range(1, 33)), deployment="shop")
    assert first != [choice.chosen(above, other, digest(i)) for i in range(20)]


@every(
    ("more", "message"),
    [
        ({"candidates": []}, "candidates: found"),
        ({"candidates": [2, 2]}, "candidates: found some below 0 or in another order"),
        ({"candidates": [-1, 2]}, "candidates: found some below 0"),
        ({"candidates": [0.5]}, "allowed: whole numbers"),
        ({"slope": -1.0}, "slope: found -1.0; allowed: 0 or more"),
        ({"slope": math.nan}, "slope: found nan"),
        ({"slope": 2.0**52}, r"times the last candidate up to 2\^52"),
        ({"gamma": 0}, "gamma: found 0"),
        ({"gamma": 0.5}, "gamma: found 0.5"),
    ],
)
def test_what_is_no_choice_cannot_be_built(more: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"candidates": [1, 2], "slope": 0.5, "gamma": Fraction(1)} | more
    with pytest.raises(ParameterError, match=message):
        NoisyMax(given.pop("candidates"), **given)


@every("above", [[1, 2, 3], [2, 1], [-1, -2, -3], [0.5, 0.2, 0.1], [1 << 60, 0, 0]])
def test_counts_that_are_none_are_refused(above: list[Any]) -> None:
    choice = NoisyMax([1, 2, 3], slope=0.5, gamma=1)
    with pytest.raises(ValueRefusedError, match="above: found"):
        choice.choose(np.array(above), KEY, FIRST)


@every("changed", [{"declared": 0}, {"horizon": 1}, {"epsilon": 0.0}, {"fanout": 1}])
def test_a_slope_of_impossible_sizes_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="noise_slope: found"):
        noise_slope(**({"declared": 100, "horizon": 256, "epsilon": 1.0, "fanout": 16} | changed))
