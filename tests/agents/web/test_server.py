# SPDX-License-Identifier: Apache-2.0
"""The server answers GET and nothing else, resumes a reader, and says in one line what is allowed."""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import orjson
import pytest

from murmurate.agents.web.errors import ListenError
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import FILES, serve
from tests.agents.web.frames import hello, whole_run

RUN = list(whole_run(periods=20))
RECORDS = [frame["release"] for frame in RUN if frame["type"] == "release"]
Talk = Callable[[aiohttp.ClientSession, Feed], Awaitable[None]]


def talk(scenario: Talk, *, frames: int | None = None, heartbeat_s: float = 15.0) -> None:
    """Run a scenario against a server whose feed has the run's first frames."""

    async def run() -> None:
        feed = Feed()
        for frame in RUN[:frames]:
            feed.put(frame)
        running = await serve(feed, "127.0.0.1", 0, heartbeat_s=heartbeat_s)
        try:
            async with aiohttp.ClientSession(running.url, timeout=aiohttp.ClientTimeout(20)) as session:
                await scenario(session, feed)
        finally:
            await running.stop()

    asyncio.run(run())


def events(text: str) -> list[tuple[str, bytes]]:
    """(id, data) of each server-sent event."""
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in text.split("\n\n") if "data:" in block
    ]
    return [(block["id"], block["data"].encode()) for block in blocks]


def test_the_feed_is_every_frame_and_then_ends() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.get("/v1/feed") as answer:
            assert answer.content_type == "text/event-stream"
            assert [orjson.loads(data) for _, data in events(await answer.text())] == feed.frames()

    talk(scenario)


def test_a_reader_that_comes_back_gets_what_it_missed_and_nothing_twice() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.get("/v1/feed") as answer:
            seen = events(await answer.text())
        async with session.get("/v1/feed", headers={"Last-Event-ID": seen[4][0]}) as answer:
            again = [told for told in events(await answer.text()) if b"progress" not in told[1]]
        assert again == [told for told in seen[5:] if b'"progress"' not in told[1]]
        async with session.get("/v1/feed", headers={"Last-Event-ID": seen[-1][0]}) as answer:
            assert answer.status == 204
        for other in ("0badcafe-7", f"{feed.run}-x", f"{feed.run}-" + "9" * 400, "\u00b2"):
            async with session.get("/v1/feed", headers={"Last-Event-ID": other}) as answer:
                assert orjson.loads(events(await answer.text())[0][1])["type"] == "hello"

    talk(scenario)


def test_the_releases_of_a_stream_are_its_records_alone() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        for query, wanted in (("", RECORDS), ("?last=3", RECORDS[-3:]), ("?last=0", []), ("?last=65536", RECORDS)):
            async with session.get(f"/v1/streams/screen/releases{query}") as answer:
                text = await answer.text()
                assert [orjson.loads(data) for _, data in events(text)] == wanted
                assert "truth" not in text

    talk(scenario)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/streams/screen/releases?last=-1",
        "/v1/streams/screen/releases?last=1e3",
        "/v1/streams/screen/releases?last=65537",
        "/v1/streams/screen/releases?last=1&last=2",
        "/v1/streams/screen/releases?first=1",
        "/v1/streams/screen/releases?last=\u0661",
        "/v1/feed?last=1",
        "/v1/feed?for=best",
        "/v1/feed?for=top-k&for=point",
        "/v1/feed?for=top-k&k=0",
        "/v1/feed?for=subset&k=3",
        "/v1/feed?k=3",
    ],
)
def test_a_bad_query_is_told_what_is_allowed(path: str) -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.get(path) as answer:
            told = await answer.json()
            assert answer.status == 400
            assert "allowed: " in told["error"]
            assert "\n" not in told["error"]

    talk(scenario)


def test_estimates_are_shaped_for_the_question_and_nothing_else_changes() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.get("/v1/streams/screen/releases?for=top-k&k=2&last=3") as answer:
            shaped = [orjson.loads(data) for _, data in events(await answer.text())]
        for found, record in zip(shaped, RECORDS[-3:], strict=True):
            largest = sorted(record["estimate"], key=lambda name: -record["estimate"][name])[:2]
            assert {name for name, value in found["estimate"].items() if value is not None} == set(largest)
            assert found.pop("read") == {"for": "top-k", "by": "norm"}
            assert found | {"estimate": record["estimate"]} == record
        async with session.get("/v1/feed?for=arithmetic") as answer:
            frames = [orjson.loads(data) for _, data in events(await answer.text())]
        raw = [frame["release"] for frame in frames if frame["type"] == "release"]
        assert [one["estimate"] for one in raw] == [record["unbiased"] for record in RECORDS]
        assert all(error is None for one in raw for error in one["stderr"].values())
        assert all(frame["truth"] for frame in frames if frame["type"] == "release")

    talk(scenario)


def test_an_unknown_stream_is_told_the_known_ones() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.get("/v1/streams/no%2Fsuch/releases") as answer:
            assert answer.status == 404
            assert (await answer.json())["streams"] == ["screen"]

    talk(scenario)


def test_before_a_run_begins_a_reader_is_told_to_come_back() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.get("/v1/streams/screen/releases") as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")

    talk(scenario, frames=0)


def test_nothing_but_get_and_nothing_outside_the_page() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            for path in ("/", "/v1/feed", "/v1/streams/screen/releases", "/healthz"):
                async with session.request(method, path) as answer:
                    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
        for path in ("/server.py", "/static/app.js", "/..%2fserver.py", "/x.js", "/index.html"):
            async with session.get(path) as answer:
                assert answer.status == 404, path

    talk(scenario)


def test_every_answer_is_hardened_and_sets_no_cookie() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        files = [f"/{name}" for name in FILES if name != "index.html"]
        for path in ("/", "/healthz", "/v1/feed", "/none", "/v1/feed?x=1", "/favicon.ico", *files):
            async with session.get(path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy
                assert "unsafe" not in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert "Set-Cookie" not in answer.headers
        async with session.get("/healthz") as answer:
            assert await answer.json() == {"status": "ok"}

    talk(scenario)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8000", "10.0.0.1"])
def test_a_name_that_was_rebound_to_this_machine_reads_nothing(host: str) -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.get("/v1/feed", headers={"Host": host}) as answer:
            assert answer.status == 421
        for own in ("localhost", "127.0.0.1:8000", "[::1]:8000"):
            async with session.get("/healthz", headers={"Host": own}) as answer:
                assert answer.status == 200

    talk(scenario)


def test_a_silent_stream_has_a_heartbeat_and_a_stop_ends_it() -> None:
    async def scenario() -> None:
        feed = Feed()
        feed.put(hello())
        running = await serve(feed, "127.0.0.1", 0, heartbeat_s=0.05)
        async with aiohttp.ClientSession(running.url) as session, session.get("/v1/feed") as answer:
            while b"ping" not in await answer.content.readline():
                pass
            await asyncio.wait_for(running.stop(), 5)
            assert answer.content.at_eof() or await answer.content.read() is not None
        assert not feed._followers

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_a_taken_port_is_one_line() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        port = session._base_url.port if session._base_url else None
        assert port
        with pytest.raises(ListenError, match=rf"^web: cannot listen on 127.0.0.1:{port}: .*; allowed: .*$") as caught:
            await serve(Feed(), "127.0.0.1", port)
        assert "\n" not in str(caught.value)

    talk(scenario)


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("no such host", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_had_is_one_line(host: str, port: int) -> None:
    with pytest.raises(ListenError, match="allowed: a free port"):
        asyncio.run(serve(Feed(), host, port))
