# SPDX-License-Identifier: Apache-2.0
"""Records in a state topic that no stage wrote: which stand there, and going on from the last one that a stage did.

Contract: a stage's transaction writes outputs and state together, so its last state record is what it has done: that
one is written again behind the others, under the stage's own transactional id, which fences whoever still runs.  What
is written is a record that a recovery takes: of this configuration and of these logs, with its stage's proof, its
snapshot whole and its logs there.  A record that its group has read beyond is older than what was done, and refused.
Nothing that was read or decided is done otherwise than by a restart.  Source: ARCHITECTURE rules 11, 12 and 13.  Not
here: what the command prints (cli/state.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from murmurate.agents.kafka.client import Client, Got, Place, Reader, Write
from murmurate.agents.kafka.collect import last, places
from murmurate.agents.kafka.errors import LostRecordsError
from murmurate.agents.kafka.recovery import check_state, recover
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.sealing import check_proof
from murmurate.config.plan import Plan
from murmurate.topics.names import topic


@dataclass(frozen=True)
class Inspected:
    """The newest state record of an instance."""

    stage: str
    place: Place
    offset: int
    written_ms: int
    size: int
    """The number of its bytes."""
    fault: str | None
    """Why it is none, or none of this version's."""
    readable: int | None
    """The offset of the newest that can be read; None where there is none left."""
    marks: Mapping[str, int]
    """What the newest readable one has done of each log, as `topic/partition`."""


async def inspect(client: Client, plan: Plan, stage: str) -> list[Inspected]:
    """The newest state record of every instance of a stage that has written one, or in whose place somebody has."""
    name = topic(plan.name, f"state.{stage}")
    own = (await places(client, [name])).get(name, [])
    async with client.reader() as reader:
        found = [await _inspected(reader, stage, place) for place in own]
    return [one for one in found if one is not None]


async def _inspected(reader: Reader, stage: str, place: Place) -> Inspected | None:
    newest, good = await _newest(reader, place), await _readable(reader, place, None)
    if newest is None:
        return None
    fault = _fault(newest, None)
    marks = {} if good is None else _loaded(good).marks
    return Inspected(
        stage, place, newest.offset, newest.time_ms, len(newest.value or b""), fault,
        None if good is None else good.offset, {f"{log.topic}/{log.partition}": at for log, at in marks.items()},
    )  # fmt: skip


async def restore(client: Client, wiring: Wiring) -> tuple[int, int] | None:
    """1. Fence the stage, if something stands in its place. 2. Find the newest record that it wrote. 3. Try whether a
    recovery takes it. 4. Write it again.  The offsets of that record and of the new one; None if its own state is the
    newest.
    """
    writer, place = client.writer(wiring.identity), wiring.state
    async with client.reader() as reader:
        if await _is_right(reader, wiring):
            return None  # before anybody is fenced
    try:
        await writer.open()
        async with client.reader() as reader:
            if await _is_right(reader, wiring):
                return None
            good = await _readable(reader, place, wiring)
            if good is None:
                raise StateError(
                    f"{wiring.name}: found no record in {place.topic} {place.partition} that its stage wrote: "
                    "compaction has removed it; allowed: the topics as they were, or a deployment of another name"
                )
            record = _loaded(good)
            check_state(wiring, record)
            await _check_newest(client, wiring, record)
            await recover(reader, wiring, record, record.marks)
        assert good.value is not None  # noqa: S101 - it was loaded
        offsets = await writer.transact([Write(place, good.value, state_key(place.partition))])
        return good.offset, offsets[-1]
    finally:
        await writer.close()


async def _is_right(reader: Reader, wiring: Wiring) -> bool:
    newest = await _newest(reader, wiring.state)
    return newest is None or _fault(newest, wiring) is None


async def _check_newest(client: Client, wiring: Wiring, record: StateRecord) -> None:
    """LostRecordsError where the stage's group has read beyond the record: a later one was removed."""
    if wiring.pushed is None:
        return
    source = wiring.place(wiring.pushed)
    async with client.admin() as admin:
        read = (await admin.committed(f"{wiring.deployment}-{wiring.stage}")).get(source, 0)
    if read > record.marks[wiring.pushed]:
        raise LostRecordsError(
            f"{wiring.name}: the newest record that its stage wrote has {source.topic} {source.partition} done up to "
            f"offset {record.marks[wiring.pushed]}, and it was read up to {read}: a later record was removed; allowed: "
            "the topics as they were, or a deployment of another name"
        )


async def _newest(reader: Reader, place: Place) -> Got | None:
    _, found = await last(reader, [place], 1, lambda got: got.key == state_key(place.partition))
    return found[place][-1] if found[place] else None


async def _readable(reader: Reader, place: Place, wiring: Wiring | None) -> Got | None:
    def good(got: Got) -> bool:
        return got.key == state_key(place.partition) and _fault(got, wiring) is None

    _, found = await last(reader, [place], 1, good)
    return found[place][-1] if found[place] else None


def _loaded(got: Got) -> StateRecord:
    return StateRecord.load(got.value or b"", f"{got.place.topic} {got.place.partition}")


def _fault(got: Got, wiring: Wiring | None) -> str | None:
    """Why this is no state record, or none that its stage wrote, as far as can be told without or with the stage."""
    try:
        record = _loaded(got)
        if wiring is not None:
            check_proof(wiring.build(), record.content(), record.proof, wiring.name)
    except StateError as error:
        return str(error)
    return None
