# SPDX-License-Identifier: Apache-2.0
"""The config record in force, as the log shows it, and when it has to be written again.

Contract: a log drops old records; so that a worker that starts next month finds what to compare with, publish writes
the same record again a few times within the log's retention, by its own clock.  A record whose number does not follow
changes nothing: it is named in a dead letter.  No setting is taken from it.  Not here: comparing (kafka/agreement.py).
"""

from __future__ import annotations

import orjson

from murmurate.config.agreement import follows
from murmurate.topics.codec import decode, encode
from murmurate.topics.messages import Config

AGAIN_MS = 6 * 3_600_000
"""Milliseconds until the record is written again: `rounds` keeps its records for at least a day."""


class AgreedConfig:
    """The config record in force at this point of the log."""

    def __init__(self) -> None:
        self._record: Config | None = None
        self._since: int | None = None  # the clock at its first tick after the record stood in the log

    def fold(self, found: Config) -> bool:
        """Take a config record; False, and no change, if it does not follow the one in force."""
        if not follows(self._record, found):
            return False
        self._record, self._since = found, None
        return True

    def tick(self, time_ms: int) -> Config | None:
        """Take the time; gives the record if it is to be written again."""
        if self._record is None:
            return None
        if self._since is None:
            self._since = time_ms
        if time_ms < self._since + AGAIN_MS:
            return None
        self._since = time_ms
        return self._record

    def kept(self) -> str | None:
        """The record, and when it was written, as a part of a state; None if there is none."""
        return None if self._record is None else orjson.dumps([encode(self._record).decode(), self._since]).decode()

    def restore(self, kept: str | None) -> None:
        """Take over what `kept` gave."""
        if kept is None:
            return
        text, self._since = orjson.loads(kept)
        record = decode(text.encode())
        self._record = record if isinstance(record, Config) else None
