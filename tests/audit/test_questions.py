# SPDX-License-Identifier: Apache-2.0
"""The promise of every question over values of the domain, exactly: behind every view, and with planted faults."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.agents.stages.admission import cut
from murmurate.randomizers import (
    GRR,
    OLH,
    Branches,
    Extensions,
    Key,
    LongPrefix,
    Marginal,
    OLHCounts,
    Padded,
    Pepper,
    Prefix,
    Question,
    Viewed,
    Weighted,
    question,
)  # fmt: skip
from murmurate.randomizers.audit import audit_exact, measure, trials_for
from murmurate.randomizers.layouts import FILLER, NONE, layout
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.thresholds import exp_floor
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import Ranks, Words
from tests.audit.questions import (
    FirstKept,
    PaddedByItems,
    bias,
    exact,
    faults,
    kinds,
    others,
    padded,
    told_by,
    views,
)  # fmt: skip
from tests.audit.registry import EPSILONS, ROUND
from tests.cases import every

KEY = Key(bytes(range(9, 41)), deployment="audit")
FEW = [EPSILONS[0], EPSILONS[8], EPSILONS[13], EPSILONS[19]]


def check(question_: Question) -> Fraction:
    """No violation; the ratio that is reached."""
    found = audit_exact(question_, round=ROUND)
    assert found.violations == (), question_
    assert found.realised <= found.claimed, question_
    bound = question_.of_round(ROUND)
    laws = [bound.law(value) for value in layout(bound.layout).enumerate() if bound.public(value) == 0]
    chances = ([law[report] for law in laws] for report in laws[0])
    return max((max(of) / min(of) for of in chances), default=Fraction(1))


@every("epsilon", FEW)
def test_no_report_tells_more_than_epsilon_behind_any_view(epsilon: Fraction) -> None:
    for view in views()[:: 1 if epsilon == 1 else 3]:
        check(told_by(view, epsilon))
    for question_ in others(epsilon):
        check(question_)


@pytest.mark.audit
@pytest.mark.timeout(3600)
@every("epsilon", EPSILONS)
def test_no_report_tells_more_than_epsilon_behind_any_view_at_every_claim(epsilon: Fraction) -> None:
    for view in views():
        check(told_by(view, epsilon))
    for question_ in others(epsilon):
        check(question_)


@every("epsilon", EPSILONS)
def test_a_padded_sample_through_grr_uses_its_whole_claim_and_no_more(epsilon: Fraction) -> None:
    for view in (Padded(("items", 4, 3, 1), 3), Padded(("items", 3, 2, 0), 2), Padded(("items", 4, 2, 1), 4)):
        question_ = told_by(view, epsilon)
        ratio = check(question_)
        bound = exp_floor(question_.epsilon_micro)
        assert ratio <= bound
        assert ratio == question_.realised
        assert float((ratio - 1) / (bound - 1)) >= 0.999  # of epsilon itself, where it is small
        inner = question_.inner
        assert isinstance(inner, GRR)
        exactly = view.length * (bound - 1) + 1
        assert exactly * (1 - Fraction(1, 2**30)) <= inner.p / inner.q <= exactly


def test_every_view_there_is_and_every_kind_of_question_is_audited() -> None:
    named = {view.name for view in views()} | {question_.name for question_ in others(1)}
    assert kinds() <= named
    for question_ in (*(told_by(view, 1) for view in views()), *others(1)):
        assert question(question_.spec()) == question_


@every("name", sorted(faults(1)))
@every("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_a_question_that_breaks_its_promise_is_caught(name: str, epsilon: Fraction) -> None:
    broken = faults(epsilon)[name]
    assert any("times as likely" in said for said in audit_exact(broken, round=ROUND).violations)


@every("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_no_report_tells_more_of_long_strings_that_begin_alike_than_of_others(epsilon: Fraction) -> None:
    """Some of 2^200: folded prefixes, and parents that differ in their last bits alone."""
    of, parents = ("bits", 200, 1), ["f" * 24, "f" * 23 + "e", "0" * 24]
    bits, more = [1 << 200 - 97, 1 << 200 - 53, 1 << 199, 1], [int(parent, 16) << 104 for parent in parents]
    numbers = [0, (1 << 200) - 1, *bits, *more, *(number | 5 << 100 for number in more)]
    lines = [number << 32 * 7 - 1 - 200 for number in numbers]
    values = [tuple(line >> 32 * (6 - i) & 0xFFFFFFFF for i in range(7)) for line in lines] + [layout(of).nothing]
    named = Extensions(of, parents, 96, 99)
    folded = [LongPrefix(of, length) for length in (53, 97, 200)]
    counted = [Viewed(view, OLHCounts(d=view.d, epsilon=epsilon, pool=2)) for view in folded]
    groups = Branches([(1, one) for one in counted])
    for question_ in (*counted, groups, told_by(named, epsilon)):
        found = audit_exact(question_, round=ROUND, values=values)
        assert found.violations == ()
        assert found.realised <= found.claimed
    for view in folded:
        assert len({view.code(value) for value in values}) == 1 + len({n >> 200 - view.bits for n in numbers})
    assert len({named.code(value) for value in values}) == 10


def test_sums_of_padding_by_items_or_of_the_first_items_alone_are_caught_by_bias() -> None:
    users = [(0, 1, 2), (1, 2, FILLER), (2, FILLER, FILLER), (FILLER,) * 3, (NONE, 0, 0), (0, 3, FILLER)]
    of = ("items", 4, 3, 1)
    assert max(map(abs, bias(Padded(of, 3), users))) < Fraction(1, 2**55)
    # No ratio sees these two:
    assert not audit_exact(told_by(PaddedByItems(of, 4), 1), round=ROUND).violations
    assert not audit_exact(told_by(FirstKept(of, 2), 1), round=ROUND).violations
    assert max(bias(PaddedByItems(of, 4), users)) > Fraction(1, 10)
    over = bias(FirstKept(of, 2), users)
    assert over[2] == -Fraction(1, 6)  # the third item of one user of six is never told
    assert over[0] == over[1] == 0
    honest = bias(Padded(of, 2), users)  # all of its items are told too rarely, and alike
    assert abs(honest[0] - honest[2]) < Fraction(1, 2**55)
    assert -Fraction(1, 17) < honest[0] < 0


class FirstMost(Items):
    """A domain that keeps the first items of a list that is too long."""

    def cut(self, rows: Sequence[Words], ranks: Ranks) -> NDArray[np.uint32]:
        return np.array([row[: self.most] for row in rows], np.uint32)


def test_of_lists_that_are_too_long_every_item_is_kept_alike_and_the_first_ones_alone_are_caught_by_bias() -> None:
    """One in 100 000 at most of all secrets would fail: five standard errors, eight items."""
    names, most, users = tuple("abcdefgh"), 3, 4_000
    everything = dict.fromkeys(range(users), tuple(range(len(names))))

    def kept(domain: Items) -> NDArray[np.float64]:
        values = np.full((users, most), FILLER, np.uint32)
        rows = cut(domain, Pepper(bytes(range(32)), deployment="audit"), contexts(np.arange(users)), values, everything)
        return np.array([(rows == item).any(axis=1).mean() for item in range(len(names))])

    share = most / len(names)
    allowed = 5 * (share * (1 - share) / users) ** 0.5
    assert (abs(kept(Items(names, most)) - share) <= allowed).all()
    assert (abs(kept(FirstMost(names, most)) - share) > 5 * allowed).all()


def test_no_more_than_the_claim_is_measured_of_reports_that_are_sent() -> None:
    small = Padded(("items", 4, 3, 1), 3)
    groups = [
        (3, told_by(Marginal(("row", (2, 3), 1), [1]), 2.0)),
        (1, told_by(Marginal(("row", (2, 3), 1), [0]), 2.0)),
    ]
    for question_ in (
        told_by(small, 2.0),
        Viewed(Prefix(("bits", 40, 1), 3), OLH(d=9, epsilon=2.0)),
        Branches(groups),
        Weighted(told_by(small, 2.0), 5),
    ):
        found = measure(question_, KEY, trials=trials_for(question_, 0.1))
        assert found.holds, question_
        assert found.at_least > 0.8 * found.claimed, question_
    broken = RoundedClaim(small, GRR(d=small.d, epsilon=2.0))
    assert not measure(broken, KEY, trials=trials_for(broken, 0.1)).holds


class RoundedClaim(Viewed):
    """Draws with a larger epsilon than it says."""

    def __init__(self, view: Padded, mechanism: GRR) -> None:
        super().__init__(view, GRR(d=mechanism.d, epsilon=1.2 * mechanism.epsilon))
        vars(self)["epsilon_micro"] = mechanism.epsilon_micro


@every("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_a_blanket_has_what_the_laws_have_in_common_and_tells_its_pair_apart(epsilon: Fraction) -> None:
    row = ("row", (2, 3), 0)
    cases: list[Question] = [
        GRR(d=2, epsilon=epsilon),
        GRR(d=5, epsilon=epsilon),
        told_by(Marginal(row, [1]), epsilon),
        *(told_by(Padded(("items", 4, 3, 1), length), epsilon) for length in (1, 2, 3)),
        Branches([(1, told_by(Marginal(row, [0]), epsilon)), (3, told_by(Marginal(row, [1]), epsilon))]),
    ]
    for question_ in cases:
        blanket = question_.blanket()
        assert blanket is not None
        laws = [question_.law(value) for value in layout(question_.layout).enumerate()]
        share = sum(atom.mass for atom in blanket)
        common = sum(min(law[report] for law in laws) for report in laws[0])
        assert 0 <= common - share < Fraction(1, 2**55)  # no better than the laws, and as good
        for total in (sum(mass * one for mass, one, _ in blanket), sum(mass * other for mass, _, other in blanket)):
            assert total == 1  # both are whole laws
        assert max(max(one, other) for _, one, other in blanket) == question_.realised
    assert Weighted(cases[1], 2).blanket() is None  # what is public is not mixed
    assert told_by(Padded(("items", 4, 2, 1), 3), epsilon).blanket() is None


def test_a_padded_sample_through_grr_has_the_blanket_of_its_collisions() -> None:
    d, length = 9, 4
    made = told_by(Padded(("items", d, 5, 0), length), 1)
    e = exp_floor(10**6)
    blanket = made.blanket()
    assert blanket is not None
    omega = length * e + d
    found = sorted((round(float(mass * omega), 9), round(float(one / other), 9)) for mass, one, other in blanket)
    ratio = float(e)
    assert found == [
        (4.0, round(1 / ratio, 9)),
        (4.0, round(ratio, 9)),
        (5.0, 1.0),
    ]  # of L, of the others' L, of the rest


def test_a_branch_depends_on_no_value_and_none_is_told_like_the_empty_set() -> None:
    for question_ in (one.of_round(ROUND) for one in others(1) if isinstance(one, Branches)):
        for value in layout(question_.layout).enumerate():
            chances = [Fraction(0)] * len(question_.questions)
            for report, chance in question_.law(value).items():
                chances[report[0]] += chance
            assert tuple(chances) == question_.chances
    for view in padded():
        if view.of.none:
            made: Viewed = told_by(view, 1)
            assert made.law(view.of.nothing) == made.law(
                tuple([FILLER] * view.of.words) if view.of.words > 1 else FILLER
            )


def test_views_cover_every_row_of_three_bits_and_every_string_of_four() -> None:
    sizes = {tuple(view.of.spec()[:2]): len(list(view.of.enumerate())) for view in exact()}
    assert sizes["bits", 4] in (16, 17)
    assert sizes["row", (2, 2, 2)] in (8, 9)
    assert len(list(product(range(2), repeat=3))) == 8
