# SPDX-License-Identifier: Apache-2.0
"""What makes a deployment stand still while its workers run: brokers that are away, releases that are overdue, rounds
that are given up again and again, partitions that nobody has.

Contract: a line for each thing, as `/readyz` says it, and the numbers behind it for metrics.  Brokers that are away
make a worker not ready, since nothing of its work goes on; the others leave it ready and are said beside, since whoever
sends requests elsewhere mends nothing.  Under a feed's clock nothing is overdue.  Lines name stages, streams and
partitions only.  Not here: HTTP (web/server.py), the same of a whole deployment from outside (kafka/status.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from murmurate.agents.kafka.client import Admin, Client
from murmurate.agents.kafka.errors import BrokerError
from murmurate.agents.kafka.topic_watch import TopicWatch
from murmurate.agents.kafka.worker import Worker
from murmurate.agents.observe.families import gauge
from murmurate.agents.observe.metrics import Metrics
from murmurate.config.overdue import REPEATED, allowed_ms, overdue
from murmurate.topics.names import STAGES

LOOK_S: Final = 15.0
AWAY_S: Final = 10.0
"""How long brokers may say nothing: they are asked every few seconds."""
log = logging.getLogger("murmurate.standstill")


class Standstill:
    """What stands still here."""

    def __init__(self, worker: Worker, metrics: Metrics, watched: TopicWatch) -> None:
        self._worker, self._metrics, self._watched = worker, metrics, watched
        self.unowned: dict[str, list[int]] = {}
        """For each stage of this worker, the source partitions that no member of its group has."""

    async def run(self, client: Client) -> None:
        """Look who has what, again and again, and log what stands still when it begins, until cancelled."""
        before = set[str]()
        while True:
            with contextlib.suppress(BrokerError):  # said by `brokers`, or by whoever works with them
                async with client.admin() as admin:
                    while True:
                        await self._look(admin)
                        found = set(self.lines())
                        for line in sorted(found - before):
                            log.warning("%s", line)
                        before = found
                        await asyncio.sleep(LOOK_S)
            await asyncio.sleep(LOOK_S)

    async def _look(self, admin: Admin) -> None:
        found = {}
        for stage, places in self._worker.places.items():
            state, owners = await admin.owners(f"{self._watched.deployment}-{stage}")
            owned = frozenset().union(*owners.values())
            found[stage] = [place.partition for place in places if place not in owned] if state == "Stable" else []
        self.unowned = found

    def brokers(self) -> str | None:
        """A line where no broker has answered for too long."""
        silent = self.silent_s
        return f"brokers: none has answered for {silent:.0f} s" if silent > AWAY_S else None

    def lines(self) -> list[str]:
        """A line for each thing that stands still, brokers aside."""
        return [*self._overdue(), *self._given_up(), *self._nobodys()]

    def _overdue(self) -> Iterator[str]:
        for stream, age_ms in self._metrics.ages().items():
            if not self._metrics.fed and age_ms > allowed_ms(self._metrics.plan, stream):
                yield overdue(self._metrics.plan, stream, age_ms)

    def _given_up(self) -> Iterator[str]:
        for stream, times in self._metrics.given_up_now().items():
            if times > REPEATED:
                yield f"{stream}: its open round was given up {times} times: nobody seals it (murmurate status)"

    def _nobodys(self) -> Iterator[str]:
        for stage, partitions in self.unowned.items():
            if partitions:
                numbers = ", ".join(map(str, partitions[:8])) + (" ..." if len(partitions) > 8 else "")
                yield f"{stage}: nobody has {len(partitions)} of its source partitions ({numbers})"

    @property
    def silent_s(self) -> float:
        """How long no broker has answered."""
        return self._watched.silent_s


class StandstillGauges(Collector):
    """The numbers behind the lines: of the edge's stages, or of the others."""

    def __init__(self, still: Standstill, *, edge: bool) -> None:
        self._still, self._is_edge = still, edge

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """As they are now."""
        silent, nobodys = gauge("murmurate_brokers_silent_seconds"), gauge("murmurate_partitions_unowned")
        for stage, partitions in self._still.unowned.items():
            if (STAGES[stage] == "edge") == self._is_edge:
                nobodys.add_metric((stage,), len(partitions))
        if not self._is_edge:
            silent.add_metric((), self._still.silent_s)
            yield silent
        yield nobodys
