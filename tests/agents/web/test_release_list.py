# SPDX-License-Identifier: Apache-2.0
"""Releases as plain JSON beside the event stream, polled without gap or double; HEAD wherever GET is."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from murmurate.agents.web.errors import QueryError
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.release_list import MOST, NEWEST, release_list
from murmurate.agents.web.shaped import asked_shape
from tests.agents.web.frames import hello
from tests.agents.web.test_server import RECORDS, RUN, talk

ADDRESS = "/v1/streams/screen/releases"
AS_IT_IS = asked_shape({})


def live(count: int, *, keep: int = 1 << 16, first: int = 0) -> Feed:
    """The feed of a live deployment, after so many releases."""
    feed = Feed(keep=keep)
    feed.put(hello(mode="live"))
    for i in range(first, count):
        feed.put({"type": "release", "release": RECORDS[0] | {"t": 100 + i}, "truth": None})
    return feed


def listed(feed: Feed, **asked: Any) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(
        release_list(feed, "screen", asked.get("last"), asked.get("since"), asked.get("shape", AS_IT_IS))
    )
    assert set(found) == {"stream", "next", "more", "releases"}
    return found


def test_the_same_address_gives_json_to_those_who_ask_for_it_and_events_to_the_others() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        for query, accept, wanted in (
            ("?format=json", "*/*", "application/json"), ("", "application/json", "application/json"),
            ("?format=json", "text/event-stream", "application/json"), ("", "*/*", "text/event-stream"),
            ("?format=events", "application/json", "text/event-stream"),
            ("", "text/event-stream, application/json", "text/event-stream"),
        ):  # fmt: skip
            async with session.get(ADDRESS + query, headers={"Accept": accept}) as answer:
                assert (answer.status, answer.content_type) == (200, wanted), (query, accept)
                assert answer.headers["Vary"] == "Accept"
                if wanted == "application/json":
                    found = await answer.json()
                    assert (found["stream"], found["releases"]) == ("screen", RECORDS[-NEWEST:])
                    assert "truth" not in await answer.text()

    talk(scenario)


def test_last_and_since_and_the_shapes_of_estimates_say_which_and_how() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async def found(query: str) -> list[dict[str, Any]]:
            async with session.get(f"{ADDRESS}?format=json&{query}") as answer:
                assert answer.status == 200, await answer.text()
                return list((await answer.json())["releases"])

        middle = RECORDS[len(RECORDS) // 2]["start"]
        later = [record for record in RECORDS if record["start"] >= middle]
        assert await found("last=3") == RECORDS[-3:]
        assert await found("last=0") == []
        assert await found(f"since={middle}") == later
        assert await found(f"since={middle}&last=2") == later[-2:]
        assert await found("since=2999-01-01T00:00:00Z") == []
        assert (await found("last=1&for=top-k&k=2"))[0]["read"] == {"for": "top-k", "by": "norm"}

    talk(scenario)


@pytest.mark.parametrize(
    "query",
    ["format=xml", "format=json&format=json", "since=2026-11-18T09:00:00Z", "format=json&since=yesterday",
     "format=json&since=", "format=json&since=2026-11-18", "format=json&last=x", "format=json&first=1"],
)  # fmt: skip
def test_what_cannot_be_asked_is_told_what_is_allowed(query: str) -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.get(f"{ADDRESS}?{query}") as answer:
            assert answer.status == 400
            assert "allowed: " in (await answer.json())["error"]

    talk(scenario)


def pages(feed: Feed, since: str | None) -> Iterator[list[int]]:
    """What one gets who asks until there is no more."""
    while True:
        found = listed(feed, since=since)
        yield [release["t"] for release in found["releases"]]
        if not found["more"]:
            return
        since = found["next"]


def test_who_polls_gets_every_release_once() -> None:
    feed = live(MOST + 7)
    first = listed(feed, last=0)
    assert (first["releases"], first["next"]) == ([], f"screen/{100 + MOST + 6}/1")
    assert [len(page) for page in pages(feed, "screen/100/1")] == [MOST, 6]
    assert [t for page in pages(feed, "screen/100/1") for t in page] == [100 + i for i in range(1, MOST + 7)]
    nothing_new = listed(feed, since=first["next"])
    assert (nothing_new["releases"], nothing_new["next"]) == ([], first["next"])
    feed.put({"type": "release", "release": RECORDS[0] | {"t": 5000}, "truth": None})
    assert [release["t"] for release in listed(feed, since=first["next"])["releases"]] == [5000]


def test_a_place_is_good_at_any_worker_and_one_that_is_no_longer_kept_gives_all_that_is() -> None:
    assert listed(live(20), since="screen/130/1")["releases"] == []  # this worker is behind
    assert listed(live(20), since="screen/130/1")["next"] == "screen/130/1"
    kept = listed(live(60, first=40), since="screen/110/1")["releases"]
    assert [release["t"] for release in kept] == [100 + i for i in range(40, 60)]
    run = Feed()
    for frame in RUN:
        run.put(frame)
    whole = listed(run, last=5)
    assert listed(run, since=whole["next"])["releases"] == []
    with pytest.raises(QueryError, match="since"):
        listed(run, since="0badcafe-7")


def test_a_stream_without_a_release_has_an_empty_list_and_no_place() -> None:
    assert listed(live(0)) == {"stream": "screen", "next": None, "more": False, "releases": []}


def test_head_has_the_answer_of_get_without_its_body() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        paths = ("/", "/app.js", "/style.css", "/healthz", ADDRESS, f"{ADDRESS}?format=json", "/v1/feed", "/x.js")
        for path in (*paths, "/query?q=share of screen.help over all", "/query?q=nothing", "/favicon.ico"):
            async with session.head(path) as head, session.get(path) as get:
                assert (head.status, head.content_type) == (get.status, get.content_type), path
                assert await head.read() == b""
                if get.content_type != "text/event-stream":
                    assert head.headers.get("Content-Length") == get.headers.get("Content-Length")

    talk(scenario)


def test_head_of_an_event_stream_that_goes_on_ends_at_once() -> None:
    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async with session.head("/v1/feed") as answer:
            assert (answer.status, answer.content_type) == (200, "text/event-stream")

    talk(scenario, frames=5)


def test_the_program_of_the_page_gets_every_release_once() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "SUBSCRIBING.md").read_text(encoding="utf-8")
    (block,) = [
        text for text in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if "newer" in text
    ]
    names: dict[str, Any] = {}
    exec(compile(block, "SUBSCRIBING.md", "exec"), names)  # noqa: S102 - our own page

    async def scenario(session: aiohttp.ClientSession, feed: Feed) -> None:
        async def found(place: str | None) -> tuple[list[dict[str, Any]], str | None]:
            url = str(session._base_url).rstrip("/")
            return await asyncio.to_thread(names["newer"], url, "screen", place)

        first, place = await found(None)
        assert first == RECORDS[-NEWEST:]
        assert await found(place) == ([], place)

    talk(scenario)
