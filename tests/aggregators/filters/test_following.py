# SPDX-License-Identifier: Apache-2.0
"""A method that is followed asks and releases what it would alone; the filter says something of its own beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmurate.agents.simulate.simulated_answers import run
from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.filters.following import Following
from murmurate.aggregators.filters.observed import ReportShares
from murmurate.aggregators.methods.last_estimate import packed, unpacked
from murmurate.aggregators.methods.method import Decision, Estimate, Method, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS
from murmurate.randomizers import GRR, ParameterError, SnapshotError
from tests.aggregators.methods.driving import SEED, Asked, decided, drive, method, random_answers, told
from tests.measured import figures, sized, vector_decision

PERIODS = 30
SETTING = Setting(sized(4), epsilon_micro=2_000_000, w=4, slots=160, first_t=7, seed=SEED)
TIMES = range(SETTING.first_t, SETTING.first_t + PERIODS)
USERS = np.full(SETTING.slots, 10)
MEASURES = {
    "frequency": SETTING,
    "mean": replace(SETTING, measure=sized(65_538, "mean")),
    "distribution": replace(SETTING, measure=sized(9, "distribution")),
}


def followed(name: str, setting: Setting, **options: Any) -> Following:
    made = method({"name": name, "filter": "adaptive", **options}, setting)
    assert isinstance(made, Following)
    return made


def decisions(made: Method, setting: Setting) -> list[Decision]:
    steps = drive(made, TIMES, random_answers(setting, USERS, seed=3))
    return [step for step in steps if isinstance(step, Decision)]


def some_of(names: list[str]) -> list[Any]:
    """Every method follows frequencies and one other measure, `make audit` has the rest."""
    numbers = [measure for measure in MEASURES if measure != "frequency"]
    short = {(name, numbers[at % 2]) for at, name in enumerate(names)}
    return [
        (name, of) if of == "frequency" or (name, of) in short else pytest.param(name, of, marks=pytest.mark.audit)
        for name in names
        for of in MEASURES
    ]


@pytest.mark.parametrize(("name", "measure"), some_of(sorted(METHODS)))
def test_what_is_asked_and_released_is_the_methods_own(name: str, measure: str) -> None:
    setting = MEASURES[measure]
    answer = random_answers(setting, USERS, seed=3)

    def said(made: Method) -> list[object]:
        steps = drive(made, TIMES, answer)
        return [told(step.request if isinstance(step, Asked) else step) for step in steps]

    assert said(followed(name, setting, revise=2)) == said(method({"name": name}, setting))


@pytest.mark.parametrize(("name", "measure"), some_of(["lpu", "lpa", "lba", "lsp", "lp-fast"]))
def test_wherever_it_stops_it_goes_on_as_if_nothing_had_happened(name: str, measure: str) -> None:
    setting = MEASURES[measure]
    answer = random_answers(setting, USERS, seed=4)
    made, other = followed(name, setting, revise=3), followed(name, setting, revise=3)
    for t in TIMES:
        step = made.open(t)
        while isinstance(step, Request):
            other = followed(name, setting, revise=3)
            other.load(made.state())
            reply = answer(Asked(t, step))
            step, again = made.tally(reply), other.tally(reply)
            assert made.state() == other.state()
            assert told(step) == told(again)
        kept = unpacked(packed(step))
        for name_ in ("best", "revised"):
            one, two = getattr(step.vector, name_), getattr(kept.vector, name_)
            assert (one is None) == (two is None)
            if one is not None:
                assert (one.t, one.of_reports) == (two.t, two.of_reports)
                np.testing.assert_array_equal([one.statistics, one.variance], [two.statistics, two.variance])


def test_the_best_estimate_is_the_filters_of_all_answers_so_far() -> None:
    answer = random_answers(SETTING, USERS, seed=5)
    made, alone = followed("lpa", SETTING), AdaptiveFilter(4)
    for t in TIMES:
        if t > SETTING.first_t:
            alone.advance()
        step = made.open(t)
        while isinstance(step, Request):
            mechanism, reply = step.question, answer(Asked(t, step))
            step = made.tally(reply)
            alone.learn(mechanism, reply, made.method.crowd.users)
        if step.vector.best is None:
            assert not alone.informed
            continue
        assert step.vector.best.t == t
        np.testing.assert_array_equal((step.vector.best.statistics, step.vector.best.variance), alone.release())


def test_cells_of_a_distribution_are_followed_as_a_row() -> None:
    setting = MEASURES["distribution"]
    answer, made = random_answers(setting, USERS, seed=6), followed("lpu", setting)
    alone = AdaptiveFilter(made.filter.statistics, ordered=True)
    for t in TIMES:
        alone.advance()
        step = made.open(t)
        while isinstance(step, Request):
            reply = answer(Asked(t, step))
            step = made.tally(reply)
            alone.learn(ReportShares(made.filter.statistics), reply, made.method.sample)
        assert step.vector.best is not None
        np.testing.assert_array_equal((step.vector.best.statistics, step.vector.best.variance), alone.release())


def test_a_revision_speaks_of_the_period_its_lag_before_and_knows_more() -> None:
    lag, still = 5, np.tile([900, 500, 400, 200], (PERIODS, 1))
    before, saved = dict[int, Estimate](), list[float]()
    spec = MethodOptions("lpu", filter="adaptive", revise=lag)
    for decision in (period.decision for period in run(still, spec, SETTING, seed=1)):
        if decision.vector.best:
            before[decision.t] = decision.vector.best
        if decision.revised:
            assert decision.revised.t == decision.t - lag
            saved.append(float((before[decision.revised.t].variance - decision.revised.variance).mean()))
    assert len(saved) == PERIODS - lag
    assert np.mean(saved) > 0
    assert np.mean(np.array(saved) > 0) > 0.9


def test_without_a_filter_a_decision_has_no_best_estimate() -> None:
    assert all(decision.vector.best is None for decision in decisions(method({"name": "lpu"}, SETTING), SETTING))


def test_under_population_division_a_distribution_is_followed_by_its_reports_and_has_no_negative_cells() -> None:
    setting = MEASURES["distribution"]
    for name, of_reports in (("lpu", True), ("lba", False)):
        last = decisions(followed(name, setting), setting)[-1]
        assert last.vector.best is not None
        assert last.vector.best.of_reports == of_reports
        assert len(last.vector.best.statistics) == (last.question.outcomes if of_reports else 9)
        shown = figures(last, (0, 1))
        assert shown.estimate.min() >= 0
        assert shown.estimate.sum() == pytest.approx(1)
        assert (shown.stderr > 0).all()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "lpu", "filter": "best"}, "filter: found 'best'; allowed: adaptive, off"),
        ({"name": "lpu", "filter": "off", "revise": 2}, "revise: found 2 without a filter; allowed: with filter ="),
        ({"name": "lpu", "revise": 2}, "revise: found 2 without a filter"),
        ({"name": "lpu", "filter": "adaptive", "revise": -1}, "filter: revisable: found -1"),
    ],
)
def test_what_makes_no_filter_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        method(spec, SETTING)


def test_the_state_of_another_lag_is_refused() -> None:
    with pytest.raises(SnapshotError, match="following: found the state of another lag"):
        followed("lpu", SETTING, revise=2).load(followed("lpu", SETTING).state())


def test_before_anything_was_heard_nothing_is_claimed() -> None:
    made = followed("lpa", SETTING)
    step = made.open(SETTING.first_t)
    while isinstance(step, Request):
        step = made.tally(replace(random_answers(SETTING, USERS * 0, seed=1)(Asked(7, step))))
    assert decided(step).vector.best is None
    shown = figures(decided(step), None)
    assert all(np.isnan(said).all() for said in (shown.estimate, shown.stderr, shown.unbiased))


def test_the_estimate_is_what_frequencies_can_be_and_its_error_the_filters() -> None:
    raw = vector_decision(3, True, 3, np.array([1.2, -0.3]), np.array([0.1, 0.1]), GRR(d=2, epsilon=1))
    best = Estimate(3, np.array([0.98, 0.04]), np.array([0.0004, 0.0004]))
    shown = figures(raw.with_vector(best=best), None)
    np.testing.assert_allclose(shown.estimate, [0.97, 0.03])
    np.testing.assert_allclose(shown.stderr, [0.02, 0.02])
    np.testing.assert_array_equal(shown.unbiased, [1.2, -0.3])
