# SPDX-License-Identifier: Apache-2.0
"""The format of every state and snapshot: named arrays and facts as bytes, and back, in one piece or many.

Layout: b"MURMFLOW", u32 header length, header (JSON: layout, kind, form, facts); for each array u32 length, JSON [name,
dtype, shape], the array; u32 0 and the CRC-32 of all before it.  Everything little-endian.  The writer of a state
passes its `StateForm`: the kind of state, and a version that is raised when its facts or arrays change.  Another kind,
form or layout is refused with the remedy, and nothing migrates.  Not here: encryption, which is the stage's.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.errors import SnapshotError

Arrays = dict[str, NDArray[Any]]
Piece = bytes | memoryview
REMEDY: Final = "State never migrates: run the version that wrote it, or a deployment of a new name"
_FLOW = b"MURMFLOW"
_OLDER = b"MURMSTAT"
"""The first bytes of small states in a layout that is no longer written."""
_LAYOUT = 3
_MOST_HEADER = 1 << 28
_KINDS = {"b", "i", "u", "f"}


class StateForm(NamedTuple):
    """The kind of a state and the version of its form."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}, form {self.number}"


def dump(form: StateForm, facts: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a state in one piece; the same state gives the same bytes, whatever the order of its arrays."""
    return b"".join(pieces(form, facts, sorted(arrays.items())))


def load(form: StateForm, data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Facts and arrays of a state of this form."""
    return collect(form, [data])


def pieces(form: StateForm, facts: dict[str, Any], arrays: Iterable[tuple[str, NDArray[Any]]]) -> Iterator[Piece]:
    """The bytes of `dump` in pieces, each array a view of itself: read them before anything changes."""
    facts_and_form = {"layout": _LAYOUT, "kind": form.kind, "form": form.number, "facts": facts}
    header = orjson.dumps(facts_and_form, option=orjson.OPT_SORT_KEYS)
    crc = 0
    for piece in _flow(header, arrays):
        crc = zlib.crc32(piece, crc)
        yield piece
    yield crc.to_bytes(4, "little")


def collect(form: StateForm, data: Iterable[bytes]) -> tuple[dict[str, Any], Arrays]:
    """Facts and arrays of the pieces, however they are cut; the arrays are the caller's own."""
    source = _Source(form.kind, data)
    begins = source.take(len(_FLOW))
    if begins == _OLDER:
        raise SnapshotError(f"{form.kind}: found a snapshot of an older layout; allowed: {form}. {REMEDY}")
    if begins != _FLOW:
        raise SnapshotError(f"{form.kind}: found bytes that are no snapshot; allowed: {form}")
    try:
        return _collected(form, source)
    except SnapshotError:
        raise
    except (ValueError, TypeError, KeyError, MemoryError):  # the checksum stands at the end, where nobody came
        raise SnapshotError(f"{form.kind}: the snapshot is torn or corrupt: its headers do not read") from None


def _collected(form: StateForm, source: _Source) -> tuple[dict[str, Any], Arrays]:
    header = orjson.loads(source.take(source.number()))
    _check_form(form, header)
    arrays: Arrays = {}
    while size := source.number():
        name, dtype, shape = orjson.loads(source.take(size))
        if dtype[1:2] not in _KINDS:
            raise SnapshotError(f"{form.kind}: the snapshot is torn or corrupt: found an array that holds no numbers")
        arrays[name] = np.empty(shape, dtype)
        source.fill(_bytes_of(arrays[name]))
    crc = source.crc
    if source.number() != crc or not source.ended:
        raise SnapshotError(f"{form.kind}: the snapshot is torn or corrupt: its checksum does not match")
    return header["facts"], arrays


def _check_form(form: StateForm, header: dict[str, Any]) -> None:
    """Check kind and form first. Nothing else is trusted yet, since the checksum comes last."""
    layout, kind = header.get("layout", header.get("version")), str(header["kind"])[:40]
    found = f"{kind}, form {header['form']}" if layout == _LAYOUT else f"{kind}, of layout {layout}"
    if kind != form.kind:
        raise SnapshotError(f"{form.kind}: found a snapshot of {found}; allowed: {form}")
    if (layout, header.get("form")) != (_LAYOUT, form.number):
        raise SnapshotError(f"{form.kind}: found a snapshot of {found}; allowed: {form}. {REMEDY}")


def _flow(header: bytes, arrays: Iterable[tuple[str, NDArray[Any]]]) -> Iterator[Piece]:
    yield _FLOW + len(header).to_bytes(4, "little") + header
    for name, array in arrays:
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        described = orjson.dumps([name, little.dtype.str, list(little.shape)])
        yield len(described).to_bytes(4, "little") + described
        yield _bytes_of(little)
    yield bytes(4)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """The bytes of a contiguous array, in place."""
    return array.reshape(-1).view(np.uint8).data


class _Source:
    """Bytes that arrive in pieces, to be read in pieces of other lengths."""

    def __init__(self, kind: str, data: Iterable[bytes]) -> None:
        self._kind, self._data, self._held = kind, iter(data), memoryview(b"")
        self.crc = 0

    def fill(self, into: memoryview) -> None:
        """Fill this buffer with the next bytes."""
        at = 0
        while at < len(into):
            if not self._held and self.ended:
                raise SnapshotError(f"{self._kind}: the snapshot is torn: it ends too early")
            part = self._held[: len(into) - at]
            into[at : at + len(part)] = part
            at, self._held = at + len(part), self._held[len(part) :]
        self.crc = zlib.crc32(into, self.crc)

    def take(self, size: int) -> bytes:
        """The next few bytes."""
        if size > _MOST_HEADER:
            raise SnapshotError(f"{self._kind}: the snapshot is torn or corrupt: found a header of {size} bytes")
        taken = bytearray(size)
        self.fill(memoryview(taken))
        return bytes(taken)

    def number(self) -> int:
        """The next u32."""
        return int.from_bytes(self.take(4), "little")

    @property
    def ended(self) -> bool:
        """Whether all bytes have been read."""
        while not self._held:
            found = next(self._data, None)
            if found is None:
                return True
            self._held = memoryview(found)
        return False
