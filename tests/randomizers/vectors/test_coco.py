# SPDX-License-Identifier: Apache-2.0
"""CoCo: privacy under every hash function, supports over all of them, padding to exactly s, and golden values."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.accounting import blanket_epsilon
from murmurate.randomizers import ParameterError
from murmurate.randomizers.vectors import CoCo, Collision
from tests.cases import every
from tests.randomizers.vectors.hashed_laws import (
    EPSILONS,
    LAYOUTS,
    audit,
    check_privacy,
    check_supports,
    mean_supports,
)
from tests.randomizers.vectors.laws import (
    all_held,
    estimates_are_right,
    numbers,
    one_and_many_agree,
    reports_follow_the_law,
)
from tests.randomizers.vectors.test_collision import GOLDEN


@every(("layout", "t"), [
    *((layout, None) for layout in LAYOUTS[:2] + LAYOUTS[3:]), (["signed", 4, 2, 1], 4), (["signed", 3, 3, 0], 6)
])  # fmt: skip
def test_epsilon_holds_in_every_round_for_all_vectors(layout: list[Any], t: int | None) -> None:
    for epsilon in (0.000001, 1):
        check_privacy(CoCo(layout, epsilon, t, pool=1), rounds=1 if epsilon < 1 else 2)


@pytest.mark.audit
@every(("layout", "epsilon"), [(layout, epsilon) for layout in LAYOUTS for epsilon in EPSILONS])
def test_epsilon_holds_in_many_rounds_with_any_number_of_cells(layout: list[Any], epsilon: float) -> None:
    for t in {min(CoCo(layout, epsilon, pool=1).t, 8), 2 * layout[2]}:
        check_privacy(CoCo(layout, epsilon, t, pool=1), rounds=2)


@every(("layout", "t"), [
    (["signed", 2, 1, 0], 2), (["signed", 3, 2, 0], 4), (["signed", 3, 2, 0], 6), (["items", 3, 2, 0], 6)
])  # fmt: skip
def test_supports_are_the_averages_over_all_hash_functions(layout: list[Any], t: int) -> None:
    made = CoCo(layout, 1, t, pool=2)
    check_supports(made, list(all_held(made))[::2])


class Unpadded(CoCo):
    """A planted fault: a user with fewer than s entries has no dummies."""

    def law_given(self, cells: Sequence[int]) -> list[Fraction]:
        return [Fraction(chance, 1 << 128) for chance in self.law_of_all(cells)]


def test_without_dummies_estimates_are_biased_though_epsilon_holds() -> None:
    made = Unpadded(["signed", 2, 2, 0], 1, 6, 2)
    assert audit(made, bytes(32)).holds
    up, down, _ = mean_supports(made, ((0, 1),))[0]
    assert float((up - down) / made.gap) == pytest.approx(1 / (1 - float(made._lost(Fraction(6)))), rel=1e-9)
    assert (up - down) / made.gap > 1.15  # of a user who has 1
    with pytest.raises(AssertionError):
        check_supports(made, [((0, 1),)])
    check_supports(made, [((0, 1), (1, -1))])


class WeakPartner(CoCo):
    """A planted fault: the cell of a winning entry takes part of what is its partner's."""

    def law_of_all(self, cells: Sequence[int]) -> list[int]:
        law = super().law_of_all(cells)
        law[cells[0]], law[cells[0] ^ 1] = law[cells[0]] + (1 << 120), law[cells[0] ^ 1] - (1 << 120)
        return law


def test_a_partner_that_is_too_rare_is_caught_by_the_ratio() -> None:
    found = audit(WeakPartner(["signed", 3, 2, 0], 1, 6, 2), bytes(32))
    assert any("times as likely" in what for what in found.violations)


def test_one_user_and_many_give_the_same_reports() -> None:
    for kind, most, t in (("signed", 5, None), ("items", 5, None), ("signed", 1, 2), ("signed", 3, 6)):
        small = CoCo([kind, 4, min(3, most), 1], 1)
        for pool in (None, 0):
            made = CoCo([kind, 300, most, 1], 1, t, pool)
            one_and_many_agree(made, [made.value(held) for held in all_held(small)] + numbers(made))


