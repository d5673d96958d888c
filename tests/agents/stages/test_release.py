# SPDX-License-Identifier: Apache-2.0
"""The bytes of a release: rounded, without a minus before a zero, times as RFC 3339 writes them."""

from __future__ import annotations

import dataclasses

import numpy as np
import orjson
import pytest

from murmurate.agents.stages.release import Came, release, revised
from murmurate.aggregators.methods.method import Decision, Estimate
from murmurate.aggregators.monitoring import reading
from murmurate.randomizers import ValueAndPresence
from murmurate.topics.codec import decode, encode
from murmurate.topics.domains import Grid
from murmurate.topics.messages import Rejected, Tally
from murmurate.topics.times import duration, instant
from tests.agents.stages.hands import GRR
from tests.agents.world import FIRST, deployment, stream
from tests.measured import vector_decision

PLAN = deployment(stream("screen"))


def tally(q: int, received: int, counted: int, **changes: int) -> Tally:
    rejected = Rejected(malformed=received - counted)
    usual = {"round": "0" * 64, "q": q, "received": received, "counted": counted, "rejected": rejected}
    rest = {"missing": (1, 2), "stream": "screen", "t": FIRST, "targets": 2, "counts": (counted, 0, 0, 0, 0)}
    return Tally(**(usual | rest | changes))  # type: ignore[arg-type]


def came(tallies: list[Tally]) -> Came:
    return Came(32, tallies, "nothing was counted")


def decision(unbiased: list[float], *, measured_t: int | None = FIRST, published: bool = True) -> Decision:
    return vector_decision(FIRST, published, measured_t, np.array(unbiased), np.full(5, 1.23456789e-4), GRR)


def record(made: Decision) -> dict[str, object]:
    bytes_ = encode(release(PLAN, PLAN.streams[0], made, came([tally(0, 10, 9), tally(1, 8, 8)])))
    assert b"-0.0" not in bytes_
    found = orjson.loads(bytes_)
    assert isinstance(found, dict)
    return found


def test_numbers_have_six_places_and_no_zero_has_a_sign() -> None:
    found = record(decision([-0.0, -1e-9, 1 / 3, -0.1234565, 0.7]))
    assert found["unbiased"] == {"home": 0.0, "basket": 0.0, "help": 0.333333, "other": -0.123456, "none": 0.7}
    assert found["stderr"] == dict.fromkeys(("home", "basket", "help", "other", "none"), 0.011111)


def test_an_estimate_lies_on_the_simplex_once_there_is_one_and_is_null_before() -> None:
    estimate = record(decision([-0.2, 0.1, 0.5, 0.3, 0.4]))["estimate"]
    assert isinstance(estimate, dict)
    assert sum(estimate.values()) == pytest.approx(1, abs=5e-6)
    assert min(estimate.values()) >= 0
    nothing = record(decision([0.0] * 5, measured_t=None, published=False))
    for what in ("estimate", "stderr", "unbiased"):
        assert nothing[what] == dict.fromkeys(("home", "basket", "help", "other", "none"))
    assert nothing["measured_t"] is None
    assert nothing["decision"] == "unmeasured"


def test_all_that_came_is_counted_and_missing_contributors_once() -> None:
    reports = record(decision([0.2] * 5))["reports"]
    assert reports == {
        "slots": 32, "received": 18, "counted": 17, "missing": 2,
        "rejected": {"malformed": 1},
    }  # fmt: skip


def test_a_release_says_where_values_stand_for_ever_and_only_there() -> None:
    for carry_ms, said in ((None, "always"), (0, None), (1500, None)):
        plan = deployment(stream("screen", carry_ms=carry_ms))
        names = len(plan.streams[0].names)
        what = vector_decision(FIRST, True, FIRST, np.full(names, 1 / names), np.full(names, 1e-4), GRR)
        made = release(plan, plan.streams[0], what, came([tally(0, 9, 9)]))
        assert orjson.loads(encode(made))["privacy"].get("carry") == said


