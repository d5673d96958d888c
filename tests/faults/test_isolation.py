# SPDX-License-Identifier: Apache-2.0
"""What Faust hands to a stage: committed records only, each once and in order, from the offset that the stage wants."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from murmurate.agents.kafka.app import MOST_RECORDS, StageApp
from murmurate.agents.kafka.client import Client, Described, Place, Write
from murmurate.agents.kafka.client.access import Access
from tests.faults.broker import Broker

PARTITIONS = 2
LONGEST_S = 40.0


class Seen:
    """An owner of partitions who writes down what comes."""

    def __init__(self, first: Mapping[int, int], took: Callable[[int, int], None] = lambda partition, offset: None):
        self.first, self.took = dict(first), took
        self.records: dict[int, list[tuple[int, bytes | None]]] = {p: [] for p in range(PARTITIONS)}
        self.news, self.settled = asyncio.Event(), asyncio.Event()

    async def assigned(self, partitions: frozenset[int]) -> None:
        assert partitions == set(range(PARTITIONS))
        self.settled.set()

    async def revoked(self) -> None:
        pass

    def wanted(self, partition: int) -> int | None:
        came = self.records[partition]
        return came[-1][0] + 1 if came else self.first.get(partition, 0)

    def take(self, partition: int, offset: int, value: bytes | None, more: bool) -> None:
        self.records[partition].append((offset, value))
        self.news.set()
        self.took(partition, offset)

    def marks(self) -> Mapping[int, int]:
        return {}

    def values(self, partition: int) -> list[bytes | None]:
        return [value for _, value in self.records[partition]]

    async def until(self, reached: Callable[[], bool], app: StageApp) -> None:
        """Until enough has come; an app that ends first fails with its own error."""
        ended = asyncio.create_task(app.wait())
        try:
            async with asyncio.timeout(LONGEST_S):
                while not reached():
                    self.news.clear()
                    news = asyncio.create_task(self.news.wait())
                    await asyncio.wait({news, ended}, return_when=asyncio.FIRST_COMPLETED)
                    news.cancel()
                    if ended.done():
                        ended.result()
        finally:
            ended.cancel()


class World:
    """A topic of a test's own, and the app that reads it."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.bootstrap, self.topic, self.group = broker.bootstrap, f"{name}.raw", f"{name}-perturb"
        self.client = Client(Access(tuple(broker.bootstrap.split(","))))

    async def make(self) -> None:
        async with self.client.admin() as admin:
            await admin.create({self.topic: Described(PARTITIONS, 1, {})})

    def app(self, owner: Seen) -> StageApp:
        return StageApp(
            self.client.access, group=self.group, topic=self.topic, partitions=PARTITIONS, instance="one",
            owner=owner,
        )  # fmt: skip

    def place(self, partition: int) -> Place:
        return Place(self.topic, partition)

    async def producer(self, identity: str) -> AIOKafkaProducer:
        """With a transaction that has begun."""
        found = AIOKafkaProducer(bootstrap_servers=self.bootstrap, transactional_id=f"{self.group}-{identity}")
        await found.start()
        await found.begin_transaction()
        return found


