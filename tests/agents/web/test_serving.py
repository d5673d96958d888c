# SPDX-License-Identifier: Apache-2.0
"""What a worker serves depends on its zones: raw-side metrics at the edge's own address, the page with the analysis."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import orjson
import pytest

from murmurate.agents.kafka.client import Client, Place
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.errors import AwayError
from murmurate.agents.kafka.release_reader import ReleaseReader
from murmurate.agents.kafka.skew import Skew
from murmurate.agents.kafka.topic_watch import TopicWatch
from murmurate.agents.kafka.worker import Worker
from murmurate.agents.observe.health import Readiness
from murmurate.agents.observe.metrics import Metrics
from murmurate.agents.page_header import page_header
from murmurate.agents.web import serving
from murmurate.agents.web.errors import ListenError
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.serving import Serving, announce, serve_waiting, serve_worker, show
from murmurate.config.settings import Deployment
from murmurate.topics.codec import decode
from murmurate.topics.names import Zone
from murmurate.topics.release import Release
from tests.agents.observe.driven import NOW, ran
from tests.agents.world import deployment

PLAN = deployment()
SOURCE = Place("app.clicks", 1)
RIGHT = SimpleNamespace(wrong=None, skew=Skew(-2, 3), bound_ms=1000)
Talk = Callable[[Serving, aiohttp.ClientSession], Awaitable[None]]


@cache
def released() -> list[Release]:
    """What an embedded run releases."""
    return [cast(Release, decode(record)) for record in ran(PLAN).releases()]


class Scripted:
    """Instead of the topic: each iteration gives the next releases, or fails."""

    def __init__(self, *turns: Sequence[Release] | Exception) -> None:
        self.turns = list(turns)

    async def __aiter__(self) -> AsyncIterator[Release]:
        turn = self.turns.pop(0) if self.turns else []
        if isinstance(turn, Exception):
            raise turn
        for release in turn:
            yield release
        if not self.turns:
            await asyncio.Event().wait()


def talk(zones: Sequence[Zone], scenario: Talk, monkeypatch: pytest.MonkeyPatch, **web: str) -> None:
    """Serve a worker of these zones that is not there, and let a reader ask."""
    monkeypatch.setattr(serving, "ReleaseReader", lambda *_, **__: Scripted(released()[:9]))

    async def run() -> None:
        ticks = SimpleNamespace(waits_s={SOURCE: 3.0}, ahead_ms={SOURCE: 7_200_000}, bounded=Counter({SOURCE: 1}))
        here: Any = SimpleNamespace(zones=tuple(zones), owners={}, ready=True, clock=RIGHT, places={})
        here.doors = SimpleNamespace(ticks=ticks) if "edge" in zones else None
        worker = cast(Worker, here)
        listen = SimpleNamespace(**({"listen": "127.0.0.1:0", "edge": "127.0.0.1:0"} | web))
        made: Any = SimpleNamespace(web=listen, time=SimpleNamespace(clock="wall"))
        metrics = Metrics(PLAN, zones, now_ms=lambda: NOW)
        client = Client(Access(("localhost:1",)))
        running = await serve_worker(
            worker, cast(Deployment, made), PLAN, client, metrics, TopicWatch(client, PLAN, zones)
        )
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as session:
                await scenario(running, session)
        finally:
            await asyncio.wait_for(running.stop(), 30)

    asyncio.run(run())


@pytest.mark.parametrize(("zones", "servers"), [(("edge",), 2), (("mixing", "analysis"), 1)])
def test_a_worker_that_waits_for_brokers_lives_and_is_not_ready(zones: tuple[Zone, ...], servers: int) -> None:
    async def run() -> None:
        made: Any = SimpleNamespace(web=SimpleNamespace(listen="127.0.0.1:0", edge="127.0.0.1:0"))
        waiting = await serve_waiting(cast(Deployment, made), zones)
        try:
            assert len(waiting.servers) == servers
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as session:
                for server in waiting.servers:
                    async with session.get(f"{server.url}/healthz") as answer:
                        assert answer.status == 200
                    async with session.get(f"{server.url}/readyz") as answer:
                        assert (answer.status, (await answer.json())["waiting"]) == (503, ["brokers"])
        finally:
            await waiting.stop()

    asyncio.run(run())


def test_a_mixing_worker_has_metrics_and_health_and_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(running: Serving, session: aiohttp.ClientSession) -> None:
        (server,) = running.servers
        for path, status in (("/metrics", 200), ("/healthz", 200), ("/readyz", 200), ("/", 404), ("/v1/feed", 404)):
            async with session.get(server.url + path) as answer:
                assert answer.status == status, path

    talk(["mixing"], scenario, monkeypatch)


def test_edge_metrics_are_at_the_edges_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(running: Serving, session: aiohttp.ClientSession) -> None:
        public, edge = running.servers
        async with session.get(public.url + "/metrics") as answer:
            assert answer.content_type == "text/plain"
            assert "murmurate_info" in await answer.text()
        async with session.get(edge.url + "/metrics") as answer:
            assert "murmurate_info" in await answer.text()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        async with session.get(edge.url + "/none") as answer:
            assert answer.status == 404
            assert (await answer.json())["error"].endswith("allowed: /, /healthz, /readyz, /metrics")
        async with session.get(public.url + "/") as answer:
            assert answer.status == 404

    talk(["edge"], scenario, monkeypatch)


def test_the_edges_page_tells_of_late_events_and_clocks_and_no_other_does(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(running: Serving, session: aiohttp.ClientSession) -> None:
        public, edge = running.servers
        async with session.get(edge.url + "/") as answer:
            assert answer.content_type == "text/html"
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            page = await answer.text()
        assert "<tr><td>app.clicks 1</td><td>3 s</td><td>7200 s</td></tr>" in page
        assert "This machine's clock is ahead of the brokers' by -0.002 to 0.003 s." in page
        assert "<script" not in page
        async with session.get(edge.url + "/metrics") as answer:
            edges = await answer.text()
        async with session.get(public.url + "/metrics") as answer:
            shown = await answer.text()
        assert 'murmurate_door_ahead_seconds{partition="1",topic="app.clicks"} 7200.0' in edges
        assert 'murmurate_ticks_bounded{partition="1",topic="app.clicks"} 1.0' in edges
        assert 'murmurate_tick_waits_seconds{partition="1",topic="app.clicks"} 3.0' in edges
        for everywhere in (edges, shown):
            assert "murmurate_clock_skew_seconds 0.0" in everywhere
            assert "murmurate_clock_skew_limit_seconds 1.0" in everywhere
        assert "app.clicks" not in shown

    talk(["edge"], scenario, monkeypatch)


def test_an_analysis_worker_serves_the_releases_of_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(running: Serving, session: aiohttp.ClientSession) -> None:
        (server,) = running.servers
        wanted = [release for release in released()[:9] if release.stream == "screen"][-2:]
        async with session.get(server.url + "/v1/streams/screen/releases?last=2") as answer:
            lines: list[bytes] = []
            while len(lines) < len(wanted):
                line = await answer.content.readline()
                lines += [line[6:].strip()] if line.startswith(b"data: ") else []
        assert [orjson.loads(line) for line in lines] == [orjson.loads(one.canonical()) for one in wanted]

    talk(["analysis"], scenario, monkeypatch)


def test_any_name_is_answered_where_one_listens_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(running: Serving, session: aiohttp.ClientSession) -> None:
        for host in ("murmurate.example", "analysis:8000", "10.0.0.7"):
            async with session.get(running.servers[0].url + "/readyz", headers={"Host": host}) as answer:
                assert answer.status == 200, host

    talk(["analysis"], scenario, monkeypatch, listen="0.0.0.0:0")


def test_a_taken_edge_address_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(running: Serving, session: aiohttp.ClientSession) -> None:
        raise AssertionError

    with pytest.raises(ListenError, match="allowed: a free port"):
        talk(["edge"], scenario, monkeypatch, edge="192.0.2.1:0")


def test_a_log_line_says_when_a_worker_becomes_ready(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serving, "LOOK_S", 0.0)
    turns = [False, True, True, False, True]

    def probe() -> Readiness:
        if not turns:
            raise asyncio.CancelledError
        ready = turns.pop(0)
        return Readiness(ready, {"ready": ready, "zones": ["mixing"], "partitions": {"shuffle": 2}})

    with caplog.at_level("INFO", "murmurate"), pytest.raises(asyncio.CancelledError):
        asyncio.run(announce(probe))
    assert [record.message for record in caplog.records] == ["ready", "ready"]
    assert vars(caplog.records[0])["partitions"] == {"shuffle": 2}


def test_an_analysis_worker_logs_at_the_start_what_each_stream_needs_and_no_other_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def nothing(running: Serving, session: aiohttp.ClientSession) -> None:
        pass

    with caplog.at_level("INFO", logger="murmurate.web"):
        talk(("edge", "mixing"), nothing, monkeypatch)
        assert not any("a release needs" in said for said in caplog.messages)
        talk(("analysis",), nothing, monkeypatch)
    found = [said for said in caplog.messages if "a release needs 8 reports" in said]
    assert [said.split(":")[0] for said in found] == [stream.name for stream in PLAN.streams]


def test_a_topic_that_is_away_for_a_while_is_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "AGAIN_S", 0.0)
    all_of_them = released()

    async def run() -> None:
        feed = Feed()
        feed.put(page_header(PLAN, "live"))
        follow = Scripted(all_of_them[:3], AwayError("brokers: away"), all_of_them[3:6])
        task = asyncio.create_task(show(cast(ReleaseReader, follow), PLAN, feed))
        while feed.last < 7:
            await asyncio.sleep(0)
        task.cancel()
        frames = feed.frames()
        assert frames[0]["mode"] == "live"
        assert [frame["release"]["t"] for frame in frames[1:]] == [release.t for release in all_of_them[:6]]
        assert {frame["truth"] for frame in frames[1:]} == {None}

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_release_of_an_older_config_is_not_drawn() -> None:
    first = next(release for release in released() if release.stream == "screen")
    renamed = {f"old {name}": value for name, value in first.estimate.items()}
    old = first.model_copy(update={"estimate": renamed})

    async def run() -> None:
        feed = Feed()
        feed.put(page_header(PLAN, "live"))
        task = asyncio.create_task(show(cast(ReleaseReader, Scripted([old, first])), PLAN, feed))
        while feed.last < 2:
            await asyncio.sleep(0)
        task.cancel()
        assert [frame["release"]["estimate"] for frame in feed.frames()[1:]] == [dict(first.estimate)]

    asyncio.run(asyncio.wait_for(run(), 20))
