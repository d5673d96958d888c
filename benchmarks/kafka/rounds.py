"""The rounds loop: perturb, shuffle, aggregate, publish and back, as quick as it goes.

4 raw and 2 reports partitions, 4000 users, and everything they say written and their periods over beforehand: what is
measured is ten transactions a round and the way between them.  A round trip is the time between two releases, by
Kafka's own timestamps of their records.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import numpy as np

from benchmarks.kafka.site import Site
from benchmarks.measure import Row, at_least, at_most, short
from murmurate.agents.stages.door import raw_records
from murmurate.agents.stages.stage import Out

USERS, PERIODS, WARM = 4000, 200, 40
WAYS = {
    "Faust, two processes": (("worker", ("edge",)), ("worker", ("mixing", "analysis"))),
    "Faust, one process": (("worker", ("edge", "mixing", "analysis")),),
    "Tasks, two processes": (("tasks", ("edge",)), ("tasks", ("mixing", "analysis"))),
    "Tasks, one process": (("tasks", ("edge", "mixing", "analysis")),),
}


class Run(NamedTuple):
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float


async def rows(bootstrap: str, runs: int) -> AsyncIterator[Row]:
    found: dict[str, list[Run]] = {way: [] for way in WAYS}
    for _ in range(runs):
        for way in WAYS:
            found[way].append(await run(bootstrap, way))
    for way, tried in found.items():
        goal = way.startswith("Faust")
        best, middle = max(tried), sorted(tried)[len(tried) // 2]
        yield at_least(way, best.rate, 45, " rounds/s") if goal else Row(way, f"{short(best.rate)} rounds/s", "", True)
        yield at_most("  p50", best.p50_ms, 25, "ms") if goal else Row("  p50", f"{best.p50_ms:.3g} ms", "", True)
        yield Row("  p99", f"{best.p99_ms:.3g} ms", "", True)
        yield Row("  CPU a round", f"{min(one.cpu_ms for one in tried):.3g} ms", "", True)
        yield Row("  the middle run", f"{short(middle.rate)} rounds/s", f"of {len(tried)}", True)


async def run(bootstrap: str, way: str) -> Run:
    """Rounds of a deployment of its own."""
    async with Site(bootstrap, partitions=4, targets=2) as site:
        await site.write(raw(site))
        workers = [site.worker(*zones, how=how) for how, zones in WAYS[way]]
        for worker in workers:
            await worker.ready()
        await site.write(site.start())
        await site.read("releases", WARM)
        before = [worker.cpu_s for worker in workers]
        warm = len(await site.read("releases", WARM))
        times = [got.time_ms for got in await site.read("releases", PERIODS)]
        spent = sum(worker.cpu_s - was for worker, was in zip(workers, before, strict=True))
        trips = np.diff(times[warm:])
        for worker in workers:
            await worker.stop()
        return Run(
            1000 / float(trips.mean()), float(np.median(trips)), float(np.percentile(trips, 99)),
            1000 * spent / (PERIODS - warm),
        )  # fmt: skip


def raw(site: Site) -> list[Out]:
    """Everybody shows up before the first period and says something in each."""
    chance, users, records = np.random.default_rng(1), site.users(USERS), list[Out]()
    for t in range(-1, PERIODS):
        codes = chance.integers(0, site.stream.d, USERS).astype(np.uint32)
        records += raw_records(site.plan, site.stream.name, users, np.full(USERS, site.at(t, 500)), codes)
        records += site.reached(site.at(t + 1))
    return records
