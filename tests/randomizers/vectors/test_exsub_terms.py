# SPDX-License-Identifier: Apache-2.0
"""The formulas of exclusive subsets against golden values, exact cells and each other."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers.thresholds import MICRO, exp_floor
from murmurate.randomizers.vectors import ExSub, MajorityExSub, SetSubset
from murmurate.randomizers.vectors.exsub_terms import (
    best_length,
    published_length,
    support_terms,
    total_error,
)
from murmurate.randomizers.vectors.subset_cells import SubsetCells
from tests.cases import every

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "exsub_golden.json").read_text(encoding="ascii")
)


def close(found: Any, wanted: float) -> bool:
    """Whether they agree as far as ten golden digits can show."""
    return bool(abs(float(found) / wanted - 1) < 1e-9)


@every("row", GOLDEN["exsub"])
def test_probabilities_and_variances_have_the_golden_digits(row: list[Any]) -> None:
    number, s, epsilon, m, *wanted = row
    terms = support_terms(number - s, s, epsilon, m, 0)
    found = [(terms.held + terms.gap) / 2, terms.absent / 2, (terms.held - terms.gap) / 2]
    found += [*terms.mean_moments, *terms.share_moments]
    assert all(close(*pair) for pair in zip(found, wanted, strict=True))


@every("row", [row for row in GOLDEN["exsub"] if row[1] <= 64 and row[0] < 5000])
def test_a_mechanism_has_the_golden_variances(row: list[Any]) -> None:
    number, s, epsilon, m, pt, pf, pr, v0, v1, f0, f1 = row
    exsub = ExSub(["signed", number - s, s, 0], epsilon, m)
    found = [*map(float, exsub.supports[:3]), *exsub.mean_moments, *exsub.share_moments]
    assert found == pytest.approx([pt, pr, pf, v0, v1, f0, f1], rel=2e-6)  # 0.693147 is not ln 2


@every("row", GOLDEN["majority"])
def test_the_majority_has_the_golden_probabilities(row: list[Any]) -> None:
    number, s, epsilon, m, tau, pt, pf, pr, error, less = row
    terms = support_terms(number - s, s, epsilon, m, tau)
    assert [(terms.held + terms.gap) / 2, terms.absent / 2] == pytest.approx([pt, pf], rel=1e-8)
    assert (terms.held - terms.gap) / 2 == pytest.approx(pr, rel=1e-8)
    absent, held = terms.mean_moments
    assert (s * held + (number - s) * absent) / number == pytest.approx(error, rel=1e-7)
    lengths = np.arange(1, number + 1)
    absent, held = support_terms(number - s, s, epsilon, lengths, 0).mean_moments
    assert error / (s * held + (number - s) * absent).min() * number == pytest.approx(less, rel=1e-5)


@every("row", GOLDEN["opt_m"])
def test_the_best_length_over_all_coordinates_is_the_golden_one(row: list[Any]) -> None:
    number, s, epsilon, best, error, published, _, of_shares, error_of_shares = row
    lengths = np.arange(1, number + 1)
    terms = support_terms(number - s, s, epsilon, lengths, 0)
    for (absent, held), m, wanted in (
        (terms.mean_moments, best, error),
        (terms.share_moments, of_shares, error_of_shares),
    ):
        errors = (s * held + (number - s) * absent) / number
        assert int(np.nanargmin(errors)) + 1 == m
        assert np.nanmin(errors) == pytest.approx(wanted, rel=1e-7)
    assert published_length(number - s, s, round(epsilon * MICRO)) == published


@every("row", GOLDEN["rank_m"]["rows"])
def test_the_best_length_over_real_coordinates_is_the_golden_one(row: list[Any]) -> None:
    d, s, epsilon, of_means, of_shares = row
    assert best_length(d, s, round(epsilon * MICRO), 0, d + s) == of_means
    absent, held = support_terms(d, s, epsilon, np.arange(1, d + s), 0).share_moments
    assert int(np.argmin(s * held + (d - s) * absent)) + 1 == of_shares


def test_samples_find_the_best_of_all_lengths() -> None:
    for d, s, epsilon, tau in ((20_000, 5, 0.3, 0), (9_000, 9, 2.0, 1), (30_000, 12, 0.5, None), (5_000, 1, 0.1, 0)):
        most = d if tau is None else d + s
        micro = round(epsilon * MICRO)
        errors = total_error(d, s, micro, tau, np.arange(1, most + 1))
        assert best_length(d, s, micro, tau, most) == int(np.nanargmin(errors)) + 1


def test_cells_and_their_probabilities_are_the_golden_ones() -> None:
    wanted = GOLDEN["cells_dp5_s2_eps1_m3"]
    table = SubsetCells(3, 2, 3, 0, exp_floor(MICRO))
    for agreeing in range(3):
        for opposite in range(3 - agreeing):
            k = agreeing + opposite
            chance = table.law[k] * Fraction(comb(k, agreeing), 1 << k)
            assert close(chance * table.weight(agreeing, opposite), wanted[f"{agreeing},{opposite}"])


def test_blankets_are_the_golden_ones() -> None:
    for name, made in (
        ("exsub(136,8,1,9)", ExSub(["signed", 128, 8, 0], 1, 9)),
        ("majority(136,8,1,m=136,tau=1)", MajorityExSub(["signed", 128, 8, 0], 1, 136)),
    ):
        apart, both, neither = (float(made.table.plain * share) for share in made.table.apart(signed=True))
        assert [apart, apart, both, neither] == pytest.approx(GOLDEN["blanket_pars"][name], rel=1e-8)
    for name, wanted in GOLDEN["beta_TV"].items():
        number, s, epsilon, m = (float(part) for part in name[6:-1].split(","))
        table = SubsetCells(int(number - s), int(s), int(m), 0, exp_floor(round(epsilon * MICRO)))
        assert float((table.realised - 1) * table.plain * table.apart(signed=True)[0]) == pytest.approx(
            wanted, rel=1e-8
        )


def test_known_totals_and_half_the_error_for_sets() -> None:
    exsub, sets = ExSub(["signed", 128, 8, 0], 1), SetSubset(["items", 128, 8, 0], 1)
    held, absent = exsub.mean_moments.held, exsub.mean_moments.absent
    assert (8 * held + 120 * absent) / 128 == pytest.approx(GOLDEN["totals_d128_s8_eps1"]["mean"], rel=1e-7)
    of_shares = ExSub(["signed", 128, 8, 0], 1, 8).share_moments
    total = (8 * of_shares.held + 120 * of_shares.absent) / 128
    assert total == pytest.approx(GOLDEN["totals_d128_s8_eps1"]["freq"], rel=1e-7)
    mine = (8 * float(sets.variance(1, 1.0)) + 120 * float(sets.variance(1, 0.0))) / 128
    assert 0.4 < mine / total < 0.6


def test_the_covariance_of_two_coordinates_that_a_user_holds_is_the_golden_one() -> None:
    """From the law: E[R1 R2] - 1, where Rk is (I+ - I-) / gap of coordinate k."""
    (wanted,) = (value for name, value in GOLDEN.items() if name.startswith("cov"))
    s = 3  # of five coordinates, two of them no specials
    table = SubsetCells(2, s, 3, 0, exp_floor(800_000))
    agreeing, opposite, _ = table.expected()
    gap = (agreeing - opposite) / s
    product = Fraction(0)
    for k in range(s + 1):
        for a in range(k + 1):
            pairs = Fraction((2 * a - k) ** 2 - k, s * (s - 1))  # the mean product over pairs of different specials
            product += table.law[k] * Fraction(comb(k, a), 1 << k) * table.weight(a, k - a) * pairs
    assert float(product / gap**2 - 1) == pytest.approx(wanted, rel=1e-7)
