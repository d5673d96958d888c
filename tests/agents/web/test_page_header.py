# SPDX-License-Identifier: Apache-2.0
"""The first frame says what every stream measures, the same in a replay and in a live deployment."""

import json
from dataclasses import replace

import orjson
import pytest

from murmurate.agents.page_header import page_header
from murmurate.agents.replay.synthetic import Synthetic
from murmurate.config.explain import explain
from murmurate.config.plan import Plan
from murmurate.topics.domains import Grid
from tests.agents.world import deployment, stream

FARE = stream("fare", measure="mean", domain=Grid(-5, 120.5, 5, "points"), unit="EUR", share_micro=300_000)
TIME = stream("time", "lbu", measure="distribution", domain=Grid(0, 60, 4, "stretches"), share_micro=300_000)


@pytest.fixture
def plan() -> Plan:
    return deployment(stream("screen", share_micro=400_000), FARE, TIME)


def test_a_stream_of_numbers_says_its_unit_and_range_and_no_other_does(plan: Plan) -> None:
    fare, screen, time = orjson.loads(orjson.dumps(page_header(plan, "live")))["streams"]
    assert (screen["measure"], screen["unit"], screen["range"]) == ("frequency", None, None)
    assert (fare["measure"], fare["unit"], fare["range"]) == ("mean", "EUR", [-5, 120.5])
    assert (time["measure"], time["unit"], time["range"]) == ("distribution", None, [0, 60])
    assert fare["names"] == ["mean", "present"]
    assert time["names"] == ["[0, 15)", "[15, 30)", "[30, 45)", "[45, 60]", "none"]


def test_the_axis_of_a_total_holds_nothing_too_where_users_may_have_no_value() -> None:
    spent = stream("spent", measure="total", domain=Grid(10, 20, 5, "points"), unit="EUR")
    for of, axis in ((spent, [0, 20]), (stream("all", measure="total", domain=spent.domain, carry_ms=None), [10, 20])):
        (found,) = orjson.loads(orjson.dumps(page_header(deployment(of), "live")))["streams"]
        assert (found["range"], found["numbers"]) == (axis, ["total"])
    assert found["names"] == ["total"]


def test_a_replay_and_a_live_deployment_differ_in_what_only_a_recording_has(plan: Plan) -> None:
    source = Synthetic("synthetic:sin,n=10,periods=20", plan, "fare")
    live, replay = page_header(plan, "live"), page_header(plan, "replay", source.streams, source.periods)
    assert (live["mode"], replay["mode"]) == ("live", "replay")
    assert replay["streams"] == [live["streams"][0] | {"periods": 20}]
    assert {each["periods"] for each in live["streams"]} == {None}
    assert replay["promise"] == live["promise"] == list(explain(plan).promise)


def test_a_page_knows_what_a_release_needs_and_a_replay_what_its_users_are_too_few_for(plan: Plan) -> None:
    (live,) = page_header(plan, "live", ["fare"])["streams"]
    (few,), (many,) = (page_header(plan, "replay", ["fare"], 20, users)["streams"] for users in (10, 10**6))
    assert (live["min_batch"], live["warning"], many["warning"]) == (plan.min_batch, None, None)
    assert few["warning"].startswith("10 users give a round about 0 reports, below min_batch = 8: nothing will ever be")


def test_it_says_whether_every_user_answers_for_every_stream(plan: Plan) -> None:
    for split, serves in (("users", False), ("budget", True)):
        assert page_header(replace(plan, split=split), "live")["serve_all"] is serves  # type: ignore[arg-type]


def test_it_is_the_same_for_the_same_plan(plan: Plan) -> None:
    assert json.dumps(page_header(plan, "live")) == json.dumps(page_header(plan, "live"))
