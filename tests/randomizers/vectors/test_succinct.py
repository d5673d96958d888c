# SPDX-License-Identifier: Apache-2.0
"""SUCCINCT: noise around a circle, laws under every seed, estimates without the bias of the clip."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, ReportError, question
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.frequency.hashing import first_seed, hash_one
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.vectors import SUCCINCT
from murmurate.randomizers.vectors.circular_noise import CircularNoise
from tests.cases import every
from tests.randomizers.vectors.compared import small
from tests.randomizers.vectors.laws import KEY, all_held, numbers, one_and_many_agree, reports_follow_the_law

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "vectors_compared.json").read_text(encoding="utf-8"))
LAYOUT = ("signed", 128, 8, 0)
ROUND = bytes(range(32))


def check_law(made: SUCCINCT, *, occurs: bool = False) -> None:
    """Epsilon holds over all vectors, and under each seed the mean of what is told is that of the clipped sum."""
    made = made.of_round(ROUND)
    values = [made.value(held) for held in all_held(made)]
    audit = audit_exact(made, round=ROUND, values=values + numbers(made))
    assert audit.holds, (made, audit.violations)
    if occurs:
        assert audit.realised == pytest.approx(math.log(made.realised), rel=1e-14)
    held = next(reversed(list(all_held(made))))
    law = made.law(made.value(held))
    rows = np.array([list(report) for report in law], np.uint8)
    assert not made.malformed(rows).any()
    each = np.array([made.support(row[np.newaxis]) - made.largest for row in rows])
    found = np.array([float(chance) for chance in law.values()]) @ each
    expected = np.zeros(made.d)
    for number in range(made.pool):
        seed = (first_seed(ROUND) + number) % 2**64
        signs = [1 - 2 * hash_one(seed, key, 2) for key in range(made.d + made.s)]
        total = sum(signs[item] * sign for item, sign in held) + sum(signs[made.d + len(held) : made.d + made.s])
        mean, _ = made.circle.moments(max(-made.clip, min(made.clip, total * made.steps)))
        expected += mean * np.array(signs[: made.d]) / made.pool
    assert found == pytest.approx(expected, abs=1e-9 * made.clip)


def test_epsilon_holds_and_means_are_those_of_the_clipped_sums() -> None:
    for layout in small((1, 1), (2, 2)):
        check_law(SUCCINCT(layout, 1, pool=2))
    check_law(SUCCINCT(("signed", 3, 2, 0), 3, clip=3, steps=2, pool=4), occurs=True)


@pytest.mark.audit
@pytest.mark.parametrize("epsilon", [
    0.05, 0.1, 0.2, 0.3, 0.5, math.log(2), 0.9, 1, math.log(3), 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20,
])  # fmt: skip
def test_epsilon_holds_for_every_vector_of_few_coordinates(epsilon: float) -> None:
    for layout in small((1, 1), (2, 2), (3, 3)) if epsilon < 0.5 else small((3, 1), (3, 3), (4, 3)):
        check_law(SUCCINCT(layout, epsilon, clip=min(layout[2], 2), pool=1))
    if epsilon >= 0.5:
        check_law(SUCCINCT(("signed", 3, 3, 0), epsilon, clip=7, steps=3, pool=1))


@every(("micro", "span"), [(1_000_000, 2), (20_000_000, 2), (50_000, 2), (3_000_000, 3), (1_000_000, 14)])
def test_the_largest_ratio_around_the_circle_is_found(micro: int, span: int) -> None:
    noise = CircularNoise(micro, span)
    chances = [noise.chance(x) for x in range(-noise.half, noise.half)]
    assert sum(chances) == 1
    apart = [span] if len(chances) > 512 else range(1, span + 1)
    largest = max(max(p / chances[(i + a) % noise.size], chances[(i + a) % noise.size] / p)
                  for a in apart for i, p in enumerate(chances))  # fmt: skip
    assert noise.largest_ratio(apart) == largest
    assert 0 < micro / 1e6 - math.log(largest) < 1e-8
    assert min(noise.levels) > 1 << 35
    for value in (-span, 0, span):
        told = [((value + x + noise.half) % noise.size - noise.half, p) for x, p in enumerate(chances, -noise.half)]
        mean, square = noise.moments(value)
        assert mean == pytest.approx(float(sum(y * p for y, p in told)), abs=1e-9)
        assert square == pytest.approx(float(sum(y * y * p for y, p in told)), rel=1e-12)
        assert noise.at_least(value, span) == pytest.approx(float(sum(p for y, p in told if y >= span)), abs=1e-13)


def test_figures_are_the_known_ones_and_the_bias_of_the_clip_is_taken_out() -> None:
    golden, made = GOLDEN["succinct"], SUCCINCT.printed(LAYOUT, 1, 10_000, steps=1 << 20)
    assert made.clip / made.steps == pytest.approx(golden["eta"], rel=2e-7)
    assert made.kappa / made.steps == pytest.approx(golden["kappa"], rel=2e-7)
    assert made.sums_of_one[1] / made.steps**2 == pytest.approx(golden["v0_raw"], rel=3e-7)
    assert made.mean_moments.absent == pytest.approx(golden["v0_debiased"], rel=3e-7)
    coarse = SUCCINCT.printed(LAYOUT, 1, 10_000)
    assert coarse.mean_moments.absent == pytest.approx(golden["v0_debiased"], rel=2e-4)
    best = SUCCINCT(LAYOUT, 1)
    assert (best.clip, best.wire_size) == (1, 9)
    assert best.mean_moments.absent == pytest.approx(114.5, rel=1e-3)


def test_one_user_and_many_give_the_same_reports() -> None:
    few = SUCCINCT(("signed", 4, 2, 1), 1)
    for layout, pool in ((("signed", 70, 5, 1), 0), (("items", 9, 3, 0), 300), (("signed", 9, 3, 0), 1)):
        made = SUCCINCT(layout, 1, pool=pool)
        one_and_many_agree(made, [made.value(held) for held in all_held(few)] + numbers(made), round=ROUND)


def test_reports_follow_the_law() -> None:
    made = SUCCINCT(("signed", 3, 2, 0), 3, pool=4).of_round(bytes(32))
    reports_follow_the_law(made, made.value(((0, 1), (2, -1))), 20_000)


HOLDERS = [(("signed", 4, 3, 0), ((0, 1), (3, -1))), (("items", 4, 2, 0), ((0, 1),))]
"""Layouts, and what all users hold: fewer entries than they may."""


@every(("layout", "held"), HOLDERS)
def test_estimates_are_unbiased(layout: tuple[str, int, int, int], held: tuple[tuple[int, int], ...]) -> None:
    simulated(layout, held, 1_000, 0.27)  # six standard errors of a variance


@pytest.mark.audit
@every(("layout", "held"), HOLDERS)
def test_variances_are_within_five_percent(
    layout: tuple[str, int, int, int], held: tuple[tuple[int, int], ...]
) -> None:
    simulated(layout, held, 30_000, 0.05)  # likewise


def simulated(layout: tuple[str, int, int, int], held: tuple[tuple[int, int], ...], rounds: int, within: float) -> None:
    """Rounds of 20 users: means within 5 standard errors, variances within a part of themselves."""
    made = SUCCINCT(layout, 2)
    values = np.repeat(made.of.array([made.value(held)]), 20 * rounds, axis=0)
    reports = made.perturb(values, KEY.draw(contexts(np.arange(len(values)), 3), round=ROUND))
    found = np.array([made.estimate(made.support(part), 20) for part in np.split(reports, rounds)])
    truth = np.zeros(4)
    truth[[item for item, _ in held]] = [sign for _, sign in held]
    variance = made.variance(20, np.abs(truth))
    assert (np.abs(found.mean(axis=0) - truth) < 5 * np.sqrt(variance / rounds)).all()
    assert (np.abs(found.var(axis=0) / variance - 1) < within).all()


def test_sums_of_a_pool_and_of_fresh_seeds_are_additive_and_bounded() -> None:
    for pool in (0, 8):
        made = SUCCINCT(("signed", 5, 2, 0), 1, pool=pool).of_round(ROUND)
        values = np.repeat(made.of.array([made.value(((1, 1),))]), 40, axis=0)
        reports = made.perturb(values, KEY.draw(contexts(np.arange(40)), round=ROUND))
        whole = made.support(reports)
        assert (whole == made.support(reports[:7]) + made.support(reports[7:])).all()
        made.check(whole, 40)
        with pytest.raises(ReportError, match="no 1 reports"):
            made.check(np.full(5, made.circle.size + 1), 1)
        assert made.added_variance(40, np.ones(5)).tolist() == [4 / 8 if pool else 0] * 5


def test_malformed_reports_are_told() -> None:
    made = SUCCINCT(("signed", 5, 2, 0), 3, pool=8)
    assert made.circle.size == 32
    rows = np.array([[7, 31], [8, 31], [7, 32]], np.uint8)
    assert made.malformed(rows).tolist() == [False, True, True]
    with pytest.raises(ParameterError, match="round: found none"):
        made.support(rows[:1])


@every("layout", [("signed", 6, 2, 0), ("items", 3, 2, 0), ("items", 6, 2, 0)])
def test_the_evidence_for_an_extreme_is_about_as_likely_as_it_says(layout: tuple[str, int, int, int]) -> None:
    """Within 6 standard errors of 40 000 reports of fresh seeds."""
    made = SUCCINCT(layout, 1)
    one, other = made.extremes
    for value, said in zip((one, other), made.telling, strict=True):
        values = np.repeat(made.of.array([value]), 20_000, axis=0)
        reports = made.perturb(values, KEY.draw(contexts(np.arange(20_000), 5), round=ROUND))
        share = made.evidence(reports, one, other).mean()
        assert abs(share - float(said)) < 6 * math.sqrt(float(said) / 20_000)


def test_a_spec_gives_the_same_question() -> None:
    for made in (SUCCINCT(LAYOUT, 1), SUCCINCT.printed(("items", 20, 4, 1), 0.5, 1000), SUCCINCT(LAYOUT, 1, pool=9)):
        assert question(made.spec()) == made
    assert made.of_round(ROUND) != made
    for wrong in ({"clip": 9}, {"clip": 0}, {"steps": 0}, {"pool": -1}, {"clip": 2**20, "steps": 2**20}):
        with pytest.raises(ParameterError):
            SUCCINCT(("signed", 9, 8, 0), 1e-6, **wrong)
