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


class Out(NamedTuple):
    """A record to be written."""

    log: Log
    value: bytes


NOWHERE: Final[Mapping[Log, int]] = MappingProxyType({})
"""The marks of a stage that no runtime holds."""


@dataclass(frozen=True)
class Outbox:
    """Everything since the last drain: one transaction on Kafka, one step on the embedded runtime."""

    records: tuple[Out, ...]
    urgent: bool
    """Decisive: a runtime flushes it at once."""


class Stage(Protocol):
    """A pure fold. Marks (the next offset of each log) are the runtime's."""

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
        """The large state, taken at these marks, in chunks of at most 512 KiB; none where `small` says it all."""
        ...

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """Where an instance that recovers from here must start to read its logs, given no snapshot after this."""
        ...

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Become, in a new instance, what `small` and `snapshot` describe. StateError if the snapshot was not taken at
        these marks, where the stage can tell.
        """
        ...


@runtime_checkable
class Proves(Protocol):
    """A stage whose state records nobody else may write: it holds a key, and each record bears its proof."""

    def proof(self, content: bytes) -> bytes:
        """What only this instance can say of a state record with this content, the same every time."""
        ...


@runtime_checkable
class TakesRuns(Protocol):
    """A stage whose logs have many small records: it takes them in runs, to the same effect."""

    def fold_run(self, log: Log, records: Sequence[tuple[int, bytes]]) -> None:
        """Take records of one log, (offset, value) in their order."""
        ...
