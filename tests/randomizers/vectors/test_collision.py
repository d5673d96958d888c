# SPDX-License-Identifier: Apache-2.0
"""Collision: privacy under every hash function, supports over all of them, and the golden values of its formulas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from murmurate.aggregators.accounting import blanket_epsilon
from murmurate.randomizers import ParameterError
from murmurate.randomizers.vectors import Collision
from murmurate.randomizers.vectors.hashed import HashedOracle
from tests.cases import every
from tests.randomizers.vectors.hashed_laws import EPSILONS, LAYOUTS, audit, check_privacy, check_supports
from tests.randomizers.vectors.laws import (
    all_held,
    estimates_are_right,
    numbers,
    one_and_many_agree,
    reports_follow_the_law,
)

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "collision_golden.json").read_text(encoding="ascii")
)
SHORT_SEARCH = {(32, 8, 5.0), (128, 32, 5.0)}
"""Golden numbers of cells that are the smallest which were looked at, and not the best."""


@every(("layout", "epsilon"), [(layout, epsilon) for layout in LAYOUTS for epsilon in (0.000001, 1)])
def test_epsilon_holds_in_every_round_for_all_vectors(layout: list[Any], epsilon: float) -> None:
    check_privacy(Collision(layout, epsilon, pool=2), rounds=1)


@pytest.mark.audit
@every(("layout", "epsilon"), [(layout, epsilon) for layout in LAYOUTS for epsilon in EPSILONS])
def test_epsilon_holds_in_many_rounds_with_any_number_of_cells(layout: list[Any], epsilon: float) -> None:
    for t in {min(Collision(layout, epsilon, pool=2).t, 12), 2 * layout[2]}:
        check_privacy(Collision(layout, epsilon, t, pool=2), rounds=2)


@every(("layout", "t"), [
    (["signed", 1, 1, 0], 3), (["signed", 2, 2, 0], 4), (["items", 3, 2, 0], 5), (["items", 3, 3, 0], 6)
])  # fmt: skip
def test_supports_are_the_averages_over_all_hash_functions(layout: list[Any], t: int) -> None:
    made = Collision(layout, 1, t, pool=2)
    check_supports(made, [held for held in all_held(made) if all(sign > 0 for _, sign in held[1:])][::2])


class FewCells(Collision):
    """A planted fault: fewer cells than entries, with the probabilities of the paper."""

    def __init__(self, layout: Any, epsilon: float) -> None:
        vars(self)["t"] = 2
        HashedOracle.__init__(self, layout, epsilon, None, 4)
        bound = self.bound
        vars(self)["_high"] = int(bound / (self.s * (bound - 1) + self.t) * (1 << 64))
        vars(self)["_realised"] = bound


def test_fewer_cells_than_entries_are_caught_by_the_ratio() -> None:
    found = audit(FewCells(["items", 4, 4, 0], 0.1), bytes(32))
    assert any("times as likely" in what for what in found.violations), found.violations
    with pytest.raises(ParameterError, match="collision: t: found 7; allowed: a whole number from 8"):
        Collision(["items", 4, 4, 0], 0.1, 7)


def test_one_user_and_many_give_the_same_reports() -> None:
    for kind, most in (("signed", 5), ("items", 5), ("signed", 1)):
        small = Collision([kind, 4, min(2, most), 1], 1)
        for pool in (None, 0):
            made = Collision([kind, 300, most, 1], 1, pool=pool)
            one_and_many_agree(made, [made.value(held) for held in all_held(small)] + numbers(made))


def test_reports_follow_the_law_and_estimates_are_right() -> None:
    for kind, sign in (("signed", -1), ("items", 1)):
        made = Collision([kind, 3, 2, 0], 1, pool=2).of_round(bytes(32))
        value = made.value(((0, 1), (2, sign)))
        reports_follow_the_law(made, value, 20_000)
        reports_follow_the_law(made, made.value(()), 20_000)
        estimates_are_right(Collision([kind, 3, 2, 0], 1, pool=0), value, rounds=200, n=100)
    signed = Collision(["signed", 3, 2, 0], 1, pool=2).of_round(bytes(32))
    reports_follow_the_law(signed, numbers(signed)[0], 20_000)


def test_formulas_have_the_golden_values() -> None:
    for s, epsilon, t, own, absent, held in GOLDEN["collision"]:
        made = Collision(["signed", 1000, s, 0], epsilon, t)
        found = (float(made.supports.own), *made.mean_moments)
        assert found == pytest.approx((own, absent, held), rel=1e-8 if epsilon in (1, 2) else 1e-6)  # in micro-nats
        assert made.share_moments == pytest.approx(made.mean_moments, rel=1e-12)
        halved = Collision(["items", 1000, s, 0], epsilon, t).mean_moments
        assert halved.absent == pytest.approx(absent / 2, rel=1e-6)
        assert halved.held < held
    made = Collision(["signed", 128, 8, 0], 1)
    total = 8 * made.mean_moments.held + 120 * made.mean_moments.absent
    assert total / 128 == pytest.approx(GOLDEN["totals_d128_s8_eps1"]["Collision"], rel=1e-7)


def test_the_default_number_of_cells_is_the_best() -> None:
    for d, s, epsilon, _, t in GOLDEN["collision_opt_t(d,s,eps,real_t,int_t)"]:
        assert Collision(["signed", d, s, 0], epsilon).t == t
    for d, s, epsilon, t, _ in GOLDEN["rank_t"]:
        best = Collision(["signed", d, s, 0], epsilon).t
        assert (best < t) if (d, s, epsilon) in SHORT_SEARCH else (best == t), (d, s, epsilon)


@every("kind", ["signed", "items"])
def test_no_other_number_of_cells_has_a_smaller_total_variance(kind: str) -> None:
    for d, s, epsilon in ((8, 8, 2), (30, 4, 0.5), (1000, 2, 3)):
        made = Collision([kind, d, s, 0], epsilon)
        moments = [Collision([kind, d, s, 0], epsilon, t).mean_moments for t in range(2 * s, 2 * made.t + 20)]
        totals = [s * held + (d - s) * absent for absent, held in moments]
        assert totals[made.t - 2 * s] == min(totals)


def test_the_blanket_has_the_golden_values() -> None:
    made = Collision(["signed", 128, 8, 0], 1, 36)
    mass, same, alike, neither = GOLDEN["blanket_pars"]["collision(8,36,1)"]
    assert [float(atom.mass) for atom in made.blanket()] == pytest.approx([mass, same, neither], rel=1e-8)
    assert not alike
    assert float(sum(atom.mass * atom.one for atom in made.blanket())) == pytest.approx(1, rel=1e-12)
    assert {(atom.one, atom.other) for atom in made.blanket()} == {(made.realised, 1), (1, made.realised), (1, 1)}
    other = Collision(["items", 128, 8, 0], 2, 74)
    for name, mixed in (("Collision(8,36) eps1", made), ("Collision(8,74) eps2", other)):
        for n, delta, wanted in zip((1000, 10_000), (1e-5, 1e-6), GOLDEN["amp"][name], strict=False):
            assert blanket_epsilon(mixed.blanket(), n, delta, mixed.epsilon) == pytest.approx(wanted, rel=3e-5)
