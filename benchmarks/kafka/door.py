"""The door of an edge worker, JSON events to raw blocks, beside a bare Faust agent that is given the same events."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import orjson

from benchmarks.kafka.site import Site
from benchmarks.measure import Row, at_least, short
from murmurate.agents.stages.stage import Log, Out
from murmurate.topics.codec import encode
from murmurate.topics.messages import Tick

EVENTS, PEER_EVENTS, USERS, PERIODS, DOMAIN = 600_000, 60_000, 30_000, 20, 16
PARTITIONS = 4


async def rows(bootstrap: str, runs: int) -> AsyncIterator[Row]:
    found = [await run(bootstrap) for _ in range(runs)]
    best, middle = max(found), sorted(found)[len(found) // 2]
    yield at_least("door, JSON events", best[0], 150e3)
    yield Row("  the middle run", f"{short(middle[0])}/s", f"of {runs}", True)
    yield Row("  a second of CPU", f"{short(max(one[1] for one in found))}/s", "", True)
    yield Row("  bare Faust agent", f"{short(max(one[2] for one in found))}/s", "", True)
    yield Row("  a second of CPU", f"{short(max(one[3] for one in found))}/s", "", True)


async def run(bootstrap: str) -> tuple[float, float, float, float]:
    """Events a second and a second of CPU: ours, and Faust's."""
    async with Site(bootstrap, partitions=PARTITIONS, targets=2, domain=DOMAIN) as site:
        await site.write_events(events(site))
        topic = site.stream.topic
        tick = Tick(topic=topic, partition=0, time=site.at(PERIODS), end=EVENTS)
        await site.write([Out(Log("ticks", 0), encode(tick))])
        worker = site.worker("edge", until=("door", PARTITIONS))  # progress for each raw partition comes last
        await worker.ready()
        mine = (await worker.said())["door"]
        peer = await site.process("agent", topic=topic, count=PEER_EVENTS).said()
        return (
            EVENTS / (mine["last"] - mine["live"]), EVENTS / mine["cpu_s"],
            PEER_EVENTS / peer["seconds"], PEER_EVENTS / peer["cpu_s"],
        )  # fmt: skip


def events(site: Site) -> list[bytes]:
    """In nearly the order of their times."""
    chance, found = np.random.default_rng(1), list[bytes]()
    users, values = chance.integers(0, USERS, EVENTS), chance.integers(0, DOMAIN, EVENTS)
    times = site.at(0) + np.arange(EVENTS) * (PERIODS * 1000 - 500) // EVENTS + chance.integers(0, 300, EVENTS)
    for user, time, value in zip(users.tolist(), times.tolist(), values.tolist(), strict=True):
        found.append(orjson.dumps({"stream": "screen", "user": f"u-{user}", "time": time, "value": f"v{value}"}))
    return found
