# SPDX-License-Identifier: Apache-2.0
"""Tasks of a Kafka worker without a broker: their stages fold the logs of an embedded run, and tell the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.kafka.client import Client
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.topology import Topology, ZoneKeys
from murmurate.agents.observe.metrics import Metrics
from murmurate.agents.stages.door import TICKS
from murmurate.agents.stages.stage import Log, Out, Record
from murmurate.agents.stages.table import TABLE
from murmurate.config.plan import Plan
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Event, arrivals, crowd, deployment, played

NOW = (FIRST + 20) * SECOND
SOURCES = 2


class Clock:
    """The wall clock, in the hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


def ran(plan: Plan, events: Sequence[Event] | None = None, more: Sequence[Out] = ()) -> Runtime:
    """An embedded run with every record kept."""
    came = crowd(plan) if events is None else events
    return played(plan, [*more, *arrivals(came, until=(FIRST + 14) * SECOND)])


def tasks(plan: Plan, metrics: Metrics) -> list[Task]:
    """Every Task of a worker of all zones, live."""
    topology = Topology(plan, ZoneKeys(KEYS.edge, KEYS.shuffle), {TOPIC: SOURCES}, fed=False)
    doors, *others = (topology.wirings(stage) for stage in TABLE)
    wirings = [replace(door, inputs=(*door.inputs, Log(TICKS, door.partition))) for door in doors]
    wirings += [wiring for each in others for wiring in each]
    made = [Task(wiring, Client(Access(("localhost:1",))), metrics) for wiring in wirings]
    for task in made:
        begin(task, metrics)
    return made


def begin(task: Task, metrics: Metrics) -> None:
    """A new instance of its stage, live."""
    task.stage = task.wiring.build()
    task.stands.load(Life.LIVE.value)
    task.marks = dict.fromkeys(task.wiring.inputs, 0)
    metrics.recovered(task, 0.5)


def fold(task: Task, runtime: Runtime, metrics: Metrics | None) -> None:
    """All there is in its logs; a transaction after every record. metrics: who is told, None in a recovery."""
    stage = task.stage
    assert stage
    moved = True
    while moved:
        moved = False
        for log in reversed(task.wiring.inputs):
            while task.marks[log] < runtime.logs.end(log) and stage.ready(log):
                kept = runtime.logs.read(log, task.marks[log])
                stage.fold(Record(log, task.marks[log], kept.value))
                task.marks[log] += 1
                moved = True
                out = stage.drain().records
                if metrics is not None and out:
                    metrics.flushed(task, 0.004, out)


def whole(plan: Plan | None = None, runtime: Runtime | None = None) -> tuple[Metrics, list[Task], Runtime]:
    """Metrics of a worker that did a whole run."""
    plan = plan or deployment()
    runtime = runtime or ran(plan)
    metrics = Metrics(plan, ("edge", "mixing", "analysis"), now_ms=Clock())
    all_of_it = tasks(plan, metrics)
    for task in all_of_it:
        fold(task, runtime, metrics)
    return metrics, all_of_it, runtime
