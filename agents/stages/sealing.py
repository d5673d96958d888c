"""State under an edge key: bytes that only the holder can read or change, the same for the same state.

AES-SIV (RFC 5297): deterministic and authenticated, so that no nonce has to be remembered across crashes.  A chunk is
bound by associated data to its place, to whether it is the last, and to the chunk before it: so chunks of two states
never open as one.  Neither side holds more than a chunk at a time.  Source: DESIGN rule 11.  Not here: whether all of
a snapshot is there (whoever points to it says how many chunks it has).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from murmurate.agents.stages.errors import StateError
from murmurate.randomizers.state import Piece

CHUNK_BYTES = 480 * 1024  # with seal and framing below the 512 KiB of a state record
_TAG_BYTES = 16


class Seal:
    """Seals and opens the snapshots of one stage instance."""

    def __init__(self, secret: bytes, place: str) -> None:
        self._siv, self._place = AESSIV(secret[:32]), place.encode()

    def chunks(self, data: Iterable[Piece]) -> Iterator[bytes]:
        """The data, which comes in pieces, in sealed chunks."""
        before = b""
        for i, (chunk, last) in enumerate(_last_marked(_cut(data))):
            sealed = self._siv.encrypt(chunk, self._bound(i, last, before))
            before = sealed[:_TAG_BYTES]
            yield sealed

    def open(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The data of all chunks, in order. No chunk at all is no state."""
        before, i = b"", -1
        for i, (sealed, last) in enumerate(_last_marked(chunks)):
            try:
                yield self._siv.decrypt(sealed, self._bound(i, last, before))
            except InvalidTag:
                where = self._place.decode()
                raise StateError(f"{where}: the state is torn, or sealed with another key") from None
            before = sealed[:_TAG_BYTES]
        if i < 0:
            raise StateError(f"{self._place.decode()}: found no chunk of the state; allowed: all of them")

    def _bound(self, i: int, last: bool, before: bytes) -> list[bytes]:
        return [self._place, b"%d %s" % (i, b"last" if last else b"more"), before]


def _cut(data: Iterable[Piece]) -> Iterator[bytes]:
    """The same bytes in pieces of a chunk's size, the last one shorter."""
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
