# SPDX-License-Identifier: Apache-2.0
"""Several rounds together: above the exact product of small rounds and hardly more; printed values of many."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from murmurate.agents.cli.reproductions.shuffle_blankets import collision
from murmurate.aggregators.accounting import MixedRound, blanket_delta, blanket_epsilon, composed_epsilon
from murmurate.aggregators.accounting.compose import Composition, losses
from murmurate.randomizers import GRR, OLH
from murmurate.randomizers.question import Atom, Blanket
from tests.aggregators.accounting.given import dominating, exact_composition
from tests.cases import every

P = Fraction(3, 2)
LOCAL = math.log(1.5)
ASKEW: Blanket = (Atom(Fraction(1, 2), Fraction(3, 2), Fraction(1)), Atom(Fraction(1, 4), Fraction(1), Fraction(2)))
"""A pair whose two orders differ."""


def composed(blankets: list[tuple[Blanket, int, int]], step: float, at: float, local: float = LOCAL) -> float:
    rounds = [(losses(MixedRound(blanket, n, local, times), step, 1e-14), times) for blanket, n, times in blankets]
    return Composition(rounds, step, 0.1).delta(at).bound


@every("ratio", [Fraction(6, 5)], long=[Fraction(21, 20), Fraction(9, 5)])
def test_rounds_together_are_no_worse_than_said_and_hardly_better(ratio: Fraction) -> None:
    blanket = collision(1, 3, P)
    for made in ([(blanket, 3, 2)], [(blanket, 2, 1), (collision(1, 2, P), 3, 2)]):
        exact = float(exact_composition([dominating(one, n) for one, n, times in made for _ in range(times)], ratio))
        found = composed(made, 0.01, math.log(ratio))
        assert exact <= found * (1 + 1e-12)
        assert found <= exact * 1.01 + 1e-4


def test_rounds_on_lattices_of_their_own_are_no_worse_than_said_and_hardly_better() -> None:
    small, large, ratio, step = (
        collision(1, 3, Fraction(11, 10)),
        collision(1, 3, Fraction(9, 5)),
        Fraction(6, 5),
        0.005,
    )
    exact = float(exact_composition([dominating(small, 3), dominating(small, 3), dominating(large, 2)], ratio))
    pairs = [(MixedRound(small, 3, math.log(1.1), 2), 1, 2), (MixedRound(large, 2, math.log(1.8), 1), 4, 1)]
    laws = [(losses(round_, step, 1e-14, apart), times) for round_, apart, times in pairs]
    found = Composition(laws, step, 0.1).delta(math.log(ratio)).bound
    assert exact <= found * (1 + 1e-12)
    assert found <= exact * 1.01 + 1e-4


def test_rounds_of_very_unlike_amounts_are_worth_hardly_more_than_the_largest_alone() -> None:
    first, second = GRR(d=16, epsilon=0.025).blanket(), GRR(d=16, epsilon=0.5).blanket()
    assert first is not None
    assert second is not None
    rounds = [MixedRound(first, 10_000, 0.025, 20), MixedRound(second, 10_000, 0.5, 1)]
    found, alone = composed_epsilon(rounds, 1e-8, 3), blanket_epsilon(second, 10_000, 1e-8, 0.5, 3)
    assert alone < found < 1.05 * alone


def test_the_order_of_a_pair_may_differ_from_round_to_round() -> None:
    turned = tuple(Atom(mass, b, a) for mass, a, b in ASKEW)
    found = composed([(ASKEW, 2, 2)], 0.02, math.log(1.2), math.log(2))
    for first in (ASKEW, turned):
        for second in (ASKEW, turned):
            exact = exact_composition([dominating(first, 2), dominating(second, 2)], Fraction(6, 5))
            assert float(exact) <= found * (1 + 1e-12)


def test_ten_rounds_are_worth_what_was_printed() -> None:
    for question, expected in ((GRR(d=16, epsilon=1), 0.06436), (GRR(d=2, epsilon=0.1), 0.00992)):
        blanket = question.blanket()
        assert blanket is not None
        found = composed_epsilon([MixedRound(blanket, 10_000, question.epsilon, 10)], 1e-6)
        assert expected * (1 - 5e-4) <= found <= expected * (1 + 1.5e-3)


def test_one_round_alone_is_its_own_bound_and_rounds_together_are_between_it_and_their_sum() -> None:
    blanket = GRR(d=4, epsilon=1).blanket()
    assert blanket is not None
    alone = blanket_epsilon(blanket, 2_000, 1e-6, 1.0)
    assert composed_epsilon([MixedRound(blanket, 2_000, 1.0, 1)], 1e-6) == alone
    both = composed_epsilon([MixedRound(blanket, 2_000, 1.0, 1), MixedRound(blanket, 2_000, 1.0, 1)], 1e-6)
    twice = composed_epsilon([MixedRound(blanket, 2_000, 1.0, 2)], 1e-6)
    assert both == pytest.approx(twice, rel=1e-4)
    assert alone < twice < 2 * blanket_epsilon(blanket, 2_000, 5e-7, 1.0)


def test_rounds_of_other_questions_and_sizes_compose() -> None:
    first, second = GRR(d=4, epsilon=1).blanket(), OLH(d=50, epsilon=0.5).blanket()
    assert first is not None
    assert second is not None
    rounds = [MixedRound(first, 2_000, 1.0, 2), MixedRound(second, 900, 0.5, 1)]
    found = composed_epsilon(rounds, 1e-6, 3)
    assert composed_epsilon(rounds[:1], 1e-6, 3) < found < 2.5


def test_losses_dominate_the_round_between_the_points_of_their_grid_too() -> None:
    blanket, step = collision(1, 16, Fraction(math.e)), 0.004
    round_ = MixedRound(blanket, 1_000, 1.0, 1)
    one = Composition([(losses(round_, step, 1e-12), 1)], step, 1e-5)
    for k in range(1, 12):
        at = 1.37 * k * step
        assert blanket_delta(blanket, 1_000, at, 0.25).bound <= one.delta(at).bound * (1 + 3e-3)
        assert blanket_delta(blanket, 1_000, at, 8).bound <= one.delta(at).bound
