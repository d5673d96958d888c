# SPDX-License-Identifier: Apache-2.0
"""What may be claimed: rounded up, never above the local epsilon, from honest reports alone; what is refused."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.accounting import (
    AccountingError,
    MixedClaim,
    blanket_delta,
    clones_epsilon,
    mixed_claim,
    shown_at_least,
    window_claim,
)
from murmurate.aggregators.accounting import claim as claims
from murmurate.randomizers import GRR, OLH, OUE, SHE, BasicRAPPOR, Marginal, Padded, Question, Weighted, Whole
from murmurate.randomizers.numeric import HM, PM, SW
from murmurate.randomizers.viewed import Viewed
from tests.cases import every

QUESTIONS: list[Question] = [
    GRR(d=16, epsilon=1),
    OLH(d=300, epsilon=0.5),
    OUE(d=20, epsilon=2),
    SHE(d=4, epsilon=1),
    HM(d=33, epsilon=1),
    Viewed(Padded(("items", 9, 3, 0), 2), GRR(d=11, epsilon=1)),
    Viewed(Marginal(("row", (2, 3), 0), [0, 1]), GRR(d=6, epsilon=1)),
]


@every("question", QUESTIONS)
def test_a_claim_is_of_three_digits_certified_and_between_the_attack_and_the_local_epsilon(question: Question) -> None:
    n, delta = 5_000, 1e-6
    found = mixed_claim(question, n, delta)
    assert shown_at_least(question, n, delta) <= found.epsilon < question.epsilon
    assert (found.delta, found.n) == (delta, n)
    assert found.epsilon == float(f"{found.epsilon:.3g}")
    blanket = question.blanket()
    assert found.bound == ("clones" if blanket is None else "blanket")
    exact = clones_epsilon(question.epsilon, n, delta) if blanket is None else 0
    assert exact <= found.epsilon * (1 + 1e-6)  # of the realised ratio, which is a hair below
    if blanket is not None:
        assert blanket_delta(blanket, n, found.epsilon).bound <= delta
        below = found.epsilon - 10 ** (math.floor(math.log10(found.epsilon)) - 2)
        assert blanket_delta(blanket, n, below, 8).bound > delta * (1 - 1e-2)


def test_only_honest_reports_count_and_three_digits_of_their_number() -> None:
    question = GRR(d=16, epsilon=1)
    assert mixed_claim(question, 10_000, 1e-6, 0.1) == mixed_claim(question, 9_000, 1e-6)
    assert mixed_claim(question, 9_009, 1e-6) == mixed_claim(question, 9_000, 1e-6)
    assert claims.honest(1_000, 0.1) == 900  # and not 899, as doubles have it
    assert claims.honest(7, 0.5) == 3


@every("question", [QUESTIONS[1]], long=[QUESTIONS[0], QUESTIONS[4]])
def test_a_claim_does_not_fall_when_reports_or_delta_do(question: Question) -> None:
    rng = np.random.default_rng(1)
    sizes = sorted(int(size) for size in np.exp(rng.uniform(0.7, 11, 7)))
    found = [mixed_claim(question, size, 1e-6).epsilon for size in sizes if size >= 2]
    assert found == sorted(found, reverse=True)
    deltas = sorted(np.exp(rng.uniform(-40, -1, 7)).tolist())
    by_delta = [mixed_claim(question, 700, delta).epsilon for delta in deltas]
    assert by_delta == sorted(by_delta, reverse=True)
    assert max(found + by_delta) <= question.epsilon


def test_a_few_reports_hide_nobody_and_the_claim_is_the_local_one() -> None:
    found = mixed_claim(GRR(d=16, epsilon=1), 2, 1e-9)
    assert found == MixedClaim(1.0, 0.0, "local", 2)


def test_reports_that_outlive_their_round_or_carry_a_public_number_are_not_mixed() -> None:
    for question in (BasicRAPPOR(d=8, epsilon=1), Weighted(GRR(d=8, epsilon=1), 5)):
        assert mixed_claim(question, 100_000, 1e-6) == MixedClaim(1.0, 0.0, "local", 100_000)
        assert window_claim([(question, 100_000, 3)], 1e-6).epsilon == 3.0


def test_a_question_and_the_same_behind_the_plainest_view_or_bound_to_a_round_are_worth_the_same() -> None:
    round = hashlib.sha256(b"claim").digest()
    olh = OLH(d=300, epsilon=0.5)
    assert mixed_claim(olh, 4_000, 1e-6) == mixed_claim(olh.of_round(round), 4_000, 1e-6)
    grr = GRR(d=16, epsilon=1)
    assert mixed_claim(Viewed(Whole(("code", 16)), grr), 4_000, 1e-6) == mixed_claim(grr, 4_000, 1e-6)


def test_rounds_of_a_window_are_worth_more_than_one_and_less_than_their_sum() -> None:
    grr, other = GRR(d=16, epsilon=1), OUE(d=16, epsilon=0.5)
    one, ten = window_claim([(grr, 10_000, 1)], 1e-6), window_claim([(grr, 10_000, 10)], 1e-6)
    assert one == mixed_claim(grr, 10_000, 1e-6)
    assert one.epsilon < ten.epsilon < 10 * one.epsilon / 2
    assert ten.epsilon == pytest.approx(0.0644, rel=1e-3)
    assert window_claim([(grr, 10_000, 1), (other, 900, 2)], 1e-6).n == 900


def test_where_nothing_can_be_certified_the_local_epsilon_is_claimed() -> None:
    for delta in (5e-324, 1e-299):
        assert mixed_claim(GRR(d=3, epsilon=1), 1_000, delta) == MixedClaim(1.0, 0.0, "local", 1_000)


def test_claims_are_the_same_bytes_on_every_machine() -> None:
    """Worked out with NumPy 2.4 and 2.2 on x86-64, with and without its wide registers."""
    made = [mixed_claim(question, 54_321, 1e-8, 0.2).epsilon for question in QUESTIONS]
    assert made == [0.0116, 0.00949, 0.0471, 0.0175, 0.0253, 0.0185, 0.0179]
    assert [mixed_claim(one, 54_321, 1e-8, 0.2).epsilon for one in (PM(d=65, epsilon=1), SW(d=64, epsilon=2))] == [
        0.0241,
        0.0585,
    ]
    assert window_claim([(QUESTIONS[0], 9_000, 7)], 1e-7).epsilon == 0.0651


@pytest.mark.parametrize(
    ("counted", "delta", "corrupt", "said"),
    [
        (1000, 0, 0, "delta: found 0; allowed: a number above 0 and below 1"),
        (1000, 1, 0, "delta: found 1; allowed: a number above 0 and below 1"),
        (1000, -1e-9, 0, "delta: found -1e-09; allowed: a number above 0 and below 1"),
        (1000, math.nan, 0, "delta: found nan; allowed: a number above 0 and below 1"),
        (1000, "1", 0, "delta: found '1'; allowed: a number above 0 and below 1"),
        (1, 1e-6, 0, "n: found 1 honest reports; allowed: at least 2"),
        (3, 1e-6, 0.5, "n: found 1 honest reports of 3; allowed: at least 2"),
        (-4, 1e-6, 0, "n: found -4; allowed: a whole number of reports"),
        (4.0, 1e-6, 0, "n: found 4.0; allowed: a whole number of reports"),
        (1000, 1e-6, 1, "corrupt: found 1; allowed: a share of the reports from 0 to below 1"),
        (1000, 1e-6, -0.1, "corrupt: found -0.1; allowed: a share of the reports from 0 to below 1"),
        (1000, 1e-6, math.nan, "corrupt: found nan; allowed: a share of the reports from 0 to below 1"),
    ],
)
def test_what_makes_no_promise_is_refused_in_one_line(counted: int, delta: float, corrupt: float, said: str) -> None:
    for call in (mixed_claim, lambda q, n, *rest: window_claim([(q, n, 2)], *rest)):
        with pytest.raises(AccountingError) as refused:
            call(GRR(d=3, epsilon=1), counted, delta, corrupt)
        assert str(refused.value) == said


def test_a_window_without_rounds_is_refused() -> None:
    for rounds in ([], [(GRR(d=3, epsilon=1), 100, 0)]):
        with pytest.raises(AccountingError, match="allowed: rounds from 1 on"):
            window_claim(rounds, 1e-6)


def test_a_share_is_taken_exactly() -> None:
    for counted in range(2, 400):
        for share in (0.1, 0.2, 0.3, 1 / 3):
            exact = math.floor((1 - Fraction(str(share))) * counted)
            if exact >= 2:
                assert claims.honest(counted, share) == exact
