# SPDX-License-Identifier: Apache-2.0
"""Waits until whatever has been written is committed or aborted, so that no transaction is seen by half.

Contract: brokers show the end of a transaction partition by partition, and may take seconds between two of them after
a disturbance.  Whoever has read a state sees what its transaction wrote beside it only after this.  A transaction that
stays open is waited for no longer than `LONGEST_S`.  Source: KIP-98, the phase after the coordinator's decision.
Not here: which partitions (audited_logs.py).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from typing import Final, Protocol

from murmurate.agents.kafka.client import Place

AGAIN_S: Final = 0.05
LONGEST_S: Final = 60.0
"""Six times as long as a dead worker's transaction stays open."""


class Bounds(Protocol):
    """A reader, as far as it is asked where logs begin and end."""

    async def bounds(self, places: Collection[Place], /) -> dict[Place, tuple[int, int]]:
        """The first offset of each, and the one after its last."""
        ...


async def until_shown(
    everything: Bounds, committed: Bounds, places: Collection[Place], stopped: Callable[[], bool] = lambda: False
) -> None:
    """Until what stands in these partitions now is shown to readers of committed records, or never will be, or it is to
    stop.
    """
    written = {place: end for place, (_, end) in (await everything.bounds(places)).items()}
    began = time.monotonic()
    while True:
        shown = await committed.bounds(places)
        late = any(shown[place][1] < end for place, end in written.items())
        if not late or stopped() or time.monotonic() - began > LONGEST_S:
            return
        await asyncio.sleep(AGAIN_S)
