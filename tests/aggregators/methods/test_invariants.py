"""What holds whatever the users answer and wherever a method crashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.aggregators.methods.method import Decision, Question, Setting
from murmurate.aggregators.methods.registry import METHODS, division, method
from murmurate.randomizers.ledger import Ledger, Verdict
from tests.aggregators.methods.driving import SEED, Asked, drive, random_answers, told

PERIODS = 25
SPECS: list[dict[str, Any]] = [
    {"name": "lbu"},
    {"name": "lpu"},
    {"name": "lpa", "variance": "paper"},
    {"name": "lpa", "variance": "sampling"},
]


@st.composite
def deployments(draw: st.DrawFn) -> tuple[Setting, Any]:
    """A setting, and answers by random users."""
    w = draw(st.integers(1, 6))
    setting = Setting(
        d=draw(st.integers(2, 5)),
        epsilon_micro=draw(st.sampled_from([6, 999_999, 1_000_000, 2_500_000])),
        w=w,
        slots=draw(st.integers(2 * w, 8 * w)),
        first_t=draw(st.sampled_from([0, 1, 1_000_000])),
        seed=SEED,
        min_batch=draw(st.sampled_from([1, 2, 20])),
    )
    seed = draw(st.integers(0, 1 << 30))
    users = np.random.default_rng(seed).poisson(draw(st.sampled_from([0, 1, 30, 3000])), setting.slots)
    return setting, random_answers(setting, users, seed)


def periods(setting: Setting) -> range:
    return range(setting.first_t, setting.first_t + PERIODS)


def test_every_method_is_driven_here() -> None:
    assert {spec["name"] for spec in SPECS} == set(METHODS)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@settings(max_examples=30, deadline=None)
@given(deployment=deployments())
def test_what_a_method_says_beforehand_that_it_will_ask_it_asks_whatever_comes_between(
    spec: dict[str, Any], deployment: tuple[Setting, Any]
) -> None:
    setting, answer = deployment
    one = method(spec, setting)
    known = {t: one.later(t) for t in periods(setting)}
    before = one.state()
    assert [one.later(t) is None for t in periods(setting)] == [question is None for question in known.values()]
    assert one.state() == before
    assert all((question is not None) == (spec["name"] == "lpu") for question in known.values())
    asked = {
        step.t: step.question
        for step in reversed(list(drive(one, periods(setting), answer)))
        if isinstance(step, Asked)
    }
    for t, question in known.items():
        assert question is None or told(question) == told(asked[t])


@pytest.mark.parametrize("spec", SPECS, ids=str)
@settings(max_examples=60, deadline=None)
@given(deployment=deployments())
def test_no_device_ever_refuses_an_honest_method(spec: dict[str, Any], deployment: tuple[Setting, Any]) -> None:
    setting, answer = deployment
    ledger = Ledger(setting.slots, w=setting.w, limit_micro=setting.epsilon_micro, division=division(spec["name"]))
    last = np.full(setting.slots, -setting.w)
    for step in drive(method(spec, setting), periods(setting), answer):
        if not isinstance(step, Asked):
            continue
        mask = step.mask(setting.slots)
        verdicts = ledger.charge(step.t, step.question.mechanism.epsilon_micro, step.digest, mask)
        assert (verdicts[mask] == Verdict.CHARGED).all()
        if division(spec["name"]) == "population":
            assert (step.t - last[mask] >= setting.w).all()
            assert step.question.mechanism.epsilon_micro == setting.epsilon_micro
            last[mask] = step.t
        else:
            assert (ledger.spent_micro(step.t) <= setting.epsilon_micro).all()
            assert step.question.mechanism.epsilon_micro == setting.epsilon_micro // setting.w


@settings(max_examples=60, deadline=None)
@given(deployment=deployments())
def test_lpa_asks_at_most_w_units_of_publications_in_any_window(deployment: tuple[Setting, Any]) -> None:
    setting, answer = deployment
    unit = setting.slots // (2 * setting.w)
    used = dict.fromkeys(periods(setting), 0)
    first = dict(used)
    for step in drive(method({"name": "lpa"}, setting), periods(setting), answer):
        if isinstance(step, Asked):
            asked = int(step.mask(setting.slots).sum())
            (used if step.question.purpose == "publication" else first)[step.t] += asked
    assert set(first.values()) == {unit}
    amounts = list(used.values())
    assert all(amount % unit == 0 for amount in amounts)
    assert all(sum(amounts[at : at + setting.w]) <= setting.w * unit for at in range(PERIODS))


@pytest.mark.parametrize("spec", SPECS, ids=str)
@settings(max_examples=60, deadline=None)
@given(deployment=deployments())
def test_releases_are_finite_come_once_a_period_and_name_their_source(
    spec: dict[str, Any], deployment: tuple[Setting, Any]
) -> None:
    setting, answer = deployment
    decisions = [s for s in drive(method(spec, setting), periods(setting), answer) if isinstance(s, Decision)]
    assert [decision.t for decision in decisions] == list(periods(setting))
    newest = None
    for decision in decisions:
        newest = decision.t if decision.published else newest
        assert decision.measured_t == newest
        assert decision.unbiased.shape == decision.variance.shape == (setting.d,)
        assert np.isfinite(decision.unbiased).all()
        assert (decision.variance > 0).all()
        assert np.isfinite(decision.variance).all()
        assert newest is not None or not decision.unbiased.any()


@pytest.mark.parametrize("spec", SPECS, ids=str)
@settings(max_examples=40, deadline=None)
@given(deployment=deployments(), crashes=st.sets(st.integers(0, 3 * PERIODS)))
def test_a_method_restored_at_any_point_goes_on_as_if_nothing_had_happened(
    spec: dict[str, Any], deployment: tuple[Setting, Any], crashes: set[int]
) -> None:
    setting, answer = deployment
    calm, shaken = method(spec, setting), method(spec, setting)
    calls = 0

    def crash() -> None:
        nonlocal shaken, calls
        if calls in crashes:
            state = shaken.state()
            shaken = method(spec, setting)
            shaken.load(state)
            assert shaken.state() == state == calm.state()
        calls += 1

    for t in periods(setting):
        crash()
        step, other = calm.open(t), shaken.open(t)
        while isinstance(step, Question):
            assert told(step) == told(other)
            crash()
            given_back = answer(Asked(t, step))
            step, other = calm.tally(given_back), shaken.tally(given_back)
        assert told(step) == told(other)
    assert calm.state() == shaken.state()
