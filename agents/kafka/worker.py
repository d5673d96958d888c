# SPDX-License-Identifier: Apache-2.0
"""A worker: the stages of its zones on Kafka, until it is stopped or something fails.

Contract: a failure of one stage ends them all, and leaves as the error it was; a stop flushes, commits, and leaves
every group.  While its clock is not the brokers', the clock decides nothing (skew.py).  A worker holds the keys of its
zones only.  `compare` raises where they, or the file, are not what the deployment has agreed on.  Not here: signals,
exit codes, waiting for brokers (cli/worker.py), metrics (observe/).
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

from murmurate.agents.kafka.agreement_watch import AgreementWatch
from murmurate.agents.kafka.app import StageApp
from murmurate.agents.kafka.client import Client, Place
from murmurate.agents.kafka.doors import Doors
from murmurate.agents.kafka.errors import FencedError
from murmurate.agents.kafka.life import Observer
from murmurate.agents.kafka.log_readers import SharedLog
from murmurate.agents.kafka.memory import keep_small
from murmurate.agents.kafka.owner import StageOwner
from murmurate.agents.kafka.presence import Presence
from murmurate.agents.kafka.skew import ComparedClock
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.topic_watch import TopicWatch
from murmurate.agents.kafka.topology import Topology
from murmurate.agents.stages.stage import Log
from murmurate.agents.stages.table import CLOCK, TABLE
from murmurate.config.plan import Plan
from murmurate.topics.codec import encode
from murmurate.topics.messages import Progress
from murmurate.topics.names import Zone

TIMER_S = 1.0
LOOK_S = 0.1


def collect_garbage_rarely() -> None:
    """For a process that is a worker. A door makes a tuple for each event and none of them is part of a cycle; looking
    for cycles as often as Python does by default takes a third of its time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class Worker:
    """The stages of some zones. `instance` names this worker in every group, the same after each restart."""

    def __init__(
        self, plan: Plan, client: Client, topology: Topology, sources: Mapping[str, int], zones: Iterable[Zone], *,
        instance: str, observer: Observer, now_ms: Callable[[], int], fed: bool,
        compare: Callable[[], Awaitable[object]] | None = None, watched: TopicWatch | None = None,
        agreement: AgreementWatch | None = None,
    ) -> None:  # fmt: skip
        self._watched, self._agreement = watched, agreement
        self._plan, self._client, self._topology, self._observer = plan, client, topology, observer
        self._compare = compare
        rounds = Place(f"{plan.name}.rounds", 0)
        self._shared = {rounds: SharedLog(client, rounds)}
        self.zones = tuple(zones)
        first = next(row.name for row in TABLE.values() if row.zone in self.zones)
        self.clock = ComparedClock(
            client, Place(f"{plan.name}.state.{first}", 0), instance, now_ms, plan.skew_ms, also=self._told
        )
        self._presence = Presence(client, plan.name, self.zones, instance)
        self.apps: dict[str, StageApp] = {}
        self.owners: dict[str, StageOwner] = {}
        self.doors: Doors | None = None
        for row in (row for row in TABLE.values() if row.zone in self.zones):
            if row.source is not None and topology.partitions(row.name):  # no curator where nothing is central
                self._add(row.name, row.source, instance)
        if TABLE["door"].zone in self.zones:
            self.doors = Doors(
                plan, client, topology, sources, instance=f"{instance}-door", observer=observer,
                now_ms=self.clock.now, fed=fed,
            )  # fmt: skip
            self.owners["door"] = self.doors.owner
        for owner in self.owners.values():
            owner.check = self._presence.check

    def _add(self, stage: str, source: str, instance: str) -> None:
        def make(partition: int) -> Task:
            def hold(held: bool) -> None:
                self.apps[stage].hold(partition, held)

            wiring = self._topology.wiring(stage, Log(source, partition))
            return Task(wiring, self._client, self._observer, hold, self._shared)

        owner = self.owners[stage] = StageOwner(make)
        self.apps[stage] = StageApp(
            self._client.access, group=f"{self._plan.name}-{stage}", topic=f"{self._plan.name}.{source}",
            partitions=self._topology.partitions(stage), instance=f"{instance}-{stage}", owner=owner,
        )  # fmt: skip

    @property
    def places(self) -> Mapping[str, Sequence[Place]]:
        """The source partitions of each stage, whoever has them."""
        name = self._plan.name
        theirs = {
            stage: [Place(f"{name}.{TABLE[stage].source}", p) for p in range(self._topology.partitions(stage))]
            for stage in self.apps
        }
        return theirs if self.doors is None else {**theirs, "door": self.doors.places}

    @property
    def ready(self) -> bool:
        """Whether every group has assigned its partitions, all of them have recovered, and the clock is right."""
        return all(owner.ready for owner in self.owners.values()) and self.clock.wrong is None

    @property
    def tasks(self) -> Sequence[Task]:
        """Every Task that is ours."""
        return [task for owner in self.owners.values() for task in owner.tasks.values()]

    def _told(self) -> dict[str, int]:
        """What `murmurate status` may learn of this worker beside its clock."""
        return {"bounded": sum(self.doors.ticks.bounded.values())} if self.doors is not None else {}

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set, or something fails: that error leaves, or NameTakenError where it is the cause."""
        try:
            await self._run(stop)
        except FencedError:
            await self._presence.check()
            raise
        finally:
            await self._presence.close()

    async def _run(self, stop: asyncio.Event) -> None:
        watched: list[asyncio.Task[None]] = []
        stopped = asyncio.create_task(stop.wait())
        try:
            await self._start()
            watched += [asyncio.create_task(each) for each in self._running()]
            await asyncio.wait((stopped, *watched), return_when=asyncio.FIRST_COMPLETED)
        finally:
            failed = [each for each in watched if each.done() and not each.cancelled()]
            for each in (stopped, *watched):
                each.cancel()
            await self._stop()
            await asyncio.gather(stopped, *watched, return_exceptions=True)
        for each in failed:
            each.result()
        if failed and not stop.is_set():
            raise RuntimeError("a stage ended by itself")

    async def _start(self) -> None:
        await self._presence.take()
        if self.doors is not None:
            await self.doors.start()
        await asyncio.gather(*(app.start() for app in self.apps.values()))

    def _running(self) -> Iterator[Coroutine[None, None, None]]:
        """What has to go on for as long as the worker does."""
        yield keep_small()
        yield self.clock.watch()
        yield self._presence.watch()
        for owner in self.owners.values():
            yield owner.failure()
        for app in self.apps.values():
            yield app.wait()
            yield app.commit()
        if self.doors is not None:
            yield self.doors.run()
            yield self.doors.watch()
        if self._compare is not None:
            yield self._compare_again(self._compare)
        if self._agreement is not None:
            yield self._agreement.run(self.clock.now)
        if self._watched is not None:
            yield self._watched.run()
        if "publish" in self.owners:
            yield self._timer(self.owners["publish"])

    async def _compare_again(self, compare: Callable[[], Awaitable[object]]) -> None:
        """Once every group has been joined, the config record again: it may have changed since it was compared. From
        then on whoever changes it sees us.
        """
        while not all(owner.settled for owner in self.owners.values()):
            await asyncio.sleep(LOOK_S)
        await compare()
        await asyncio.Event().wait()

    async def _timer(self, owner: StageOwner) -> None:
        while True:
            if (now := self.clock.now()) is not None:
                tick = encode(Progress(topic="clock", partition=0, time=now))
                for task in owner.live.values():
                    task.inject(CLOCK, tick)
            await asyncio.sleep(TIMER_S)

    async def _stop(self) -> None:
        await asyncio.gather(*(owner.stop() for owner in self.owners.values()))
        for owner in self.owners.values():
            owner.forget_failure()
        if self.doors is not None:
            await self.doors.stop()
        await asyncio.gather(*(app.stop() for app in self.apps.values()))
