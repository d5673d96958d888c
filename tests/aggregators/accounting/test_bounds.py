# SPDX-License-Identifier: Apache-2.0
"""Laws of the bounds: above the exact sum and hardly more, monotone, never above the local epsilon, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from murmurate.agents.cli.reproductions.shuffle_blankets import collision, exsub, parts
from murmurate.aggregators.accounting import (
    AccountingError,
    CertifiedDelta,
    NotCertifiedError,
    Pair,
    blanket_delta,
    blanket_epsilon,
    clones_blanket,
    clones_delta,
    mixed_claim,
    pair_delta,
    shown_at_least,
)
from murmurate.aggregators.accounting.binomial import chances
from murmurate.aggregators.accounting.search import least_epsilon, next_above, rounded_up
from murmurate.aggregators.accounting.sums import positive_part
from murmurate.randomizers import GRR, HM, OLH, OUE, PM, SUE, Mechanism, SubsetSelection
from murmurate.randomizers.question import Atom, Blanket
from tests.aggregators.accounting.given import exact_delta, exactly
from tests.cases import every

P = Fraction(3)
SMALL: list[tuple[Blanket, Fraction]] = [
    (parts(P, 1 / (1 + P), Fraction(0)), P),
    (collision(1, 4, P), P),
    (exsub(5, 2, 2, P), P),
    (clones_blanket(P), P),
    ((Atom(Fraction(1, 4), P, Fraction(1)), Atom(Fraction(1, 4), Fraction(1), Fraction(3))), P),
    # of the two orders of this pair now the one, now the other shows more
    ((Atom(Fraction(1, 8), Fraction(3), Fraction(1)), Atom(Fraction(5, 8), Fraction(1), Fraction(7, 5))), P),
]


@every("p", [10**8], long=[10**3, 10**5])
def test_few_reports_of_a_large_epsilon_are_bounded_where_doubles_hold_no_tilt(p: int) -> None:
    """Next to no report is of the blanket, and the scores of those that are differ by the ratio of a whole report."""
    for blanket in (collision(1, 2, Fraction(p)), collision(1, 1000, Fraction(p)), clones_blanket(Fraction(p))):
        for n in (1, 2, 5):
            for ratio in (Fraction(1), Fraction(2), Fraction(p, 10), Fraction(p, 2)):
                exact = float(exact_delta(blanket, n, ratio))
                found = blanket_delta(blanket, n, math.log(ratio)).bound
                assert exact * (1 - 1e-12) <= found <= min(1.0, 1.05 * exact), (n, ratio)


def check_above_the_exact_sum(count: int, seed: int) -> None:
    """Any ratio up to that of 18 nats, any number of values up to ten million, few reports."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        p = 1 + Fraction(round(1000 * math.exp(rng.uniform(-2, 18))), 1000)
        values, n = int(rng.choice([2, 3, 10, 1000, 10**5, 10**7])), int(rng.integers(1, 8))
        ratio = Fraction(round(10**6 * math.exp(rng.uniform(0, math.log(p)))), 10**6)
        for blanket in (collision(1, values, p), clones_blanket(p)):
            exact = float(exact_delta(blanket, n, ratio))
            assert blanket_delta(blanket, n, math.log(ratio)).bound >= exact * (1 - 1e-9) - 1e-15, (p, values, n, ratio)


@pytest.mark.filterwarnings("error")
def test_no_delta_of_few_reports_is_below_the_exact_sum_at_any_ratio() -> None:
    check_above_the_exact_sum(20, 1)


@pytest.mark.audit
@pytest.mark.filterwarnings("error")
@pytest.mark.timeout(3600)
def test_four_thousand_deltas_of_few_reports_are_not_below_the_exact_sum() -> None:
    check_above_the_exact_sum(2000, 2)


@pytest.mark.filterwarnings("error")
@every("epsilon", [20], long=[10])
def test_no_claim_is_below_what_an_attack_shows_however_large_epsilon_is(epsilon: int) -> None:
    kinds: list[Mechanism] = [GRR(d=2, epsilon=epsilon), GRR(d=1000, epsilon=epsilon), OUE(d=100, epsilon=epsilon)]
    for question in kinds:
        for n in (2, 10, 100, 10_000):
            claim = mixed_claim(question, n, 1e-6)
            assert shown_at_least(question, n, 1e-6) <= claim.epsilon * (1 + 1e-9), (question, n)


