# SPDX-License-Identifier: Apache-2.0
"""What fake reports add: laws, numbers of the literature, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.accounting import (
    AccountingError,
    blanket_delta,
    claim_against_users,
    claim_with_fakes,
    fakes_delta,
    fakes_epsilon,
    literature,
    mixed_claim,
    shown_at_least,
)
from murmurate.aggregators.accounting.fakes import uniform_part
from murmurate.randomizers import BLH, GRR, OLH, OUE, SHE, SW, HadamardResponse, ParameterError, SubsetSelection
from murmurate.randomizers.fakes import variance_with_fakes
from tests.aggregators.accounting.given import GOLDEN, Ratios, exact_delta
from tests.cases import every

FAKED = (
    GRR(d=7, epsilon=1), OLH(d=40, epsilon=2), BLH(d=9, epsilon=0.5), HadamardResponse(d=10, epsilon=1),
    SubsetSelection(d=12, epsilon=1), SubsetSelection(d=5, epsilon=3),
)  # fmt: skip


@every("mechanism", FAKED)
def test_a_mechanism_is_a_law_relative_to_the_uniform_one(mechanism: GRR) -> None:
    atoms, share = uniform_part(mechanism)
    assert sum(mass for mass, _, _ in atoms) == 1
    assert sum(mass * one for mass, one, _ in atoms) == sum(mass * other for mass, _, other in atoms) == 1
    assert max(max(one / other, other / one) for _, one, other in atoms) == mechanism.realised
    assert 0 < share <= min(min(one, other) for _, one, other in atoms)


@every("mechanism", FAKED)
def test_without_fakes_it_is_the_blanket_or_its_uniform_part(mechanism: GRR) -> None:
    rel = 5e-2 if isinstance(mechanism, HadamardResponse) else 1e-6  # of whose blanket a row is not uniform
    for epsilon in (0.1, 0.3):
        blanket = blanket_delta(mechanism.blanket(), 50, epsilon).bound
        assert blanket * (1 - 1e-6) <= fakes_delta(mechanism, 50, 0, epsilon).bound <= blanket * (1 + rel)


@every("mechanism", FAKED)
def test_alone_among_fakes_it_is_the_exact_expectation(mechanism: GRR) -> None:
    for fakes in (1, 3, 6):
        exact = exact_delta(uniform_part(mechanism).atoms, fakes + 1, Fraction(5, 4))
        found = fakes_delta(mechanism, 1, fakes, float(np.log(1.25)))
        assert float(exact) <= found.bound <= float(exact) * (1 + 2e-3) + 1e-12


@every(("users", "fakes"), [(2, 1), (3, 2), (5, 3)])
def test_with_users_it_is_the_exact_expectation_over_both_kinds(users: int, fakes: int) -> None:
    """Sums of scores of both kinds, outcome by outcome; the truth, with K - 1 other draws, is no more than that."""
    grr, ratio = GRR(d=3, epsilon=1), Fraction(3, 2)
    atoms, share = uniform_part(grr)

    def sums(n: int, sure: int) -> Ratios:
        """The chances of (the sum, how many draws it has)."""
        found: Ratios = {(Fraction(0), Fraction(0)): Fraction(1)}
        for chance in [share] * n + [Fraction(1)] * sure:
            more: Ratios = {}
            for (total, k), likely in found.items():
                for mass, one, other in atoms:
                    at = total + one - ratio * other, k + 1
                    more[at] = more.get(at, Fraction(0)) + likely * chance * mass
                more[total, k] = more.get((total, k), Fraction(0)) + likely * (1 - chance)
            found = more
        return found

    bound = sum(max(total, Fraction(0)) * chance for (total, _), chance in sums(users, fakes).items())
    truth = sum(max(total, Fraction(0)) / k * chance for (total, k), chance in sums(users - 1, fakes + 1).items() if k)
    bound /= users * share + fakes
    found = fakes_delta(grr, users, fakes, float(np.log(1.5))).bound
    assert truth <= bound
    assert float(bound) <= found * (1 + 1e-12)
    assert found <= float(bound) * (1 + 2e-3)


@pytest.mark.filterwarnings("error")
@every("epsilon", [20], long=[8])
def test_no_claim_is_below_what_an_attack_shows_however_large_epsilon_is(epsilon: int) -> None:
    for mechanism in (GRR(d=2, epsilon=epsilon), GRR(d=1000, epsilon=epsilon), HadamardResponse(d=10, epsilon=epsilon)):
        for n, fakes in ((1, 1), (1, 300), (10, 10), (3_000, 50)):
            for delta in (1e-3, 1e-9):
                claimed = fakes_epsilon(mechanism, n, fakes, delta, 3)
                assert shown_at_least(mechanism, n, delta, fakes) <= claimed * (1 + 1e-9) <= epsilon * (1 + 1e-9)


def test_more_fakes_or_users_never_tell_more_and_fakes_are_less_than_users_of_none() -> None:
    """No claim is above the one without fakes, nor above the local one; one fake hides more than one user."""
    grr = GRR(d=8, epsilon=1)
    for n in (2, 100, 2_000):
        claims = [claim_with_fakes(grr, n, fakes, 1e-6).epsilon for fakes in sorted({0, 1, n // 10, n // 2, n})]
        assert claims == sorted(claims, reverse=True)
        assert claims[0] == mixed_claim(grr, n, 1e-6).epsilon <= 1
        alone = [claim_against_users(grr, n, fakes, 1e-6).epsilon for fakes in sorted({0, 1, n // 10, n // 2, n})]
        assert alone == sorted(alone, reverse=True)
        assert alone[0] == 1
        assert all(with_users <= only for with_users, only in zip(claims, alone, strict=True))
    assert fakes_epsilon(grr, 1_000, 500, 1e-6) < mixed_claim(grr, 1_500, 1e-6).epsilon


def test_the_dissertations_own_numbers_are_several_times_too_large() -> None:
    """Equation (9.6) at the example of its section 9.5: the same variance, and three times its epsilon."""
    row = GOLDEN["peos"]
    form = literature.peos(row["eps_c"], row["n"], row["n_r"], row["delta"])
    hashing = OLH(d=915, epsilon=form.local, g=185)
    assert form.cells == hashing.g == row["d"]
    variance = variance_with_fakes(hashing, row["n"], row["n_r"], 0.0)
    assert float(variance) == pytest.approx(row["var"], rel=1e-6)
    among = claim_with_fakes(hashing, row["n"], row["n_r"], row["delta"])
    alone = claim_against_users(hashing, row["n"], row["n_r"], row["delta"])
    assert (among.epsilon, among.bound, among.fakes) == (0.153, "fakes", 60_000)
    assert (alone.epsilon, alone.bound, alone.n) == (0.303, "fakes", 1)
    assert among.epsilon < row["eps_c"] / 3
    assert alone.epsilon < row["eps_s"] / 3


def test_claims_stand_once_for_all_numbers_of_three_digits() -> None:
    grr = GRR(d=4, epsilon=1)
    assert claim_with_fakes(grr, 12_345, 1_234, 1e-6) == claim_with_fakes(GRR(d=4, epsilon=1), 12_399, 1_239, 1e-6)
    assert claim_with_fakes(grr, 12_345, 1_234, 1e-6)[3:] == (12_300, 1_230)
    assert claim_with_fakes(grr, 1_000, 100, 1e-6, corrupt=0.1).n == 900


@every(("fakes", "counted", "delta", "wrong"), [
    (-1, 10, 1e-6, "fakes: found -1 for 10 reports; allowed: a whole number from 0, and no more than the reports"),
    (11, 10, 1e-6, "fakes: found 11 for 10 reports"),
    (1.5, 10, 1e-6, "fakes: found 1.5"),
    (True, 10, 1e-6, "fakes: found True"),
    (1, 1, 1e-6, "n: found 1 honest reports"),
    (5, 10, 0.0, "delta: found 0.0; allowed: a number above 0 and below 1"),
    (5, 10, 1.0, "delta: found 1.0"),
])  # fmt: skip
def test_a_number_that_cannot_be_is_refused_in_one_line(fakes: int, counted: int, delta: float, wrong: str) -> None:
    for claim in (claim_with_fakes, claim_against_users):
        with pytest.raises(AccountingError) as refused:
            claim(GRR(d=4, epsilon=1), counted, fakes, delta)
        assert str(refused.value).startswith(wrong)


def test_mechanisms_that_uniform_reports_do_not_hide_are_refused_in_one_line() -> None:
    for mechanism in (OUE(d=4, epsilon=1), SHE(d=4, epsilon=1), SW(d=4, epsilon=1)):
        with pytest.raises(
            ParameterError, match=rf"fakes: found {mechanism.name}, .*; allowed: grr, olh, blh, hr, subs"
        ):
            claim_with_fakes(mechanism, 100, 10, 1e-6)
    with pytest.raises(ParameterError, match=r"subset: found 21 values, .*; allowed: up to 20"):
        claim_with_fakes(SubsetSelection(d=21, epsilon=1), 100, 10, 1e-6)
    with pytest.raises(AccountingError, match="n: found 0"):
        fakes_delta(GRR(d=4, epsilon=1), 0, 10, 0.1)
