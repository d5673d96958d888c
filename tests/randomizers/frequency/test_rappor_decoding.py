# SPDX-License-Identifier: Apache-2.0
"""Decoding RAPPOR's cohorts: an optimal selection, right frequencies, and silence where there is nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.rappor import _cells, decode, lasso, student
from murmurate.randomizers import ParameterError
from murmurate.randomizers.frequency.rappor import RAPPOR
from tests.randomizers.frequency.checks import reports_of


def people(d: int, n: int) -> np.ndarray:
    """Values of n people, value v held by a share that falls as 1 / (v + 1)^2."""
    shares = 1 / np.arange(1, d + 1) ** 2
    return np.repeat(np.arange(d), np.round(n * shares / shares.sum()).astype(int))


@pytest.mark.parametrize("seed", range(5))
def test_the_lasso_stands_where_no_move_makes_it_better(seed: int) -> None:
    # Karush, Kuhn and Tucker: the bits of a moved value pull as hard as its penalty, those of the others less.
    made = RAPPOR(d=200, epsilon=2, bits=64, cohorts=4)
    cells, kept = _cells(made)
    rng = np.random.default_rng(seed)
    sums = rng.normal(0, 0.1, 256)
    sums[cells[7][kept[7]]] += 0.5
    penalties = np.full(200, 0.4)
    x = lasso(sums, cells, kept, penalties)
    design = made.design.transpose(0, 2, 1).reshape(-1, 200).astype(float)
    pull = design.T @ (sums - design @ x) - penalties
    assert x.min() >= 0
    assert 7 in np.flatnonzero(x)
    assert np.abs(pull[x > 0]).max() < 1e-8
    assert pull[x == 0].max() < 1e-8


@pytest.mark.parametrize(("d", "cohorts"), [(1000, 8), (5000, 16)])
def test_frequent_values_are_found_within_five_standard_errors_and_others_are_few(d: int, cohorts: int) -> None:
    # About as many values as bits, and more. Noise alone takes a value beyond five errors once in 10^6; what values
    # that were not selected leave in the bits comes on top, and is small here.
    made = RAPPOR(d=d, epsilon=4.394449155, bits=128, hashes=2, cohorts=cohorts)
    values = people(d, 200_000)
    reports = reports_of(made, values)
    found = decode(made, made.support(reports), len(values))
    truth = np.bincount(values, minlength=d) / len(values)
    assert found.selected[:8].all()
    assert found.selected.sum() <= 40
    errors = (found.frequencies - truth)[:8] / found.standard_errors[:8]
    assert np.abs(errors).max() < 5
    assert (found.frequencies[~found.selected] == 0).all()
    assert np.isnan(found.standard_errors[~found.selected]).all()


@pytest.mark.parametrize(("d", "n"), [(5000, 200_000), pytest.param(20_000, 100_000, marks=pytest.mark.audit)])
def test_erlingssons_test_finds_nothing_that_nobody_holds(d: int, n: int) -> None:
    # Zipf's long tail among 1 000 of the values leaves more in the bits than their noise, and the LASSO alone takes
    # hundreds of values for it. By the residuals one in twenty decodings finds any that is not there.
    made = RAPPOR(d=d, epsilon=4.394449155, bits=128, hashes=2, cohorts=16)
    shares = 1 / np.arange(1, 1001) ** 1.1
    values = np.repeat(np.arange(1000) * (d // 1000), np.round(n * shares / shares.sum()).astype(int))
    support = made.support(reports_of(made, values))
    truth = np.bincount(values, minlength=d) / len(values)
    loose, strict = decode(made, support, len(values)), decode(made, support, len(values), test="regression")
    assert (loose.selected & (truth == 0)).sum() > 50
    assert (strict.selected & (truth == 0)).sum() == 0
    assert strict.selected[[0, d // 1000, 2 * (d // 1000)]].all()
    assert not (strict.selected & ~loose.selected).any()
    kept = strict.selected
    assert np.array_equal(strict.frequencies[kept], loose.frequencies[kept])
    assert (strict.standard_errors[kept] >= loose.standard_errors[kept]).all()
    assert (strict.frequencies[~kept] == 0).all()
    assert np.isnan(strict.standard_errors[~kept]).all()


@pytest.mark.parametrize(("chance", "free", "known"), [(0.975, 30, 2.0423), (0.995, 60, 2.6603), (0.9999, 200, 3.7893)])
def test_students_t_is_what_tables_say(chance: float, free: int, known: float) -> None:
    assert student(chance, free) == pytest.approx(known, abs=2e-3)
    assert student(chance, 0) == np.inf


def test_a_test_that_is_none_is_refused() -> None:
    made, unknown = RAPPOR(d=5, epsilon=1), "bonferroni"
    with pytest.raises(ParameterError, match="rappor: test: found 'bonferroni'; allowed: penalty, regression"):
        decode(made, np.zeros((8, 129), np.int64), 1, test=unknown)  # type: ignore[arg-type]


def test_the_same_counts_give_the_same_answer_however_they_were_added_up() -> None:
    made = RAPPOR(d=300, epsilon=4)
    values = people(300, 20_000)
    reports = reports_of(made, values)
    parts = made.support(reports[:777]) + made.support(reports[777:])
    one, other = decode(made, made.support(reports), len(values)), decode(made, parts, len(values))
    assert one.frequencies.tobytes() == other.frequencies.tobytes()


def test_counts_without_noise_give_back_the_frequencies() -> None:
    made = RAPPOR(d=500, epsilon=8, bits=128, cohorts=8)
    truth = np.zeros(500)
    truth[[3, 77, 401]] = 0.5, 0.3, 0.2
    n = 8 * 10**12
    bits = made.design.transpose(0, 2, 1) @ truth
    ones = np.round(n / 8 * (float(made.q) + float(made.p - made.q) * bits)).astype(np.int64)
    found = decode(made, np.concatenate([np.full((8, 1), n // 8), ones], axis=1), n)
    assert np.flatnonzero(found.selected).tolist() == [3, 77, 401]
    np.testing.assert_allclose(found.frequencies, truth, atol=1e-9)


def test_where_nothing_stands_out_nothing_is_found() -> None:
    made = RAPPOR(d=3000, epsilon=0.5)
    values = np.arange(3000)
    found = decode(made, made.support(reports_of(made, values)), 3000, alpha=1e-6)
    assert not found.selected.any()
    assert (found.frequencies == 0).all()


@pytest.mark.parametrize("alpha", [0, 1, -0.1, True, "1", None])
def test_an_alpha_that_is_no_chance_is_refused(alpha: Any) -> None:
    made = RAPPOR(d=5, epsilon=1)
    with pytest.raises(ParameterError, match=r"rappor: alpha: found .*; allowed: a number between 0 and 1"):
        decode(made, np.zeros((8, 129), np.int64), 1, alpha=alpha)
