# SPDX-License-Identifier: Apache-2.0
"""A recording into a source topic, with the ticks of its own clock beside it: what `murmurate feed` does.

Contract: the events keep their own times, and a tick covers exactly the events that a replay would have read by then,
so a recording fed today gives the releases of its own day, the same as its replay.  A record that several streams read
is written once, as it is; any other event with the fields of its stream alone.  `rounds` gets a start for each stream
of the topic that has none.  The clock takes its times from events, so nothing of it leaves the edge but the
instants at which periods close, each when it is due and after the one before: whoever reads `feed` learns no event's
time.  The feed never runs further ahead of the releases than AHEAD periods.  Source: ARCHITECTURE rule 15.  Not here:
what is in a recording (replay/), anybody's patience, which goes by publish's own timer (stages/publish.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import orjson

from murmurate.agents.kafka.client import Client, Place, Reader, Sender, Write
from murmurate.agents.kafka.errors import AwayError
from murmurate.agents.replay.source import Batch, Source
from murmurate.agents.stages.closing import next_closing
from murmurate.config.plan import AnyStreamPlan, CentralPlan, Plan
from murmurate.errors import UsageError
from murmurate.topics.block import REFUSED
from murmurate.topics.codec import decode, encode
from murmurate.topics.domains import Domain
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Progress, Settled, Start, Tick
from murmurate.topics.pointers import tokens

AHEAD: Final = 8
"""Periods that may be fed before the first of them is released."""
CHUNK: Final = 5_000
WAIT_MS: Final = 200
LOOK_S: Final = 1.0
WAIT_S: Final = 60.0
"""For brokers, before it begins."""


@dataclass
class Fed:
    """What has been written so far."""

    events: int = 0
    ticks: int = 0
    clock: int = 0
    """The recording's own time."""
    waiting: bool = False
    """Whether it waits for releases."""
    seconds: float = 0.0
    settled: dict[str, int] = field(default_factory=dict)


