# SPDX-License-Identifier: Apache-2.0
"""What is compared before anybody joins: every value that shapes rounds, batches or time, and what differs in words."""

from dataclasses import replace
from typing import Any

import pytest

from murmurate.config.agreement import (
    ABSENT,
    FREE,
    counted,
    differences,
    fingerprint,
    first_sources,
    follows,
    holding,
    line,
    refused,
    successor,
    values,
)
from murmurate.config.changes import compare_agreement
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.config.secrets import NAMES
from murmurate.topics.codec import decode, encode
from murmurate.topics.messages import Config
from tests.config.deployments import small

PLAN = plan(build(small()))
SECRETS: dict[str, str] = {name: f"{number:016x}" for number, name in enumerate(NAMES, 1)}
AGREED = successor(None, values(PLAN, fed=False), SECRETS)
FIELDS = {
    "epsilon_micro": 1, "split": "budget", "window_ms": 7_200_000, "min_batch": 7, "partitions": 3, "targets": 3,
    "enrol": "known", "forget_after_ms": 1, "lateness_ms": 1, "future_ms": 1, "patience_ms": 1, "tallies": 2,
    "fakes": 5,
}  # fmt: skip
SAID_ONLY = {"name", "delta", "assumed_corrupt", "mixed", "users", "streams", "central", "latest", "skew_ms", "until"}
"""Of a plan: its topics, what releases say, and what each worker minds by itself, and what test_switch compares; of a
central target each stream says which question comes of it.
"""


def compared(made: Plan, **secrets: str) -> list[str]:
    return [one.key for one in differences(AGREED, values(made, fed=False), SECRETS | secrets)]


def test_nothing_differs_from_itself_and_the_record_is_a_message() -> None:
    assert compared(PLAN) == []
    assert decode(encode(AGREED)) == AGREED
    assert successor(AGREED, values(PLAN, fed=False), {}) == AGREED  # of secrets it keeps what was told before


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_every_value_of_a_plan_that_shapes_rounds_batches_or_time_is_compared(field: str) -> None:
    changed: dict[str, Any] = {field: FIELDS[field]}
    (key,) = compared(replace(PLAN, **changed))
    assert key.rpartition(".")[2] == field


def test_no_field_of_a_plan_is_forgotten() -> None:
    assert {*FIELDS, *SAID_ONLY} == set(Plan.__dataclass_fields__)
    assert [one.key for one in differences(AGREED, values(PLAN, fed=True), SECRETS)] == ["time.clock"]


def test_whatever_gives_a_streams_releases_their_meaning_is_compared_and_named() -> None:
    for changes, key in (
        ({"screen__other": True}, "domain"), ({"screen__every": "2m"}, "every_ms"), ({"screen__slots": 122}, "slots"),
        ({"screen__several": "first"}, "several"), ({"screen__missing": {"carry": "always"}}, "carry_ms"),
        ({"screen__method": "lbu"}, "method"), ({"screen__mechanism": "grr"}, "mechanism"),
        ({"screen__source": {"topic": "clicks", "user": "/u", "value": "/v"}}, "source"),
    ):  # fmt: skip
        found = compared(plan(build(small(**changes))))
        assert f"streams.screen.{key}" in found, key
        assert "streams.screen.config" not in found, key
    stream = replace(PLAN.streams[0], config="0" * 16)
    assert compared(replace(PLAN, streams=(stream,))) == ["streams.screen.config"]  # whatever else it may cover


def test_a_stream_more_or_less_is_one_difference_and_may_not_be() -> None:
    two = replace(PLAN, streams=(*PLAN.streams, replace(PLAN.streams[0], name="fare")))
    (more,) = differences(AGREED, values(two, fed=False), {})
    assert (more.key, more.found, more.allowed, more.free) == ("streams.fare", "a stream", ABSENT, False)
    agreed = successor(None, values(two, fed=False), {})
    (less,) = differences(agreed, values(PLAN, fed=False), {})
    assert less.line == "streams.fare: found nothing; allowed: a stream"
    assert refused(agreed, successor(agreed, values(PLAN, fed=False), {})) == [less]
    (change,) = compare_agreement(agreed, PLAN, {}, fed=False)
    assert (change.key, change.effect) == ("streams.fare", "refused")


