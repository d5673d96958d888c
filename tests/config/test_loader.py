# SPDX-License-Identifier: Apache-2.0
"""The deployment file: what loads, what each mistake's line says, and that no line shows a secret."""

from pathlib import Path
from typing import Any

import pytest

from murmurate.aggregators.methods.registry import names
from murmurate.config.errors import ConfigError
from murmurate.config.loader import build, load
from murmurate.config.measures.frequency import FrequencyStream
from murmurate.config.measures.registry import TABLES
from murmurate.randomizers import ORACLES
from tests.config.deployments import SHOP, lines, shop, small

CANARY = "hunter2-c4n4ry"


def refused(path: Path, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path, environ or {})
    return str(caught.value).replace(str(path), "FILE").splitlines()


def test_the_shared_example_loads() -> None:
    deployment = load(SHOP, {})
    assert deployment.name == "shop"
    assert deployment.privacy.epsilon_micro == 2_000_000
    assert deployment.privacy.window.ms == 3_600_000
    assert deployment.population.forget_after == 7 * 86_400_000
    screen = deployment.streams["screen"]
    assert isinstance(screen, FrequencyStream)
    assert screen.values == ("home", "search", "basket", "checkout", "help")
    assert screen.source is not None
    assert screen.source.user == "/session/user_id"


