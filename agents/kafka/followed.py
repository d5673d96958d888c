# SPDX-License-Identifier: Apache-2.0
"""The releases of one stream, or of all, from Kafka: what is there, then what comes. `watch` and subscribers read so.

Contract: committed records only, in no group; each partition in its order, each release once.  What is no release, and
what is of another stream, is passed over.  A reader that is patient outlives brokers that go away once it has begun,
and goes on where it was.  Not here: which releases are wanted of those (agents/library), the page (release_reader.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from murmurate.agents.kafka.client import Client, Got, Place, Reader
from murmurate.agents.kafka.collect import last, span
from murmurate.agents.kafka.errors import AwayError, LostRecordsError
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.release import Release

AGAIN_S: Final = 1.0
log = logging.getLogger("murmurate.subscribe")
Read = tuple[bytes, Release]
"""A release as it was read, and decoded."""


@dataclass
class FollowedReleases:
    """A reader of some partitions of a releases topic."""

    client: Client
    places: Sequence[Place]
    stream: str | None = None
    """The stream that is wanted; None for all."""
    patient: bool = False
    names: set[str] = field(default_factory=set)
    """The streams whose releases were met, wanted or not."""
    unreadable: set[tuple[Place, int]] = field(default_factory=set)
    """Where records stood that were no release."""

    async def read(self, history: int | None) -> AsyncIterator[Read | None]:
        """The last `history` releases of each partition that are there, or all; then None; then those that come.
        BrokerError where the brokers refuse, or are away when it begins.
        """
        following = dict[Place, int]()
        while True:
            try:
                async with self.client.reader() as reader:
                    if following:
                        await self._within(reader, following)
                    else:
                        async for found in self._history(reader, history, following):
                            yield found
                        yield None
                    reader.at(following)
                    while True:
                        for got in await reader.poll():
                            following[got.place] = got.offset + 1
                            if (release := self._release(got)) is not None:
                                yield release
            except (AwayError, LostRecordsError) as error:
                if not self.patient or not following:
                    raise
                log.warning("releases are not to be had: %s", error)
            await asyncio.sleep(AGAIN_S)

    async def _history(
        self, reader: Reader, history: int | None, following: dict[Place, int]
    ) -> AsyncIterator[Read]:  # fmt: skip
        """Releases that are there; at their end it is known where to go on."""
        if history is None:
            bounds = await reader.bounds(list(self.places))
            async for got in span(reader, bounds):
                if (found := self._release(got)) is not None:
                    yield found
            following.update({place: end for place, (_, end) in bounds.items()})
            return
        ends, there = await last(reader, self.places, history, lambda got: self._release(got) is not None)
        for got in [got for place in self.places for got in there[place]]:
            if (found := self._release(got)) is not None:
                yield found
        following.update(ends)

    async def _within(self, reader: Reader, following: dict[Place, int]) -> None:
        """Go on with what is there where a place is gone: retention took it, or the topic was made again."""
        for place, (first, end) in (await reader.bounds(list(self.places))).items():
            if not first <= following[place] <= end:
                following[place] = first

    def _release(self, got: Got) -> Read | None:
        """A record as a release that is wanted."""
        if got.key is not None and self.stream is not None and got.key != self.stream.encode():
            self.names.add(got.key.decode(errors="replace"))
            return None
        try:
            found = decode(got.value or b"")
        except WireError:
            found = None
        if not isinstance(found, Release):
            self.unreadable.add((got.place, got.offset))
            return None
        self.names.add(found.stream)
        return (got.value or b"", found) if self.stream in (None, found.stream) else None
