# SPDX-License-Identifier: Apache-2.0
"""Records as they are read and written, and where."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A partition of a topic, by the topic's full name."""

    topic: str
    partition: int


class Got(NamedTuple):
    """A record as it was read."""

    place: Place
    offset: int
    key: bytes | None
    value: bytes | None
    time_ms: int


Waiting = tuple[int, bytes]
"""A record that is to be folded: its offset and value. A plain tuple: a source has many small ones."""


class RecordRun(NamedTuple):
    """Records of one partition, in their order; at least one."""

    place: Place
    records: list[Waiting]


class Write(NamedTuple):
    """A record to be written."""

    place: Place
    value: bytes
    """The record's bytes; none are written as null, which deletes the row of its key from a compacted topic."""
    key: bytes | None = None
