# SPDX-License-Identifier: Apache-2.0
"""Tables of shares: how their cells lie and are called, what is true, the exact promise of their question, and how good
its answers are.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from murmurate.agents.simulate.simulated_answers import run
from murmurate.agents.simulate.trial_truths import made_up
from murmurate.aggregators.measures.attributes import Attribute
from murmurate.aggregators.measures.marginals import Marginals
from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.randomizers import Branches, Key, Viewed
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.mechanism import MAX_LAW
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.thresholds import exp_floor
from tests.aggregators.coverage import within
from tests.cases import every
from tests.config.deployments import planned

ROUND = bytes(range(32))
SEX = Attribute.of_texts("sex", ("f", "m"))
PLAN = Attribute.of_texts("plan", ("free", "pro"), other=True)
AGE = Attribute.of_whole("age", 0, 99, 2)
SMALL = (SEX, PLAN, AGE)
TABLES = (("plan", "sex"), ("age",), ("age", "plan"))


def small(none: bool = True, tables: tuple[tuple[str, ...], ...] = TABLES) -> Marginals:
    return Marginals.of(SMALL, tables, says_none=none)


def everything(measure: Marginals) -> np.ndarray:
    """Every row there is, *none* the last one where users say it."""
    values = list(layout(measure.layout).enumerate())
    return np.array(values, np.uint32).reshape(len(values), -1)


def test_cells_lie_in_their_tables_own_order() -> None:
    measure = small()
    assert measure.names[:4] == ("plan=free | sex=f", "plan=free | sex=m", "plan=pro | sex=f", "plan=pro | sex=m")
    assert measure.names[6:10] == ("age=0-49", "age=50-99", "age=0-49 | plan=free", "age=0-49 | plan=pro")
    assert len(measure.names) == len(set(measure.names)) == 14
    assert measure.statistics == 14 + 3  # with those of each table who have no value
    said = [{"sex": "m", "plan": "gold", "age": 70}] * 3 + [{"sex": "f", "plan": "pro", "age": 7}]
    rows = np.vstack((measure.domain.rows(said), [measure.domain.nothing])).astype(np.uint32)
    true = dict(zip(measure.names, measure.truth(rows).tolist(), strict=True))
    assert {name: share for name, share in true.items() if share} == {
        "plan=other | sex=m": 0.6, "plan=pro | sex=f": 0.2, "age=50-99": 0.6, "age=0-49": 0.2,
        "age=50-99 | plan=other": 0.6, "age=0-49 | plan=pro": 0.2,
    }  # fmt: skip
    assert np.isnan(measure.truth(rows[:0])).all()


@every("none", [True, False])
@every("tables", [TABLES, TABLES[:1], (("age", "sex", "plan"),)])
def test_truth_view_and_names_agree_about_every_row(none: bool, tables: tuple[tuple[str, ...], ...]) -> None:
    measure = small(none, tables)
    rows = everything(measure)
    true = measure.true_of(rows)
    assert (true.sum(axis=1) == len(tables)).all()
    start = 0
    for view in measure.views:
        told = [view.code(tuple(row) if len(row) > 1 else int(row[0])) for row in rows.tolist()]
        assert (true[:, start : start + view.d] == np.eye(view.d, dtype=bool)[told]).all()
        start += view.d
    domains = [[f"{one.name}={value}" for value in one.values] for one in SMALL]
    for row, said in zip(rows, list(product(*domains)), strict=False):
        named = {name for name, holds in zip(measure.names, true[rows.tolist().index(row.tolist())][measure.shown],
                                             strict=True) if holds}  # fmt: skip
        assert named == {" | ".join(next(s for s in said if s.startswith(a)) for a in table) for table in tables}
    if none:
        assert not true[-1][measure.shown].any()


@every("epsilon", [Fraction(1, 10), Fraction(3)])
@every("none", [True, False])
def test_no_report_tells_more_than_epsilon_of_any_row_of_three_attributes_or_of_none(
    epsilon: Fraction, none: bool
) -> None:
    measure = small(none)
    listed = []
    for name in ("auto", "grr", "olh", "subset"):
        asked = measure.question(name, epsilon)
        if asked.reports_possible <= MAX_LAW:
            listed.append(asked)
    assert {one.answered_by for one in listed} >= {"grr", "subset"}
    for asked in listed:
        assert isinstance(asked, Branches)
        assert audit_exact(asked, round=ROUND).violations == ()
        laws = [asked.of_round(ROUND).law(value) for value in layout(measure.layout).enumerate()]
        assert len(laws) == 12 + none
        assert all(law.keys() == laws[0].keys() and sum(law.values()) == 1 for law in laws)
        ratio = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
        assert 1 < ratio <= exp_floor(asked.epsilon_micro)
    assert isinstance(small(none, TABLES[:1]).question("auto", epsilon), Viewed)


@pytest.mark.parametrize(("name", "n"), [("auto", 90), pytest.param("oue", 240, marks=pytest.mark.audit)])
def test_estimates_are_unbiased_and_their_variance_is_as_it_is_said(name: str, n: int) -> None:
    """Users answer 2 500 rounds: of the mean four standard errors, of the variances together 5 %, also where a branch
    has but 30 reports.
    """
    measure, rounds = small(), 2_500
    asked = measure.question(name, 1.0).of_round(ROUND)
    rows = everything(measure)
    held = rows[[user % 13 if user % 3 else user % 4 for user in range(n)]]
    draw = Key(bytes(range(9, 41)), deployment="marginals").draw(contexts(np.arange(n * rounds)), round=ROUND)
    values = np.tile(held, (rounds, 1))
    reports = asked.perturb(values if asked.words > 1 else values[:, 0], draw).reshape(rounds, n, -1)
    found = np.array([asked.estimate(asked.support(some), n) for some in reports])
    true = measure.true_of(held).mean(axis=0)
    wanted = asked.variance(n, true)
    assert (np.abs(found.mean(axis=0) - true) <= 4 * np.sqrt(wanted / rounds)).all()
    assert (found.var(axis=0) / wanted).mean() == pytest.approx(1, abs=0.05)


TABLE: dict[str, Any] = {
    "measure": "marginals", "every": "1m", "tables": [["sex", "age"], ["plan"], ["age"]],
    "attributes": {"age": {"whole": [0, 99], "cells": 5}, "sex": ["f", "m"], "plan": ["free", "pro", "team"]},
}  # fmt: skip


@every(("filtered", "mechanism"), [("adaptive", "auto")], long=[("off", "auto"), ("off", "oue"), ("adaptive", "oue")])
def test_two_standard_errors_hold_the_truth_as_often_as_they_say(filtered: str, mechanism: str) -> None:
    assert 0.93 <= within(TABLE | {"mechanism": mechanism}, filtered=filtered).mean() <= 0.97


@every(("epsilon", "mechanism"), [(1.0, "oue")], long=[(4.0, "oue"), (1.0, "grr"), (4.0, "grr")])
def test_estimates_of_a_method_err_by_the_variance_of_its_question_where_branches_are_of_random_size(
    epsilon: float, mechanism: str
) -> None:
    """A truth that stands, 400 users, a fifth of them asked, 27 a branch: of 5 000 squares 5 %."""
    table = TABLE | {"method": {"name": "lpu", "filter": "off"}, "mechanism": mechanism}
    privacy = {"epsilon": epsilon, "window": {"periods": 5}, "min_batch": 2}
    plan = planned(streams={"it": table}, privacy=privacy)
    stream = plan.stream("it")
    held = made_up(stream, 400, drift=0, presence=0.9, periods=250, seed=1)
    true, ratios = stream.measure.true_statistics(held), []
    for seed in range(2):
        for t, period in enumerate(run(held, stream.method, stream.setting(plan, first_t=0), seed=seed)):
            vector = period.decision.vector
            if period.decision.measured_t == t:
                ((request, answer),) = [(one.request, one.answer) for one in period.rounds]
                n, asked = answer.counted, request.question
                exact = (asked.noise(true[t]) + asked.sampling(true[t]) * finite_population_factor(n, 400)) / n
                ratios.append((vector.unbiased - true[t]) ** 2 / (exact + asked.added_variance(n, true[t])))
    assert len(ratios) > 480
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)


def test_a_round_in_which_a_table_has_no_report_counts_as_one_that_nobody_answered() -> None:
    measure = small()
    asked = measure.question("grr", 1.0)
    one = measure.domain.rows([{"sex": "m", "plan": "gold", "age": 70}])
    draw = Key(bytes(range(9, 41)), deployment="marginals").draw(contexts(np.arange(1)), round=ROUND)
    support = asked.support(asked.perturb(one if asked.words > 1 else one[:, 0], draw))
    assert not asked.complete(support)
    assert np.isnan(asked.estimate(support, 1)).any()
    table = TABLE | {"method": {"name": "lpu", "filter": "off"}}
    plan = planned(streams={"it": table}, privacy={"epsilon": 1.0, "window": {"periods": 2}, "min_batch": 2})
    stream = plan.stream("it")
    held = made_up(stream, 24, drift=0, presence=0.9, periods=120, seed=1)
    lost = 0
    for t, period in enumerate(run(held, stream.method, stream.setting(plan, first_t=0), seed=1, counts_from=2)):
        ((_, heard),) = [(one.request, one.answer) for one in period.rounds]
        lost += not heard.counted
        assert (period.decision.measured_t == t) == bool(heard.counted)
        if period.decision.measured_t is not None:
            assert np.isfinite(period.decision.vector.unbiased).all()
    assert lost