@every(("blanket", "p"), SMALL)
@every("n", [1, 2, 3], long=[6])
def test_the_bound_is_above_the_exact_sum_and_hardly_more(blanket: Blanket, p: Fraction, n: int) -> None:
    for ratio in (Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(12, 5), Fraction(29, 10)):
        exact = float(exact_delta(blanket, n, ratio))
        found = blanket_delta(blanket, n, math.log(ratio))
        assert exact <= found.bound * (1 + 1e-14), (n, ratio)
        assert found.bound <= exact * (1.002 if ratio < Fraction(9, 10) * p else 1.02) + 1e-12, (n, ratio)
        assert found.excess <= 1e-8 * found.bound + 1e-299


def test_a_finer_lattice_is_never_much_better() -> None:
    """The lattice is all that is not rounding: with one eight times as fine epsilon moves by less than 2 in 10 000."""
    for blanket, n in ((collision(1, 16, exactly(1)), 100), (exsub(40, 4, 3, exactly(1)), 10_000)):
        epsilon = blanket_epsilon(blanket, n, 1e-6, 1.0)
        for at in (epsilon, epsilon / 2):
            coarse, fine = (blanket_delta(blanket, n, at, sharpness).bound for sharpness in (1, 8))
            assert fine <= coarse * (1 + 1e-9)
            assert coarse <= fine * (1 + 5e-3)


def test_binomial_chances_are_exact_in_thirteen_digits() -> None:
    for n, p in ((1, 0.3), (17, 0.5), (200, 0.01), (1000, 0.25)):
        exact = [math.comb(n, k) * Fraction(p) ** k * (1 - Fraction(p)) ** (n - k) for k in range(n + 1)]
        found = chances(np.arange(n + 1), n, p)
        for one, other in zip(found.tolist(), exact, strict=True):
            assert other < Fraction(1, 10**250) or one == pytest.approx(float(other), rel=2e-13)
    assert chances(np.array([-1, 5]), 4, 0.5).tolist() == [0, 0]


def test_pairs_and_the_blanket_of_the_same_laws_agree() -> None:
    for local in (0.5, 3.0):
        blanket = clones_blanket(exactly(local))
        for n in (2, 50, 5_000):
            for epsilon in (0.01, local / 3):
                pair, other = clones_delta(local, n, epsilon), blanket_delta(blanket, n, epsilon)
                assert pair.bound - pair.excess <= other.bound * (1 + 1e-9)
                assert other.bound <= pair.bound * (1 + 2e-3)
                assert pair.excess <= 1e-11 * pair.bound + 1e-34


def test_a_pair_is_its_plain_sum() -> None:
    for pair, n in ((Pair(3.0, 0.25, 0.25), 5), (Pair(3.0, 1 / 6, 1 / 6), 7), (Pair(2.0, 0.2, 0.4), 6)):
        rest, left = 1 - pair.a * (1 + pair.p), 1 - 2 * pair.r
        kinds = [
            (pair.r, pair.p * pair.a / pair.r, pair.a / pair.r),
            (pair.r, pair.a / pair.r, pair.p * pair.a / pair.r),
        ]
        kinds.append((left, rest / left if left > 1e-12 else 0.0, rest / left if left > 1e-12 else 0.0))
        blanket = tuple(Atom(*map(Fraction, kind)) for kind in kinds if kind[0] > 1e-12)
        for ratio in (1.05, 1.4, 1.9):
            exact = float(exact_delta(blanket, n, Fraction(ratio)))
            assert pair_delta(pair, n, math.log(ratio)).bound == pytest.approx(exact, rel=1e-9)


