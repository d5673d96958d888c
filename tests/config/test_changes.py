# SPDX-License-Identifier: Apache-2.0
"""Which changes of a deployment that runs are free, make a new revision, or are refused."""

from typing import Any

import pytest
from pydantic import BaseModel

from murmurate.config.changes import EXPLAINED, FROZEN, KEYS, MOVED, RECOVERY, compare, compare_digests, compare_facts
from murmurate.config.changes import _effect as effect
from murmurate.config.changes import _leaves as leaves
from murmurate.config.explain import explain
from murmurate.config.loader import build, load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.config.settings import Deployment
from tests.config.deployments import SHOP, small

FINGERPRINTS = {"pepper": "0" * 16, "slots": "1" * 16, "split": "2" * 16}


def changed(**changes: Any) -> dict[str, str]:
    """SMALL against itself with these changes: key -> effect."""
    return {one.key: one.effect for one in compare(build(small()), build(small(**changes)))}


@pytest.mark.parametrize(
    ("changes", "key", "effect"),
    [
        ({"name": "other"}, "name", "refused"),
        ({"privacy__epsilon": 1.0}, "privacy.epsilon", "refused"),
        ({"privacy__window": "2h"}, "privacy.window", "refused"),
        ({"privacy__window": "3570s"}, "privacy.window", "revision"),  # as many periods, but another promise
        ({"privacy__split": "budget"}, "privacy.split", "refused"),
        ({"privacy__delta": 1e-9}, "privacy.delta", "free"),
        ({"privacy__min_batch": 5}, "privacy.min_batch", "free"),
        ({"privacy__fakes": 5}, "privacy.fakes", "revision"),
        ({"privacy__assumed_corrupt": 0.2}, "privacy.assumed_corrupt", "free"),
        ({"population__partitions": 4, "kafka__targets": 8}, "population.partitions", "refused"),
        ({"population__forget_after": "8d"}, "population.forget_after", "revision"),
        ({"time__lateness": "20s"}, "time.lateness", "refused"),
        ({"time__clock": "feed"}, "time.clock", "refused"),
        ({"time__future": "1m"}, "time.future", "free"),
        ({"time__patience": "1m"}, "time.patience", "free"),
        ({"time__skew": "2s"}, "time.skew", "free"),
        ({"kafka__targets": 2}, "kafka.targets", "refused"),
        ({"kafka__brokers": ["b:1"]}, "kafka.brokers", "free"),
        ({"kafka__replication": 3}, "kafka.replication", "free"),
        ({"web__listen": "127.0.0.1:9000"}, "web.listen", "free"),
        ({"screen__every": "2m"}, "streams.screen.every", "refused"),
        ({"screen__share": 0.5}, "streams.screen.share", "refused"),
        ({"screen__slots": 122 * 40}, "streams.screen.slots", "refused"),
        ({"screen__method": "lpa"}, "streams.screen.method", "revision"),
        ({"screen__post": "base"}, "streams.screen.post", "free"),
        ({"population__users": 9000}, "population.users", "free"),
        ({"screen__method": "lbu"}, "streams.screen.method", "refused"),
        ({"screen__missing": {"carry": "1m"}}, "streams.screen.missing", "refused"),
        ({"screen__values": ["home", "help", "basket"]}, "streams.screen.values", "revision"),
        ({"screen__other": True}, "streams.screen.other", "revision"),
        ({"screen__several": "first"}, "streams.screen.several", "revision"),
        ({"screen__mechanism": "grr"}, "streams.screen.mechanism", "revision"),
        ({"screen__prefer": "bytes"}, "streams.screen.prefer", "revision"),
        ({"screen__source": {"topic": "t"}}, "streams.screen.source", "revision"),
    ],
)
def test_each_key_has_its_effect(changes: dict[str, Any], key: str, effect: str) -> None:
    assert changed(**changes) == {key: effect}


@pytest.mark.parametrize(("initial", "effect"), [("home", "free"), ("help", "revision")])
def test_another_initial_value_is_a_revision_and_the_default_written_out_is_not(initial: str, effect: str) -> None:
    always = small(screen__missing={"carry": "always"})
    other = small(screen__missing={"carry": "always"}, screen__initial=initial)
    (one,) = compare(build(always), build(other))
    assert (one.key, one.old, one.new, one.effect) == ("streams.screen.initial", "left out", initial, effect)


def test_a_revision_after_the_horizon_is_said_as_in_the_file() -> None:
    sao2 = {"name": "sao2", "horizon": "30m"}
    (one,) = compare(build(small(screen__method=sao2)), build(small(screen__method={**sao2, "revise": "horizon"})))
    assert (one.key, one.effect) == ("streams.screen.method", "revision")
    assert one.new is not None
    assert "revise horizon" in one.new
    assert "revise" not in (one.old or "")


def test_a_file_against_itself_changes_nothing() -> None:
    assert compare(load(SHOP, {}), load(SHOP, {})) == []


def frozen(one: Plan) -> dict[str, Any]:
    return {**one.terms({}).facts(), "targets": one.targets}


