# SPDX-License-Identifier: Apache-2.0
"""How a Task restores its predecessor's state: tail of the state, snapshot, logs folded again without outputs.

Contract: what is needed and no longer there is an error, never a smaller state; so is a state record that its stage did
not write, or a snapshot taken at other marks than those in the record.  Source: ARCHITECTURE rules 11 and 13, section
5.11.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from murmurate.agents.kafka.client import Client, Got, Place, Reader
from murmurate.agents.kafka.errors import LostRecordsError, TopicsError
from murmurate.agents.kafka.state import Pointer, StateRecord, chunk_key, joined, state_key
from murmurate.agents.kafka.topic_watch import REMADE
from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.errors import WAY_ON, StateError, named
from murmurate.agents.stages.sealing import check_proof
from murmurate.agents.stages.stage import NO_VALUE, Log, Record, Stage


class Recovered(NamedTuple):
    """A stage at its marks."""

    stage: Stage
    records: int
    """How many records were folded again."""
    size: int
    """The bytes of the records that were folded again."""


async def newest(reader: Reader, place: Place) -> tuple[int, StateRecord] | None:
    """The newest state record of a state partition, and its offset: looks back in growing steps."""
    wanted = state_key(place.partition)
    first, end = (await reader.bounds([place]))[place]
    step = 64
    while end > first:
        start, last = max(first, end - step), None
        async for got in reader.between(place, start, end):
            if got.key == wanted and got.value is not None:
                last = got
        if last is not None:
            return last.offset, StateRecord.load(last.value or b"", f"{place.topic} {place.partition}")
        if start == first:
            return None
        step *= 8
    return None


def check_state(wiring: Wiring, last: StateRecord) -> None:
    """StateError if the state was written under another configuration, or for other logs."""
    for stream, (config, revision) in last.revisions.items():
        found = wiring.revisions.get(stream, (config, revision))
        if found != (config, revision):
            raise StateError(
                f"{wiring.name}: stream {stream!r}: the state was written under config {config}, revision "
                f"{revision}; found {found[0]}, revision {found[1]}; {WAY_ON}"
            )
    for topic, known in last.ids.items():
        if wiring.ids.get(topic, known) != known:
            raise TopicsError(f"{wiring.name}: {wiring.place(Log(topic, 0)).topic}: {REMADE}")
    if last.config[0] != wiring.config[0]:
        raise StateError(
            f"{wiring.name}: the state was written under config fingerprint {last.config[0] or 'none'}; found "
            f"{wiring.config[0] or 'none'} (see `murmurate check --against config`; another config, or other secrets, "
            "need a deployment of another name)"
        )
    if last.marks.keys() != set(wiring.inputs):
        written, reads = (
            ", ".join(sorted(f"{log.topic}/{log.partition}" for log in logs)) for logs in (last.marks, wiring.inputs)
        )
        raise StateError(f"{wiring.name}: found a state of the logs {written or 'none'}; allowed: of {reads}")


async def first_marks(reader: Reader, wiring: Wiring) -> dict[Log, int]:
    """Where an instance without any state begins: at 0, or at a source's end. Our own logs must be whole, but for the
    door of a source partition that was added.
    """
    places = {wiring.place(log): log for log in wiring.inputs}
    marks = {}
    for place, (first, end) in (await reader.bounds(list(places))).items():
        if place.topic in wiring.foreign:
            marks[places[place]] = end if wiring.from_end else first
        elif first > 0 and not wiring.added:
            raise LostRecordsError(
                f"{wiring.name}: no state, and {place.topic} {place.partition} begins at offset {first}: what was "
                "spent before is unknown; allowed: the topics as they were, or a deployment of a new name"
            )
        else:
            marks[places[place]] = first
    return marks


async def check_unread(client: Client, wiring: Wiring) -> None:
    """LostRecordsError where an instance without any state has a group that has read: what it has done would be done
    again.
    """
    if wiring.pushed is None:
        return
    place = wiring.place(wiring.pushed)
    async with client.admin() as admin:
        read = (await admin.committed(f"{wiring.deployment}-{wiring.stage}")).get(place, 0)
    if read > 0:
        raise LostRecordsError(
            f"{wiring.name}: no state in {wiring.state.topic} {wiring.partition}, and {place.topic} {place.partition} "
            f"was read up to offset {read}: the state was removed; allowed: the topics as they were, or a deployment "
            "of another name"
        )


async def recover(reader: Reader, wiring: Wiring, last: StateRecord | None, marks: Mapping[Log, int]) -> Recovered:
    """A new instance: 1. its snapshot, 2. the logs from there to the marks, outputs thrown away."""
    stage, start, records, size = wiring.build(), dict(marks), 0, 0
    if last is not None:
        check_proof(stage, last.content(), last.proof, wiring.name)
        chunks = [] if last.snapshot is None else await _chunks(reader, wiring, last.snapshot)
        with named(wiring.name):
            if stage.large:
                stage.restore(last.small, chunks, last.snapshot.start if last.snapshot else {})
            else:
                stage.restore(joined(last, chunks), ())
        start = {log: last.start.get(log, 0) for log in wiring.inputs}
    await _check_reach(reader, wiring, start, marks)
    async for log, got in _in_order(reader, wiring, stage, start, marks):
        stage.fold(Record(log, got.offset, NO_VALUE if got.value is None else got.value))
        stage.drain()  # committed already
        records, size = records + 1, size + len(got.value or b"")
    return Recovered(stage, records, size)


async def _in_order(
    reader: Reader, wiring: Wiring, stage: Stage, start: Mapping[Log, int], marks: Mapping[Log, int]
) -> AsyncIterator[tuple[Log, Got]]:
    """The records below the marks. Any order of the logs would do; in this one the stage holds no more than it did."""
    places = {wiring.place(log): log for log in start if start[log] < marks[log]}
    if not places:
        return  # and no empty assignment just before the reader closes: aiokafka would hang for seconds
    waiting: dict[Log, deque[Got]] = {log: deque() for log in places.values()}
    reader.at({place: start[log] for place, log in places.items()})
    unread = set(places)
    while unread or any(waiting.values()):
        ready = [log for log, queue in waiting.items() if queue and stage.ready(log)]
        if not ready and not unread:
            ready = [next(log for log, queue in waiting.items() if queue)]
        for log in ready:
            yield log, waiting[log].popleft()
        if ready or not unread:
            continue
        for got in await reader.poll():
            log = places[got.place]
            if got.offset < marks[log]:
                waiting[log].append(got)
        unread = {place for place in unread if await reader.position(place) < marks[places[place]]}


async def _check_reach(reader: Reader, wiring: Wiring, start: Mapping[Log, int], marks: Mapping[Log, int]) -> None:
    bounds = await reader.bounds([wiring.place(log) for log in start])
    for log, offset in start.items():
        place = wiring.place(log)
        first, end = bounds[place]
        foreign = place.topic in wiring.foreign
        if first > offset and foreign:
            raise LostRecordsError(
                f"{wiring.name}: {place.topic} {place.partition} begins at offset {first}, and {offset} is to be read "
                "next: its retention is too short (`murmurate repair skip-lost` says what is lost, and goes on)"
            )
        if (first > offset and marks[log] > offset) or marks[log] > end:
            raise LostRecordsError(
                f"{wiring.name}: {place.topic} {place.partition} holds offsets {first} to {end - 1}, and the state "
                f"needs {offset} to {marks[log] - 1}: its retention is too short, or it was made anew"
            )


async def _chunks(reader: Reader, wiring: Wiring, pointer: Pointer) -> list[bytes]:
    place = wiring.state
    end = (await reader.bounds([place]))[place][1]
    chunks: list[bytes] = []
    async for got in reader.between(place, pointer.offset, end):
        if got.key == chunk_key(wiring.partition, pointer.generation, len(chunks)) and got.value is not None:
            chunks.append(got.value)
            if len(chunks) == pointer.chunks:
                return chunks
    raise StateError(
        f"{wiring.name}: found {len(chunks)} chunks of its snapshot in {place.topic} {place.partition}; "
        f"allowed: {pointer.chunks}"
    )
