"""The logs of a deployment as an auditor needs them, read so that what goes on meanwhile is no false alarm.

Contract: effects are read before their causes: 1. the marks of perturb and aggregate, 2. tallies, 3. sums
and batches, 4. reports, 5. raw and rounds.  So whatever is seen has its cause in what is seen after it, and whatever
lies below the marks has its effects.  Where a log has begun to forget, the extent says which rounds are still whole.
`reports` is read twice, with and without what was never committed.  Source: ARCHITECTURE section 5.12.  Not here: the
comparison (agents/audit/auditor.py).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from murmurate.agents.audit.findings import Extent
from murmurate.agents.kafka.client import Client, Got, Place
from murmurate.agents.kafka.collect import places, states, whole
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.state import StateRecord
from murmurate.agents.stages.stage import Log
from murmurate.config.plan import Plan
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Round
from murmurate.topics.names import topic

LOGS = ("tallies", "sums", "batches", "closings", "reports", "raw", "rounds")
"""In the order in which they are read."""


@dataclass(frozen=True)
class Evidence:
    """What was read."""

    records: Mapping[tuple[str, int], Sequence[bytes]]
    extent: Extent
    forgotten: Sequence[str]
    """A line for each log that no longer begins at offset 0."""

    def read(self, name: str, partition: int) -> Sequence[bytes]:
        """The records of a log."""
        return self.records.get((name, partition), ())


async def collect(client: Client, plan: Plan) -> Evidence:
    """Read everything. TopicsError if a topic is missing."""
    logs = [name for name in LOGS if plan.central or name != "sums"]
    names = {name: topic(plan.name, name) for name in (*logs, "state.perturb", "state.aggregate")}
    there = await places(client, names.values())
    for name in names.values():
        if name not in there:
            raise TopicsError(f"{name}: found no such topic, or none that we may see (see `murmurate topics create`)")
    found: dict[Place, list[Got]] = {}
    first: dict[Place, int] = {}
    async with client.reader() as reader:
        perturbs = await states(reader, plan.name, "perturb", len(there[names["state.perturb"]]))
        aggregates = await states(reader, plan.name, "aggregate", len(there[names["state.aggregate"]]))
        aborted: dict[int, list[bytes]] = {}
        for name in logs:
            starts, records = await whole(reader, there[names[name]])
            first |= starts
            found |= records
            if name == "reports":
                aborted = await _aborted(client, there[names[name]], records)
    short = {place: offset for place, offset in first.items() if offset > 0}
    extent = Extent(
        folded={p: _folded(plan, found, p, state) for p, state in perturbs.items()},
        tallied={b: _below(plan, found, "batches", b, state.marks) for b, state in aggregates.items()},
        sums=not any(place.topic in (names["tallies"], names.get("sums")) for place in short),
        people=not any(place.topic in (names["raw"], names["rounds"]) for place in short),
        kept=_kept(plan, found, short),
        aborted=aborted,
    )
    forgotten = [
        f"{place.topic} {place.partition} begins at offset {offset}" for place, offset in sorted(short.items())
    ]
    values = {
        (place.topic.removeprefix(f"{plan.name}."), place.partition): [got.value or b"" for got in records]
        for place, records in found.items()
    }
    return Evidence(values, extent, forgotten)


async def _aborted(
    client: Client, wanted: Sequence[Place], committed: Mapping[Place, list[Got]]
) -> dict[int, list[bytes]]:
    """What was written to `reports` and never committed, or is not yet."""
    known = {place: {got.offset for got in records} for place, records in committed.items()}
    async with client.reader(aborted=True) as reader:
        _, records = await whole(reader, wanted)
    return {
        place.partition: [got.value or b"" for got in theirs if got.offset not in known[place]]
        for place, theirs in records.items()
    }


def _folded(plan: Plan, found: Mapping[Place, list[Got]], p: int, state: StateRecord) -> tuple[int, int]:
    return _below(plan, found, "raw", p, state.marks), _below(plan, found, "rounds", 0, state.marks)


def _below(plan: Plan, found: Mapping[Place, list[Got]], name: str, partition: int, marks: Mapping[Log, int]) -> int:
    """How many records of a log stand below its mark."""
    offsets = [got.offset for got in found[Place(topic(plan.name, name), partition)]]
    return bisect_left(offsets, marks.get(Log(name, partition), 0))


def _kept(plan: Plan, found: Mapping[Place, list[Got]], short: Mapping[Place, int]) -> frozenset[str] | None:
    """The rounds that were asked after everything that has been forgotten, by the broker's time."""
    effects = {topic(plan.name, name) for name in ("reports", "closings", "batches", "tallies")}
    cut = [found[place][0].time_ms if found[place] else None for place in short if place.topic in effects]
    if not cut:
        return None
    if None in cut:
        return frozenset()  # nothing is left, and nobody knows since when
    since = max(time for time in cut if time is not None)
    return frozenset(
        round_.digest.hex()
        for got in found[Place(topic(plan.name, "rounds"), 0)]
        if got.time_ms > since and (round_ := _round(got)) is not None
    )


def _round(got: Got) -> Round | None:
    try:
        found = decode(got.value or b"")
    except WireError:
        return None
    return found if isinstance(found, Round) else None
