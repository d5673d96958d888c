# SPDX-License-Identifier: Apache-2.0
"""The state of an instance that a transaction stores, as a record of a state topic, and the place of its snapshot.

Contract: a state partition has one writer.  Its last record with the key "P/state" is the state: marks, where a
recovery begins to read, the small state, the pointer of the newest snapshot.  Snapshots are chunks with the keys
"P/G/0", "P/G/1" ..., of a generation G, 0 or 1 in turn: the newest one that a state record points to is never
overwritten before its successor is pointed to, so compaction cannot take it.  A small state that has grown stands in
such chunks too, written with its record (`split`, `joined`).  The record of a stage that holds a key bears a proof over
`content`, which is all that it says (`sealed`): it stays readable, and nobody else can change it.  A record of another
form is refused, and nothing migrates.  Source: ARCHITECTURE rules 11, 12, 13.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.sealing import prove
from murmurate.agents.stages.stage import Log, Stage
from murmurate.randomizers import SnapshotError
from murmurate.randomizers.state import REMEDY, StateForm, dump, load

FORM: Final = StateForm("state record", 4)
OLDER: Final = b'{"schema":"murmurate/state/'
"""How the records of the first two forms begin, which were JSON."""
LOOK: Final = "see `murmurate state inspect`"
MOST_SMALL = 256 << 10
"""A small state of more bytes stands in chunks of so many."""


@dataclass(frozen=True)
class Pointer:
    """Where the newest snapshot begins in the state partition."""

    offset: int
    chunks: int
    generation: int
    """0 or 1, in turn."""
    start: Mapping[Log, int]
    """The marks it was taken at: a recovery reads on from there."""


@dataclass(frozen=True)
class StateRecord:
    """Everything a successor must know."""

    marks: Mapping[Log, int]
    """The next offset of each log."""
    start: Mapping[Log, int]
    """Where a recovering instance begins to read."""
    small: bytes
    snapshot: Pointer | None
    revisions: Mapping[str, tuple[str, int]]
    """Config digest and revision of each stream."""
    config: tuple[str, int] = ("", 0)
    """Fingerprint of what may never change, and the number of the config record that its worker had compared."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """The ids of the topics that were read."""
    proof: bytes = b""
    """For a stage that holds a key: proof that it wrote all other fields."""

    def dump(self) -> bytes:
        """As a record's value."""
        return self._dumped({"small": self.small, "proof": self.proof})

    def content(self) -> bytes:
        """The content of the record without its proof: the same bytes for the same content."""
        return self._dumped({"small": self.small})

    def _dumped(self, parts: Mapping[str, bytes]) -> bytes:
        pointer = self.snapshot
        facts = {
            "marks": _texts(self.marks),
            "from": _texts(self.start),
            "snapshot": pointer
            and {
                "offset": pointer.offset,
                "chunks": pointer.chunks,
                "generation": pointer.generation,
                "from": _texts(pointer.start),
            },
            "revisions": self.revisions,
            "config": self.config,
            "ids": dict(self.ids),
        }
        return dump(FORM, facts, {name: np.frombuffer(part, np.uint8) for name, part in parts.items()})

    @classmethod
    def load(cls, value: bytes, where: str) -> StateRecord:
        """From a record's value. StateError if it is none: somebody else has written here, or an older version."""
        if value.startswith(OLDER):
            raise StateError(f"{where}: found a state record of an older layout; allowed: {FORM}. {REMEDY}")
        try:
            found, parts = load(FORM, value)
            pointer = found["snapshot"]
            snapshot = pointer and Pointer(
                pointer["offset"], pointer["chunks"], pointer["generation"], _logs(pointer["from"])
            )
            revisions = {name: (config, revision) for name, (config, revision) in found["revisions"].items()}
            small, proof = parts["small"].tobytes(), parts["proof"].tobytes()
            agreed, number = found["config"]
            ids = {str(topic): str(identity) for topic, identity in found["ids"].items()}
            marks, start = _logs(found["marks"]), _logs(found["from"])
            return cls(marks, start, small, snapshot, revisions, (agreed, number), ids, proof)
        except SnapshotError as error:
            raise StateError(f"{where}: {error}{'' if REMEDY in str(error) else f' ({LOOK})'}") from None
        except (ValueError, LookupError, TypeError, AttributeError):
            raise StateError(
                f"{where}: found a record that is no state; allowed: what its stage wrote ({LOOK})"
            ) from None


def sealed(record: StateRecord, stage: Stage) -> StateRecord:
    """The record with its stage's proof."""
    return replace(record, proof=prove(stage, record.content()))


def split(record: StateRecord, before: tuple[int, StateRecord] | None) -> tuple[StateRecord, list[bytes]]:
    """A record without a snapshot, and the chunks that its small state needs. Its pointer says where to look for them:
    behind the record before it, which keeps chunks of its own generation.
    """
    small, last = record.small, before[1].snapshot if before else None
    if len(small) <= MOST_SMALL:
        return record, []
    chunks = [small[at : at + MOST_SMALL] for at in range(0, len(small), MOST_SMALL)]
    pointer = Pointer(before[0] + 1 if before else 0, len(chunks), 1 - last.generation if last else 0, {})
    return replace(record, small=b"", snapshot=pointer), chunks


def joined(record: StateRecord, chunks: Sequence[bytes]) -> bytes:
    """The small state of a record without a snapshot, from the chunks it points to."""
    return b"".join(chunks) if record.snapshot else record.small


def state_key(partition: int) -> bytes:
    """The key of a state record."""
    return b"%d/state" % partition


def chunk_key(partition: int, generation: int, chunk: int) -> bytes:
    """The key of a chunk of a snapshot."""
    return b"%d/%d/%d" % (partition, generation, chunk)


def _texts(offsets: Mapping[Log, int]) -> dict[str, int]:
    return {f"{log.topic}/{log.partition}": offset for log, offset in sorted(offsets.items())}


def _logs(texts: Mapping[str, int]) -> dict[Log, int]:
    logs = {}
    for text, offset in texts.items():
        topic, _, partition = text.rpartition("/")
        logs[Log(topic, int(partition))] = int(offset)
    return logs
