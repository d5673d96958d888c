# SPDX-License-Identifier: Apache-2.0
"""The logs that a Task reads itself: each by a reader of its own, but `rounds`, which a worker reads once for all.

Contract: records come in the order of their log, from the offset asked for; some below it may come too, and the marks
make them harmless.  A failed reader fails everybody who follows it.  Not here: folding (task.py).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from murmurate.agents.kafka.client import Client, Place, RecordRun
from murmurate.agents.kafka.client.reader import MOST_PATIENT_MS

CROWD = 10_000
"""Records that may wait in a Task before its own reader pauses."""
LOOK_S = 0.01

Take = Callable[[RecordRun], None]
Reach = Callable[[Place, int], None]


async def pull(
    client: Client, starts: Mapping[Place, int], take: Take, reach: Reach, waiting: Callable[[], int], *,
    calm_s: float = math.inf,
) -> Mapping[Place, int]:  # fmt: skip
    """Read these partitions by a reader of their own, a bounded way ahead, until cancelled, or until nothing has come
    for so long: gives where they stand then.
    """
    async with client.reader(patience_ms=MOST_PATIENT_MS) as reader:
        reader.at(starts)
        came = time.monotonic()
        while time.monotonic() - came < calm_s:
            for run in await reader.runs():
                take(run)
                came = time.monotonic()
            for place, offset in reader.reached().items():
                reach(place, offset)
            while waiting() > CROWD:
                await asyncio.sleep(LOOK_S)
        return {**starts, **reader.reached()}


@dataclass(eq=False)
class LogFollower:
    """Somebody who follows a shared log."""

    take: Take
    reach: Reach
    held: list[RecordRun] | None = field(default_factory=list)
    """What has come while it catches up; None once it has."""


class SharedLog:
    """One partition, read once for all who follow it in this process."""

    def __init__(self, client: Client, place: Place) -> None:
        self._client, self._place = client, place
        self._followers: list[LogFollower] = []
        self._reading: asyncio.Task[None] | None = None
        self._next = 0  # the offset after the last record that was handed out

    async def follow(self, start: int, take: Take, reach: Reach) -> None:
        """Take the records from an offset on, until cancelled, or the log cannot be read."""
        follower = LogFollower(take, reach)
        reading = self._reading
        if reading is None or reading.done():
            self._next = start
            reading = self._reading = asyncio.create_task(self._read(start))
        upto = self._next  # what comes from here on is held until it has caught up
        self._followers.append(follower)
        try:
            if start < upto:
                async with self._client.reader() as reader:
                    async for got in reader.between(self._place, start, upto):
                        take(RecordRun(got.place, [(got.offset, got.value or b"")]))
            for run in follower.held or ():
                take(run)
            follower.held = None
            await asyncio.shield(reading)
        finally:
            self._followers.remove(follower)
            if not self._followers and self._reading is reading:
                self._reading = None  # whoever follows next must not wait for this one
                reading.cancel()

    async def _read(self, start: int) -> None:
        async with self._client.reader(patience_ms=MOST_PATIENT_MS) as reader:
            reader.at({self._place: start})
            while True:
                for run in await reader.runs():
                    self._next = run.records[-1][0] + 1
                    for follower in self._followers:
                        if follower.held is None:
                            follower.take(run)
                        else:
                            follower.held.append(run)
                position = await reader.position(self._place)
                for follower in self._followers:
                    if follower.held is None:
                        follower.reach(self._place, position)
