# SPDX-License-Identifier: Apache-2.0
"""A stream of skewed numbers through all stages, whose clipping threshold is found first; with crashes, the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Outcome, Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS
from murmurate.config.plan import Plan
from murmurate.topics.domains import Grid
from tests.agents.replay.plans import plan, stream
from tests.agents.world import FIRST, SECOND, Crashes, Event, arrivals, deployment, played
from tests.agents.world import stream as small_stream

USERS, PERIODS, W = 6_000, 16, 4
RANGE = (0.0, 10_000.0)
GRID = Grid(*RANGE, (1 << 16) + 1, "points")


def deployed(name: str, clip: str, *, none: bool, filtering: str) -> Plan:
    method = MethodOptions(name, filter=filtering, clip=clip)
    one = stream("fare", method=name, w=W, carry_ms=0 if none else None)
    one = dataclasses.replace(one, measure=Mean(GRID, none, "EUR"), share_micro=1_000_000, method=method)
    assert one.division == METHODS[name].division
    return plan(one, partitions=2, targets=2)


def replayed(of: Plan, source: str) -> tuple[Outcome, list[dict[str, Any]]]:
    outcome = Replay(of, open_source(source, of), keys(known_secrets(of.name), of.name)).run()
    return outcome, [orjson.loads(text) for text in outcome.releases]


def fares(folder: Path, *, none: bool) -> str:
    rng = np.random.default_rng(4)
    amounts = rng.lognormal(np.log(60) + 0.2 * np.sin(np.arange(PERIODS) / 4)[:, None], 1.0, (PERIODS, USERS))
    source = folder / "fares.npy"
    np.save(source, np.where(none & (rng.random(amounts.shape) < 0.3), np.nan, amounts))
    return str(source)


@pytest.mark.parametrize(("name", "none", "filtering"), [("lba", True, "off"), ("lpu", False, "off")])
def test_a_threshold_is_found_privately_where_it_pays(tmp_path: Path, name: str, none: bool, filtering: str) -> None:
    source = fares(tmp_path, none=none)
    errors: dict[str, Mapping[str, float]] = {}
    for clip in ("found", "declared"):
        outcome, releases = replayed(deployed(name, clip, none=none, filtering=filtering), source)
        assert outcome.over_budget == 0
        assert not sum(outcome.refused.values())
        assert [release["t"] for release in releases] == [period.t for period in outcome.truth]
        off = [
            {what: release[what]["mean"] - period.figures[0] for what in ("estimate", "unbiased")}
            for release, period in zip(releases, outcome.truth, strict=True)
        ]
        errors[clip] = {
            what: float(np.sqrt(np.mean([each[what] ** 2 for each in off[W:]]))) for what in ("estimate", "unbiased")
        }
        if clip == "declared":
            continue
        for at, release in enumerate(releases):
            assert release["range"] == list(RANGE)
            assert release["method"]["clip"] == "found"
            assert release["mechanism"]["name"] == "recoded"
            assert abs(off[at]["estimate"]) < 4 * release["stderr"]["mean"]
            assert RANGE[0] <= release["estimate"]["mean"] <= RANGE[1]
        first, *held = releases[:W]
        assert first["mechanism"]["inner"] == ("sw_mean_presence" if none else "sw_mean")
        assert (first["decision"], first["reports"]["counted"]) == ("published", USERS)
        assert all(one["decision"] == "approximated" and not one["reports"]["slots"] for one in held)
        clips = {release["mechanism"]["clip"] for release in releases[W:]}
        assert len(clips) == 1
        assert clips < set(range(65_536))
        within = [
            abs(each["estimate"]) <= 2 * release["stderr"]["mean"] for each, release in zip(off, releases, strict=True)
        ]
        assert sum(within) >= len(within) - 2
        assert releases[W]["decision"] == "published"  # the first publication of the method is forced
    for what in ("estimate", "unbiased"):
        assert errors["found"][what] < 0.5 * errors["declared"][what]


def test_where_no_threshold_could_pay_the_method_begins_at_once_over_the_whole_range(tmp_path: Path) -> None:
    source = fares(tmp_path, none=True)
    found, declared = (
        replayed(deployed("lpa", clip, none=True, filtering="adaptive"), source)[1] for clip in ("found", "declared")
    )
    assert [release["method"].get("clip") for release in (found[0], declared[0])] == ["found", None]
    assert [release["mechanism"] for release in found] == [release["mechanism"] for release in declared]
    assert [release["decision"] for release in found[:2]] == [release["decision"] for release in declared[:2]]
    assert found[0]["reports"]["slots"] == declared[0]["reports"]["slots"] > 0


def test_whatever_crashes_the_releases_are_those_of_the_undisturbed_run() -> None:
    fare = small_stream(
        "fare", measure="mean", domain=GRID, unit="EUR", share_micro=1_000_000,
        method=MethodOptions("lpa", variance="sampling", filter="off", clip="found"),
    )  # fmt: skip
    of, rng, periods = deployment(fare, partitions=2), np.random.default_rng(9), 9
    events = []
    for user in range(400):
        for t in range(periods):
            if t and rng.random() < 0.2:
                continue
            time = (FIRST - 1 + t) * SECOND + int(rng.integers(SECOND))
            value = round(float(rng.lognormal(np.log(60), 1)), 2)
            events.append(Event("fare", f"user-{user}", time, value, user % 2, time + int(rng.integers(300))))
    events.sort(key=lambda event: (event.arrives, event.user))
    records = arrivals(events, until=(FIRST + periods + 1) * SECOND)
    releases = played(of, records).releases()
    assert [orjson.loads(one)["mechanism"]["inner"] for one in releases[:5]] == ["sw_mean_presence"] * 4 + [
        "value_presence"
    ]
    points = ("before fold", "after fold", "in the transaction", "after the commit")
    crashes = Crashes({(point, "publish"): range(2, 60, 5) for point in points} | {("after fold", "perturb"): (9, 40)})
    disturbed = played(of, records, faults=crashes, step=7)
    assert crashes.died > 20
    assert disturbed.releases() == releases
