# SPDX-License-Identifier: Apache-2.0
"""What a worker counts: each fact once, from what was committed; and nothing of raw events outside the edge."""

from __future__ import annotations

import dataclasses
from collections import Counter
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.transactions import OpenTransaction
from murmurate.agents.observe.families import EDGE_ONLY, names
from murmurate.agents.observe.metrics import MOST_NAMES, Metrics
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.measures.event_count import EventCount
from murmurate.config.plan import CentralPlan
from murmurate.randomizers.trees import Tree
from murmurate.topics.block import MAGIC
from murmurate.topics.domains import AnyValue, Categories
from murmurate.topics.events import Fields
from murmurate.topics.names import STAGES
from tests.agents.observe.driven import NOW, begin, fold, ran, tasks, whole
from tests.agents.world import FIRST, SECOND, TOPIC, crowd, deployment, stream

Found = dict[tuple[str, ...], float]


@pytest.fixture(scope="module")
def run() -> tuple[Metrics, list[Task], Any]:
    return whole()


def samples(registry: CollectorRegistry, name: str) -> Found:
    """Values of a name, by its labels in their order of names."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == name
    }


def text(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


def test_releases_are_counted_by_stream_and_decision(run: Any) -> None:
    metrics, _, runtime = run
    wanted = Counter((one["decision"], one["stream"]) for one in map(orjson.loads, runtime.releases()))
    assert samples(metrics.public, "murmurate_releases_total") == dict(wanted)


def test_the_newest_release_of_a_stream_is_shown_name_by_name(run: Any) -> None:
    metrics, _, runtime = run
    for name in ("screen", "mood"):
        newest = [one for one in map(orjson.loads, runtime.releases()) if one["stream"] == name][-1]
        for field, metric in (("estimate", "release_estimate"), ("stderr", "release_stderr")):
            found = samples(metrics.public, f"murmurate_{metric}")
            assert {key[0]: value for key, value in found.items() if key[1] == name} == newest[field]


def test_what_is_not_known_has_no_gauge_and_the_log_says_what_is_lacking(caplog: pytest.LogCaptureFixture) -> None:
    plan = deployment(stream("screen", "lpu"), min_batch=10_000)
    with caplog.at_level("WARNING", logger="murmurate.metrics"):
        metrics, _, runtime = whole(plan)
    newest = orjson.loads(runtime.releases()[-1])
    assert newest["decision"] == "unmeasured"
    assert not samples(metrics.public, "murmurate_release_estimate")
    assert not samples(metrics.public, "murmurate_release_stderr")
    assert set(samples(metrics.public, "murmurate_releases_total")) == {("unmeasured", "screen")}
    first = caplog.messages[0]
    assert first.startswith("screen: 3 rounds in a row had fewer than the 10 000 reports that a release needs. ")
    known = newest | {"estimate": {"mean": None, "present": 0.1}, "stderr": {"mean": None, "present": 0.02}}
    metrics.newest["screen"] = known, NOW
    assert samples(metrics.public, "murmurate_release_estimate") == {("present", "screen"): 0.1}
    assert samples(metrics.public, "murmurate_release_stderr") == {("present", "screen"): 0.02}


def test_what_the_newest_release_claims_of_the_mixing_is_a_gauge_and_nothing_claimed_is_none(run: Any) -> None:
    metrics, _, runtime = run
    newest = {one["stream"]: one for one in map(orjson.loads, runtime.releases()) if one["revision"] == 1}
    claims = {(name,): one["privacy"]["shuffled"] for name, one in newest.items() if one["privacy"]["shuffled"]}
    assert claims
    for key, metric in (("epsilon", "mixed_epsilon"), ("n", "mixed_reports")):
        wanted = {name: claim[key] for name, claim in claims.items()}
        assert samples(metrics.public, f"murmurate_{metric}") == wanted
    (name,), _ = claims.popitem()
    release, at = metrics.newest[name]
    metrics.newest[name] = release | {"privacy": release["privacy"] | {"shuffled": None}}, at
    assert (name,) not in samples(metrics.public, "murmurate_mixed_epsilon")
    metrics.newest[name] = release, at


def test_a_stream_of_many_names_shows_no_estimates() -> None:
    values = tuple(f"value-{i}" for i in range(MOST_NAMES))
    plan = deployment(stream("screen", domain=Categories(values)))
    metrics, _, _ = whole(plan)
    assert samples(metrics.public, "murmurate_releases_total")
    assert not samples(metrics.public, "murmurate_release_estimate")


def test_sub_batches_and_reports_add_up(run: Any) -> None:
    metrics, all_of_it, runtime = run
    seals = [orjson.loads(value) for value in runtime.logs.all("batches") if not value.startswith(MAGIC)]
    found = samples(metrics.public, "murmurate_batches_total")
    assert sum(found.values()) == len(seals)
    shuffles = Counter[str]()
    for task in all_of_it:
        if task.wiring.stage == "shuffle":
            shuffles.update(task.stage.counts)
    for result in ("sealed", "too_small", "deadline"):
        assert sum(n for (kind, _), n in found.items() if kind == result) == shuffles[result]
    reports = samples(metrics.public, "murmurate_reports_total")
    assert sum(n for (result, at, _), n in reports.items() if (result, at) == ("ok", "shuffle")) == sum(
        seal["received"] - seal["rejected"]["malformed"] for seal in seals
    )
    tallies = [orjson.loads(value) for value in runtime.logs.all("tallies")]
    assert sum(n for (result, at, _), n in reports.items() if (result, at) == ("ok", "aggregate")) == sum(
        tally["counted"] for tally in tallies
    )


def test_a_recovery_that_folds_the_logs_again_counts_nothing_again() -> None:
    plan = deployment()
    runtime = ran(plan, more=[Out(Log(TOPIC, 0), b"no JSON")])
    metrics, all_of_it, _ = whole(plan, runtime)
    before = [samples(metrics.edge, f"murmurate_{name}_total") for name in ("events", "refusals", "reports", "batches")]
    assert before[0]["malformed", ""] == 1
    for task in all_of_it:
        task.stage, task.marks = task.wiring.build(), dict.fromkeys(task.wiring.inputs, 0)
        fold(task, runtime, None)  # as a recovery does, with nobody told
        metrics.recovered(task, 0.1)
        metrics.flushed(task, 0.1, ())
    after = [samples(metrics.edge, f"murmurate_{name}_total") for name in ("events", "refusals", "reports", "batches")]
    assert after == before


def test_events_are_counted_by_what_became_of_them() -> None:
    plan = deployment()
    none, screen = (b'{"stream":"%b","user":"u","time":1,"value":5}' % name for name in (b"none", b"screen"))
    early = [Out(Log(TOPIC, 0), value) for value in (b"no JSON", none, screen)]
    metrics, _, _ = whole(plan, ran(plan, more=early))
    found = samples(metrics.edge, "murmurate_events_total")
    assert found["malformed", ""] == 1
    assert found["unknown", ""] == 1
    assert found["malformed", "screen"] == 1
    assert found["accepted", "screen"] > 1000
    assert 0 < found["second", "screen"] < found["accepted", "screen"]


def test_raw_side_facts_are_served_at_the_edge_alone(run: Any) -> None:
    metrics, _, _ = run
    public = text(metrics.public)
    assert not any(name in public for name in EDGE_ONLY)
    edge = {stage for stage, zone in STAGES.items() if zone == "edge"}
    assert {stage for (stage,) in samples(metrics.public, "murmurate_flush_seconds_count")} == set(STAGES) - edge
    assert {key[1] for key in samples(metrics.public, "murmurate_state_bytes")} == set(STAGES) - edge
    everything = {stage for (stage,) in samples(metrics.edge, "murmurate_flush_seconds_count")}
    assert everything == set(STAGES) - {"curate"}  # which has nothing to do without central streams


def test_what_is_looked_up_in_the_sources_is_served_at_the_edge_alone(run: Any) -> None:
    metrics, _, _ = run
    metrics.sources.limit_ms = 960_000
    metrics.sources.open = {Place(TOPIC, 0): OpenTransaction(Place(TOPIC, 0), 7, NOW - 5000)}
    for name in ("transaction_seconds", "transaction_limit_seconds"):
        assert samples(metrics.edge, f"murmurate_source_{name}")
        assert not samples(metrics.public, f"murmurate_source_{name}")
    assert not any(name in text(metrics.public) for name in EDGE_ONLY)
    metrics.sources.limit_ms, metrics.sources.open = None, {}


def test_what_the_curator_did_and_left_out_is_the_edges_alone_and_its_releases_are_everybodys() -> None:
    revenue = CentralPlan(
        "revenue", EventCount(AnyValue()), SECOND, 1_000_000, Tree(4, 3), 1, TOPIC, Fields(stream="/stream"), "1" * 16,
        events=1, window_ms=5 * SECOND,
    )  # fmt: skip
    plan = deployment(central=(revenue,))
    screens = crowd(plan)
    sales = [dataclasses.replace(event, stream="revenue") for event in screens if event.stream == "screen"]
    metrics, all_of_it, runtime = whole(plan, ran(plan, sorted([*screens, *sales], key=lambda event: event.arrives)))
    released = [one for one in map(orjson.loads, runtime.releases()) if one["stream"] == "revenue"]
    assert released
    curated = samples(metrics.edge, "murmurate_curated_total")
    assert curated == {("leaves", "revenue"): len(released), ("periods", "revenue"): len(released)}
    public = text(metrics.public)
    assert "curat" not in public
    assert "sums" not in public
    assert samples(metrics.edge, "murmurate_events_total")["over", "revenue"] > 0
    newest = samples(metrics.public, "murmurate_release_estimate")["count", "revenue"]
    assert newest == released[-1]["estimate"]["count"]
    assert ("revenue",) in samples(metrics.public, "murmurate_release_age_seconds")
    assert ("revenue",) not in samples(metrics.public, "murmurate_rounds_open")
    metrics.ends = {task.wiring.place(log): runtime.logs.end(log) for task in all_of_it for log in task.wiring.inputs}
    lags = (samples(registry, "murmurate_lag_records") for registry in (metrics.public, metrics.edge))
    assert [("0", "shop.sums") in lag for lag in lags] == [False, True]


def test_more_refused_events_change_no_public_metric_by_a_byte() -> None:
    plan = deployment()
    events = crowd(plan)
    junk = [Out(Log(TOPIC, p), b"{}") for p in (0, 1, 0)]
    one, _, _ = whole(plan, ran(plan, events))
    other, _, _ = whole(plan, ran(plan, events, more=junk))
    assert text(one.public) == text(other.public)
    assert text(one.edge) != text(other.edge)


def test_lag_is_what_lies_behind_the_mark_and_raw_lag_is_the_edges(run: Any) -> None:
    metrics, all_of_it, runtime = run
    metrics.ends = {
        task.wiring.place(log): runtime.logs.end(log) + 7 for task in all_of_it for log in task.wiring.inputs
    }
    public, edge = (samples(registry, "murmurate_lag_records") for registry in (metrics.public, metrics.edge))
    assert public["0", "shop.reports"] == 7
    assert edge["0", "shop.raw"] == 7
    assert ("0", TOPIC) in edge
    beyond = {"shop.reports", "shop.rounds", "shop.closings", "shop.batches", "shop.tallies"}
    assert {topic for _, topic in public} == beyond
    assert metrics.ends[Place("shop.rounds", 0)] - 7 == runtime.logs.end(Log("rounds", 0))


def test_what_a_worker_no_longer_owns_it_no_longer_shows() -> None:
    metrics, all_of_it, _ = whole()
    for task in all_of_it:
        task.stands.to(Life.PARKED)
    for name in ("state_bytes", "release_estimate", "release_age_seconds", "lag_records", "rounds_open"):
        assert not samples(metrics.edge, f"murmurate_{name}"), name
    assert samples(metrics.edge, "murmurate_releases_total")


def test_the_age_of_a_release_grows_until_the_next_one() -> None:
    plan = deployment()
    runtime = ran(plan)
    clock = [now := NOW]
    metrics = Metrics(plan, ("analysis",), now_ms=lambda: clock[0])
    publish = next(task for task in tasks(plan, metrics) if task.wiring.stage == "publish")
    fold(publish, runtime, metrics)
    clock[0] = now + 90_000
    assert samples(metrics.public, "murmurate_release_age_seconds") == {("screen",): 90.0, ("mood",): 90.0}
    begin(publish, metrics)  # taken over anew: it has no release yet, so its age counts from here
    fold(publish, runtime, None)
    assert samples(metrics.public, "murmurate_release_age_seconds") == {("screen",): 0.0, ("mood",): 0.0}


def test_the_delay_of_a_release_is_from_the_end_of_its_period_by_the_wall_clock() -> None:
    plan = deployment()
    runtime = ran(plan)
    metrics = Metrics(plan, ("analysis",), now_ms=lambda: (FIRST + 20) * SECOND)
    publish = next(task for task in tasks(plan, metrics) if task.wiring.stage == "publish")
    fold(publish, runtime, metrics)
    released = [one for one in map(orjson.loads, runtime.releases()) if one["stream"] == "screen"]
    waited = sum(FIRST + 20 - (one["t"] + 1) for one in released)
    assert samples(metrics.public, "murmurate_close_delay_seconds_sum")["screen",] == pytest.approx(waited)
    fed = Metrics(plan, ("analysis",), now_ms=lambda: NOW, fed=True)
    publish = next(task for task in tasks(plan, fed) if task.wiring.stage == "publish")
    fold(publish, runtime, fed)
    assert not samples(fed.public, "murmurate_close_delay_seconds_sum")


def test_one_round_of_each_stream_is_open(run: Any) -> None:
    metrics, _, _ = run
    assert samples(metrics.public, "murmurate_rounds_open") == {("screen",): 1.0, ("mood",): 1.0}


def test_what_a_ledger_holds_is_the_edges_and_of_several_partitions_the_largest_counts() -> None:
    metrics, all_of_it, _ = whole()
    held = {0: (7, 1_900_000), 1: (9, 2_000_000), 2: (8, 0)}
    for task in all_of_it:
        if task.wiring.stage == "perturb":
            users, most = held[task.wiring.partition]
            waiting = {"mood": users - 7}
            stage: Any = SimpleNamespace(users=users, most_spent_micro={"screen": most}, initial=waiting)
            task.stage = stage
    assert samples(metrics.edge, "murmurate_users") == {("0",): 7.0, ("1",): 9.0, ("2",): 8.0}
    assert samples(metrics.edge, "murmurate_epsilon_spent_max") == {("screen",): 2.0}
    assert samples(metrics.edge, "murmurate_users_initial") == {("mood",): 3.0}  # of all partitions together
    assert not samples(metrics.public, "murmurate_users")
    assert not samples(metrics.public, "murmurate_users_initial")


def test_every_sample_has_a_name_and_labels_of_the_interface(run: Any) -> None:
    metrics, _, _ = run
    known = names()
    for metric in metrics.edge.collect():
        for sample in metric.samples:
            assert set(sample.labels) == set(known[sample.name]), sample.name
            assert "user-" not in str(sample)
    info = samples(metrics.public, "murmurate_info")
    assert [key[1] for key in info] == ["shop"]
