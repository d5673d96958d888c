# SPDX-License-Identifier: Apache-2.0
"""Users drawn all at once are real users: exact distributions of small rounds, and whole runs beside whole runs.

A bound of `far` standard errors is passed by chance once in 10^6 among all comparisons of its test.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from murmurate.agents.cli.reproductions.runs import Case, RunToMake, made
from murmurate.agents.simulate.simulated_answers import answer, run, support
from murmurate.agents.simulate.synthetic_counts import SyntheticStream, numbers, stream
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.randomizers import BLH, GRR, HM, OLH, OUE, PM, SR, SW, Mechanism, SubsetSelection, ValueAndPresence
from murmurate.randomizers.mechanism import PureOracle
from tests.measured import sized

DRAWS = 10_000


def far(comparisons: int) -> float:
    return NormalDist().inv_cdf(1 - 1e-6 / 2 / comparisons)


def setting(**changes: Any) -> Setting:
    plain: dict[str, Any] = {
        "measure": sized(2, says_none=False), "epsilon_micro": 1_000_000, "w": 10, "slots": 400,
        "first_t": 1, "seed": bytes(range(32)),
    }  # fmt: skip
    return Setting(**(plain | changes))


def joint(mechanism: Mechanism, sample: list[int]) -> dict[tuple[int, ...], float]:
    """The chance of every support, from the law of each user's report."""
    found: dict[tuple[int, ...], float] = {(0,) * mechanism.outcomes: 1.0}
    for value, users in enumerate(sample):
        for _ in range(users):
            law = [
                (tuple(mechanism.support(np.frombuffer(report, np.uint8)[np.newaxis]).tolist()), float(chance))
                for report, chance in mechanism.law(value).items()
            ]
            after: defaultdict[tuple[int, ...], float] = defaultdict(float)
            for (before, p), (one, q) in itertools.product(found.items(), law):
                after[tuple(a + b for a, b in zip(before, one, strict=True))] += p * q
            found = dict(after)
    return found


@pytest.mark.parametrize(
    "mechanism",
    [
        GRR(d=2, epsilon=1.0), GRR(d=4, epsilon=0.5), OUE(d=3, epsilon=1.0), SR(d=3, epsilon=0.5), PM(d=4, epsilon=2.0),
        HM(d=4, epsilon=1.0), ValueAndPresence(d=4, epsilon=1.0), SW(d=4, epsilon=1.0),
        SubsetSelection(d=4, epsilon=0.5, k=1),
        pytest.param(SubsetSelection(d=4, epsilon=0.5, k=2), marks=pytest.mark.audit),
        pytest.param(SubsetSelection(d=5, epsilon=2.0, k=4), marks=pytest.mark.audit),
    ],
    ids=repr,
)  # fmt: skip
def test_all_cells_together_are_as_likely_as_with_real_reports(mechanism: Mechanism) -> None:
    sample = [2, 1, 0, 1, 0][: mechanism.d]
    generator = np.random.default_rng(1)
    seen = Counter(tuple(support(mechanism, np.array(sample), generator).tolist()) for _ in range(DRAWS))
    expected = joint(mechanism, sample)
    assert set(seen) <= set(expected)
    for outcome, chance in expected.items():
        if chance * DRAWS >= 25:
            error = sqrt(chance * (1 - chance) / DRAWS)
            assert abs(seen[outcome] / DRAWS - chance) < far(len(expected)) * error


@pytest.mark.parametrize(
    "mechanism",
    [
        GRR(d=5, epsilon=1.0), OUE(d=5, epsilon=1.0), OLH(d=5, epsilon=1.0), OLH(d=5, epsilon=1.0, pool=64),
        BLH(d=5, epsilon=0.5, pool=64), SubsetSelection(d=5, epsilon=1.0),
        pytest.param(SubsetSelection(d=32, epsilon=1.0), marks=pytest.mark.audit), SubsetSelection(d=33, epsilon=1.0),
    ],
    ids=repr,
)  # fmt: skip
def test_every_cell_has_the_exact_mean_and_variance(mechanism: PureOracle) -> None:
    sample, generator = np.zeros(mechanism.d, np.int64), np.random.default_rng(2)
    sample[:5] = 5_000, 3_000, 1_500, 500, 0
    n, p, q = int(sample.sum()), float(mechanism.p), float(mechanism.q)
    found = np.array([support(mechanism, sample, generator) for _ in range(4_000)])
    variance = sample * p * (1 - p) + (n - sample) * q * (1 - q)
    variance = variance + mechanism.added_variance(n, sample / n) * (n * (p - q)) ** 2
    assert np.all(
        np.abs(found.mean(axis=0) - (sample * p + (n - sample) * q)) < far(2 * len(sample)) * np.sqrt(variance / 4_000)
    )
    assert np.all(np.abs(found.var(axis=0) / variance - 1) < far(2 * len(sample)) * sqrt(2 / 4_000))


def test_counts_add_up_to_what_the_reports_hold() -> None:
    generator = np.random.default_rng(3)
    for d in (2, 3, 9, 32):
        sample = generator.integers(0, 100, d)
        assert support(GRR(d=d, epsilon=1.0), sample, generator).sum() == sample.sum()
        subsets = SubsetSelection(d=d, epsilon=0.5)
        assert support(subsets, sample, generator).sum() == subsets.k * sample.sum()


