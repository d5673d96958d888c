"""KVUE: one coordinate, drawn at random, by randomized response over its three contents."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, question
from murmurate.randomizers.vectors import KVUE
from tests.cases import every
from tests.randomizers.vectors.laws import (
    all_held,
    check_exactly,
    estimates_are_right,
    numbers,
    one_and_many_agree,
    reports_follow_the_law,
)


@every(("kind", "d", "most", "none"), [
    (kind, d, most, none) for kind in ("signed", "items") for d, most in ((1, 1), (3, 2), (4, 3)) for none in (0, 1)
])  # fmt: skip
def test_epsilon_holds_and_supports_are_exact(kind: str, d: int, most: int, none: int) -> None:
    for epsilon in (0.05, 1, 3):
        check_exactly(KVUE([kind, d, most, none], epsilon))


def test_one_user_and_many_give_the_same_reports() -> None:
    kvue = KVUE(["signed", 40, 5, 1], 1)
    values = [kvue.value(held) for held in all_held(KVUE(["signed", 4, 2, 1], 1))] + numbers(kvue)
    one_and_many_agree(kvue, values)


def test_reports_follow_the_law_and_estimates_are_right() -> None:
    kvue = KVUE(["signed", 3, 2, 0], 1)
    value = kvue.value(((0, 1), (2, -1)))
    reports_follow_the_law(kvue, value)
    reports_follow_the_law(kvue, numbers(kvue)[0])
    estimates_are_right(kvue, value)


def test_variances_are_those_of_the_formulas() -> None:
    kvue = KVUE(["signed", 128, 8, 0], 1)
    total = 8 * kvue.mean_moments.held + 120 * kvue.mean_moments.absent
    assert total / 128 == pytest.approx(431.01019, rel=1e-7)


def test_a_spec_gives_the_same_question() -> None:
    kvue = KVUE(["signed", 40, 5, 1], 1)
    assert question(kvue.spec()) == kvue
    with pytest.raises(ParameterError, match="most: found 5 of 4 items"):
        KVUE(["items", 4, 5, 0], 1)
    assert kvue.malformed(np.array([[119], [120]], np.uint8)).tolist() == [False, True]
