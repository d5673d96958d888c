# SPDX-License-Identifier: Apache-2.0
"""Unary encodings: OUE and SUE, and the thresholded histogram THE, which is one."""

from __future__ import annotations

import math
from decimal import localcontext
from fractions import Fraction
from typing import Any

import pytest

from murmurate.randomizers import ParameterError, mechanism
from murmurate.randomizers.frequency.the import _DIGITS, STEPS, THE, _variance, optimal_theta
from murmurate.randomizers.frequency.unary import OUE, SUE, Unary
from murmurate.randomizers.thresholds import exp_floor, micro_nats
from tests.aggregators.accounting.given import GOLDEN as MIXING
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
)

KINDS: list[type[Unary]] = [OUE, SUE, THE]
every_kind = every("kind", KINDS)


@every("row", GOLDEN["fo"])
def test_probabilities_and_variances_of_a_rare_value_are_the_golden_ones(row: dict[str, Any]) -> None:
    oue, sue, best = (kind(d=16, epsilon=row["eps"]) for kind in KINDS)
    one = THE(d=16, epsilon=row["eps"], theta=STEPS)
    close(oue.q, row["OUE_q"])
    close(sue.p, row["SUE_p"])
    close(one.q, row["THE1_q"])
    for made, golden in ((oue, "OUE_var"), (sue, "SUE_var"), (best, "THE_opt_var"), (one, "THE1_var")):
        close(float(made.variance(1, 0)), row[golden])
    assert isinstance(best, THE)
    assert best.theta / STEPS == pytest.approx(row["THE_theta_opt"], abs=2 / STEPS)


@every_kind
@every("d", [2, 3, 4, 5])
@every("epsilon", FEW)
def test_no_report_tells_more_than_epsilon(kind: type[Unary], d: int, epsilon: Any) -> None:
    check_the_promise(kind(d=d, epsilon=epsilon))


@every_kind
@every("epsilon", EPSILONS)
def test_levels_of_every_claim_keep_it_and_waste_no_more_than_the_mechanism_must(
    kind: type[Unary], epsilon: Any
) -> None:
    made = kind(d=2, epsilon=epsilon)
    assert made.realised <= exp_floor(made.epsilon_micro)
    ideal = math.exp(made.epsilon)
    if isinstance(made, THE):
        x, y = (math.exp(-made.epsilon / 2 * part) for part in (made.theta / STEPS, 1 - made.theta / STEPS))
        ideal *= x * (2 - x) * y * (2 - y) * (1 - 1e-9)
    assert float(made.realised) >= ideal * (1 - 2**-14)


@every_kind
@every(("d", "epsilon"), [(2, 1.0), (13, 0.5), (300, 12.0)])
def test_both_halves_write_the_same_bytes(kind: type[Unary], d: int, epsilon: float) -> None:
    check_both_halves_write_the_same_bytes(kind(d=d, epsilon=epsilon))


@every_kind
@every("value", [0, 3])
def test_reports_follow_the_law(kind: type[Unary], value: int) -> None:
    check_reports_follow_the_law(kind(d=4, epsilon=1), value)


@every_kind
def test_estimates_are_unbiased_and_as_variable_as_they_say(kind: type[Unary]) -> None:
    check_unbiased_and_as_variable_as_said(kind(d=5, epsilon=1.5))


@every_kind
def test_bad_input_is_refused(kind: type[Unary]) -> None:
    check_bad_input_is_refused(kind(d=5, epsilon=1))


@every("epsilon", [0.01, 0.5, 1, 2, 5, 11, 20])
def test_theta_has_the_least_variance_of_all_on_a_coarse_grid_and_next_to_it(epsilon: float) -> None:
    micro = round(epsilon * 1_000_000)
    best = optimal_theta(micro)
    with localcontext(_DIGITS):
        others = {*range(STEPS // 4, STEPS, 512), STEPS, best - 1, best + 1}
        assert all(_variance(micro, best) <= _variance(micro, theta) for theta in others)


def test_the_spec_names_theta_and_another_theta_is_another_mechanism() -> None:
    best = THE(d=4, epsilon=1)
    assert best.spec() == {"name": "the", "d": 4, "epsilon_micro": 1_000_000, "theta": best.theta}
    assert THE(d=4, epsilon=1, theta=best.theta) == best
    assert THE(d=4, epsilon=1, theta=best.theta + 1) != best


@every("theta", [-1, STEPS + 1, 0.5, True, "1"])
def test_a_theta_outside_the_unit_is_refused(theta: Any) -> None:
    with pytest.raises(ParameterError, match=r"the: theta: found .*; allowed: a whole number from 0 to 65536"):
        THE(d=4, epsilon=1, theta=theta)


# ---- removal (RAP_R) ----


@every("epsilon", [Fraction(1, 10), 0.5, 1, 3, 10])
def test_a_value_that_is_removed_shows_epsilon_and_one_that_is_replaced_twice_that(epsilon: Any) -> None:
    made = SUE.removal(d=4, epsilon=epsilon)
    assert made.epsilon_micro == 2 * micro_nats(epsilon)
    assert (made, made.digest) == (mechanism(made.spec()), SUE(d=4, epsilon=2 * epsilon).digest)
    none = nobody(made)
    ratios = [chance / none[row] for value in range(4) for row, chance in made.law(value).items()]
    assert max(max(ratios), 1 / min(ratios)) == made.removing
    e = math.exp(epsilon)
    assert e * (1 - 2**-14) <= made.removing <= e
    assert float(made.removing**2) == pytest.approx(float(made.realised), rel=1e-8)
    assert float(made.q) == pytest.approx(1 / (e + 1), rel=1e-5)


@every("epsilon", [0.5, 3])
@every("kind", [OUE, SUE])
def test_the_blanket_of_removal_is_that_of_the_law(kind: type[Unary], epsilon: float) -> None:
    made = kind(d=3, epsilon=epsilon)
    laws, none = [made.law(value) for value in range(3)], nobody(made)
    found: dict[tuple[Fraction, Fraction], Fraction] = {}
    for row, chance in laws[0].items():
        least = min(none[row], *(law[row] for law in laws))
        pair = chance / least, none[row] / least
        found[pair] = found.get(pair, Fraction(0)) + least
    said: dict[tuple[Fraction, Fraction], Fraction] = {}
    for mass, one, other in made.removal_blanket():
        said[one, other] = said.get((one, other), Fraction(0)) + mass
    assert said == found


def test_at_a_central_target_removal_is_the_golden_mechanism() -> None:
    for row in MIXING["kosarak"]:
        local = math.log(row["m"] - 1)  # m = epsilon^2 (n - 1) / (14 ln(2 / delta)) = e^local + 1
        made = SUE.removal(d=100, epsilon=local)
        assert float(made.variance(990_002, 0)) == pytest.approx(row["RAP_R_var"], rel=1e-4)


def nobody(made: Unary) -> dict[bytes, Fraction]:
    """The law of somebody who holds nothing: every bit as a value's other ones."""
    rows = {row: int.from_bytes(row, "little").bit_count() for row in made.law(0)}
    return {row: made.q**ones * (1 - made.q) ** (made.d - ones) for row, ones in rows.items()}
