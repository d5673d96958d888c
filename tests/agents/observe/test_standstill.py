# SPDX-License-Identifier: Apache-2.0
"""A deployment that stands still says so: brokers away make a worker not ready, all else is said beside."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.stream_status import StreamStatus, _control, _stands_still
from murmurate.agents.kafka.topic_watch import TopicWatch
from murmurate.agents.kafka.worker import Worker
from murmurate.agents.observe.health import readiness
from murmurate.agents.observe.metrics import Metrics
from murmurate.agents.observe.standstill import AWAY_S, Standstill, StandstillGauges
from murmurate.agents.stages.publish import Publish
from murmurate.config.overdue import allowed_ms
from murmurate.topics.messages import GiveUp
from tests.agents.observe.driven import Clock, whole
from tests.agents.world import FIRST, SECOND


class Watch:
    deployment, silent_s = "shop", 0.0


def standstill(metrics: Metrics) -> tuple[Standstill, Watch, Worker]:
    places = {"shuffle": [Place("shop.reports", p) for p in range(3)]}
    worker: Any = SimpleNamespace(zones=("mixing", "analysis"), owners={}, ready=True, places=places)
    worker.clock = SimpleNamespace(wrong=None)
    watch = Watch()
    return Standstill(cast(Worker, worker), metrics, cast(TopicWatch, watch)), watch, cast(Worker, worker)


def test_brokers_that_say_nothing_make_a_worker_not_ready() -> None:
    metrics, _, _ = whole()
    still, watch, worker = standstill(metrics)
    assert readiness(worker, still).ready
    watch.silent_s = AWAY_S + 1
    found = readiness(worker, still)
    assert not found.ready
    assert found.said["waiting"] == ["brokers: none has answered for 11 s"]


def test_a_release_that_is_overdue_and_a_round_that_is_given_up_again_and_again_are_said_beside() -> None:
    metrics, tasks, _ = whole()
    still, _, worker = standstill(metrics)
    assert "stands_still" not in readiness(worker, still).said
    clock = cast(Clock, metrics.now_ms)
    stream = metrics.plan.streams[0].name
    clock.now += allowed_ms(metrics.plan, stream)
    assert still.lines() == []
    clock.now += 1
    assert [line.split(" for ")[0] for line in still.lines()] == [f"{stream}: found no release"]
    assert readiness(worker, still).ready
    metrics.fed = True
    assert still.lines() == []
    publish = next(task.stage for task in tasks if isinstance(task.stage, Publish))
    period = publish._periods[stream]
    if period.open is None:
        pytest.fail("the run ends with no open round")
    period.given_up = 3
    assert still.lines() == [f"{stream}: its open round was given up 3 times: nobody seals it (murmurate status)"]


def test_a_partition_that_nobody_has_is_named_and_counted_while_the_group_is_stable() -> None:
    metrics, _, _ = whole()
    still, _, _ = standstill(metrics)

    class Group:
        state = "Stable"

        async def owners(self, group: str) -> tuple[str, dict[str, frozenset[Place]]]:
            assert group == "shop-shuffle"
            return self.state, {"one": frozenset({Place("shop.reports", 1)})}

    group = Group()
    metrics.add(StandstillGauges(still, edge=False), edge=False)
    asyncio.run(still._look(cast(Any, group)))
    assert still.lines() == ["shuffle: nobody has 2 of its source partitions (0, 2)"]
    found = {(s.name, *s.labels.values()): s.value for family in metrics.public.collect() for s in family.samples}
    assert found["murmurate_partitions_unowned", "shuffle"] == 2
    assert found["murmurate_brokers_silent_seconds",] == 0
    group.state = "PreparingRebalance"
    asyncio.run(still._look(cast(Any, group)))
    assert still.lines() == []


def test_status_says_both_of_a_stream_by_what_is_written() -> None:
    metrics, tasks, _ = whole()
    plan, stream = metrics.plan, metrics.plan.streams[0].name
    publish = next(task.stage for task in tasks if isinstance(task.stage, Publish))
    outstanding = publish._periods[stream].open
    assert outstanding is not None
    found = StreamStatus(stream, first=FIRST, open=[outstanding.round], given_up=Counter())
    late = FIRST * SECOND + allowed_ms(plan, stream)
    assert list(_stands_still(plan, found, late, fed=False)) == []
    assert len(list(_stands_still(plan, found, late + 1, fed=False))) == 1
    assert list(_stands_still(plan, found, late + 1, fed=True)) == []
    for _ in range(3):
        _control({stream: found}, GiveUp(round=outstanding.round.digest.hex()))
    _control({stream: found}, GiveUp(round="0" * 64))
    (line,) = _stands_still(plan, found, late, fed=False)
    assert line.startswith(f"{stream}: an open round was given up 3 times; allowed: ")
