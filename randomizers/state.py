"""Named arrays and facts as one run of bytes, and back: what a snapshot of the ledger is made of.

Layout: b"MURMSTAT", u32 header length, header (JSON: version, kind, facts, arrays as [name, dtype, shape]), the
arrays one after the other, u32 CRC-32 of all before it; everything little-endian.  Not here: sealing, which is the
stage's.
"""

import zlib
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.errors import SnapshotError

Arrays = dict[str, NDArray[Any]]
_MAGIC = b"MURMSTAT"
_VERSION = 1


def dump(kind: str, facts: dict[str, Any], arrays: Arrays) -> bytes:
    """One run of bytes: the same state gives the same bytes."""
    little = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in sorted(arrays.items())
    }
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in little.items()]
    header = orjson.dumps(
        {"version": _VERSION, "kind": kind, "facts": facts, "arrays": shapes}, option=orjson.OPT_SORT_KEYS
    )
    parts = [_MAGIC, len(header).to_bytes(4, "little"), header]
    parts += [array.tobytes() for array in little.values()]
    body = b"".join(parts)
    return body + zlib.crc32(body).to_bytes(4, "little")


def load(kind: str, data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Facts and (read-only) arrays of a snapshot of this kind."""
    start = len(_MAGIC) + 4
    if len(data) < start + 4 or not data.startswith(_MAGIC):
        raise SnapshotError(f"{kind}: found {len(data)} bytes that are no snapshot")
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise SnapshotError(f"{kind}: the snapshot is torn or corrupt: its checksum does not match")
    at = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    header = orjson.loads(data[start:at])
    if header["version"] != _VERSION or header["kind"] != kind:
        found = f"a snapshot of {header['kind']}, version {header['version']}"
        raise SnapshotError(f"{kind}: found {found}; allowed: {kind}, version {_VERSION}")
    arrays: Arrays = {}
    for name, dtype, shape in header["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, dtype, count, at).reshape(shape)
        at += count * np.dtype(dtype).itemsize
    return header["facts"], arrays
