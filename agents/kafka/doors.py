"""The doors of a worker: a Task for each source partition that is ours, and the wall clock that gives them ticks.

Contract: a tick takes the clock first and the end of its source partition after it, so that everything that had come
by that time lies below the end.  A door gets no second tick before the first has passed: what lies between waits in
Kafka, not here.  With the feed's clock the ticks are records that the door reads itself.  A tick never waits for more
than its source partition holds: one with an end above that is forged, or records were lost, and it is cut.
Source: ARCHITECTURE rule 15.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.owner import StageOwner
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.topology import Topology
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.stage import Log
from murmurate.topics.codec import encode
from murmurate.topics.messages import Tick

TICK_S = 0.25
WAITS_S = 60.0
"""A tick that has waited for so long is logged once."""
log = logging.getLogger("murmurate.door")


class Doors:
    """The doors of this worker. `now_ms`: the wall clock; None while it may decide nothing."""

    def __init__(
        self, client: Client, topology: Topology, sources: Mapping[str, int], *, group: str, instance: str,
        make: Callable[[str, int], Task], now_ms: Callable[[], int | None], fed: bool, skew_ms: int,
    ) -> None:  # fmt: skip
        self._client, self._now_ms, self._fed, self._sources = client, now_ms, fed, dict(sources)
        self._skew_ms = skew_ms
        self._places = {each.partition: each.place(each.inputs[0]) for each in topology.wirings("door")}
        self._numbers = {place: number for number, place in self._places.items()}
        self.owner = StageOwner(lambda number: make(*self._places[number]))
        self._member = client.member(group, sorted(sources), instance, self)
        self.bounded: Counter[Place] = Counter()
        """For each source partition, how many ticks were cut to what it holds."""
        self.ahead_ms: dict[Place, int] = {}
        """How far the clock of each door stands ahead of the wall clock."""
        self._waiting: dict[Place, tuple[Tick, float] | None] = {}  # the tick that waits, and since when
        self._said: set[object] = set()  # what was logged once

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
        self._note(waited)
        now = None if self._fed else self._now_ms()
        if now is None and not any(waited.values()):
            return
        bounds = await reader.bounds(list(doors))
        for place, (task, door) in doors.items():
            log, end, waiting = Log(*place), bounds[place][1], door.waits_for
            if waiting is None:
                if now is None:
                    continue
                self._compare(place, door.clock, now)
                tick = Tick(topic=place.topic, partition=place.partition, time=now, end=end)
            elif waiting.end > end and waiting == waited[place]:
                tick = self._cut(place, waiting, end)
            elif task.read(log) >= waiting.end:  # what is left below its end are no records: it ends where they do
                tick = waiting.model_copy(update={"end": min(waiting.end, task.came(log))})
            else:
                continue
            task.inject(Log(TICKS, place.partition), encode(tick))

    # ---- what goes wrong with ticks ----

    @property
    def waits_s(self) -> Mapping[Place, float]:
        """For how long the first tick of each door that has not passed has waited; 0 where none does."""
        now = time.monotonic()
        return {place: 0.0 if since is None else now - since[1] for place, since in self._waiting.items()}

    def _note(self, waited: Mapping[Place, Tick | None]) -> None:
        """Since when each of these ticks waits; a line in the log for one that waits for long."""
        before, now = self._waiting, time.monotonic()
        self._waiting = {}
        for place, tick in waited.items():
            known = before.get(place)
            same = known is not None and known[0] == tick
            self._waiting[place] = None if tick is None else known if same else (tick, now)
            since = self._waiting[place]
            if (
                tick is not None
                and since is not None
                and now - since[1] > WAITS_S
                and (place, tick.time) not in self._said
            ):
                self._said.add((place, tick.time))
                log.warning(
                    "door %s/%d: its clock stands still: a tick has waited for %.0f s for the records below offset %d "
                    "(see `murmurate status`)", place.topic, place.partition, now - since[1], tick.end,
                )  # fmt: skip

    def _cut(self, place: Place, tick: Tick, end: int) -> Tick:
        """The tick as it can pass: nothing stands at its end, and nothing may ever."""
        if (place, tick.end) not in self._said:
            self._said.add((place, tick.end))
            self.bounded[place] += 1
            log.warning(
                "door %s/%d: found a tick that waits for the records below offset %d; allowed: at most %d, where the "
                "partition ends. It is taken for that; it was forged, or records were lost",
                place.topic, place.partition, tick.end, end,
            )  # fmt: skip
        return tick.model_copy(update={"end": end})

    def _compare(self, place: Place, clock: int | None, now: int) -> None:
        """A line in the log where the door has passed on a time that has not come yet."""
        ahead = 0 if clock is None else clock - now
        self.ahead_ms[place] = max(0, ahead)
        if ahead > 2 * self._skew_ms and place not in self._said:  # each of two workers may be off by as much
            self._said.add(place)
            log.error(
                "door %s/%d: its clock stands %.1f s ahead: a worker wrote that whose own was wrong, and what comes "
                "until then is refused as late (see `murmurate repair clock`)",
                place.topic, place.partition, ahead / 1000,
            )  # fmt: skip

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
