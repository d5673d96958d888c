# SPDX-License-Identifier: Apache-2.0
"""Whole horizons of keyed devices: errors are as large as their variances say."""

from fractions import Fraction

import pytest

from murmurate.agents.simulate.told_horizons import told_errors
from tests.cases import every


@every("name", ["exsub_online", "ddrm_online"])
def test_squared_errors_are_about_their_variances_and_the_seed_decides(name: str) -> None:
    told = told_errors(name, Fraction(1), 2_000, 3)
    assert told.numbers == 248
    assert told.nodes == pytest.approx(1, abs=0.5)  # five deviations of .1
    assert told == told_errors(name, Fraction(1), 2_000, 3)
