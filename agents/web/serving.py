# SPDX-License-Identifier: Apache-2.0
"""What a worker shows over HTTP: its servers by zone, and the page that follows the releases topic.

Contract: the public server has metrics without any raw-side fact, and the page where the analysis zone is present;
all metrics are served at the edge's own address, by edge workers alone (ARCHITECTURE rule 9).  Whatever goes wrong here
once it serves is logged and tried again: nobody's statistics depend on it.  Not here: what is counted (observe/).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from functools import partial

import orjson

from murmurate.agents.kafka.client import Client
from murmurate.agents.kafka.errors import BrokerError
from murmurate.agents.kafka.release_reader import ReleaseReader
from murmurate.agents.kafka.topic_watch import TopicWatch
from murmurate.agents.kafka.worker import Worker
from murmurate.agents.observe.clock_gauges import SkewGauges, TickGauges
from murmurate.agents.observe.health import Probe, Readiness, readiness
from murmurate.agents.observe.metrics import Metrics
from murmurate.agents.observe.standstill import Standstill, StandstillGauges
from murmurate.agents.page_header import page_header
from murmurate.agents.web.edge_page import edge_page
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer, serve
from murmurate.config.enough import needs
from murmurate.config.plan import Plan
from murmurate.config.settings import Deployment
from murmurate.topics.names import Zone
from murmurate.topics.release import Release

AGAIN_S = 5.0
LOOK_S = 0.25
HISTORY = 2_000
"""How many releases of each partition the page begins with."""
KEPT = 1 << 13
"""How many releases of all streams together the page keeps."""
log = logging.getLogger("murmurate.web")


@dataclass(frozen=True, slots=True)
class Serving:
    """The servers that run beside a worker until they are stopped."""

    servers: tuple[RunningServer, ...]
    """The public one; of an edge worker its own after it."""
    tasks: tuple[asyncio.Task[None], ...]

    async def stop(self) -> None:
        """Follow no more, end every stream, close the ports."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for server in self.servers:
            await server.stop()


async def serve_worker(
    worker: Worker, deployment: Deployment, plan: Plan, client: Client, metrics: Metrics, watched: TopicWatch
) -> Serving:
    """Serve what belongs to a worker's zones, before it runs. ListenError if an address cannot be had."""
    metrics.fed = deployment.time.clock == "feed"
    still = Standstill(worker, metrics, watched)
    metrics.add(StandstillGauges(still, edge=False), edge=False)
    metrics.add(StandstillGauges(still, edge=True), edge=True)
    metrics.add(SkewGauges(worker.clock), edge=False)
    if worker.doors is not None:
        metrics.add(TickGauges(worker.doors), edge=True)
    ready = partial(readiness, worker, still)
    feed = Feed(keep=KEPT) if "analysis" in worker.zones else None
    host, port = address(deployment.web.listen)
    servers = [await serve(feed, host, port, metrics=metrics.public, ready=ready)]
    if "edge" in worker.zones:
        host, port = address(deployment.web.edge)
        page = partial(edge_page, worker, metrics)
        try:
            servers.append(await serve(None, host, port, metrics=metrics.edge, ready=ready, edge_page=page))
        except BaseException:
            await servers[0].stop()
            raise
    works: list[Coroutine[object, object, None]] = [metrics.refresh(client), announce(ready), still.run(client)]
    if feed is not None:
        for stream in plan.streams:  # from the plan alone; how many there are, releases say (agents/shortage.py)
            log.info("%s: %s", stream.name, needs(plan, stream))
        times = {"clock": deployment.time.clock, "lateness_ms": plan.lateness_ms}  # for when a release is late
        feed.put(page_header(plan, "live") | times)
        works.append(show(ReleaseReader(client, plan.name, plan.tallies, history=HISTORY), plan, feed))
    log.info("serving", extra={"at": [server.url for server in servers]})
    return Serving(tuple(servers), tuple(asyncio.create_task(work) for work in works))


async def announce(probe: Probe) -> None:
    """A log line whenever a worker becomes ready, until cancelled."""
    before = False
    while True:
        found = probe()
        if found.ready and not before:
            log.info("ready", extra={key: value for key, value in found.said.items() if key != "ready"})
        before = found.ready
        await asyncio.sleep(LOOK_S)


async def serve_waiting(deployment: Deployment, zones: Iterable[Zone]) -> Serving:
    """Where a worker will serve, while it waits for brokers: it lives, and is not ready."""
    here = list(zones)
    addresses = [deployment.web.listen, *([deployment.web.edge] if "edge" in here else [])]
    waiting = Readiness(False, {"ready": False, "zones": here, "waiting": ["brokers"]})
    servers = [await serve(None, *address(listen), ready=lambda: waiting) for listen in addresses]
    return Serving(tuple(servers), ())


async def show(follow: ReleaseReader, plan: Plan, feed: Feed) -> None:
    """Every release of a deployment on its page, until cancelled; a failure is logged and tried again."""
    measures = {stream.name: stream.measure for stream in plan.everything}
    while True:
        try:
            async for release in follow:
                of = measures.get(release.stream)
                if of is not None and of.fits(release.estimate):  # those of older configs stand there too
                    feed.put(frame(release))
        except BrokerError as error:
            log.warning("the page follows no releases: %s", error)
        await asyncio.sleep(AGAIN_S)


def frame(release: Release) -> dict[str, object]:
    """A release as the page takes it, as its record says it. Never with a truth: that would be raw data."""
    return {"type": "release", "release": orjson.loads(release.canonical()), "truth": None}


def address(text: str) -> tuple[str, int]:
    """Host and port of an address: "127.0.0.1:8000", "[::1]:8000".

    >>> address("[::]:8000"), address("localhost:0")
    (('::', 8000), ('localhost', 0))
    """
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)
