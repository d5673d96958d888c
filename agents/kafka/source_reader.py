# SPDX-License-Identifier: Apache-2.0
"""Reads all source partitions of a worker's doors through one connection, as long as little comes.

Contract: records come in the order of their partition, from the offset asked for.  A partition of which more comes than
its door folds gets a reader of its own, so that no other waits for it, until it is calm again.  A failed reader fails
everybody who follows it.  Not here: folding (task.py), logs of our own (log_readers.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.client.reader import PATIENT_MS
from murmurate.agents.kafka.log_readers import CROWD, Reach, Take, pull

CALM_S = 5.0
"""A partition with a reader of its own, of which nothing came for so long, goes back to the others."""


@dataclass(eq=False)
class SourceFollower:
    """A door that follows its source partition."""

    next: int
    """The offset from which it is to be read on."""
    take: Take
    reach: Reach
    waiting: Callable[[], int]
    """How many records wait there to be folded."""
    left: asyncio.Future[int]
    """Where it left the others, once too much has come."""


class SourceReader:
    """One connection for the source partitions of all doors here. `reached`: told whenever a partition has been read
    further, after its door.
    """

    def __init__(self, client: Client, reached: Callable[[Place], None] = lambda place: None) -> None:
        self._client, self._reached = client, reached
        self._reader: Reader | None = None
        self._followers: dict[Place, SourceFollower] = {}
        self._reading: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    async def follow(self, place: Place, start: int, take: Take, reach: Reach, waiting: Callable[[], int]) -> None:
        """Take the records of a partition from an offset on, until cancelled, or it cannot be read."""

        def on(place: Place, offset: int) -> None:
            reach(place, offset)
            self._reached(place)

        while True:
            start = await self._shared(place, start, take, on, waiting)
            stands = await pull(self._client, {place: start}, take, on, waiting, calm_s=CALM_S)
            start = stands[place]

    async def _shared(self, place: Place, start: int, take: Take, reach: Reach, waiting: Callable[[], int]) -> int:
        """With the others, until it is too much: from which offset to go on."""
        follower = SourceFollower(start, take, reach, waiting, asyncio.get_running_loop().create_future())
        self._followers[place] = follower
        self._look_again()
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        reading = self._reading
        try:
            await asyncio.wait((reading, follower.left), return_when=asyncio.FIRST_COMPLETED)
            if not follower.left.done():
                reading.result()  # it reads until it fails
            return await follower.left
        finally:
            follower.left.cancel()
            if self._followers.get(place) is follower:
                del self._followers[place]
            self._look_again()
            if not self._followers and self._reading is reading:
                self._reading = None  # whoever follows next must not wait for this one
                reading.cancel()

    def _look_again(self) -> None:
        """The followers are others now."""
        self._changed.set()
        if self._reader is not None:
            self._reader.wake()

    async def _read(self) -> None:
        async with self._client.reader(patience_ms=PATIENT_MS) as reader:
            self._reader = reader
            given, stood = (
                dict[Place, SourceFollower](),
                dict[Place, int](),
            )  # who is read for, and how far each is told
            while True:
                if not self._followers:
                    await self._changed.wait()
                if self._changed.is_set():
                    self._changed.clear()
                    given, stood = dict(self._followers), dict[Place, int]()
                    reader.at({place: follower.next for place, follower in given.items()})
                    continue
                for run in await reader.runs():
                    if (follower := self._of(given, run.place)) is not None:
                        follower.next = run.records[-1][0] + 1
                        follower.take(run)
                for place, offset in reader.reached().items():
                    if stood.get(place) == offset:
                        continue
                    stood[place] = offset
                    if (follower := self._of(given, place)) is not None:
                        follower.next = offset
                        follower.reach(place, offset)
                        if follower.waiting() > CROWD:
                            follower.left.set_result(offset)

    def _of(self, given: Mapping[Place, SourceFollower], place: Place) -> SourceFollower | None:
        """Whom the reader reads this partition for, if that one is still here: another begins at another offset."""
        follower = given.get(place)
        return follower if follower is self._followers.get(place) and follower and not follower.left.done() else None
