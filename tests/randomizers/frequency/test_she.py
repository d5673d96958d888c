# SPDX-License-Identifier: Apache-2.0
"""Summed histograms: noise in whole numbers, tables that mirror each other."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.accounting import blanket_delta, clones_epsilon, mixed_claim
from murmurate.randomizers import OUE, ParameterError, ReportError
from murmurate.randomizers.frequency import she
from murmurate.randomizers.frequency.she import SHE, levels
from murmurate.randomizers.thresholds import exp_floor, micro_nats
from murmurate.topics.block import MAX_PAYLOAD
from murmurate.topics.messages import MAX_CELLS
from tests.audit.registry import EPSILONS
from tests.cases import every
from tests.randomizers.chosen import Chosen
from tests.randomizers.frequency.checks import (
    FEW,
    check_bad_input_is_refused,
    check_both_halves_write_the_same_bytes,
    check_reports_follow_the_law,
    check_the_promise,
    check_unbiased_and_as_variable_as_said,
    close,
    reports_of,
)


@every(("d", "grid", "reach"), [(2, 2, 3), (2, 4, 1), (3, 2, 1), (4, 2, 0), (5, 2, 0)])
@every("epsilon", FEW)
def test_no_report_tells_more_than_epsilon(d: int, grid: int, reach: int, epsilon: Any) -> None:
    check_the_promise(SHE(d=d, epsilon=epsilon, grid=grid, reach=reach))


@every(("grid", "reach"), [(2, 0), (2, 5), (16, 20), (256, 127), (65_534, 0)])
@every("epsilon", [EPSILONS[0], EPSILONS[-1]], long=EPSILONS[3::3])
def test_a_table_shares_out_all_words_and_no_pair_breaks_half_the_promise(grid: int, reach: int, epsilon: Any) -> None:
    table = levels(micro_nats(epsilon), grid, reach)
    assert len(table) == (2 * reach + 1) * grid + 1
    assert sum(table) == 2**64
    assert min(table) >= 1
    bound = exp_floor(micro_nats(epsilon))
    worst = max(Fraction(a, b) for a, b in zip(table, reversed(table), strict=True)) ** 2
    assert math.exp(epsilon) * (1 - 2**-14) <= worst <= bound


@every("epsilon", [0.5, 1, 2, 4])
def test_its_variance_is_the_golden_one(epsilon: float) -> None:
    # 8 / eps^2 belongs to the continuous noise; on 256 numbers a unit it is less by eps^2 / (48 * 256^2) of itself,
    # and what the table's far end gets too much at epsilon 4 is smaller still.
    made = SHE(d=4, epsilon=epsilon)
    close(float(made.variance(1, 0)), 8 / epsilon**2, 1e-5)
    assert made.variance(10, np.array([0, 0.5, 1])).tolist() == [float(made.variance(10, 0))] * 3


def test_at_small_epsilon_the_ends_cost_nothing_and_even_save_variance() -> None:
    made, oue = (kind(d=4, epsilon=0.01) for kind in (SHE, OUE))
    assert oue.variance(1, 0) <= made.variance(1, 0) < 8 / 0.01**2


@every(("epsilon", "grid", "reach"), [(1, 2, 1), (0.3, 4, 3), (6, 256, 127)])
def test_every_number_gets_as_many_words_as_its_law_says(epsilon: float, grid: int, reach: int) -> None:
    # A cell is constant between the steps of the table: look at both sides of each, in an empty and in the own cell.
    made = SHE(d=2, epsilon=epsilon, grid=grid, reach=reach)
    table = levels(made.epsilon_micro, grid, reach)
    starts = np.array([0, *np.cumsum(np.array(table[:-1], np.uint64))], np.uint64)
    lasts = np.append(starts[1:] - np.uint64(1), np.uint64(2**64 - 1))
    for words in (starts, lasts):
        cells = made.perturb(np.zeros(len(words), int), Chosen(np.stack([words, words], axis=1)))
        own, empty = cells.reshape(len(words), 2, -1).transpose(1, 0, 2)
        numbers = [int.from_bytes(cell.tobytes(), "little") for cell in empty]
        assert numbers == list(range(made.top + 1))
        assert [int.from_bytes(cell.tobytes(), "little") for cell in own] == numbers[::-1]


@every("made", [SHE(d=2, epsilon=1), SHE(d=13, epsilon=0.5, grid=4, reach=5), SHE(d=100, epsilon=20)])
def test_both_halves_write_the_same_bytes(made: SHE) -> None:
    check_both_halves_write_the_same_bytes(made)


@every("value", [0, 2])
def test_reports_follow_the_law(value: int) -> None:
    check_reports_follow_the_law(SHE(d=3, epsilon=1, grid=2, reach=1), value)


@every(("grid", "reach"), [(2, 1)], long=[(256, 127)])
def test_estimates_are_unbiased_and_as_variable_as_they_say(grid: int, reach: int) -> None:
    check_unbiased_and_as_variable_as_said(SHE(d=5, epsilon=1.5, grid=grid, reach=reach))


def test_bad_input_is_refused() -> None:
    made = SHE(d=2, epsilon=1, grid=2, reach=1)
    check_bad_input_is_refused(made)
    reports = np.array([[6, 0], [7, 0], [0, 255]], np.uint8)
    assert made.malformed(reports).tolist() == [False, True, True]
    with pytest.raises(ReportError, match="found 2 that no value gives"):
        made.support(reports)
    with pytest.raises(ReportError, match="counts from 0 to n"):
        made.estimate(np.array([2, 0, 0, 3, 0, 0]), 2)


@every(("grid", "reach"), [(3, 1), (1, 1), (0, 1), (2, -1), (256, 128), (True, 1), (2.0, 1)])
def test_a_grid_that_is_none_is_refused(grid: Any, reach: Any) -> None:
    with pytest.raises(ParameterError, match=r"she: .*allowed: "):
        SHE(d=4, epsilon=1, grid=grid, reach=reach)


def test_the_spec_names_the_grid() -> None:
    assert SHE(d=6, epsilon=1).spec() == {"name": "she", "d": 6, "epsilon_micro": 1_000_000, "grid": 256, "reach": 127}


@every(("grid", "reach", "bits"), [(256, 127, 16), (2, 0, 2), (2, 1, 3)])
def test_its_support_counts_bits_so_that_no_count_exceeds_the_reports(grid: int, reach: int, bits: int) -> None:
    made = SHE(d=5, epsilon=1, grid=grid, reach=reach)
    reports = reports_of(made, np.arange(300) % 5)
    support = made.support(reports)
    assert support.shape == (made.outcomes,) == (5 * bits,)
    assert 0 <= support.min() <= support.max() <= 300
    cells = reports.reshape(300, 5, -1).astype(np.int64)
    sums = (cells * 256 ** np.arange(cells.shape[2])).sum(axis=(0, 2))
    assert (support.reshape(5, bits) @ (1 << np.arange(bits)) == sums).all()


def test_the_largest_domain_fits_a_tally_and_one_of_its_reports_a_block() -> None:
    largest = SHE(d=SHE.max_domain, epsilon=1)
    assert largest.outcomes == 1 << 21 <= MAX_CELLS
    assert largest.wire_size <= MAX_PAYLOAD < 2 * largest.wire_size


def test_its_blanket_tells_a_few_ratios_apart_and_loses_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SHE(d=16, epsilon=1)
    few = made.blanket()
    assert len(few) < 400
    assert sum(atom.mass * atom.one for atom in few) == sum(atom.mass * atom.other for atom in few) == 1
    assert sum(atom.mass for atom in few) ** 2 * made.realised == 1
    monkeypatch.setattr(she, "_KINDS", 64)
    she._kinds.cache_clear()
    many = made.blanket()
    she._kinds.cache_clear()
    assert len(many) > 4000
    coarse, fine = (blanket_delta(blanket, 100_000, 0.0113).bound for blanket in (few, many))
    assert fine <= coarse <= fine * 1.01


def test_its_claim_is_well_below_what_clones_give() -> None:
    made = SHE(d=16, epsilon=1)
    claim = mixed_claim(made, 100_000, 1e-8)
    assert (claim.bound, claim.epsilon) == ("blanket", 0.0113)
    assert claim.epsilon < 0.6 * clones_epsilon(1.0, 100_000, 1e-8, 3)
