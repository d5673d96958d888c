# SPDX-License-Identifier: Apache-2.0
"""Is what mixing is said to be worth true?  Every histogram of a few shuffled reports, over all neighbours and others.

Contract: for each mechanism, view and group of users that has a blanket, delta of the exact law of the multiset of n
shuffled reports is at most the engine's, for both orders of every pair of values of one user and for all values that
the others may hold.  Reports whose chances are proportional from value to value are counted as one: that loses nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import pytest

from murmurate.aggregators.accounting import blanket_delta, clones_blanket
from murmurate.aggregators.accounting.attack import attack_delta
from murmurate.randomizers import (
    BLH,
    GRR,
    OLH,
    OUE,
    SHE,
    SUE,
    THE,
    Branches,
    HadamardResponse,
    Marginal,
    Padded,
    Question,
    SubsetSelection,
)
from murmurate.randomizers import question as made_question
from murmurate.randomizers.frequency.unary import Unary
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.numeric import HM, PM, SR, SW, ValueAndPresence, WaveAndPresence
from murmurate.randomizers.numeric.clipped import clipped
from murmurate.randomizers.numeric.wave_mean import WaveMean
from murmurate.randomizers.question import Blanket, Value
from murmurate.randomizers.vectors import VectorQuestion
from tests.audit.questions import told_by
from tests.cases import every

ROUND = hashlib.sha256(b"mixing").digest()
Law = dict[int, float]
Mixed = dict[tuple[int, ...], float]


def questions(epsilon: Fraction) -> Iterator[Question]:
    yield from (GRR(d=2, epsilon=epsilon), GRR(d=4, epsilon=epsilon))
    yield from (OLH(d=3, epsilon=epsilon, pool=6).of_round(ROUND), BLH(d=3, epsilon=epsilon, pool=6).of_round(ROUND))
    yield from (OLH(d=3, epsilon=epsilon, pool=3, g=5).of_round(ROUND), SUE.removal(d=2, epsilon=epsilon / 2))
    yield from (OUE(d=2, epsilon=epsilon), OUE(d=3, epsilon=epsilon), SUE(d=3, epsilon=epsilon))
    yield from (SHE(d=2, epsilon=epsilon, grid=2, reach=0), SHE(d=2, epsilon=epsilon, grid=2, reach=1))
    yield from (THE(d=2, epsilon=epsilon), HadamardResponse(d=2, epsilon=epsilon))
    yield from (HadamardResponse(d=3, epsilon=epsilon), SubsetSelection(d=4, epsilon=epsilon, k=2))
    yield from (SR(d=3, epsilon=epsilon), PM(d=3, epsilon=epsilon), PM(d=5, epsilon=epsilon), HM(d=3, epsilon=epsilon))
    yield from (SW(d=3, epsilon=epsilon), SW(d=4, epsilon=epsilon), WaveMean(d=3, epsilon=epsilon))
    yield from (ValueAndPresence(d=4, epsilon=epsilon), WaveAndPresence(d=4, epsilon=epsilon))
    yield clipped(d=5, epsilon=epsilon, inner="pm", clip=3)
    yield told_by(Padded(("items", 3, 2, 0), 2), epsilon)
    row = ("row", (2, 3), 0)
    groups = [(1, told_by(Marginal(row, [0]), epsilon)), (3, told_by(Marginal(row, [1]), epsilon))]
    yield Branches(groups)


def vectors(epsilon: Fraction) -> Iterator[Question]:
    """Mechanisms for sparse vectors: signs of one or two of few items, and sets of them."""
    one, two, sets = ("signed", 2, 1, 0), ("signed", 2, 2, 0), ("items", 3, 2, 0)
    for name, layouts, parameters in (
        ("kvue", (one, two, sets, ("signed", 3, 1, 0), ("items", 3, 1, 0)), {}),
        ("exsub", (one, sets, ("items", 3, 1, 0)), {"m": 1}),
        ("exsub", (one, two, sets), {"m": 2}),
        ("exsub", (one, ("items", 2, 2, 0)), {"m": 3}),
        ("exsub_majority", (one, two), {"m": 2}),
        ("exsub_majority", (("signed", 2, 2, 0),), {"m": 4}),
        ("set_subset", (sets, ("items", 3, 1, 0), ("items", 4, 2, 0)), {"m": 1}),
        ("set_subset", (sets, ("items", 2, 1, 0)), {"m": 2}),
        ("collision", (one, sets), {"t": 4, "pool": 2}),
        ("coco", (one, sets), {"t": 4, "pool": 2}),
        ("pckv_grr", (one, sets), {}),
        ("pckv_agrr", (one, two, sets), {}),
        ("efmrtt", (one, two, sets), {}),
        ("ddrm", (one,), {}),
    ):
        for of in layouts:
            made = made_question({"name": name, "layout": of, "epsilon": epsilon, **parameters})
            yield made.of_round(ROUND) if hasattr(made, "of_round") else made


def values_of(question: Question) -> Iterator[Value]:
    """Every value; of vectors of numbers those of signs, since the laws of all others are mixtures of theirs."""
    if not isinstance(question, VectorQuestion) or not question.signed:
        yield from layout(question.layout).enumerate()
        return
    for signs in product((0, 1, -1), repeat=question.d):
        held = tuple((item, sign) for item, sign in enumerate(signs) if sign)
        if len(held) <= question.s:
            yield question.value(held)


def merged(question: Question) -> list[Law]:
    """The law of each value over kinds of reports."""
    laws = [question.law(value) for value in values_of(question)]
    kinds: dict[tuple[Fraction, ...], int] = {}
    found: list[Law] = [{} for _ in laws]
    for report in sorted(set().union(*laws)):
        chances = [law.get(report, Fraction(0)) for law in laws]
        total = sum(chances)
        kind = kinds.setdefault(tuple(chance / total for chance in chances), len(kinds))
        for law, chance in zip(found, chances, strict=True):
            law[kind] = law.get(kind, 0.0) + float(chance)
    return found


def added(mixed: Mapping[tuple[int, ...], float], law: Law) -> Mixed:
    """With one more report."""
    more: Mixed = {}
    for reports, chance in mixed.items():
        for kind, likely in law.items():
            together = tuple(sorted((*reports, kind)))
            more[together] = more.get(together, 0.0) + chance * likely
    return more


def shuffled(laws: Sequence[Law], n: int) -> Iterator[tuple[list[Mixed], tuple[int, ...]]]:
    """For everything the others may hold, the law of all reports by the value of one user."""
    for others in combinations_with_replacement(range(len(laws)), n - 1):
        mixed: Mixed = {(): 1.0}
        for value in others:
            mixed = added(mixed, laws[value])
        yield [added(mixed, law) for law in laws], others


def worst_shown(laws: Sequence[Law], n: int, epsilons: Sequence[float]) -> list[float]:
    """The largest delta of any two neighbours at each epsilon."""
    worst = [0.0] * len(epsilons)
    for by_value, _ in shuffled(laws, n):
        for one, other in permutations(by_value, 2):
            for k, epsilon in enumerate(epsilons):
                ratio = math.exp(epsilon)
                shown = sum(max(0.0, chance - ratio * other.get(reports, 0.0)) for reports, chance in one.items())
                worst[k] = max(worst[k], shown)
    return worst


def removed(made: Unary) -> list[Law]:
    """The laws of all values, and last the one of somebody who holds nothing."""
    rows = {row: int.from_bytes(row, "little").bit_count() for row in made.law(0)}
    none = {row: made.q**ones * (1 - made.q) ** (made.d - ones) for row, ones in rows.items()}
    laws = [*(made.law(value) for value in range(made.d)), none]
    return [{number: float(law[row]) for number, row in enumerate(rows)} for law in laws]


def check_removal(made: Unary, n: int, parts: Sequence[float]) -> None:
    """One user holds a value or nothing; all others hold anything."""
    for part in parts:
        epsilon = part * math.log(made.removing)
        claimed, ratio = blanket_delta(made.removal_blanket(), n, epsilon).bound, math.exp(epsilon)
        for by_value, _ in shuffled(removed(made), n):
            none = by_value.pop()
            for one, other in [(law, none) for law in by_value] + [(none, law) for law in by_value]:
                seen = sum(max(0.0, chance - ratio * other.get(reports, 0.0)) for reports, chance in one.items())
                assert seen <= claimed + 1e-14, (made, n, epsilon)


def check(question: Question, n: int, parts: Sequence[float] = (0.1, 0.5, 0.9)) -> None:
    laws, epsilons = merged(question), [part * question.epsilon for part in parts]
    shown = worst_shown(laws, n, epsilons)
    blanket, clones = question.blanket(), clones_blanket(question.realised)
    assert blanket is not None, question
    one, other = (float(chance) for chance in question.telling)
    for epsilon, seen in zip(epsilons, shown, strict=True):
        claimed = blanket_delta(blanket, n, epsilon).bound
        assert seen <= claimed + 1e-14, (question, n, epsilon)
        assert attack_delta(one, other, n, epsilon) <= seen + 1e-9, (question, n, epsilon)
        assert seen <= blanket_delta(clones, n, epsilon).bound + 1e-14, (question, n, epsilon)


@every(("n", "histograms"), [(1, 40), (2, 40), (3, 12)], long=[(3, 40)])
def test_no_histogram_of_few_reports_shows_more_than_the_blanket_or_clones_say(n: int, histograms: int) -> None:
    for question in questions(Fraction(1)):
        if math.comb(len(merged(question)[0]) + n - 1, n) <= histograms:
            check(question, n)


def test_no_histogram_of_reports_about_vectors_shows_more_than_their_blankets_say() -> None:
    for question in vectors(Fraction(1)):
        if question.blanket() is not None and len(list(values_of(question))) <= 5:
            for n in (1, 2):
                if math.comb(len(merged(question)[0]) + n - 1, n) <= 30:
                    check(question, n, (0.5,))


def test_no_histogram_shows_more_of_a_value_that_is_removed_than_its_blanket_says() -> None:
    for made in (SUE.removal(d=2, epsilon=1), SUE(d=2, epsilon=6), OUE(d=2, epsilon=1)):
        for n in (1, 2, 3):
            check_removal(made, n, (0.1, 0.5, 0.9))


@pytest.mark.audit
@pytest.mark.timeout(3600)
def test_none_shows_more_at_any_epsilon_with_up_to_four_reports() -> None:
    for epsilon in (Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(3)):
        for question in questions(epsilon):
            kinds = len(merged(question)[0])
            for n in (1, 2, 3, 4):
                if math.comb(kinds + n - 1, n) <= 1000:
                    check(question, n, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99))
        for question in vectors(epsilon):
            kinds = len(merged(question)[0])
            for n in (1, 2, 3, 4):
                if question.blanket() is not None and math.comb(kinds + n - 1, n) <= 200:
                    check(question, n, (0.1, 0.5, 0.9))
        for made in (SUE.removal(d=2, epsilon=epsilon), OUE(d=3, epsilon=epsilon), SUE(d=3, epsilon=epsilon)):
            for n in (1, 2, 3, 4):
                check_removal(made, n, (0.02, 0.3, 0.7, 0.99))


def test_binary_answers_and_the_counterexample_show_exactly_what_the_blanket_says() -> None:
    """Four values, ratio 3, two reports, the other one of the first value too: 1/20, where a theorem printed 1/60."""
    grr = [{y: 0.5 if y == x else 1 / 6 for y in range(4)} for x in range(4)]
    (by_value,) = (by_value for by_value, others in shuffled(grr, 2) if others == (0,))
    shown = sum(max(0.0, chance - 2.4 * by_value[1].get(reports, 0.0)) for reports, chance in by_value[0].items())
    assert shown == pytest.approx(1 / 20, rel=1e-12)
    for n in (1, 2):
        for question in (GRR(d=2, epsilon=1), SR(d=2, epsilon=1)):
            for part in (0.2, 0.6, 0.9):
                (seen,) = worst_shown(merged(question), n, [part])
                assert blanket_delta(question.blanket(), n, part).bound == pytest.approx(seen, rel=1e-2), (n, part)


def test_a_blanket_that_is_too_good_is_caught() -> None:
    """Three quarters of the masses that set a pair apart, as if fewer reports spoke for either."""
    question = GRR(d=4, epsilon=1)
    (one, other, rest) = question.blanket()
    third = Fraction(3, 4)
    worse: Blanket = (
        one._replace(mass=one.mass * third),
        other._replace(mass=other.mass * third),
        rest._replace(mass=rest.mass + (one.mass + other.mass) * (1 - third) * (one.one + 1) / 2),
    )
    seen = worst_shown(merged(question), 3, [0.3])[0]
    assert seen > blanket_delta(worse, 3, 0.3).bound
