# SPDX-License-Identifier: Apache-2.0
"""The rounds loop: perturb, shuffle, aggregate, publish and back, as quick as it goes, and one at a time.

4 raw and 2 reports partitions, 4000 users.  As quick as it goes: everything they say is written and their periods are
over beforehand; what is measured is transactions and the way between them.  One at a time: the clock reaches the end
of a period only when the one before has been released; a trip is the time from there to the release, by Kafka's own
timestamps of both records.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.kafka.site import Process, Site
from benchmarks.measure import Row, at_least, at_most, short
from murmurate.agents.kafka.client import Write
from murmurate.agents.stages.admission import raw_records
from murmurate.agents.stages.stage import Log, Out

USERS, PERIODS, WARM = 4000, 200, 40
WAYS = {
    "Faust, two processes": (("worker", ("edge",)), ("worker", ("mixing", "analysis"))),
    "Faust, one process": (("worker", ("edge", "mixing", "analysis")),),
    "Tasks, two processes": (("tasks", ("edge",)), ("tasks", ("mixing", "analysis"))),
    "Tasks, one process": (("tasks", ("edge", "mixing", "analysis")),),
}


class Run(NamedTuple):
    rate: float
    cpu_ms: float
    trips_ms: list[int]


async def rows(bootstrap: str, runs: int) -> AsyncIterator[Row]:
    found: dict[str, list[Run]] = {way: [] for way in WAYS}
    for _ in range(runs):
        for way in WAYS:
            rate, cpu_ms = await quick(bootstrap, way)
            found[way].append(Run(rate, cpu_ms, await alone(bootstrap, way)))
    for way, tried in found.items():
        goal = way.startswith("Faust")
        best, middle = max(tried), sorted(tried)[len(tried) // 2]
        yield at_least(way, best.rate, 45, " rounds/s") if goal else Row(way, f"{short(best.rate)} rounds/s", "", True)
        yield Row("  the middle run", f"{short(middle.rate)} rounds/s", f"of {len(tried)}", True)
        yield Row("  CPU a round", f"{min(one.cpu_ms for one in tried):.3g} ms", "", True)
        p50, p99 = (min(float(np.percentile(one.trips_ms, share)) for one in tried) for share in (50, 99))
        yield (
            at_most("  a trip alone, p50", p50, 25, "ms") if goal else Row("  a trip alone", f"{p50:.3g} ms", "", True)
        )
        yield Row("  p99", f"{p99:.3g} ms", "", True)


async def quick(bootstrap: str, way: str) -> tuple[float, float]:
    """Rounds a second, and ms of CPU a round, of a deployment of its own whose periods are all over."""
    async with Site(bootstrap, partitions=4, targets=2) as site:
        await site.write(
            record for t in range(-1, PERIODS) for record in [*said(site, t), *site.reached(site.at(t + 1))]
        )
        workers = await started(site, way)
        await site.read("releases", WARM)
        before = [worker.cpu_s for worker in workers]
        warm = len(await site.read("releases", WARM))
        times = [got.time_ms for got in await site.read("releases", PERIODS)]
        spent = sum(worker.cpu_s - was for worker, was in zip(workers, before, strict=True))
        for worker in workers:
            await worker.stop()
        return 1000 * (PERIODS - warm) / (times[-1] - times[warm - 1]), 1000 * spent / (PERIODS - warm)


async def alone(bootstrap: str, way: str) -> list[int]:
    """Milliseconds from the end of each period to its release."""
    async with Site(bootstrap, partitions=4, targets=2) as site:
        await site.write(record for t in range(-1, PERIODS) for record in said(site, t))
        workers = await started(site, way)
        released: list[int] = []
        async with site.client.sender() as sender, site.client.reader() as reader:
            reader.at({site.place(Log("releases", 0)): 0})
            for t in range(-1, PERIODS):
                await sender.send([Write(site.place(log), value) for log, value, *_ in site.reached(site.at(t + 1))])
                while len(released) <= t:
                    site.check()
                    released += [got.time_ms for got in await reader.poll()]
        over = np.max([await clock(site, Log("raw", p)) for p in range(4)], axis=0)
        for worker in workers:
            await worker.stop()
        return [int(ms) for ms in np.subtract(released, over[1:])][WARM:]


async def clock(site: Site, log: Log) -> list[int]:
    """When each progress record came to a raw partition."""
    async with site.client.reader() as reader:
        place = site.place(log)
        first, end = (await reader.bounds([place]))[place]
        return [got.time_ms async for got in reader.between(place, first, end) if (got.value or b"").startswith(b"{")]


async def started(site: Site, way: str) -> list[Process]:
    """The workers, ready, and the first question asked."""
    workers = [site.worker(*zones, how=how) for how, zones in WAYS[way]]
    for worker in workers:
        await worker.ready()
    await site.write(site.start())
    return workers


def said(site: Site, t: int) -> Sequence[Out]:
    """What everybody says in a period."""
    codes = np.random.default_rng(t + 1).integers(0, site.stream.d, USERS).astype(np.uint32)
    return raw_records(site.plan, site.stream.name, site.users(USERS), np.full(USERS, site.at(t, 500)), codes)
