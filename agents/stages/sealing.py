# SPDX-License-Identifier: Apache-2.0
"""State under an edge key: bytes that only the holder can read or change, the same for the same state.

AES-SIV (RFC 5297): deterministic and authenticated, so that no nonce has to be remembered across crashes.  A chunk is
bound by associated data to its instance, to the marks at which its snapshot was taken, to whether it is the last, and
to the chunk before it: so chunks of two states never open as one, and an old snapshot does not open under new marks.
The state record that holds these marks, and points to the snapshot, carries a proof over all its content (`prove`,
`check_proof`).  Neither side holds more than a chunk at a time.  Source: ARCHITECTURE rule 11.  Not here: whether a
snapshot is complete (the record that points to it has the number of its chunks); an older state that is put back
whole, together with its record, which is indistinguishable from the true one.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.stage import NOWHERE, Log, Proves, Stage
from murmurate.randomizers.state import Piece

CHUNK_BYTES = 480 * 1024  # with seal and framing below the 512 KiB of a state record
_TAG_BYTES = 16
_RECORD = b"state record"  # what is sealed of a record: the rest of it is associated data


class SnapshotSeal:
    """Seals and opens the snapshots of one stage instance, and proves its state records."""

    def __init__(self, secret: bytes, place: str) -> None:
        self._siv, self._place = AESSIV(secret[:32]), place.encode()

    def chunks(self, data: Iterable[Piece], marks: Mapping[Log, int] = NOWHERE) -> Iterator[bytes]:
        """The data, which comes in pieces, in sealed chunks of a snapshot that was taken at these marks."""
        before, at = b"", marks_bytes(marks)
        for i, (chunk, last) in enumerate(_last_marked(_cut(data))):
            sealed = self._siv.encrypt(chunk, self._bound(at, i, last, before))
            before = sealed[:_TAG_BYTES]
            yield sealed

    def open(self, chunks: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> Iterator[bytes]:
        """The data of all chunks, in order, if their snapshot was taken at these marks. No chunk at all is no state."""
        before, i, at = b"", -1, marks_bytes(marks)
        for i, (sealed, last) in enumerate(_last_marked(chunks)):
            try:
                yield self._siv.decrypt(sealed, self._bound(at, i, last, before))
            except InvalidTag:
                found = "the state is torn, or sealed with another key or at other marks"
                raise StateError(f"{self._place.decode()}: {found}") from None
            before = sealed[:_TAG_BYTES]
        if i < 0:
            raise StateError(f"{self._place.decode()}: found no chunk of the state; allowed: all of them")

    def proof(self, content: bytes) -> bytes:
        """The authentication code of a state record with this content, which only the key can make: 16 bytes."""
        return self._siv.encrypt(_RECORD, [self._place, content])[:_TAG_BYTES]

    def _bound(self, at: bytes, i: int, last: bool, before: bytes) -> list[bytes]:
        return [self._place, at, b"%d %s" % (i, b"last" if last else b"more"), before]


def marks_bytes(marks: Mapping[Log, int]) -> bytes:
    """Marks as bytes, the same for the same marks."""
    return orjson.dumps([[log.topic, log.partition, offset] for log, offset in sorted(marks.items())])


def prove(stage: Stage, content: bytes) -> bytes:
    """The proof that a state record of this stage carries; empty where the stage holds no key."""
    if not hasattr(stage, "proof"):  # by every record: to ask isinstance of a protocol takes longer than the proof
        return b""
    return cast(Proves, stage).proof(content)


def check_proof(stage: Stage, content: bytes, proof: bytes, where: str) -> None:
    """StateError if this is not the stage's proof of a state record with this content."""
    if not hmac.compare_digest(prove(stage, content), proof):
        raise StateError(
            f"{where}: found a state record that was changed after it was written, or written with another `state` "
            "key; allowed: the record, and the snapshot, as this instance wrote them"
        )


def _cut(data: Iterable[Piece]) -> Iterator[bytes]:
    """The bytes in pieces of a chunk's size, the last one shorter."""
    chunk = bytearray()
    for piece in data:
        rest = memoryview(piece)
        while rest:
            part = rest[: CHUNK_BYTES - len(chunk)]
            chunk += part
            rest = rest[len(part) :]
            if len(chunk) == CHUNK_BYTES:
                yield bytes(chunk)
                chunk.clear()
    if chunk:
        yield bytes(chunk)


def _last_marked(items: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each item, and whether it is the last."""
    held: bytes | None = None
    for item in items:
        if held is not None:
            yield held, False
        held = item
    if held is not None:
        yield held, True
