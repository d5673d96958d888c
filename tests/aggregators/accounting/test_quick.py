# SPDX-License-Identifier: Apache-2.0
"""What claims of releases do to be quick: many deltas at once, a near start, and steps of n for rounds that compose."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.accounting import (
    MixedClaim,
    NotCertifiedError,
    blanket_delta,
    blanket_epsilon,
    mixed_claim,
    worst_window,
)
from murmurate.aggregators.accounting.claim import floored, stepped
from murmurate.aggregators.accounting.clones import clones_blanket
from murmurate.aggregators.accounting.delta_curve import deltas
from murmurate.aggregators.accounting.one_round import round_epsilon
from murmurate.aggregators.accounting.schedules import Absorbed, Often, SharedOut, WindowRounds
from murmurate.aggregators.accounting.sums import U, powers
from murmurate.aggregators.accounting.window import MixedWindow
from murmurate.randomizers import GRR, OLH, OUE, Question
from murmurate.randomizers.numeric import PM, SW
from murmurate.randomizers.question import Blanket
from tests.cases import every

DELTA = 1e-8


def grr(micro: int) -> Question:
    return GRR(d=16, epsilon=Fraction(micro, 10**6))


BLANKETS: list[Blanket | None] = [
    GRR(d=16, epsilon=1).blanket(), OUE(d=9, epsilon=0.1).blanket(), OLH(d=30, epsilon=3).blanket(),
    SW(d=16, epsilon=1).blanket(), PM(d=17, epsilon=2).blanket(), clones_blanket(Fraction(3, 2)),
]  # fmt: skip
FIXED = WindowRounds(grr, (Often(100_000, 10),))
ABSORBED = WindowRounds(grr, (Often(50_000, 10),), True, Absorbed(50_000, 10))
SHARED = WindowRounds(grr, (Often(50_000, 10),), True, SharedOut(500_000, 10, Fraction(1, 2), 250_000), True)


@every("blanket", BLANKETS[:2], long=BLANKETS[2:])
@every("n", [2, 2_000], long=[40, 700, 30_000])
def test_many_deltas_at_once_are_what_they_are_one_by_one(blanket: Blanket, n: int) -> None:
    at = np.append(0.0, np.geomspace(1e-3, 9, 12) / np.sqrt(n))
    for sharpness in (1 / 16, 1 / 4):
        one = np.array([blanket_delta(blanket, n, float(epsilon), sharpness).bound for epsilon in at])
        many = deltas(blanket, n, at, sharpness)
        assert np.array_equal(one == 0, many == 0)
        assert np.allclose(many, one, rtol=5e-4, atol=0)
        fine = np.array([blanket_delta(blanket, n, float(epsilon), 1.0).bound for epsilon in at[::4]])
        assert (many[::4] >= fine * (1 - 1e-3)).all()
    assert len(deltas(blanket, n, np.zeros(0), 1.0)) == 0


def test_deltas_of_scores_that_doubles_cannot_hold_are_asked_one_by_one() -> None:
    blanket = GRR(d=3, epsilon=20).blanket()
    assert blanket is not None
    at = np.array([0.0, 5.0, 19.0, 21.0])
    assert np.allclose(
        deltas(blanket, 50, at, 1 / 16), [blanket_delta(blanket, 50, float(e), 1 / 16).bound for e in at]
    )


def test_powers_are_as_accurate_as_is_said() -> None:
    base = (np.exp(1j * np.linspace(0, 6, 50)) * np.linspace(0.9999, 1, 50)).astype(np.complex128)
    for n in (1, 2, 3, 1_000, 99_999):
        exact = np.exp(n * np.log(base.astype(np.clongdouble)))
        assert (np.abs(powers(base, n) - exact) <= 3 * n * U * np.abs(exact) + 1e-18).all()


def found(blanket: Blanket, n: int, delta: float, limit: float) -> tuple[float | None, float | None]:
    """From near and from afar."""

    def of(way: object) -> float | None:
        try:
            value = way(blanket, n, delta, limit, 3)  # type: ignore[operator]
        except NotCertifiedError:
            return None
        return float(value)

    return of(round_epsilon), of(blanket_epsilon)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.audit) for seed in range(2, 12))])
def test_a_near_start_leads_where_the_search_from_afar_does(seed: int) -> None:
    """To a number that is certified, whose neighbour below is not, but for a hundredth of the cases at a boundary."""
    rng, apart, cases = np.random.default_rng(seed), 0, 12
    for _ in range(cases):
        micro = int(np.exp(rng.uniform(np.log(2e4), np.log(4e6))))
        question = grr(micro) if rng.random() < 0.6 else OUE(d=5, epsilon=Fraction(micro, 10**6))
        blanket = question.blanket()
        assert blanket is not None
        n, delta = floored(int(np.exp(rng.uniform(2, 11)))), float(np.exp(rng.uniform(-27, -7)))
        near, afar = found(blanket, n, delta, question.epsilon)
        apart += near != afar
        if near is not None and near < question.epsilon:
            assert blanket_delta(blanket, n, near).bound <= delta
            assert afar is not None
            assert abs(near / afar - 1) < 2e-2
    assert apart <= 1


def test_steps_of_reports_are_the_same_at_every_decade_and_never_more_than_a_twentieth_apart() -> None:
    sizes = np.unique(np.geomspace(100, 10**7, 3_000).astype(int)).tolist()
    for apart, widest in ((1, 1.06), (2, 1.12)):
        steps = [stepped(n, apart) for n in sizes]
        assert steps == sorted(steps)
        assert all(step <= n < step * widest for n, step in zip(sizes, steps, strict=True))
        assert all(stepped(step, apart) == step == stepped(10 * step, apart) // 10 for step in steps)
        assert len({step for step in steps if step < 1_000}) == 48 // apart
    assert [stepped(n) for n in (2, 57, 99)] == [2, 57, 99]


@every(("rounds", "more"), [(FIXED, 1.05), (SHARED, 1.12)], long=[(ABSORBED, 1.08)])
def test_a_claim_that_is_quick_is_never_below_the_exact_one_and_hardly_above(rounds: WindowRounds, more: float) -> None:
    for n in (700, 20_000):
        quick, exact = worst_window(rounds, n, DELTA, quick=True), worst_window(rounds, n, DELTA)
        assert exact.epsilon <= quick.epsilon <= more * exact.epsilon
        assert quick.delta == exact.delta
        assert quick.n == stepped(n, 1 if rounds.publications is None else 2) <= exact.n


def test_of_one_round_a_quick_claim_is_the_exact_one() -> None:
    one = WindowRounds(grr, (Often(1_000_000, 1),))
    assert worst_window(one, 9_999, DELTA, quick=True) == mixed_claim(grr(1_000_000), 9_999, DELTA)


def test_with_a_claim_that_is_known_for_the_smallest_batch_no_more_is_ever_claimed() -> None:
    known = worst_window(FIXED, 1_000, DELTA)
    newest, free = (MixedWindow(10, "budget", DELTA, 0.0, of) for of in ((1_000, known), None))
    for t, n in enumerate((5_000, 1_030, 1_000, 999)):
        newest.take(t, grr(100_000), n)
        free.take(t, grr(100_000), n)
        claim, other = newest.claim(t, FIXED), free.claim(t, FIXED)
        assert isinstance(claim, MixedClaim)
        assert isinstance(other, MixedClaim)
        assert claim.epsilon <= other.epsilon
        assert (claim.epsilon <= known.epsilon) == (n >= 1_000)
