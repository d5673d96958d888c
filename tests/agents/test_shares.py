# SPDX-License-Identifier: Apache-2.0
"""Shares of users behind views, from a table to releases: exact, the same whatever goes wrong, true, and looked at."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.audit.auditor import audit
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.replay.run import Replay
from murmurate.agents.replay.score import score
from murmurate.agents.replay.sources import open_source
from murmurate.agents.stages.stage import Log
from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.measures.rows import RowMeasure
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan
from murmurate.topics.block import REFUSED
from murmurate.topics.codec import decode_record
from murmurate.topics.release import Release
from tests.agents import wide
from tests.agents.shares import SHARES
from tests.agents.test_value_independence import beyond
from tests.agents.wide import crowd
from tests.agents.world import (
    FIRST,
    KEYS,
    SECOND,
    TOPIC,
    Event,
    arrivals,
    calm_and_torn,
    deployment,
    played,
)

USERS, PERIODS = 28, 3
UNTIL = (FIRST + PERIODS) * SECOND + 1000
KIND = pytest.mark.parametrize("kind", SHARES)


pytestmark = pytest.mark.usefixtures("frequent_snapshots")


def plan(kind: str, **changes: Any) -> Plan:
    carry = {"missing": {"carry": "always"}} if changes.get("carry_ms", 0) is None else {}
    measure = SHARES[kind].stream(**carry).statistic()
    return deployment(replace(wide.stream("strings", **changes), measure=measure), min_batch=2)


def events(kind: str, seed: int, **how: Any) -> list[Event]:
    rng = random.Random(seed)
    return crowd(kind, users=USERS, periods=PERIODS, seed=seed, value=lambda _: SHARES[kind].said(rng), **how)


def run(of: Plan, said: Sequence[Event], **how: Any) -> Runtime:
    return played(of, arrivals(said, until=UNTIL), **how)


def test_every_measure_of_rows_is_here() -> None:
    assert {share.measure for share in SHARES.values()} == {
        name for name, kind in KINDS.items() if issubclass(kind, RowMeasure)
    }


@KIND
def test_no_crash_and_no_interleaving_changes_a_byte(kind: str) -> None:
    of, said = plan(kind, carry_ms=2000), events(kind, seed=2)
    calm, torn = calm_and_torn(partial(run, of, said), kind)
    assert torn.releases() == calm.releases()
    assert [orjson.loads(record)["reports"]["counted"] > 0 for record in calm.releases()] == [True] * PERIODS

    def read(topic: str, partition: int) -> Sequence[bytes]:
        log = Log(topic, partition)
        return [torn.logs.read(log, offset).value for offset in range(torn.logs.end(log))]

    found = audit(of, KEYS.edge.devices, read, {TOPIC: 2})
    assert found.holds, found.where


@KIND
@pytest.mark.parametrize("carry_ms", [0, None])
def test_no_value_makes_anything_beyond_the_edge_larger_or_smaller(kind: str, carry_ms: int | None) -> None:
    of, said = plan(kind, carry_ms=carry_ms), events(kind, seed=3)
    outside = beyond(run(of, said))
    wrong = SHARES[kind].wrong
    for some in (
        [replace(event, value=wrong[0]) if event.user == "user-7" else event for event in said],
        [replace(event, value=wrong[i % len(wrong)]) for i, event in enumerate(said)],
    ):
        assert beyond(run(of, some)) == outside


def true_to(of: Plan, source: str) -> list[Release]:
    """The releases of a replay, each of which tells the truth within six standard errors."""
    outcome = Replay(of, open_source(source, of), KEYS).run()
    truth = {period.t: period.figures for period in outcome.truth if period.users}
    releases = [one for record in outcome.releases if isinstance(one := decode_record(record), Release)]
    for release in releases:
        names = of.stream("it").names
        assert set(release.estimate) == set(names)
        for name, (value, error) in release.known.items():
            assert abs(value - truth[release.t][names.index(name)]) <= 6 * error + 1e-6
    scored = of.stream("it").measure.scored  # a mean among holders is known only where there surely are some
    assert sum(release.known.keys() >= set(scored) for release in releases) >= PERIODS - 1
    found = score(of, map(orjson.loads, outcome.releases), outcome.truth)
    assert found.streams[0].mse is not None
    return releases


@KIND
@pytest.mark.parametrize("filtered", ["off", "adaptive"])
def test_made_up_values_are_measured_as_they_are(kind: str, filtered: Any) -> None:
    of = plan(kind, method=MethodOptions("lpu", filter=filtered))
    of = replace(of, epsilon_micro=4_000_000)
    releases = true_to(of, f"synthetic:{SHARES[kind].made_up},n=900,periods=3,seed=5")
    assert max(value or 0 for value in releases[-1].estimate.values()) > 0.1


@KIND
def test_json_lines_a_table_and_an_array_say_the_same(kind: str, tmp_path: Path) -> None:
    of, rng = plan(kind), random.Random(7)
    of = replace(of, epsilon_micro=4_000_000)
    domain, start, users = of.stream("it").domain, 1_767_225_600_000, 800
    values = [[SHARES[kind].said(rng) for _ in range(users)] for _ in range(PERIODS)]
    lines = [{"user": str(user), "time": start - 500, "value": None} for user in range(users)]
    table = ["user,time,value", *(f"{user},{start - 500}," for user in range(users))]
    span = min(SECOND, of.future_ms)
    for t, row in enumerate(values):
        for user, value in enumerate(row):
            time = start + t * SECOND + user * span // users
            lines.append({"user": str(user), "time": time, "value": value})
            cell = value if isinstance(value, str) else orjson.dumps(value).decode()
            table.append(f'{user},{time},"{cell.replace(chr(34), chr(34) * 2)}"')
    (tmp_path / "it.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)) + b"\n")
    (tmp_path / "it.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    codes = domain.codes()
    rows = [[codes[value] if value != "" else [REFUSED] * domain.words for value in row] for row in values]
    np.save(tmp_path / "it.npy", np.array(rows, np.uint32))  # an empty cell of a table is no event
    if any("" in row for row in values):
        lines = [line for line in lines if line["value"] != ""]
        (tmp_path / "it.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)) + b"\n")
    said = {ending: true_to(of, str(tmp_path / f"it.{ending}"))[-PERIODS:] for ending in ("jsonl", "csv", "npy")}
    assert [one.estimate for one in said["jsonl"]] == [one.estimate for one in said["csv"]]
    assert [one.t for one in said["npy"]] == [one.t for one in said["csv"]]


@KIND
def test_what_is_above_a_threshold_is_said_so(kind: str) -> None:
    of = plan(kind)
    (name, *_) = of.stream("it").names
    low = plan(kind, thresholds={name: 1e-9})
    records = [orjson.loads(record) for record in run(low, events(kind, seed=5)).releases()]
    assert all(record["thresholds"][name]["side"] in ("above", "below") for record in records)
    assert all(0.5 <= record["thresholds"][name]["confidence"] <= 1 for record in records)