MEASURES = ", ".join(dict.fromkeys(key.partition(".")[0] for key in TABLES))
EPSILON = "a number from 0.000001 (one micro-nat) to 20"
DURATION = 'a whole number and one of ms, s, m, h, d, such as "90s"'
PRIVACY = "epsilon, mixed, unprotected_locally, window, split, delta, min_batch, fakes, assumed_corrupt"
PERIODS = "a whole number from 1 to 32768"
MEASURES = ", ".join(dict.fromkeys(name.partition(".")[0] for name in TABLES))
RANGE = "two numbers, the lower one first, such as [0, 120]"
MEAN: dict[str, Any] = {"measure": "mean", "range": [0, 120], "every": "1m"}
SHARE = "a number from 0.000001 to 1 with at most six places"
MISSING = '"none", { carry = "15m" } with any duration, or { carry = "always" }'
PLACE = '{ file = "PATH" } or { env = "VARIABLE" }'
LOGIN: dict[str, Any] = {"kafka__security": "sasl_ssl"}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"privacy__epsilon": -1}, f"privacy.epsilon: found -1; allowed: {EPSILON}"),
        ({"privacy__epsilon": 21}, f"privacy.epsilon: found 21; allowed: {EPSILON}"),
        ({"privacy__epsilon": 1e-9}, f"privacy.epsilon: found 1e-09; allowed: {EPSILON}"),
        ({"privacy__epsilon": True}, f"privacy.epsilon: found true; allowed: {EPSILON}"),
        ({"privacy__epsilon": float("nan")}, f"privacy.epsilon: found nan; allowed: {EPSILON}"),
        ({"privacy__epsilon": None}, f"privacy.epsilon: found nothing; allowed: {EPSILON}"),
        ({"privacy__window": "1 hour"}, f"privacy.window: found '1 hour'; allowed: {DURATION}"),
        ({"privacy__window": {"periods": 0}},
         "privacy.window.periods: found 0; allowed: a whole number from 1 to 32768"),
        ({"privacy__window": {"period": 1}},
         f'privacy.window: found a table; allowed: "1s" to "400d", or {{ periods = N }} with {PERIODS}'),
        ({"screen__missing": {"carry": "long"}}, f"streams.screen.missing.carry: found 'long'; allowed: {DURATION}"),
        ({"privacy__split": "all"}, "privacy.split: found 'all'; allowed: users, budget"),
        ({"privacy__detla": 1},
         f"privacy.detla: found an unknown key; allowed: {PRIVACY}; did you mean privacy.delta?"),
        ({"privacy__min_batch": 1}, "privacy.min_batch: found 1; allowed: a whole number from 2 to 1000000000"),
        ({"privacy__min_batch": 2.5}, "privacy.min_batch: found 2.5; allowed: a whole number from 2 to 1000000000"),
        ({"privacy__delta": 0}, "privacy.delta: found 0; allowed: a number above 0, below 0.001"),
        ({"privacy__assumed_corrupt": 1}, "privacy.assumed_corrupt: found 1; allowed: a number from 0, below 1"),
        ({"privacy": 3}, "privacy: found a single value; allowed: a table"),
        ({"name": "Shop"}, "name: found 'Shop'; allowed: 1 to 32 of a-z, 0-9, dash, a letter first"),
        ({"name": None}, "name: found nothing; allowed: 1 to 32 of a-z, 0-9, dash, a letter first"),
        ({"schema": 2}, "schema: found 2; allowed: 1"),
        ({"population__forget_after": "59m"},
         "population.forget_after: found '59m'; allowed: \"1h\" or more, the window"),
        ({"time__patience": "0s"}, "time.patience: found '0s'; allowed: \"1ms\" to \"1d\""),
        ({"kafka__brokers": ["kafka:9092", "kafka"]},
         "kafka.brokers.1: found 'kafka'; allowed: a host and a port, such as \"localhost:9092\""),
        ({"kafka__ca_file": 5}, "kafka.ca_file: found 5; allowed: a text"),
        ({"kafka__targets": 0}, "kafka.targets: found 0; allowed: a whole number from 1 to 1024"),
        ({"kafka__replication": "three"}, "kafka.replication: found 'three'; allowed: a whole number from 1 to 100"),
        ({"web__listen": "8000"}, "web.listen: found '8000'; allowed: a host and a port, such as \"localhost:9092\""),
        ({"secrets__peper": {"env": "X"}},
         "secrets.peper: found an unknown key; allowed: pepper, randomness, slots, split, state, shuffle; "
         "did you mean secrets.pepper?"),
        ({"secrets__pepper": {}}, f"secrets.pepper: found neither file nor env; allowed: {PLACE}"),
        ({"secrets__pepper": {"file": "a", "env": "b"}}, f"secrets.pepper: found both file and env; allowed: {PLACE}"),
        ({"streams": {}}, "streams: found none; allowed: one or more tables [streams.NAME]"),
        ({"streams": None}, "streams: found nothing; allowed: a table"),
        ({"screen__measure": "median"},
         f"streams.screen.measure: found 'median'; allowed: {MEASURES}"),
        ({"screen__measure": None}, f"streams.screen.measure: found nothing; allowed: {MEASURES}"),
        ({"streams__screen": MEAN | {"range": None}}, f"streams.screen.range: found nothing; allowed: {RANGE}"),
        ({"streams__screen": MEAN | {"range": [120, 0]}}, f"streams.screen.range: found [120, 0]; allowed: {RANGE}"),
        ({"streams__screen": MEAN | {"range": "0..1"}}, f"streams.screen.range: found '0..1'; allowed: {RANGE}"),
        ({"streams__screen": MEAN | {"range": [0, "nan"]}},
         f"streams.screen.range: found [0, 'nan']; allowed: {RANGE}"),
        ({"streams__screen": MEAN | {"values": ["a"]}},
         "streams.screen.values: found an unknown key; allowed: every, share, source, method, several, missing, "
         "slots, season, thresholds, range, unit, initial, mechanism, clip, measure, step"),
        ({"screen__initial": "home"},
         'streams.screen.initial: found \'home\'; allowed: only with missing = { carry = "always" }'),
        ({"screen__missing": {"carry": "always"}, "screen__initial": "cellar"},
         "streams.screen.initial: found 'cellar'; allowed: one of the values: home, help"),
        ({"screen__missing": {"carry": "always"}, "screen__initial": "home", "screen__other": True},
         "streams.screen.initial: found 'home'; allowed: only without other = true, which such users count as"),
        ({"streams__screen": MEAN | {"missing": {"carry": "always"}, "initial": 121}},
         "streams.screen.initial: found 121.0; allowed: from 0 to 120, the range"),
        ({"streams__screen": MEAN | {"missing": {"carry": "always"}, "initial": "low"}},
         "streams.screen.initial: found 'low'; allowed: a number"),
        ({"streams__screen": MEAN | {"clip": "guessed"}},
         "streams.screen.clip: found 'guessed'; allowed: declared, found"),
        ({"streams__screen": MEAN | {"thresholds": {"median": 3}}},
         "streams.screen.thresholds: found 'median'; allowed: statistics of the stream: mean, present"),
        ({"streams__screen": MEAN | {"thresholds": {"mean": 1e9}}},
         "streams.screen.thresholds.mean: found 1000000000.0; allowed: between 0 and 120"),
        ({"streams__screen": MEAN | {"thresholds": {"present": 1}}},
         "streams.screen.thresholds.present: found 1.0; allowed: between 0 and 1"),
        ({"screen__thresholds": {"home": 0}}, "streams.screen.thresholds.home: found 0.0; allowed: between 0 and 1"),
        ({"screen__thresholds": ["1"]},
         "streams.screen.thresholds: found a list of 1; allowed: a table of numbers by name, such as { home = 0.2 }"),
        ({"screen__method": {"name": "lpu", "filter": "off", "revise": 2}},
         "streams.screen.method.revise: found 2; allowed: only with filter = adaptive"),
        ({"screen__season": "90s"},
         "streams.screen.season: found '90s'; allowed: a multiple of every, 1m, twice or more"),
        ({"screen__season": "1m"},
         "streams.screen.season: found '1m'; allowed: a multiple of every, 1m, twice or more"),
        ({"screen__season": "day"},
         "streams.screen.season: found 'day'; allowed: a whole number and one of ms, s, m, h, d, such as \"90s\""),
        ({"screen__season": "24h", "screen__method": {"name": "lpu", "filter": "off"}},
         "streams.screen.season: found '1d'; allowed: only with filter = adaptive"),
        ({"screen__method": {"name": "lpu", "revise": 101}},
         'streams.screen.method.revise: found 101; allowed: a whole number from 0 to 100, or "horizon"'),
        ({"screen__method": {"name": "lpu", "revise": "horizon"}},
         "streams.screen.method.revise: found 'horizon'; allowed: a number of periods, without horizons"),
        ({"screen__method": {"name": "sao2", "horizon": "1h", "revise": 60}},
         "streams.screen.method.revise: found 60; allowed: 0 or \"horizon\", with sao2"),
        ({"screen__method": {"name": "sao2", "horizon": "1h", "filter": "adaptive", "revise": "horizon"}},
         "streams.screen.method.revise: found 'horizon'; allowed: with sao2 only with filter = off"),
        ({"screen__season": "24h", "screen__method": {"name": "sao2", "horizon": "1h", "filter": "adaptive"}},
         "streams.screen.season: found '1d'; allowed: none, with sao2"),
        ({"screen__values": [f"v{i}" for i in range(999)],
          "screen__method": {"name": "sao2", "horizon": "5m", "revise": "horizon"}},
         "streams.screen.method.revise: found 'horizon'; allowed: horizons of at most 4, for 1000 figures a release"),
        ({"screen__values": [f"v{i}" for i in range(999)], "screen__method": {"name": "lpu", "revise": 5}},
         "streams.screen.method.revise: found 5; allowed: at most 4, for 1000 figures a release"),
        ({"streams__screen": MEAN | {"unit": ""}},
         "streams.screen.unit: found ''; allowed: a text of 1 to 64 printable characters"),
        ({"streams__screen": MEAN | {"mechanism": "grr"}},
         "streams.screen.mechanism: found 'grr'; allowed: auto, value_presence, hm, pm, sr"),
        ({"streams__screen": MEAN | {"mechanism": "hm"}},
         "streams.screen.mechanism: found 'hm'; allowed: auto, value_presence, where users may have no value"),
        ({"streams__screen": MEAN | {"missing": {"carry": "always"}, "mechanism": "value_presence"}},
         "streams.screen.mechanism: found 'value_presence'; allowed: auto, hm, pm, sr, "
         'with missing = { carry = "always" }'),
        ({"streams__screen": MEAN | {"method": {"name": "lpa", "variance": "paper"}}},
         "streams.screen.method.variance: found 'paper'; allowed: sampling, for measure = \"mean\""),
        ({"streams__screen": MEAN | {"measure": "distribution", "cells": 1}},
         "streams.screen.cells: found 1; allowed: a whole number from 2 to 4095"),
        ({"streams__screen": MEAN | {"measure": "distribution", "mechanism": "sw"}},
         "streams.screen.mechanism: found 'sw'; allowed: auto, sw_presence, where users may have no value"),
        ({"screen__post": "auto"},
         'population.users: found nothing; allowed: a number of users, since streams.screen.post is "auto"'),
        ({"screen__post": {"name": "norm-sub", "k": 2}}, "streams.screen.post.k: found 2; allowed: only with base-cut"),
        ({"screen__post": {"name": "base-cut", "k": 9}},
         "streams.screen.post.k: found 9; allowed: at most the 3 values of the stream"),
        ({"screen__post": {"name": "base-cut", "k": 2, "alpha": 1}},
         "streams.screen.post.alpha: found 1.0; allowed: not with k, which says what stays"),
        ({"screen__every": "25d"}, "streams.screen.every: found '25d'; allowed: \"1ms\" to \"24d\""),
        ({"screen__every": "1ms"},
         "streams.screen.every: found 3600001 periods in one window; allowed: at most 32768 periods in one window"),
        ({"screen__share": 0}, f"streams.screen.share: found 0; allowed: {SHARE}"),
        ({"screen__share": 1 / 3},
         f"streams.screen.share: found 0.3333333333333333; allowed: {SHARE}"),
        ({"screen__method": "lpx"}, f"streams.screen.method.name: found 'lpx'; allowed: {', '.join(names())}"),
        ({"screen__method": {"name": "lbu", "variance": "paper"}},
         "streams.screen.method.variance: found 'paper'; allowed: only with lpd, lpa, lp-dsat, lp-rescuedp, lp-fast, "
         "lp-pegasus"),
        ({"screen__method": {"name": "lpa", "first_share": 1}},
         "streams.screen.method.first_share: found 1; allowed: a number from 0.001, below 1"),
        ({"screen__method": {"name": "lpa", "first_share": 0.001}},
         "streams.screen.slots: found no number, and 61000 rounds of stream 'screen' a window; "
         "allowed: at least 61000, or another method"),
        ({"screen__method": {"name": "lbd", "first_share": 0.9}, "privacy__epsilon": 0.0006},
         "privacy.epsilon: found 0.0006, 600 micro-nats for 610 answers of stream 'screen'; "
         "allowed: at least one micro-nat an answer"),
        ({"screen__mechanism": "rappor"},
         f"streams.screen.mechanism: found 'rappor'; allowed: auto, {', '.join(sorted(ORACLES))}, aue"),
        ({"screen__several": "all"}, "streams.screen.several: found 'all'; allowed: last, first"),
        ({"screen__missing": "skip"},
         f"streams.screen.missing: found 'skip'; allowed: {MISSING}"),
        ({"screen__missing": {"carry": "90s"}},
         "streams.screen.missing.carry: found '90s'; allowed: a multiple of every, 1m"),
        ({"screen__slots": 123}, "streams.screen.slots: found 123; allowed: a multiple of 2 w = 122, up to 65514"),
        ({"screen__slots": 61}, "streams.screen.slots: found 61; allowed: a multiple of 2 w = 122, up to 65514"),
        ({"screen__values": ["a", "b", "a"]},
         "streams.screen.values: found 'a' more than once; allowed: each value once"),
        ({"screen__values": ["a", ""]},
         "streams.screen.values.1: found ''; allowed: a text of 1 to 256 printable characters"),
        ({"screen__values": ["a", "none"]},
         "streams.screen.values: found 'none'; allowed: other words: missing adds this one"),
        ({"screen__values": ["a", "other"], "screen__other": True},
         "streams.screen.values: found 'other'; allowed: other words: other = true adds this one"),
        ({"screen__values": ["a"], "screen__missing": {"carry": "always"}},
         "streams.screen.values: found 1, 1 in all; allowed: 2 to 4096 in all"),
        ({"screen__values": [str(i) for i in range(4096)]},
         "streams.screen.values: found 4096 and none, 4097 in all; allowed: 2 to 4096 in all"),
        ({"screen__source": {"topic": "shop.raw"}},
         "streams.screen.source.topic: found 'shop.raw'; allowed: a topic that is not Murmurate's own"),
        ({"screen__source": {"topic": "t", "user": "user"}},
         "streams.screen.source.user: found 'user'; allowed: a JSON pointer such as \"/session/user_id\""),
        ({"screen__method": "lbu", "privacy__epsilon": 0.00006},
         "privacy.epsilon: found 6e-05, 60 micro-nats for 61 answers of stream 'screen'; "
         "allowed: at least one micro-nat an answer"),
        ({"streams__Screen": {"measure": "frequency", "values": ["a"], "every": "1m"}},
         "streams.Screen: found 'Screen'; allowed: 1 to 32 of a-z, 0-9, dash, underscore, a letter first"),
    ],
)  # fmt: skip
def test_each_mistake_is_a_line_of_key_found_and_allowed(changes: dict[str, Any], line: str) -> None:
    assert lines(**changes) == [f"t: {line}"]


