# SPDX-License-Identifier: Apache-2.0
"""A worker's name is its own: whoever starts under the same one later goes on, and the earlier one ends with one line.

Contract: 1. For each of its zones a worker opens a writer of its name before it joins any group, which fences the
writer that an earlier worker has under that name: one that was killed, or one that still runs.  2. Nothing is ever
written by it.  A worker asks the brokers whether its own still holds, every ten seconds and before it opens the Tasks
of partitions that it was given: two members of one name take each other's place in their groups, so the earlier one
finds out as soon as it has lost its place.  A worker that was frozen and comes back still has its name.  Source:
ARCHITECTURE rule 12.  Not here: the writers of partitions (task.py), of which only one may write either way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Final

from murmurate.agents.kafka.client import Client, Writer
from murmurate.agents.kafka.errors import AwayError, FencedError, NameTakenError
from murmurate.agents.stages.table import TABLE
from murmurate.topics.names import Zone

EVERY_S: Final = 10.0


class Presence:
    """The name of a worker in its zones."""

    def __init__(self, client: Client, deployment: str, zones: Iterable[Zone], instance: str) -> None:
        self._client, self._instance = client, instance
        first: dict[Zone, str] = {zone: next(row.name for row in TABLE.values() if row.zone == zone) for zone in zones}
        self._names: dict[Zone, str] = {
            zone: f"{deployment}-{stage}-worker-{instance}" for zone, stage in first.items()
        }
        self._writers: dict[Zone, Writer] = {}

    async def take(self) -> None:
        """Fence whoever has the name."""
        await asyncio.gather(*(self._take(zone) for zone in self._names))

    async def _take(self, zone: Zone) -> None:
        if zone in self._writers:
            await self._writers.pop(zone).close()
        self._writers[zone] = self._client.writer(self._names[zone])  # before it opens, so that it is closed
        await self._writers[zone].open()

    async def check(self) -> None:
        """NameTakenError if another worker has taken the name since. Brokers that are away say nothing."""
        for zone, writer in list(self._writers.items()):
            with contextlib.suppress(AwayError):
                try:
                    if not await writer.holds():
                        await self._take(zone)
                except FencedError:
                    raise NameTakenError(
                        f"another worker of the {zone} zone with --instance {self._instance} has started; allowed: a "
                        "name of its own for each, which it keeps when it is started again"
                    ) from None

    async def watch(self) -> None:
        """Check again and again, until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.check()

    async def close(self) -> None:
        """Let go."""
        await asyncio.gather(*(writer.close() for writer in self._writers.values()))
