# SPDX-License-Identifier: Apache-2.0
"""How much of its retention each log has used up that a live Task would need after a stop, as a gauge.

Contract: looked at soon after the start, then once a minute; the share of a log that several Tasks read is that of the
one furthest behind.  What an edge stage reads is the edge's to tell.  Not here: what the share is (kafka/retention.py),
when to look (metrics.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.retention import used
from murmurate.agents.kafka.task import Task
from murmurate.agents.observe.families import gauge

FIRST_MS: Final = 10_000
EVERY_MS: Final = 60_000


class RetentionUsed:
    """The shares as of the last look. `now_ms`: the wall clock."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms, self.due_ms = now_ms, now_ms() + FIRST_MS
        """`due_ms`: when it is to be looked at next."""
        self.shares: dict[tuple[str, Place], float] = {}
        """By stage and log."""

    async def look(self, client: Client, everything: Reader, tasks: Iterable[Task]) -> None:
        """Learn them, if it is time. everything: a reader of what is not committed too."""
        now, needed = self._now_ms(), dict[str, dict[Place, int]]()
        if now < self.due_ms:
            return
        for task in (task for task in tasks if task.life is Life.LIVE):
            of_stage = needed.setdefault(task.wiring.stage, {})
            for log, offset in task.needs.items():
                place = task.wiring.place(log)
                of_stage[place] = min(offset, of_stage.get(place, offset))
        self.shares = {
            (stage, place): share
            for stage, starts in needed.items()
            for place, (share, _) in (await used(client, everything, starts, now)).items()
        }
        self.due_ms = now + EVERY_MS

    def gauge(self, tasks: Iterable[Task]) -> GaugeMetricFamily:
        """The shares of the logs that these Tasks read, by what they need themselves."""
        found, most = gauge("murmurate_retention_used_ratio"), dict[Place, float]()
        stages = {task.wiring.stage for task in tasks}
        for (_, place), share in ((key, share) for key, share in self.shares.items() if key[0] in stages):
            most[place] = max(share, most.get(place, 0.0))
        for place, share in sorted(most.items()):
            found.add_metric((place.topic, str(place.partition)), share)
        return found
