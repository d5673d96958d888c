"""Named arrays and facts as bytes, and back: what a snapshot is made of. As one run, or in pieces without a copy.

Layout of a run: b"MURMSTAT", u32 header length, header (JSON: version, kind, facts, arrays as [name, dtype, shape]),
the arrays one after the other, u32 CRC-32 of all before it.  Layout of the pieces together: b"MURMFLOW", u32 header
length, header (JSON: version, kind, facts); for each array u32 length, JSON [name, dtype, shape], the array; u32 0 and
the CRC-32. Everything little-endian.  Another kind or version is refused, and nothing migrates.  Not here: sealing,
which is the stage's.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.errors import SnapshotError

Arrays = dict[str, NDArray[Any]]
Piece = bytes | memoryview
_MAGIC = b"MURMSTAT"
_FLOW = b"MURMFLOW"
_VERSION = 2
_MOST_HEADER = 1 << 28
_KINDS = {"b", "i", "u", "f"}


def dump(kind: str, facts: dict[str, Any], arrays: Arrays) -> bytes:
    """One run of bytes: the same state gives the same bytes."""
    little = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in sorted(arrays.items())
    }
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in little.items()]
    header = orjson.dumps(
        {"version": _VERSION, "kind": kind, "facts": facts, "arrays": shapes}, option=orjson.OPT_SORT_KEYS
    )
    parts: list[Piece] = [_MAGIC, len(header).to_bytes(4, "little"), header, *map(_bytes_of, little.values())]
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return b"".join([*parts, crc.to_bytes(4, "little")])


def load(kind: str, data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Facts and (read-only) arrays of a snapshot of this kind."""
    start = len(_MAGIC) + 4
    if len(data) < start + 4 or not data.startswith(_MAGIC):
        raise SnapshotError(f"{kind}: found {len(data)} bytes that are no snapshot")
    if zlib.crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "little"):
        raise SnapshotError(f"{kind}: the snapshot is torn or corrupt: its checksum does not match")
    at = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    header = orjson.loads(data[start:at])
    _check_form(kind, header)
    arrays: Arrays = {}
    for name, dtype, shape in header["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, dtype, count, at).reshape(shape)
        at += count * np.dtype(dtype).itemsize
    return header["facts"], arrays


def pieces(kind: str, facts: dict[str, Any], arrays: Iterable[tuple[str, NDArray[Any]]]) -> Iterator[Piece]:
    """The same state in pieces, each array a view of itself: read them before anything changes."""
    header = orjson.dumps({"version": _VERSION, "kind": kind, "facts": facts}, option=orjson.OPT_SORT_KEYS)
    crc = 0
    for piece in _flow(header, arrays):
        crc = zlib.crc32(piece, crc)
        yield piece
    yield crc.to_bytes(4, "little")


def collect(kind: str, data: Iterable[bytes]) -> tuple[dict[str, Any], Arrays]:
    """Facts and arrays of the pieces, however they are cut; the arrays are the caller's own."""
    source = _Source(kind, data)
    if source.take(len(_FLOW)) != _FLOW:
        raise SnapshotError(f"{kind}: found bytes that are no snapshot")
    try:
        return _collected(kind, source)
    except SnapshotError:
        raise
    except (ValueError, TypeError, KeyError, MemoryError):  # the checksum stands at the end, where nobody came
        raise SnapshotError(f"{kind}: the snapshot is torn or corrupt: its headers do not read") from None


def _collected(kind: str, source: _Source) -> tuple[dict[str, Any], Arrays]:
    header = orjson.loads(source.take(source.number()))
    _check_form(kind, header)
    arrays: Arrays = {}
    while size := source.number():
        name, dtype, shape = orjson.loads(source.take(size))
        if dtype[1:2] not in _KINDS:
            raise SnapshotError(f"{kind}: the snapshot is torn or corrupt: found an array that holds no numbers")
        arrays[name] = np.empty(shape, dtype)
        source.fill(_bytes_of(arrays[name]))
    crc = source.crc
    if source.number() != crc or not source.ended:
        raise SnapshotError(f"{kind}: the snapshot is torn or corrupt: its checksum does not match")
    return header["facts"], arrays


def _check_form(kind: str, header: dict[str, Any]) -> None:
    if header["kind"] != kind:
        found = f"a snapshot of {header['kind']}, version {header['version']}"
        raise SnapshotError(f"{kind}: found {found}; allowed: {kind}, version {_VERSION}")
    if header["version"] != _VERSION:
        raise SnapshotError(
            f"{kind}: found a snapshot of {kind}, version {header['version']}; allowed: {kind}, version {_VERSION}. "
            "State never migrates: run the version that wrote it, or a deployment of a new name"
        )


def _flow(header: bytes, arrays: Iterable[tuple[str, NDArray[Any]]]) -> Iterator[Piece]:
    yield _FLOW + len(header).to_bytes(4, "little") + header
    for name, array in arrays:
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        said = orjson.dumps([name, little.dtype.str, list(little.shape)])
        yield len(said).to_bytes(4, "little") + said
        yield _bytes_of(little)
    yield bytes(4)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """The bytes of a contiguous array, in place."""
    return array.reshape(-1).view(np.uint8).data


class _Source:
    """Bytes that come in pieces, to be taken in other ones."""

    def __init__(self, kind: str, data: Iterable[bytes]) -> None:
        self._kind, self._data, self._held = kind, iter(data), memoryview(b"")
        self.crc = 0

    def fill(self, into: memoryview) -> None:
        """Write the next bytes here."""
        at = 0
        while at < len(into):
            if not self._held and self.ended:
                raise SnapshotError(f"{self._kind}: the snapshot is torn: it ends too early")
            part = self._held[: len(into) - at]
            into[at : at + len(part)] = part
            at, self._held = at + len(part), self._held[len(part) :]
        self.crc = zlib.crc32(into, self.crc)

    def take(self, size: int) -> bytes:
        """The next bytes; few."""
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
        """Whether there is nothing more."""
        while not self._held:
            found = next(self._data, None)
            if found is None:
                return True
            self._held = memoryview(found)
        return False
