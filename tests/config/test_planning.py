# SPDX-License-Identifier: Apache-2.0
"""From the file to the plan: w, slots, limits, and a digest that follows the meaning."""

from pathlib import Path
from typing import Any

import pytest

from murmurate.config.loader import build, load
from murmurate.config.planning import answer_micro, default_slots, plan
from murmurate.randomizers.registry import STREAMED
from murmurate.topics.release_parts import MAX_NAMES
from tests.config.deployments import SHOP, lines, planned, shop, small

TWO: dict[str, Any] = {"measure": "frequency", "values": ["a"], "every": "5m", "share": 0.25}


def test_the_shared_example_becomes_the_plan_it_describes() -> None:
    made = shop()
    screen = made.stream("screen")
    assert (made.partitions, made.targets, made.patience_ms, made.lateness_ms) == (8, 8, 30_000, 10_000)
    assert (screen.w, screen.slots, screen.share_micro, screen.division) == (61, 4148, 500_000, "population")
    assert screen.names == ("home", "search", "basket", "checkout", "help", "other", "none")
    assert screen.method.described() == {"name": "lpa", "variance": "sampling", "filter": "adaptive"}
    assert (screen.topic, screen.fields.stream, screen.fields.time) == ("app.clicks", None, "/at")
    assert screen.revision == 1


@pytest.mark.parametrize(
    ("window", "every", "missing", "w"),
    [
        ("1h", "1m", "none", 61),
        ("1h", "7m", "none", 10),
        ("1h", "5m", {"carry": "15m"}, 16),
        ("1h", "1m", {"carry": "always"}, 61),
        ("1m", "1h", "none", 2),
        ({"periods": 20}, "1m", {"carry": "15m"}, 20),
    ],
)
def test_w_is_every_period_that_a_window_can_touch(window: Any, every: str, missing: Any, w: int) -> None:
    assert planned(privacy__window=window, screen__every=every, screen__missing=missing).stream("screen").w == w


@pytest.mark.parametrize("w", [1, 2, 20, 61, 127, 128, 2047, 2048, 2049, 30_000, 32_768])
def test_slots_are_a_multiple_of_two_windows(w: int) -> None:
    slots = default_slots(w)
    assert slots % (2 * w) == 0
    assert 2 * w <= slots <= 65_536
    assert slots >= min(32 * w, 65_536 - 2 * w)
    assert slots >= 4096


def test_a_value_that_stands_for_ever_leaves_no_none() -> None:
    assert planned(screen__missing={"carry": "always"}).stream("screen").names == ("home", "help")


@pytest.mark.parametrize(
    ("split", "method", "answer"),
    [("users", "lpa", 2_000_000), ("users", "lbu", 32_786), ("budget", "lpu", 1_400_000), ("budget", "lbu", 22_950)],
)
def test_an_answer_spends_what_its_method_allows(split: str, method: str, answer: int) -> None:
    made = planned(privacy__split=split, screen__method=method, screen__share=0.7, streams__two=TWO)
    assert answer_micro(made, "screen") == answer


def test_events_come_to_the_deployments_own_topic_unless_another_is_named() -> None:
    screen = planned().stream("screen")
    assert (screen.topic, screen.fields.stream, screen.fields.time) == ("shop.events", "/stream", "/time")
    bare = planned(screen__source={"topic": "clicks"}).stream("screen")
    assert (bare.topic, bare.fields.stream, bare.fields.time, bare.fields.user) == ("clicks", None, None, "/user")


def test_two_files_that_promise_the_same_give_the_same_plan(tmp_path: Path) -> None:
    text = SHOP.read_text(encoding="utf-8")
    said = text.replace('"1h"', '"60m"').replace('"1m"', '"60s"').replace("epsilon = 2.0", "epsilon = 2")
    said = said.replace('method = "lpa"', 'method = { name = "lpa", variance = "sampling" }\nslots = 4148')
    said = said.replace("share = 0.5 ", "share = 0.500000 ").replace("replication = 3", "replication = 1")
    assert said != text
    path = tmp_path / "murmurate.toml"
    path.write_text(said, encoding="utf-8")
    assert plan(load(path, {})) == shop()