def test_a_zone_compares_the_secrets_that_it_has_and_says_whose_differs() -> None:
    assert differences(AGREED, AGREED.values, {}) == []
    (one,) = differences(AGREED, AGREED.values, {"pepper": "f" * 16})
    assert one.line == f"secrets.pepper of the edge zone: found fingerprint {'f' * 16}; allowed: {SECRETS['pepper']}"
    nobody_told = successor(None, AGREED.values, {})
    (one,) = differences(nobody_told, AGREED.values, {"shuffle": "f" * 16})
    assert one.line == f"secrets.shuffle of the mixing zone: found fingerprint {'f' * 16}; allowed: nothing"


def test_one_line_names_a_few_and_counts_the_others() -> None:
    none = Config(number=3, values={"time.clock": "feed"}, secrets={})
    said = line(3, "shop.rounds", differences(none, AGREED.values, SECRETS))
    assert said.startswith("config 3 in shop.rounds: kafka.tallies: found 1; allowed: nothing; kafka.targets: ")
    assert said.endswith(f"; and {len(differences(none, AGREED.values, SECRETS)) - 4} more")
    assert "\n" not in said


def test_only_what_is_free_may_be_said_anew() -> None:
    for key, said in AGREED.values.items():
        other = successor(AGREED, {**AGREED.values, key: f"{said}0"}, {})
        assert other.number == 2
        assert bool(refused(AGREED, other)) == (key not in FREE), key
    for name in NAMES:
        other = successor(AGREED, AGREED.values, {name: "f" * 16})
        assert bool(refused(AGREED, other)) == (name != "shuffle")
    assert refused(successor(None, AGREED.values, {}), AGREED) == []  # what nobody had told


def test_the_fingerprint_of_a_zones_state_follows_from_what_lasts_and_what_that_zone_knows() -> None:
    said, usual = AGREED.values, fingerprint("edge", AGREED.values, SECRETS)
    assert fingerprint("mixing", said, SECRETS) == fingerprint("analysis", said, {})
    for key in said:
        assert (fingerprint("edge", {**said, key: "another"}, SECRETS) == usual) == (key in FREE), key
    for name in NAMES:
        other = fingerprint("edge", said, SECRETS | {name: "f" * 16})
        assert (other == usual) == (name == "shuffle"), name


def test_the_newest_record_whose_number_follows_holds() -> None:
    one, two, three = (AGREED.model_copy(update={"number": number}) for number in (1, 2, 3))
    forged = Config(number=2, values={"privacy.min_batch": 1}, secrets={})
    assert holding([]) is None
    assert holding([one, three, two, forged, two, one]) == two
    assert holding([two, three]) == three  # the log has forgotten the first
    assert not follows(two, forged)


def test_check_against_a_record_says_what_is_free_makes_a_revision_or_is_refused() -> None:
    def effects(**changes: Any) -> dict[str, str]:
        changed = plan(build(small(**changes)))
        return {one.key: one.effect for one in compare_agreement(AGREED, changed, SECRETS, fed=False)}

    assert effects() == {}
    assert effects(privacy__min_batch=7, time__patience="9s") == {
        "privacy.min_batch": "free",
        "time.patience_ms": "free",
    }
    assert effects(screen__other=True) == {"streams.screen: domain": "revision"}
    assert effects(privacy__epsilon=1.0) == {"privacy.epsilon, in micro-nats": "refused"}
    assert effects(time__lateness="1s") == {"time.lateness, in ms": "refused"}
    rotated = compare_agreement(AGREED, PLAN, {"shuffle": "f" * 16, "pepper": "f" * 16}, fed=False)
    assert {one.key: one.effect for one in rotated} == {
        "secrets.shuffle": "free", "the secret pepper, by its fingerprint": "refused",
    }  # fmt: skip


def test_how_many_partitions_sources_had_at_first_stays_and_nobody_compares_it() -> None:
    topic = PLAN.streams[0].topic
    said = successor(None, values(PLAN, fed=False), SECRETS, counted(PLAN, {topic: 2, "others": 7}))
    assert first_sources(said, PLAN) == {topic: 2}
    assert first_sources(AGREED, PLAN) == {}
    assert differences(said, values(PLAN, fed=False), SECRETS) == []
    assert compare_agreement(said, PLAN, SECRETS, fed=False) == []
    more = counted(PLAN, {topic: 5})
    assert successor(said, values(PLAN, fed=False), SECRETS, more) == said
    written_once = successor(AGREED, values(PLAN, fed=False), SECRETS, more)  # by an earlier version without
    assert (written_once.number, first_sources(written_once, PLAN)) == (2, {topic: 5})
    assert refused(AGREED, written_once) == []
    assert first_sources(successor(said, values(PLAN, fed=True), {}, more), PLAN) == {topic: 2}
