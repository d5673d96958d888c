# SPDX-License-Identifier: Apache-2.0
"""Reading a record of any content: one that cannot be read is named in the zone's dead letters, and nothing stops.

Contract: a dead letter holds topic, partition, offset and the kind of fault; never what the record holds.  A record is
named once: in the zone of its topic, by the one stage that reads it there; stages of other zones skip it.
"""

from __future__ import annotations

from murmurate.agents.stages.stage import Log, Out, Record
from murmurate.topics.block import Block
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.errors import WireError
from murmurate.topics.message import Message
from murmurate.topics.messages import Dead
from murmurate.topics.names import names_dead


def read(record: Record, zone: str, out: list[Out]) -> Block | Message | None:
    """The record's content; None if it cannot be read, with a dead letter in `out` if the topic is of this zone."""
    try:
        return decode_record(record.value)
    except WireError as error:
        if not names_dead(record.log.topic, zone):
            return None
        out.append(dead(type(error).__name__.removesuffix("Error").lower(), record, zone))
        return None


def dead(reason: str, record: Record, zone: str) -> Out:
    """The dead letter that names a record."""
    letter = Dead(reason=reason, topic=record.log.topic, partition=record.log.partition, offset=record.offset)
    return Out(Log(f"dead.{zone}", 0), encode(letter))
