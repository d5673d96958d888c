# SPDX-License-Identifier: Apache-2.0
"""A source partition that is added while a deployment runs: whoever dies around it, every byte is that of a deployment
that had it from the beginning, and an auditor finds the same periods.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import pytest

from murmurate.agents.audit.auditor import audit
from murmurate.agents.embedded.runtime import Runtime, Schedule
from murmurate.agents.embedded.task import Faults, Task
from murmurate.agents.stages.door import TICKS
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out
from murmurate.agents.stages.table import TABLE, Deployed
from murmurate.topics.codec import encode
from murmurate.topics.messages import Tick
from tests.agents.central import beside, ran, records_of, spending
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Crashes, Event, Shuffled, arrivals, by_stream
from tests.cases import in_turn

PERIODS = 7
END = (FIRST + PERIODS + 2) * SECOND
GROWN = (FIRST + 3) * SECOND + 250
PLAN = beside()
POINTS = ["before fold", "after fold", "in the transaction", "after the commit", "in a snapshot", "in a recovery"]

pytestmark = pytest.mark.usefixtures("frequent_snapshots")


def events() -> list[Event]:
    """From some moment on, every third user's go to the partition that is there then."""
    moved = (
        replace(event, partition=2) if event.arrives >= GROWN and int(event.user[5:]) % 3 == 0 else event
        for event in spending(PLAN, users=12, periods=PERIODS)
    )
    return list(moved)


RECORDS = arrivals(events(), until=END, sources=3)


@cache
def whole() -> dict[str, list[bytes]]:
    """What is released where there were three from the beginning."""
    return by_stream(ran(PLAN, RECORDS, step=100, sources=3))


def grown(*, schedule: Schedule | None = None, faults: Faults | None = None, step: int = 100) -> Runtime:
    """With two partitions, and a third that is announced before anything else is said."""
    runtime = Runtime(PLAN, KEYS, sources={TOPIC: 2}, schedule=schedule, faults=faults, keep=True)
    runtime.start({each.name: FIRST * SECOND // each.every_ms for each in PLAN.everything})
    first = next(i for i, out in enumerate(RECORDS) if out.log == Log(TOPIC, 2))
    at = next(i for i in range(first, 0, -1) if RECORDS[i].log == Log(TICKS, 0))
    _taken(runtime, [out for out in RECORDS[:at] if out.log != Log(TICKS, 2)], step)
    row, source = TABLE["door"], Log(TOPIC, 2)
    revisions = {stream.name: (stream.config, stream.revision) for stream in PLAN.everything}
    build = partial(row.make, Deployed(PLAN, KEYS, {TOPIC: 2}), source)
    inputs = row.inputs(source, ticks=True)
    runtime.tasks.append(Task(f"door {TOPIC} 2", build, inputs, runtime.logs, revisions, faults))
    there = Tick(topic=TOPIC, partition=2, time=0, end=0)
    _taken(runtime, [Out(Log(TICKS, 2), encode(there))], step)
    _taken(runtime, RECORDS[at:], step)
    return runtime


def _taken(runtime: Runtime, records: Sequence[Out], step: int) -> None:
    for at in range(0, len(records), step):
        runtime.write(records[at : at + step])
        runtime.run()


def audited(runtime: Runtime) -> None:
    """With the partitions that there were at first."""

    def read(topic: str, partition: int) -> Sequence[bytes]:
        return records_of(runtime, topic, partition)

    found = audit(PLAN, KEYS.edge.devices, read, {TOPIC: 2})
    assert found.holds, found.where
    assert min(found.reports, found.sums, found.leaves) > 0


def test_an_added_partition_changes_no_byte_of_what_is_released() -> None:
    runtime = grown()
    assert by_stream(runtime) == whole()
    audited(runtime)
    for task in runtime.of_stage["perturb"]:  # whoever comes next begins with two, and has three
        before = b"".join(task.stage.snapshot()), task.stage.small()
        task.recover()
        assert (b"".join(task.stage.snapshot()), task.stage.small()) == before
        assert isinstance(task.stage, Perturb)
        for stream in task.stage._streams.values():
            assert (stream.closing.sources, sorted(stream.closing.times)) == (2, [0, 1, 2])


@pytest.mark.parametrize(("point", "seed"), in_turn([(point, seed) for seed in (1, 2, 3) for point in POINTS], 1, of=6))
def test_a_crash_at_any_point_around_it_changes_no_byte(point: str, seed: int) -> None:
    rng = random.Random(f"added {point} {seed}")
    kinds = ("door", "perturb", "curate", "publish")
    moments = {(point, kind): rng.sample(range(1, 60), 5) for kind in kinds}
    if point in ("in a recovery", "in a snapshot"):  # first something has to fail, or to be large
        moments |= {("after fold", kind): rng.sample(range(20, 90), 5) for kind in kinds}
        moments[point, "perturb"] = [1, 2, 3]
    crashes = Crashes(moments)
    runtime = grown(faults=crashes, schedule=Shuffled(rng), step=60)
    assert crashes.died >= 3
    assert by_stream(runtime) == whole()
    audited(runtime)