def test_what_is_said_is_what_facts_and_digests_say() -> None:
    """An effect is not an opinion: free moves neither, a revision moves digests, and facts that move are refused."""
    old = build(small())
    for changes in (
        {"privacy__epsilon": 1.0}, {"privacy__window": "3570s"}, {"privacy__delta": 1e-9}, {"time__future": "1m"},
        {"screen__method": "lpa"}, {"screen__method": "lbu"}, {"screen__other": True}, {"screen__share": 0.5},
        {"population__forget_after": "8d"}, {"privacy__min_batch": 5}, {"kafka__targets": 2},
        {"screen__post": "power-ns"}, {"population__users": 10_000},
    ):  # fmt: skip
        new = build(small(**changes))
        (one,) = compare(old, new)
        before, after = plan(old), plan(new)
        facts_move = frozen(before) != frozen(after)
        digests_move = before.stream("screen").config != after.stream("screen").config
        assert one.effect == ("refused" if facts_move else "revision" if digests_move else "free"), changes


def test_a_stream_that_comes_or_goes_is_refused() -> None:
    more = small(screen__share=0.5)
    more["streams"]["menu"] = {"measure": "frequency", "values": ["a", "b"], "every": "1m", "share": 0.5}
    one, two = build(small(screen__share=0.5)), build(more)
    assert [(change.key, change.old, change.effect) for change in compare(one, two)] == [
        ("streams.menu", "left out", "refused")
    ]
    assert [(change.key, change.new, change.effect) for change in compare(two, one)] == [
        ("streams.menu", "left out", "refused")
    ]


def test_a_place_of_a_secret_is_never_shown() -> None:
    canary = "hunter2-c4n4ry"
    place = {"file": canary}
    found = compare(build(small()), build(small(secrets={"pepper": place}, kafka={"username": "u", "password": place})))
    assert {change.key: change.effect for change in found} == {
        "kafka.username": "free", "kafka.password": "free", "secrets.pepper": "free",
    }  # fmt: skip
    assert canary not in str(found)
    other = compare(build(small(secrets={"pepper": place})), build(small(secrets={"pepper": {"env": canary}})))
    assert [(change.old, change.new) for change in other] == [("(hidden)", "(hidden)")]


def test_delta_and_assumed_corrupt_change_what_releases_claim_and_check_says() -> None:
    old, new = build(small()), build(small(privacy__delta=1e-5, privacy__assumed_corrupt=0.4))
    assert {(change.key, change.effect) for change in compare(old, new)} == {
        ("privacy.delta", "free"), ("privacy.assumed_corrupt", "free"),
    }  # fmt: skip
    said = " ".join(" ".join(explain(plan(new), 10).lines()).split())
    assert "1 000 reports, of which 600 count as honest" in said
    assert "but for a chance of 1e-05" in said
    promised = " ".join(explain(plan(new), 10).promise)
    assert "against everybody but the mixing zone and but for a chance of 1e-05, if at most 40 % of the rep" in promised
    nobody = " ".join(explain(plan(build(small(privacy__assumed_corrupt=0))), 10).promise)
    assert "a chance of 1e-08." in nobody


def test_every_key_of_the_file_has_a_rule() -> None:
    facts = plan(build(small())).terms({}).facts()
    for key, _ in leaves(build(small())):
        kind, why = effect(key, facts, facts)
        assert kind in ("free", "revision", "refused")
        assert why
    sections = {
        name for name, field in Deployment.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }  # fmt: skip
    ruled = {key.split(".")[0] for key in (*EXPLAINED, *MOVED)}
    assert sections | {"name", "schema", "streams", "curator", "until"} == ruled


def test_every_frozen_fact_has_words() -> None:
    shown = {"privacy__mixed": {"epsilon": 0.5}, "privacy__unprotected_locally": True, "screen__mechanism": "aue"}
    held = {*plan(build(small(**shown))).terms(FINGERPRINTS).facts(), "keys.randomness", "lateness_ms"}
    assert {name if not name.startswith("streams.") else f"streams.*.{name.split('.')[2]}" for name in held} == set(
        KEYS
    )


def test_facts_of_a_state_are_compared_and_keys_only_where_both_know_them() -> None:
    held = {**plan(build(small())).terms(FINGERPRINTS).facts(), "keys.randomness": "3" * 16}
    same = plan(build(small()))
    assert compare_facts(held, same.terms({}).facts()) == []
    other = plan(build(small(privacy__epsilon=1.0, screen__share=0.5)))
    found = compare_facts(held, other.terms(FINGERPRINTS | {"pepper": "f" * 16}).facts())
    assert [(one.key, one.old, one.new) for one in found] == [
        ("privacy.epsilon, in micro-nats", "2000000", "1000000"),
        ("streams.screen: share, in millionths", "1000000", "500000"),
        ("the secret pepper, by its fingerprint", "0" * 16, "f" * 16),
    ]
    assert all(one.effect == "refused" and FROZEN in one.why for one in found)
    without = {name: fact for name, fact in held.items() if not name.startswith("streams.")}
    assert [one.key for one in compare_facts(without, same.terms({}).facts())] == ["streams.screen"]


def test_another_digest_is_a_new_revision() -> None:
    old, new = plan(build(small())), plan(build(small(screen__other=True)))
    held = {stream.name: (stream.config, stream.revision) for stream in old.streams}
    assert compare_digests(held, old) == []
    (one,) = compare_digests(held, new)
    assert (one.effect, one.old, one.new) == ("revision", old.stream("screen").config, new.stream("screen").config)
    assert compare_digests({}, new) == []


def test_lateness_is_folded_again_by_a_recovery() -> None:
    (one,) = compare(build(small()), build(small(time__lateness="11s")))
    assert (one.old, one.new, one.why) == ("10s", "11s", RECOVERY)