def test_reports_follow_the_law_and_estimates_are_right() -> None:
    for kind, sign, t in (("signed", -1, None), ("items", 1, None), ("signed", 1, 4)):
        made = CoCo([kind, 3, 2, 0], 1, t, pool=2).of_round(bytes(32))
        value = made.value(((0, 1), (2, sign)))
        reports_follow_the_law(made, value, 20_000)
        reports_follow_the_law(made, made.value(((1, sign),)), 20_000)
        estimates_are_right(CoCo([kind, 3, 2, 0], 1, t, pool=0), value, rounds=150, n=100)
        estimates_are_right(CoCo([kind, 3, 2, 0], 1, t, pool=0), made.value(((1, 1),)), rounds=150, n=100)


def test_formulas_have_the_golden_values() -> None:
    for s, epsilon, t, lost, own, opposite, *moments in GOLDEN["coco"]:
        made = CoCo(["signed", 1000, s, 0], epsilon, t)
        found = (made._lost(t), float(made.supports.own), float(made.supports.opposite))
        assert found == pytest.approx((lost, own, opposite), rel=1e-8 if epsilon in (0.5, 1, 2) else 1e-6)
        assert (*made.mean_moments, *made.share_moments) == pytest.approx(moments, rel=1e-6)
    made = CoCo(["signed", 128, 8, 0], 1)
    total = 8 * made.mean_moments.held + 120 * made.mean_moments.absent
    assert total / 128 == pytest.approx(GOLDEN["totals_d128_s8_eps1"]["CoCo"], rel=1e-7)


def test_the_default_number_of_cells_is_the_best() -> None:
    found = [(CoCo(["signed", d, s, 0], epsilon), t) for d, s, epsilon, t, _ in GOLDEN["coco_opt_t(d,s,eps,mean,freq)"]]
    found += [(CoCo(["signed", d, s, 0], epsilon), t) for d, s, epsilon, _, t in GOLDEN["rank_t"]]
    assert [made.best_cells(2 * made.s + 2) for made, _ in found] == [t for _, t in found]
    assert CoCo(["signed", 128, 8, 0], 0.01).t == 16  # the golden numbers are from 2 s + 2 on, and 2 s is allowed
    for d, s, epsilon in ((8, 8, 2), (30, 4, 0.5), (1000, 2, 3)):
        made = CoCo(["signed", d, s, 0], epsilon)
        choices = range(2 * s, 2 * made.t + 20, 2)
        moments = [CoCo(["signed", d, s, 0], epsilon, t).mean_moments for t in choices]
        totals = [s * held + (d - s) * absent for absent, held in moments]
        assert made.t == choices[int(np.argmin(totals))]


def test_a_number_of_cells_that_cannot_be_is_refused() -> None:
    for t in (15, 14, 17, 65_535, True, 16.0):
        with pytest.raises(ParameterError, match=r"coco: t: found .*; allowed: an even number from 16, twice"):
            CoCo(["signed", 128, 8, 0], 1, t)  # type: ignore[arg-type]
    assert CoCo(["signed", 128, 8, 0], 1, 65_534).wire_size == 4


def test_with_twice_as_many_cells_as_entries_only_means_are_told() -> None:
    made = CoCo(["signed", 20, 3, 0], 1, 6)
    assert made.statistics == 20
    assert not made.tells_shares
    assert CoCo(["signed", 20, 3, 0], 1, 8).statistics == 40


def test_the_blanket_has_the_golden_values() -> None:
    made = CoCo(["signed", 128, 8, 0], 1, 32)
    assert float(sum(atom.mass * atom.one for atom in made.blanket())) == pytest.approx(1, rel=1e-12)
    for n, delta, wanted in zip((1000, 10_000), (1e-5, 1e-6), GOLDEN["amp"]["CoCo(8,32) eps1"], strict=False):
        assert blanket_epsilon(made.blanket(), n, delta, made.epsilon) == pytest.approx(wanted, rel=3e-5)
    assert len(CoCo(["signed", 20, 3, 0], 1, 6).blanket()) == 2  # every cell is one of the worst pair's


def test_of_sets_collision_tells_more() -> None:
    for epsilon in (0.1, 1, 3):
        one, other = (kind(["items", 128, 8, 0], epsilon).mean_moments for kind in (CoCo, Collision))
        assert one.absent > 1.3 * other.absent
