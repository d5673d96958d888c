# SPDX-License-Identifier: Apache-2.0
"""The post-processing that is named by trying all on synthetic data is best on fresh data of that kind, or nearly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from murmurate.aggregators.postprocess.context import Context
from murmurate.aggregators.postprocess.registry import METHODS, post_process
from murmurate.aggregators.postprocess.selection import POSSIBLE, by_shape, on_synthetic

Q = 1 / (math.e + 1)


def error(name: str, truth: np.ndarray, context: Context, seeds: range = range(20)) -> float:
    """The mean squared error over runs of the protocol with OUE."""
    total = 0.0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        holders = np.round(truth * context.n).astype(np.int64)
        support = rng.binomial(holders, context.p) + rng.binomial(context.n - holders, context.q)
        estimate = (support / context.n - context.q) / (context.p - context.q)
        total += float(np.mean((post_process(name, estimate, context) - truth) ** 2))
    return total / len(seeds)


SHAPES = {
    "few": np.array([0.5, 0.3, 0.15, 0.05] + [0.0] * 124),
    "plain to see": np.array([0.4, 0.3, 0.2, 0.1]),
    "alike": np.full(128, 1 / 128),
    "zipf": np.arange(1.0, 129) ** -1.2 / (np.arange(1.0, 129) ** -1.2).sum(),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [3_000, 200_000])
def test_what_is_selected_on_synthetic_data_is_nearly_the_best_on_the_real_ones(shape: str, n: int) -> None:
    truth = SHAPES[shape]
    context = Context(p=0.5, q=Q, n=n, d=len(truth))
    rng = np.random.default_rng(7)
    support = rng.binomial(np.round(truth * n).astype(np.int64), 0.5) + rng.binomial(
        n - np.round(truth * n).astype(np.int64), Q
    )
    chosen = on_synthetic((support / n - Q) / (0.5 - Q), context)
    found = {name: error(name, truth, context) for name in METHODS}
    assert set(chosen.errors) == set(METHODS)
    assert found[chosen.name] <= 1.05 * found["norm-sub"]
    if shape != "alike":  # which, below the noise, Norm-Sub takes for few values
        assert found[chosen.name] <= 1.5 * min(found.values()) + 1e-12


def test_a_deployments_choice_is_made_of_no_data_and_is_always_a_population() -> None:
    for d in (2, 16):
        for n in (100, 10_000):
            context = Context(p=0.5, q=Q, n=n, d=d)
            chosen = by_shape(context)
            assert chosen == by_shape(context)
            assert chosen.name in POSSIBLE
            assert chosen.errors[chosen.name] <= 1.02 * chosen.errors["norm-sub"]
    assert by_shape(Context(p=0.5, q=Q, n=10_000_000, d=4)).name == "norm-sub"
    assert by_shape(Context(p=0.5, q=Q, n=20_000, d=128)).name == "power-ns"


def test_base_cut_keeps_as_many_values_as_are_known_to_have_users() -> None:
    estimate = np.array([0.4, 0.02, 0.3, -0.1, 0.25, 0.05])
    context = Context(p=0.5, q=Q, n=1_000, d=6, k=3)
    assert post_process("base-cut", estimate, context).tolist() == [0.4, 0.0, 0.3, 0.0, 0.25, 0.0]
    assert post_process("base-cut", estimate, Context(p=0.5, q=Q, n=1_000, d=6, k=6)).tolist() == [
        0.4,
        0.02,
        0.3,
        0.0,
        0.25,
        0.05,
    ]
