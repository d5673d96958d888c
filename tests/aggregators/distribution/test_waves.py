# SPDX-License-Identifier: Apache-2.0
"""The channels of Square Wave: golden matrices, the textbook's dense ones, and the law of what devices send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.aggregators.distribution_waves import Buckets, BucketsAndNone, WaveChannel, channel_of
from murmurate.randomizers import ParameterError
from murmurate.randomizers.numeric import SW, WaveAndPresence
from murmurate.randomizers.numeric import Wave as Shape
from tests.aggregators.distribution.dense import band, matrix, overlap

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "numeric_golden.json").read_text(encoding="ascii")
)


def test_continuous_matrices_are_the_golden_ones() -> None:
    row = GOLDEN["SW_matrix_RB"]
    found = matrix(WaveChannel(row["eps"], inputs=row["d"], outputs=row["dt"]))
    np.testing.assert_allclose(found, row["rows"], rtol=1e-6)
    np.testing.assert_allclose(found.sum(axis=0), row["column_sums"], rtol=1e-12)
    np.testing.assert_allclose(matrix(WaveChannel(1, inputs=3, outputs=5)), row["eps1_d3_dt5"], rtol=1e-6)


def test_the_bucketised_product_is_the_golden_one() -> None:
    row = GOLDEN["SW_matrix_BR"]
    channel = Buckets(SW(d=row["d"], epsilon=row["eps"]))
    np.testing.assert_allclose(channel.forward(np.arange(1.0, 6.0)), row["prefix_sum_product_with_1_to_5"], rtol=1e-6)
    np.testing.assert_allclose(matrix(channel).sum(axis=0), row["column_sum"], rtol=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 70), st.floats(0.01, 8))
def test_a_bucketised_channel_is_its_band(d: int, epsilon: float) -> None:
    sw = SW(d=d, epsilon=epsilon)
    full = band(d, sw.reach, float(sw.p), float(sw.q))
    same(Buckets(sw), full)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.05, 8))
def test_a_continuous_channel_is_its_overlaps(inputs: int, outputs: int, epsilon: float) -> None:
    shape = Shape.of(epsilon)
    full = overlap(float(shape.b), float(shape.p), float(shape.q), inputs, outputs)
    np.testing.assert_allclose(full.sum(axis=0), 1, rtol=1e-9)
    same(WaveChannel(epsilon, inputs=inputs, outputs=outputs), full)


def same(channel: Any, full: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    x, w = rng.random(channel.inputs), rng.random(channel.outputs)
    np.testing.assert_allclose(channel.forward(x), full @ x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(channel.backward(w), full.T @ w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(channel.forward(x), full @ x, rtol=1e-9, atol=1e-12)  # nothing is left over in its room


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_bucketised_channel_is_the_law_of_the_reports(epsilon: float) -> None:
    sw = SW(d=17, epsilon=epsilon)
    full = matrix(Buckets(sw))
    for value in range(17):
        np.testing.assert_allclose(full[:, value], [float(chance) for chance in sw.law(value).values()], rtol=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(3, 70), st.floats(0.01, 8))
def test_a_channel_with_none_is_the_law_of_the_reports(d: int, epsilon: float) -> None:
    made = WaveAndPresence(d=d, epsilon=epsilon)
    full = np.array([[float(chance) for chance in made.law(value).values()] for value in range(d)]).T
    channel = channel_of(made)
    assert isinstance(channel, BucketsAndNone)
    assert (channel.inputs, channel.outputs) == (d, made.outcomes)
    np.testing.assert_allclose(matrix(channel), full, rtol=1e-12)
    same(channel, full)


def test_each_square_wave_has_its_channel() -> None:
    assert isinstance(channel_of(SW(d=8, epsilon=1)), Buckets)
    assert isinstance(channel_of(WaveAndPresence(d=8, epsilon=1)), BucketsAndNone)


@pytest.mark.parametrize("wrong", [{"inputs": 0}, {"outputs": 0}, {"inputs": 2.0}, {"outputs": True}])
def test_cells_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="allowed: a whole number, at least 1"):
        WaveChannel(1, **({"inputs": 4, "outputs": 4} | wrong))
