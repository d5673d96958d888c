# SPDX-License-Identifier: Apache-2.0
"""What holds whatever the users answer and wherever a method crashes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.aggregators.methods.method import Decision, Request, Setting
from murmurate.aggregators.methods.registry import METHODS
from murmurate.randomizers import SnapshotError
from murmurate.randomizers.ledger import Ledger, Verdict
from tests.aggregators.methods.driving import SEED, Asked, drive, method, random_answers, told
from tests.cases import drawn
from tests.measured import sized

PERIODS = 25
SPECS: list[dict[str, Any]] = [
    {"name": "lbu"},
    {"name": "lpu"},
    {"name": "lsp"},
    {"name": "lbd"},
    {"name": "lbd", "first_share": "0.3"},
    {"name": "lpd", "variance": "paper"},
    {"name": "lpd", "variance": "sampling", "first_share": "0.7"},
    {"name": "lba"},
    {"name": "lba", "first_share": "0.3"},
    {"name": "lpa", "variance": "paper"},
    {"name": "lpa", "variance": "sampling"},
    {"name": "lpa", "variance": "sampling", "first_share": "0.3"},
    {"name": "lb-dsat"},
    {"name": "lp-dsat"},
    {"name": "lb-rescuedp"},
    {"name": "lp-rescuedp", "variance": "paper"},
    {"name": "lp-rescuedp", "variance": "sampling"},
    {"name": "lb-fast"},
    {"name": "lp-fast"},
    {"name": "lb-pegasus", "grouping": "free"},
    {"name": "lb-pegasus", "grouping": "paid"},
    {"name": "lp-pegasus", "grouping": "free"},
    {"name": "lp-pegasus", "grouping": "paid"},
]
NUMBERS = [spec for spec in SPECS if spec.get("variance") != "paper" and "first_share" not in spec]
KNOWN_BEFOREHAND = {"lpu", "lsp"}


@st.composite
def deployments(draw: st.DrawFn) -> tuple[Setting, Any]:
    """A setting, and answers by random users."""
    w = draw(st.integers(1, 6))
    setting = Setting(
        sized(draw(st.integers(2, 5))),
        epsilon_micro=draw(st.sampled_from([36, 999_999, 1_000_000, 2_500_000])),
        w=w,
        slots=draw(st.integers(5 * w, 9 * w + 8)) + 3,
        first_t=draw(st.sampled_from([0, 1, 1_000_000])),
        seed=SEED,
        min_batch=draw(st.sampled_from([1, 2, 20])),
    )
    seed = draw(st.integers(0, 1 << 30))
    users = np.random.default_rng(seed).poisson(draw(st.sampled_from([0, 1, 30, 3000])), setting.slots)
    return setting, random_answers(setting, users, seed)


def periods(setting: Setting) -> range:
    return range(setting.first_t, setting.first_t + PERIODS)


def asked_of(step: Asked, setting: Setting) -> int:
    """What a question takes: micro-nats of everybody, or slots."""
    if step.request.asked is None:
        return step.request.question.epsilon_micro
    return int(step.mask(setting.slots).sum())


def test_every_method_is_driven_here() -> None:
    assert {spec["name"] for spec in SPECS} == set(METHODS)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@drawn(4, long=40, deployment=deployments())
def test_what_a_method_says_beforehand_that_it_will_ask_it_asks_whatever_comes_between(
    spec: dict[str, Any], deployment: tuple[Setting, Any]
) -> None:
    setting, answer = deployment
    one = method(spec, setting)
    known = {t: one.later(t) for t in periods(setting)}
    before = one.state()
    assert [one.later(t) is None for t in periods(setting)] == [question is None for question in known.values()]
    assert one.state() == before
    assert any(question is not None for question in known.values()) == (spec["name"] in KNOWN_BEFOREHAND)
    asked = {
        step.t: step.request for step in reversed(list(drive(one, periods(setting), answer))) if isinstance(step, Asked)
    }
    for t, question in known.items():
        assert question is None or told(question) == told(asked[t])
    if spec["name"] in KNOWN_BEFOREHAND:
        assert asked.keys() == {t for t, question in known.items() if question is not None}


@pytest.mark.parametrize("spec", SPECS, ids=str)
@drawn(5, long=100, deployment=deployments())
def test_no_device_ever_refuses_an_honest_method(spec: dict[str, Any], deployment: tuple[Setting, Any]) -> None:
    setting, answer = deployment
    ledger = Ledger(
        setting.slots, w=setting.w, limit_micro=setting.epsilon_micro, division=METHODS[spec["name"]].division
    )
    last = np.full(setting.slots, -setting.w)
    charges = dict.fromkeys(periods(setting), 0)
    for step in drive(method(spec, setting), periods(setting), answer):
        if not isinstance(step, Asked):
            continue
        mask = step.mask(setting.slots)
        verdicts = ledger.charge(step.t, step.request.question.epsilon_micro, step.digest, mask)
        assert (verdicts[mask] == Verdict.CHARGED).all()
        if METHODS[spec["name"]].division == "population":
            assert (step.t - last[mask] >= setting.w).all()
            assert step.request.question.epsilon_micro == setting.epsilon_micro
            last[mask] = step.t
        else:
            assert (ledger.spent_micro(step.t) <= setting.epsilon_micro).all()
            assert step.request.asked is None
            charges[step.t] += step.request.question.epsilon_micro
    spent = list(charges.values())
    assert all(sum(spent[at : at + setting.w]) <= setting.epsilon_micro for at in range(PERIODS))


@pytest.mark.parametrize("name", ["lba", "lpa"])
@drawn(12, long=200, deployment=deployments())
def test_absorption_asks_at_most_w_units_of_publications_in_any_window(
    name: str, deployment: tuple[Setting, Any]
) -> None:
    setting, answer = deployment
    unit = (setting.slots if name == "lpa" else setting.epsilon_micro) // (2 * setting.w)
    used = dict.fromkeys(periods(setting), 0)
    first = dict(used)
    for step in drive(method({"name": name}, setting), periods(setting), answer):
        if isinstance(step, Asked):
            (used if step.request.purpose == "publication" else first)[step.t] += asked_of(step, setting)
    assert set(first.values()) == {unit}
    amounts = list(used.values())
    assert all(amount % unit == 0 for amount in amounts)
    assert all(sum(amounts[at : at + setting.w]) <= setting.w * unit for at in range(PERIODS))


@pytest.mark.parametrize("spec", SPECS, ids=str)
@drawn(4, long=40, deployment=deployments())
def test_every_method_asks_in_every_window_so_that_it_learns_of_users_who_come(
    spec: dict[str, Any], deployment: tuple[Setting, Any]
) -> None:
    setting, answer = deployment
    asked = {step.t for step in drive(method(spec, setting), periods(setting), answer) if isinstance(step, Asked)}
    times = list(periods(setting))
    assert all(asked & set(times[at : at + setting.w]) for at in range(PERIODS - setting.w + 1))


def check_releases(setting: Setting, found: list[Asked | Decision], statistics: int) -> None:
    decisions = [step for step in found if isinstance(step, Decision)]
    asked = {step.t for step in found if isinstance(step, Asked)}
    assert [decision.t for decision in decisions] == list(periods(setting))
    newest = None
    for decision in decisions:
        newest = decision.t if decision.published else newest
        assert decision.t in asked or not decision.published
        assert decision.measured_t == newest
        assert decision.vector.unbiased.shape == decision.vector.variance.shape == (statistics,)
        assert np.isfinite(decision.vector.unbiased).all()
        assert (decision.vector.variance > 0).all()
        assert np.isfinite(decision.vector.variance).all()
        assert newest is not None or not decision.vector.unbiased.any()


@pytest.mark.parametrize("spec", SPECS, ids=str)
@drawn(4, long=50, deployment=deployments())
def test_releases_are_finite_come_once_a_period_and_name_their_source(
    spec: dict[str, Any], deployment: tuple[Setting, Any]
) -> None:
    setting, answer = deployment
    check_releases(setting, list(drive(method(spec, setting), periods(setting), answer)), setting.d)


@pytest.mark.parametrize(
    ("measure", "says_none", "d", "statistics"),
    [
        ("mean", True, 65_538, 2), pytest.param("mean", False, 65_537, 1, marks=pytest.mark.audit),
        pytest.param("distribution", True, 9, 9, marks=pytest.mark.audit),
    ],
)  # fmt: skip
@pytest.mark.parametrize("spec", NUMBERS, ids=str)
def test_every_method_follows_numbers_too(
    spec: dict[str, Any], measure: Any, says_none: bool, d: int, statistics: int
) -> None:
    rng = np.random.default_rng(7)
    setting = Setting(
        sized(d, measure, says_none=says_none), epsilon_micro=6_000_000, w=4, slots=40, first_t=5, seed=SEED,
        min_batch=2,
    )  # fmt: skip
    answer = random_answers(setting, rng.poisson(30, setting.slots), seed=7)
    calm, shaken = method(spec, setting), method(spec, setting)
    found, state = [], b""
    for step in drive(calm, periods(setting), answer):
        found.append(step)
        if isinstance(step, Decision) and step.t == setting.first_t + 9:
            state = calm.state()
    check_releases(setting, found, statistics)
    assert any(step.published for step in found if isinstance(step, Decision))
    assert all(step.vector.answer is not None for step in found if isinstance(step, Decision) and step.published)
    shaken.load(state)
    again = list(drive(shaken, range(setting.first_t + 10, setting.first_t + PERIODS), answer))
    assert list(map(said, again)) == list(map(said, found))[-len(again) :]


def said(step: Asked | Decision) -> tuple[object, ...]:
    return told(step.request) if isinstance(step, Asked) else told(step)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@drawn(5, long=80, deployment=deployments(), crashes=st.sets(st.integers(0, 3 * PERIODS)))
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
        while isinstance(step, Request):
            assert told(step) == told(other)
            crash()
            given_back = answer(Asked(t, step))
            step, other = calm.tally(given_back), shaken.tally(given_back)
        assert told(step) == told(other)
    assert calm.state() == shaken.state()


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_state_of_a_method_is_not_that_of_another_option(spec: dict[str, Any]) -> None:
    setting = Setting(sized(2), epsilon_micro=1_000_000, w=4, slots=80, first_t=1, seed=SEED)
    state = method(spec, setting).state()
    for other in SPECS:
        if other != spec and other["name"] == spec["name"]:
            with pytest.raises(SnapshotError, match="state of another setting"):
                method(other, setting).load(state)
    with pytest.raises(SnapshotError, match="state of another setting"):
        method(spec, replace(setting, w=3)).load(state)
