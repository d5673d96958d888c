# SPDX-License-Identifier: Apache-2.0
"""The inverse of a band against dense matrices: exact, nearly the best there is, and as variable as it says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.randomizers.numeric import SW
from murmurate.randomizers.numeric.band import Band
from tests.cases import every

SHAPES = [(2, 1), (7, 1), (5, 3), (5, 9), (4, 5), (9, 5), (12, 3), (31, 3), (40, 21), (64, 33)]
"""Windows of one cell, wider than all cells, and less than half of them."""


def dense(band: Band) -> np.ndarray:
    """The chances of each output, a column a cell."""
    return np.stack([band.forward(unit) for unit in np.eye(band.cells)], axis=1)


def coefficients(band: Band) -> np.ndarray:
    """What each output counts for in each entry of the inverse, the constant aside."""
    outputs = band.cells + band.width - 1
    nothing = band.inverse(np.zeros(outputs))
    return np.stack([band.inverse(unit) - nothing for unit in np.eye(outputs)], axis=1)


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 60), st.integers(0, 35), st.floats(1.01, 1e4))
def test_the_inverse_undoes_the_band_for_any_frequencies(cells: int, reach: int, ratio: float) -> None:
    width = 2 * reach + 1
    q = 1 / (width * ratio + cells - 1)
    band = Band(cells, width, ratio * q, q)
    x = np.random.default_rng(cells).normal(size=cells)  # raw: below 0, not summing to 1
    np.testing.assert_allclose(band.inverse(band.forward(x)), x, atol=1e-9)


@every(("cells", "width"), SHAPES)
def test_the_band_is_its_matrix_and_the_inverse_the_one_of_least_squares(cells: int, width: int) -> None:
    q = 1 / (3 * width + cells - 1)
    band = Band(cells, width, 3 * q, q)
    full, (j, i) = dense(band), np.indices((cells + width - 1, cells))
    np.testing.assert_allclose(full, np.where((i <= j) & (j < i + width), 3 * q, q), rtol=1e-12)
    x = np.random.default_rng(1).dirichlet(np.ones(cells))
    y = full @ x
    np.testing.assert_allclose(band.inverse(y), np.linalg.lstsq(full, y)[0], atol=1e-10)
    np.testing.assert_allclose(coefficients(band) @ (full - q), np.eye(cells), atol=1e-10)


@every(("cells", "width"), SHAPES)
def test_the_variance_is_the_one_of_its_coefficients(cells: int, width: int) -> None:
    q = 1 / (3 * width + cells - 1)
    band = Band(cells, width, 3 * q, q)
    a = coefficients(band)
    for x in (np.full(cells, 1 / cells), np.eye(cells)[cells // 2], np.random.default_rng(2).normal(size=cells)):
        y = band.forward(x)
        np.testing.assert_allclose(band.variance(x), a**2 @ y - (a @ y) ** 2, rtol=1e-9, atol=1e-9)
    units = [band.variance(unit)[cell] for cell, unit in enumerate(np.eye(cells))]
    np.testing.assert_allclose(band.own, units, rtol=1e-9)


@every("d", [4, 16, 64, 128])
@every("epsilon", [0.1, 0.5, 1.0, 2.0, 3.0, 4.0])
def test_where_frequencies_are_even_no_linear_inverse_is_much_better(d: int, epsilon: float) -> None:
    # Generalised least squares has the least variance of all that are unbiased.
    band = SW(d=d, epsilon=epsilon).band
    even = np.full(d, 1 / d)
    y = band.forward(even)
    best = np.linalg.pinv((dense(band) - band.q) / np.sqrt(y)[:, None]) / np.sqrt(y)
    np.testing.assert_allclose(best @ (dense(band) - band.q), np.eye(d), atol=1e-9)
    least = best**2 @ y - (best @ y) ** 2
    assert least.mean() <= band.variance(even).mean() * (1 + 1e-9)
    assert band.variance(even).mean() <= (1 + 0.6 / d) * least.mean()