def test_shares_are_added_exactly() -> None:
    two = {"measure": "frequency", "values": ["a"], "every": "1m"}
    assert lines(screen__share=0.7, streams__two={**two, "share": 0.3}) == []
    assert lines(screen__share=0.7, streams__two={**two, "share": 0.300001}) == [
        "t: streams.*.share: found screen 0.7, two 0.300001; allowed: at most 1 together"
    ]


def test_a_value_may_be_called_other_or_none_where_those_are_not_added() -> None:
    assert lines(screen__values=["other", "none"], screen__missing={"carry": "always"}) == []


def test_several_mistakes_are_several_lines() -> None:
    found = lines(privacy__epsilon=0, time__lateness="soon", screen__several="any", nonsense=1, **LOGIN)
    assert [line.split(":")[1].strip() for line in found] == [
        "privacy.epsilon", "time.lateness", "kafka.username", "kafka.password", "streams.screen.several", "nonsense",
    ]  # fmt: skip


def test_every_mistake_that_keys_make_together_is_named_at_once() -> None:
    found = lines(population__forget_after="1m", screen__slots=4, screen__source={"topic": "shop.tallies"})
    assert [line.split(": ")[1] for line in found] == [
        "population.forget_after", "streams.screen.slots", "streams.screen.source.topic",
    ]  # fmt: skip


