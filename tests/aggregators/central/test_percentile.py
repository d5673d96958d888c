# SPDX-License-Identifier: Apache-2.0
"""Noisy percentiles of smooth sensitivity: the golden ones, the definition, and how often S-PAK is too low."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.central.percentile import PAK_BETA, PAK_SHARE, SHARE, SmoothPercentile, smooth_sensitivity
from murmurate.randomizers import ParameterError
from tests.cases import every

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "tops_golden.json").read_text())["smooth_sensitivity"]


def defined(ordered: list[float], rank: int, top: float, b: float) -> float:
    """As it is written down: every number of values between, every way to place them around the rank."""
    m = len(ordered)

    def v(i: int) -> float:
        return 0.0 if i < 1 else top if i > m else ordered[i - 1]

    return max(
        math.exp(-b * k) * max(v(rank + t) - v(rank + t - k - 1) for t in range(k + 2)) for k in range(m + 2)
    )  # fmt: skip


@every(("rank", "b", "found"), GOLDEN["cases"])
def test_smooth_sensitivity_is_the_golden_one(rank: int, b: float, found: float) -> None:
    assert smooth_sensitivity(np.array(GOLDEN["x"], float), rank, GOLDEN["B"], b) == pytest.approx(found, rel=1e-6)


def test_smooth_sensitivity_is_what_its_definition_says() -> None:
    rng = np.random.default_rng(0)
    for trial in range(150):
        m = int(rng.integers(1, 25))
        drawn = rng.integers(0, 12, m).astype(float) if trial % 2 else 12 * rng.random(m)
        ordered, rank, b = np.sort(drawn), int(rng.integers(1, m + 1)), float(rng.choice([0.01, 0.1, 0.5, 2]))
        assert smooth_sensitivity(ordered, rank, 12, b) == pytest.approx(defined(ordered.tolist(), rank, 12, b))


@every("row", GOLDEN["PAK"])
def test_what_s_pak_shifts_and_widens_by_is_golden(row: dict[str, Any]) -> None:
    spak = SmoothPercentile(PAK_SHARE, row["eps"], float(row["n"]) ** -2, 1657, PAK_BETA)
    found = spak.b, spak.a, spak.offset, spak.kappa
    assert found == pytest.approx((row["b"], row["a"], row["Ginv"], row["kappa"]), rel=1e-6)


def test_s_pak_is_too_low_with_chance_beta_and_s_p_in_half_of_the_cases() -> None:
    values = np.random.default_rng(1).integers(0, 100, 5_000)
    for beta, low in ((PAK_BETA, PAK_BETA), (None, 0.5)):
        percentile = SmoothPercentile(SHARE, 1.0, 1e-9, 1000, beta)
        centre, scale = percentile.law(values)
        x = np.sort(values)[int(SHARE * len(values))]
        assert 0.5 * math.exp(-(centre - x) / scale) == pytest.approx(low)  # a Laplace number below x


def test_no_threshold_is_below_0() -> None:
    percentile = SmoothPercentile(SHARE, 0.1, 1e-9, 1000)
    values = np.arange(100)
    centre, scale = percentile.law(values)
    assert percentile.threshold(values, -1e6) == 0
    assert percentile.threshold(values, 2.0) == centre + 2 * scale


@every(
    ("changed", "message"),
    [
        ({"share": 1.0}, "found share 1.0"),
        ({"delta": 0.0}, "delta 0.0"),
        ({"epsilon": 0.0}, "epsilon 0.0"),
        ({"top": 0}, "top 0"),
        ({"beta": 0.5}, "beta: found 0.5"),
        ({"beta": 1e-9, "delta": 0.5}, "beta: found 1e-09 at epsilon 1"),
    ],
)
def test_what_is_no_percentile_cannot_be_built(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        SmoothPercentile(**({"share": 0.9, "epsilon": 1.0, "delta": 1e-6, "top": 10, "beta": None} | changed))


@every("values", [[], [-1, 2], [3, 11]])
def test_values_outside_their_range_are_refused(values: list[int]) -> None:
    with pytest.raises(ParameterError, match="values: found"):
        SmoothPercentile(0.9, 1.0, 1e-6, 10).law(np.array(values))
