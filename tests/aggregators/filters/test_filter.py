# SPDX-License-Identifier: Apache-2.0
"""What holds of the filter whatever the stream, and where a single model makes it a textbook's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.filters.models import Floats, Models
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import GRR, OUE, Mechanism, ParameterError, SnapshotError
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.state import Arrays, StateForm, dump, load
from tests.cases import drawn

GRR2 = GRR(d=2, epsilon=1.0)
"""Its noise depends on no frequency."""
ALONE = {"fluctuations": (), "sure": 1e9, "epoch": 0.0, "alone": 0.0, "odds": (1.0,), "stay": 1.0}


def heard(oracle: PureOracle, shares: Floats, n: int, rng: np.random.Generator) -> Answer:
    """An answer, drawn cell by cell."""
    holders = rng.multinomial(n, shares)
    support = rng.binomial(holders, float(oracle.p)) + rng.binomial(n - holders, float(oracle.q))
    if isinstance(oracle, GRR):
        support[0] = n - support[1:].sum()
    return Answer(support, n)


FILTER = StateForm("filter", 1)


def state(filter_: AdaptiveFilter) -> bytes:
    return dump(FILTER, filter_.facts(), filter_.arrays())


def walk(periods: int, rng: np.random.Generator) -> Floats:
    p = 0.3 + np.cumsum(rng.normal(0, 0.01, periods))
    return np.stack((1 - p, p), axis=1)


# ---- a single model ----


@pytest.mark.parametrize("drift", [0.0, 0.01, 0.5])
def test_one_level_model_is_the_textbooks_filter(drift: float) -> None:
    rng = np.random.default_rng(1)
    n = 2_000
    r = float(GRR2.noise(np.array([0.5]))[0]) / n
    filter_ = AdaptiveFilter(2, models=Models(levels=(drift,), trends=(), **ALONE))  # type: ignore[arg-type]
    x, p = 0.5, 0.25
    for shares in walk(60, rng):
        answer = heard(GRR2, shares, n, rng)
        filter_.learn(GRR2, answer, users=None)
        y = GRR2.estimate(answer.support, n)[1]
        gain = p / (p + r)
        x, p = x + gain * (y - x), (1 - gain) * p
        estimate, variance = filter_.release()
        assert estimate[1] == pytest.approx(x, rel=1e-12)
        assert variance[1] == pytest.approx(p, rel=1e-9)
        p += drift * r
        filter_.advance()


def textbook_trend(answers: list[Answer], n: int, spin: float, damping: float) -> list[tuple[Floats, Floats]]:
    """Filtered states and covariances of level and velocity."""
    r = float(GRR2.noise(np.array([0.5]))[0]) / n
    f, q = np.array([[1, 1], [0, damping]]), spin * r * np.array([[1 / 3, 1 / 2], [1 / 2, 1]])
    x, p = np.array([0.5, 0.0]), np.diag([0.25, spin * r / (1 - damping**2)])
    found = []
    for answer in answers:
        gain = p[:, 0] / (p[0, 0] + r)
        x, p = x + gain * (GRR2.estimate(answer.support, n)[1] - x[0]), p - np.outer(gain, p[0])
        found.append((x, p))
        x, p = f @ x, f @ p @ f.T + q
    return found


def test_one_trend_model_is_the_textbooks_filter_and_smoother() -> None:
    rng = np.random.default_rng(2)
    n, spin = 2_000, 1e-4
    models = Models(levels=(), trends=(spin,), **ALONE)  # type: ignore[arg-type]
    filter_ = AdaptiveFilter(2, revisable=10, models=models)
    answers = [heard(GRR2, np.array([0.8 - t / 100, 0.2 + t / 100]), n, rng) for t in range(40)]
    states = textbook_trend(answers, n, spin, models.damping)
    for answer, (x, p) in zip(answers, states, strict=True):
        filter_.advance()
        filter_.learn(GRR2, answer, users=None)
        estimate, variance = filter_.release()
        assert estimate[1] == pytest.approx(x[0], rel=1e-9)
        assert variance[1] == pytest.approx(p[0, 0], rel=1e-6)
    r = float(GRR2.noise(np.array([0.5]))[0]) / n
    f, q = np.array([[1, 1], [0, models.damping]]), spin * r * np.array([[1 / 3, 1 / 2], [1 / 2, 1]])
    later, later_p = states[-1]
    smoothed, variances = filter_.smoothed(10)
    for back in range(1, 11):  # Rauch, Tung, Striebel
        x, p = states[-1 - back]
        ahead = f @ p @ f.T + q
        gain = p @ f.T @ np.linalg.inv(ahead)
        later, later_p = x + gain @ (later - f @ x), p + gain @ (later_p - ahead) @ gain.T
        assert smoothed[-back, 1] == pytest.approx(later[0], rel=1e-7)
        assert variances[-back, 1] == pytest.approx(later_p[0, 0], rel=1e-5)


def test_two_rounds_of_a_period_are_one_with_all_their_reports() -> None:
    rng = np.random.default_rng(3)
    one, two = (
        AdaptiveFilter(2, models=Models(levels=(0.0,), trends=(), **ALONE))  # type: ignore[arg-type]
        for _ in range(2)
    )
    for shares in walk(20, rng):
        first, second = heard(GRR2, shares, 500, rng), heard(GRR2, shares, 3_000, rng)
        one.learn(GRR2, Answer(first.support + second.support, 3_500), users=None)
        two.learn(GRR2, first, users=None)
        two.learn(GRR2, second, users=None)
        for mine, other in zip(one.release(), two.release(), strict=True):
            assert mine == pytest.approx(other, rel=1e-9)
        one.advance()
        two.advance()


# ---- any stream ----


def test_before_the_first_report_it_says_how_little_is_known() -> None:
    estimate, variance = AdaptiveFilter(4).release()
    assert estimate == pytest.approx([0.25] * 4)
    assert np.all(variance > 0.18)
    mean, spread = AdaptiveFilter(1, ranges=[(-1, 1)]).release()
    assert mean == pytest.approx([0])
    assert spread[0] > 0.99


def test_the_variance_of_a_constant_stream_falls_like_one_over_the_periods() -> None:
    oracle, n, shares = OUE(d=4, epsilon=1.0), 10_000, np.array([0.4, 0.3, 0.2, 0.1])
    holders = np.rint(n * shares).astype(np.int64)  # the same ones: who is drawn anew makes a truth fluctuate
    fresh = oracle.noise(shares) / n
    fresh *= 1 - fresh / fresh.sum()  # shares sum to 1
    runs = list[list[float]]()
    for seed in range(5):
        rng, filter_, at = np.random.default_rng(seed), AdaptiveFilter(4), list[float]()
        for _ in range(320):
            support = rng.binomial(holders, float(oracle.p)) + rng.binomial(n - holders, float(oracle.q))
            filter_.learn(oracle, Answer(support, n), users=None)
            at.append(float((filter_.release()[1] / fresh).mean()))
            filter_.advance()
        runs.append(at)
    usual = np.sort(runs, axis=0)[2]
    assert usual[0] == pytest.approx(1, rel=0.05)
    for t in (5, 20, 80, 160, 320):  # of the best possible, 1 to 8: it cannot know that the stream is constant
        assert 0.9 < usual[t - 1] * t < 8
    assert usual[-1] < usual[19] / 3


def test_a_jump_is_followed_within_a_few_periods() -> None:
    rng = np.random.default_rng(5)
    oracle, n = OUE(d=4, epsilon=1.0), 10_000
    before, after = np.array([0.6, 0.3, 0.08, 0.02]), np.array([0.2, 0.3, 0.08, 0.42])
    filter_ = AdaptiveFilter(4)
    estimate, variance = filter_.release()
    for t in range(105):
        filter_.learn(oracle, heard(oracle, before if t < 100 else after, n, rng), users=None)
        estimate, variance = filter_.release()
        truth = before if t < 100 else after
        if t >= 100:
            assert np.all((estimate - truth) ** 2 < 9 * variance + 1e-12)
        filter_.advance()
    fresh = oracle.noise(after) / n
    assert np.all((estimate - after) ** 2 < 4 * fresh)
    assert np.all(variance[[0, 3]] < fresh[[0, 3]] / 2)
    assert np.all(variance[[1, 2]] < fresh[[1, 2]] / 8)  # those that did not jump are as exact as before


def test_the_order_of_the_values_does_not_matter() -> None:
    rng = np.random.default_rng(6)
    oracle, order = OUE(d=6, epsilon=1.0), rng.permutation(6)
    one, other = AdaptiveFilter(6), AdaptiveFilter(6)
    for t in range(60):
        answer = heard(oracle, rng.dirichlet(np.ones(6)) if t % 20 == 0 else np.full(6, 1 / 6), 5_000, rng)
        one.learn(oracle, answer, users=50_000)
        other.learn(oracle, Answer(answer.support[order], answer.counted), users=50_000)
        for mine, its in zip(one.release(), other.release(), strict=True):
            assert mine[order] == pytest.approx(its, rel=1e-9)
        one.advance()
        other.advance()


def test_a_gap_changes_nothing_but_what_time_does() -> None:
    rng = np.random.default_rng(7)
    filter_ = AdaptiveFilter(2)
    for shares in walk(30, rng):
        filter_.learn(GRR2, heard(GRR2, shares, 5_000, rng), users=100_000)
        filter_.advance()
    before, told = state(filter_), filter_.release()
    filter_.learn(GRR2, Answer(np.zeros(2, np.int64), 0), users=100_000)
    assert state(filter_) == before
    filter_.advance(40)
    estimate, variance = filter_.release()
    assert np.all(variance > told[1])
    assert np.all((estimate >= 0) & (estimate <= 1))
    filter_.advance(1_000_000)
    assert np.all(filter_.release()[1] <= 0.5)


def test_many_periods_at_once_are_as_many_by_one() -> None:
    one, other = AdaptiveFilter(2), AdaptiveFilter(2)
    answer = heard(GRR2, np.array([0.7, 0.3]), 5_000, np.random.default_rng(8))
    for filter_ in (one, other):
        filter_.learn(GRR2, answer, users=None)
    one.advance(5)
    for _ in range(5):
        other.advance()
    assert state(one) == state(other)


@pytest.mark.parametrize("revisable", [0, 3])
def test_a_restored_filter_goes_on_byte_for_byte_wherever_it_stopped(revisable: int) -> None:
    oracle, rng = OUE(d=5, epsilon=1.0), np.random.default_rng(9)
    answers = [heard(oracle, np.full(5, 0.2), 0 if turn == 10 else 1_000, rng) for turn in range(24)]

    def turn_of(filter_: AdaptiveFilter, turn: int) -> None:
        if turn % 3 == 2:  # two rounds a period
            filter_.advance(1 + turn % 2)
        else:
            filter_.learn(oracle, answers[turn], users=None)

    for stop in range(16):
        one, other = AdaptiveFilter(5, revisable=revisable), AdaptiveFilter(5, revisable=revisable)
        for turn in range(stop):
            turn_of(one, turn)
        other.load(*_through_bytes(one))
        assert state(other) == state(one)
        for turn in range(stop, 24):
            turn_of(one, turn)
            turn_of(other, turn)
        assert state(other) == state(one)
        for mine, its in zip((*one.release(), *one.smoothed(3)), (*other.release(), *other.smoothed(3)), strict=True):
            assert mine.tobytes() == its.tobytes()


def _through_bytes(filter_: AdaptiveFilter) -> tuple[dict[str, Any], Arrays]:
    return load(FILTER, state(filter_))


def test_the_state_of_another_filter_is_refused() -> None:
    one = AdaptiveFilter(2)
    with pytest.raises(SnapshotError, match="another setting"):
        AdaptiveFilter(3).load(one.facts(), one.arrays())
    with pytest.raises(SnapshotError, match="another setting"):
        AdaptiveFilter(2, ranges=[(0, 1), (-1, 1)]).load(one.facts(), one.arrays())


def test_what_makes_no_filter_is_refused() -> None:
    with pytest.raises(ParameterError, match="statistics: found 0"):
        AdaptiveFilter(0)
    with pytest.raises(ParameterError, match="2 times low < high"):
        AdaptiveFilter(2, ranges=[(0, 1)])
    with pytest.raises(ParameterError, match="low < high"):
        AdaptiveFilter(1, ranges=[(1, 1)])
    with pytest.raises(ParameterError, match="revisable: found -1"):
        AdaptiveFilter(2, revisable=-1)
    with pytest.raises(ParameterError, match="lag: found -1"):
        AdaptiveFilter(2).smoothed(-1)
    with pytest.raises(ParameterError, match="found 0 periods"):
        AdaptiveFilter(2).advance(0)
    with pytest.raises(ParameterError, match="found 2 statistics; allowed: 3"):
        AdaptiveFilter(3).learn(GRR2, Answer(np.array([1, 1]), 2), users=None)


@drawn(
    10,
    long=300,
    d=st.sampled_from([2, 3, 50]),
    epsilon=st.sampled_from([1e-6, 1e-3, 1.0, 8.0, 20.0]),
    oracle=st.sampled_from([GRR, OUE]),
    seed=st.integers(0, 1 << 30),
)
def test_no_counts_give_a_number_that_is_none(d: int, epsilon: float, oracle: type[Mechanism], seed: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism = oracle(d=d, epsilon=epsilon)
    filter_ = AdaptiveFilter(d, revisable=2)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        for _ in range(25):
            n = int(10 ** rng.uniform(0, 9))
            users = None if rng.random() < 0.5 else float(rng.integers(1, 2 * n + 1))
            filter_.learn(mechanism, Answer(rng.integers(0, n + 1, d) * rng.integers(0, 2, d), n), users)
            if rng.random() < 0.8:
                filter_.advance(int(rng.choice([1, 1, 2, 50])))
            for values, variances in (filter_.release(), filter_.smoothed(2)):
                assert np.all(np.isfinite(values))
                assert np.all(np.isfinite(variances))
                assert np.all(variances >= 0)
