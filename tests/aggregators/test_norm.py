# SPDX-License-Identifier: Apache-2.0
"""Norm-Sub against the dissertation's values and against what a projection must be."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.randomizers import ParameterError

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parent.parent / "data" / "methods.json").read_text(encoding="ascii")
)["norm_sub"]

Estimate = NDArray[np.float64]
estimates = st.integers(1, 40).flatmap(lambda d: arrays(np.float64, d, elements=st.floats(-3, 3)))


@pytest.mark.parametrize("case", sorted(GOLDEN))
def test_estimates_become_the_dissertations_frequencies_by_its_shift(case: str) -> None:
    row = GOLDEN[case]
    found = norm_sub(np.array(row["input"]))
    np.testing.assert_allclose(found, row["norm_sub"], rtol=1e-8, atol=1e-15)
    positive = found > 1e-15
    np.testing.assert_allclose((found - np.array(row["input"]))[positive], row["delta"], rtol=1e-6)


@given(estimates)
def test_frequencies_are_never_negative_and_add_to_one(estimate: Estimate) -> None:
    found = norm_sub(estimate)
    assert found.min() >= 0
    assert abs(found.sum() - 1) < 1e-12


@given(estimates)
def test_no_other_frequencies_are_nearer(estimate: Estimate) -> None:
    # The projection's own inequality: (f - P f) . (z - P f) <= 0 for every z on the simplex; its corners are enough.
    found = norm_sub(estimate)
    away = estimate - found
    assert np.all(away - away @ found <= 1e-9)


@given(estimates)
def test_what_is_on_the_simplex_comes_back_bit_for_bit(estimate: Estimate) -> None:
    once = norm_sub(estimate)
    assert norm_sub(once).tobytes() == once.tobytes()


@given(estimates, st.floats(-1e3, 1e3))
def test_a_common_shift_of_all_estimates_changes_nothing(estimate: Estimate, shift: float) -> None:
    np.testing.assert_allclose(norm_sub(estimate + shift), norm_sub(estimate), atol=1e-9)


@pytest.mark.parametrize(
    ("estimate", "frequencies"),
    [
        ([-0.5, -0.25, -0.5, -0.75], [0.25, 0.5, 0.25, 0.0]),  # all negative
        ([0.0, 0.0], [0.5, 0.5]),
        ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        ([7.0], [1.0]),
        ([-1e300, -1e300, -1e299], [0.0, 0.0, 1.0]),  # where 1 - f is f in floating point
        ([1.5e308, -1.5e308], [1.0, 0.0]),
        ([2.0, 1.0, 0.5], [1.0, 0.0, 0.0]),  # the second one touches zero
    ],
)
def test_edge_cases_are_exact(estimate: list[float], frequencies: list[float]) -> None:
    assert norm_sub(np.array(estimate)).tolist() == frequencies


def test_the_estimate_itself_stays_as_it_was() -> None:
    estimate = np.array([0.25, 0.75])
    norm_sub(estimate)[0] = 9
    assert estimate.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("estimate", [np.array([]), np.array([[1.0]]), np.array([np.nan, 1]), np.array([np.inf])])
def test_what_is_no_estimate_is_refused(estimate: Estimate) -> None:
    with pytest.raises(ParameterError, match="allowed: finite"):
        norm_sub(estimate)
