# SPDX-License-Identifier: Apache-2.0
"""What a release says of numbers: in their own unit, possible, and with an error that is that of the figure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.methods import last_estimate
from murmurate.aggregators.methods.method import Answer, Decision, Estimate
from murmurate.randomizers import GRR, HM, SW, Key, Mechanism, ValueAndPresence, WaveAndPresence
from murmurate.randomizers.randomness import contexts
from tests.measured import figures, vector_decision

KEY = Key(bytes(range(32)), deployment="tests")


def decided(mechanism: Mechanism, values: np.ndarray, *, run: int = 0, users: float | None = None) -> Decision:
    draw = KEY.draw(contexts(np.arange(len(values))), round=run.to_bytes(32))
    reports = mechanism.perturb(values, draw)
    return last_estimate.measured(3, mechanism, Answer(mechanism.support(reports), len(values)), users).decision(3)


def test_a_mean_is_told_in_the_unit_of_its_range() -> None:
    hm = HM(d=65_537, epsilon=2)
    decision = decided(hm, np.full(20_000, 49_152))  # a half on the scale from -1 to 1
    told = figures(decision, (0, 120))
    assert abs(told.unbiased[0] - 90) < 6 * told.stderr[0]
    assert told.stderr[0] == pytest.approx(60 * decision.vector.variance[0] ** 0.5)
    assert told.estimate == pytest.approx(told.unbiased)


def test_an_estimate_lies_in_the_range_however_raw_the_mean() -> None:
    raw = vector_decision(3, True, 3, np.array([1.7]), np.array([1.0]), HM(d=65_537, epsilon=1))
    told = figures(raw, (0, 120))
    assert (told.estimate[0], told.unbiased[0]) == (120, pytest.approx(162))


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_the_error_of_a_mean_of_holders_is_what_it_varies_by(share: float) -> None:
    both, n, runs = ValueAndPresence(d=65_538, epsilon=2), 4_000, 300
    holders = int(share * n)
    values = np.concatenate((np.linspace(20_000, 60_000, holders).astype(np.int64), np.full(n - holders, 65_537)))
    found = [figures(decided(both, values, run=run), (-1, 1)) for run in range(runs)]
    means, errors = (np.array([getattr(told, name)[0] for told in found]) for name in ("unbiased", "stderr"))
    shares = np.array([told.unbiased[1] for told in found])
    assert abs(shares.mean() - share) < 5 * shares.std() / runs**0.5
    if share > 0.1:  # a ratio with a small denominator has heavy tails
        assert np.median(errors) == pytest.approx(means.std(), rel=0.2)  # five standard errors of 300 runs
    truth = (values[:holders] / 32_768 - 1).mean()
    assert (np.abs(means - truth) < 2 * errors).mean() > 0.9


def test_drift_widens_the_error_of_a_ratio() -> None:
    both = ValueAndPresence(d=65_538, epsilon=2)
    draw = KEY.draw(contexts(np.arange(5_000)), round=bytes(32))
    reports = both.perturb(np.full(5_000, 40_000), draw)
    stands = last_estimate.measured(3, both, Answer(both.support(reports), 5_000), 100_000.0)
    fresh, old = (figures(stands.decision(t, mean_square=drift), (-1, 1)) for t, drift in ((3, None), (9, 0.04)))
    assert old.stderr[0] > fresh.stderr[0]
    assert old.unbiased[0] == fresh.unbiased[0]


@pytest.mark.parametrize("mechanism", [SW(d=16, epsilon=1), WaveAndPresence(d=17, epsilon=1)])
def test_a_distribution_is_possible_and_nearer_than_the_raw_one(mechanism: SW | WaveAndPresence) -> None:
    values = np.clip(np.random.default_rng(5).normal(8, 2, 50_000), 0, 15).astype(np.int64)
    truth = np.bincount(values, minlength=mechanism.d) / len(values)
    told = figures(decided(mechanism, values), (0, 1))
    assert told.estimate.min() >= 0
    assert told.estimate.sum() == pytest.approx(1)
    assert ((told.estimate - truth) ** 2).sum() < ((told.unbiased - truth) ** 2).sum()
    assert (np.abs(told.estimate - truth) < 6 * told.stderr).all()
    raw = np.sqrt(decided(mechanism, values).vector.variance)
    assert (np.abs(told.unbiased - truth) < 6 * raw).all()
    assert told.stderr.mean() < raw.mean()


NOTHING = [GRR(d=3, epsilon=1), HM(d=65_537, epsilon=1), ValueAndPresence(d=9, epsilon=1), SW(d=16, epsilon=1)]


@pytest.mark.parametrize("mechanism", NOTHING)
def test_before_anything_is_measured_nothing_is_a_number(mechanism: Mechanism) -> None:
    for mean_square in (None, 1.0):
        decision = last_estimate.nothing(mechanism).decision(1, mean_square=mean_square)
        told = figures(decision, (0, 10) if mechanism.measure == "mean" else None)
        for values in (told.estimate, told.stderr, told.unbiased):
            assert len(values) == len(decision.vector.unbiased)
            assert np.isnan(values).all()


def test_what_first_rounds_told_is_an_estimate_before_the_method_has_any_of_its_own() -> None:
    knows = Estimate(1, np.array([0.5, 0.3, 0.2]), np.full(3, 1e-4))
    told = figures(last_estimate.nothing(GRR(d=3, epsilon=1)).decision(1).with_vector(best=knows), None)
    assert told.estimate.tolist() == pytest.approx([0.5, 0.3, 0.2])
    assert told.stderr.tolist() == pytest.approx([0.01] * 3)
    assert np.isnan(told.unbiased).all()


def test_a_mean_of_nobody_is_no_number_beside_present() -> None:
    both, n, runs = ValueAndPresence(d=9, epsilon=2), 2_000, 400
    found = [figures(decided(both, np.full(n, 8), run=run), (0, 120)) for run in range(runs)]
    for told in found:
        assert np.isnan([told.estimate[0], told.stderr[0], told.unbiased[0]]).sum() in (0, 3)
        assert np.isfinite([told.estimate[1], told.stderr[1], told.unbiased[1]]).all()
    seen = float(np.mean([np.isfinite(told.estimate[0]) for told in found]))
    assert seen < 0.0228 + 5 * (0.0228 / runs) ** 0.5  # beyond two standard errors by chance; false alarm 1e-6


def test_holders_are_known_from_two_standard_errors_of_their_share_on_and_not_before() -> None:
    both = ValueAndPresence(d=9, epsilon=2)
    for share, known in ((-0.05, False), (0.0, False), (0.019, False), (0.021, True), (0.5, True)):
        raw = vector_decision(3, True, 3, np.array([share, share / 2]), np.full(2, 1e-4), both)
        told = figures(raw, (0, 120))
        assert np.isfinite([told.estimate[0], told.stderr[0], told.unbiased[0]]).all() == known
        # A filter that knows more has an estimate where the round itself tells no mean.
        knows = Estimate(3, np.array([0.5, 0.25]), np.full(2, 1e-6))
        told = figures(raw.with_vector(best=knows), (0, 120))
        assert told.estimate[0] == pytest.approx(90)
        assert np.isfinite(told.unbiased[0]) == known


@pytest.mark.parametrize("filtered", [True, False])
def test_who_was_seen_to_hold_a_value_is_not_forgotten_because_time_has_passed(filtered: bool) -> None:
    both = ValueAndPresence(d=9, epsilon=2)
    fresh = decided(both, np.full(4_000, 6))
    old = replace(
        fresh.with_vector(variance=np.ones(2)), t=9, published=False
    )  # nothing is known of drift: it may be anything
    said = Estimate(9, old.vector.unbiased, old.vector.variance) if filtered else None
    now, later = figures(fresh, (0, 120)), figures(old.with_vector(best=said), (0, 120))
    assert later.estimate.tolist() == now.estimate.tolist()
    assert later.unbiased.tolist() == now.unbiased.tolist()
    assert later.stderr[0] >= 60


def test_what_stands_survives_a_crash_with_its_reports() -> None:
    decision = decided(ValueAndPresence(d=65_538, epsilon=2), np.full(2_000, 40_000), users=50_000.0)
    told = decision.vector
    stands = last_estimate.LastEstimate(
        decision.measured_t, told.unbiased, told.variance, decision.question, told.answer, told.users
    )
    again = last_estimate.restored(stands.facts(), stands.arrays()).decision(3)
    for name in ("estimate", "stderr", "unbiased"):
        assert (getattr(figures(again, (0, 1)), name) == getattr(figures(decision, (0, 1)), name)).all()


def test_a_filtered_distribution_is_told_with_the_error_that_the_filter_leaves() -> None:
    mechanism, n = SW(d=32, epsilon=2), 40_000
    values = np.clip(np.random.default_rng(6).normal(12, 4, n), 0, 31).astype(np.int64)
    truth = np.bincount(values, minlength=32) / n
    held, widths = [], []
    for run in range(12):
        decision = decided(mechanism, values, run=run)
        assert decision.vector.answer is not None
        shares = decision.vector.answer.support / n
        told = []
        for known in (1, 9):  # the filter knows as much as nine such rounds would say
            best = Estimate(3, shares + (1 - known**-0.5) * (expected(mechanism, truth) - shares),
                            shares * (1 - shares) / n / known, of_reports=True)  # fmt: skip
            told.append(figures(decision.with_vector(best=best), (0, 1)))
        held += [(np.abs(said.estimate - truth) <= 2 * said.stderr)[truth >= 1 / 128].mean() for said in told]
        widths.append(told[1].stderr.mean() / told[0].stderr.mean())
    assert 0.9 < np.mean(held) < 1.0
    assert 0.3 < np.mean(widths) < 0.7


def expected(mechanism: SW, truth: np.ndarray) -> np.ndarray:
    """The chance of each report, of users of these frequencies."""
    return channel_of(mechanism).forward(truth)


def test_drift_widens_the_error_of_a_distribution() -> None:
    mechanism, values = SW(d=16, epsilon=2), np.random.default_rng(7).integers(4, 9, 5_000)
    draw = KEY.draw(contexts(np.arange(5_000)), round=bytes(32))
    answer = Answer(mechanism.support(mechanism.perturb(values, draw)), 5_000)
    stands = last_estimate.measured(3, mechanism, answer, 100_000.0)
    fresh, old = (figures(stands.decision(t, mean_square=drift), (0, 1)) for t, drift in ((3, None), (9, 0.04)))
    assert (old.stderr > fresh.stderr).all()
    assert (old.estimate == fresh.estimate).all()
    assert old.stderr.max() < 0.25
