"""State under an edge key: bytes that only the holder can read or change, the same for the same state.

AES-SIV (RFC 5297): deterministic and authenticated, so that no nonce has to be remembered across crashes.  Chunks are
bound to their place by associated data.  Source: DESIGN rule 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from murmurate.agents.stages.errors import StateError

CHUNK_BYTES = 480 * 1024  # with seal and framing below the 512 KiB of a state record


class Seal:
    """Seals and opens the snapshots of one stage instance."""

    def __init__(self, secret: bytes, place: str) -> None:
        self._siv, self._place = AESSIV(secret[:32]), place.encode()

    def chunks(self, data: bytes) -> Iterator[bytes]:
        """The data in sealed chunks."""
        parts = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
        for i, part in enumerate(parts):
            yield self._siv.encrypt(part, [self._place, b"%d of %d" % (i, len(parts))])

    def open(self, chunks: Iterable[bytes]) -> bytes:
        """The data of all chunks, in order."""
        sealed = list(chunks)
        try:
            parts = [self._siv.decrypt(c, [self._place, b"%d of %d" % (i, len(sealed))]) for i, c in enumerate(sealed)]
        except InvalidTag:
            raise StateError(f"{self._place.decode()}: the state is torn, or sealed with another key") from None
        return b"".join(parts)
