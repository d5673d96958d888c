# SPDX-License-Identifier: Apache-2.0
"""What a worker keeps of partitions that have gone to another one: nothing."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from typing import Any, cast

import pytest

from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.owner import StageOwner
from murmurate.agents.kafka.task import Task
from murmurate.agents.observe.metrics import Metrics
from tests.agents import world


class Cycle:
    """As a Task with its producer: a cycle, which only the collector finds."""

    life = Life.LIVE
    replayed = 0

    def __init__(self, partition: int) -> None:
        self.partition, self.me = partition, self

    async def open(self) -> None:
        pass

    async def run(self) -> None:
        pass

    async def close(self) -> None:
        self.life = Life.CLOSED


@pytest.fixture(autouse=True)
def rarely() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_partition_that_has_gone_leaves_nothing_behind() -> None:
    asyncio.run(_gone())


async def _gone() -> None:
    made: list[weakref.ref[Cycle]] = []

    def make(partition: int) -> Task:
        task = Cycle(partition)
        made.append(weakref.ref(task))
        return cast(Task, task)

    owner: Any = StageOwner(make)
    await owner.assigned(frozenset({0, 1}))
    await asyncio.gather(*owner._runs.values())
    await owner.revoked()
    await owner.assigned(frozenset({0}))
    assert [one() is None for one in made] == [False, True]


class Waiting(Cycle):
    """As a Task whose brokers are away while it opens."""

    def __init__(self, partition: int) -> None:
        super().__init__(partition)
        self.opens = asyncio.Event()

    async def open(self) -> None:
        self.opens.set()
        await asyncio.Event().wait()


def test_a_stop_waits_for_nothing_that_is_being_opened() -> None:
    asyncio.run(asyncio.wait_for(_stopped(), 20))


async def _stopped() -> None:
    made: list[Waiting] = []

    def make(partition: int) -> Task:
        made.append(Waiting(partition))
        return cast(Task, made[-1])

    owner: Any = StageOwner(make)
    assigning = asyncio.create_task(owner.assigned(frozenset({0, 1})))
    while not made:
        await asyncio.sleep(0)
    await made[1].opens.wait()
    await owner.stop()
    await assigning
    assert {one.life for one in made} == {Life.CLOSED}
    await owner.assigned(frozenset({0}))
    assert len(made) == 2
    assert not owner._failed.done()


def test_metrics_hold_no_task_that_nobody_runs() -> None:
    metrics = Metrics(world.deployment(world.stream("screen")), ("edge",), now_ms=lambda: 0)
    task: Any = Cycle(0)
    metrics._tasks["door 0"] = task
    found = weakref.ref(task)
    del task
    gc.collect()
    assert found() is None
    assert metrics.live(edge=True) == []