def test_the_order_of_the_streams_in_the_file_does_not_matter() -> None:
    values = small(screen__share=0.5, streams__two=TWO)
    turned = {**values, "streams": dict(reversed(values["streams"].items()))}
    assert plan(build(values)) == plan(build(turned))


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy__epsilon": 2.000001},
        {"privacy__window": "2h"},
        {"privacy__window": {"periods": 61}},
        {"privacy__split": "budget"},
        {"population__forget_after": "8d"},
        {"screen__values": ["help", "home"]},
        {"screen__other": True},
        {"screen__every": "2m"},
        {"screen__share": 0.999999},
        {"screen__method": "lpa"},
        {"screen__method": {"name": "lpa", "variance": "paper"}},
        {"screen__mechanism": "grr"},
        {"screen__prefer": "bytes"},
        {"screen__several": "first"},
        {"screen__missing": {"carry": "always"}},
        {"screen__missing": {"carry": "1m"}},
        {"screen__slots": 122},
        {"screen__season": "24h"},
        {"screen__source": {"topic": "clicks"}},
        {"screen__source": {"topic": "shop.events", "time": "/time"}},
    ],
)
def test_the_digest_changes_with_the_meaning(changes: dict[str, Any]) -> None:
    before, after = planned().stream("screen").config, planned(**changes).stream("screen").config
    assert before != after
    assert len(after) == 16


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy__min_batch": 50},
        {"privacy__delta": 1e-9},
        {"population__partitions": 2},
        {"time__lateness": "1m"},
        {"time__patience": "1m"},
        {"kafka__targets": 3},
        {"web__listen": "0.0.0.0:80"},
        {"web__edge": "0.0.0.0:81"},
        {"secrets__pepper": {"env": "PEPPER"}},
        {"screen__every": "60s"},
        {"screen__slots": 4148},
        {"screen__method": {"name": "lpu"}},
        {"screen__post": {"name": "base-cut", "k": 2}},
        {"population__users": 9000},
        {"screen__missing": "none"},
    ],
)
def test_the_digest_stays_where_the_meaning_does(changes: dict[str, Any]) -> None:
    assert planned().stream("screen").config == planned(**changes).stream("screen").config


ALWAYS: dict[str, Any] = {"carry": "always"}
FARE: dict[str, Any] = {"measure": "mean", "range": [-5, 120], "every": "1m", "missing": ALWAYS}


def test_the_initial_value_is_in_the_digest_where_it_is_not_the_default() -> None:
    left_out = planned(screen__missing=ALWAYS).stream("screen")
    assert planned(screen__missing=ALWAYS, screen__initial="home").stream("screen") == left_out
    other = planned(screen__missing=ALWAYS, screen__initial="help").stream("screen")
    assert other.config != left_out.config
    fare = planned(streams__screen=FARE).stream("screen")
    assert planned(streams__screen=FARE | {"initial": -5}).stream("screen") == fare
    assert planned(streams__screen=FARE | {"initial": 0}).stream("screen").config != fare.config


def test_the_initial_value_is_other_or_what_the_file_says_or_the_first_or_the_low_end() -> None:
    def value(**changes: Any) -> str | float:
        stream = planned(**changes).stream("screen")
        said: str | float = stream.domain.value(stream.initial_code)
        return said

    assert value(screen__missing=ALWAYS) == "home"
    assert value(screen__missing=ALWAYS, screen__initial="help") == "help"
    assert value(screen__missing=ALWAYS, screen__other=True) == "other"
    assert value(streams__screen=FARE) == -5
    assert value(streams__screen=FARE | {"initial": 120}) == 120
    cells = FARE | {"measure": "distribution", "range": [0, 8], "cells": 4}
    assert value(streams__screen=cells | {"initial": 5}) == 5  # the middle of its stretch


def test_a_season_is_so_many_periods_and_none_is_written_nowhere() -> None:
    assert planned(screen__season="24h").stream("screen").season == 1440
    one, other = (planned(screen__season=season).stream("screen").config for season in ("24h", "7d"))
    assert one != other
    assert planned().stream("screen").season is None


def test_another_stream_does_not_change_a_streams_digest() -> None:
    alone = planned(screen__share=0.5).stream("screen").config
    assert planned(screen__share=0.5, streams__two=TWO).stream("screen").config == alone


def test_every_mechanism_of_a_stream_takes_as_many_values_as_a_release_has_names() -> None:
    assert all(kind.max_domain >= MAX_NAMES for kind in STREAMED.values())


def test_a_threshold_that_is_to_be_found_belongs_to_the_method_and_to_the_meaning() -> None:
    fare = {"measure": "mean", "range": [0, 10_000], "every": "1m"}
    declared, same, found = (
        planned(streams__screen=fare | clip).stream("screen") for clip in ({}, {"clip": "declared"}, {"clip": "found"})
    )
    assert declared == same
    assert found.method.described() == {**declared.method.described(), "clip": "found"}
    assert found.config != declared.config
    assert found.range == declared.range


@pytest.mark.parametrize(
    ("lateness", "skew", "found"),
    [
        ("10s", None, 1000),
        ("2s", None, 1000),
        ("1s", None, 500),
        ("0s", None, 100),
        ("10s", "5s", 5000),
        ("0s", "10ms", 10),
    ],
)
def test_clocks_may_differ_by_a_second_or_half_of_lateness_unless_the_file_says_otherwise(
    lateness: str, skew: str | None, found: int
) -> None:
    said = {} if skew is None else {"time__skew": skew}
    assert planned(time__lateness=lateness, **said).skew_ms == found


@pytest.mark.parametrize("skew", ["9ms", "2h", "never", 5])
def test_a_skew_out_of_range_is_refused(skew: object) -> None:
    (line,) = lines(time__skew=skew)
    assert "time.skew: found " in line
