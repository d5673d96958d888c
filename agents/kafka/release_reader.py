# SPDX-License-Identifier: Apache-2.0
"""The releases of a deployment as they are committed, for whoever shows them.

Contract: in no group, so that nobody's place is touched; committed records only; each partition in its order, each
release once.  A second iteration goes on where the first one ended, and one that found its place gone (retention) goes
on with what is there.  A record that is no release is counted and passed over.  Not here: what is done with them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from murmurate.agents.kafka.client import Client, Place
from murmurate.agents.kafka.client.reader import MOST_PATIENT_MS, Reader
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.names import topic
from murmurate.topics.release import Release

POLL_MS: Final = 500
"""How often it turns round where nothing comes: what comes is told at once."""


class ReleaseReader:
    """An async iterator of releases: `history` of each partition that are there already, then those that come."""

    def __init__(self, client: Client, deployment: str, partitions: int, *, history: int = 0) -> None:
        self._client, self._history = client, history
        self._places = [Place(topic(deployment, "releases"), partition) for partition in range(partitions)]
        self._next: dict[Place, int] = {}
        self.last: dict[str, Release] = {}
        """For each stream, the release of the newest period that has come."""
        self.unreadable = 0
        """Records that are no release."""

    async def __aiter__(self) -> AsyncIterator[Release]:
        """Releases, for as long as one wants. BrokerError if the brokers refuse, or are away when it begins."""
        async with self._client.reader(patience_ms=MOST_PATIENT_MS) as reader:
            await self._begin(reader)
            reader.at(self._next)
            while True:
                for got in await reader.poll(POLL_MS):
                    self._next[got.place] = got.offset + 1
                    release = self._read(got.value)
                    if release is not None:
                        if (known := self.last.get(release.stream)) is None or release.t >= known.t:
                            self.last[release.stream] = release
                        yield release

    async def _begin(self, reader: Reader) -> None:
        """Where to read on: each release takes two offsets, its own and that of the end of its transaction."""
        for place, (first, end) in (await reader.bounds(self._places)).items():
            kept = self._next.get(place)
            if kept is None:
                self._next[place] = max(first, end - 2 * self._history)
            elif not first <= kept <= end:
                self._next[place] = first

    def _read(self, value: bytes | None) -> Release | None:
        try:
            found = decode(value or b"")
        except WireError:
            found = None
        if isinstance(found, Release):
            return found
        self.unreadable += 1
        return None
