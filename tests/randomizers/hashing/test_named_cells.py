# SPDX-License-Identifier: Apache-2.0
"""OLH whose number of cells is named: the promise, one description a mechanism, variance, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, mechanism
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.frequency.olh import OLH
from murmurate.randomizers.mechanism import nats
from tests.cases import every
from tests.randomizers.frequency.checks import check_reports_follow_the_law
from tests.randomizers.hashing.draws import KEY, ROUND


@every("g", [2, 3, 9, 40])
@every("epsilon", [Fraction(1, 10**6), Fraction(1, 3), 1, 4, 20])
@every("d", [2, 4])
def test_no_report_tells_more_than_epsilon_whatever_the_number_of_cells(g: int, epsilon: Any, d: int) -> None:
    for pool in (1, 2, 5):
        made = OLH(d=d, epsilon=epsilon, pool=pool, g=g).of_round(ROUND)
        found = audit_exact(made, round=ROUND)
        assert found.violations == ()
        assert found.realised in (0, nats(made.realised))
        assert float(made.realised) >= math.exp(made.epsilon) * (1 - 2**-14)


def test_a_named_number_is_part_of_the_description_and_the_usual_one_is_not() -> None:
    assert OLH(d=9, epsilon=1, g=4) == OLH(d=9, epsilon=1)  # round(e + 1)
    assert OLH(d=9, epsilon=1, g=4).spec() == {"name": "olh", "d": 9, "epsilon_micro": 10**6, "pool": 1 << 14}
    named = OLH(d=9, epsilon=1, g=45)
    assert named.spec() == {"name": "olh", "d": 9, "epsilon_micro": 10**6, "pool": 1 << 14, "g": 45}
    assert mechanism(named.spec()) == named != OLH(d=9, epsilon=1)
    assert repr(named) == "OLH(d=9, epsilon=1.0, g=45)"
    assert named.of_round(ROUND).g == 45


@every(("epsilon", "g"), [(1.0, 4), (4.478189539, 45), (6.223318796, 185)])
def test_the_variance_of_a_rare_value_is_that_of_the_formula(epsilon: float, g: int) -> None:
    made, e = OLH(d=100, epsilon=epsilon, g=g), math.exp(math.floor(epsilon * 1e6) / 1e6)
    assert float(made.variance(1, 0)) == pytest.approx((e + g - 1) ** 2 / ((e - 1) ** 2 * (g - 1)), rel=1e-9)


def test_reports_follow_the_law_and_estimates_are_as_variable_as_they_say() -> None:
    check_reports_follow_the_law(OLH(d=5, epsilon=1.5, pool=3, g=7).of_round(ROUND), 3)
    runs, n, held = 400, 500, np.arange(500) % 5
    made = OLH(d=5, epsilon=2.0, pool=0, g=30)
    users = np.random.default_rng(1).integers(0, 256, (runs * n, 16), dtype=np.uint8)
    reports = made.perturb(np.tile(held, runs), KEY.draw(users, round=ROUND)).reshape(runs, n, -1)
    estimates = np.array([made.estimate(made.support(run), n) for run in reports])
    exact = made.variance(n, 0.2)
    # 5 standard errors of each of five means and variances: a false alarm below 1e-5 over keys, and this key is fixed
    assert (np.abs(estimates.mean(axis=0) - 0.2) < 5 * np.sqrt(exact / runs)).all()
    assert (np.abs(estimates.var(axis=0) / exact - 1) < 5 * np.sqrt(2 / runs) * 1.3).all()


@every("g", [1, -2, 2.5, True, "4", (1 << 24) + 1, None])
def test_cells_that_are_none_are_refused(g: Any) -> None:
    with pytest.raises(ParameterError, match="olh: g: found"):
        OLH(d=9, epsilon=1, g=g)
