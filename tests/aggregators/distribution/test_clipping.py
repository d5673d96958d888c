# SPDX-License-Identifier: Apache-2.0
"""Where to clip: the golden case of the source, and a tail that is noise against one that is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.clipping import WORTH, Growth, best, doubled, excess, taken_at_most, whole_or_pruned
from murmurate.randomizers import HM

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "numeric_golden.json").read_text(encoding="ascii")
)["theta_eq8"]


def test_the_threshold_of_the_golden_case_is_found() -> None:
    f, r = np.array(GOLDEN["f"]), GOLDEN["r"]
    edges = np.arange(1, len(f) + 1) * GOLDEN["B"] / len(f)
    taken = excess(edges - 5, edges) @ f
    # r / 3 (theta / 2)^2 Var + r^2 / 6 bias^2, over r^2 / 6; printed as r^2 / 24.
    hm = HM(epsilon=GOLDEN["eps"])
    noise = r / 3 * (edges / 2) ** 2 * float(hm.noise(np.zeros(2))[0])
    np.testing.assert_allclose(noise + r * r / 6 * taken**2, GOLDEN["err_r2_6"], rtol=1e-6)
    assert edges[best(taken, noise * 6 / r**2)] == GOLDEN["theta_r2_6"]
    assert edges[best(taken, noise * 24 / r**2)] == GOLDEN["theta_r2_24_as_printed"]


def test_of_equal_edges_the_smallest_is_taken() -> None:
    assert best(np.array([2.0, 1.0, 0.0]), np.array([0.0, 3.0, 9.0])) == 0


def test_the_whole_range_is_taken_unless_a_threshold_is_worth_it() -> None:
    squared = WORTH**2 * 4
    assert best(np.array([0.0, 0.0]), np.array([squared - 1e-9, 4.0])) == 0
    assert best(np.array([0.0, 0.0]), np.array([squared + 1e-9, 4.0])) == 1


def test_what_clipping_takes_is_what_lies_above() -> None:
    taken = excess(np.array([1.0, 3.0, 5.0]), np.array([2.0, 4.0, 6.0])) @ np.array([0.5, 0.3, 0.2])
    assert taken == pytest.approx([0.3 * 1 + 0.2 * 3, 0.2, 0.0])


def test_what_cannot_be_excluded_is_never_less_than_the_error_of_what_was_seen() -> None:
    assert taken_at_most(np.array([-3.0, 0.0, 2.0]), np.full(3, 0.5)).tolist() == [0.5, 0.5, 2.5]


def test_a_threshold_leaves_room_for_amounts_to_double() -> None:
    amounts, edges = np.array([1.0, 3.0, 5.0]), np.array([2.0, 6.0, 8.0])
    # Doubled they are 2, 6 and, at the top of the range, 8.
    assert doubled(np.array([0.5, 0.3, 0.2]), amounts, edges, 8.0) == pytest.approx([0.3 * 4 + 0.2 * 6, 0.2 * 2, 0.0])


def test_what_is_clipped_after_growth_is_what_lies_above_by_then() -> None:
    amounts, shares = np.array([1.0, 3.0, 5.0]), np.array([0.5, 0.3, 0.2])
    growth = Growth.of(shares, amounts, 4.0, 100.0)
    assert growth.at(0) == growth.at(-1) == 0
    for factor in (1.3, 2.0, 3.7):
        grown = amounts * factor
        moved = float((np.minimum(grown, 4) - np.minimum(amounts, 4)) @ shares)
        more = float((np.maximum(grown - 4, 0) - np.maximum(amounts - 4, 0)) @ shares)
        assert growth.at(moved) == pytest.approx(more, rel=0.02)
    assert growth.at(4) == pytest.approx(100 - 4 - 0.2)  # all are clipped: they may lie anywhere above


def test_a_tail_is_cut_only_where_the_mean_of_the_reports_allows_it() -> None:
    f = np.zeros(40)
    f[[0, 1, 30]] = 0.6, 0.35, 0.05  # a gap, and one user in twenty behind it
    middles = np.arange(40.0)
    mean = float(f @ middles)
    assert whole_or_pruned(f, middles, mean, stderr=0.1)[30] == 0.05
    assert whole_or_pruned(f, middles, mean, stderr=1.0)[30] == 0
    assert whole_or_pruned(f, middles, 0.4, stderr=0.1)[30] == 0  # noise of EM, of which the mean knows nothing
