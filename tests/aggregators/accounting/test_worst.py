# SPDX-License-Identifier: Apache-2.0
"""Rounds that answers choose: what a method can ask is among its rounds, and no attacker sees more than is said."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from murmurate.agents.cli.reproductions.shuffle_blankets import collision
from murmurate.aggregators.accounting import (
    Absorbed,
    AccountingError,
    MixedClaim,
    MixedTarget,
    Often,
    SharedOut,
    WindowRounds,
    blanket_delta,
    largest_epsilon,
    mixed_claim,
    window_claim,
    worst_window,
)
from murmurate.aggregators.accounting.gaussian import dominating_mu, normal_delta, normal_epsilon
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.absorption import Absorption
from murmurate.aggregators.methods.halving import Halving
from murmurate.aggregators.methods.method import Answer, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS, method
from murmurate.randomizers import BLH, GRR, OUE, Question, Weighted
from tests.aggregators.accounting.given import dominating
from tests.cases import every

W, EPSILON = 14, 1_400_000
USERS = {"lpu", "lsp", "lpd", "lpa", "lp-dsat", "lp-rescuedp", "lp-fast", "lp-pegasus"}
FIXED = {"lbu", "lb-pegasus"}
Schedule = Absorption | Halving


def setting(mechanism: str = "grr") -> Setting:
    return Setting(Frequency.of_size(4), EPSILON, W, slots=600, first_t=1, seed=bytes(32), mechanism=mechanism)


def grr(micro: int) -> Question:
    return GRR(d=64, epsilon=Fraction(micro, 10**6))


def square(amount: int) -> float:
    return float(amount) ** 2


# ---- which schedules there are ----


def windows(make: Callable[[], Schedule], periods: int) -> Iterator[list[int]]:
    """The amounts of each w periods on end, for every choice of when to publish."""
    for choice in range(1 << periods):
        schedule, amounts = make(), list[int]()
        for step in range(1, periods + 1):
            offer = schedule.offer(step) if choice >> (step - 1) & 1 else 0
            if offer:
                schedule.spend(step, offer)
            amounts.append(offer)
        yield from (amounts[start : start + 4] for start in range(periods - 3))


@every(("make", "most"), [
    (lambda: Absorption(unit=50, w=4), Absorbed(50, 4)),
    (lambda: Halving(total=800, w=4), SharedOut(800, 4, Fraction(1, 2), 400)),
])  # fmt: skip
def test_no_schedule_costs_more_than_the_dearest_and_one_costs_nearly_as_much(
    make: Callable[[], Schedule], most: Absorbed | SharedOut
) -> None:
    found = list(windows(make, 9))
    for cost in (square, float, lambda amount: math.sqrt(amount), lambda amount: float(amount > 0)):
        dearest, worst = most.dearest(cost), max(sum(map(cost, amounts)) for amounts in found)
        assert worst <= dearest <= 1.1 * worst


@every("name", METHODS)
def test_what_a_method_asks_is_among_its_rounds(name: str) -> None:
    kind = method(MethodOptions(name), setting())
    rounds = kind.most_rounds()
    publications = rounds.publications.dearest(square) if rounds.publications is not None else 0.0
    limit = publications + sum(times * square(amount) for amount, times in rounds.often)
    assert rounds.total <= EPSILON
    rng, asked = np.random.default_rng(5), list[list[int]]()
    for t in range(1, 61):
        step, amounts = kind.open(t), list[int]()
        while isinstance(step, Request):
            amounts.append(step.question.epsilon_micro)
            share = (0.7, 0.1, 0.1, 0.1) if t // 7 % 2 else (0.1, 0.2, 0.6, 0.1)
            step = kind.tally(Answer(rng.multinomial(5_000, share), 5_000))
        asked.append(amounts)
        if METHODS[name].division == "budget":
            window = [amount for of_period in asked[-W:] for amount in of_period]
            assert sum(map(square, window)) <= limit * (1 + 1e-9)
            assert len(window) <= rounds.most


def test_every_method_says_what_it_divides() -> None:
    found = {name: method(MethodOptions(name), setting()).most_rounds().division for name in METHODS}
    assert {name for name, division in found.items() if division == "users"} == USERS
    assert {name for name, division in found.items() if division == "budget"} == FIXED
    filtered = method(MethodOptions("lba", filter="adaptive"), setting()).most_rounds()
    assert filtered == method(MethodOptions("lba"), setting()).most_rounds()  # and so it is worked out once


# ---- what they are worth ----


def test_an_attacker_who_chooses_every_round_after_the_answers_sees_no_more_than_said() -> None:
    """Every way to choose is tried: units of 1 to 3 absorbed, a first round in each of 3 periods, two reports."""
    ratios = {0: Fraction(11, 10), 1: Fraction(11, 10), 2: Fraction(5, 4), 3: Fraction(3, 2)}
    laws = {k: [(float(a), float(b), float(c)) for (a, b), c in dominating(collision(1, 3, r), 2).items()]
            for k, r in ratios.items()}  # fmt: skip

    @cache
    def value(left: int, units: int, ratio: float) -> float:
        if not left:
            return max(0.0, 1 - ratio)
        after_first = 0.0
        for one, other, chance in laws[0]:
            if one:
                after_first += chance * one * best(left, units, round(ratio * other / one, 13))
        return after_first

    @cache
    def best(left: int, units: int, ratio: float) -> float:
        found = value(left - 1, min(units + 1, 3), ratio)
        for k in range(1, min(units, left) + 1):
            told = sum(
                chance * one * nullified(left - 1, k - 1, round(ratio * other / one, 13))
                for one, other, chance in laws[k]
                if one
            )
            found = max(found, told)
        return found

    @cache
    def nullified(left: int, periods: int, ratio: float) -> float:
        if not periods or not left:
            return value(left, 1, ratio)
        return sum(
            chance * one * nullified(left - 1, periods - 1, round(ratio * other / one, 13))
            for one, other, chance in laws[0]
            if one
        )

    mus = {k: dominating_mu(collision(1, 3, r), 2, math.log(r), 1e-12) for k, r in ratios.items()}
    total = 3 * mus[0] ** 2 + Absorbed(1, 3).dearest(lambda units: mus[units] ** 2)
    for epsilon in (0.0, 0.05, 0.1, 0.2, 0.3):
        assert value(3, 3, math.exp(epsilon)) <= normal_delta(math.sqrt(total), epsilon)[1] + 6e-12


@every(("question", "n"), [(GRR(d=16, epsilon=1), 5_000), (BLH(d=8, epsilon=0.3), 300), (OUE(d=9, epsilon=2), 80)])
def test_the_normal_pair_is_above_the_round_between_the_points_of_its_grid_too(question: Question, n: int) -> None:
    blanket = question.blanket()
    assert blanket is not None
    mu = dominating_mu(blanket, n, question.epsilon, 1e-13)
    alone = mixed_claim(question, n, 1e-9).epsilon
    for part in np.linspace(0, 1.2, 23):
        found = blanket_delta(blanket, n, float(part) * alone, 0.25).bound
        assert found <= (normal_delta(mu, float(part) * alone)[0] + 1e-13) * (1 + 1e-3)
    assert normal_epsilon(mu, 1e-9, 9.0, 4) <= alone * (1.03 if n > 100 else 1.3)


def test_two_normal_pairs_are_as_far_apart_as_one() -> None:
    normal, mu, epsilon = NormalDist(), 0.3, 0.4
    steps = np.linspace(-9, 9, 4001)
    law = np.array([normal.pdf(float(x)) for x in steps]) * (steps[1] - steps[0])
    inner = [normal_delta(mu, epsilon - mu * float(x) - mu * mu / 2)[1] for x in steps]
    assert float(law @ inner) == pytest.approx(normal_delta(mu * math.sqrt(2), epsilon)[1], rel=1e-9)


@every("kinds", [("absorbed",)], long=[("absorbed", "shared")])
def test_the_worst_schedule_of_a_window_is_hardly_worse_than_the_dearest_fixed_one(kinds: tuple[str, ...]) -> None:
    half, w, n, delta = 500_000, 10, 20_000, 1e-8
    first = Often(half // w, w)
    known: dict[str, tuple[Absorbed | SharedOut, list[int], float]] = {
        "absorbed": (Absorbed(half // w, w), [half], 1.02),
        "shared": (SharedOut(half, w, Fraction(1, 2), half // 2), [half >> k for k in range(1, 5)], 1.07),
    }
    fixed = window_claim([(grr(half // w), n, w)], delta)
    for publications, amounts, near in (known[kind] for kind in kinds):
        found = worst_window(WindowRounds(grr, (first,), True, publications, True), n, delta)
        fixed = window_claim([(grr(half // w), n, w), *((grr(amount), n, 1) for amount in amounts)], delta)
        assert fixed.epsilon * 0.995 <= found.epsilon <= near * fixed.epsilon
        assert (found.bound, found.delta) == ("blanket", delta)
    any_ = worst_window(WindowRounds(grr, (first,), True, known["shared"][0], False), n, delta)
    assert any_.bound == "clones"
    assert any_.epsilon > 2 * fixed.epsilon


def test_a_long_window_of_absorption_is_told_apart_by_octaves() -> None:
    rounds = WindowRounds(grr, (Often(5_000, 100),), True, Absorbed(5_000, 100), True)
    found = worst_window(rounds, 20_000, 1e-8)
    fixed = window_claim([(grr(5_000), 20_000, 100), (grr(500_000), 20_000, 1)], 1e-8)
    assert fixed.epsilon * 0.995 <= found.epsilon <= 1.15 * fixed.epsilon


def test_smaller_amounts_of_one_mechanism_are_noise_on_larger_ones() -> None:
    for kind in (GRR, OUE, BLH):
        mus = []
        for micro in (100_000, 100_001, 250_000, 900_000, 2_000_000):
            blanket = kind(d=9, epsilon=Fraction(micro, 10**6)).blanket()
            assert blanket is not None
            mus.append(dominating_mu(blanket, 900, micro / 1e6, 1e-12))
        assert all(small <= large * (1 + 1e-5) for small, large in pairwise(mus))


def test_where_few_reports_are_mixed_or_none_alike_the_local_sum_is_claimed() -> None:
    rounds = WindowRounds(grr, (Often(50_000, 10),), True, Absorbed(50_000, 10))
    assert worst_window(rounds, 2, 1e-60) == MixedClaim(1.0, 0.0, "local", 2)
    public = WindowRounds(lambda _: Weighted(GRR(d=8, epsilon=1), 5), (Often(50_000, 10),), True, Absorbed(50_000, 10))
    assert worst_window(public, 9_000, 1e-9) == MixedClaim(1.0, 0.0, "local", 9_000)
    with pytest.raises(AccountingError, match="allowed: rounds from 1 on"):
        worst_window(WindowRounds(grr, ()), 9_000, 1e-9)


@every(
    ("name", "mechanism", "epsilon"),
    [("lba", "auto", 0.0368)],
    long=[("lbd", "auto", 0.0281), ("lb-rescuedp", "oue", 0.026)],
)
def test_worst_windows_are_the_same_bytes_on_every_machine(name: str, mechanism: str, epsilon: float) -> None:
    """Worked out with NumPy 2.4 and 2.2 on x86-64."""
    rounds = method(MethodOptions(name), setting(mechanism)).most_rounds()
    assert worst_window(rounds, 7_000, 1e-8, 0.1).epsilon == epsilon


def test_a_method_spends_about_as_much_as_a_target_allows() -> None:
    target = MixedTarget(0.05, 1e-8, 0.1)

    def rounds_at(micro: int) -> WindowRounds:
        return method(MethodOptions("lba"), replace(setting(), epsilon_micro=micro)).most_rounds()

    epsilon, claim = largest_epsilon(rounds_at, target, smallest=9_000, limit=5_000_000)
    assert claim == worst_window(rounds_at(epsilon), 9_000, target.delta, target.corrupt)
    assert 0.97 * target.epsilon <= claim.epsilon <= target.epsilon
    assert epsilon > 20 * target.epsilon * 1_000_000
    assert largest_epsilon(rounds_at, target, smallest=9_000, limit=60_000)[0] == 60_000
