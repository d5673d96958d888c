# SPDX-License-Identifier: Apache-2.0
"""Closed forms of errors: those of the spec, and the steady state that the scaling of the filter is."""

import numpy as np
import pytest

from murmurate.aggregators.expected import (
    filtered_error,
    heard_error,
    moved,
    uniform_error,
    usual_mechanism,
    usual_users,
)
from murmurate.aggregators.filters.observed import Observed, Tail
from murmurate.aggregators.methods.method import Answer, Setting
from murmurate.aggregators.methods.registry import METHODS
from murmurate.randomizers import GRR, OLH, OUE, PM, ValueAndPresence
from tests.measured import sized

N = 200_000


def setting(*, w: int, d: int = 2, epsilon: float = 1.0, slots: int = 4_000, mechanism: str = "auto") -> Setting:
    return Setting(
        sized(d), epsilon_micro=round(epsilon * 1e6), w=w, slots=slots, first_t=1, seed=bytes(32), mechanism=mechanism
    )


@pytest.mark.parametrize(
    ("epsilon", "w", "d", "lbu", "lpu"),
    [
        (1, 20, 2, 0.001999583, 9.206736e-05),
        (1, 50, 2, 0.01249958, 0.0002301684),
        (2, 20, 77, 0.001998399, 7.370487e-05),
    ],
)
def test_lbu_and_lpu_have_the_errors_of_the_spec(epsilon: float, w: int, d: int, lbu: float, lpu: float) -> None:
    mechanism = "grr" if d == 2 else "oue"
    known = setting(w=w, d=d, epsilon=epsilon, mechanism=mechanism)
    point = np.eye(d)[0]  # everybody holds one value, so that nothing is sampled
    for method, spec in (("lbu", lbu), ("lpu", lpu)):
        error = uniform_error(method, usual_mechanism(method, known), known, N, point)
        assert error == pytest.approx(spec, rel=1e-6)


def test_a_sample_of_users_adds_its_own_error_and_everybody_adds_none() -> None:
    oracle, even, error = GRR(d=2, epsilon=1.0), np.full(2, 0.5), sized(2).round_error
    sampling = 0.25 / 10_000 * (N - 10_000) / (N - 1)
    assert error(oracle, 10_000, N, even) - error(oracle, 10_000, None, even) == pytest.approx(sampling)
    assert error(oracle, N, N, even) == error(oracle, N, None, even)


def test_groups_of_unequal_size_cost_more_than_equal_ones() -> None:
    oracle, even = GRR(d=2, epsilon=1.0), np.full(2, 0.5)
    whole, uneven = (uniform_error("lpu", oracle, setting(w=3, slots=slots), N, even) for slots in (6, 7))
    assert whole == pytest.approx(sized(2).round_error(oracle, N / 3, N, even))
    assert uneven > whole


def test_a_pool_of_seeds_counts_as_error_and_a_mean_of_holders_has_the_error_of_a_ratio() -> None:
    skewed, error = np.array([0.9] + [0.1 / 99] * 99), sized(100).round_error
    pooled, fresh = (error(OLH(d=100, epsilon=1.0, pool=pool), N, None, skewed) for pool in (16, 0))
    assert pooled > fresh
    numbers = ValueAndPresence(d=34, epsilon=1.0)
    profile = np.array([0.5, 0.1, 0.2])
    assert sized(34, "mean").round_error(numbers, 1_000, None, profile) == pytest.approx(
        numbers.mean_error(profile, 1_000) ** 2
    )


def test_what_a_filter_hears_of_a_domain_errs_less_by_the_error_of_the_sum() -> None:
    profile, n, shares = np.array([0.6, 0.3, 0.1]), 5_000, sized(3)
    answer = Answer(np.array([2_000, 1_500, 1_000]), n)
    for oracle in (OUE(d=3, epsilon=1.0), OLH(d=3, epsilon=1.0), GRR(d=3, epsilon=1.0)):
        seen = Observed.of(oracle, answer, N, profile, Tail(), wholes=[slice(0, oracle.statistics)])
        heard = heard_error(shares, oracle, n, N, profile)
        assert heard == pytest.approx(seen.noise.mean(), rel=1e-9)
        assert (heard < 0.75 * shares.round_error(oracle, n, N, profile)) == (oracle.name != "grr")
    numbers, mean = PM(d=1 << 16, epsilon=1.0), sized(1 << 16, "mean", says_none=False)
    moments = np.array([0.1, 0.2])
    assert heard_error(mean, numbers, n, N, moments) == mean.round_error(numbers, n, N, moments)


def test_what_stands_for_a_window_is_off_by_what_moved_since() -> None:
    slope, w = 0.001, 5
    line = slope * np.arange(40.0)[:, None] * np.array([1.0, -1.0])
    assert moved(line, w, after=10) == pytest.approx(slope**2 * (w - 1) * (2 * w - 1) / 6)
    assert moved(np.ones((40, 3)), w, after=10) == 0
    assert moved(line, 1, after=10) == 0


@pytest.mark.parametrize("drift", [1e-4, 0.1, 3.0])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 7.0])
def test_a_filters_error_scales_as_the_steady_state_of_a_random_walk(drift: float, ratio: float) -> None:
    def steady(noise: float) -> float:
        error = noise
        for _ in range(5_000):
            expected = error + drift
            error = expected * noise / (expected + noise)
        return error

    assert filtered_error(steady(1.0), 1.0, ratio) == pytest.approx(steady(ratio), rel=1e-6)


def test_noise_matters_to_a_filter_at_most_as_much_as_to_an_answer() -> None:
    for error in (0.0, 0.01, 0.5, 0.99, 1.0, 2.0):
        scaled = filtered_error(error, 1.0, 4.0)
        assert error <= scaled <= 4 * error + 1e-15


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_by_what_it_usually_asks(name: str) -> None:
    known = setting(w=10)
    everybody = METHODS[name].division == "budget" or name == "lsp"
    assert usual_users(name, known, N) == (N if everybody else N / 10)
    usual = usual_mechanism(name, known)
    assert usual.epsilon < 1 if METHODS[name].division == "budget" else usual.epsilon == 1
    assert usual_mechanism(name, setting(w=10, mechanism="oue")).name == "oue"
    assert {name for name, kind in METHODS.items() if kind.fixed} == {"lbu", "lpu", "lsp"}
