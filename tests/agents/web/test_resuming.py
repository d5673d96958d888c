# SPDX-License-Identifier: Apache-2.0
"""A reader of a live deployment goes on at another worker: nothing is missing, nothing comes twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import aiohttp
import orjson
import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.release_id import release_id
from murmurate.agents.web.server import serve
from tests.agents.web.frames import hello, releases

LAG = 3
"""How many periods later a period is revised."""


def said(stream: str, t: int, revision: int, like: dict[str, Any]) -> dict[str, Any]:
    return {"type": "release", "release": like | {"stream": stream, "t": t, "revision": revision}, "truth": None}


def topic(periods: int = 12) -> list[dict[str, Any]]:
    """The releases topic: two streams, one of which is revised, as every worker reads it."""
    like, found = next(iter(releases(periods=1)))["release"], []
    for t in range(100, 100 + periods):
        found.append(said("screen", t, 1, like))
        if t >= 100 + LAG:
            found.append(said("screen", t - LAG, 2, like))
        if t % 2:
            found.append(said("fare", t // 2, 1, like))
    return found


def worker(frames: Sequence[dict[str, Any]]) -> Feed:
    feed, (screen,) = Feed(), hello()["streams"]
    feed.put(hello(mode="live", streams=[screen, screen | {"name": "fare"}]))
    for frame in frames:
        feed.put(frame)
    return feed


def ids(frames: Sequence[dict[str, Any]]) -> list[str]:
    return ["{stream}/{t}/{revision}".format_map(frame["release"]) for frame in frames]


async def read(feed: Feed, count: int, last: str = "", stream: str = "") -> list[str | None]:
    """The ids of the next frames, as many as should come."""
    found, follower = list[str | None](), feed.follow(0, stream, feed.seen(last))
    if count:
        async for frame in follower:
            found.append(feed.identity(frame))
            if len(found) == count:
                break
    return found


ALL = topic()


@pytest.mark.parametrize("at", range(len(ALL)))
def test_from_every_place_and_with_however_much_history_a_reader_goes_on_where_it_was(at: int) -> None:
    for begins in range(at + 1):
        rest = ids(ALL[at + 1 :])
        assert asyncio.run(read(worker(ALL[begins:]), len(rest), ids(ALL)[at])) == rest


def test_where_the_place_is_no_longer_kept_everything_comes_that_is() -> None:
    for at in (0, 6):  # a release and a revision
        kept = ALL[at + 5 :]
        assert asyncio.run(read(worker(kept), len(kept), ids(ALL)[at])) == ids(kept)


@pytest.mark.parametrize("at", range(len(ALL) - 1))
def test_a_worker_that_is_behind_sends_nothing_until_it_has_caught_up(at: int) -> None:
    async def scenario() -> list[str | None]:
        feed, wanted = worker([]), len(ALL) - at - 1
        reading = asyncio.create_task(read(feed, wanted, ids(ALL)[at]))
        for frame in ALL:
            await asyncio.sleep(0)
            feed.put(frame)
        return await asyncio.wait_for(reading, 20)

    assert asyncio.run(scenario()) == ids(ALL[at + 1 :])


def test_over_http_a_stream_and_all_of_them_are_resumed_at_another_worker() -> None:
    async def events(session: aiohttp.ClientSession, url: str, count: int, last: str = "") -> list[tuple[str, Any]]:
        found = list[tuple[str, Any]]()
        headers = {"Last-Event-ID": last} if last else {}
        async with session.get(url, headers=headers) as answer:
            block = dict[str, str]()
            async for line in answer.content:
                name, _, value = line.decode().strip().partition(": ")
                block |= {name: value} if name else {}
                if not name and "data" in block:
                    found.append((block.get("id", ""), orjson.loads(block["data"])))
                if not name:
                    block = {}
                if len(found) == count:
                    break
        return found

    async def scenario() -> None:
        one, two = [await serve(worker(frames), "127.0.0.1", 0) for frames in (ALL[:9], ALL[2:])]
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as session:
                for path, frames in (("v1/feed", ALL), ("v1/streams/screen/releases", ALL)):
                    mine = [f for f in frames if path == "v1/feed" or f["release"]["stream"] == "screen"]
                    early = [f for f in mine if f in ALL[:9]]
                    heads = 1 if path == "v1/feed" else 0
                    before = await events(session, f"{one.url}/{path}", heads + len(early))
                    assert [i for i, _ in before] == [""] * heads + ids(early)
                    after = await events(session, f"{two.url}/{path}", len(mine) - len(early), before[-1][0])
                    assert [i for i, _ in before + after][heads:] == ids(mine)
                    strange = await events(session, f"{two.url}/{path}", 1, "nobody/7/1")
                    assert strange[0][0] == ("" if heads else next(i for i in ids(ALL[2:]) if i.startswith("screen/")))
        finally:
            await one.stop()
            await two.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("text", ["", "screen", "screen/7", "screen/-7/1", "Screen/7/1", "screen/7/1/2", "screen/²/1"])
def test_what_is_no_id_is_none(text: str) -> None:
    assert release_id(text) is None
