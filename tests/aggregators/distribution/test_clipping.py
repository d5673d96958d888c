"""Where to clip: the golden case of the source, and a tail that is noise against one that is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.clipping import best, excess, whole_or_pruned
from murmurate.randomizers import HM

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "numeric_golden.json").read_text(encoding="ascii")
)["theta_eq8"]


def test_the_threshold_of_the_golden_case_is_found() -> None:
    f, r = np.array(GOLDEN["f"]), GOLDEN["r"]
    edges = np.arange(1, len(f) + 1) * GOLDEN["B"] / len(f)
    taken = excess(f, edges - 5, edges)
    # r / 3 (theta / 2)^2 Var + r^2 / 6 bias^2, over r^2 / 6; printed as r^2 / 24.
    hm = HM(epsilon=GOLDEN["eps"])
    noise = r / 3 * (edges / 2) ** 2 * float(hm.noise(np.zeros(2))[0])
    np.testing.assert_allclose(noise + r * r / 6 * taken**2, GOLDEN["err_r2_6"], rtol=1e-6)
    assert edges[best(taken, noise * 6 / r**2)] == GOLDEN["theta_r2_6"]
    assert edges[best(taken, noise * 24 / r**2)] == GOLDEN["theta_r2_24_as_printed"]


def test_of_equal_edges_the_smallest_is_taken() -> None:
    assert best(np.array([2.0, 1.0, 0.0]), np.array([0.0, 3.0, 4.0])) == 0


def test_what_clipping_takes_is_what_lies_above() -> None:
    taken = excess(np.array([0.5, 0.3, 0.2]), np.array([1.0, 3.0, 5.0]), np.array([2.0, 4.0, 6.0]))
    assert taken == pytest.approx([0.3 * 1 + 0.2 * 3, 0.2, 0.0])


def test_a_tail_is_cut_only_where_the_mean_of_the_reports_allows_it() -> None:
    f = np.zeros(40)
    f[[0, 1, 30]] = 0.6, 0.35, 0.05  # a gap, and one user in twenty behind it
    middles = np.arange(40.0)
    mean = float(f @ middles)
    assert whole_or_pruned(f, middles, mean, stderr=0.1)[30] == 0.05
    assert whole_or_pruned(f, middles, mean, stderr=1.0)[30] == 0
    assert whole_or_pruned(f, middles, 0.4, stderr=0.1)[30] == 0  # noise of EM, of which the mean knows nothing
