# SPDX-License-Identifier: Apache-2.0
"""Power's sums over all counts against the sums themselves, and its prior against the mean it is fitted to."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from murmurate.aggregators.postprocess.context import Context
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.aggregators.postprocess.power import fit, posterior_mean, power, power_ns

Counts = NDArray[np.float64]


def by_hand(counts: Counts, n: int, exponent: float, deviation: float) -> Counts:
    x = np.arange(1.0, n + 1)
    log = -exponent * np.log(x) - ((counts[:, None] - x) / deviation) ** 2 / 2
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray((weight * x).sum(axis=1) / weight.sum(axis=1))


@settings(max_examples=60, deadline=None)
@given(
    n=st.sampled_from([1, 2, 3, 12, 33, 64, 100, 1000, 4999]),
    size=st.floats(0, 1),
    exponent=st.floats(0, 5),
    where=st.lists(st.floats(-6, 6), min_size=1, max_size=4),
)
def test_a_posterior_mean_is_the_sum_over_all_counts(n: int, size: float, exponent: float, where: list[float]) -> None:
    deviation = math.exp(-2 + size * (math.log(n + 1) + 2))
    counts = np.array([n * (w + 6) / 12 + w * deviation for w in where])
    found = posterior_mean(counts, n=n, exponent=exponent, deviation=deviation)
    np.testing.assert_allclose(found, by_hand(counts, n, exponent, deviation), rtol=1e-11)


def test_so_it_is_for_a_million_users() -> None:
    counts = np.array([-9000.0, -2000.0, 0.0, 1500.0, 2500.0, 390_000.0, 1_000_000.0, 1_004_000.0])
    found = posterior_mean(counts, n=1_000_000, exponent=1.478, deviation=1921.37)
    np.testing.assert_allclose(found, by_hand(counts, 1_000_000, 1.478, 1921.37), rtol=1e-11)


@pytest.mark.parametrize(("n", "mean"), [(2, 1.25), (100, 3.5), (1000, 400.0), (1_000_000, 976.5625), (50, 1.0001)])
def test_the_prior_has_the_mean_it_is_fitted_to(n: int, mean: float) -> None:
    x, exponent = np.arange(1.0, n + 1), fit(mean, n)
    weight = x**-exponent
    assert (weight * x).sum() / weight.sum() == pytest.approx(mean, rel=1e-9)


def test_where_no_prior_has_the_mean_its_exponent_is_fixed() -> None:
    assert fit(0.5, 1000) == fit(-20.0, 1000) == 1.01
    assert fit(500.5, 1000) == fit(2000.0, 1000) == 0.0


def test_frequent_values_hardly_move_and_noise_nearly_goes() -> None:
    n, d = 1_000_000, 1024
    context = Context(p=0.5, q=1 / (math.e + 1), n=n, d=d)
    truth = np.where(np.arange(d) < 4, 0.25, 0.0)
    estimate = truth + np.random.default_rng(2).normal(0, context.deviation, d)
    found = power(estimate, context)
    assert np.abs(found - estimate)[:4].max() < 0.001 * 0.25
    assert np.sqrt(np.mean(found[4:] ** 2)) < 0.2 * context.deviation
    assert found.min() >= 1 / n
    assert found.max() <= 1


def test_power_ns_is_norm_sub_of_power() -> None:
    estimate = np.array([0.5, 0.3, 0.25, 0.1, -0.05, -0.02])
    context = Context(p=0.5, q=0.25, n=2000, d=6)
    assert power_ns(estimate, context).tolist() == norm_sub(power(estimate, context)).tolist()


def test_more_values_than_fit_a_chunk_get_what_each_would_get_alone() -> None:
    counts = np.linspace(-400.0, 5400.0, 1100)
    found = posterior_mean(counts, n=5000, exponent=1.3, deviation=90.0)
    picked = slice(0, 1100, 137)
    alone = [posterior_mean(counts[i : i + 1], n=5000, exponent=1.3, deviation=90.0)[0] for i in range(1100)[picked]]
    np.testing.assert_allclose(found[picked], alone, rtol=1e-13)
    assert np.all(np.diff(found) > 0)
