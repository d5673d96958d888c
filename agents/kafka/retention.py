# SPDX-License-Identifier: Apache-2.0
"""How much of its time a log's oldest record that somebody still needs has used up: long before it is deleted unread.

Contract: 0 where nothing is waiting to be read; 1 where the oldest record that is needed is as old as its log keeps
one; more where the brokers have not come round to it.  A record is as old as the brokers take it for: by its own time
where a source's topic says so.  A log that deletes by size counts how near its beginning the record stands, once it has
begun to delete.  Nothing that a source holds is looked at but the record's time.  Not here: what to do then
(repair_lost.py), who is told (status.py, observe/).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from murmurate.agents.kafka.client import Client, Described, Place, Reader
from murmurate.config.quantities import shortest

WARNED: Final = 0.5
"""The share from which on it is told that somebody has to look."""
TRIES: Final = 20


async def used(
    client: Client, everything: Reader, needed: Mapping[Place, int], now_ms: int
) -> dict[Place, tuple[float, int]]:
    """For each log, the share, and how old the oldest record that is needed is, in milliseconds. needed: the offset
    from which on it has to be read again after a stop; everything: a reader of what is not committed too.
    """
    if not needed:
        return {}
    async with client.admin() as admin:
        settings = await admin.describe({place.topic for place in needed})
    bounds = await everything.bounds([place for place in needed if place.topic in settings])
    waiting = {place: needed[place] for place, (_, end) in bounds.items() if needed[place] < end}
    ages = {place: max(0, now_ms - time) for place, time in (await _times(everything, waiting, bounds)).items()}
    return {
        place: (_share(settings[place.topic], ages.get(place), needed[place], *bounds[place]), ages.get(place, 0))
        for place in bounds
    }


def _share(topic: Described, age_ms: int | None, needed: int, first: int, end: int) -> float:
    if age_ms is None or "delete" not in topic.settings.get("cleanup.policy", "delete"):
        return 0.0
    kept, size = (int(topic.settings.get(f"retention.{unit}", -1)) for unit in ("ms", "bytes"))
    by_time = age_ms / kept if kept > 0 else 0.0
    return max(by_time, (end - max(needed, first)) / (end - first) if size >= 0 and first > 0 else 0.0)


async def _times(
    reader: Reader, starts: Mapping[Place, int], bounds: Mapping[Place, tuple[int, int]]
) -> dict[Place, int]:
    """The time of the first record at or behind each offset."""
    found: dict[Place, int] = {}
    left = {place: max(start, bounds[place][0]) for place, start in starts.items()}
    if left:
        reader.at(left)
    for _ in range(TRIES):
        if not left.keys() - found.keys():
            break
        for got in await reader.poll():
            found.setdefault(got.place, got.time_ms)
    return found


def line(place: Place, share: float, age_ms: int) -> str:
    """What somebody has to do about a log whose oldest needed record is old."""
    old = shortest(age_ms // 60_000 * 60_000)
    return (
        f"{place.topic}/{place.partition}: found a record of {old} ago that is still needed, {share:.0%} of what its "
        f"topic keeps; allowed: up to {WARNED:.0%}. Start the workers that read it, or raise the topic's retention"
    )
