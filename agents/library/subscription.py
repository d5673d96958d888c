# SPDX-License-Identifier: Apache-2.0
"""`async for release in murmurate.subscribe(source, stream)`: releases from Kafka, from a page's server or from a file.

Contract: each release once, in the order of its stream, committed ones only; a source that goes away and comes back
leaves no gap.  What is asked for wrongly is refused when `subscribe` is called, where the source has to say so when
the first release is asked for.  Not here: each kind of source (from_kafka.py, from_http.py, from_file.py), where one
begins (wanted.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from murmurate.agents.library.given import GivenDeployment, deployment_of
from murmurate.agents.library.wanted import GivenSince, Since, WantedReleases
from murmurate.config.planning import plan as planned
from murmurate.config.settings import Deployment
from murmurate.errors import UsageError
from murmurate.topics.names import STREAM_PATTERN
from murmurate.topics.release import Release

SOURCES: Final = "kafka://HOST:PORT/DEPLOYMENT, http://HOST:PORT, a file or a folder of releases, or config= for Kafka"


def subscribe(
    source: str | os.PathLike[str] | None = None, stream: str | None = None, *, config: GivenDeployment | None = None,
    since: GivenSince = None, newest_only: bool = False, follow: bool = True,
) -> Subscription:  # fmt: skip
    """Releases as they come, for `async for`.

    source: kafka://HOST:PORT/DEPLOYMENT, the address of a page (http://HOST:PORT), a file of releases or the folder of
    a replay; with config alone the deployment's own brokers.  stream: all streams where it is left out.  config: a
    deployment file, for credentials on Kafka and to know the streams.  since: an instant, a release to go on after, or
    "last"; all that is kept where it is left out.  newest_only: of periods that were revised before one came, what
    counts.  follow: False ends with what is there, on Kafka and of a file.
    """
    deployment = None if config is None else deployment_of(config)
    if stream is not None and not (isinstance(stream, str) and re.fullmatch(STREAM_PATTERN, stream)):
        raise UsageError(f"stream: found {str(stream)[:64]!r}; allowed: {_streams(deployment)}")
    if deployment is not None and stream is not None and stream not in _named(deployment):
        raise UsageError(f"stream: found {stream!r}; allowed: {_streams(deployment)}")
    begins = Since.of(since, stream)
    address = None if source is None else os.fspath(source)
    if address is None and deployment is None:
        raise UsageError(f"subscribe: found neither a source nor config; allowed: {SOURCES}")
    if address is None or address.startswith("kafka:"):
        return _on_kafka(address, deployment, stream, begins, newest_only=newest_only, follow=follow)
    if address.startswith(("http://", "https://")):
        return _over_http(address, stream, begins, newest_only=newest_only, follow=follow)
    if re.match(r"[a-z][a-z0-9+.-]+://", address):
        raise UsageError(f"subscribe: found {address[:80]!r}; allowed: {SOURCES}")
    return _in_a_file(Path(address), stream, begins, newest_only=newest_only, follow=follow)


class Subscription(AsyncIterator[Release]):
    """Releases, one after the other. `async with` closes its connection at a time that one knows."""

    def __init__(self, said: str, releases: Callable[[Subscription], AsyncIterator[Release]]) -> None:
        self._said, self._releases = said, releases(self)
        self.last: Release | None = None
        """The release that came last: `since=` of a subscription that goes on where this one ended."""
        self.unreadable = 0
        """How many records were no release of this version; they were passed over."""
        self.missed: list[tuple[str, int, int]] = []
        """Periods that came while nobody listened and were no longer kept afterwards, over HTTP: stream, first, last.
        Kafka has them.
        """

    def __aiter__(self) -> Self:
        """Itself, which can be gone through once."""
        return self

    async def __anext__(self) -> Release:
        """The next release, as soon as it is there."""
        self.last = await anext(self._releases)
        return self.last

    async def aclose(self) -> None:
        """Let go of the connection."""
        close = getattr(self._releases, "aclose", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        """Where the releases come from."""
        return f"<Subscription to {self._said}>"


def _on_kafka(
    address: str | None, deployment: Deployment | None, stream: str | None, since: Since, *, newest_only: bool,
    follow: bool,
) -> Subscription:  # fmt: skip
    from murmurate.agents.kafka.followed import FollowedReleases
    from murmurate.agents.library.from_kafka import client_of, kafka_address, partitions

    given = None if address is None else kafka_address(address)
    if deployment is not None and given is not None and given.deployment != deployment.name:
        raise UsageError(f"subscribe: found deployment {given.deployment!r}; allowed: {deployment.name}, as in config")
    name = given.deployment if given is not None else deployment.name if deployment is not None else ""
    client = client_of(given, deployment)
    count = None if deployment is None else planned(deployment).tallies

    async def releases(this: Subscription) -> AsyncIterator[Release]:
        wanted = WantedReleases(since, newest_only=newest_only)
        places = await partitions(client, name, stream, count)
        of_all = since.last and stream is None  # the last one of each stream may stand anywhere
        reader = FollowedReleases(client, places, stream, patient=True)
        async for found in reader.read(1 if since.last and not of_all and not newest_only else None):
            this.unreadable = len(reader.unreadable)
            given = wanted.caught_up() if found is None else wanted.take(found[1])
            for release in given:
                yield release
            if found is None:
                if deployment is None:
                    _check_met(stream, reader.names)
                if not follow:
                    return

    return Subscription(f"{stream or 'all streams'} of {name} on Kafka", releases)


def _over_http(url: str, stream: str | None, since: Since, *, newest_only: bool, follow: bool) -> Subscription:
    from murmurate.agents.library.from_http import FromServer

    if not follow:
        raise UsageError("follow: found False with an address; allowed: True, or a source on Kafka or in a file")
    if since.last and stream is None:
        raise UsageError('since: found "last" of all streams with an address; allowed: with a stream')

    async def releases(this: Subscription) -> AsyncIterator[Release]:
        wanted = WantedReleases(Since() if since.last else since, newest_only=newest_only)
        list(wanted.caught_up())  # a server does not say where the past ends
        server = FromServer(url, stream, last=1 if since.last else None)
        async for found in server.read():
            this.unreadable, this.missed = server.unreadable, server.heard.missed
            for release in wanted.take(found):
                yield release

    return Subscription(f"{stream or 'all streams'} at {url}", releases)


def _in_a_file(path: Path, stream: str | None, since: Since, *, newest_only: bool, follow: bool) -> Subscription:
    from murmurate.agents.library.from_file import from_file

    async def releases(this: Subscription) -> AsyncIterator[Release]:
        wanted, names, first = WantedReleases(since, newest_only=newest_only), set[str](), True
        async for found in from_file(path, follow=follow):
            given: Any = ()
            if found is None:
                given = wanted.caught_up() if first else ()
            else:
                names.add(found.stream)
                given = wanted.take(found) if stream in (None, found.stream) else ()
            for release in given:
                yield release
            if found is None and first:
                first = False
                _check_met(stream, names)

    return Subscription(f"{stream or 'all streams'} in {path}", releases)


def _check_met(stream: str | None, names: set[str]) -> None:
    """Refuse a stream of which there is nothing where there are others."""
    if stream is not None and names and stream not in names:
        raise UsageError(f"stream: found no release of {stream!r}; allowed: {', '.join(sorted(names))}")


def _named(deployment: Deployment) -> list[str]:
    return [one.name for one in planned(deployment).everything]


def _streams(deployment: Deployment | None) -> str:
    """Which streams may be named."""
    return "a stream's name" if deployment is None else ", ".join(_named(deployment))
