# SPDX-License-Identifier: Apache-2.0
"""Padded sampling against Wang 2021, section 5.2, and the error of groups of random size; by real reports.

The simulations are of fixed users under 20 000 rounds of coins, with fixed seeds: a mean lies within 4 of its standard
errors, which another seed would exceed in one case of 16 000; a variance within 5 %; 20 000 runs show it within 1.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import GRR, OLH, Branches, Key, Marginal, Padded, Viewed
from murmurate.randomizers.frequency.hashing import hash_pairs
from murmurate.randomizers.layouts import FILLER, NONE
from tests.cases import every

PSFO = json.loads((Path(__file__).parent.parent / "data" / "psfo.json").read_text(encoding="ascii"))
KEY = Key(bytes(range(7, 39)), deployment="padded")
RUNS = 20_000
D, MOST, LENGTH = 12, 4, 4
USERS = 30


@every("case", PSFO)
def test_the_golden_values_of_padded_sampling(case: dict[str, Any]) -> None:
    length, d, epsilon = case["l"], case["d"], case["eps"]
    layout = ("items", d, length, 0)
    grr = Viewed(Padded(layout, length), GRR(d=d + length, epsilon=epsilon))
    inner = grr.inner
    assert isinstance(inner, GRR)
    assert grr.view.d == case["grr_domain"]
    assert math.log(inner.p / inner.q) == pytest.approx(case["eps_prime"], rel=1e-7)
    assert float(inner.p) == pytest.approx(case["p"], rel=1e-7)
    assert float(inner.q) == pytest.approx(case["q"], rel=1e-7)
    zero = np.zeros(d)
    assert grr.noise(zero) == pytest.approx(np.full(d, case["var_grr_per_user"]), rel=1e-7)  # (5.1)
    olh = Viewed(Padded(layout, length), OLH(d=d + length, epsilon=epsilon, pool=0))
    assert olh.noise(zero) == pytest.approx(np.full(d, case["var_olh_per_user"]), rel=0.01)  # (5.2), for a whole g
    better = "GRR" if grr.noise(zero)[0] < olh.noise(zero)[0] else "OLH"
    assert better == case["adap"] == ("GRR" if d < case["adap_bound"] else "OLH")  # (5.3)


def population() -> np.ndarray:
    """Sets of 0 to L items, some users without a value; the last item is nobody's."""
    rng = np.random.default_rng(5)
    rows = np.full((USERS, MOST), FILLER, np.uint32)
    for i in range(USERS):
        items = np.sort(rng.choice(D - 1, int(rng.integers(0, MOST + 1)), replace=False))
        rows[i, : len(items)] = items
    rows[::9] = (NONE, *(0,) * (MOST - 1))
    return rows


def many(runs: int, users: int) -> np.ndarray:
    """Pseudonyms: of every run others."""
    return np.random.default_rng(11).integers(0, 256, (runs * users, 16), np.uint8)