def test_sasl_needs_somebody_who_logs_in() -> None:
    assert lines(**LOGIN) == [
        "t: kafka.username: found nothing; allowed: a text with sasl_ssl",
        f"t: kafka.password: found nothing; allowed: {PLACE} with sasl_ssl",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"kafka__password": CANARY},
        {"kafka__password": [CANARY]},
        {"kafka__password": {"file": 5, "text": CANARY}},
        {"kafka__password": {"file": [CANARY]}},
        {"kafka": CANARY},
        {"kafka": [{"password": CANARY}]},
        {"secrets": CANARY},
        {"secrets__pepper": CANARY},
        {"secrets__pepper": {"value": CANARY}},
        {"secrets__pepper": {"file": CANARY, "env": CANARY}},
        {"secrets__papper": {"file": CANARY}},
        {"password": CANARY},
    ],
)
def test_no_mistake_shows_a_secret(changes: dict[str, Any]) -> None:
    found = lines(**changes)
    assert found
    assert not any(CANARY in line for line in found)


def test_a_deployment_does_not_show_where_its_secrets_are() -> None:
    assert CANARY not in repr(build(small(secrets__pepper={"file": CANARY}, secrets__state={"env": CANARY})))


def test_every_key_can_come_from_the_environment() -> None:
    environ = {
        "MURMURATE__NAME": "other-shop",
        "MURMURATE__PRIVACY__EPSILON": "0.29",
        "MURMURATE__PRIVACY__WINDOW": '{"periods": 20}',
        "MURMURATE__PRIVACY__MIN_BATCH": "50",
        "MURMURATE__KAFKA__BROKERS": '["kafka-1:9092", "kafka-2:9092"]',
        "MURMURATE__KAFKA__PASSWORD__FILE": "elsewhere",
        "MURMURATE__STREAMS__SCREEN__VALUES": '["1", "2"]',
        "MURMURATE__STREAMS__SCREEN__OTHER": "false",
        "MURMURATE__STREAMS__SCREEN__METHOD": "lpu",
        "MURMURATE__STREAMS__SCREEN__MISSING": '{"carry": "always"}',
        "MURMURATE__STREAMS__SCREEN__SOURCE__VALUE": "/page",
        "MURMURATE__STREAMS__TWO": '{"measure": "frequency", "values": ["a"], "every": "5m", "share": 0.25}',
        "MURMURATE_SHUFFLE_KEY": "is none of our keys",
    }
    made = shop(environ)
    screen = made.stream("screen")
    assert (made.name, made.epsilon_micro, made.window_ms, made.min_batch) == ("other-shop", 290_000, None, 50)
    assert (screen.names, screen.w, screen.method.described()) == (
        ("1", "2"),
        20,
        {"name": "lpu", "filter": "adaptive"},
    )
    assert (screen.fields.user, screen.fields.value) == ("/session/user_id", "/page")
    assert made.stream("two").topic == "other-shop.events"
    assert load(SHOP, environ).kafka.brokers == ("kafka-1:9092", "kafka-2:9092")


