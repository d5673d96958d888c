# SPDX-License-Identifier: Apache-2.0
"""GRR: the same demands as on every frequency oracle."""

from __future__ import annotations

import pytest

from murmurate.randomizers import GRR
from tests.randomizers.frequency.checks import (
    check_bad_input_is_refused,
    check_both_halves_write_the_same_bytes,
    check_reports_follow_the_law,
    check_unbiased_and_as_variable_as_said,
)


@pytest.mark.parametrize("d", [2, 7, 300, 70_000])
def test_both_halves_write_the_same_bytes(d: int) -> None:
    check_both_halves_write_the_same_bytes(GRR(d=d, epsilon=1))


@pytest.mark.parametrize("value", [0, 5])
def test_reports_follow_the_law(value: int) -> None:
    check_reports_follow_the_law(GRR(d=6, epsilon=1), value)


@pytest.mark.parametrize("d", [2, 5])
def test_estimates_are_unbiased_and_as_variable_as_they_say(d: int) -> None:
    check_unbiased_and_as_variable_as_said(GRR(d=d, epsilon=1.5))


def test_bad_input_is_refused() -> None:
    check_bad_input_is_refused(GRR(d=5, epsilon=1))