def run(work: Awaitable[None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work, 90)

    asyncio.run(bounded())


def test_a_stage_sees_no_record_of_an_aborted_or_open_transaction(broker: Broker, deployment_name: str) -> None:
    world = World(broker, deployment_name)

    async def told() -> None:
        await world.make()
        async with world.client.sender() as sender:
            await sender.send([Write(world.place(0), b"before")])
            aborted = await world.producer("aborted")
            await aborted.send_and_wait(world.topic, b"aborted", partition=0)
            await aborted.abort_transaction()
            await aborted.stop()
            committed = await world.producer("committed")
            await committed.send_and_wait(world.topic, b"committed", partition=0)
            await committed.commit_transaction()
            await committed.stop()
            still = await world.producer("open")
            await still.send_and_wait(world.topic, b"open", partition=0)
            await sender.send([Write(world.place(0), b"behind"), Write(world.place(1), b"beside")])
            seen = Seen({})
            app = world.app(seen)
            await app.start()
            try:
                await seen.until(lambda: bool(seen.records[1]) and len(seen.records[0]) >= 2, app)
                await sender.send([Write(world.place(1), b"later")])
                await seen.until(lambda: len(seen.records[1]) == 2, app)
                assert seen.values(0) == [b"before", b"committed"]  # what stands behind the open one waits with it
                await still.abort_transaction()
                await seen.until(lambda: len(seen.records[0]) >= 3, app)
                assert seen.values(0) == [b"before", b"committed", b"behind"]
            finally:
                await app.stop()
                await still.stop()

    run(told())


def test_holding_a_partition_and_letting_it_go_loses_nothing(broker: Broker, deployment_name: str) -> None:
    world, count = World(broker, deployment_name), 6_000

    async def told() -> None:
        await world.make()
        held = dict.fromkeys(range(PARTITIONS), False)
        loop = asyncio.get_running_loop()

        def turn(partition: int) -> None:
            held[partition] = not held[partition]
            app.hold(partition, held[partition])

        def took(partition: int, offset: int) -> None:
            if offset % 97 == 13 * partition:
                turn(partition)
                loop.call_later(0.01 * (offset % 5), turn, partition)

        seen = Seen({}, took)
        app = world.app(seen)
        await app.start()
        try:
            async with world.client.sender() as sender:
                for start in range(0, count, 500):
                    numbers = range(start, start + 500)
                    await sender.send([Write(world.place(p), b"%d" % i) for i in numbers for p in range(PARTITIONS)])
                await seen.until(lambda: all(len(came) >= count for came in seen.records.values()), app)
        finally:
            await app.stop()
        for came in seen.records.values():
            assert came == [(i, b"%d" % i) for i in range(count)]

    run(told())


def test_a_held_partition_waits_while_others_go_on(broker: Broker, deployment_name: str) -> None:
    world, count = World(broker, deployment_name), 10 * MOST_RECORDS

    async def told() -> None:
        await world.make()
        seen = Seen({}, lambda partition, offset: app.hold(0, True) if (partition, offset) == (0, 0) else None)
        app = world.app(seen)
        await app.start()
        try:
            async with world.client.sender() as sender:
                await sender.send([Write(world.place(0), b"first")])
                await seen.until(lambda: bool(seen.records[0]), app)
                writes = [Write(world.place(p), b"%d" % i) for i in range(count) for p in range(PARTITIONS)]
                await sender.send(writes)
            await seen.until(lambda: len(seen.records[1]) == count, app)
            assert len(seen.records[0]) <= 1 + 2 * MOST_RECORDS  # what was on its way when it was held
            app.hold(0, False)
            await seen.until(lambda: len(seen.records[0]) == count + 1, app)
            assert [offset for offset, _ in seen.records[0]] == list(range(count + 1))
        finally:
            await app.stop()

    run(told())


def test_a_stage_reads_from_where_it_wants_whatever_its_group_has_committed(
    broker: Broker, deployment_name: str
) -> None:
    world = World(broker, deployment_name)

    def everything(seen: Seen) -> bool:
        return all(seen.wanted(p) == 50 for p in range(PARTITIONS))

    async def told() -> None:
        await world.make()
        async with world.client.sender() as sender:
            await sender.send([Write(world.place(p), b"%d" % i) for i in range(50) for p in range(PARTITIONS)])
        stranger = AIOKafkaConsumer(bootstrap_servers=world.bootstrap, group_id=world.group, enable_auto_commit=False)
        await stranger.start()
        places = [TopicPartition(world.topic, p) for p in range(PARTITIONS)]
        stranger.assign(places)
        await stranger.commit({places[0]: 45, places[1]: 2})  # too far for one, not far enough for the other
        await stranger.stop()
        async with world.client.admin() as admin:
            assert await admin.committed(world.group) == {world.place(0): 45, world.place(1): 2}
        for first in ({0: 7, 1: 30}, {0: 0, 1: 0}):  # and again by the same member, whose group says what it said
            seen = Seen(first)
            app = world.app(seen)
            await app.start()
            try:
                await seen.until(partial(everything, seen), app)
            finally:
                await app.stop()
            for partition, came in seen.records.items():
                assert came == [(i, b"%d" % i) for i in range(first[partition], 50)]

    run(told())


def test_whoever_stops_leaves_its_group_at_once(broker: Broker, deployment_name: str) -> None:
    world = World(broker, deployment_name)

    class Nobody:
        async def assigned(self, places: frozenset[Place]) -> None:
            came.set()

        async def revoked(self) -> None:
            pass

    async def told() -> None:
        await world.make()
        async with world.client.admin() as admin:
            seen = Seen({})
            app = world.app(seen)
            await app.start()
            async with asyncio.timeout(LONGEST_S):
                await seen.settled.wait()
            assert len((await admin.owners(world.group))[1]) == 1
            await app.stop()
            assert (await admin.owners(world.group))[1] == {}
            member = world.client.member(f"{world.group}-door", [world.topic], "one", Nobody())
            await member.open()
            async with asyncio.timeout(LONGEST_S):
                await came.wait()
            assert len((await admin.owners(f"{world.group}-door"))[1]) == 1
            await member.close()
            assert (await admin.owners(f"{world.group}-door"))[1] == {}

    came = asyncio.Event()
    run(told())


def test_partitions_are_shared_out_though_the_broker_does_not_know_the_topic_yet(
    broker: Broker, deployment_name: str
) -> None:
    """As one that has just come back may not. Nobody given anything would be for good: a member that is restarted under
    its own name gets what the group last agreed on.
    """
    world = World(broker, deployment_name)

    async def told() -> None:
        seen = Seen({})  # it demands both partitions
        app = world.app(seen)
        await app.start()
        try:
            await seen.until(seen.settled.is_set, app)
            await world.make()
            async with world.client.sender() as sender:
                await sender.send([Write(world.place(1), b"first")])
            await seen.until(lambda: seen.values(1) == [b"first"], app)
        finally:
            await app.stop()

    run(told())
