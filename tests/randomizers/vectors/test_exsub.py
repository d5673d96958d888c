# SPDX-License-Identifier: Apache-2.0
"""ExSub, its majority form and subset selection over sets: exact laws, unbiased estimates, faults that are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, ReportError, question
from murmurate.randomizers.audit import audit_exact, measure
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.vectors import ExSub, MajorityExSub, SetSubset, SparseOracle
from murmurate.randomizers.vectors.entries import Held
from murmurate.randomizers.vectors.subset_reports import SubsetReports
from tests.cases import every
from tests.randomizers.vectors.laws import (
    KEY,
    all_held,
    check_exactly,
    estimates_are_right,
    numbers,
    one_and_many_agree,
    reports_follow_the_law,
)

EPSILONS = [Fraction(k, 4) ** 2 for k in range(1, 18)] + [Fraction(1, 1000), Fraction(7, 10), Fraction(20)]
KINDS = (ExSub, MajorityExSub, SetSubset)


def small(d: int, s: int, epsilon: Any, lengths: int) -> Iterator[SubsetReports]:
    """Every mechanism over these coordinates with reports of up to so many."""
    for m in range(1, min(d + s, lengths) + 1):
        for kind in ("signed", "items"):
            yield ExSub([kind, d, s, 0], epsilon, m)
            for tau in range(1, min(s, m, 2) + 1):
                yield MajorityExSub([kind, d, s, 0], epsilon, m, tau)
        if m <= d:
            yield SetSubset(["items", d, s, 1], epsilon, m)


def check(made: SubsetReports) -> None:
    """The exact facts of a small question."""
    if isinstance(made, SparseOracle):
        check_exactly(made)
        return
    assert isinstance(made, SetSubset)
    assert audit_exact(made).holds
    for held in all_held(made):
        for item in range(made.d):
            found = sum(chance for report, chance in made.law(made.value(held)).items() if has(made, report, item))
            assert found == (made.p if item in dict(held) else made.q)


def has(made: SubsetReports, report: bytes, item: int) -> bool:
    return item in made.rows.symbols(np.frombuffer(report, np.uint8)[np.newaxis])[0]


def test_epsilon_holds_exactly_and_supports_are_what_is_said() -> None:
    for d, s in ((1, 1), (2, 1), (2, 2)):
        for made in small(d, s, 1, 4 if s == 1 else 3):
            check(made)


@pytest.mark.audit
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon_holds_for_all_vectors_of_up_to_four_coordinates(epsilon: Fraction) -> None:
    for d, s in ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (4, 3)):
        for made in small(d, s, epsilon, 1 if d + s > 6 else 2 if d + s > 4 else 3):
            check(made)


def test_reports_of_all_coordinates_and_of_all_but_one_are_exact() -> None:
    for made in (
        ExSub(["signed", 2, 2, 0], 1, 4),
        MajorityExSub(["signed", 2, 2, 1], 2, 4),
        ExSub(["signed", 3, 1, 0], 1, 3),
    ):
        check(made)


def test_the_law_is_that_of_the_words() -> None:
    """The first two words choose the cell; a law from them, and from even choices, is the one that is said."""
    made = ExSub(["signed", 3, 2, 0], 1, 2)
    table = made.table
    assert sum(cell.level for cell in table.cells) < 1 << 64
    for held in all_held(made):
        law: dict[bytes, Fraction] = {}
        plain = 1 - sum((cell.level * table._each[cell.specials] for cell in table.cells), Fraction(0))
        specials = dict(made.specials(held))
        for coordinates in combinations(range(made.number), made.m):
            for minus in product((False, True), repeat=made.m):
                chosen = list(zip(coordinates, minus, strict=True))
                signs = [(-1 if sign else 1) * specials[j] for j, sign in chosen if j in specials]
                cell = signs.count(1), signs.count(-1)
                same = sum(1 for c in table.cells if c[:2] == cell)
                chance = plain / made.reports_possible
                if same:
                    (found,) = (c for c in table.cells if c[:2] == cell)
                    ways = {(1, 0): 2 * 3 * 2, (1, 1): 2, (2, 0): 1}[cell]  # specials, other coordinates, their signs
                    chance += found.level * table._each[found.specials] / ways
                law[made.encoded(chosen)] = chance
        assert made.law(made.value(held)) == law


@every(("kind", "layout", "epsilon", "m"), [
    (ExSub, ["signed", 40, 5, 1], 1, None), (ExSub, ["signed", 40, 5, 1], 0.1, None),
    (ExSub, ["items", 30, 5, 1], 1, 34), (ExSub, ["signed", 5, 2, 0], 2, 3), (ExSub, ["signed", 9, 1, 1], 1, None),
    (MajorityExSub, ["signed", 40, 5, 1], 0.3, None),
    (MajorityExSub, ["signed", 90, 9, 1], 3, 20), (SetSubset, ["items", 300, 5, 1], 2, None),
    (SetSubset, ["items", 9, 5, 0], 0.1, 9), (ExSub, ["signed", 5000, 5, 1], 4, None),
    (MajorityExSub, ["signed", 4200, 64, 1], 5, 70),
])  # fmt: skip
def test_one_user_and_many_give_the_same_reports(kind: Any, layout: list[Any], epsilon: float, m: int | None) -> None:
    made = kind(layout, epsilon, m)
    some = list(all_held(type(made)([layout[0], 3, min(3, layout[2]), 0], 1, 1)))[:60]
    whole = tuple((item, 1 - 2 * (item % 3 == 0) if made.signed else 1) for item in range(made.d - made.s, made.d))
    values = [made.value(held) for held in [*some, whole] if len(held) <= made.s] + numbers(made)
    one_and_many_agree(made, values)


def test_who_runs_out_of_words_draws_from_more_of_them() -> None:
    """With as few words as there are coordinates to draw, most users need more, and nothing changes."""
    for made in (
        ExSub(["signed", 60, 4, 1], 1),
        ExSub(["signed", 20, 4, 1], 1, 17),
        SetSubset(["items", 5000, 4, 1], 1, 90),
    ):
        values = [made.value(((0, 1), (3, 1)))] * 40 + numbers(made)
        draw = KEY.draw(contexts(np.arange(len(values))), round=bytes(32))
        usual = made.perturb(made.of.array(values), draw)
        short = question(made.spec())
        vars(short)["_words"] = made.head + -(-made.to_draw(None) * made.draws.bits // 32)
        assert (short.perturb(made.of.array(values), draw) == usual).all()


def test_reports_follow_the_law() -> None:
    for made in (
        ExSub(["signed", 3, 2, 0], 1, 2),
        MajorityExSub(["signed", 2, 2, 0], 1, 3),
        SetSubset(["items", 5, 3, 0], 1, 3),
    ):
        reports_follow_the_law(made, made.value(((0, 1), (1, -1 if made.signed else 1))), 60_000)


def test_estimates_of_means_and_shares_are_unbiased_with_the_variances_that_are_said() -> None:
    for made in (
        ExSub(["signed", 5, 2, 0], 1, 3),
        MajorityExSub(["signed", 6, 3, 0], 1, 5),
        ExSub(["items", 5, 3, 0], 1),
    ):
        estimates_are_right(made, made.value(((0, 1), (2, -1 if made.signed else 1))), rounds=150)
    sets = SetSubset(["items", 6, 3, 0], 1)
    values = np.repeat(sets.of.array([sets.value(((0, 1), (2, 1)))]), 500, axis=0)
    draws = (KEY.draw(contexts(np.arange(500), number), round=bytes(32)) for number in range(150))
    found = np.array([sets.estimate(sets.support(sets.perturb(values, draw)), 500) for draw in draws])
    truth = np.array([1.0, 0, 1, 0, 0, 0])
    assert (np.abs(found.mean(axis=0) - truth) < 5 * np.sqrt(sets.variance(500, truth) / 150)).all()
    assert (np.abs(found.var(axis=0, ddof=1) / sets.variance(500, truth) - 1) < 6 * np.sqrt(3 / 150)).all()


@pytest.mark.audit
@every("made", [
    ExSub(["signed", 128, 8, 0], 1), MajorityExSub(["signed", 128, 8, 0], 1), SetSubset(["items", 128, 8, 0], 1),
    ExSub(["signed", 1024, 8, 0], 1),
])  # fmt: skip
def test_variances_are_within_five_percent_of_what_comes(made: Any) -> None:
    """Over all coordinates that are not held: their mean variance of 1 000 estimates has an error below 1 %."""
    values = np.repeat(made.of.array([made.value(tuple((item, 1) for item in range(made.s)))]), 200, axis=0)
    draws = (KEY.draw(contexts(np.arange(200), number), round=bytes(32)) for number in range(1000))
    found = np.array([made.estimate(made.support(made.perturb(values, draw)), 200)[: made.d] for draw in draws])
    assert abs(found[:, made.s :].var(axis=0).mean() / made.variance(200, 0.0) - 1) < 0.05
    assert abs(found[:, : made.s].var(axis=0).mean() / made.variance(200, 1.0) - 1) < 0.15
    assert abs(found[:, : made.s].mean() - 1) < 5 * float(np.sqrt(made.variance(200, 1.0) / 1000))


@every("made", [
    ExSub(["signed", 2, 1, 0], 1, 2), MajorityExSub(["signed", 3, 2, 0], 1, 2), SetSubset(["items", 4, 2, 0], 1, 2),
    ExSub(["items", 3, 2, 0], 1, 2),
])  # fmt: skip
def test_the_evidence_and_the_blanket_are_those_of_the_laws(made: SubsetReports) -> None:
    one, other = (made.law(value) for value in made.extremes)
    rows = np.array([list(report) for report in one], np.uint8)
    telling = made.evidence(rows, *made.extremes)
    for law, wanted in zip((one, other), made.telling, strict=True):
        assert sum(chance for chance, hit in zip(law.values(), telling, strict=True) if hit) == wanted
    laws = [made.law(made.value(held)) for held in all_held(made)]
    least = {report: min(law[report] for law in laws) for report in one}
    left = sum(least.values()) - sum(atom.mass for atom in made.blanket())
    assert 0 <= left < 1e-15  # rounded by words: all ratios count as the largest one
    for atom in made.blanket():
        alike = [
            r for r in one if abs(one[r] / least[r] - atom.one) < 1e-9 and abs(other[r] / least[r] - atom.other) < 1e-9
        ]
        assert abs(sum(least[r] for r in alike) - atom.mass) < 1e-12


def test_a_measurement_does_not_find_more_than_epsilon() -> None:
    for made in (ExSub(["signed", 16, 2, 0], 1), SetSubset(["items", 16, 2, 0], 1)):
        assert measure(made, KEY, trials=20_000).holds


def test_a_spec_names_the_length_and_gives_the_same_question() -> None:
    for kind in KINDS:
        made = kind(["items", 40, 5, 1], 1)
        assert made.spec()["m"] == made.m
        assert question(made.spec()) == made
        assert question({**made.spec(), "m": made.m + 1}) != made
    assert ExSub(["signed", 128, 8, 0], 1).m == 9
    assert not ExSub(["signed", 40, 1, 0], 0.5).tells_shares


@every(("kind", "layout", "more", "said"), [
    (ExSub, ["signed", 4, 2, 0], {"m": 7}, "m: found 7; allowed: a whole number from 1 to 6"),
    (SetSubset, ["items", 4, 2, 0], {"m": 5}, "m: found 5; allowed: a whole number from 1 to 4"),
    (SetSubset, ["signed", 4, 2, 0], {}, "allowed: items"),
    (MajorityExSub, ["signed", 4, 2, 0], {"tau": 0}, "tau: found 0; allowed: a whole number from 1"),
    (MajorityExSub, ["signed", 4, 2, 0], {"tau": 3}, "tau: found 3; allowed: 1 to 2"),
    (ExSub, ["signed", 1 << 25, 2, 0], {}, "allowed: 16777216 together"),
])  # fmt: skip
def test_what_cannot_be_is_refused(kind: Any, layout: list[Any], more: dict[str, int], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        kind(layout, 1, **more)


def test_a_report_is_never_longer_than_a_device_sends() -> None:
    made = ExSub(["signed", 99_980, 20, 0], 1)
    assert made.wire_size <= 4096
    assert made.m == 1820  # the best one, 2601, takes 5 853 bytes


# ---- faults that the laws and the harness find ----


class SymbolsForCoordinates(ExSub):
    """Draws symbols, so that a coordinate may be there with both signs."""

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        law = dict(super()._law(held))
        twice = self.encoded([(0, False), (0, True)])
        first = next(iter(law))
        law[twice] = law.pop(first)
        return law


class WithoutStubs(ExSub):
    """Takes short vectors to have fewer specials."""

    def specials(self, held: Held) -> list[tuple[int, int]]:
        return list(held)


class ShortReports(ExSub):
    """Leaves the places of missing entries empty: other reports of short vectors."""

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        law: dict[bytes, Fraction] = {}
        for report, chance in super()._law(held).items():
            symbols = self.rows.symbols(np.frombuffer(report, np.uint8)[np.newaxis])[0]
            chosen = [(int(symbol) // 2, bool(symbol % 2)) for symbol in symbols]
            first = [(0, False)] * self.m if len(held) < self.s and chosen[-1][0] >= self.d else chosen
            law[self.encoded(first)] = law.get(self.encoded(first), Fraction(0)) + chance
        return law


class CellsInTheClear(ExSub):
    """Sends the numbers of specials with the report, as if somebody else had drawn them."""

    @property
    def wire_size(self) -> int:
        return super().wire_size + 1

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        law: dict[bytes, Fraction] = {}
        own = dict(self.specials(held))
        for report, chance in super()._law(held).items():
            symbols = self.rows.symbols(np.frombuffer(report, np.uint8)[np.newaxis])[0]
            agreeing = sum((-1 if symbol % 2 else 1) == own.get(int(symbol) // 2) for symbol in symbols)
            law[report + bytes([agreeing])] = chance
        return law


@every("kind", [SymbolsForCoordinates, WithoutStubs, ShortReports, CellsInTheClear])
def test_a_fault_is_found(kind: type[ExSub]) -> None:
    with pytest.raises((AssertionError, ReportError)):
        check_exactly(kind(["signed", 2, 2, 0], 1, 2))
