# SPDX-License-Identifier: Apache-2.0
"""A worker of a deployment inside the test's own process: a test may look at its stages, and at what ended it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.agreement import first_counts
from murmurate.agents.kafka.provision import sources
from murmurate.agents.kafka.topology import Topology, zone_keys
from murmurate.agents.kafka.worker import Worker
from murmurate.agents.observe.metrics import Metrics
from murmurate.config.secrets import ZONE_SECRETS
from murmurate.topics.messages import Config
from murmurate.topics.names import ZONES, Zone
from tests.faults.deployed import Deployed

LONGEST_S = 40.0


def now_ms() -> int:
    return time.time_ns() // 10**6


class Inside:
    """A worker of some zones, and how it goes."""

    def __init__(self, worker: Worker, metrics: Metrics, running: asyncio.Task[None]) -> None:
        self.worker, self.metrics, self.running = worker, metrics, running

    async def ready(self) -> None:
        """Until it is; what ends it before leaves here."""
        async with asyncio.timeout(LONGEST_S):
            while not self.worker.ready:
                if self.running.done():
                    self.running.result()
                await asyncio.sleep(0.02)

    async def failure(self) -> str:
        """What ends it, in words."""
        done, _ = await asyncio.wait((self.running,), timeout=LONGEST_S)
        assert done, "it lives on"
        error = self.running.exception()
        return f"{type(error).__name__}: {error}"


@contextlib.asynccontextmanager
async def inside(
    deployed: Deployed, zones: Sequence[Zone] = ZONES, *, clock: Callable[[], int] = now_ms,
    compare: Callable[[], Awaitable[object]] | None = None, record: Config | None = None,
) -> AsyncIterator[Inside]:  # fmt: skip
    """One that runs, and is stopped in the end. `clock`: what it takes for the time; `record`: what it has compared."""
    plan, fed = deployed.plan, deployed.deployment.time.clock == "feed"
    mine = {name for zone in zones for name in ZONE_SECRETS[zone]}
    keys = zone_keys({name: value for name, value in known_secrets(plan.name).items() if name in mine}, plan.name)
    stop = asyncio.Event()
    where = await first_counts(deployed.client, plan, await sources(deployed.client, plan))
    metrics = Metrics(plan, zones, now_ms=clock, fed=fed)
    worker = Worker(
        plan, deployed.client, Topology(plan, keys, where, fed=fed, record=record), where, zones, instance="inside",
        observer=metrics, now_ms=clock, fed=fed, compare=compare,
    )  # fmt: skip
    running = asyncio.create_task(worker.run(stop))
    try:
        yield Inside(worker, metrics, running)
    finally:
        stop.set()
        await asyncio.wait((running,))