def check_triples(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds: list[Callable[[float], Mechanism]] = [
        lambda e: GRR(d=int(rng.integers(2, 40)), epsilon=e),
        lambda e: OUE(d=int(rng.integers(2, 40)), epsilon=e),
        lambda e: SUE(d=8, epsilon=e),
        lambda e: OLH(d=50, epsilon=e),
        lambda e: PM(d=65, epsilon=e),
        lambda e: HM(d=17, epsilon=e),
        lambda e: SubsetSelection(d=12, epsilon=e),
    ]
    for _ in range(count):
        local = round(float(np.exp(rng.uniform(math.log(0.02), math.log(15)))), 6)
        n, delta = int(np.exp(rng.uniform(math.log(2), math.log(30_000)))), float(np.exp(rng.uniform(-25, -3)))
        kind = int(rng.integers(len(kinds)))
        state = rng.bit_generator.state
        question = kinds[kind](local)
        rng.bit_generator.state = state
        more = kinds[kind](round(local * 1.3, 6))
        blanket, wider = question.blanket(), more.blanket()
        assert blanket is not None
        assert wider is not None
        found = blanket_epsilon(blanket, n, delta, question.epsilon, 3)
        case = (question, n, delta, found)
        assert 0 < found <= question.epsilon, case
        assert blanket_epsilon(blanket, n + 1 + n // 100, delta, question.epsilon, 3) <= found, case
        assert blanket_epsilon(blanket, n, delta * 1.05, question.epsilon, 3) <= found, case
        assert blanket_epsilon(wider, n, delta, more.epsilon, 3) >= found, case


def test_never_above_the_local_epsilon_and_monotone_in_reports_delta_and_epsilon() -> None:
    check_triples(8, 18)


@pytest.mark.audit
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(2024, 2034))
def test_ten_thousand_triples_are_monotone_and_never_above_the_local_epsilon(seed: int) -> None:
    check_triples(1000, seed)


def test_a_bound_whose_inaccuracy_is_not_small_certifies_nothing() -> None:
    doubtful = CertifiedDelta(1e-9, 2e-9)
    with pytest.raises(NotCertifiedError, match="a thousandth of it, 1e-09"):
        least_epsilon(lambda _: doubtful, lambda _: doubtful, 1e-6, 1.0, 3)


def test_deltas_as_small_as_doubles_hold_are_certified_or_local() -> None:
    blanket = collision(1, 16, exactly(1))
    last = 0.0
    for delta in (1e-6, 1e-12, 1e-30, 1e-120, 1e-290):
        found = blanket_epsilon(blanket, 100_000, delta, 1.0, 3)
        assert last < found <= 1.0
        last = found


def test_numbers_are_rounded_up_to_decimals() -> None:
    for value in np.exp(np.random.default_rng(5).uniform(-12, 3, 200)).tolist():
        up = rounded_up(value, 3)
        assert value <= up <= value * 1.0101
        assert len(repr(up).replace(".", "").strip("0").split("e")[0]) <= 3
        assert next_above(up, 3) > up
        assert rounded_up(math.nextafter(up, 9) * (1 + 1e-12), 3) == next_above(up, 3)


def test_atoms_that_are_no_blanket_are_refused() -> None:
    for atoms, said in (
        ((Atom(Fraction(2, 3), Fraction(3), Fraction(1)),), "more than 1 together"),
        ((Atom(Fraction(1, 3), Fraction(1), Fraction(1)),), "leave out a part"),
        ((), "below 0, or more than 1"),
    ):
        with pytest.raises(AccountingError, match=said):
            blanket_delta(atoms, 10, 0.1)


def test_nothing_is_left_where_no_report_can_speak_for_the_value() -> None:
    assert blanket_delta(collision(1, 4, P), 9, math.log(3.01)).bound == 0
    assert pair_delta(Pair(3.0, 0.25, 0.25), 9, math.log(3.01)).bound == 0


def test_positive_parts_scale_with_their_scores() -> None:
    """Twice the scores are twice the expectation: the lattice follows them."""
    from murmurate.aggregators.accounting.scores import Scores

    one = Scores(np.array([1.0, -1.25]), np.array([0.2, 0.2]), 0.6)
    two = Scores(2 * one.values, one.chances, one.silent)
    a, b = positive_part(one, 1000), positive_part(two, 1000)
    assert 2 * a.value * math.exp(a.log_scale) == pytest.approx(b.value * math.exp(b.log_scale), rel=1e-9)
