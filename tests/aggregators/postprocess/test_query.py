# SPDX-License-Identifier: Apache-2.0
"""Each kind of question gets the post-processing the dissertation recommends for it."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.aggregators.postprocess.context import Context
from murmurate.aggregators.postprocess.query import Query, for_query, heavy_tailed, method_for
from murmurate.aggregators.postprocess.registry import METHODS, post_process
from murmurate.randomizers import ParameterError

Estimate = NDArray[np.float64]
D, N = 256, 1_000_000
CONTEXT = Context(p=0.5, q=1 / (math.e + 1), n=N, d=D)


def collected(shape: Estimate, seed: int) -> tuple[Estimate, Estimate]:
    """The truth, and the estimate of one simulated collection with OUE."""
    truth = shape / shape.sum()
    counts = np.round(truth * N).astype(np.int64)
    generator = np.random.default_rng(seed)
    support = generator.binomial(counts, CONTEXT.p) + generator.binomial(N - counts, CONTEXT.q)
    return truth, (support / N - CONTEXT.q) / (CONTEXT.p - CONTEXT.q)


ZIPF: Estimate = np.array([rank**-1.5 for rank in range(1, D + 1)])
LINEAR: Estimate = np.arange(1.0, D + 1)


@pytest.mark.parametrize(("query", "method"), [("point", "base-cut"), ("top-k", "norm"), ("arithmetic", "base")])
def test_a_question_has_its_method(query: Query, method: str) -> None:
    _, estimate = collected(ZIPF, 1)
    assert method_for(query, estimate, CONTEXT) == method
    assert for_query(query, estimate, CONTEXT).tobytes() == METHODS[method](estimate, CONTEXT).tobytes()


@pytest.mark.parametrize("query", ["subset", "range"])
def test_totals_take_power_ns_if_few_values_stand_out_and_norm_sub_if_many_do(query: Query) -> None:
    for seed in range(5):
        assert method_for(query, collected(ZIPF, seed)[1], CONTEXT) == "power-ns"
        assert method_for(query, collected(LINEAR, seed)[1], CONTEXT) == "norm-sub"
    _, estimate = collected(ZIPF, 1)
    expected = post_process("power-ns", estimate, CONTEXT)
    assert for_query(query, estimate, CONTEXT).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("shape", "better"), [(ZIPF, "power-ns"), (LINEAR, "norm-sub")])
def test_what_the_rule_takes_is_nearer_to_the_truth(shape: Estimate, better: str) -> None:
    errors: dict[str, float] = {"power-ns": 0.0, "norm-sub": 0.0}
    for seed in range(20):
        truth, estimate = collected(shape, seed)
        for name in errors:
            errors[name] += float(np.mean((post_process(name, estimate, CONTEXT) - truth) ** 2))
    assert min(errors, key=lambda name: errors[name]) == better


def test_one_value_in_eight_may_stand_out() -> None:
    estimate = np.zeros(D)
    estimate[:32] = 1 / 32
    assert heavy_tailed(estimate, CONTEXT)
    estimate[32] = 1 / 32
    assert not heavy_tailed(estimate, CONTEXT)


def test_arithmetic_may_be_done_on_norm_and_on_nothing_else() -> None:
    _, estimate = collected(ZIPF, 1)
    assert method_for("arithmetic", estimate, CONTEXT, unbiased="norm") == "norm"
    wrong: Any = "norm-sub"
    with pytest.raises(ParameterError, match="found 'norm-sub'; allowed: base, norm"):
        for_query("arithmetic", estimate, CONTEXT, unbiased=wrong)


def test_base_and_norm_are_unbiased_over_many_collections_and_norm_sub_is_not() -> None:
    # The mean of 60 totals of half the values: 4.9 standard errors, so 1e-6 of false alarms each.
    shape = np.where(np.arange(D) < 4, 1.0, 0.0)
    sums: dict[str, list[float]] = {"base": [], "norm": [], "norm-sub": []}
    for seed in range(60):
        _, estimate = collected(shape, seed)
        for name, totals in sums.items():
            totals.append(float(post_process(name, estimate, CONTEXT)[: D // 2].sum()) - 1)
    off = {name: abs(np.mean(t)) / (np.std(t, ddof=1) / math.sqrt(60)) for name, t in sums.items()}
    assert off["base"] < 4.9
    assert off["norm"] < 4.9
    assert off["norm-sub"] > 4.9


def test_an_unknown_question_is_refused_with_the_known_ones() -> None:
    wrong: Any = "quantile"
    with pytest.raises(ParameterError, match="found 'quantile'; allowed: point, top-k, subset, range, arithmetic"):
        for_query(wrong, np.zeros(D), CONTEXT)


@pytest.mark.parametrize("query", ["point", "top-k", "subset", "range", "arithmetic"])
def test_no_question_accepts_an_estimate_of_another_domain(query: Query) -> None:
    with pytest.raises(ParameterError, match=r"allowed: float64\[256\]"):
        for_query(query, np.zeros(4), CONTEXT)
