"""The doors of a worker: a Task for each source partition that is ours, and the wall clock that gives them ticks.

Contract: a tick takes the clock first and the end of its source partition after it, so that everything that had come
by that time lies below the end.  A door gets no second tick before the first has passed: what lies between waits in
Kafka, not here.  With the feed's clock the ticks are records that the door reads itself.  A tick never waits for more
than its source partition holds: one with an end above that is forged, or records were lost, and it is cut.
Source: ARCHITECTURE rule 15.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.life import Life
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
        self._client, self._now_ms, self._fed, self._sources = client, now_ms, fed, dict(sources)
        self._places = {each.partition: each.place(each.inputs[0]) for each in topology.wirings("door")}
        self._numbers = {place: number for number, place in self._places.items()}
        self.owner = StageOwner(lambda number: make(*self._places[number]))
        self._member = client.member(group, sorted(sources), instance, self)
        self.ticks = TickWatch(skew_ms)

    @property
    def places(self) -> Sequence[Place]:
        """Every source partition, whoever has it."""
        return sorted(self._numbers)

    async def start(self) -> None:
        """Join the group of the doors."""
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
        async with self._client.reader(aborted=True) as reader:
            while True:
                await self._tick(reader)
                await asyncio.sleep(TICK_S)

    async def _tick(self, reader: Reader) -> None:
        doors = {
            self._places[number]: (task, task.stage) for number, task in self.owner.tasks.items()
            if task.life is Life.LIVE and isinstance(task.stage, Door)
        }  # fmt: skip
        waited = {place: door.waits_for for place, (_, door) in doors.items()}  # before the ends are looked up
        self.ticks.note(waited)
        now = None if self._fed else self._now_ms()
        if now is None and not any(waited.values()):
            return
        bounds = await reader.bounds(list(doors))
        for place, (task, door) in doors.items():
            log, end, waiting = Log(*place), bounds[place][1], door.waits_for
            if waiting is None:
                if now is None:
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
        new = sorted(places - self._numbers.keys())
        if new:
            names = ", ".join(f"{place.topic} {place.partition}" for place in new)
            known = ", ".join(f"{name} {n}" for name, n in sorted(self._sources.items()))
            self.owner.fail(TopicsError(
                f"door: found source partitions {names}; allowed: as many as there were when the deployment began "
                f"({known}): they are for life, like raw partitions (docs/OPERATING.md)"
            ))  # fmt: skip
            return
        await self.owner.assigned(frozenset(self._numbers[place] for place in places))

    async def revoked(self) -> None:
        """All of them are given up for now."""
        await self.owner.revoked()
