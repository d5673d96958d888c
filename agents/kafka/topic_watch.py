# SPDX-License-Identifier: Apache-2.0
"""Whether the topics of a deployment are still the ones they were: their ids, looked at for as long as a worker runs.

Contract: a topic that was deleted and made again has its old name and begins at offset 0 again, where marks in states
would skip what comes.  So each state record holds the ids of the topics that it has read, and a worker compares
(recovery.check_state) and goes on looking.  A topic that is gone ends the worker too, unless it is back by the next
look: brokers that have just begun may not know it yet.  From brokers that are older than ids nothing is compared.
Not here: asking (client/topic_ids.py), marks (state.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping
from typing import Final

from murmurate.agents.kafka.client import Client
from murmurate.agents.kafka.errors import AwayError, TopicsError
from murmurate.config.plan import Plan
from murmurate.topics.names import STAGES, TOPICS, Zone, topic

LOOK_S: Final = 5.0
REMADE: Final = (
    "was deleted and made again: what was read of the old one says nothing about it. Allowed: the topic as it was, or "
    "a deployment of another name"
)


class TopicWatch:
    """The topics that these zones use."""

    def __init__(self, client: Client, plan: Plan, zones: Iterable[Zone]) -> None:
        stages = {stage for stage, zone in STAGES.items() if zone in set(zones)}
        used = {topic(plan.name, row.name) for row in TOPICS.values() if stages & {*row.writers, *row.readers}}
        sources = {stream.topic for stream in plan.everything} if "door" in stages else set()
        self._client, self._names = client, sorted(used | sources)
        self.deployment = plan.name
        self._heard = time.monotonic()
        self.ids: Mapping[str, str] = {}
        """The id of each topic by its full name, as they were at the beginning."""

    async def begin(self) -> Mapping[str, str]:
        """Look for the first time."""
        async with self._client.admin() as admin:
            self.ids = await admin.ids(self._names)
        self._heard = time.monotonic()
        return self.ids

    @property
    def silent_s(self) -> float:
        """How long no broker has answered."""
        return time.monotonic() - self._heard

    async def run(self) -> None:
        """Look again and again; TopicsError when a topic is another one, or has gone."""
        gone = set[str]()
        while True:
            await asyncio.sleep(LOOK_S)
            with contextlib.suppress(AwayError):  # others notice that, and wait
                async with self._client.admin() as admin:
                    while True:
                        found = await admin.ids(self._names)
                        self._heard = time.monotonic()
                        gone = self._judge(found, gone)
                        await asyncio.sleep(LOOK_S)

    def _judge(self, found: Mapping[str, str], gone: set[str]) -> set[str]:
        """Those that are not to be seen; TopicsError for one that was not before either, or that is another."""
        for name, known in self.ids.items():
            if found.get(name, known) != known:
                raise TopicsError(f"{name}: {REMADE}")
        missing = self.ids.keys() - found.keys()
        for name in sorted(missing & gone):
            raise TopicsError(f"{name}: found no such topic any more, or none that we may see; allowed: as it was")
        return set(missing)
