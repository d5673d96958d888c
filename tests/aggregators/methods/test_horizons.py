# SPDX-License-Identifier: Apache-2.0
"""Methods of horizons: whom they ask, that no ledger ever refuses, what they release, and that a crash changes nothing.

Answers are drawn from the laws of counts at made-up shares of values: users' own reports are the sessions' tests.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.horizon_levels import cohorts_needed
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import HORIZON_METHODS, kind_of, method
from murmurate.randomizers import ParameterError
from murmurate.randomizers.ledger import Ledger, Verdict
from murmurate.randomizers.sessions.node import Node
from tests.cases import every

USERS = 60_000


def setting(w: int = 9, slots: int = 576, *, says_none: bool = False) -> Setting:
    measure = Frequency.of_size(4, says_none=says_none)
    return Setting(measure, 2_000_000, w, slots, first_t=5, seed=bytes(32), min_batch=100)


def sao2(of: Setting, periods: int = 8, **options: Any) -> HorizonMethod:
    made = method(MethodOptions("sao2", horizon=str(periods), changes="4", fanout="2", users=str(USERS), **options), of)
    assert isinstance(made, HorizonMethod)
    return made


def truth(periods: int, seed: int) -> np.ndarray:
    """Shares of four values in each period: they walk."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(0, 0.1, (periods, 4)), axis=0)
    return np.asarray(np.exp(walk) / np.exp(walk).sum(axis=1, keepdims=True))


def answered(request: Request, t: int, shares: np.ndarray, first_t: int, rng: np.random.Generator) -> Answer:
    """Counts of a node: as many users as fall into its slots, each of whom changes no more often than shares move."""
    node = request.question
    assert isinstance(node, Node)
    assert request.asked is not None
    n = int(rng.binomial(USERS, request.asked.mean()))
    at = node.first_t(t) - first_t
    before = shares[at + node.begins - 1] if node.begins else np.zeros(4)
    change = (shares[at + node.step - 1] - before)[: node.statistics]
    up, down = np.maximum(change, 0), np.maximum(-change, 0)
    own, opposite, absent = map(float, node.protocol.supports)
    chances = [
        own * up + opposite * down + absent * (1 - up - down),
        own * down + opposite * up + absent * (1 - up - down),
    ]
    if absent == 0.5:  # a sign at every coordinate
        plus = rng.binomial(n, chances[0])
        return Answer(np.concatenate((plus, n - plus)), n)
    return Answer(np.concatenate([rng.binomial(n, chance) for chance in chances]), n)


def decided(
    made: HorizonMethod, t: int, shares: np.ndarray, rng: np.random.Generator, missing: bool = False
) -> Decision:
    step = made.open(t)
    while isinstance(step, Request):
        answer = answered(step, t, shares, 5, rng)
        step = made.tally(Answer(np.zeros_like(answer.support), 0) if missing else answer)
    return step


@every("size", [(9, 8, 3), (20, 8, 3), (5, 16, 2)], long=[(w, T, 4) for w in (1, 2, 9, 20, 33) for T in (1, 5, 8, 16)])
def test_no_slot_is_ever_refused_and_every_slot_of_a_level_gets_its_turn(size: tuple[int, int, int]) -> None:
    w, periods, turns = size
    of = setting(w)
    made = sao2(of, periods)
    ledger = Ledger(of.slots, w=w, limit_micro=of.epsilon_micro, division="population")
    cohorts, asked_ever = cohorts_needed(w, periods), np.zeros(of.slots, np.bool_)
    shares, rng = truth(periods * cohorts * turns, 1), np.random.default_rng(2)
    for t in range(5, 5 + len(shares)):
        step = made.open(t)
        while isinstance(step, Request):
            bill = step.question.bill(t)
            assert step.asked is not None
            assert bill.digest is not None
            verdicts = ledger.charge(t, bill.epsilon_micro, bill.digest, step.asked, (bill.first, bill.last))
            assert set(verdicts[step.asked].tolist()) <= {Verdict.CHARGED, Verdict.CONTINUED}
            asked_ever |= step.asked
            step = made.tally(answered(step, t, shares, 5, rng))
    idle = of.slots - cohorts * sum(made._levels.slots)
    assert (~asked_ever).sum() == idle < cohorts


@every("says_none", [False], long=[False, True])
def test_releases_are_unbiased_and_their_errors_are_those_that_they_say(says_none: bool) -> None:
    shares, off = truth(16, 3), []
    for seed in range(60):
        made, rng = sao2(setting(says_none=says_none)), np.random.default_rng(seed)
        for t in range(5, 5 + len(shares)):
            decision = decided(made, t, shares, rng)
            assert (decision.measured_t is None) == (says_none and t == 5)  # nobody belongs to the first period
            if decision.measured_t is not None:
                off.append((decision.vector.unbiased - shares[t - 5]) / np.sqrt(decision.vector.variance))
    scores = np.concatenate(off)
    assert abs(scores.mean()) < 5 / np.sqrt(len(scores) / 8)  # errors of neighbouring periods hang together
    assert 0.93 < (np.abs(scores) < 2).mean() < 0.97


