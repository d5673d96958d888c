# SPDX-License-Identifier: Apache-2.0
"""The door of an edge worker, JSON events to raw blocks: single values beside a bare Faust agent that is given the same
events, and sets of items.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import numpy as np
import orjson

from benchmarks.kafka.site import Site
from benchmarks.measure import Row, at_least, short
from murmurate.agents.stages.stage import Log, Out
from murmurate.topics.codec import encode
from murmurate.topics.messages import Tick

EVENTS, PEER_EVENTS, USERS, PERIODS, DOMAIN = 600_000, 60_000, 30_000, 20, 16
PARTITIONS = 4
ITEMS, HELD = 1024, 5
"""Items that there are, and that each event holds."""
SETS = {"measure": "items", "items": ITEMS, "most": 8, "pad": 4}


async def rows(bootstrap: str, runs: int) -> AsyncIterator[Row]:
    found = [await run(bootstrap) for _ in range(runs)]
    best, middle = max(found), sorted(found)[len(found) // 2]
    yield at_least("door, JSON events", best[0], 150e3)
    yield Row("  the middle run", f"{short(middle[0])}/s", f"of {runs}", True)
    yield Row("  a second of CPU", f"{short(max(one[1] for one in found))}/s", "", True)
    yield Row("  bare Faust agent", f"{short(max(one[2] for one in found))}/s", "", True)
    yield Row("  a second of CPU", f"{short(max(one[3] for one in found))}/s", "", True)
    sets = [await of_sets(bootstrap) for _ in range(runs)]
    yield at_least(f"door, sets of {HELD}", max(sets)[0], 150e3)
    yield Row("  the middle run", f"{short(sorted(sets)[len(sets) // 2][0])}/s", f"of {runs}", True)
    yield Row("  a second of CPU", f"{short(max(cpu for _, cpu in sets))}/s", "", True)


async def of_sets(bootstrap: str) -> tuple[float, float]:
    """The same of events that hold sets: events a second, and a second of CPU."""
    chance = np.random.default_rng(2)
    held = np.sort(chance.integers(0, ITEMS - HELD, (EVENTS, HELD)), axis=1) + np.arange(HELD)  # each once
    async with Site(bootstrap, partitions=PARTITIONS, targets=2, declared=SETS) as site:
        return await through(site, events(site, held.tolist()))


async def run(bootstrap: str) -> tuple[float, float, float, float]:
    """Events a second and a second of CPU: ours, and Faust's."""
    async with Site(bootstrap, partitions=PARTITIONS, targets=2, domain=DOMAIN) as site:
        values = np.random.default_rng(2).integers(0, DOMAIN, EVENTS).tolist()
        mine = await through(site, events(site, (f"v{value}" for value in values)))
        peer = await site.process("agent", topic=site.stream.topic, count=PEER_EVENTS).said()
        return (*mine, PEER_EVENTS / peer["seconds"], PEER_EVENTS / peer["cpu_s"])


async def through(site: Site, written: list[bytes]) -> tuple[float, float]:
    """Events a second through an edge worker's door, and a second of CPU."""
    await site.write_events(written)
    tick = Tick(topic=site.stream.topic, partition=0, time=site.at(PERIODS), end=EVENTS)
    await site.write([Out(Log("ticks", 0), encode(tick))])
    worker = site.worker("edge", until=("door", PARTITIONS))  # progress for each raw partition comes last
    await worker.ready()
    mine = (await worker.said())["door"]
    return EVENTS / (mine["last"] - mine["live"]), EVENTS / mine["cpu_s"]


def events(site: Site, values: Iterable[Any]) -> list[bytes]:
    """One for each of EVENTS values, in nearly the order of their times."""
    chance, found = np.random.default_rng(1), list[bytes]()
    users = chance.integers(0, USERS, EVENTS)
    times = site.at(0) + np.arange(EVENTS) * (PERIODS * 1000 - 500) // EVENTS + chance.integers(0, 300, EVENTS)
    for user, time, value in zip(users.tolist(), times.tolist(), values, strict=True):
        found.append(orjson.dumps({"stream": "screen", "user": f"u-{user}", "time": time, "value": value}))
    return found
