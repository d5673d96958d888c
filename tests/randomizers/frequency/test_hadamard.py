# SPDX-License-Identifier: Apache-2.0
"""Hadamard response: a bit of a chosen row, read by a fast transform."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ReportError
from murmurate.randomizers.frequency.hadamard import HadamardResponse
from tests.audit.registry import EPSILONS
from tests.cases import every
from tests.randomizers.frequency.checks import (
    FEW,
    GOLDEN,
    check_bad_input_is_refused,
    check_both_halves_write_the_same_bytes,
    check_reports_follow_the_law,
    check_the_promise,
    check_unbiased_and_as_variable_as_said,
    close,
    reports_of,
)


@every("row", GOLDEN["fo"])
def test_its_variance_is_the_golden_one_of_binary_local_hashing(row: dict[str, Any]) -> None:
    close(float(HadamardResponse(d=16, epsilon=row["eps"]).variance(1, 0)), row["BLH_var"])


@every("d", [2, 3, 4, 5, 20])
@every("epsilon", FEW)
def test_no_report_tells_more_than_epsilon(d: int, epsilon: Any) -> None:
    check_the_promise(HadamardResponse(d=d, epsilon=epsilon))


@every("epsilon", EPSILONS)
def test_the_whole_promise_is_used(epsilon: Any) -> None:
    assert float(HadamardResponse(d=2, epsilon=epsilon).realised) >= math.exp(epsilon) * (1 - 2**-14)


@every("d", [2, 3, 8, 100])
def test_the_law_supports_a_value_with_p_and_every_other_one_with_exactly_a_half(d: int) -> None:
    made = HadamardResponse(d=d, epsilon=1)
    law = made.law(d - 1)
    held = np.array([made.support(np.frombuffer(report, np.uint8)[None]) for report in law])
    chances = [sum(c for c, row in zip(law.values(), held, strict=True) if row[v]) for v in range(d)]
    assert chances == [made.q] * (d - 1) + [made.p]


@every(("d", "size"), [(2, 1), (7, 1), (63, 1), (64, 1), (127, 1), (128, 2), (40_000, 3)])
def test_a_report_is_a_row_and_a_bit_in_whole_bytes(d: int, size: int) -> None:
    made = HadamardResponse(d=d, epsilon=1)
    assert made.wire_size == size == math.ceil((math.ceil(math.log2(d + 1)) + 1) / 8)
    check_both_halves_write_the_same_bytes(made)


@every("d", [5, 200])
def test_the_fast_transform_counts_what_a_look_at_every_report_counts(d: int) -> None:
    made = HadamardResponse(d=d, epsilon=1)
    reports = reports_of(made, np.arange(500) % d)
    numbers = [int.from_bytes(report.tobytes(), "little") for report in reports]
    direct = [sum((y % made.rows & (v + 1)).bit_count() % 2 == y // made.rows for y in numbers) for v in range(d)]
    assert made.support(reports).tolist() == direct


@every("value", [0, 4])
def test_reports_follow_the_law(value: int) -> None:
    check_reports_follow_the_law(HadamardResponse(d=5, epsilon=1), value)


def test_estimates_are_unbiased_and_as_variable_as_they_say() -> None:
    check_unbiased_and_as_variable_as_said(HadamardResponse(d=5, epsilon=1.5))


def test_bad_input_is_refused() -> None:
    check_bad_input_is_refused(HadamardResponse(d=5, epsilon=1))
    made = HadamardResponse(d=5, epsilon=1)
    reports = np.array([[0], [15], [16]], np.uint8)
    assert made.malformed(reports).tolist() == [False, False, True]
    with pytest.raises(ReportError, match="found 1 that no value gives"):
        made.support(reports)
