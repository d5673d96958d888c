# SPDX-License-Identifier: Apache-2.0
"""Ticks of doors: they pass as soon as nothing is left below their ends, and a door that stands still costs no log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import orjson

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.client import Client, Place
from murmurate.agents.kafka.doors import AGAIN_S, Doors
from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.tick_times import KEPT_MS
from murmurate.agents.kafka.topology import Topology, zone_keys
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.stage import Log, Record
from murmurate.randomizers import Pepper
from murmurate.topics.codec import decode
from murmurate.topics.messages import Progress, Tick
from tests.agents.kafka.test_tick_times import PLAN, TOPIC

PLACE, NOW = Place(TOPIC, 0), 10**6


class DoorTask:
    """A door and its reader: `read` is how far its source was read, `came` the end of the last record."""

    def __init__(self) -> None:
        self.stage = Door(PLAN, Pepper(bytes(range(32)), deployment=PLAN.name), TOPIC, 0)
        self.life, self.wiring = Life.LIVE, SimpleNamespace(inputs=(Log(*PLACE),))
        self.position = self.last = self.kept = 0

    def come(self, position: int, last: int) -> None:
        """The source was read up to there, and its last record ends there."""
        event = {"stream": "one", "user": "u", "time": NOW - 10, "value": "a"}
        for offset in range(self.last, last):
            self.stage.fold(Record(Log(*PLACE), offset, orjson.dumps(event)))
        self.position, self.last = position, last

    def read(self, log: Log) -> int:
        return self.position

    def came(self, log: Log) -> int:
        return self.last

    def through(self, log: Log, end: int) -> bool:
        return self.position >= end

    def inject(self, log: Log, value: bytes) -> None:
        assert log == Log(TICKS, 0)
        self.stage.fold(Record(log, 0, value))

    def keep(self) -> None:
        self.kept += 1

    @property
    def passed(self) -> list[int]:
        """The times that it has passed on."""
        messages = [decode(out.value) for out in self.stage.drain().records if out.value[:1] == b"{"]
        return sorted({message.time for message in messages if isinstance(message, Progress)})


def given(test: Callable[[Doors, DoorTask], None]) -> None:
    """The doors of a worker, of which one is ours."""

    async def run() -> None:
        keys = zone_keys(known_secrets(PLAN.name), PLAN.name)
        client = cast(Client, SimpleNamespace(member=lambda *args: None))
        topology = Topology(PLAN, keys, {TOPIC: 1}, fed=False)
        doors = Doors(
            PLAN, client, topology, {TOPIC: 1}, instance="i", observer=cast(Any, None), now_ms=lambda: NOW, fed=False
        )
        task = DoorTask()
        doors._places, doors.owner.tasks = {0: PLACE}, {0: cast(Any, task)}
        test(doors, task)

    asyncio.run(run())


def tick(doors: Doors, task: DoorTask, end: int, now: int = NOW) -> list[Any]:
    """A tick for all, where the source ends there: what is written beside it."""
    ours: Mapping[Place, Any] = {PLACE: (task, task.stage)}
    waited = {PLACE: task.stage.waits_for}
    return doors._tick({PLACE: end}, ours, waited, {PLACE}, now)


def test_a_tick_passes_at_once_where_only_ends_of_transactions_are_left_below_it() -> None:
    def test(doors: Doors, task: DoorTask) -> None:
        task.come(position=4, last=3)  # three events, and the end of their transaction
        assert not tick(doors, task, end=4)
        assert task.passed == [NOW]

    given(test)


def test_a_tick_that_waits_passes_when_its_source_has_been_read_up_to_it() -> None:
    def test(doors: Doors, task: DoorTask) -> None:
        task.come(position=1, last=1)
        tick(doors, task, end=4)
        assert not task.passed
        task.come(position=3, last=3)
        doors._reached(PLACE)
        assert not task.passed  # at offset 3 there may be an event
        task.come(position=4, last=3)
        doors._reached(PLACE)
        assert task.passed == [NOW]
        doors._reached(PLACE)
        assert not task.passed
        assert task.stage.waits_for is None

    given(test)


def test_a_door_that_stands_still_says_so_in_its_own_state_and_gets_no_tick_for_that() -> None:
    def test(doors: Doors, task: DoorTask) -> None:
        tick(doors, task, end=0)
        assert task.passed == [NOW]
        ours: Mapping[Place, Any] = {PLACE: (task, task.stage)}
        doors._keep_some(ours)
        assert task.kept == 0
        doors._kept[PLACE] -= KEPT_MS
        doors._keep_some(ours)
        doors._keep_some(ours)
        assert task.kept == 1
        quiet = tick(doors, task, end=0, now=NOW + 5000)
        assert len(quiet) == PLAN.partitions
        assert not task.passed
        assert task.stage.clock == NOW + 5000

    given(test)


def test_a_door_that_needs_a_tick_while_another_one_passes_is_looked_at_again_at_once() -> None:
    def test(doors: Doors, task: DoorTask) -> None:
        young, old = (Tick(topic=TOPIC, partition=0, time=NOW - age, end=9) for age in (10, 10_000))
        assert doors._pause_s({PLACE: young}, {PLACE}, NOW) == AGAIN_S
        for waiting in (None, old):  # such a one may wait for long: its source has a transaction open
            assert doors._pause_s({PLACE: waiting}, {PLACE}, NOW) > AGAIN_S

    given(test)
