# SPDX-License-Identifier: Apache-2.0
"""Laws of mechanisms for sparse vectors by formula: other code's values, the product's mechanisms, drawn errors."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import orjson
import pytest

from murmurate.agents.simulate import sparse_laws as laws
from murmurate.agents.simulate.federated import EXACT, Learning, accuracy
from murmurate.agents.simulate.sparse_errors import (
    MEANS,
    Errors,
    drawn,
    expected,
    law,
    mean_square,
    reported,
    share_square,
)
from murmurate.randomizers import question
from murmurate.randomizers.registry import VECTORS
from tests.cases import every

GOLDEN: dict[str, Any] = orjson.loads((Path(__file__).parents[2] / "data" / "vectors_figures.json").read_bytes())
NAMED = {
    "exsub": "ExSub", "exsub_majority": "majority", "collision": "Collision", "coco": "CoCo", "kvue": "KVUE",
    "privkv": "PrivKV", "pckv_ue": "PCKV-UE", "pckv_agrr": "PCKV-AGRR", "ddrm": "DDRM", "efmrtt": "EFMRTT",
}  # fmt: skip
"""The product's mechanisms whose errors are those of a law at the same epsilon."""


def test_laws_are_those_of_other_code() -> None:
    for places, s, epsilon, m, own, absent, opposite, *moments in GOLDEN["exsub"]:
        of = laws.exsub(places - s, s, epsilon, m)
        assert of[:3] == pytest.approx((own, opposite, absent), rel=1e-8)
        assert (*of.mean_moments, *of.share_moments) == pytest.approx(tuple(moments), rel=1e-8)
    for s, epsilon, t, own, *moments in GOLDEN["collision"]:
        of = laws.collision(s, epsilon, t)
        assert (of.own, *of.mean_moments) == pytest.approx((own, *moments), rel=1e-8)
    for s, epsilon, t, _, own, opposite, *moments in GOLDEN["coco"]:
        of = laws.coco(s, epsilon, t)
        found = (of.own, of.opposite, *of.mean_moments, *of.share_moments)
        assert found == pytest.approx((own, opposite, *moments), rel=1e-8)
    for places, s, epsilon, m, _, own, absent, opposite, *_ in GOLDEN["majority"]:
        of = laws.at(laws.subset(places - s, s, epsilon, laws.majority), m - 1)
        assert of[:3] == pytest.approx((own, opposite, absent), rel=1e-8)


def test_errors_of_what_they_are_compared_with_are_those_of_other_code() -> None:
    d, s = 128, 8
    for name, error in GOLDEN["means"].items():
        if name != "FutureRand":  # there the mechanism of its text stands, here what its authors ran
            assert mean_square(name, d, s, 1.0, 1) == pytest.approx(error, rel=1e-6), name
    for name, error in GOLDEN["shares"].items():
        assert share_square(name, d, s, 1.0) == pytest.approx(error, rel=1e-6), name
    square, left = laws.succinct(s, 1.0, 10_000)
    assert (square, left) == pytest.approx((GOLDEN["succinct"]["v0_raw"], GOLDEN["succinct"]["kappa"]), rel=1e-6)


def test_parameters_are_the_best_of_all_and_the_papers() -> None:
    for d, s, epsilon, _, t in GOLDEN["collision_best"]:
        assert laws.best_buckets(d, s, epsilon) == t
    for d, s, epsilon, means, shares in GOLDEN["coco_best"]:
        assert (laws.best_pairs(d, s, epsilon), laws.best_pairs(d, s, epsilon, shares=True)) == (means, shares)
    for places, s, epsilon, _, _, m, *_ in GOLDEN["paper_m"]:
        assert laws.paper_parameter("ExSub", places - s, s, epsilon) == m


@every("name", sorted(NAMED))
def test_the_products_variances_are_those_of_the_laws(name: str) -> None:
    for (d, s), epsilon in (((128, 8), 1), ((16, 3), 2), ((9, 1), Fraction(1, 2))):
        made = question({"name": name, "layout": ("signed", d, s, 0), "epsilon": epsilon})
        parameter = getattr(made, "m", None) or getattr(made, "t", None)
        error = mean_square(NAMED[name], d, s, float(epsilon), 1, parameter)
        assert float(made.variance(1, s / d)) == pytest.approx(error, rel=1e-6), (d, s, epsilon)


def test_every_mechanism_of_the_product_stands_in_a_table_or_serves_sets_alone() -> None:
    others = {"set_subset", "pckv_grr", "succinct", "future_rand"}
    assert {*NAMED, *others} == set(VECTORS)
    assert {*NAMED.values(), "PCKV-GRR", "SUCCINCT", "FutureRand"} == set(MEANS)


def test_expected_errors_are_those_of_other_code() -> None:
    """Up to epsilon 1 and within 2 %: other code took the parameters that are best for stubs, or without holders."""
    for name, (n, d, s) in {"T2(n=50000,128 coords,s=8)": (50_000, 128, 8),
                            "T4(n=50000,512 coords,s=100)": (50_000, 512, 100)}.items():  # fmt: skip
        for mechanism, rows in GOLDEN["tables"][name].items():
            for epsilon, row in zip((0.001, 0.01, 1), rows, strict=False):
                found = expected(mean_square(mechanism, d, s, epsilon, n), n, d)
                assert found == pytest.approx(tuple(row), rel=0.02), (name, mechanism, epsilon)


def near(found: Errors, exact: Errors, runs: int, d: int) -> None:
    """Within five standard deviations of totals, which chance leaves once in two million."""
    assert abs(found.total / exact.total - 1) < 5 * 0.76 / math.sqrt(d * runs)
    assert abs(found.largest / exact.largest - 1) < 5 * 0.2 / math.sqrt(runs)


def test_drawn_errors_have_the_mean_that_is_expected_and_come_again() -> None:
    for name in ("ExSub", "Collision", "CoCo", "KVUE", "SUCCINCT"):
        found = drawn(name, 128, 8, 1.0, 20_000, 20, seed=3)
        near(found, expected(mean_square(name, 128, 8, 1.0, 20_000), 20_000, 128), 20, 128)
        assert found == drawn(name, 128, 8, 1.0, 20_000, 20, seed=3)


@every("name", ["exsub", "collision"])
def test_reports_of_the_product_have_these_errors(name: str) -> None:
    made = question({"name": name, "layout": ("signed", 64, 4, 0), "epsilon": 1})
    exact = expected(float(made.variance(1, 4 / 64)), 4_000, 64)
    near(reported(made, 4_000, seed=1), exact, 1, 64)


def test_what_no_sign_tells_has_no_share_and_no_law() -> None:
    assert law("SUCCINCT", 16, 2, 1.0) is None
    assert share_square("SUCCINCT", 16, 2, 1.0) == math.inf
    assert share_square("DDRM", 16, 2, 1.0) > 1e20  # a gap of nothing, or of a last bit


def test_gradients_are_learned_from_the_better_the_less_noise() -> None:
    small = Learning(d=16, s=4, users=8_000, steps=8)
    exact, much, little = (accuracy(EXACT, 1.0, 0, small), accuracy("ExSub", 8.0, 0, small),
                           accuracy("PCKV-UE", 0.01, 0, small))  # fmt: skip
    assert exact > 0.85
    assert much > exact - 0.1
    assert 0.3 < little < 0.7
    assert accuracy("ExSub", 1.0, 5, small) == accuracy("ExSub", 1.0, 5, small)
