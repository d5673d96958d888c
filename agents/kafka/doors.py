# SPDX-License-Identifier: Apache-2.0
"""The doors of a worker: a Task for each source partition that is ours, and the wall clock that gives them ticks.

Contract: a tick takes the clock first and the end of its source partition after it, so that everything that had come
by that time lies below the end.  A door gets no second tick before the first has passed: what lies between waits in
Kafka, not here.  Doors of which nothing has come since their last transaction get none: one record in each raw
partition says the time for all of them (`Quiet`), in no transaction, since it is true whoever says it.  With the feed's
clock the ticks are records that the door reads itself.  A tick never waits for more
than its source partition holds: one with an end above that is forged, or records were lost, and it is cut.  Partitions
may be added to a source at any time: each gets a door that begins with its first record (added.py).
Source: ARCHITECTURE rule 15.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence, Set

from murmurate.agents.kafka.added import AddedSources
from murmurate.agents.kafka.client import Admin, Client, Place, Write
from murmurate.agents.kafka.life import Life, Observer
from murmurate.agents.kafka.owner import StageOwner
from murmurate.agents.kafka.source_reader import SourceReader
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.tick_times import EVENTS_MS, KEPT_MS, TickTimes
from murmurate.agents.kafka.tick_watch import TickWatch
from murmurate.agents.kafka.topology import Topology
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.stage import Log
from murmurate.config.plan import Plan
from murmurate.topics.codec import encode
from murmurate.topics.messages import Tick
from murmurate.topics.names import topic
from murmurate.topics.quiet import Quiet

LOOK_S = 0.25
"""How often it is looked which doors need a tick: that asks no broker."""
WAITS_S = 0.25
"""How often it is looked whether ticks that wait can pass."""
AGAIN_S = 0.01
"""How soon it is looked again where a period can close and a door has only just been given a tick."""
PARTITIONS_S = 2.0
"""How often it is looked which partitions there are, besides before each tick."""
KEPT_AT_ONCE = 4
"""How many doors write down at once that they stand still."""


class Doors:
    """The doors of this worker. `now_ms`: the wall clock; None while it may decide nothing."""

    def __init__(
        self, plan: Plan, client: Client, topology: Topology, sources: Mapping[str, int], *, instance: str,
        observer: Observer, now_ms: Callable[[], int | None], fed: bool,
    ) -> None:  # fmt: skip
        self._client, self._now_ms, self._fed = client, now_ms, fed
        self._added = AddedSources(client, topology, sources)
        self._places: dict[int, Place] = {}
        self._ours: frozenset[Place] = frozenset()
        self._sharing = asyncio.Lock()
        self._given: dict[Place, Tick] = {}  # the ticks up to whose ends the source has not been read
        reading = SourceReader(client, self._reached)

        def make(number: int) -> Task:
            return Task(self._added.wiring(self._places[number]), client, observer, sources=reading)

        self.owner = StageOwner(make)
        self._member = client.member(f"{plan.name}-door", sorted(sources), instance, self)
        self.ticks = TickWatch(plan.skew_ms)
        self._times, self._kept, self._looked = TickTimes(plan), dict[Place, float](), 0.0
        self._raw = [Place(topic(plan.name, "raw"), p) for p in range(plan.partitions)]

    @property
    def places(self) -> Sequence[Place]:
        """Every source partition, whoever has it."""
        return sorted(self._added.places)

    async def start(self) -> None:
        """Look at the sources, then join the group of the doors."""
        async with self._client.admin() as admin:
            await self._added.look(admin)
        await self._member.open()

    async def stop(self) -> None:
        """Flush, and leave the group."""
        await self.owner.stop()
        await self._member.close()

    async def watch(self) -> None:
        """Never returns; raises what ended our membership of the group."""
        await self._member.watch()

    async def run(self) -> None:
        """Give ticks, under the wall clock, and look after those that wait, until cancelled. The end of a partition is
        its high watermark: where a transaction is open, what was written behind it has come too, though nobody may read
        it yet; the tick then waits until the transaction is over.
        """
        async with (
            self._client.reader(aborted=True) as reader,
            self._client.admin() as admin,
            self._client.sender(patient=False) as sender,
        ):
            while True:
                now = None if self._fed else self._now_ms()  # before partitions and records are looked at
                doors = {p: (task, task.stage) for p, task in self._doors.items() if isinstance(task.stage, Door)}
                waits = {place: door.waits_for for place, (_, door) in doors.items()}
                self.ticks.note(waits)
                due = set() if now is None else self._due(doors, now)
                if now is not None:
                    self._keep_some(doors)
                wanted = [place for place, tick in waits.items() if tick is not None or place in due]
                looking = self._look(admin, doors, now) if due or self._looked_long_ago else _nothing()
                ends, _ = await asyncio.gather(reader.ends(wanted), looking)  # both of them after the clock
                if wanted:
                    await sender.send(self._tick(ends, doors, waits, due, now))
                await asyncio.sleep(self._pause_s(waits, due, now))

    def _pause_s(self, waits: Mapping[Place, Tick | None], due: Set[Place], before: int | None) -> float:
        """Until doors may need a tick: at the next instant at which periods close, or sooner if events come; at once
        where a door needs one by now that still waits for one which it was given a moment ago.
        """
        now = None if self._fed else self._now_ms()
        if now is None or before is None:
            return WAITS_S
        if any((tick := waits[place]) is not None and before - tick.time < EVENTS_MS for place in due):
            return AGAIN_S
        return self._times.wait_s({place.topic for place in waits}, now, LOOK_S)

    @property
    def _looked_long_ago(self) -> bool:
        return time.monotonic() - self._looked > PARTITIONS_S

    def _due(self, doors: Mapping[Place, tuple[Task, Door]], now: int) -> set[Place]:
        """Those that need a tick now."""
        return {
            place for place, (_, door) in doors.items()
            if self._times.due(place.topic, door.clock, now, holds=door.holds)
        }  # fmt: skip

    def _keep_some(self, doors: Mapping[Place, tuple[Task, Door]]) -> None:
        """Some of those that have not written down for long that they stand still do so: each of them its own state,
        and nothing else.
        """
        now = time.monotonic()
        self._kept = {place: self._kept.get(place, now) for place in doors}
        old = sorted((since, place) for place, since in self._kept.items() if (now - since) * 1000 > KEPT_MS)
        for _, place in old[:KEPT_AT_ONCE]:
            self._kept[place] = now
            doors[place][0].keep()

    def _compare(self, doors: Mapping[Place, tuple[Task, Door]], now: int | None) -> None:
        if now is not None:
            for place, (_, door) in doors.items():
                self.ticks.compare(place, door.clock, now)

    @property
    def _doors(self) -> dict[Place, Task]:
        """Those that fold."""
        return {self._places[number]: task for number, task in self.owner.live.items() if number in self._places}

    async def _look(self, admin: Admin, doors: Mapping[Place, tuple[Task, Door]], now: int | None) -> None:
        """1. Which partitions there are. 2. Take those of ours that have got a place. 3. Announce new doors: the first
        thing that one says is that it is there.
        """
        self._looked = time.monotonic()
        self._compare(doors, now)
        await self._added.look(admin)
        if self._added.fresh:
            self._member.look_again()
        async with self._sharing:
            if any(self._added.has_place(place) for place in self._ours - set(self._places.values())):
                await self._take()
        for place, task in self._doors.items():
            door = task.stage if place in self._added.waiting else None
            if isinstance(door, Door) and door.clock is None and door.waits_for is None:
                there = Tick(topic=place.topic, partition=place.partition, time=0, end=0)
                task.inject(Log(TICKS, place.partition), encode(there))

    def _tick(
        self, ends: Mapping[Place, int], doors: Mapping[Place, tuple[Task, Door]],
        waited: Mapping[Place, Tick | None], due: Set[Place], now: int | None,
    ) -> list[Write]:  # fmt: skip
        """1. A tick for each door that is due. 2. For those of which nothing has come and nothing is on its way, not
        even their own word, one record says it for all of them: that is what is to be written. `ends`: where the
        sources of doors that are due or wait end; `waited`: the ticks that waited before these were looked up.
        """
        quiet = dict[str, list[int]]()
        for place, end in ends.items():
            task, door = doors[place]
            waiting = door.waits_for
            if waiting is None:
                if now is None or place not in due or self._added.waiting:
                    continue
                if door.clock is not None and _is_quiet(task, door, end):
                    door.stood_still(now)
                    quiet.setdefault(place.topic, []).append(place.partition)
                    continue
                self._kept[place] = time.monotonic()
                tick = Tick(topic=place.topic, partition=place.partition, time=now, end=end)
                if (short := _shortened(task, tick)) is None:
                    self._given[place] = tick
            elif waiting.end > end and waiting == waited[place]:
                tick = short = self.ticks.cut(place, waiting, end)
            elif (short := _shortened(task, waiting)) is not None:
                tick = waiting
            else:
                continue
            task.inject(Log(TICKS, place.partition), encode(short or tick))
        said = (
            []
            if now is None
            else [Quiet(topic=name, partitions=tuple(sorted(found)), time=now) for name, found in quiet.items()]
        )
        return [Write(raw, encode(one)) for one in said for raw in self._raw]

    def _reached(self, place: Place) -> None:
        """A source has been read further: a tick passes as soon as nothing is left below its end but ends of other
        producers' transactions, which no door is given.
        """
        tick, task = self._given.get(place), self._doors.get(place) if place in self._given else None
        if tick is None or task is None or (short := _shortened(task, tick)) is None:
            return
        del self._given[place]
        if short.end < tick.end:
            task.inject(Log(TICKS, place.partition), encode(short))

    async def assigned(self, places: frozenset[Place]) -> None:
        """These source partitions are ours now, and no others."""
        with self.owner.failing():
            async with self._sharing:
                self._ours = places
                await self._take()

    async def _take(self) -> None:
        """Open the doors that have a place for their state, and go on with the others."""
        self._places = {
            self._added.wiring(place).partition: place for place in self._ours if self._added.has_place(place)
        }
        await self.owner.assigned(frozenset(self._places))

    async def revoked(self) -> None:
        """All of them are given up for now."""
        async with self._sharing:
            self._ours = frozenset()
            self._given.clear()
            await self.owner.revoked()


async def _nothing() -> None:
    """Look at nothing this time."""


def _shortened(task: Task, tick: Tick) -> Tick | None:
    """The tick with the end of the last record below its own, once the source has been read up to there: what is left
    below its end is no record. None before that.
    """
    source = task.wiring.inputs[0]
    if task.read(source) < tick.end:
        return None
    return tick.model_copy(update={"end": min(tick.end, task.came(source))})


def _is_quiet(task: Task, door: Door, end: int) -> bool:
    """Whether everything that came below this offset is in `raw`, and nothing of the door's is on its way there: then
    it is true whoever says so, even if the partition is another's by now.
    """
    source = task.wiring.inputs[0]
    return task.life is Life.LIVE and not door.holds and task.through(source, end)
