# SPDX-License-Identifier: Apache-2.0
"""A recording of values of several words as counts of the different ones: no more of them than a plan tells apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.replay.run import Replay
from murmurate.agents.replay.score import score
from murmurate.agents.replay.source import SourceError
from murmurate.agents.replay.sources import open_source
from murmurate.agents.replay.truth import true_periods
from murmurate.agents.simulate import different
from murmurate.agents.simulate.prediction import Assumed, jobs, prospect
from murmurate.agents.simulate.trial_truths import Recorded, recorded
from murmurate.config.plan import Plan
from tests.agents import wide
from tests.agents.world import KEYS
from tests.config.deployments import planned

START_MS = 1_794_992_400_000
SAID = ("apple", "ant", "bear", "berry", "über", "")


def strings(**changes: Any) -> Plan:
    table = {"measure": "strings", "bits": 48, "every": "1m"}
    return planned(streams={"it": table | changes}, privacy={"epsilon": 4.0, "window": "4m", "min_batch": 20})


def recording(folder: Path, periods: int = 3) -> str:
    """60 users, all shown in the first minute; in each period the i-th of them says one of six words, or nothing."""
    lines = []
    for t in range(periods + 1):
        for user in range(60):
            if t == 0 or user % 5:
                value = SAID[(user * user + t) % 6]
                lines.append({"stream": "it", "user": f"u{user}", "time": START_MS + t * 60_000 + user, "value": value})
    path = folder / "words.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)) + b"\n")
    return str(path)


def truth_of(found: Recorded, plan: Plan) -> np.ndarray:
    assert found.values is not None
    return plan.stream("it").measure.over(found.values).true_figures(found.holders)


def test_strings_with_the_same_prefix_are_counted_together(tmp_path: Path) -> None:
    plan = strings()
    source = open_source(recording(tmp_path), plan)
    found = recorded(plan, source, "it", 6_000)
    assert found.values is not None
    assert len(found.values) == 5  # a, b, the first byte of an umlaut, the empty text, and none
    assert (found.values[-1] == plan.stream("it").domain.nothing).all()
    true = np.array([period.figures for period in true_periods(plan, source) if period.users])
    assert truth_of(found, plan) == pytest.approx(true, abs=1e-9)
    always = strings(missing={"carry": "always"})
    everybody = recorded(always, open_source(recording(tmp_path), always), "it", 6_000)
    assert everybody.values is not None
    assert len(everybody.values) == 4
    assert everybody.holders.sum(axis=1).tolist() == [6_000] * len(everybody.holders)


def test_a_recording_of_more_values_than_a_plan_takes_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = strings()
    monkeypatch.setattr(different, "FIGURES", 3 * plan.stream("it").d)
    with pytest.raises(SourceError) as refused:
        recorded(plan, open_source(recording(tmp_path), plan), "it", 6_000)
    assert str(refused.value) == (
        "source: found more than 3 different values of stream 'it'; allowed: 3 that its 257 statistics tell apart, or "
        "--drift instead of --like"
    )


def test_the_values_of_any_kind_are_counted_word_by_word_where_nothing_says_what_is_told_of_them() -> None:
    for kind in ("sets", "vectors", "rows", "measured"):
        plan = wide.plan(kind)
        source = open_source(f"synthetic:{kind},n=40,periods=2,seed=5", plan)
        found = recorded(plan, source, "it", 4_000)
        assert found.values is not None
        assert len(np.unique(found.values, axis=0)) == len(found.values) > 5
        assert found.holders.sum(axis=1).tolist() == [4_000] * 2


def test_what_is_planned_for_a_recording_is_about_its_own_values(tmp_path: Path) -> None:
    """Nothing moves: what stands still forever is told as well by one publication as by many."""
    plan = strings(prefix=2)
    np.save(tmp_path / "it.npy", np.tile(plan.stream("it").domain.rows(SAID * 20), (12, 1, 1)))
    found = recorded(plan, open_source(str(tmp_path / "it.npy"), plan), "it", 6_000)
    assumed = Assumed(like=found.holders, values=found.values)
    work = jobs(plan, plan.stream("it"), 6_000, assumed, within=1.0)
    lpu, lsp = (prospect(next(job for job in work if job.method == name)) for name in ("lpu", "lsp"))
    assert not isinstance(lpu, str)
    assert not isinstance(lsp, str)
    assert lsp.best.series < 0.6 * lpu.best.series


def sets(**changes: Any) -> Plan:
    table = {"measure": "items", "items": 12, "most": 3, "pad": 3, "every": "1m"}
    return planned(streams={"it": table | changes}, privacy={"epsilon": 4.0, "window": "4m", "min_batch": 20})


def tables(**changes: Any) -> Plan:
    attributes = {"sex": ["f", "m"], "age": {"whole": [0, 99], "cells": 5}, "plan": ["free", "pro", "team"]}
    table = {"measure": "marginals", "tables": [["age", "sex"], ["plan"]], "attributes": attributes, "every": "1m"}
    return planned(streams={"it": table | changes}, privacy={"epsilon": 4.0, "window": "4m", "min_batch": 20})


@pytest.mark.parametrize(
    ("plan", "made_up"),
    [
        (strings(form="hex", prefix=4, method={"name": "lpu", "filter": "off"}), "strings"),
        pytest.param(sets(method={"name": "lpu", "filter": "off"}), "sets", marks=pytest.mark.audit),
        (sets(method={"name": "lpu", "filter": "off"}, mechanism="olh"), "sets"),
        pytest.param(tables(method={"name": "lpu", "filter": "off"}), "rows", marks=pytest.mark.audit),
        (tables(method={"name": "lpu", "filter": "off"}, mechanism="oue"), "rows"),
    ],
)
def test_what_a_replay_measures_is_what_was_planned_for_its_recording(plan: Plan, made_up: str) -> None:
    """Of 2 000 users over 16 periods the root of the mean squared error is known within 5 % or so."""
    text = f"synthetic:{made_up},n=2000,periods=16,seed=3"
    found = recorded(plan, open_source(text, plan), "it", 2_000)
    work = jobs(plan, plan.stream("it"), 2_000, Assumed(like=found.holders, values=found.values), within=1.0)
    lpu = prospect(next(job for job in work if job.method == "lpu"))
    assert not isinstance(lpu, str)
    outcome = Replay(plan, open_source(text, plan), KEYS).run()
    (replayed,) = score(plan, map(orjson.loads, outcome.releases), outcome.truth).streams
    assert replayed.mse is not None
    named = plan.stream("it").mechanism
    wanted = next(one for one in lpu.mechanisms if named in ("auto", one.mechanism))
    assert replayed.mse**0.5 == pytest.approx(wanted.series, rel=0.15)