def test_a_mistake_in_the_environment_says_so() -> None:
    environ = {"MURMURATE__PRIVACY__WINDOW": "1 hour", "MURMURATE__TYPO": "1", "MURMURATE__TIME__LATE": "1s"}
    assert [line.split(": found")[0] for line in refused(SHOP, environ)] == [
        "environment: MURMURATE__PRIVACY__WINDOW", "environment: MURMURATE__TIME__LATE",
        "environment: MURMURATE__TYPO",
    ]  # fmt: skip


def test_broken_json_in_the_environment_is_not_shown() -> None:
    found = refused(SHOP, {"MURMURATE__KAFKA__PASSWORD": '{"file": "' + CANARY})
    assert found == [
        "environment: MURMURATE__KAFKA__PASSWORD: found brackets that are no JSON; "
        "allowed: a text, or JSON for a list or a table"
    ]


def test_a_deployment_can_live_in_the_environment_alone(tmp_path: Path) -> None:
    environ = {
        "MURMURATE__NAME": "shop",
        "MURMURATE__PRIVACY": '{"epsilon": 1, "window": "1h"}',
        "MURMURATE__STREAMS__SCREEN": '{"measure": "frequency", "values": ["a"], "every": "1m"}',
    }
    screen = load(tmp_path / "none.toml", environ).streams["screen"]
    assert isinstance(screen, FrequencyStream)
    assert screen.values == ("a",)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"name = ", "FILE, line 1: found no TOML (Invalid value, up to the end); allowed: TOML in UTF-8"),
        (b"a = 1\nb = = 2", "FILE, line 2: found no TOML (Invalid value, column 5); allowed: TOML in UTF-8"),
        (
            b'# x\na = """\nb = 2\n',
            "FILE, line 2: found no TOML (Unterminated string, up to the end); allowed: TOML in UTF-8",
        ),
        (b'name = "\xff"', "FILE, line 1: found bytes that are not UTF-8 (byte 8); allowed: TOML in UTF-8"),
        (b"schema = " + b"9" * 5000, "FILE: found more digits or brackets than can be read; allowed: TOML in UTF-8"),
        (b"schema = " + b"[" * 5000, "FILE: found more digits or brackets than can be read; allowed: TOML in UTF-8"),
        (b"\x1f\x8b\x08", "FILE, line 1: found bytes that are not UTF-8 (byte 1); allowed: TOML in UTF-8"),
    ],
)
def test_a_file_that_is_no_toml_says_so(tmp_path: Path, content: bytes, line: str) -> None:
    path = tmp_path / "murmurate.toml"
    path.write_bytes(content)
    assert refused(path) == [line]


def test_no_file_and_a_directory_say_so(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.toml") == ["FILE: found no such file; allowed: a file that `murmurate init` writes"]
    assert refused(tmp_path) == ["FILE: found something that is no file; allowed: a file that `murmurate init` writes"]


def test_an_empty_file_names_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "murmurate.toml"
    path.write_bytes(b"")
    assert [line.split(": ")[1] for line in refused(path)] == ["name", "privacy", "streams"]