def test_the_same_decision_gives_the_same_bytes() -> None:
    once, again = (
        encode(release(PLAN, PLAN.streams[0], decision([0.2] * 5), came([tally(0, 9, 9)]))) for _ in range(2)
    )
    assert once == again


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1_000, "1970-01-01T00:00:01Z"),
        (1_794_992_412_480, "2026-11-18T09:00:12.480Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_instants_are_exact_to_the_millisecond(time_ms: int, text: str) -> None:
    assert instant(time_ms) == text


@pytest.mark.parametrize(
    ("length_ms", "text"),
    [(1, "1ms"), (999, "999ms"), (1000, "1s"), (1500, "1500ms"), (90_000, "90s"), (60_000, "1m"), (3_600_000, "1h"),
     (86_400_000, "1d"), (172_800_000, "2d"), (90_000_000, "25h")],
)  # fmt: skip
def test_durations_are_written_as_the_config_writes_them(length_ms: int, text: str) -> None:
    assert duration(length_ms) == text


def test_a_monitored_statistic_is_above_or_below_with_the_confidence_of_its_error() -> None:
    plan = deployment(stream("screen", thresholds={"home": 0.3, "help": 0.5}))
    made = decision([0.2, 0.1, 0.5, 0.1, 0.1])
    found = orjson.loads(encode(release(plan, plan.streams[0], made, came([tally(0, 10, 9), tally(1, 8, 8)]))))
    assert found["thresholds"]["home"] == {"threshold": 0.3, "side": "below", "confidence": 1.0}
    assert found["thresholds"]["help"] == {"threshold": 0.5, "side": "below", "confidence": 0.5}
    assert "thresholds" not in record(made)
    uncertain = made.with_vector(variance=np.full(5, 0.01))
    found = orjson.loads(encode(release(plan, plan.streams[0], uncertain, came([tally(0, 10, 9), tally(1, 8, 8)]))))
    assert found["thresholds"]["home"]["confidence"] == pytest.approx(0.841345, abs=1e-6)  # one standard error


def test_what_is_not_known_is_on_no_side_of_a_threshold() -> None:
    plan = deployment(stream("screen", thresholds={"home": 0.3}))
    unmeasured = decision([0.0] * 5, measured_t=None, published=False)
    nothing = release(plan, plan.streams[0], unmeasured, came([tally(0, 7, 0)]))
    assert nothing.thresholds is None
    grid = Grid(0, 120, 5, "points")
    plan = deployment(stream("fare", measure="mean", domain=grid, thresholds={"mean": 15.0, "present": 0.5}))
    both = ValueAndPresence(d=6, epsilon=2)
    for share, sides in ((0.01, {"present"}), (0.9, {"mean", "present"})):
        made = vector_decision(FIRST, True, FIRST, np.array([share, share / 2]), np.full(2, 1e-4), both)
        found = release(plan, plan.streams[0], made, came([tally(0, 9, 9)]))
        assert set(found.thresholds or {}) == sides
        assert (found.estimate["mean"] is None) == ("mean" not in sides)
        assert decode(encode(found)) == found


def test_what_first_rounds_told_is_approximated_before_anything_was_published() -> None:
    knows = Estimate(FIRST, np.full(5, 0.2), np.full(5, 1e-4))
    made = decision([0.0] * 5, measured_t=None, published=False).with_vector(best=knows)
    found = record(made)
    assert (found["decision"], found["measured_t"]) == ("approximated", None)
    assert found["estimate"] == dict.fromkeys(PLAN.streams[0].names, 0.2)
    assert found["unbiased"] == dict.fromkeys(PLAN.streams[0].names)


def test_a_mean_that_nobody_held_may_be_known_when_it_comes_once_more() -> None:
    fare = stream("fare", measure="mean", domain=Grid(0, 120, 5, "points"))
    plan = deployment(fare)
    nobody = vector_decision(FIRST, True, FIRST, np.zeros(2), np.full(2, 1e-4), ValueAndPresence(d=6, epsilon=2))
    first = release(plan, plan.streams[0], nobody, came([tally(0, 9, 9)]))
    knows = Estimate(FIRST, np.array([0.5, 0.25]), np.full(2, 1e-6))
    again = revised(plan.streams[0], dataclasses.replace(nobody.with_vector(revised=knows), t=FIRST + 4), first)
    assert first.estimate["mean"] is None
    assert again.estimate["mean"] == pytest.approx(90)
    assert (again.revision, again.unbiased, again.decision) == (2, first.unbiased, "published")
    assert decode(encode(again)) == decode(again.canonical())


def test_a_release_says_its_model_and_the_error_of_unbiased_where_that_is_wanted_and_only_there() -> None:
    stated = deployment(stream("screen", stated_model="local"))
    names = stated.streams[0].names
    older = decision([0.2] * 5, measured_t=FIRST - 2, published=False).with_vector(own_variance=np.full(5, 1e-6))
    for made, error in ((decision([0.2] * 5), 0.011111), (older, 0.001)):
        found = release(stated, stated.streams[0], made, came([tally(0, 10, 9)]))
        assert (found.model, found.stderr_unbiased) == ("local", dict.fromkeys(names, error))
        assert decode(encode(found)) == found
        rest = orjson.loads(encode(found))
        assert (rest.pop("model"), rest.pop("stderr_unbiased")["home"]) == ("local", error)
        assert rest == orjson.loads(encode(release(PLAN, PLAN.streams[0], made, came([tally(0, 10, 9)]))))
        later = made.with_vector(revised=Estimate(FIRST, np.full(5, 0.3), np.ones(5)))
        again = revised(stated.streams[0], later, found)
        assert (again.revision, again.model, again.stderr_unbiased) == (2, "local", found.stderr_unbiased)
    unmeasured = decision([0.0] * 5, measured_t=None, published=False)
    nothing = release(stated, stated.streams[0], unmeasured, came([tally(0, 7, 0)]))
    assert nothing.stderr_unbiased == nothing.unbiased == dict.fromkeys(names)


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.0, 2.0])
def test_that_often_the_truth_is_on_the_side_that_is_told(gap: float) -> None:
    # 4 000 normal errors about the truth: the share of right sides within 5 standard errors of the mean confidence.
    errors = np.random.default_rng(7).normal(0, 0.1, 4_000)
    truth = 0.4 + gap * 0.1 + np.linspace(-0.3, 0.3, 4_000)  # uniform about the threshold, nearly: no prior matters
    told = [reading(float(t + e), 0.1, 0.4) for t, e in zip(truth, errors, strict=True)]
    right = np.mean([one.above == (t > 0.4) for one, t in zip(told, truth, strict=True)])
    assert abs(right - np.mean([one.confidence for one in told])) < 5 * (0.25 / 4_000) ** 0.5


def test_an_error_of_zero_leaves_no_doubt_but_on_the_threshold_itself() -> None:
    assert (reading(0.3, 0.0, 0.2).confidence, reading(0.2, 0.0, 0.2).confidence) == (1.0, 0.5)
