# SPDX-License-Identifier: Apache-2.0
"""Dead letters: reading them, and giving records of source topics a second chance.

Contract: a retry reads exactly the record that a dead letter names and appends it to the same partition of its source
topic, key and value unchanged, no headers, a time of now.  Nothing else is retried: what is torn in our own topics
stays torn, and what no letter names was read.  A record that a door of today would refuse again is left alone.  A late
event stays late; an event without a time of its own happens now.  Each place once in a call; a second call appends
again.  A stream that had read the record gets it twice: where events carry their times, that changes nothing.
Not here: what the command prints (cli/dead.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from murmurate.agents.kafka.client import Client, Got, Place, Reader, Write
from murmurate.agents.kafka.collect import last, places, span, whole
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.stage import Log, Record
from murmurate.config.plan import Plan
from murmurate.errors import UsageError
from murmurate.randomizers import Pepper
from murmurate.topics.codec import decode, encode
from murmurate.topics.errors import WireError
from murmurate.topics.message import MAX_TIME_MS
from murmurate.topics.messages import Dead, Tick
from murmurate.topics.names import TOPICS, Zone, topic

What = Literal["appended", "late", "future", "refused", "gone", "empty"]
"""What became of a record. Those that are "late" and "future" were appended too, and the door will count them as such.
"""


@dataclass(frozen=True)
class Retried:
    """What became of one record."""

    offset: int
    """The offset of the record in its source."""
    what: What
    reason: str | None = None
    """Why a door of today would refuse it."""
    at: int | None = None
    """The offset of the copy that was appended."""


async def letters(client: Client, plan: Plan, zone: Zone) -> list[tuple[Got, Dead]]:
    """Every dead letter of a zone that is still there, in the order in which they came."""
    name = topic(plan.name, f"dead.{zone}")
    there = (await places(client, [name])).get(name)
    if there is None:
        raise TopicsError(f"{name}: found no such topic, or none that we may see (see `murmurate topics create`)")
    async with client.reader() as reader:
        _, found = await whole(reader, there)
    records = sorted((got for each in found.values() for got in each), key=lambda got: got.time_ms)
    return [(got, letter) for got in records if (letter := _letter(got.value)) is not None]


def check(plan: Plan, zone: Zone, name: str) -> None:
    """UsageError unless records of this topic may be appended once more."""
    sources = sorted({stream.topic for stream in plan.everything})
    allowed = f"allowed: {', '.join(sources)}"
    if name in sources:
        if zone != "edge":
            raise UsageError(f"--zone: found {zone}; allowed: edge, where source topics are read")
        return
    if name.removeprefix(f"{plan.name}.") in TOPICS:
        raise UsageError(
            f"--topic: found {name}, a topic of the deployment's own: what is torn there stays torn, since its rounds "
            f"have gone on without it; {allowed}"
        )
    raise UsageError(f"--topic: found {name[:60]!r}; {allowed}")


async def retry(
    client: Client, plan: Plan, name: str, partition: int, offsets: range, *, now_ms: int | None
) -> list[Retried]:
    """Every record in this range that a dead letter names. now_ms: the wall clock, or None where the feed's counts."""
    check(plan, "edge", name)
    named = {
        letter.offset for _, letter in await letters(client, plan, "edge")
        if (letter.topic, letter.partition) == (name, partition) and letter.offset in offsets
    }  # fmt: skip
    if not named:
        span_of = f"{offsets.start}" if len(offsets) == 1 else f"{offsets.start} to {offsets.stop - 1}"
        raise UsageError(
            f"--offset: found no dead letter of {name} {partition} at {span_of}; "
            "allowed: a place that `murmurate dead list --zone edge` shows"
        )
    place = Place(name, partition)
    async with client.reader() as reader:
        clock = now_ms if now_ms is not None else await fed_clock(client, reader, plan, place)
        there = await _records(reader, place, named)
    outcomes = [judge(plan, place, offset, there.get(offset), clock) for offset in sorted(named)]
    again = [each for each in outcomes if each.what in ("appended", "late", "future")]
    writes = [Write(place, there[each.offset].value or b"", there[each.offset].key) for each in again]
    async with client.sender() as sender:
        at = await sender.send(writes) if writes else []
    stands = {each.offset: where for each, where in zip(again, at, strict=True)}
    return [Retried(each.offset, each.what, each.reason, stands.get(each.offset)) for each in outcomes]


def judge(plan: Plan, place: Place, offset: int, got: Got | None, clock: int | None) -> Retried:
    """What a door of today would do with the record: asked of a door of its own, whose answers go nowhere."""
    if got is None:
        return Retried(offset, "gone")
    if got.value is None:
        return Retried(offset, "empty")
    nobody = Pepper(hashlib.sha256(b"nobody's pseudonyms").digest(), deployment=plan.name)
    door, source = Door(plan, nobody, place.topic, place.partition), Log(*place)
    ticks = [] if clock is None else [(clock, 0)]
    for number, (time, end) in enumerate([*ticks, (MAX_TIME_MS if clock is None else clock, 1)]):
        if end:
            door.fold(Record(source, 0, got.value))
        tick = Tick(topic=place.topic, partition=place.partition, time=time, end=end)
        door.fold(Record(Log(TICKS, 0), number, encode(tick)))
    letters = [found for out in door.drain().records if (found := _letter(out.value)) is not None]
    if letters:
        return Retried(offset, "refused", letters[0].reason)
    reasons = {reason for (_, reason), n in door.counts.items() if n}
    if "late" in reasons:
        return Retried(offset, "late")
    return Retried(offset, "future" if "future" in reasons else "appended")


async def _records(reader: Reader, place: Place, offsets: Collection[int]) -> dict[int, Got]:
    """Those of these records that are still there."""
    first, end = (await reader.bounds([place]))[place]
    found = {}
    async for got in span(reader, {place: (max(first, min(offsets)), min(end, max(offsets) + 1))}):
        if got.offset in offsets:
            found[got.offset] = got
    return found


async def fed_clock(client: Client, reader: Reader, plan: Plan, place: Place) -> int | None:
    """What the feed's clock last showed at this source partition."""
    name = topic(plan.name, TICKS)
    there = (await places(client, [name])).get(name, [])
    if not there:
        return None
    _, found = await last(reader, there, 1, lambda got: _shows(got, place) is not None)
    times = [time for records in found.values() for got in records if (time := _shows(got, place)) is not None]
    return max(times, default=None)


def _shows(got: Got, place: Place) -> int | None:
    try:
        found = decode(got.value or b"")
    except WireError:
        return None
    return found.time if isinstance(found, Tick) and (found.topic, found.partition) == place else None


def _letter(value: bytes | None) -> Dead | None:
    try:
        found = decode(value or b"")
    except WireError:
        return None
    return found if isinstance(found, Dead) else None
