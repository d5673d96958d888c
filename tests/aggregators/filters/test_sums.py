# SPDX-License-Identifier: Apache-2.0
"""That frequencies sum to 1: used where it says something, as by dense computations, and not where it says nothing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.filters.models import Floats, Models
from murmurate.aggregators.filters.observed import Observed, Tail
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import GRR, OUE, SUE, HadamardResponse, Key, Mechanism, SubsetSelection, mechanism
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.registry import ORACLES

KEY = Key(hashlib.sha256(b"sums").digest(), deployment="shop")
ALONE = {"fluctuations": (), "sure": 1e9, "epoch": 0.0, "alone": 0.0, "odds": (1.0,), "stay": 1.0}


@dataclass(frozen=True)
class Even:
    """Reports whose shares err alike, whatever is true, and independently."""

    statistics: int
    variance: float = 2.0

    def summing(self) -> NDArray[np.bool_]:
        return np.zeros(self.statistics, np.bool_)

    def profile(self, support: NDArray[np.int64], n: int) -> Floats:
        return np.asarray(support / n)

    def plausible(self, profile: Floats) -> Floats:
        return profile

    def noise(self, profile: Floats) -> Floats:
        return np.full_like(profile, self.variance)

    def drawn(self, profile: Floats) -> Floats:
        return np.zeros_like(profile)

    def sampling(self, profile: Floats) -> Floats:
        return np.zeros_like(profile)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        return np.zeros_like(profile)


def given_the_sum(mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """A Gaussian, where its values are known to sum to 1."""
    gain = covariance.sum(axis=1) / covariance.sum()
    return mean + gain * (1 - mean.sum()), covariance - np.outer(gain, covariance.sum(axis=0))


def counts(mechanism: Mechanism, seed: int, n: int = 4_000) -> Answer:
    """Of cells that are independent, and of GRR."""
    rng = np.random.default_rng(seed)
    if isinstance(mechanism, GRR):
        return Answer(rng.multinomial(n, rng.dirichlet(np.ones(mechanism.d))), n)
    return Answer(rng.integers(n // 4, n // 2, mechanism.d), n)


# ---- a measurement ----


@pytest.mark.parametrize("kind", [OUE, SUE, HadamardResponse])
@pytest.mark.parametrize("d", [2, 5])
def test_a_measurement_is_the_gaussian_one_given_the_sum(kind: type[Mechanism], d: int) -> None:
    mechanism = kind(d=d, epsilon=1.5)
    heard, n, users = counts(mechanism, 1), 4_000, 20_000.0
    believed = np.random.default_rng(2).dirichlet(np.ones(d))
    seen = Observed.of(mechanism, heard, users, believed, Tail(), wholes=[slice(0, mechanism.statistics)])
    one_user = (np.diag(believed) - np.outer(believed, believed)) / n * ((users - n) / (users - 1))
    covariance = np.diag(mechanism.noise(believed) / n) + one_user
    mean, left = given_the_sum(mechanism.profile(heard.support, n), covariance)
    np.testing.assert_allclose(seen.statistics, mean, rtol=1e-9)
    np.testing.assert_allclose(seen.noise, np.diag(left), rtol=1e-9)
    assert seen.statistics.sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "heard"),
    [
        (GRR(d=2, epsilon=1.0), counts(GRR(d=2, epsilon=1.0), 3)),
        (GRR(d=2, epsilon=1e-6), counts(GRR(d=2, epsilon=1e-6), 3)),
        (GRR(d=2, epsilon=20.0), counts(GRR(d=2, epsilon=20.0), 3)),
        (GRR(d=50, epsilon=2.5), counts(GRR(d=50, epsilon=2.5), 4)),
        (SubsetSelection(d=3, epsilon=0.1), Answer(np.array([1_000, 1_200, 1_800]), 4_000)),  # one value a report
    ],
    ids=lambda case: f"{case.name}{case.d}-{case.epsilon}" if isinstance(case, Mechanism) else "",
)
def test_where_reports_sum_to_1_by_themselves_nothing_changes(mechanism: Mechanism, heard: Answer) -> None:
    believed = np.full(mechanism.d, 1 / mechanism.d)
    wholes: list[list[slice]] = [[slice(0, mechanism.statistics)], []]
    one, other = (Observed.of(mechanism, heard, 1e5, believed, Tail(), wholes=some) for some in wholes)
    for name in ("statistics", "noise", "noise_of_jump"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


@pytest.mark.parametrize("name", sorted(ORACLES))
@pytest.mark.parametrize("d", [3, pytest.param(12, marks=pytest.mark.audit)])
def test_errors_of_every_oracle_are_independent_or_sum_to_nothing(name: str, d: int) -> None:
    made, n, runs = mechanism({"name": name, "d": d, "epsilon": 1.0}), 500, 600
    values, users = np.minimum(np.arange(n) % (2 * d), d - 1), contexts(np.arange(n))
    found = np.empty((runs, d))
    for run in range(runs):
        draw = KEY.draw(users, round=hashlib.sha256(b"%d" % run).digest())
        support = made.of_round(draw.round).support(made.perturb(values, draw))
        found[run] = made.profile(support, n)[:d]
    sums, alone = found.sum(axis=1), found.var(axis=0).sum()
    if made.sums:
        assert np.abs(sums - 1).max() < 1e-9
        return
    assert 0.75 < sums.var() / alone < 1.25  # of 600 squares within 4.3 standard errors
    covariance = np.cov(found.T)
    apart = covariance[~np.eye(d, dtype=bool)] / np.sqrt(np.outer(*2 * [covariance.diagonal()]))[~np.eye(d, dtype=bool)]
    assert np.abs(apart).max() < 0.22


# ---- the filter ----


def test_one_model_of_values_that_err_alike_is_the_filter_of_all_together_that_knows_the_sum() -> None:
    d, n, drift, rng = 4, 50, 0.3, np.random.default_rng(5)
    one_pace = {"slowest": 1.0, "fastest": 1.0, **ALONE}
    source, models = Even(d), Models(levels=(drift,), trends=(), **one_pace)  # type: ignore[arg-type]
    filter_ = AdaptiveFilter(d, models=models)
    known = np.eye(d) - 1 / d  # a covariance of values that sum to 1
    r = source.variance / n
    level, error = np.full(d, 1 / d), known / d
    for _ in range(30):
        heard = Answer(rng.integers(0, n, d), n)
        filter_.learn(source, heard, users=None)
        gain = error @ np.linalg.inv(error + r * np.eye(d))
        level, error = level + gain @ (heard.support / n - level), error - gain @ error
        estimate, variance = filter_.release()
        np.testing.assert_allclose(estimate, level, rtol=1e-9)
        np.testing.assert_allclose(variance, np.diag(error), rtol=1e-9)
        error = error + drift * r * known
        filter_.advance()


def test_estimates_sum_to_1_and_what_was_missing_went_to_each_by_its_standard_error() -> None:
    oracle, rng = OUE(d=5, epsilon=2.0), np.random.default_rng(6)
    filter_ = AdaptiveFilter(5, revisable=4)
    share = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    moved = 0.0
    for t in range(40):
        now = np.roll(share, t // 20)
        heard = Answer(rng.binomial(2_000, float(oracle.q) + now * float(oracle.p - oracle.q)), 2_000)
        filter_.learn(oracle, heard, users=None)
        estimate, variance = filter_.release()
        assert estimate.sum() == pytest.approx(1, rel=1e-12)
        added = (estimate - filter_._leaning()) / np.sqrt(variance)
        assert added == pytest.approx(added.mean(), rel=1e-6, abs=1e-9)
        assert filter_.smoothed(4)[0].sum(axis=1) == pytest.approx(1, rel=1e-12)
        moved = max(moved, float(np.abs(added).max()))
        filter_.advance()
    assert moved > 0.1


def test_of_two_values_each_is_what_the_other_leaves() -> None:
    rng = np.random.default_rng(7)
    for made in (GRR(d=2, epsilon=1.0), OUE(d=2, epsilon=1.0)):
        filter_ = AdaptiveFilter(2)
        for turn in range(40):
            ones = rng.binomial(3_000, 0.3 + 0.2 * (turn > 20))
            support = [3_000 - ones, ones] if isinstance(made, GRR) else rng.integers(700, 1_500, 2)
            filter_.learn(made, Answer(np.asarray(support), 3_000), users=None)
            estimate, variance = filter_.release()
            assert estimate.sum() == pytest.approx(1, rel=1e-12)
            assert variance[0] == pytest.approx(variance[1], rel=1e-6)
            filter_.advance()


def test_two_cells_in_a_row_sum_to_1_too() -> None:
    filter_ = AdaptiveFilter(2, ordered=True)
    for support in ([900, 500], [700, 800]):
        filter_.learn(OUE(d=2, epsilon=1.0), Answer(np.array(support), 2_000), users=None)
        assert filter_._mean.sum() != pytest.approx(1, abs=1e-3)
        assert filter_.release()[0].sum() == pytest.approx(1, rel=1e-12)
        filter_.advance()


def test_numbers_are_no_frequencies_and_what_one_says_is_nothing_to_the_other() -> None:
    models, rng = Models(levels=(0.1,), trends=(), **ALONE), np.random.default_rng(8)  # type: ignore[arg-type]
    both = AdaptiveFilter(2, ranges=[(0, 1), (-1, 1)], models=models)
    each = [AdaptiveFilter(1, ranges=[one], models=models) for one in ((0, 1), (-1, 1))]
    for _ in range(20):
        support = rng.integers(0, 50, 2)
        both.learn(Even(2), Answer(support, 50), users=None)
        for one, count in zip(each, support, strict=True):
            one.learn(Even(1), Answer(np.array([count]), 50), users=None)
        found = zip(*(one.release() for one in each), strict=True)
        for mine, its in zip(both.release(), found, strict=True):
            assert mine.tolist() == np.concatenate(its).tolist()
        for one in (both, *each):
            one.advance()
    assert both.release()[0].sum() != pytest.approx(1, abs=1e-3)


# ---- how fast values move ----


def test_values_fluctuate_in_proportion_to_share_times_rest_and_drift_to_its_square_within_limits() -> None:
    models, room = Models(), np.array([0.24, 0.21, 0.16, 0.09])
    pace = models.pace(np.array([0.4, 0.3, 0.2, 0.1]))
    assert pace == pytest.approx(4 * room / 0.7)
    assert models.drifting(pace) == pytest.approx(pace.max() * (room / room.max()) ** 2)
    for shares in (np.full(7, 1 / 7), np.zeros(7), np.full(7, -0.1)):
        assert models.pace(shares) == pytest.approx(1)
    steep = models.pace(np.r_[0.9, np.full(99, 0.1 / 99)])
    assert steep.mean() == pytest.approx(1)
    assert steep.max() / steep.min() <= models.fastest / models.slowest


def test_the_more_values_there_are_the_less_a_doubtful_model_counts_in_error_bars() -> None:
    models = Models()
    assert models.doubted(0) == models.doubt
    assert models.doubted(models.witnesses) == models.doubt / 2
    sure, unsure = (AdaptiveFilter(64, models=Models(witnesses=w)) for w in (1e-9, 1e9))
    chance = np.random.default_rng(11)
    for _ in range(60):  # at rest
        heard = Answer(chance.binomial(2_000, np.full(64, 1 / 64)), 2_000)
        for one in (sure, unsure):
            one.learn(Even(64, 1 / 64), heard, users=None)
            one.advance()
    assert sure.release()[1].mean() < 0.9 * unsure.release()[1].mean()


def test_the_larger_share_is_soon_less_certain_unless_values_lie_in_a_row() -> None:
    heard, models = Answer(np.array([25, 15, 5, 5]), 50), Models(levels=(0.1,), trends=(), **ALONE)  # type: ignore[arg-type]
    for ordered in (False, True):
        filter_ = AdaptiveFilter(4, ordered=ordered, models=models)
        filter_.learn(Even(4, 0.01), heard, users=None)
        estimate, before = filter_.release()
        filter_.advance()
        drift = filter_.release()[1] - before
        room = np.ones(4) if ordered else (estimate * (1 - estimate)) ** 2  # as where logits drift
        assert drift / drift.sum() == pytest.approx(room / room.sum(), rel=1e-9)
