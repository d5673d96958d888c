# SPDX-License-Identifier: Apache-2.0
"""Records of a source that are gone before its door had read them: what they were, and going on without them.

Contract: only records of sources may be skipped.  Their users go without those events, as if none had come: who
answers, what is charged and when periods close follows from `raw` as ever, and nothing there changes.  A door's state
is written anew under its own transactional id, which fences whoever still writes there: its marks stand at the first
record that is there, its clock stays, and it counts what it lost.  A log of the deployment's own that no longer reaches
back is named with the reason why nobody may skip it.  Source: ARCHITECTURE rules 12, 13 and 15.  Not here: what the
command prints (cli/repair_lost.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from murmurate.agents.kafka.client import Client, Place, Reader, Write
from murmurate.agents.kafka.collect import places, states
from murmurate.agents.kafka.errors import RefusedError, TopicsError
from murmurate.agents.kafka.recovery import newest
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.kafka.topic_watch import REMADE
from murmurate.agents.stages.closing import opened
from murmurate.agents.stages.door import clock_of, skipped
from murmurate.agents.stages.stage import Log
from murmurate.agents.stages.table import TABLE
from murmurate.config.plan import Plan
from murmurate.topics.names import topic

REASONS: Mapping[str, str] = {
    "perturb": "who there is and what was spent would be unknown",
    "curate": "a sum would be wrong, or get a second noise",
    "shuffle": "rounds would be cut, and a smaller crowd released",
    "aggregate": "reports would be counted in part",
    "publish": "what was decided would be unknown",
}
"""Why a stage cannot go on without records of our own logs."""


@dataclass(frozen=True)
class Lost:
    """Records of a source partition that its door still needed."""

    place: Place
    state: Place
    """Where the door's state is."""
    start: int
    end: int
    """The offsets from `start` to before `end` are gone; some of them may never have been records."""
    since_ms: int | None
    """The door's clock: what had come by then was read. None where it never showed a time."""
    until_ms: int | None
    """When the first record that is there was written, as the brokers say; None where there is none."""
    periods: Mapping[str, tuple[int, int | None]]
    """The first and the last period of each stream of which events may be missing, as far as clocks can tell."""

    @property
    def offsets(self) -> int:
        """How many records are gone, at most."""
        return self.end - self.start


async def lost(client: Client, plan: Plan, *, fed: bool) -> tuple[list[Lost], list[str]]:
    """What doors need and is gone, and a line for everything else that is gone and may not be skipped. `fed`: the
    clock is a recording's, which says nothing about when a record was written.
    """
    names = {stage: topic(plan.name, f"state.{stage}") for stage in TABLE}
    there = await places(client, names.values())
    if names["door"] not in there:
        raise TopicsError(f"{names['door']}: found no such topic, or none that we may see; allowed: the doors' state")
    found: list[Lost] = []
    refused: list[str] = []
    async with client.admin() as admin:
        ids = await admin.ids(sorted({stream.topic for stream in plan.everything}))
    async with client.reader() as reader:
        for place in there[names["door"]]:
            last = await newest(reader, place)
            made_anew = last is not None and _made_anew(plan, last[1], ids)
            if last is None or made_anew:
                refused += [f"door {place.partition}: {made_anew}"] if made_anew else []
            elif one := await _lost(reader, plan, place, last[1], fed=fed):
                found.append(one)
        for stage, reason in REASONS.items():
            with contextlib.suppress(RefusedError):  # another zone's, and that zone's to look at
                for number, record in (
                    await states(reader, plan.name, stage, len(there.get(names[stage], [])))
                ).items():
                    refused += [
                        f"{line}: nobody may skip these, since {reason}; allowed: the topics as they were, or a "
                        "deployment of another name"
                        for line in await _short(reader, plan, f"{stage} {number}", record)
                    ]
    return found, refused


async def skip(client: Client, plan: Plan, one: Lost, *, fed: bool) -> Lost | None:
    """1. Fence the door. 2. Look again. 3. Let its state go on at the first record that is there. What was skipped, or
    None if there is nothing to skip any more.
    """
    writer = client.writer(f"{plan.name}-door-{one.state.partition}")
    try:
        await writer.open()
        async with client.reader() as reader:
            last = await newest(reader, one.state)
            now = None if last is None else await _lost(reader, plan, one.state, last[1], fed=fed)
        if last is None or now is None:
            return None
        source = Log(*now.place)
        # What the door held back it reads again, ticks of a feed too; what it had passed on is in raw.
        start = {**last[1].start, source: now.end}
        small = skipped(last[1].small, now.end, now.offsets)
        record = replace(last[1], marks=start, start=start, small=small)
        await writer.transact([Write(one.state, record.dump(), state_key(one.state.partition))])
        return now
    finally:
        await writer.close()


def _source(plan: Plan, record: StateRecord) -> Log | None:
    """The source that a door reads."""
    sources = {stream.topic for stream in plan.everything}
    return next((log for log in record.marks if log.topic in sources), None)


def _made_anew(plan: Plan, record: StateRecord, ids: Mapping[str, str]) -> str | None:
    """A line about a source that is another topic by now."""
    source = _source(plan, record)
    known = None if source is None else record.ids.get(source.topic)
    if source is None or known is None or ids.get(source.topic, known) == known:
        return None
    return f"{source.topic}: {REMADE}"


async def _lost(reader: Reader, plan: Plan, state: Place, record: StateRecord, *, fed: bool) -> Lost | None:
    """What a door needs of its source and is gone."""
    source = _source(plan, record)
    if source is None:
        return None
    place, start = Place(*source), record.start[source]
    first, end = (await reader.bounds([place]))[place]
    if first <= start:
        return None
    since, until = clock_of(record.small) or None, None
    if first < end:
        reader.at({place: first})
        until = next((got.time_ms for got in await reader.poll(1_000, 1)), None)
    periods = {
        stream.name: (
            opened(stream.every_ms, plan.lateness_ms, since or 0),
            None if fed or until is None else until // stream.every_ms,
        )
        for stream in plan.everything
        if stream.topic == place.topic
    }
    return Lost(place, state, start, first, since, until, periods)


async def _short(reader: Reader, plan: Plan, name: str, record: StateRecord) -> list[str]:
    """A line for each log of ours that no longer reaches back to where a recovery has to begin."""
    wanted = {Place(topic(plan.name, log.topic), log.partition): start for log, start in record.start.items()}
    bounds = await reader.bounds(list(wanted)) if wanted else {}
    return [
        f"{name}: {place.topic} {place.partition} begins at offset {bounds[place][0]}, and {start} is needed"
        for place, start in sorted(wanted.items())
        if bounds[place][0] > start
    ]