@every("name", ["grr", "olh"])
def test_estimates_are_unbiased_and_as_exact_as_the_formulas_say(name: str) -> None:
    view = Padded(("items", D, MOST, 1), LENGTH)
    oracle = GRR(d=view.d, epsilon=1.0) if name == "grr" else OLH(d=view.d, epsilon=1.0, pool=0)
    question_, rows = Viewed(view, oracle), population()
    reports = question_.perturb(np.tile(rows, (RUNS, 1)), KEY.draw(many(RUNS, USERS), round=bytes(32)))
    inner = question_.inner
    items = np.array([0, 5, D - 1])
    if isinstance(inner, GRR):
        codes = reports[:, 0].reshape(RUNS, USERS)
        counts = np.stack([(codes == item).sum(axis=1) for item in items], axis=1)
    else:
        assert isinstance(inner, OLH)
        seeds, cells = inner._read(reports)
        own = [hash_pairs(seeds, np.array([item]), inner.g) == cells for item in items]
        counts = np.stack([of.reshape(RUNS, USERS).sum(axis=1) for of in own], axis=1)
    p, q, chance = float(inner.p), float(inner.q), float(view.chance or 0)
    estimates = (counts / USERS - q) / (p - q) / chance
    support = np.zeros(view.d, np.int64)
    support[items] = counts[0]
    assert question_.estimate(support, USERS)[items] == pytest.approx(estimates[0])
    truth = np.array([(rows[:, :] == item).any(axis=1) & (rows[:, 0] != NONE) for item in items]).mean(axis=1)
    assert truth[2] == 0 < truth[0]
    variance = question_.variance(USERS, truth)
    off = np.abs(estimates.mean(axis=0) - truth) / np.sqrt(variance / RUNS)
    assert (off < 4).all()
    assert np.abs(estimates.var(axis=0) / variance - 1).max() < 0.05
    e, d = math.e, D
    printed = (e * LENGTH + d - 1) / (e - 1) ** 2 if name == "grr" else 4 * LENGTH**2 * e / (e - 1) ** 2
    assert estimates[:, 2].var() == pytest.approx(printed / USERS, rel=0.05)  # (5.1), (5.2): of an item of nobody


def test_groups_of_random_size_cost_what_their_formula_says() -> None:
    runs, users, row = 3000, 300, ("row", (2, 2, 2, 2), 0)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    question_ = Branches([(1 + i % 2, Viewed(Marginal(row, of), GRR(d=4, epsilon=2.0))) for i, of in enumerate(pairs)])
    values = np.random.default_rng(3).integers(0, 16, users)
    reports = question_.perturb(np.tile(values, runs), KEY.draw(many(runs, users), round=bytes(32)))
    told = np.stack([question_.estimate(question_.support(of), users) for of in reports.reshape(runs, users, -1)])
    truth = np.concatenate([np.bincount([question.view.code(int(v)) for v in values], minlength=4) / users
                            for question in question_.questions if isinstance(question, Viewed)])  # fmt: skip
    variance = question_.variance(users, truth)
    assert not np.isnan(told).any()
    assert (np.abs(told.mean(axis=0) - truth) < 5 * np.sqrt(variance / runs)).all()
    ratios = told.var(axis=0) / variance
    assert np.abs(ratios.reshape(6, 4).mean(axis=1) - 1).max() < 0.05
    assert abs(ratios.mean() - 1) < 0.02
    fixed = np.concatenate([question.variance(1, truth[4 * i : 4 * i + 4]) / (users * float(question_.chances[i]))
                            for i, question in enumerate(question_.questions)])  # fmt: skip
    assert (variance > fixed).all()


def test_the_noise_of_estimates_is_right_on_average_where_most_items_are_rare() -> None:
    """Noise grows with a share, so cutting estimates off at 0 and no more would state 6 % too much of it."""
    asked = Viewed(Padded(("items", 200, 4, 1), 4), GRR(d=204, epsilon=2.0))
    rng, n = np.random.default_rng(1), 4_000
    true = np.full(200, 0.01)
    error = np.sqrt(asked.variance(n, true))
    stated = [asked.noise(asked.plausible(true + rng.normal(0, error))).mean() for _ in range(400)]
    assert np.mean(stated) == pytest.approx(asked.noise(true).mean(), rel=0.01)


@pytest.mark.parametrize("raw", [[-0.2, -0.1], [0.2, -0.1, 0.0], [1.4, 0.3, -0.2], [0.0, 0.0], [0.3, 0.2]])
def test_plausible_shares_are_shares_of_the_same_sum_where_there_are_such(raw: list[float]) -> None:
    asked = Viewed(Padded(("items", len(raw), 2, 0), 2), GRR(d=len(raw) + 2, epsilon=1.0))
    found = asked.plausible(np.array(raw))
    assert ((found >= 0) & (found <= 1)).all()
    if max(raw) <= 1:
        assert found.sum() == pytest.approx(max(sum(raw), 0))
    assert (np.diff(found[np.argsort(raw)]) >= 0).all()
