# SPDX-License-Identifier: Apache-2.0
"""The logs that a Task reads itself, each by the reader that it shares with others or by one of its own.

Contract: until cancelled, or until one of them cannot be read.  Not here: how they are shared (log_readers.py,
source_reader.py), folding (task.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from murmurate.agents.kafka.client import Client, Place
from murmurate.agents.kafka.log_readers import Reach, SharedLog, Take, pull
from murmurate.agents.kafka.source_reader import SourceReader


@dataclass(frozen=True)
class TaskLogs:
    """The readers of one Task. `shared`: logs that are read for all; `sources`: reads source topics."""

    client: Client
    shared: Mapping[Place, SharedLog]
    sources: SourceReader | None

    async def follow(
        self, starts: Mapping[Place, int], foreign: Collection[str], take: Take, reach: Reach,
        waiting: Callable[[Place], int],
    ) -> None:  # fmt: skip
        """Read these partitions from these offsets on. `foreign`: source topics; `waiting`: how many records of one
        wait to be folded.
        """
        own = dict(starts)
        async with asyncio.TaskGroup() as group:
            for place, start in starts.items():
                if place in self.shared:
                    group.create_task(self.shared[place].follow(own.pop(place), take, reach))
                elif self.sources is not None and place.topic in foreign:
                    one = self.sources.follow(place, start, take, reach, partial(waiting, place))
                    group.create_task(one)
                    del own[place]
            if own:
                group.create_task(pull(self.client, own, take, reach, lambda: sum(map(waiting, own))))
