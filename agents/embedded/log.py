# SPDX-License-Identifier: Apache-2.0
"""In-process logs: ordered records with offsets, that forget what nobody will read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.stage import Log, Out, Record


class Logs:
    """Every log of a deployment, by topic and partition. What is appended together is seen together."""

    def __init__(self) -> None:
        self._records: dict[Log, list[bytes]] = {}
        self._start: dict[Log, int] = {}
        self.listeners: list[Callable[[Sequence[Out]], None]] = []
        """Called with everything that is appended."""

    def append(self, records: Iterable[Out]) -> None:
        """Add records to the ends of their logs: one transaction."""
        written = list(records)
        for out in written:
            self._records.setdefault(out.log, []).append(out.value)
        for listener in self.listeners:
            listener(written)

    def end(self, log: Log) -> int:
        """The offset that the log's next record will have."""
        return self._start.get(log, 0) + len(self._records.get(log, ()))

    def start(self, log: Log) -> int:
        """The first offset that is still there."""
        return self._start.get(log, 0)

    def read(self, log: Log, offset: int) -> Record:
        """One record."""
        at = offset - self._start.get(log, 0)
        if at < 0:
            raise StateError(f"{log.topic} {log.partition}: offset {offset} is no longer there: the log starts later")
        return Record(log, offset, self._records[log][at])

    def forget(self, log: Log, below: int) -> None:
        """Drop the records below an offset."""
        start = self._start.get(log, 0)
        if below > start:
            del self._records[log][: below - start]
            self._start[log] = below

    def all(self, topic: str) -> list[bytes]:
        """What a topic holds, partition by partition."""
        return [value for log in sorted(self._records) if log.topic == topic for value in self._records[log]]

    def topics(self) -> list[Log]:
        """Every log that holds or held a record."""
        return sorted(self._records)
