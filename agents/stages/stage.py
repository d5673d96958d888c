# SPDX-License-Identifier: Apache-2.0
"""The contract of every stage: a pure fold over ordered logs.

Contract: no I/O, no clock, no chance; time arrives as a record.  After any prefix of its logs a stage is in the same
state and has emitted the same records, however those logs were interleaved: so a prefix can be folded again with its
outputs thrown away, which is how a runtime recovers.  Not here: who moves records (embedded/, kafka/).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple, Protocol, runtime_checkable


class Log(NamedTuple):
    """One ordered input or output: a topic's name without the deployment, and a partition."""

    topic: str
    partition: int


class Record(NamedTuple):
    """What a log holds at an offset."""

    log: Log
    offset: int
    value: bytes


class NoValue(bytes):
    """The value of a record of a source that has none, such as a mark of deletion: no bytes, and not an empty value."""


NO_VALUE: Final = NoValue()


class Out(NamedTuple):
    """A record to be written."""

    log: Log
    value: bytes
    """The record's bytes; none where the row of its key is to be deleted from a compacted topic."""
    key: bytes | None = None
    """The record's key, which subscribers alone have a use for."""


NOWHERE: Final[Mapping[Log, int]] = MappingProxyType({})
"""No marks: for a stage that is folded without a runtime."""


@dataclass(frozen=True)
class Outbox:
    """The records since the last drain: one transaction on Kafka, one step on the embedded runtime."""

    records: tuple[Out, ...]
    urgent: bool
    """Whether the runtime must write these records at once."""


class Stage(Protocol):
    """A pure fold. The runtime keeps the marks, the next offset of each log."""

    large: ClassVar[bool]
    """Whether its state is kept in snapshots; else `small` and the logs from `replay_from` hold it all."""

    def fold(self, record: Record) -> None:
        """Take one record."""
        ...

    def ready(self, log: Log) -> bool:
        """Whether this log's next record may be folded now, or has to wait; other logs may go on."""
        ...

    def drain(self) -> Outbox:
        """Hand over what is to be written."""
        ...

    def small(self) -> bytes:
        """The state that goes into every transaction: tens of bytes, or all of it where it is small."""
        ...

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """The large state, taken at these marks, in chunks of at most 512 KiB; no chunk where `small` is all of it."""
        ...

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """Where an instance that recovers from here must start to read its logs, given no snapshot after this."""
        ...

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Load the state of `small` and `snapshot` into a new instance. StateError if the snapshot was not taken at
        these marks, where the stage can check that.
        """
        ...


class Proves(Protocol):
    """A stage whose state records nobody else may write: it holds a key, and each record carries a proof."""

    def proof(self, content: bytes) -> bytes:
        """The authentication code of a state record with this content: it needs this instance's key."""
        ...


@runtime_checkable
class TakesRuns(Protocol):
    """A stage that folds many small records of a log in one call, with the same effect as one by one."""

    def fold_run(self, log: Log, records: Sequence[tuple[int, bytes]]) -> None:
        """Take records of one log, (offset, value) in their order."""
        ...
