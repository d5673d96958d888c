# SPDX-License-Identifier: Apache-2.0
"""Every post-processing against the dissertation's worked values, at the digits they are given with."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.postprocess.base import base_cut, significant, threshold
from murmurate.aggregators.postprocess.context import Context
from murmurate.aggregators.postprocess.power import fit, posterior_mean
from murmurate.aggregators.postprocess.registry import METHODS
from murmurate.aggregators.postprocess.simplex import capped_simplex

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "post_dissertation.json").read_text(encoding="ascii")
)
RTOL = 1e-7


def oue(epsilon: float, n: int, d: int, alpha: float | None = None) -> Context:
    """OUE's ideal probabilities, which the values were computed with."""
    return Context(p=0.5, q=1 / (math.exp(epsilon) + 1), n=n, d=d, alpha=alpha)


@pytest.mark.parametrize("case", sorted(GOLDEN["post"]))
@pytest.mark.parametrize("method", ["norm", "norm-mul", "norm-sub", "norm-cut", "mle-apx"])
def test_estimates_become_the_dissertations(case: str, method: str) -> None:
    row = GOLDEN["post"][case]
    expected = row["mle_apx_eps1_OUE" if method == "mle-apx" else method.replace("-", "_")]
    estimate = np.array(row["input"])
    found = METHODS[method](estimate, oue(1, 1000, len(estimate)))
    np.testing.assert_allclose(found, expected, rtol=RTOL, atol=1e-15)


@pytest.mark.parametrize("case", sorted(GOLDEN["post"]))
def test_norm_sub_moves_all_that_stay_by_the_dissertations_shift(case: str) -> None:
    estimate = np.array(GOLDEN["post"][case]["input"])
    found = METHODS["norm-sub"](estimate, oue(1, 1000, len(estimate)))
    stay = found > 1e-15
    np.testing.assert_allclose((found - estimate)[stay], GOLDEN["post_norm_sub_delta"][case], rtol=RTOL)


@pytest.mark.parametrize("row", GOLDEN["threshold"])
def test_the_threshold_is_the_dissertations(row: dict[str, float]) -> None:
    context = oue(row["eps"], int(row["n"]), int(row["d"]))
    assert threshold(context, row["alpha"]) == pytest.approx(row["T_freq"], rel=RTOL)
    assert threshold(context, row["alpha"]) * row["n"] == pytest.approx(row["T_count"], rel=RTOL)


def test_base_cut_cuts_at_the_dissertations_threshold() -> None:
    row = GOLDEN["base_cut"]
    context = oue(row["eps"], row["n"], row["d"])
    assert threshold(context, row["alpha"]) == pytest.approx(row["T"], rel=RTOL)
    assert base_cut(np.array(row["input"]), context).tolist() == row["out"]
    assert base_cut(np.array(row["input"]), oue(row["eps"], row["n"], row["d"], row["alpha"])).tolist() == row["out"]


def test_power_gives_the_dissertations_posterior_means() -> None:
    row = GOLDEN["power"]
    found = posterior_mean(
        np.array(row["x_count"], np.float64), n=row["n"], exponent=row["alpha"], deviation=float(row["sd"])
    )
    np.testing.assert_allclose(found, row["post_mean"], rtol=RTOL)


def test_the_prior_of_the_zipf_setting_is_the_dissertations_within_the_noise_of_its_mean() -> None:
    # Its run had a = 1.478. The mean of 1024 estimates is 1/1024 with a deviation of 6 %, over which a moves by .02.
    assert fit(1_000_000 / 1024, 1_000_000) == pytest.approx(1.478, abs=0.02)


@pytest.mark.parametrize("row", GOLDEN["capped_simplex"])
def test_the_capped_simplex_is_that_of_the_reference(row: dict[str, Any]) -> None:
    found = capped_simplex(np.array(row["y"]), total=row["sum"])
    np.testing.assert_allclose(found, row["out"], atol=1e-8)  # eight digits are given


def test_what_is_not_significant_shares_what_the_others_leave() -> None:
    # T_s at alpha .05 is 2.4 deviations of .043: .1 stays below it.
    found = significant(np.array([0.5, 0.3, 0.1, 0.05, -0.05, -0.02]), oue(1, 2000, 6))
    np.testing.assert_allclose(found, [0.5, 0.3, 0.05, 0.05, 0.05, 0.05], rtol=1e-12)
    over = significant(np.array([0.75, 0.5, 0.1, 0.05, -0.05, -0.02]), oue(1, 2000, 6))
    assert over.tolist() == [0.75, 0.5, 0, 0, 0, 0]
