# SPDX-License-Identifier: Apache-2.0
"""What readers and writers ask of the brokers, and what a reader tells of where it stands."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from murmurate.agents.kafka.client import Client, Described, Place, Write
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.errors import FencedError
from tests.faults.broker import Broker

LONG_MS = 120_000
"""Longer than this test may take: what waits for that has missed what it waited for."""


def test_a_reader_tells_at_once_that_it_has_passed_the_end_of_a_transaction(broker: Broker) -> None:
    async def run() -> None:
        client, place = Client(Access((broker.bootstrap,))), Place("clients.ended", 0)
        async with client.admin() as admin:
            await admin.create({place.topic: Described(1, 1, {})})
        writer = client.writer("clients.ended")
        await writer.open()
        async with asyncio.timeout(60), client.reader(patience_ms=LONG_MS) as reader, client.reader() as other:
            reader.at({place: 0})
            await writer.transact([Write(place, b"one"), Write(place, b"two")])
            assert await other.ends([place]) == {place: 3} == {place: (await other.bounds([place]))[place][1]}
            seen = []
            while reader.reached().get(place, 0) < 3:
                seen += [value for run in await reader.runs() for _, value in run.records]
            assert seen == [b"one", b"two"]
            asking = asyncio.create_task(reader.runs())
            await asyncio.sleep(0)  # it waits
            reader.wake()
            assert await asking == []
            assert await other.ends([]) == {}
        assert len(writer._producer.client._conns) == 1  # to the only broker, who coordinates too
        await writer.close()

    asyncio.run(run())


def test_a_reader_that_has_read_a_stretch_fetches_no_more(broker: Broker) -> None:
    async def run() -> None:
        client, place = Client(Access((broker.bootstrap,))), Place("clients.stretch", 0)
        async with client.admin() as admin:
            await admin.create({place.topic: Described(1, 1, {})})
        async with client.sender() as sender, client.reader() as reader:
            await sender.send([Write(place, b"%d" % i) for i in range(5)])
            for stretch in (range(3), range(1, 5)):
                found = [got.value async for got in reader.between(place, stretch.start, stretch.stop)]
                assert found == [b"%d" % i for i in stretch]
                assert {Place(*at) for at in reader._consumer.paused()} == {place}
            reader.at({place: 4})
            assert not reader._consumer.paused()

    asyncio.run(run())


def test_a_writer_that_loses_its_name_while_it_hands_over_records_says_who_has_it(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a worker that was frozen for longer than a session, and goes on in the middle of a transaction."""

    async def run() -> None:
        client, place = Client(Access((broker.bootstrap,))), Place("clients.fenced", 0)
        async with client.admin() as admin:
            await admin.create({place.topic: Described(1, 1, {})})
        mine, theirs = client.writer("clients.fenced"), client.writer("clients.fenced")
        await mine.open()
        await mine.transact([Write(place, b"one")])
        sends: Any = mine._producer.send
        known = mine._producer._txn_manager
        assert known is not None

        async def slowly(*what: Any, **how: Any) -> Any:
            if known.is_in_transaction():
                await theirs.open()
            sent = await sends(*what, **how)
            while known.is_in_transaction():  # until the routine behind has been told
                await asyncio.sleep(0.01)
            return sent

        monkeypatch.setattr(mine._producer, "send", slowly)
        async with asyncio.timeout(60):
            with pytest.raises(FencedError, match="another instance has taken over"):
                await mine.transact([Write(place, b"two"), Write(place, b"three")])
        await asyncio.gather(mine.close(), theirs.close())

    asyncio.run(run())
