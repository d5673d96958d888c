# SPDX-License-Identifier: Apache-2.0
"""Doors whose clocks stand ahead, and setting them back: what an older version, or a forged tick, left behind.

Contract: the door's state is written anew under its own transactional id, with another clock and nothing else.  What
was decided stays decided: a period that is closed at a raw partition never opens again, and nobody is asked or charged
twice; only what comes next is no longer late where its period is still open.  The door's next progress then shows
perturb the time to which it was set back, and perturb waits for that source again.  Periods that all sources had passed
are closed, and their events stay late.  No worker may run a door meanwhile.  Source: ARCHITECTURE rules 12 and 15.  Not
here: what the command prints (cli/repair_clock.py), records that are gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from murmurate.agents.kafka.client import Client, Place, Write
from murmurate.agents.kafka.clock_status import newest_states
from murmurate.agents.kafka.collect import places
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.retry import fed_clock
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.stages.closing import opened
from murmurate.agents.stages.door import clock_of, set_back
from murmurate.config.plan import Plan
from murmurate.errors import UsageError
from murmurate.topics.names import topic


@dataclass(frozen=True)
class DoorAhead:
    """A door whose clock stands ahead."""

    source: Place
    state: Place
    """Where the door's state is."""
    clock_ms: int
    """The time that it passed on last."""
    to_ms: int
    """The time at which it did so, as the brokers say; or the one that was asked for."""


@dataclass(frozen=True)
class ClocksAhead:
    """All of them, and what cannot be mended."""

    doors: Sequence[DoorAhead]
    closed: Mapping[str, int]
    """For each stream of which periods were closed too early, the first one that is still open."""


async def find_ahead(client: Client, plan: Plan, *, fed: bool, to_ms: int | None) -> ClocksAhead:
    """Every door whose clock lies beyond what two workers may differ by, or beyond `to_ms`."""
    name = topic(plan.name, "state.door")
    there = (await places(client, [name])).get(name)
    if there is None:
        raise TopicsError(f"{name}: found no such topic, or none that we may see; allowed: the doors' state")
    sources = {stream.topic for stream in plan.everything}
    doors: list[DoorAhead] = []
    clocks: dict[str, list[int]] = {}
    async with client.reader() as reader:
        for got in await newest_states(reader, there):
            record = StateRecord.load(got.value or b"", f"{got.place.topic} {got.place.partition}")
            source = next((Place(*log) for log in record.marks if log.topic in sources), None)
            clock = clock_of(record.small)
            if source is None or not clock:
                continue
            clocks.setdefault(source.topic, []).append(clock)
            right = to_ms
            if right is None:
                right = await fed_clock(client, reader, plan, source) if fed else got.time_ms
            bound = 0 if fed or to_ms is not None else 2 * plan.skew_ms
            if right is not None and clock > right + bound:
                doors.append(DoorAhead(source, got.place, clock, right))
    return ClocksAhead(doors, _closed(plan, doors, clocks))


def _closed(plan: Plan, doors: Sequence[DoorAhead], clocks: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """What all sources of a stream had passed is closed, or will be: perturb goes by the slowest."""
    found = {}
    for stream in plan.everything:
        right = min((one.to_ms for one in doors if one.source.topic == stream.topic), default=None)
        if right is not None:
            first, real = (opened(stream.every_ms, plan.lateness_ms, at) for at in (min(clocks[stream.topic]), right))
            if first > real:
                found[stream.name] = first
    return found


async def mend(client: Client, plan: Plan, doors: Sequence[DoorAhead]) -> None:
    """Set them back. UsageError while a worker runs a door."""
    group = f"{plan.name}-door"
    async with client.admin() as admin:
        _, members = await admin.owners(group)
    if members:
        raise UsageError(f"repair clock: found a worker in group {group}; allowed: none: stop the edge's workers first")
    for one in doors:
        await _mend(client, plan, one)


async def _mend(client: Client, plan: Plan, one: DoorAhead) -> None:
    """1. Fence whoever still writes there. 2. The newest state. 3. The same with another clock."""
    writer = client.writer(f"{plan.name}-door-{one.state.partition}")
    try:
        await writer.open()
        async with client.reader() as reader:
            (got,) = await newest_states(reader, [one.state])
        record = StateRecord.load(got.value or b"", f"{one.state.topic} {one.state.partition}")
        mended = replace(record, small=set_back(record.small, one.to_ms))
        await writer.transact([Write(one.state, mended.dump(), state_key(one.state.partition))])
    finally:
        await writer.close()
