# SPDX-License-Identifier: Apache-2.0
"""What a producer's open transaction does to the sources of the doors that are live here, and what was gone before they
read it, as metrics of the edge.

Contract: raw-side facts, for the edge's endpoint alone.  A transaction that stays is as old as it was when it was first
seen, and grows.  Not here: finding them (kafka/transactions.py), when to look (metrics.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily

from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.transactions import OpenTransaction, limit_ms, open_transactions
from murmurate.agents.observe.families import gauge
from murmurate.agents.stages.door import Door

log = logging.getLogger("murmurate.metrics")


class SourceTransactions:
    """Those that are open. `now_ms`: the wall clock."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.open: dict[Place, OpenTransaction] = {}
        self.limit_ms: int | None = None
        """How long one may be open; None before the brokers were asked."""
        self._told: set[str] = set()  # of which doors it was said that something is lost

    async def look(
        self, client: Client, committed: Reader, everything: Reader, tasks: Iterable[Task], *, fed: bool
    ) -> None:
        """Learn which are open now. `fed`: the doors' clock is a recording's."""
        clocks: dict[Place, int] = {}
        for task in tasks:
            if isinstance(door := task.stage, Door):
                if door.lost and task.wiring.name not in self._told:
                    self._told.add(task.wiring.name)
                    log.warning("source records were gone and skipped: %d", door.lost, extra={"task": task.wiring.name})
                clocks[task.wiring.place(task.wiring.inputs[0])] = 0 if fed else door.clock or 0
        if clocks and self.limit_ms is None:
            self.limit_ms = await limit_ms(client)
        before, self.open = self.open, {}
        for one in await open_transactions(committed, everything, list(clocks), clocks, self._now_ms()):
            seen = before.get(one.place, one)
            older = seen if seen.offset == one.offset and seen.since_ms < one.since_ms else one
            self.open[one.place] = older

    def gauges(self, tasks: Iterable[Task]) -> Iterator[GaugeMetricFamily]:
        """How long each has been open, how long one may be, and what the doors have lost."""
        opened, limit = (gauge(f"murmurate_source_transaction_{name}") for name in ("seconds", "limit_seconds"))
        for place, one in sorted(self.open.items()):
            opened.add_metric((place.topic, str(place.partition)), max(0, self._now_ms() - one.since_ms) / 1000)
        if self.limit_ms is not None:
            limit.add_metric((), self.limit_ms / 1000)
        lost = gauge("murmurate_source_lost_records")
        for task in tasks:
            if isinstance(task.stage, Door) and task.stage.lost:
                place = task.wiring.place(task.wiring.inputs[0])
                lost.add_metric((place.topic, str(place.partition)), task.stage.lost)
        yield from (opened, limit, lost)