@every("name", ["efmrtt", "direct"], long=list(HORIZON_METHODS))
def test_what_it_is_compared_with_is_unbiased_too(name: str) -> None:
    shares, off = truth(8, 8), []
    for seed in range(30):
        options = MethodOptions(name, horizon="8", changes="4", fanout="2", users=str(USERS))
        made, rng = method(options, setting()), np.random.default_rng(seed)
        assert isinstance(made, HorizonMethod)
        for t in range(5, 13):
            vector = decided(made, t, shares, rng).vector
            off.append((vector.unbiased - shares[t - 5]) / np.sqrt(vector.variance))
    scores = np.concatenate(off)
    assert abs(scores.mean()) < 5 / np.sqrt(len(scores) / 8)
    assert 0.9 < (np.abs(scores) < 2).mean() < 0.985


def test_a_mean_of_whole_numbers_comes_from_their_thermometers() -> None:
    measure = Mean.of_size(5, says_none=False)
    statistics, variance = measure.of_ones(np.array([1.0, 0.75, 0.5, 0.25]), np.full(4, 0.01))
    assert statistics.tolist() == [pytest.approx(-1 + 2 * 2.5 / 4)]
    assert variance.tolist() == [pytest.approx(4 * 0.01 / 4)]
    of = Setting(measure, 2_000_000, 9, 576, first_t=5, seed=bytes(32), min_batch=100)
    made = sao2(of)
    shares = np.linspace(0.2, 0.8, 16)[:, np.newaxis] * np.array([1, 0.9, 0.6, 0.2])
    off = []
    for t in range(5, 21):
        vector = decided(made, t, shares, np.random.default_rng(t)).vector
        off.append((vector.unbiased[0] - (shares[t - 5].sum() / 2 - 1)) / np.sqrt(vector.variance[0]))
    assert np.abs(off).max() < 4.5


def test_a_crash_between_any_two_calls_changes_nothing() -> None:
    of, shares = setting(), truth(20, 4)
    whole, torn = sao2(of), sao2(of)
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    for t in range(5, 25):
        first, step = decided(whole, t, shares, one), torn.open(t)
        while isinstance(step, Request):
            again = sao2(of)
            again.load(torn.state())
            torn = again
            step = torn.tally(answered(step, t, shares, 5, other))
        assert step.vector.unbiased.tolist() == first.vector.unbiased.tolist()
        again = sao2(of)
        again.load(torn.state())
        assert again.state() == whole.state()
        torn = again


def test_what_no_round_told_is_the_last_release_with_a_larger_error() -> None:
    made, shares, rng = sao2(setting()), truth(16, 6), np.random.default_rng(7)
    first = decided(made, 5, shares, rng)
    lost = decided(made, 6, shares, rng, missing=True)
    assert not lost.published
    assert lost.measured_t == 5
    assert (lost.vector.unbiased == first.vector.unbiased).all()
    assert (lost.vector.variance > first.vector.variance).all()
    for t in range(7, 13):
        decided(made, t, shares, rng)
    assert decided(made, 13, shares, rng).published  # the next horizon begins anew


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"goal": "all"}, "goal"),
        ({"fanout": "1"}, "fanout"),
        ({"changes": "0"}, "changes"),
    ],
)
def test_options_that_make_no_horizon_are_refused(options: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"horizon": "8", "changes": "4", "fanout": "2", "users": str(USERS), **options}
    with pytest.raises(ParameterError, match=words):
        method(MethodOptions("sao2", **given), setting())


def test_too_few_users_or_slots_and_measures_without_ones_are_refused() -> None:
    with pytest.raises(ParameterError, match="users"):
        method(MethodOptions("sao2", horizon="8", changes="4", users="200"), setting())
    with pytest.raises(ParameterError, match="slots"):
        sao2(setting(slots=6))
    with pytest.raises(ParameterError, match="may have no value"):
        method(MethodOptions("sao2", horizon="8"), Setting(Mean.of_size(9), 1_000_000, 9, 576, 1, bytes(32)))
    with pytest.raises(ParameterError, match="horizons for distribution"):
        method(MethodOptions("sao2", horizon="8"), Setting(Distribution.of_size(9), 1_000_000, 9, 576, 1, bytes(32)))


def test_the_smallest_part_is_that_of_the_level_with_the_fewest_slots() -> None:
    for name in HORIZON_METHODS:
        options = MethodOptions(name, horizon="8", changes="4", fanout="2", goal="mean", users=str(USERS))
        made = kind_of(name)(setting(), **options.own)
        assert isinstance(made, HorizonMethod)
        found = kind_of(name).smallest_asked(setting(), options)
        assert found == Fraction(min(made._levels.slots), setting().slots)
