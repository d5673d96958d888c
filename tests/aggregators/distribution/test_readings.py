# SPDX-License-Identifier: Apache-2.0
"""What Square Wave reports say of averages: exactly unbiased, with the errors of the exact law, and no better ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.wave_readings import Readings, left_inverse
from murmurate.randomizers import SW, WaveAndPresence
from murmurate.randomizers.numeric import WaveHistogram

MECHANISMS = [
    kind(d=d, epsilon=Fraction(epsilon))
    for kind, d in ((SW, 24), (WaveAndPresence, 25))
    for epsilon in ("0.2", "1", "4")
]


def chances(mechanism: WaveHistogram) -> np.ndarray:
    """float64[outcomes, d], from the law of each value."""
    out = np.zeros((mechanism.outcomes, mechanism.d))
    for value in range(mechanism.d):
        for report, chance in mechanism.law(value).items():
            out[:, value] += mechanism.support(np.frombuffer(report, np.uint8)[np.newaxis]) * float(chance)
    return out


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_readings_are_unbiased_whatever_is_held(mechanism: WaveHistogram) -> None:
    np.testing.assert_allclose(left_inverse(mechanism) @ chances(mechanism), np.eye(mechanism.d), atol=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_errors_are_those_of_the_law(mechanism: WaveHistogram) -> None:
    matrix, n = chances(mechanism), 1_000
    rng = np.random.default_rng(1)
    held, functions = rng.dirichlet(np.ones(mechanism.d)), rng.normal(size=(3, mechanism.d))
    readings = Readings.of(mechanism, rng.multinomial(n, matrix @ held), held)
    worths = functions @ left_inverse(mechanism)
    of_value = worths**2 @ matrix - (worths @ matrix) ** 2  # the variance of what a report is worth, by who gives it
    np.testing.assert_allclose(readings.noise(functions), of_value @ held / n, rtol=1e-6)
    among = functions**2 @ held - (functions @ held) ** 2
    np.testing.assert_allclose(readings.sampling(functions), among / n)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_no_other_unbiased_reading_errs_less_where_frequencies_are_even(mechanism: WaveHistogram) -> None:
    matrix, inverse = chances(mechanism), left_inverse(mechanism)
    above = np.maximum(np.arange(mechanism.d) - mechanism.d / 2, 0.0)
    likely = matrix.mean(axis=1)
    own = float((above @ inverse) ** 2 @ likely)
    others = np.eye(len(likely)) - matrix @ np.linalg.pinv(matrix)  # rows that add nothing to any reading
    assert all(float((above @ inverse + step * row) ** 2 @ likely) >= own - 1e-9 for row in others for step in (-1, 1))
    chains = np.array([mechanism.estimate(unit, 1) for unit in np.eye(len(likely), dtype=np.int64)]).T
    assert float((above @ chains) ** 2 @ likely) >= own - 1e-9
