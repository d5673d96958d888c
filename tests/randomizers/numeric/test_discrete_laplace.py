"""Discrete Laplace noise: the golden law, the ratio of neighbours in Fractions, and words into noise."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ParameterError
from murmurate.randomizers.numeric import DiscreteLaplace
from murmurate.randomizers.numeric.discrete_laplace import exp_below
from murmurate.randomizers.randomness import contexts
from tests.cases import every
from tests.randomizers.numeric.instances import GOLDEN, KEY

CARRIES = [Fraction(69, 10_000), Fraction(1, 100)]  # where the lowest levels of a table would rise at a carry
GAMMAS = [Fraction(1, 2100), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(20), Fraction(1, 37), *CARRIES]


def words(n: int, k: int, name: bytes = b"noise") -> np.ndarray:
    return KEY.words("noise", contexts(np.arange(n)), round=hashlib.sha256(name).digest(), k=k)


@every("row", GOLDEN["discrete_laplace"])
def test_the_law_is_the_golden_one(row: dict[str, Any]) -> None:
    noise = DiscreteLaplace(Fraction(row["gamma"]).limit_denominator(10_000))
    found = [noise.chance(0), noise.chance(1), noise.chance(-1), noise.variance]
    np.testing.assert_allclose([float(x) for x in found], [row[k] for k in ("P0", "P1", "P1", "var")], rtol=1e-6)


@every("gamma", GAMMAS)
def test_neighbours_differ_by_at_most_e_to_the_gamma_in_exact_arithmetic(gamma: Fraction) -> None:
    noise = DiscreteLaplace(gamma)
    reach = noise.reach
    near = set(range(-2, 600)) | {256 * k + j for k in range(reach // 256) for j in (-1, 0, 1)}
    near |= set(range(reach - 300, reach))
    most = exp_below(gamma)
    for x in near:
        if -reach <= x < reach:
            one, next_one = noise.chance(x), noise.chance(x + 1)
            assert one <= most * next_one
            assert next_one <= most * one
    assert noise.chance(reach) == noise.chance(-reach) > 0 == noise.chance(reach + 1)


@every("gamma", [*CARRIES, Fraction(1, 37)])
def test_all_neighbours_differ_by_at_most_e_to_the_gamma_either_way_whatever_is_carried(gamma: Fraction) -> None:
    # Every value within reach. In a table that went on to its lowest levels the law rose by e^.66 for e^.0069.
    noise = DiscreteLaplace(gamma)
    most = exp_below(gamma)
    # chances as whole numbers out of a power of 2^64, from 0 to the reach, by the same words as `noise_one` takes
    sizes = [1]
    for levels in reversed(noise._digits):
        sizes = [above * level for above in sizes for level in levels]
    one = (1 << 64) ** len(noise._digits)
    law = [one * ((1 << 64) - 2 * noise._sign), *(size * noise._sign for size in sizes)]
    assert len(law) == noise.reach + 1
    for x in (0, 1, 2, 255, 256, 257, noise.reach):
        assert noise.chance(x) == Fraction(law[x], (1 << 64) ** noise.words)
    top, under = most.numerator, most.denominator
    assert all(under * here <= top * after and under * after <= top * here for here, after in pairwise(law))
    assert noise.reach * gamma > 40  # nats: less than 2^-57 of the law is left out


@every("gamma", [Fraction(1, 1000), Fraction(1, 20_000), Fraction(1, 10**9), Fraction(1, 1 << 40)])
def test_noise_that_would_rise_at_a_carry_cannot_be_made(gamma: Fraction) -> None:
    with pytest.raises(ParameterError, match=r"found 1/\d+, for which no table .* keeps e\^gamma at every carry"):
        DiscreteLaplace(gamma)


@every("gamma", GAMMAS[1:])
def test_the_law_sums_to_one_and_has_the_stated_variance(gamma: Fraction) -> None:
    noise = DiscreteLaplace(gamma)
    law = {x: noise.chance(x) for x in range(-noise.reach, noise.reach + 1)}
    assert sum(law.values()) == 1
    assert sum(x * x * chance for x, chance in law.items()) == noise.variance
    assert float(noise.variance) == pytest.approx(1 / (math.cosh(gamma) - 1), rel=1e-8)


@every("gamma", GAMMAS)
def test_a_chance_is_the_ideal_one_to_nine_digits_where_it_matters(gamma: Fraction) -> None:
    noise, a = DiscreteLaplace(gamma), math.exp(-gamma)
    for x in (0, 1, 2, 5, int(10 / gamma)):
        assert float(noise.chance(x)) == pytest.approx((1 - a) / (1 + a) * a**x, rel=1e-6 if a**x < 1e-6 else 1e-9)


@every("gamma", [Fraction(1, 2100), Fraction(1, 2), Fraction(7, 3)])
def test_rows_of_words_give_the_noise_that_plain_python_gives(gamma: Fraction) -> None:
    noise = DiscreteLaplace(gamma)
    some = words(500, noise.words)
    some[:4] = [[0] * noise.words, [2**64 - 1] * noise.words, [2**63] * noise.words, [1] * noise.words]
    found = noise.noise(some)
    assert found.dtype == np.int64
    assert found.tolist() == [noise.noise_one([int(word) for word in row]) for row in some]
    assert found[:2].tolist() == [-1, noise.reach]


@every("gamma", [Fraction(1, 2), Fraction(7, 3), Fraction(1, 37)])
def test_noise_follows_its_law(gamma: Fraction) -> None:
    # 200 000 draws; 1e-6 shared among the counts.
    noise, n = DiscreteLaplace(gamma), 200_000
    found = noise.noise(words(n, noise.words))
    values = range(-60, 61)
    reach = -NormalDist().inv_cdf(1e-6 / (2 * len(values)))
    for x in values:
        p = float(noise.chance(x))
        assert abs(np.count_nonzero(found == x) - n * p) < reach * (n * p * (1 - p)) ** 0.5 + reach**2 / 3


def test_the_noise_of_a_small_gamma_has_mean_0_and_the_stated_variance() -> None:
    # 5 standard errors; the kurtosis of the Laplace law is 6.
    noise, n = DiscreteLaplace(Fraction(1, 2100)), 200_000
    found, variance = noise.noise(words(n, noise.words)).astype(float), float(noise.variance)
    assert abs(found.mean()) < 5 * (variance / n) ** 0.5
    assert abs(found.var() / variance - 1) < 5 * (5 / n) ** 0.5


@every("gamma", [0, -1, 21, 0.5, True, None, Fraction(1, 1 << 41)])
def test_a_gamma_that_is_no_fraction_in_range_is_refused(gamma: Any) -> None:
    with pytest.raises(ParameterError, match=r"gamma: found .*; allowed: a whole number or Fraction"):
        DiscreteLaplace(gamma)


@every("bad", [np.zeros((3, 9), np.uint64), np.zeros((3, 2)), np.zeros(2, np.uint64), [[0, 0]]])
def test_words_of_another_shape_are_refused(bad: Any) -> None:
    with pytest.raises(ParameterError, match="noise: words: found"):
        DiscreteLaplace(1).noise(bad)
