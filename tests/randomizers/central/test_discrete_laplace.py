# SPDX-License-Identifier: Apache-2.0
"""Discrete Laplace noise: the golden law, the ratio of all neighbours in Fractions, and words into noise."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Key, ParameterError
from murmurate.randomizers.central import DiscreteLaplace, keyed_noise
from murmurate.randomizers.central.discrete_laplace import power_above
from murmurate.randomizers.central.word_table import TOP
from tests.cases import every
from tests.randomizers.central.neighbours import carries, worst_ratio_keeps

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "data" / "trees_golden.json").read_text(encoding="ascii"))
KEY = Key(hashlib.sha256(b"central").digest(), deployment="shop")
DIGEST = hashlib.sha256(b"tree").digest()
LEAST = Fraction(1, 1 << 36)
ONCE = [Fraction(69, 10_000), Fraction(1, 20_000), Fraction(1, 10**9)]
"""Where tables of an earlier law rose at a carry: by e^.654 for e^.0069, or could not be made."""
GAMMAS = [LEAST, *ONCE, Fraction(1, 2100), Fraction(1, 37), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(8)]
GRID = [Fraction(round(2 ** (39 * i / 199) * 1000), 1000) * LEAST for i in range(200)]
"""From 2^-36 to 8, at even steps of a logarithm."""


def none_goes_on(rows: np.ndarray, trial: int) -> np.ndarray:
    raise AssertionError((len(rows), trial))


@every("row", GOLDEN["discrete_laplace"])
def test_the_law_is_the_golden_one(row: dict[str, Any]) -> None:
    noise = DiscreteLaplace(Fraction(row["gamma"]).limit_denominator(10_000))
    found = [noise.chance(0), noise.chance(1), noise.chance(-1), noise.variance]
    np.testing.assert_allclose([float(x) for x in found], [row[k] for k in ("P0", "P1", "P1", "var")], rtol=1e-6)


@every("gamma", GAMMAS)
def test_neighbours_differ_by_at_most_e_to_the_gamma_either_way_at_digits_and_carries(gamma: Fraction) -> None:
    assert worst_ratio_keeps(DiscreteLaplace(gamma), every=97)


@pytest.mark.audit
@pytest.mark.parametrize("part", range(8))
def test_no_neighbours_differ_by_more_on_a_grid_of_two_hundred_gammas(part: int) -> None:
    for gamma in GRID[part::8]:
        assert worst_ratio_keeps(DiscreteLaplace(gamma)), gamma


@every("gamma", [Fraction(1, 37), Fraction(1, 110)])
def test_whole_stretches_of_the_law_keep_the_ratio_too(gamma: Fraction) -> None:
    # All numbers from -2 to 2 blocks: more than the pairs that `carries` says are all there are.
    noise = DiscreteLaplace(gamma)
    reach = 2 * noise._block + 3
    chances = [noise.chance(x) for x in range(-reach, reach)]
    ratios = {one / other for one, other in pairwise(chances)}
    few = {noise.chance(x) / noise.chance(x + 1) for x in carries(noise)}
    few |= {noise.chance(-2 - x) / noise.chance(-1 - x) for x in carries(noise)} | {noise.chance(-1) / noise.chance(0)}
    assert ratios == few


@every("gamma", [g for g in GAMMAS if g > Fraction(1, 100)])
def test_the_law_sums_to_one(gamma: Fraction) -> None:
    noise = DiscreteLaplace(gamma)
    block = noise._block
    assert sum(noise.chance(x) for x in range(-block, block)) + noise.beyond(block + 1) == 1


@every("gamma", [Fraction(1, 37), Fraction(1, 2), Fraction(7, 3), Fraction(8)])
def test_mean_and_variance_are_those_of_the_law(gamma: Fraction) -> None:
    noise = DiscreteLaplace(gamma)
    law = {x: float(noise.chance(x)) for x in range(-int(60 / gamma), int(60 / gamma) + 1)}
    assert float(noise.variance) == pytest.approx(math.fsum(x * x * p for x, p in law.items()), rel=1e-12)
    assert float(noise.mean) == pytest.approx(math.fsum(x * p for x, p in law.items()), abs=1e-14 / float(gamma))
    assert float(noise.variance) == pytest.approx(1 / (math.cosh(gamma) - 1), rel=1e-6)


@every("gamma", GAMMAS)
def test_the_variance_is_the_ideal_one_but_for_what_the_slack_costs(gamma: Fraction) -> None:
    noise = DiscreteLaplace(gamma)
    rate = float(gamma - noise.slack)
    ideal = 1 / (2 * math.sinh(rate / 2) ** 2)
    assert float(noise.variance) == pytest.approx(ideal, rel=1e-9 if gamma < Fraction(1, 100) else 1e-6)
    assert noise.slack < gamma / (10_000 if gamma == LEAST else 500_000)  # docs/TREES.md: of the variance twice that
    assert abs(noise.mean) * gamma < Fraction(1, 1 << 30)


@every("gamma", GAMMAS)
def test_a_chance_is_the_ideal_one_to_the_slack_where_it_matters(gamma: Fraction) -> None:
    noise, a = DiscreteLaplace(gamma), math.exp(-gamma)
    share = -math.expm1(-float(gamma)) / (1 + a)
    for x in (0, 1, 2, 5, int(3 / gamma), int(12 / gamma)):
        for found in (noise.chance(x), noise.chance(-x)):
            wanted = share * math.exp(-float(gamma) * x)
            assert float(found) == pytest.approx(wanted, rel=1e-7 + 20 * float(noise.slack / gamma))


def test_noise_has_no_end() -> None:
    noise = DiscreteLaplace(Fraction(1, 2))
    assert 0 < noise.chance(10**4) < noise.chance(10**4 - 1)
    first = noise._tables[0].pick_one
    on = {s: next(w for w in range(0, TOP, TOP >> 12) if first(w) == s * noise._block - (s < 0)) for s in (1, -1)}
    later = noise._tables[1]
    more = next(w for w in later._last.tolist() if later.pick_one(w) == noise._block)
    for sign, word in on.items():
        trials: list[int] = []

        def further(rows: np.ndarray, trial: int, trials: list[int] = trials) -> np.ndarray:
            trials.append(trial)
            return np.full(len(rows), more if trial < 50 else 0, np.uint64)

        found = int(noise.noise(np.array([[word]], np.uint64), further)[0])
        assert trials == list(range(1, 51))
        assert found * sign >= 50 * noise._block


@every("gamma", [LEAST, Fraction(1, 2100), Fraction(1, 2), Fraction(7, 3)])
def test_rows_of_words_give_the_noise_that_plain_python_gives(gamma: Fraction) -> None:
    noise = DiscreteLaplace(gamma)
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**64, (5000, noise.words), np.uint64)
    words[:4] = [[0] * noise.words, [2**64 - 1] * noise.words, [2**63] * noise.words, [1] * noise.words]
    cells = noise._tables[0]._last  # so that rows go on: a word of every cell's first outcome, and of its second
    ends = np.concatenate([cells, cells[:-1] + np.uint64(1)])
    words[4 : 4 + len(ends), 0] = ends
    more = rng.integers(0, 2**64, (len(words), 40), np.uint64)
    more[::3, 0] = next(w for w in noise._tables[1]._last.tolist() if noise._tables[1].pick_one(w) == noise._block)

    def further(rows: np.ndarray, trial: int) -> np.ndarray:
        return np.asarray(more[rows, trial - 1])

    def one(row: int) -> Iterator[int]:
        return iter(more[row].tolist())

    found = noise.noise(words, further)
    assert found.dtype == np.int64
    assert found.tolist() == [noise.noise_one(words[row].tolist(), one(row)) for row in range(len(words))]
    assert np.count_nonzero(abs(found) > noise._block) >= 2  # of either sign


@every("gamma", [Fraction(1, 2), Fraction(7, 3), Fraction(1, 37)])
def test_noise_follows_its_law(gamma: Fraction) -> None:
    # 200 000 draws; 1e-6 shared among the counts.
    law, n = DiscreteLaplace(gamma), 200_000
    found = keyed_noise(law, KEY, np.arange(n), digest=DIGEST)
    values = range(-60, 61)
    reach = -NormalDist().inv_cdf(1e-6 / (2 * len(values)))
    for x in values:
        p = float(law.chance(x))
        assert abs(np.count_nonzero(found == x) - n * p) < reach * (n * p * (1 - p)) ** 0.5 + reach**2 / 3
    far = float(law.beyond(law._block + 1))  # rows that took a further word
    more = np.count_nonzero((found >= law._block) | (found < -law._block))
    assert abs(more - n * far) < 5 * (n * far) ** 0.5 + 10


@every("gamma", [Fraction(1, 2100), Fraction(1, 10**6), Fraction(1, 10**9)])
def test_the_noise_of_a_small_gamma_has_mean_0_and_the_stated_variance(gamma: Fraction) -> None:
    # 5 standard errors; the kurtosis of the Laplace law is 6.
    law, n = DiscreteLaplace(gamma), 200_000
    found, variance = keyed_noise(law, KEY, np.arange(n), digest=DIGEST).astype(float), float(law.variance)
    assert abs(found.mean()) < 5 * (variance / n) ** 0.5
    assert abs(found.var() / variance - 1) < 5 * (5 / n) ** 0.5


@every("gamma", [Fraction(1, 37), Fraction(1, 2)])
def test_what_lies_beyond_a_number_is_bounded_from_above(gamma: Fraction) -> None:
    law = DiscreteLaplace(gamma)
    before = Fraction(1)
    for size in (1, 2, 13, law._block, law._block + 1, 2 * law._block + 7, 3 * law._block):
        tail = 1 - sum(law.chance(x) for x in range(-size + 1, size))
        found = law.beyond(size)
        assert tail <= found <= before
        before = found
    assert law.beyond(int(50 / gamma)) < math.exp(-39)


LEVELS = (0, 1, 12_345, 1 << 20, 1 << 32, TOP // 3, TOP // 2, TOP - (1 << 40), TOP - 3, TOP - 1)


@every("level", LEVELS)
def test_a_power_far_out_is_bounded_from_above_and_closely(level: int) -> None:
    for times in (0, 1, 2, 3, 7, 64, 65, 500, 2047):
        exact = Fraction(level, TOP) ** times
        assert exact <= power_above(level, times) < exact + Fraction(1, 1 << 900)


@every("level", LEVELS)
def test_powers_too_large_to_be_written_out_fall_with_every_factor(level: int) -> None:
    powers = [power_above(level, (1 << place) + more) for place in range(0, 63, 3) for more in (0, 1)]
    assert all(later <= before for before, later in pairwise(powers))
    assert powers[-1] <= Fraction(1, 1 << 900) or level >= TOP - 3
    assert 1 - Fraction(3, 1 << 32) <= power_above(TOP - 3, 1 << 32) <= 1  # Bernoulli


@every("gamma", [Fraction(1, 10**6), Fraction(1, 2), Fraction(3), Fraction(8), Fraction(13), Fraction(20)])
def test_what_lies_as_far_as_words_reach_is_told_at_once(gamma: Fraction) -> None:
    law = DiscreteLaplace(gamma)
    bounds = [law.beyond(1 << place) for place in range(63)]
    assert all(later <= before for before, later in pairwise(bounds))
    assert bounds[-1] < Fraction(1, 1 << 900)
    for place in range(12):  # the same in fractions
        more = ((1 << place) - 1) // law._block
        either = Fraction(law._first[0][-1] + law._first[1][-1], TOP)
        if more:
            exact = either * Fraction(law._later[-1], TOP) ** (more - 1)
            assert exact <= bounds[place] < exact + Fraction(1, 1 << 900)


@every("gamma", [0, -1, 21, 0.5, True, None, Fraction(1, (1 << 40) + 1)])
def test_a_gamma_that_is_no_fraction_in_range_is_refused(gamma: Any) -> None:
    with pytest.raises(ParameterError, match=r"gamma: found .*; allowed: a whole number or Fraction"):
        DiscreteLaplace(gamma)


@every("bad", [np.zeros((3, 9), np.uint64), np.zeros((3, 2)), np.zeros(2, np.uint64), [[0, 0]]])
def test_words_of_another_shape_are_refused(bad: Any) -> None:
    with pytest.raises(ParameterError, match="noise: words: found"):
        DiscreteLaplace(1).noise(bad, none_goes_on)
