# SPDX-License-Identifier: Apache-2.0
"""What a soak writes to its sources: a steady load, in compressed batches, in transactions, or as it comes.

Contract: events are evenly spaced in time, one of each user in turn, and are written when they are due; each lawful one
is counted once it is committed, so that exactly so many rows belong in `raw`.  Events of aborted transactions are
written again in the next one, as applications do.  What is planted beside them (late events, garbage) has counters of
its own.  Not here: what has to come of it (soak_checks.py).
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import orjson
from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder

from murmurate.agents.kafka.client import Place, Sender, Write
from tests.faults.inside import now_ms

VALUES: Final = ("home", "search", "basket", "help")
CODECS: Final = ("gzip", "lz4", "snappy", "zstd")
BEAT_S: Final = 0.5
TRANSACTION_S: Final = 2.0
TIMEOUT_MS: Final = 120_000
ABORTED_EVERY: Final = 6
"""Every so manieth transaction is aborted, and its events are written again."""
LATE_MS: Final = 3_600_000
LATE, GARBAGE = 5, 3
"""How many are planted at a time."""


class Event(NamedTuple):
    """An event that is due: whose partition is for whoever writes it to choose."""

    user: int
    time_ms: int
    value: bytes


@dataclass
class Schedule:
    """One producer's share of a source's events: number `share` of `shares`."""

    stream: str
    rate: int
    """Events a second, of all shares together."""
    users: int
    share: int
    shares: int
    start_ms: int
    taken: int = 0

    def due(self) -> list[Event]:
        """Those that are due since the last call."""
        reached = (now_ms() - self.start_ms) * self.rate // 1000
        first = self.share + self.taken * self.shares
        numbers = range(first, max(first, reached), self.shares)
        self.taken += len(numbers)
        return [self._event(number) for number in numbers]

    def _event(self, number: int) -> Event:
        user, at = number % self.users, self.start_ms + number * 1000 // self.rate
        value = VALUES[(user + at // 60_000) % len(VALUES)]
        told = {"stream": self.stream, "user": f"u{user}", "time": at, "value": value}
        return Event(user, at, orjson.dumps(told))


@dataclass
class Source:
    """A source topic, who writes to it, and what was written."""

    stream: str
    topic: str
    partitions: int
    rate: int
    users: int
    brokers: str = ""
    turn_s: float = 60.0
    """How long a producer lives; the next one knows partitions that were added meanwhile."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    start_ms: int = 0
    lawful: int = 0
    """Committed events, each in time."""
    added: int = 0
    """Those of them in partitions that were not there at first."""
    aborted: int = 0
    """Events of aborted transactions, which were written again."""
    last_ms: int = 0
    """The newest time of a lawful event."""
    late: int = 0
    garbage: int = 0
    slowest_ms: int = 0
    """From an event's time until the brokers had it: below `lateness`, or this load itself was late."""
    at_first: int = 0

    def __post_init__(self) -> None:
        self.at_first = self.partitions

    def begin(self) -> None:
        """Let the writers begin, at this moment."""
        self.start_ms = now_ms()
        self.begun.set()

    async def plain(self, sender: Sender) -> None:
        """As it comes, by one sender."""
        schedule = await self._schedule(0, 1)
        while not self.stop.is_set():
            events = schedule.due()
            await sender.send([Write(Place(self.topic, one.user % self.partitions), one.value) for one in events])
            self._count(events, self.partitions)
            await asyncio.sleep(BEAT_S)

    async def compressed(self, share: int, shares: int) -> None:
        """In batches, by one producer after the other, each with the next codec."""
        schedule = await self._schedule(share, shares)
        for codec in itertools.cycle(CODECS[share % len(CODECS) :] + CODECS[: share % len(CODECS)]):
            producer = AIOKafkaProducer(
                bootstrap_servers=self.brokers, compression_type=codec, linger_ms=50, request_timeout_ms=TIMEOUT_MS
            )
            partitions, until = self.partitions, time.monotonic() + self.turn_s
            await producer.start()
            while time.monotonic() < until and not self.stop.is_set():
                events = schedule.due()
                await self._send(producer, events, partitions)
                self._count(events, partitions)
                await asyncio.sleep(BEAT_S)
            await producer.stop()
            if self.stop.is_set():
                return

    async def transactional(self, share: int, shares: int) -> None:
        """In transactions, some of which are aborted."""
        schedule, number = await self._schedule(share, shares), 0
        while not self.stop.is_set():
            identity = f"{self.topic}-application-{share}"
            producer = AIOKafkaProducer(
                bootstrap_servers=self.brokers, transactional_id=identity, linger_ms=50,
                transaction_timeout_ms=TIMEOUT_MS, request_timeout_ms=TIMEOUT_MS,
            )  # fmt: skip
            partitions, until = self.partitions, time.monotonic() + self.turn_s
            await producer.start()
            while time.monotonic() < until and not self.stop.is_set():
                number += 1
                await self._transaction(producer, schedule, partitions, aborted=number % ABORTED_EVERY == 0)
            await producer.stop()

    async def _transaction(
        self, producer: AIOKafkaProducer, schedule: Schedule, partitions: int, *, aborted: bool
    ) -> None:
        """What is due within a while, in one transaction; or in a second one, after the first was aborted."""
        events, until = list[Event](), time.monotonic() + TRANSACTION_S
        await producer.begin_transaction()
        while True:
            due = schedule.due()
            await self._send(producer, due, partitions)
            events += due
            if time.monotonic() >= until or self.stop.is_set():
                break
            await asyncio.sleep(BEAT_S)
        if aborted:
            await producer.abort_transaction()
            self.aborted += len(events)
            await producer.begin_transaction()
            await self._send(producer, events, partitions)
        await producer.commit_transaction()
        self._count(events, partitions)

    async def plant(self, sender: Sender) -> None:
        """Some events of an hour ago, and records that are none."""
        old = [{"stream": self.stream, "user": f"late{i}", "time": now_ms() - LATE_MS, "value": "home"}
               for i in range(LATE)]  # fmt: skip
        values = [*map(orjson.dumps, old), *[b"no event"] * GARBAGE]
        await sender.send([Write(Place(self.topic, i % self.at_first), value) for i, value in enumerate(values)])
        self.late += LATE
        self.garbage += GARBAGE

    async def _schedule(self, share: int, shares: int) -> Schedule:
        await self.begun.wait()
        return Schedule(self.stream, self.rate, self.users, share, shares, self.start_ms)

    async def _send(self, producer: AIOKafkaProducer, events: Iterable[Event], partitions: int) -> None:
        """Return once the brokers have them, which has to be within `lateness` of their times."""
        sent, batches = [], dict[int, BatchBuilder]()
        for one in events:
            partition = one.user % partitions
            batch = batches[partition] = batches.get(partition) or producer.create_batch()
            if batch.append(key=None, value=one.value, timestamp=None) is None:  # full
                sent.append(await producer.send_batch(batch, self.topic, partition=partition))
                batches[partition] = producer.create_batch()
                batches[partition].append(key=None, value=one.value, timestamp=None)
        for partition, batch in batches.items():
            sent.append(await producer.send_batch(batch, self.topic, partition=partition))
        await asyncio.gather(*sent)

    def _count(self, events: list[Event], partitions: int) -> None:
        if not events:
            return
        self.lawful += len(events)
        self.added += sum(one.user % partitions >= self.at_first for one in events)
        self.last_ms = max(self.last_ms, events[-1].time_ms)
        self.slowest_ms = max(self.slowest_ms, now_ms() - events[0].time_ms)


def writers(sources: Iterable[Source], sender: Sender, kind: str) -> Iterator[asyncio.Task[None]]:
    """Who writes to each source: one sender for all (`plain`), or two producers of a source, and three of the next."""
    for number, source in enumerate(sources):
        if kind == "plain":
            yield asyncio.create_task(source.plain(sender))
        elif number % 2 == 0:
            yield from (asyncio.create_task(source.compressed(share, 2)) for share in range(2))
        else:
            yield from (asyncio.create_task(source.transactional(share, 3)) for share in range(3))
