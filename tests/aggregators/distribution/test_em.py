# SPDX-License-Identifier: Apache-2.0
"""EM, EMS and SW-W: golden steps, the same as with a dense matrix, and what a user relies on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.aggregators.distribution import em, pruned, smoothed
from murmurate.aggregators.distribution_waves import Buckets, BucketsAndNone, WaveChannel
from murmurate.randomizers import Key, ParameterError
from murmurate.randomizers.numeric import SW, WaveAndPresence
from murmurate.randomizers.randomness import contexts
from tests.aggregators.distribution.dense import Dense, matrix

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "numeric_golden.json").read_text(encoding="ascii")
)
EM = GOLDEN["EM"]
WAVE = WaveChannel(EM["eps"], inputs=EM["d"], outputs=EM["d"])
TRUTH = np.array(EM["f"])
COUNTS = 1000 * WAVE.forward(TRUTH)
KEY = Key(hashlib.sha256(b"distribution").digest(), deployment="shop")


@pytest.mark.parametrize(
    ("steps", "smooth", "golden"),
    [(1, False, "after_1"), (100, False, "after_100"), (10, True, "EMS_after_10"), (4000, True, "EMS_fixed")],
)
def test_the_steps_are_the_golden_ones(steps: int, smooth: bool, golden: str) -> None:
    np.testing.assert_allclose(COUNTS, EM["counts_val"], rtol=1e-6)
    found = em(WAVE, COUNTS, smooth=smooth, tau=0, shift=0, most=steps)
    np.testing.assert_allclose(found.frequencies, EM[golden], rtol=1e-6)
    assert found.iterations <= steps


def test_the_truth_is_a_fixed_point_with_the_golden_likelihood() -> None:
    step = TRUTH * WAVE.backward(COUNTS / WAVE.forward(TRUTH))
    np.testing.assert_allclose(step / step.sum(), TRUTH, atol=1e-12)
    assert COUNTS @ np.log(WAVE.forward(TRUTH)) == pytest.approx(EM["loglik_at_f"], rel=1e-6)


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize(
    "channel",
    [
        Buckets(SW(d=200, epsilon=1)),
        BucketsAndNone(WaveAndPresence(d=200, epsilon=1)),
        WaveChannel(1, inputs=200, outputs=150),
    ],
)
def test_the_result_and_the_number_of_steps_are_those_of_a_dense_matrix(channel: Any, smooth: bool) -> None:
    truth = np.exp(-((np.arange(200) - 60) ** 2) / 800) + 0.2
    rng = np.random.default_rng(3)
    counts = rng.multinomial(50_000, channel.forward(truth) / channel.forward(truth).sum())
    fast, slow = (em(one, counts, smooth=smooth) for one in (channel, Dense(matrix(channel))))
    assert fast.iterations == slow.iterations
    np.testing.assert_allclose(fast.frequencies, slow.frequencies, atol=1e-10)
    assert fast.log_likelihood == pytest.approx(slow.log_likelihood, rel=1e-12)


def test_each_step_of_em_raises_the_likelihood() -> None:
    likelihoods = [em(WAVE, COUNTS, tau=0, shift=0, most=steps).log_likelihood for steps in range(1, 40)]
    assert (np.diff(likelihoods) > 0).all()
    assert likelihoods[-1] < EM["loglik_at_f"] + 1e-3


def test_it_stops_when_nothing_moves_any_more() -> None:
    assert em(WAVE, COUNTS, tau=1e9).iterations == 3  # the likelihood counts from the third step on
    assert em(WAVE, COUNTS, tau=0, shift=2).iterations == 1
    assert em(WAVE, COUNTS, tau=0, shift=0, most=7).iterations == 7
    by_shift = em(WAVE, COUNTS, tau=0)  # all frequencies together move by at most one report
    assert 1 < by_shift.iterations < 10_000


def test_what_is_found_explains_the_reports_at_least_as_well_as_the_truth() -> None:
    # 200 000 reports at epsilon 2 of a skewed population; Kolmogorov's distance was .011 to .018 under four keys.
    sw, n = SW(d=64, epsilon=2), 200_000
    values = np.minimum(np.arange(n) % 97 % 64, np.arange(n) % 31)
    support = sw.support(sw.perturb(values, KEY.draw(contexts(np.arange(n)), round=bytes(32))))
    channel = Buckets(sw)
    found, truth = em(channel, support), np.bincount(values, minlength=64) / n
    assert found.frequencies.min() >= 0
    assert found.frequencies.sum() == pytest.approx(1)
    assert found.log_likelihood > support @ np.log(channel.forward(truth))
    assert np.abs(np.cumsum(found.frequencies - truth)).max() < 0.03


def test_the_share_of_none_is_found_with_the_distribution_of_the_others() -> None:
    # 200 000 reports at epsilon 2, three in ten of them none, whose share varies by .0034; 5 of these.
    made, n = WaveAndPresence(d=65, epsilon=2), 200_000
    values = np.where(np.arange(n) % 10 < 3, 64, np.minimum(np.arange(n) % 97 % 64, np.arange(n) % 31))
    support = made.support(made.perturb(values, KEY.draw(contexts(np.arange(n)), round=bytes(32))))
    found, truth = em(BucketsAndNone(made), support), np.bincount(values, minlength=65) / n
    assert found.frequencies.sum() == pytest.approx(1)
    assert abs(found.frequencies[-1] - truth[-1]) < 5 * float(made.variance(n, truth)[-1]) ** 0.5
    assert np.abs(np.cumsum(found.frequencies - truth)).max() < 0.03


def test_the_tail_of_noise_is_cut_as_in_the_golden_case() -> None:
    row = GOLDEN["SW_W_prune"]
    np.testing.assert_allclose(pruned(np.array(row["f"])), row["out"], rtol=1e-6)


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.00005, 0.0001, 0.2]), min_size=1, max_size=20), st.integers(1, 6))
def test_pruning_cuts_after_the_first_cell_before_a_quiet_stretch(values: list[float], quiet: int) -> None:
    f = np.array([0.3, *values])
    ends = [w for w in range(len(f) - quiet) if (f[w + 1 : w + 1 + quiet] < 1e-4).all()]
    expected = f * (np.arange(len(f)) <= (ends[0] if ends else len(f)))
    np.testing.assert_allclose(pruned(f, quiet=quiet), expected / expected.sum(), rtol=1e-12)


def test_smoothing_keeps_the_sum_and_the_flat() -> None:
    np.testing.assert_allclose(smoothed(np.full(7, 1 / 7)), 1 / 7)
    np.testing.assert_allclose(smoothed(np.array([0.0, 1.0, 0.0])), np.array([2, 3, 2]) / 7)
    assert smoothed(np.array([1.0])).tolist() == [1.0]


@pytest.mark.parametrize(
    "counts",
    [np.zeros(7), np.zeros(8), np.full(8, -1), np.full(8, np.nan), np.full(8, "1"), np.zeros((8, 1))],
    ids=repr,
)
def test_counts_that_are_none_are_refused(counts: Any) -> None:
    with pytest.raises(ParameterError, match="counts: found"):
        em(WAVE, counts)


@pytest.mark.parametrize("wrong", [{"tau": -1}, {"tau": float("nan")}, {"most": 0}, {"shift": -1.0}])
def test_a_stop_rule_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="em: found"):
        em(WAVE, COUNTS, **wrong)


@pytest.mark.parametrize("f", [np.zeros(8), np.array([np.nan]), np.array([-0.1, 1]), np.zeros((2, 2)), np.zeros(0)])
def test_frequencies_that_are_none_are_refused(f: Any) -> None:
    with pytest.raises(ParameterError, match="frequencies: found"):
        pruned(f)