def test_a_law_too_long_to_list_gives_real_reports() -> None:
    mechanism, generator = HM(epsilon=1.0), np.random.default_rng(4)
    sample = np.zeros(mechanism.d, np.int64)
    sample[[0, 40_000]] = 10_000, 30_000
    counts = support(mechanism, sample, generator)
    truth = float(mechanism.value(40_000)) * 0.75 - 0.25
    error = sqrt(float(mechanism.variance(40_000, 0.8)))
    assert abs(mechanism.mean(counts, 40_000) - truth) < far(1) * error


def test_fewer_than_min_batch_count_for_nothing() -> None:
    few = answer(GRR(d=2, epsilon=1.0), np.array([3, 1]), 4, 5, np.random.default_rng(5))
    assert (few.counted, few.support.tolist()) == (0, [0, 0])


def test_a_round_may_count_that_the_method_would_not_have_asked_for() -> None:
    # A quarter of 400 users is asked each period: some 100, as many as the method would ask for at least.
    holders, of = np.tile([300, 100], (40, 1)), setting(w=4, min_batch=100)
    strict, real = (
        [
            heard.answer.counted
            for period in run(holders, MethodOptions("lpu"), of, seed=1, **how)
            for heard in period.rounds
        ]
        for how in ({}, {"counts_from": 50})
    )
    assert 0 in strict
    assert len(real) == 40
    assert min(real) >= 50
    assert min(real) < 100
    assert [mine for mine in real if mine >= 100] == [counted for counted in strict if counted]


def test_nearly_a_billion_users_are_drawn_at_once() -> None:
    holders = np.array([[900_000_000, 99_999_999]])
    (period,) = run(holders, MethodOptions("lpu"), setting(), seed=1)
    (heard,) = period.rounds
    assert heard.answer.counted == pytest.approx(999_999_999 / 10, abs=8 * sqrt(1e8))
    assert period.decision.vector.unbiased[0] == pytest.approx(0.9, abs=1e-3)


@pytest.mark.parametrize("name", ["lpa", "lsp", "lbd"])
def test_the_rounds_of_a_run_are_those_of_its_users(name: str) -> None:
    users = 20_000
    true = stream("sin", 1, users=users, periods=60)
    periods = list(run(true.holders, MethodOptions(name), setting(), seed=7))
    again = list(run(true.holders, MethodOptions(name), setting(), seed=7))
    asked = np.zeros(400, np.int64) - 10
    for period, same in zip(periods, again, strict=True):
        assert period.decision.vector.unbiased.tobytes() == same.decision.vector.unbiased.tobytes()
        for heard in period.rounds:
            if heard.request.asked is None:
                assert (heard.slots, heard.answer.counted) == (400, users)
            else:
                mask = heard.request.asked
                assert np.all(period.t - asked[mask] >= 10)  # both rounds of a period ask others, too
                asked[mask] = period.t
                assert heard.slots == mask.sum()
                assert abs(heard.answer.counted - heard.slots * users / 400) < 8 * sqrt(heard.slots * users / 400)
            assert heard.answer.support.sum() == heard.answer.counted


def test_whoever_answers_is_a_sample_without_replacement() -> None:
    # One answer a run, at an epsilon where nobody lies; the holders among n of N are hypergeometric.
    true, sizes = SyntheticStream(np.array([[300, 100]]), np.zeros(1, np.bool_)), list[tuple[int, int]]()
    for seed in range(2_000):
        (period,) = run(true.holders, MethodOptions("lpu"), setting(epsilon_micro=20_000_000, slots=40), seed=seed)
        (heard,) = period.rounds
        sizes.append((heard.answer.counted, int(heard.answer.support[1])))
    z = np.array([(ones - n / 4) / sqrt(n * 3 / 16 * (400 - n) / 399) for n, ones in sizes])
    assert abs(z.mean()) < far(2) / sqrt(len(z))
    assert abs(z.var() - 1) < far(2) * sqrt(2 / len(z))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case("sin", "lpa", users=2_000, periods=40, w=5), marks=pytest.mark.audit),
        Case("log", "lbd", users=2_000, periods=40, w=5, epsilon=4.0),
        Case("sin", "lpu + filter", users=2_000, periods=40, w=5, numbers=True),
    ],
    ids=lambda case: f"{case.stream} {case.method}{' numbers' * case.numbers}",
)
def test_a_run_is_like_one_of_users_who_go_through_every_stage(case: Case) -> None:
    drawn = [made(RunToMake(case, seed, stages=False, data=None)) for seed in range(20)]
    real = [made(RunToMake(case, seed, stages=True, data=None)) for seed in range(3)]
    for what in ("mre",) if case.numbers else ("mre", "bits"):  # a deployment's grid of numbers is finer
        mine, theirs = (np.array([getattr(found, what) for found in runs]) for runs in (drawn, real))
        # Means of 20 and of 3 runs: 7 standard errors, since the spread is known from 20 runs only (Student).
        error = mine.std(ddof=1) * sqrt(1 / 20 + 1 / 3)
        assert abs(mine.mean() - theirs.mean()) <= 7 * error + 1e-9


def test_made_up_numbers_lie_around_their_path() -> None:
    true = numbers("sin", 1, cells=65, users=100_000, periods=50)
    mean = true.shares @ np.linspace(0, 1, 65)
    assert np.all(true.holders.sum(axis=1) == 100_000)
    assert np.all((mean > 0.075) & (mean < 0.15))  # values below 0 count as 0, which lifts the mean
