# SPDX-License-Identifier: Apache-2.0
"""Totals: unbiased and with their exact variance by enumeration, bars that hold, and sums over stretches of periods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import ceil, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.agents.simulate.simulated_answers import run, support
from murmurate.agents.simulate.synthetic_counts import apportioned
from murmurate.aggregators.measures.holders import JointErrors
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.measures.total import Total
from murmurate.aggregators.measures.wandering import wandering_shares
from murmurate.aggregators.methods import last_estimate
from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.method import Answer, Decision, Estimate, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.randomizers import GRR, HM, SW, Mechanism, Question, ValueAndPresence, clipped
from murmurate.randomizers.registry import STREAMED, serving
from murmurate.topics.domains import Grid
from tests.cases import every
from tests.measured import figures, sized

RANGES = ((0.0, 120.0), (-5.0, 20.0), (10.0, 20.0), (-3.0, -1.0))
CODES = 5
BOTH = ValueAndPresence(d=CODES + 1, epsilon=1.5)
HELD = np.array([3, 1, 4, 1, 5, 9])
"""How many users hold each code; the last ones hold none."""


def total(ends: tuple[float, float], *, codes: int = CODES, none: bool = True) -> Total:
    return Total(Grid(*ends, codes, "points"), none, "EUR")


def decided(question: Question, counts: NDArray[np.int64], n: int, users: float | None = None) -> Decision:
    return last_estimate.measured(3, question, Answer(counts, n), users).decision(3)


def weight(ends: tuple[float, float]) -> float:
    """How often the share counts beside the total from -1 to 1."""
    return sum(ends) / (ends[1] - ends[0])


def reports(question: Mechanism, code: int) -> Iterator[tuple[NDArray[np.int64], Fraction]]:
    """The support of every report of a user with this code, and its chance."""
    for report, chance in question.law(code).items():
        yield question.support(np.frombuffer(report, np.uint8)[np.newaxis]), chance


@every("ends", RANGES)
def test_a_total_is_unbiased_whatever_a_user_holds(ends: tuple[float, float]) -> None:
    of = total(ends)
    for code in range(CODES + 1):
        said = [(of.result(decided(BOTH, counts, 1)).unbiased, float(chance)) for counts, chance in reports(BOTH, code)]
        true = 0.0 if code == CODES else of.domain.value(code)
        assert sum(told[0] * chance for told, chance in said) == pytest.approx(true, abs=1e-9)
        assert sum(told[1] * chance for told, chance in said) == pytest.approx(float(code != CODES), abs=1e-9)


@every("name", serving("mean", says_none=False))
def test_where_everybody_has_a_number_every_mechanism_is_unbiased_for_the_total(name: str) -> None:
    question, of = STREAMED[name](d=CODES, epsilon=1.5), total((-5.0, 20.0), none=False)
    for code in range(CODES):
        said = [
            (of.result(decided(question, counts, 1)).unbiased, chance) for counts, chance in reports(question, code)
        ]
        assert sum(told[0] * float(chance) for told, chance in said) == pytest.approx(of.domain.value(code), abs=1e-9)


def test_behind_a_threshold_numbers_above_it_count_as_it() -> None:
    question, of = clipped(d=CODES + 1, epsilon=1.5, inner="value_presence", clip=2), total((10.0, 20.0))
    for code, true in enumerate((10.0, 12.5, 15.0, 15.0, 15.0, 0.0)):
        cell = question.view.code(code)
        said = [
            (of.result(decided(question, counts, 1)).unbiased[0], chance)
            for counts, chance in reports(question.inner, cell)
        ]
        assert sum(told * float(chance) for told, chance in said) == pytest.approx(true, abs=1e-9)


@every("ends", RANGES)
def test_the_variance_of_a_total_is_that_of_its_reports_exactly(ends: tuple[float, float]) -> None:
    n, a = int(HELD.sum()), Fraction(weight(ends))
    exact = Fraction(0)
    for code, users in enumerate(HELD.tolist()):
        law = BOTH.law(code)
        worths = [(total_ + a * share, law[report]) for report in law for share, total_ in [BOTH.worth(report)]]
        mean = sum((worth * chance for worth, chance in worths), Fraction(0))
        exact += users * sum(((worth - mean) ** 2 * chance for worth, chance in worths), Fraction(0))
    (profile,) = total((-1, 1)).true_profiles(HELD[np.newaxis])
    found = JointErrors.of(BOTH, profile, n, None).variance(float(a))
    assert found == pytest.approx(float(exact / n**2), rel=1e-9)


@every("ends", RANGES)
def test_the_variance_of_drawing_users_is_that_of_all_draws_exactly(ends: tuple[float, float]) -> None:
    of, n, a = total(ends), 3, weight(ends)
    held = [0, 2, 2, 4, CODES, CODES, 1]
    counts = np.bincount(held, minlength=CODES + 1)
    worths = [0.0 if code == CODES else code / 2 - 1 + a for code in held]
    means = [sum(drawn) / n for drawn in combinations(worths, n)]
    (profile,) = of.true_profiles(counts[np.newaxis])
    drawn, asked = (JointErrors.of(BOTH, profile, n, users).variance(a) for users in (float(len(held)), None))
    assert drawn - asked == pytest.approx(float(np.var(means)), rel=1e-9)


@every("share", [0.02, 0.3, 1.0])
def test_the_error_that_a_release_states_is_within_5_percent_of_the_exact_one(share: float) -> None:
    of, both = total((0.0, 250.0), codes=33), ValueAndPresence(d=34, epsilon=2.0)
    shares = np.append(np.exp(-np.arange(33) / 6), 0)
    (held,) = apportioned(np.append(shares[:-1] / shares.sum() * share, 1 - share)[np.newaxis], 20_000)
    generator, users, n = np.random.default_rng(5), 80_000.0, 20_000
    told = [of.result(decided(both, support(both, held, generator), n, users)) for _ in range(60)]
    (profile,) = of.true_profiles(held[np.newaxis])
    exact = 125**2 * JointErrors.of(both, profile, n, users).variance(1.0)
    stated = float(np.mean([one.stderr_unbiased[0] ** 2 for one in told]))
    assert stated == pytest.approx(exact, rel=0.05)
    assert [one.stderr[0] for one in told] == pytest.approx([one.stderr_unbiased[0] for one in told])
    assert of.round_error(both, n, users, profile) * of.spread**2 == pytest.approx(exact)


def test_the_truth_of_a_total_is_the_sum_of_all_numbers_per_user() -> None:
    of = total((10.0, 20.0))
    sums = 3 * 10 + 1 * 12.5 + 4 * 15 + 1 * 17.5 + 5 * 20
    assert of.truth(HELD).tolist() == pytest.approx([sums / 23, 14 / 23])
    assert of.true_figures(HELD[np.newaxis])[0, 0] == pytest.approx(sums / 23)
    nobody = np.array([0, 0, 0, 0, 0, 9])
    assert of.truth(nobody).tolist() == [0.0, 0.0]
    assert np.isnan(of.truth(0 * nobody)).all()
    assert (of.names, of.scored) == (("total", "present"), ("total",))
    assert [of.is_share(name) for name in of.names] == [False, True]


def test_a_total_of_nobody_is_a_number_and_lies_between_nothing_and_the_range() -> None:
    for ends, limits in zip(RANGES, ((0.0, 120.0), (-5.0, 20.0), (0.0, 20.0), (-3.0, 0.0)), strict=True):
        of = total(ends)
        assert (of.limits("total"), of.axis) == (limits, limits)
        for code in (0, CODES - 1, CODES):
            counts = support(BOTH, np.bincount([code] * 50, minlength=CODES + 1), np.random.default_rng(code))
            told = of.result(decided(BOTH, counts, 50))
            assert limits[0] <= told.estimate[0] <= limits[1]
            assert np.isfinite([told.estimate, told.stderr, told.unbiased, told.stderr_unbiased]).all()
    assert total((10.0, 20.0), none=False).axis == (10.0, 20.0)


SHAPES = {
    "a hill": ((0.0, 120.0), np.exp(-(((np.arange(33) - 16) / 5) ** 2) / 2)),
    "mostly small": ((0.0, 1000.0), np.exp(-np.arange(33) / 2)),
    "a long tail, some below 0": ((-5.0, 20.0), 1 / (1.0 + np.arange(33)) ** 2),
    "the largest": ((0.0, 100.0), (np.arange(33) >= 30).astype(float)),
}
"""Kinds of amounts: a range, and how many hold each point."""


def periods(kind: str, filtered: str, *, none: bool, seeds: int) -> Iterator[tuple[float, ...]]:
    """Of each settled period of LPU, while truths wander: errors of the estimate and of `unbiased`, in their bars."""
    ends, base = SHAPES[kind]
    of = total(ends, codes=33, none=none)
    base = np.append(0.4 * base / base.sum(), 0.6) if none else base / base.sum()
    setting = Setting(of, 2_000_000, 4, 256, 0, bytes(32), min_batch=20)
    for seed in range(seeds):
        held = apportioned(wandering_shares(base, 0.002, 110, seed), 20_000)
        true = of.true_figures(held)[:, 0]
        for t, period in enumerate(run(held, MethodOptions("lpu", filter=filtered), setting, seed=seed)):
            if t >= 10:
                told, measured_t = of.result(period.decision), period.decision.measured_t
                assert measured_t is not None
                off = told.estimate[0] - true[t], told.unbiased[0] - true[measured_t]
                yield off[0] / told.stderr[0], off[1] / told.stderr_unbiased[0]


EVERY_SHAPE = (*((kind, True) for kind in SHAPES), ("a hill", False), ("a long tail, some below 0", False))


@every(
    ("filtered", "cases"),
    [("adaptive", [("mostly small", True)])],
    long=[("off", EVERY_SHAPE), ("adaptive", EVERY_SHAPE)],
)
def test_two_standard_errors_hold_95_of_100_totals(filtered: str, cases: Sequence[tuple[str, bool]]) -> None:
    within = np.array([
        np.mean(np.abs(list(periods(kind, filtered, none=none, seeds=8))) <= 2, axis=0) for kind, none in cases
    ])  # fmt: skip
    # Of 800 independent errors 95.45 % +- .74 % lie within, of 4 800 +- .3 %: 4.9 of these, a false alarm of 1e-6 each.
    # Errors behind a filter depend on each other: those of one truth are hardly more than a dozen.
    assert 0.93 <= within.mean(axis=0).min() <= within.mean(axis=0).max() <= 0.97
    assert 0.9545 - 4.9 * 0.0074 <= within[:, 1].min() <= within[:, 1].max() <= 0.9545 + 4.9 * 0.0074
    assert (0.88 if filtered == "adaptive" else 0.918) <= within[:, 0].min()


def test_sums_of_what_everybody_answers_vary_by_the_sum_of_squared_standard_errors() -> None:
    of, both, many, long = total((0.0, 10.0)), ValueAndPresence(d=CODES + 1, epsilon=1.0), 800, 4
    generator, n = np.random.default_rng(11), 400
    held = np.array([generator.multinomial(n, np.full(CODES + 1, 1 / (CODES + 1))) for _ in range(long)])
    truth = float(of.true_figures(held).sum())
    off = []
    for _ in range(many):
        told = [of.result(decided(both, support(both, each, generator), n)) for each in held]
        sums = sum(one.unbiased[0] for one in told) - truth
        off.append(sums / sqrt(sum(one.stderr_unbiased[0] ** 2 for one in told)))
    # The variance of 800 normals is known to 5 %, their mean to .035: 4.9 of these, a false alarm of 1e-6.
    assert np.var(off) == pytest.approx(1, abs=4.9 * sqrt(2 / many))
    assert abs(np.mean(off)) < 4.9 / sqrt(many)


def sampled(numbers: Sequence[Sequence[float]], turns: int) -> tuple[float, float]:
    """Of six users who answer in three groups, again and again: the variance of the summed error over all ways to draw
    the groups, and the sum of the periods' own. numbers: of each user, in the three periods of a turn.
    """
    x, n, users = np.array(numbers), 2, 6
    sums = [
        sum(turns * (x[list(order[n * j : n * j + n]), j].mean() - x[:, j].mean()) for j in range(3))
        for order in permutations(range(users))
    ]
    own = sum(turns * x[:, j].var() / n * finite_population_factor(n, users) for j in range(3))
    return float(np.var(sums)), float(own)


def test_sampling_errors_of_a_stretch_cancel_add_up_or_come_again_but_never_beyond_the_bound() -> None:
    rng, w = np.random.default_rng(3), 3
    kept = rng.random((6, 1)).repeat(3, axis=1)
    against = kept[:, :1] * np.array([1.0, -1.0, 0.0])
    for turns in (1, 2, 5):
        bound = ceil(turns * 3 / w) * w / (w - 1)
        together, own = sampled(kept.tolist(), turns)
        assert together == pytest.approx(0, abs=1e-12)  # the groups of a turn are everybody
        together, own = sampled(against.tolist(), turns)
        assert together == pytest.approx(bound * own)  # the worst there is
        for _ in range(5):
            together, own = sampled(rng.random((6, 3)).tolist(), turns)
            assert together <= bound * own * (1 + 1e-9)


@every(
    "question", [GRR(d=4, epsilon=1.0), HM(d=9, epsilon=1.0), ValueAndPresence(d=9, epsilon=2.0), SW(d=8, epsilon=1)]
)
def test_the_error_of_unbiased_is_without_the_drift_since(question: Question) -> None:
    d, n = question.layout[1], 3_000
    held = np.full(d, n // d)
    answer = Answer(support(question, held, np.random.default_rng(2)), int(held.sum()))
    last = last_estimate.measured(3, question, answer, 9_000.0)
    fresh, old = (figures(last.decision(t, mean_square=drift), None) for t, drift in ((3, None), (9, 0.04)))
    assert (old.stderr > fresh.stderr).all()
    assert (old.stderr_unbiased == fresh.stderr_unbiased).all()
    assert (old.unbiased == fresh.unbiased).all()
    kept = last_estimate.unpacked(last_estimate.packed(last.decision(9, mean_square=0.04)))
    assert (figures(kept, None).stderr_unbiased == fresh.stderr_unbiased).all()
    if question.measure != "distribution":
        assert fresh.stderr_unbiased == pytest.approx(fresh.stderr)


def test_the_error_of_an_unbiased_mean_is_that_of_its_own_ratio_whatever_the_filter_knows() -> None:
    both, of = ValueAndPresence(d=10, epsilon=2.0), Mean(Grid(0, 120, 9, "points"))
    answer = Answer(support(both, np.full(10, 400), np.random.default_rng(4)), 4_000)
    alone = decided(both, answer.support, 4_000)
    best = Estimate(3, alone.vector.unbiased, alone.vector.variance / 9)
    filtered = of.result(alone.with_vector(best=best))
    assert filtered.stderr_unbiased == pytest.approx(of.result(alone).stderr)
    assert filtered.stderr[0] < 0.5 * filtered.stderr_unbiased[0]


def test_a_total_is_sized_as_a_mean_is() -> None:
    assert isinstance(sized(9, "total"), Total)
    assert total((0.0, 5.0)).serving == ("value_presence",)
    assert total((0.0, 5.0), none=False).serving == ("hm", "pm", "sr")
    assert "per user of the population" in total((0.0, 5.0)).brief + total((0.0, 5.0)).what
