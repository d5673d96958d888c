# SPDX-License-Identifier: Apache-2.0
"""Central streams through a replay: alone and beside local ones, from every kind of source; truth is exact sums."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.page_header import page_header
from murmurate.agents.replay.run import Outcome, Replay, keys
from murmurate.agents.replay.score import table
from murmurate.agents.replay.sources import SourceError, open_source
from murmurate.agents.web.report import report_html
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.topics.codec import decode
from murmurate.topics.release import Release

START = 1_794_992_400_000
SECOND, PERIODS = 1000, 40
Event = tuple[str, int, Any, int]
"""Stream, user, value, milliseconds after START."""


def till(**more: Any) -> Plan:
    streams = {
        "revenue": {
            "model": "central", "measure": "total", "range": [0, 500], "step": 0.01, "unit": "EUR", "every": "10s",
            "counts": True, "holdout": {"periods": 10, "events": 400}, "tree": {"fanout": 4, "levels": 3},
        },
        "orders": {"model": "central", "measure": "count", "values": ["web", "app"], "every": "20s",
                   "tree": {"fanout": 2, "levels": 3}},
    }  # fmt: skip
    return plan(build({
        "name": "till", "privacy": {"epsilon": 1.0, "window": "1d", "min_batch": 2}, "curator": {"epsilon": 4.0},
        "population": {"partitions": 2}, "time": {"clock": "feed", "lateness": "2s"}, "streams": streams | more,
    }))  # fmt: skip


def events(seed: int = 5) -> list[Event]:
    """Some forty sales every ten seconds, several by one user; orders beside them, some of an unknown kind."""
    rng, found = np.random.default_rng(seed), list[Event]()
    for i in range(PERIODS * 40):
        at, user = i * 250 + int(rng.integers(0, 250)), int(rng.integers(0, 60))
        found.append(("revenue", user, round(float(rng.lognormal(3, 0.7)), 2), at))
        found.append(("orders", user, str(rng.choice(["web", "app", "fax"])), at))
    return found


def written(path: Path, events: Iterable[Event]) -> str:
    with path.open("wb") as file:
        for stream, user, value, at in events:
            time = datetime.fromtimestamp((START + at) / 1000, UTC).isoformat(timespec="milliseconds")
            said = {"stream": stream, "user": f"u-{user}", "value": value, "time": time.replace("+00:00", "Z")}
            file.write(orjson.dumps(said) + b"\n")
    return str(path)


def replayed(of: Plan, source: str, stream: str | None = None) -> tuple[Outcome, list[dict[str, Any]]]:
    frames: list[dict[str, Any]] = []
    run = Replay(of, open_source(source, of, stream), keys(known_secrets(of.name), of.name), frames.append)
    outcome = run.run()
    for record in outcome.releases:
        assert isinstance(decode(record), Release)
    assert outcome.over_budget == 0
    return outcome, frames


def by_hand(events: Iterable[Event], stream: str, every_s: int) -> dict[int, dict[str, float]]:
    """Exact sums of a stream's events by period, in whole cents."""
    sums: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for name, _, value, at in events:
        t = (START + at) // (every_s * SECOND)
        if name == stream == "revenue":
            sums[t]["total"] += round(min(value, 500) * 100)
            sums[t]["count"] += 1
        elif name == stream and value in ("web", "app"):
            sums[t][value] += 1
    return sums


def test_truth_is_the_exact_sum_of_every_event_also_in_a_hold_out_and_above_a_threshold(tmp_path: Path) -> None:
    said = events()
    outcome, _ = replayed(till(), written(tmp_path / "e.jsonl", said))
    revenue, orders = by_hand(said, "revenue", 10), by_hand(said, "orders", 20)
    told = {(one.stream, one.t): one for one in outcome.truth}
    assert {t for stream, t in told if stream == "revenue"} == set(revenue)
    for t, sums in revenue.items():
        assert told["revenue", t].figures.tolist() == [pytest.approx(sums["total"] / 100), sums["count"]]
        assert told["revenue", t].users == sums["count"]
    for t, sums in orders.items():
        assert told["orders", t].figures.tolist() == [sums["web"], sums["app"]]
    line = told["revenue", min(revenue)].record(("total", "count"))
    assert line["events"] == line["truth"]["count"]  # type: ignore[index]
    assert "users" not in line


