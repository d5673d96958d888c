# SPDX-License-Identifier: Apache-2.0
"""Releases from a page's server: whoever goes away and comes back, or another worker in its place, leaves no gap and
sends nothing twice.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

import murmurate as mm
from murmurate.agents.library.errors import SubscriptionError
from murmurate.agents.web import server
from murmurate.agents.web.feed import Feed
from tests.agents.library.made import everything, ids, take, topic
from tests.agents.web.frames import hello

ALL = topic()
SCREEN = ids(ALL, "screen")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers ask for quick returns."""
    monkeypatch.setattr(server, "RETRY_MS", 5)


def worker(releases: Sequence[dict[str, Any]], mode: str = "live") -> Feed:
    feed, (screen,) = Feed(), hello()["streams"]
    feed.put(hello(mode=mode, streams=[screen, screen | {"name": "fare"}]))
    put(feed, releases)
    return feed


def put(feed: Feed, releases: Sequence[dict[str, Any]]) -> None:
    for one in releases:
        feed.put({"type": "release", "release": one, "truth": None})


@asynccontextmanager
async def served(feed: Feed, port: int = 0) -> AsyncIterator[str]:
    running = await server.serve(feed, "127.0.0.1", port)
    try:
        yield running.url
    finally:
        await running.stop()


@pytest.mark.parametrize("stream", ["screen", None])
def test_a_worker_that_goes_away_and_comes_back_leaves_no_gap_and_nothing_twice(stream: str | None) -> None:
    wanted = ids(ALL, stream)

    async def scenario() -> None:
        async with served(worker(ALL[:9])) as url:
            subscription = mm.subscribe(url, stream)
            early = await take(subscription, len(ids(ALL[:9], stream)))
        port = int(url.rpartition(":")[2])
        coming = asyncio.ensure_future(take(subscription, len(wanted) - len(early)))
        await asyncio.wait([coming], timeout=0.03)  # nobody answers
        feed = worker(ALL[2:5])  # another worker, with less history, that is behind
        async with served(feed, port):
            put(feed, ALL[5:])
            late = await asyncio.wait_for(coming, 20)
            await subscription.aclose()
        assert early + late == wanted
        assert subscription.missed == []

    asyncio.run(scenario())


def test_a_server_that_no_longer_keeps_the_place_sends_nothing_twice_and_what_is_lost_is_said() -> None:
    """One that begins at an overlap, and one that begins behind a hole."""

    async def heard(kept: int) -> tuple[list[str], list[tuple[str, int, int]]]:
        async with served(worker(ALL[:9])) as url:
            subscription = mm.subscribe(url, "screen")
            found = await take(subscription, len(ids(ALL[:9], "screen")))
        async with served(worker(ALL[kept:]), int(url.rpartition(":")[2])):
            while found[-1] != SCREEN[-1]:
                found += await asyncio.wait_for(take(subscription, 1), 20)
            await subscription.aclose()
        return found, subscription.missed

    assert asyncio.run(heard(5)) == (SCREEN, [])
    found, missed = asyncio.run(heard(20))
    assert found == ids(ALL[:9], "screen") + ids(ALL[20:], "screen")
    first = next(one["t"] for one in ALL[20:] if one["stream"] == "screen" and one["revision"] == 1)
    assert missed[-1] == ("screen", 105, first - 1)


def test_a_connection_that_breaks_within_an_event_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in front of the server ends connections after any number of bytes."""
    cuts = itertools.cycle([900, 2500, 4000, 1700])

    async def scenario() -> None:
        async with served(worker(ALL)) as behind:

            async def through(request: web.Request) -> web.StreamResponse:
                left, answer = next(cuts), web.StreamResponse(headers={"Content-Type": "text/event-stream"})
                await answer.prepare(request)
                headers = {k: v for k, v in request.headers.items() if k == "Last-Event-ID"}
                async with (
                    aiohttp.ClientSession() as session,
                    session.get(behind + request.path_qs, headers=headers) as got,
                ):
                    async for chunk in got.content.iter_any():
                        await answer.write(chunk[:left])
                        left -= len(chunk)
                        if left <= 0:
                            break
                assert request.transport is not None
                request.transport.abort()
                return answer

            app = web.Application()
            app.router.add_get("/{path:.*}", through)
            runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            try:
                subscription = mm.subscribe(f"http://127.0.0.1:{runner.addresses[0][1]}", "screen")
                assert await asyncio.wait_for(take(subscription, len(SCREEN)), 60) == SCREEN
                await subscription.aclose()
            finally:
                await runner.cleanup()

    asyncio.run(scenario())


def test_one_begins_with_the_last_release_at_an_instant_or_after_a_release() -> None:
    async def scenario() -> None:
        async with served(worker(ALL)) as url:
            async with mm.subscribe(url, "screen", since="last") as found:
                assert await take(found, 1) == SCREEN[-1:]
            async with mm.subscribe(url, "screen", since=ALL[9]["start"]) as found:
                late = [one for one in ALL if one["start"] >= ALL[9]["start"]]
                assert await take(found, len(ids(late, "screen"))) == ids(late, "screen")
            async with mm.subscribe(url, "screen", since=SCREEN[4]) as found:
                assert await take(found, len(SCREEN) - 5) == SCREEN[5:]
                assert found.last is not None
                assert found.last.id == SCREEN[-1]

    asyncio.run(scenario())


def test_a_run_that_has_ended_ends_the_releases() -> None:
    feed = worker(ALL, mode="replay")
    feed.put({"type": "done", "summary": {}})

    async def scenario() -> list[str]:
        async with served(feed) as url:
            return await asyncio.wait_for(everything(mm.subscribe(url, "screen")), 20)

    assert asyncio.run(scenario()) == SCREEN


def test_what_cannot_be_is_refused_in_a_line() -> None:
    async def first(source: str, stream: str | None = "screen", **options: Any) -> str:
        with pytest.raises((mm.UsageError, SubscriptionError)) as raised:
            await asyncio.wait_for(take(mm.subscribe(source, stream, **options), 1), 20)
        assert "\n" not in str(raised.value)
        return str(raised.value)

    async def scenario() -> None:
        async with served(worker(ALL)) as url:
            assert "found no stream of that name; allowed: screen, fare" in await first(url, "scren")
            assert "found no such page; allowed: /, /v1/feed" in await first(f"{url}/elsewhere")
            assert "with an address; allowed: True" in await first(url, follow=False)
            assert 'found "last" of all streams' in await first(url, None, since="last")
        assert ": connection refused; allowed: the address of a page" in await first(url)

    asyncio.run(scenario())
