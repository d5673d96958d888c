# SPDX-License-Identifier: Apache-2.0
"""KVUE and PrivKV: one coordinate, drawn at random, and what is told of it. What they share is in test_compared.py."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, ReportError
from murmurate.randomizers.vectors import KVUE, PrivKV
from tests.cases import every
from tests.randomizers.vectors.laws import check_exactly

LAYOUT = ("signed", 128, 8, 0)


@every(("kind", "d", "most", "none"), [(kind, 4, 3, none) for kind in ("signed", "items") for none in (0, 1)])
def test_epsilon_holds_and_supports_are_exact(kind: str, d: int, most: int, none: int) -> None:
    check_exactly(KVUE((kind, d, most, none), 3))


def test_privkv_leaves_a_part_of_epsilon_unused_and_the_tuned_one_none() -> None:
    assert math.log(PrivKV(LAYOUT, 1).realised) == pytest.approx(0.719070196, rel=1e-9)
    for epsilon in (0.1, 1, 3, 10):
        made = PrivKV(LAYOUT, epsilon, tuned=1)
        assert 0 <= made.bound - made.realised < Fraction(1, 1 << 40)
        ratio = math.exp(epsilon)
        assert [float(chance) for chance in made.told] == pytest.approx(
            [ratio / (ratio + 3), 1 / (ratio + 3), 1 / (ratio + 3)]
        )


def test_counts_that_no_reports_give_are_refused() -> None:
    kvue = KVUE(("signed", 2, 1, 0), 1)
    kvue.check(np.array([1, 0, 1, 0, 3, 2]), 5)
    for wrong in ([1, 0, 1, 0, 3, 1], [3, 0, 1, 0, 3, 2], [-1, 0, 1, 0, 3, 2], [1, 0, 1, 0]):
        with pytest.raises(ReportError):
            kvue.check(np.array(wrong), 5)


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(ParameterError, match="tuned: found 2"):
        PrivKV(LAYOUT, 1, tuned=2)
    kvue = KVUE(["signed", 40, 5, 1], 1)
    assert kvue.malformed(np.array([[119], [120]], np.uint8)).tolist() == [False, True]
