# SPDX-License-Identifier: Apache-2.0
"""Raw blocks to releases through two workers, edge and the rest: LPU, a million users who each say something in each
period.  Then 10 000 events a second, and what they cost in memory and in bytes of state topics.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import numpy as np

from benchmarks.kafka.site import Site
from benchmarks.measure import Row, at_least, at_most, short
from murmurate.agents.stages.admission import raw_records
from murmurate.agents.stages.stage import Out
from murmurate.topics.block import REFUSED

USERS, PERIODS, WARM, DOMAIN = 1_000_000, 16, 4, 16
PARTITIONS, TARGETS = 4, 2
CALM_S, CALM_EVENTS = 70, 10_000
"""Longer than the longest time between two snapshots."""
STATE_TOPICS = {"state.perturb": PARTITIONS, "state.shuffle": TARGETS, "state.aggregate": TARGETS, "state.publish": 1}


async def rows(bootstrap: str, runs: int) -> AsyncIterator[Row]:
    rates, resident, perturbed, others = list[tuple[float, float, float]](), 0.0, 0.0, 0.0
    for i in range(runs):
        async with Site(bootstrap, partitions=PARTITIONS, targets=TARGETS, domain=DOMAIN) as site:
            users = site.users(USERS)
            await site.write(raw(site, users))
            edge, rest = site.worker("edge"), site.worker("mixing", "analysis")
            await edge.ready()
            await rest.ready()
            await site.write(site.start())
            await site.read("releases", WARM)
            before, begun = edge.cpu_s + rest.cpu_s, len(await site.read("releases", WARM))
            times = [got.time_ms for got in await site.read("releases", PERIODS)]
            cpu, events = edge.cpu_s + rest.cpu_s - before, USERS * (PERIODS - begun)
            rates.append((events * 1000 / (times[-1] - times[begun - 1]), events / cpu, edge.resident_mb))
            if i == runs - 1:
                perturbed, others = await calm(site, users)
                resident = edge.resident_mb
            for worker in (edge, rest):
                await worker.stop()
    yield at_least("raw to releases, events", max(rates)[0], 1e6)
    yield Row("  the middle run", f"{short(sorted(rates)[runs // 2][0])}/s", f"of {runs}", True)
    yield Row("  a second of CPU", f"{short(max(cpu for _, cpu, _ in rates))}/s", "", True)
    yield at_most("  memory of the edge", max(held for _, _, held in rates), 400, "MB")
    yield at_most("  after a calm minute", resident, 400, "MB")
    yield at_most("  state, 10 k events/s", perturbed + others, 2, "MB/s")
    yield Row("  perturb's part of it", f"{perturbed:.3g} MB/s", "", True)


async def calm(site: Site, users: np.ndarray) -> tuple[float, float]:
    """10 000 events a second: MB/s to the state topic of perturb, and to the others'."""
    before = {topic: await site.size(topic, count) for topic, count in STATE_TOPICS.items()}
    chance, began = np.random.default_rng(2), time.monotonic()
    for s in range(CALM_S):
        said = users[chance.choice(USERS, CALM_EVENTS, replace=False)]
        await site.write(
            [
                *raw_records(
                    site.plan, site.stream.name, said, np.full(CALM_EVENTS, site.at(PERIODS + s, 500)),
                    chance.integers(0, DOMAIN, CALM_EVENTS).astype(np.uint32),
                ),
                *site.reached(site.at(PERIODS + s + 1)),
            ]
        )  # fmt: skip
        await asyncio.sleep(max(0.0, began + s + 1 - time.monotonic()))
    took = time.monotonic() - began
    grown = {topic: await site.size(topic, count) - before[topic] for topic, count in STATE_TOPICS.items()}
    perturbed = grown.pop("state.perturb")
    return perturbed / took / 1e6, sum(grown.values()) / took / 1e6


def raw(site: Site, users: np.ndarray) -> Iterator[Out]:
    """Everybody shows up before the first period, then says something in each."""
    chance = np.random.default_rng(1)
    for t in range(-1, PERIODS):
        codes = chance.integers(0, DOMAIN, USERS).astype(np.uint32) if t >= 0 else np.full(USERS, REFUSED, np.uint32)
        yield from raw_records(site.plan, site.stream.name, users, np.full(USERS, site.at(t, 500)), codes)
        yield from site.reached(site.at(t + 1))