class Feeder:
    """One recording into one deployment. sources: how many partitions of each topic get events, those of the beginning;
    speed: the recording's seconds per second; None: as fast as it goes; again: write it although it was fed before.
    """

    def __init__(
        self, plan: Plan, source: Source, client: Client, sources: Mapping[str, int], speed: float | None = None,
        tell: Callable[[Fed], None] = lambda fed: None, *, again: bool = False,
    ) -> None:  # fmt: skip
        self._plan, self._source, self._client, self._speed, self._tell = plan, source, client, speed, tell
        self._again = again
        self._streams = [plan.any_stream(name) for name in source.streams]
        for stream in self._streams:
            if stream.fields.time is None:
                raise UsageError(f"feed: stream {stream.name!r}: found no time in its events; allowed: a pointer to it")
        if source.shared:
            source.keep_records()
        self._topics = sorted({stream.topic for stream in self._streams})
        self._ends: dict[Place, int] = {}
        self._started: dict[str, int] = {}  # the first period of each stream that has begun
        self._partitions = dict(sources)
        self._began = 0.0
        self._first_clock = self._shown = 0
        self._looked = -LOOK_S
        self.fed = Fed()

    async def run(self) -> Fed:
        """To the end of the recording."""
        await self._client.wait(WAIT_S)
        self._began = time.monotonic()
        async with self._client.sender() as sender, self._client.reader() as reader:
            await self._learn(sender, reader)
            first = True
            for batch in self._source.batches():
                if first:
                    self._refuse_again()
                    await self._begin(sender, batch.clock)
                    first = False
                await self._reach(sender, reader, batch.clock)
                await self._events(sender, batch)
                await self._tick(sender, batch.clock)  # covers them, at the time that stood before them
                self._report_progress()
            if not first:
                await self._reach(sender, reader, self._source.end_clock)
        self._report_progress()
        return self.fed

    def _report_progress(self) -> None:
        self.fed.seconds = time.monotonic() - self._began
        self._tell(self.fed)

    async def _learn(self, sender: Sender, reader: Reader) -> None:
        """1. Where each partition ends. 2. Which streams have begun, and where they stand."""
        places: list[Place] = []
        for topic in self._topics:
            there = await sender.partitions(topic)
            self._partitions.setdefault(topic, there)
            places += [Place(topic, p) for p in range(there)]
        self._ends = {place: end for place, (_, end) in (await reader.bounds(places)).items()}
        rounds = Place(f"{self._plan.name}.rounds", 0)
        first, end = (await reader.bounds([rounds]))[rounds]
        async for got in reader.between(rounds, first, end):
            self._control(got.value)
        reader.at({rounds: end})

    def _control(self, value: bytes | None) -> None:
        try:
            found = decode(value or b"")
        except WireError:
            return
        if isinstance(found, Start):
            self._started.setdefault(found.stream, found.t)
            self.fed.settled.setdefault(found.stream, found.t - 1)
        elif isinstance(found, Settled):
            self.fed.settled[found.stream] = max(found.t, self.fed.settled.get(found.stream, -1))

    def _refuse_again(self) -> None:
        """UsageError where periods of this recording were fed before: their events would be late, and count for nothing
        but a user's enrolment.
        """
        written = any(self._ends.values())
        for stream in (stream for stream in self._streams if stream.name in self._started and not self._again):
            first, begun = self._source.first_t(stream.name), self._started[stream.name]
            settled = self.fed.settled[stream.name]
            if first <= settled or (first <= begun and written):
                raise UsageError(
                    f"feed: stream {stream.name!r}: found a recording from period {first} on; allowed: one from period "
                    f"{max(settled, begun) + 1} on, since those before were fed already and count once (--again writes "
                    "all of it once more: what is late is refused, and an interrupted feed goes on)"
                )

    async def _begin(self, sender: Sender, clock: int) -> None:
        """1. A start for each stream of these topics. 2. Where everybody is known beforehand, everybody."""
        self._first_clock, self._began = clock, time.monotonic()
        new = []
        for stream in self._plan.everything:
            if stream.topic in self._topics and stream.name not in self._started:
                t = self._first_t(stream, clock)
                self.fed.settled[stream.name] = t - 1
                new.append(encode(Start(stream=stream.name, t=t, config=stream.config, revision=stream.revision)))
        if new:
            await sender.send([Write(Place(f"{self._plan.name}.rounds", 0), start) for start in new])
        users = self._source.users()
        if not self._source.enrolled or users is None:
            return
        names = self._source.names(np.arange(users))
        for stream in self._streams:
            if isinstance(stream, CentralPlan) or stream.carry_ms is None:
                continue  # nobody is asked, or, where values stand for ever, users join with their first event
            before = self._first_t(stream, clock) * stream.every_ms - 1
            await self._tick(sender, min(clock, before))
            for at in range(0, users, CHUNK):
                shown = [(name, _event(stream, name, before, None)) for name in names[at : at + CHUNK]]
                await self._write(sender, shown, stream)
            await self._tick(sender, min(clock, before))

    def _first_t(self, stream: AnyStreamPlan, clock: int) -> int:
        if stream.name in self._source.streams:
            return self._source.first_t(stream.name)
        return max(0, clock - self._plan.lateness_ms) // stream.every_ms

    async def _reach(self, sender: Sender, reader: Reader, clock: int) -> None:
        """The recording's clock shows this time. 1. Each instant up to it at which periods close, when it is due and
        not too far ahead of the releases. 2. The time itself, to the doors alone.
        """
        if clock <= self.fed.clock:
            return
        for closing in self._closings(clock):
            await self._pace(closing)
            await self._wait(sender, reader, closing)
            await self._tick(sender, closing)
            now = encode(Progress(topic="feed", partition=0, time=closing))
            await sender.send([Write(Place(f"{self._plan.name}.feed", 0), now)])
        await self._pace(clock)
        self.fed.clock = clock
        await self._tick(sender, clock)

    def _closings(self, clock: int) -> Iterator[int]:
        """The instants up to this time at which periods close: after those before, or from where the streams stand."""
        streams = [stream for stream in self._plan.everything if stream.topic in self._topics]
        every, lateness = [stream.every_ms for stream in streams], self._plan.lateness_ms
        at = self.fed.clock
        if not at:
            stands = ((self.fed.settled[s.name] + 1) * s.every_ms + lateness for s in streams)
            at = min(clock, *stands)
        while (at := next_closing(every, lateness, at)) <= clock:
            yield at

    async def _pace(self, clock: int) -> None:
        if self._speed is not None:
            due = self._began + (clock - self._first_clock) / 1000 / self._speed
            while (left := due - time.monotonic()) > 0:
                self._report_progress()
                await asyncio.sleep(min(left, 0.5))

    async def _wait(self, sender: Sender, reader: Reader, clock: int) -> None:
        while self._too_far(clock):
            self.fed.waiting = True
            self._report_progress()
            for got in await reader.poll(WAIT_MS):
                self._control(got.value)
            await self._look(sender)
        self.fed.waiting = False

    async def _look(self, sender: Sender) -> None:
        """Give partitions that were added to a topic meanwhile the time too: their doors hold everybody up until then.
        No event goes there. While brokers are away nobody adds any.
        """
        if time.monotonic() < self._looked + LOOK_S:
            return
        self._looked = time.monotonic()
        try:
            async with self._client.admin() as admin:
                counts = await admin.partitions(self._topics)
        except AwayError:
            return
        if new := {Place(topic, p) for topic, n in counts.items() for p in range(n)} - self._ends.keys():
            self._ends |= dict.fromkeys(new, 0)
            await self._tick(sender, self._shown)

    def _too_far(self, clock: int) -> bool:
        return any(
            (clock - self._plan.lateness_ms) // stream.every_ms - 1 > self.fed.settled.get(stream.name, -1) + AHEAD
            for stream in self._streams
        )

    async def _tick(self, sender: Sender, clock: int) -> None:
        """What stands in each source partition now, stood there when the recording's clock showed this."""
        self._shown = clock
        ticks = [
            encode(Tick(topic=place.topic, partition=place.partition, time=clock, end=end))
            for place, end in self._ends.items()
        ]
        await sender.send([Write(Place(f"{self._plan.name}.ticks", 0), tick) for tick in ticks])
        self.fed.ticks += len(ticks)

    async def _events(self, sender: Sender, batch: Batch) -> None:
        stream = self._plan.any_stream(batch.stream)
        self.fed.events += len(batch)
        if batch.records is not None:  # the door gives each record to every stream that reads it: it is written once
            for at in range(0, len(batch.records), CHUNK):
                await self._write(sender, batch.records[at : at + CHUNK], stream)
            return
        names = batch.names
        if names is None:
            assert batch.ids is not None  # noqa: S101 - the contract of a batch
            names = self._source.names(batch.ids)
        triples = zip(names, batch.times.tolist(), _event_values(stream.domain, batch), strict=True)
        events = [(name, _event(stream, name, time_ms, value)) for name, time_ms, value in triples]
        for at in range(0, len(events), CHUNK):
            await self._write(sender, events[at : at + CHUNK], stream)

    async def _write(self, sender: Sender, events: list[tuple[bytes, bytes]], stream: AnyStreamPlan) -> None:
        """Each user's events go to one partition, by their name."""
        n = self._partitions[stream.topic]
        places = [Place(stream.topic, _hash(name) % n) for name, _ in events]
        writes = [Write(place, event, name) for place, (name, event) in zip(places, events, strict=True)]
        for place, offset in zip(places, await sender.send(writes), strict=True):
            self._ends[place] = offset + 1


