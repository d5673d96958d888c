# SPDX-License-Identifier: Apache-2.0
"""An old snapshot under new marks on a real broker: perturb stops with one line, before it asks anybody again.

What the administrator of the brokers can write into a state topic, on a Task as workers run it.  Each part of a record
by itself: tests/audit/test_old_state.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from murmurate.agents.kafka import task as task_module
from murmurate.agents.kafka.client import Client, Described, Got, Place, Write
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.state import Pointer, StateRecord, chunk_key, state_key
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.topology import Topology, ZoneKeys
from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.stage import Out
from murmurate.config.plan import Plan
from murmurate.topics.codec import encode
from murmurate.topics.message import Message
from tests.agents.stages.hands import RAW, ROUNDS, dones, progress, pseudonyms, question, rows, start
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, deployment, stream
from tests.faults.broker import Broker

USERS = 30


class Watched:
    """Nobody watches."""

    def recovered(self, task: Task, seconds: float) -> None:
        """It is live."""

    def flushed(self, task: Task, seconds: float, out: tuple[Out, ...]) -> None:
        """It has written."""


class Edge:
    """One raw partition of a deployment, with its perturb."""

    def __init__(self, broker: Broker, plan: Plan) -> None:
        self.plan, self.client = plan, Client(Access((broker.bootstrap,)))
        self.wiring = Topology(plan, ZoneKeys(KEYS.edge, None), {TOPIC: 1}, fed=True).wirings("perturb")[0]
        self.state = self.wiring.state

    async def create(self) -> None:
        topics = {f"{self.plan.name}.{name}" for name in ("raw", "rounds", "reports", "state.perturb")}
        async with self.client.admin() as admin:
            await admin.create({topic: Described(1, 1, {}) for topic in topics})

    async def write(self, *writes: Write) -> list[int]:
        """As somebody else than perturb."""
        async with self.client.sender() as sender:
            return await sender.send(writes)

    async def say(self, log: str, *records: bytes | Message) -> None:
        values = [record if isinstance(record, bytes) else encode(record) for record in records]
        await self.write(*(Write(Place(f"{self.plan.name}.{log}", 0), value) for value in values))

    async def all(self, place: Place) -> list[Got]:
        async with self.client.reader() as reader:
            first, end = (await reader.bounds([place]))[place]
            return [got async for got in reader.between(place, first, end)]

    @asynccontextmanager
    async def perturb(self) -> AsyncIterator[Task]:
        """Perturb, live; in the end it commits what it has folded."""
        task = Task(self.wiring, self.client, Watched())
        await task.open()
        run = asyncio.create_task(task.run())
        try:
            while task.life is not Life.LIVE and not run.done():
                await asyncio.sleep(0.01)
            if not run.done():
                yield task
            task.stop()
            await run
        finally:
            await task.close()

    async def caught_up(self, task: Task) -> StateRecord:
        """Once it has committed all that there is: its state record."""
        for log in (RAW, ROUNDS):
            came = await self.all(self.wiring.place(log))
            for got in came if log == RAW else ():
                task.push(got.offset, got.value)
            while came and (task._last is None or task._last[1].marks[log] <= came[-1].offset):
                await asyncio.sleep(0.01)
        assert task._last is not None
        return task._last[1]

    async def chunks(self, record: StateRecord) -> list[bytes]:
        """Of its snapshot."""
        pointer = record.snapshot
        assert pointer is not None
        chunks = [got for got in await self.all(self.state) if got.offset >= pointer.offset][: pointer.chunks]
        return [got.value or b"" for got in chunks]

    async def forge(self, record: StateRecord, generation: int, chunks: Sequence[bytes]) -> None:
        """These chunks, and a record that points to them."""
        parts = [Write(self.state, part, chunk_key(0, generation, i)) for i, part in enumerate(chunks)]
        offsets = await self.write(*parts)
        pointer = Pointer(offsets[0], len(chunks), generation, dict(record.marks))
        forged = replace(record, start=record.marks, snapshot=pointer)
        await self.write(Write(self.state, forged.dump(), state_key(0)))

    async def answered(self) -> int:
        """Rounds that everybody has answered."""
        out = [Out(RAW._replace(topic="reports"), got.value or b"") for got in await self.all(self.reports)]
        return sum(done.total == USERS for done in dones(out))

    @property
    def reports(self) -> Place:
        return Place(f"{self.plan.name}.reports", 0)


def test_an_old_snapshot_under_new_marks_stops_perturb(
    broker: Broker, deployment_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_module, "SNAPSHOT_BYTES", 1)
    screen = stream("screen", "lba", w=4)
    plan = deployment(screen, name=deployment_name, partitions=1, targets=1)
    edge = Edge(broker, plan)

    async def scenario() -> None:
        await edge.create()
        blocks = rows(plan, screen, pseudonyms(USERS), [(FIRST - 1) * SECOND + 1] * USERS, [1] * USERS)
        await edge.say("rounds", start(screen))
        await edge.say("raw", progress((FIRST - 1) * SECOND), *blocks, progress((FIRST + 2) * SECOND))
        async with edge.perturb() as task:
            old = await edge.chunks(before := await edge.caught_up(task))
            await edge.say("rounds", question(plan, screen, FIRST))
            after = await edge.caught_up(task)
        assert (after.marks != before.marks, await edge.chunks(after) != old) == (True, True)
        async with edge.perturb() as task:  # its own state brings it back, and pays for nothing again
            await edge.say("rounds", question(plan, screen, FIRST, patience_ms=5))
            after = await edge.caught_up(task)
        assert await edge.answered() == 1
        await edge.forge(after, before.snapshot.generation if before.snapshot else 0, old)
        await edge.say("rounds", question(plan, screen, FIRST, patience_ms=7))
        try:
            async with edge.perturb() as task:
                await edge.caught_up(task)
        finally:
            assert await edge.answered() == 1, "users paid twice"

    with pytest.raises(StateError, match="perturb 0: found a state record that was changed") as caught:
        asyncio.run(scenario())
    assert "\n" not in str(caught.value)
