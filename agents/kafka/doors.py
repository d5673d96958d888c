"""The doors of a worker: a Task for each source partition that is ours, and the wall clock that gives them ticks.

Contract: a tick takes the clock first and the end of its source partition after it, so that everything that had come
by that time lies below the end.  A door gets no second tick before the first has passed: what lies between waits in
Kafka, not here.  With the feed's clock the ticks are records that the door reads itself.  A tick never waits for more
than its source partition holds: one with an end above that is forged, or records were lost, and it is cut.  Partitions
may be added to a source at any time: each gets a door that begins with its first record (added.py).
Source: ARCHITECTURE rule 15.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from murmurate.agents.kafka.added import AddedSources
from murmurate.agents.kafka.client import Admin, Client, Place, Reader
from murmurate.agents.kafka.owner import StageOwner
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.tick_watch import TickWatch
from murmurate.agents.kafka.topology import Topology
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.stage import Log
from murmurate.topics.codec import encode
from murmurate.topics.messages import Tick

TICK_S = 0.25


class Doors:
    """The doors of this worker. `now_ms`: the wall clock; None while it may decide nothing."""

    def __init__(
        self, client: Client, topology: Topology, sources: Mapping[str, int], *, group: str, instance: str,
        make: Callable[[str, int], Task], now_ms: Callable[[], int | None], fed: bool, skew_ms: int,
    ) -> None:  # fmt: skip
        self._client, self._now_ms, self._fed = client, now_ms, fed
        self._added = AddedSources(client, topology, sources)
        self._places: dict[int, Place] = {}
        self._ours: frozenset[Place] = frozenset()
        self._sharing = asyncio.Lock()
        self.owner = StageOwner(lambda number: make(*self._places[number]))
        self._member = client.member(group, sorted(sources), instance, self)
        self.ticks = TickWatch(skew_ms)

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
        async with self._client.reader(aborted=True) as reader, self._client.admin() as admin:
            while True:
                now = None if self._fed else self._now_ms()  # before anybody looks for partitions and records
                await self._look(admin)
                await self._tick(reader, now)
                await asyncio.sleep(TICK_S)

    @property
    def _doors(self) -> dict[Place, Task]:
        """Those that fold."""
        return {self._places[number]: task for number, task in self.owner.live.items() if number in self._places}

    async def _look(self, admin: Admin) -> None:
        """1. Which partitions there are. 2. Take those of ours that have got a place. 3. Announce new doors: the first
        thing that one says is that it is there.
        """
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

    async def _tick(self, reader: Reader, now: int | None) -> None:
        doors = {place: (task, task.stage) for place, task in self._doors.items() if isinstance(task.stage, Door)}
        waited = {place: door.waits_for for place, (_, door) in doors.items()}  # before the ends are looked up
        self.ticks.note(waited)
        if now is None and not any(waited.values()):
            return
        bounds = await reader.bounds(list(doors))
        for place, (task, door) in doors.items():
            log, end, waiting = Log(*place), bounds[place][1], door.waits_for
            if waiting is None:
                if now is None or self._added.waiting:
                    continue
                self.ticks.compare(place, door.clock, now)
                tick = Tick(topic=place.topic, partition=place.partition, time=now, end=end)
            elif waiting.end > end and waiting == waited[place]:
                tick = self.ticks.cut(place, waiting, end)
            elif task.read(log) >= waiting.end:  # what is left below its end are no records: it ends where they do
                tick = waiting.model_copy(update={"end": min(waiting.end, task.came(log))})
            else:
                continue
            task.inject(Log(TICKS, place.partition), encode(tick))

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
            await self.owner.revoked()