def _event_values(domain: Domain, batch: Batch) -> Iterator[Any]:
    """The value of each event; None where its value was refused. Lists with too many items are kept whole."""
    if domain.coded:
        return (domain.value(code) if code < domain.none else None for code in batch.codes.tolist())
    rows = batch.codes.reshape(-1, domain.words).tolist()
    whole = (batch.long.get(i, tuple(row)) for i, row in enumerate(rows))
    return (None if words[0] == REFUSED else domain.value(words) for words in whole)


def _hash(name: bytes) -> int:
    return int.from_bytes(hashlib.blake2s(name, digest_size=8).digest())


def _event(stream: AnyStreamPlan, name: bytes, time_ms: int, value: Any) -> bytes:
    """An event as the stream's pointers expect it. A value that is none of the stream's enrols its user, no more."""
    event: dict[str, object] = {}
    fields = stream.fields
    _put(event, fields.user, name.decode())
    _put(event, fields.value, value)
    if fields.time is not None:
        _put(event, fields.time, time_ms)
    if fields.stream is not None:
        _put(event, fields.stream, stream.name)
    return orjson.dumps(event)


def _put(event: dict[str, object], pointer: str, value: object) -> None:
    *path, last = tokens(pointer)
    for step in path:
        inner = event.setdefault(step, {})
        assert isinstance(inner, dict)  # noqa: S101 - pointers of one event that collide are refused by the config
        event = inner
    event[last] = value