def test_errors_are_of_sums_and_hold_out_periods_count_in_none(tmp_path: Path) -> None:
    of = till()
    outcome, frames = replayed(of, written(tmp_path / "e.jsonl", events()))
    orders, revenue = outcome.score(of).streams
    assert (revenue.stream, revenue.releases, revenue.published, revenue.unmeasured) == ("revenue", PERIODS, 30, 10)
    assert (revenue.periods, revenue.estimated, revenue.bits, revenue.published_per_window) == (30, 30, None, None)
    assert (orders.releases, orders.published, orders.unmeasured) == (PERIODS // 2, PERIODS // 2, 0)
    releases = [json.loads(record) for record in outcome.releases]
    true = {(one.stream, one.t): one.figures for one in outcome.truth}
    off = [
        abs(one["unbiased"]["total"] - true["revenue", one["t"]][0]) / true["revenue", one["t"]][0]
        for one in releases
        if one["stream"] == "revenue" and one["decision"] == "published"
    ]
    assert revenue.mre == pytest.approx(np.mean(off))
    inside = [
        abs(one["estimate"][name] - value) <= 2 * one["stderr"][name]
        for one in releases
        if one["stream"] == "orders"
        for name, value in zip(("web", "app"), true["orders", one["t"]], strict=True)
    ]
    assert orders.coverage == pytest.approx(np.mean(inside))
    assert outcome.shortfalls(of) == []
    assert frames[-1]["summary"]["unmeasured"] == 10
    assert "hold-out" not in str(table(outcome.score(of)))
    assert report_html(frames).count('"noise":') == 30 + PERIODS // 2


def test_a_release_of_a_hold_out_says_how_far_it_is(tmp_path: Path) -> None:
    outcome, _ = replayed(till(), written(tmp_path / "e.jsonl", events()))
    revenue = [one for one in map(json.loads, outcome.releases) if one["stream"] == "revenue"]
    assert [one.get("holdout") for one in revenue[:11]] == [*({"period": t, "periods": 10} for t in range(1, 11)), None]
    assert all(("threshold" in one["method"]) == ("noise" in one) == ("holdout" not in one) for one in revenue)


def test_a_central_stream_beside_a_local_one_leaves_what_users_answer_as_it_was(tmp_path: Path) -> None:
    screen = {"measure": "frequency", "values": ["home", "help"], "every": "10s", "method": "lpu"}
    alone = {"name": "till", "privacy": {"epsilon": 1.0, "window": "1d", "min_batch": 2},
             "population": {"partitions": 2}, "time": {"clock": "feed", "lateness": "2s"}}  # fmt: skip
    screens = [("screen", user, "help", at) for _, user, _, at in events()[::2]]
    both, local = till(screen=screen), plan(build({**alone, "streams": {"screen": screen}}))
    mixed, _ = replayed(both, written(tmp_path / "b.jsonl", sorted([*events(), *screens], key=lambda event: event[3])))
    single, _ = replayed(local, written(tmp_path / "l.jsonl", screens))
    mine = [record for record in mixed.releases if json.loads(record)["stream"] == "screen"]
    assert mine == single.releases
    assert sum(json.loads(record)["stream"] == "revenue" for record in mixed.releases) == PERIODS


def test_a_source_that_ends_within_the_hold_out_is_told_what_it_takes(tmp_path: Path) -> None:
    of, few = till(), [event for event in events() if event[0] == "revenue" and event[3] < 60 * SECOND]
    outcome, _ = replayed(of, written(tmp_path / "e.jsonl", few))
    (said,) = [line for line in outcome.shortfalls(of) if line.startswith("revenue")]
    assert said == (
        "revenue: nothing was measured in 6 periods: a hold-out of 10 periods comes first. It takes 11 periods to "
        "measure something."
    )
    assert outcome.summary(of)["coverage"] is not None


def test_csv_and_npy_and_synthetic_sources_hold_central_streams(tmp_path: Path) -> None:
    of = till()
    rows = [f"u-{user},{START + at},{value}" for name, user, value, at in events() if name == "revenue"]
    (tmp_path / "e.csv").write_text("\n".join(["user,time,value", *rows]), encoding="utf-8")
    outcome, _ = replayed(of, str(tmp_path / "e.csv"), "revenue")
    assert [one.figures[0] for one in outcome.truth] == pytest.approx(
        [sums["total"] / 100 for _, sums in sorted(by_hand(events(), "revenue", 10).items())]
    )
    numbers = np.array([[10.0, 20.55, np.nan], [600.0, 0.004, 1.0]] * 10)
    np.save(tmp_path / "e.npy", numbers)
    outcome, _ = replayed(of, str(tmp_path / "e.npy"), "revenue")
    assert [one.figures.tolist() for one in outcome.truth[:2]] == [[30.55, 2], [501.0, 3]]
    np.save(tmp_path / "o.npy", np.array([[0, 1, 1], [-1, 0, 0]]))
    outcome, _ = replayed(of, str(tmp_path / "o.npy"), "orders")
    assert [one.figures.tolist() for one in outcome.truth] == [[1, 2], [2, 0]]
    outcome, _ = replayed(of, "synthetic:log,n=200,periods=12", "orders")
    assert [one.figures.sum() for one in outcome.truth] == [200] * 12
    outcome, _ = replayed(of, "synthetic:sin,n=100,periods=12", "revenue")
    assert all(one.figures[0] % 500 == 0 for one in outcome.truth)
    with pytest.raises(SourceError, match="a stream of sets"):
        open_source("synthetic:sets,n=10,periods=2", of, "orders")


def test_a_page_is_told_the_curators_promise_and_how_a_central_stream_is_read() -> None:
    header = page_header(till(screen={"measure": "frequency", "values": ["a"], "every": "10s"}), "live")
    assert any("edge sums events exactly" in sentence for sentence in header["curator"])
    assert not any("exactly" in sentence for sentence in header["promise"])
    revenue = next(one for one in header["streams"] if one["name"] == "revenue")
    assert (revenue["central"], revenue["units"]) == (True, {"total": "EUR", "count": ""})
    assert revenue["numbers"] == ["total", "count"]
    assert "central" not in next(one for one in header["streams"] if one["name"] == "screen")
