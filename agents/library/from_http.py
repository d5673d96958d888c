# SPDX-License-Identifier: Apache-2.0
"""Releases from a page's server, of a worker, a demo or a replay: the server-sent events of docs/SUBSCRIBING.md.

Contract: whenever the connection ends one comes back with Last-Event-ID, to whichever worker answers then, so that each
release comes once: what a server sends again, since it no longer keeps that place, is dropped.  Whoever is not there at
the beginning is an error; whoever goes away afterwards is waited for.  A run that has ended, and was heard to its end,
ends the releases.  Not here: which releases are wanted (wanted.py).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import orjson

from murmurate.agents.library.errors import SubscriptionError
from murmurate.agents.library.wanted import HeardReleases
from murmurate.errors import UsageError
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.release import Release

SILENCE_S: Final = 60.0
"""After so long without a sign of life, of which a server gives several a minute, a connection is taken for dead."""
AGAIN_S, LATEST_S = 1.0, 30.0
MOST: Final = 64 << 20
"""Bytes of one event: a release has less than one of them in sixty-four."""
ALLOWED: Final = "the address of a page, such as http://127.0.0.1:8000"
log = logging.getLogger("murmurate.subscribe")


@dataclass(frozen=True)
class ServerEvent:
    """One server-sent event."""

    data: bytes
    id: str | None = None


@dataclass
class FromServer:
    """A subscription at one address, through all its connections."""

    url: str
    stream: str | None
    last: int | None = None
    """How many of the releases that are there to begin with; all where left out."""
    heard: HeardReleases = field(default_factory=HeardReleases)
    unreadable: int = 0
    """How many events were no release."""
    _after: str = ""  # the id of the last event
    _again_s: float = AGAIN_S
    _retry_s: float = AGAIN_S
    _run: str | None = None  # which run's events are numbered, where it is no live deployment
    _events: int = 0

    async def read(self) -> AsyncIterator[Release]:
        """Releases as they come, until a run has ended. SubscriptionError where nobody answers at the beginning."""
        begun = False
        timeout = aiohttp.ClientTimeout(total=None, connect=30.0, sock_read=SILENCE_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                try:
                    async with session.get(self._address(), params=self._parameters(), headers=self._headers()) as got:
                        if got.status == 204:
                            return
                        if await self._may_follow(got):
                            begun, before = True, self._events
                            async for release in self._releases(got):
                                yield release
                            if self._run is not None and self._events == before:
                                return  # a run that has ended sends nothing to who comes back
                except (aiohttp.ClientError, TimeoutError, ConnectionError, ValueError) as error:
                    said = f"{self.url}: {_reason(error)}"
                    if not begun:
                        raise SubscriptionError(f"subscribe: {said}; allowed: {ALLOWED}") from None
                    log.warning("%s; trying again in %g s", said, self._again_s)
                await asyncio.sleep(self._again_s)
                self._again_s = min(2 * self._again_s, LATEST_S)

    def _address(self) -> str:
        path = "/v1/feed" if self.stream is None else f"/v1/streams/{self.stream}/releases"
        return self.url.rstrip("/") + path

    def _parameters(self) -> dict[str, str]:
        return {} if self.last is None or self._after else {"last": str(self.last)}

    def _headers(self) -> dict[str, str]:
        return {"Accept": "text/event-stream"} | ({"Last-Event-ID": self._after} if self._after else {})

    async def _may_follow(self, got: aiohttp.ClientResponse) -> bool:
        """Whether events follow; False where one has to ask again later."""
        if got.status == 200 and got.content_type == "text/event-stream":
            return True
        if got.status in (408, 429) or got.status >= 500:
            log.info("%s: status %d; trying again in %g s", self.url, got.status, self._again_s)
            return False
        try:
            line = str(orjson.loads(await got.content.read(1 << 16))["error"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            found = f"status {got.status}" if got.status != 200 else f"a {got.content_type}"
            raise SubscriptionError(f"subscribe: {self.url}: found {found}; allowed: {ALLOWED}") from None
        raise UsageError(f"subscribe: {self.url}: {line}")

    async def _releases(self, got: aiohttp.ClientResponse) -> AsyncIterator[Release]:
        """Those of one connection that were not heard before."""
        async for event in events(got.content, self._retry):
            self._again_s = self._retry_s
            self._events += 1
            release = self._read(event.data)
            run = None if event.id is None or "/" in event.id else event.id.partition("-")[0]
            if run is not None and run != self._run:
                self._run, self.heard = run, HeardReleases(missed=self.heard.missed)  # another run, which begins anew
            self._after = event.id or self._after
            if release is not None and self.heard.is_new(release):
                yield release

    def _retry(self, seconds: float) -> None:
        self._again_s = self._retry_s = seconds

    def _read(self, data: bytes) -> Release | None:
        try:
            said: Any = orjson.loads(data)
            if self.stream is None:
                if said.get("type") != "release":
                    return None
                data = orjson.dumps(said["release"])
            found = decode(data)
        except (orjson.JSONDecodeError, AttributeError, KeyError, WireError):
            found = None
        if not isinstance(found, Release):
            self.unreadable += 1
            return None
        return found


async def events(content: aiohttp.StreamReader, retry: Any = lambda seconds: None) -> AsyncIterator[ServerEvent]:
    """The events of a connection, of which the last one may have been cut off. retry: takes what the server says of
    coming back.
    """
    rest, data, which = b"", list[bytes](), None
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MOST:
            raise ValueError("found an event without an end")
        for line in (one.removesuffix(b"\r") for one in lines):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if not line:
                if data:
                    yield ServerEvent(b"\n".join(data), which)
                data, which = [], None
            elif name == b"data":
                data.append(value)
            elif name == b"id":
                which = value.decode(errors="replace")
            elif name == b"retry" and value.isdigit():
                retry(int(value) / 1000)


def _reason(error: BaseException) -> str:
    """What went wrong with a connection, in a few words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return os.strerror(number).lower() if number else "nobody answers"
    return f"{type(error).__name__}: {error}".removesuffix(": ")
