# SPDX-License-Identifier: Apache-2.0
"""Rows of bits and rows of small integers as uint8 arrays of constant width, and column sums of packed bits.

Contract: cell v of a bit row is bit v mod 8 of byte v // 8 and bits past the domain are zero; integers are
little-endian.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SLABS = 63  # 2^6 - 1 rows add up to exactly six bit planes
_LANE_BYTES = 1 << 21


def bit_bytes(d: int) -> int:
    """Bytes of a row of d bits."""
    return -(-d // 8)


def int_bytes(d: int) -> int:
    """Bytes of an integer below d."""
    return max(1, -(-(d - 1).bit_length() // 8))


def pack_bits(ones: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """uint8[n, bytes] from bool[n, d]. As one long row: NumPy takes twenty times as long for many short ones."""
    n, d = ones.shape
    if d % 8:
        ones, bits = np.zeros((n, 8 * bit_bytes(d)), np.bool_), ones
        ones[:, :d] = bits
    return np.packbits(ones.reshape(-1), bitorder="little").reshape(n, bit_bytes(d))


def pack_ints(values: NDArray[np.unsignedinteger[Any]], width: int) -> NDArray[np.uint8]:
    """uint8[n, width] from integers below 256^width."""
    if width in (1, 2, 4, 8):
        return np.ascontiguousarray(values, f"<u{width}").view(np.uint8).reshape(-1, width)
    wide = np.ascontiguousarray(values, "<u8")
    return np.ascontiguousarray(wide.view(np.uint8).reshape(-1, 8)[:, :width])


def unpack_ints(rows: NDArray[np.uint8]) -> NDArray[np.unsignedinteger[Any]]:
    """The integers of uint8[n, width], in the narrowest type that holds them."""
    n, width = rows.shape
    if width in (1, 2, 4, 8):
        return np.ascontiguousarray(rows).view(f"<u{width}").reshape(n)
    wide = np.zeros((n, 4 if width < 4 else 8), np.uint8)
    wide[:, :width] = rows
    return wide.view(f"<u{wide.shape[1]}").reshape(n)


def padding_set(rows: NDArray[np.uint8], d: int) -> NDArray[np.bool_]:
    """Which rows (bool[n]) have a bit set past the domain."""
    if d % 8 == 0:
        return np.zeros(len(rows), np.bool_)
    return np.asarray(rows[:, -1] >> (d % 8) != 0)


def count_bits(rows: NDArray[np.uint8], d: int) -> NDArray[np.int64]:
    """How often each of d cells is set: int64[d].

    Sixty-three slabs of rows are first added bit by bit with carry-save adders (the sum of three bits is two bits),
    which leaves one row in ten to be unpacked.
    """
    counts = np.zeros(d, np.int64)
    width = rows.shape[1]
    lane = max(1, _LANE_BYTES // (_SLABS * width)) * _SLABS
    for start in range(0, len(rows), lane):
        part = np.ascontiguousarray(rows[start : start + lane])
        slab = len(part) // _SLABS
        if slab:
            for weight, plane in enumerate(_add_slabs(part[: slab * _SLABS].reshape(_SLABS, slab * width))):
                counts += _unpacked_sum(plane.reshape(slab, width), d) << weight
        counts += _unpacked_sum(part[slab * _SLABS :], d)
    return counts


def _add_slabs(slabs: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Bit planes of the sum of 2^k - 1 slabs, lowest first: each layer's carries are the next layer."""
    planes, layer = [], list(slabs)
    while layer:
        total, carries = layer[0], []
        for a, b in zip(layer[1::2], layer[2::2], strict=True):
            half = total ^ a
            carry = total & a
            total = half ^ b
            half &= b
            carry |= half
            carries.append(carry)
        planes.append(total)
        layer = carries
    return planes


def _unpacked_sum(rows: NDArray[np.uint8], d: int) -> NDArray[np.int64]:
    counts = np.zeros(d, np.int64)
    for start in range(0, len(rows), 255):  # 255 ones still fit a byte
        bits = np.unpackbits(rows[start : start + 255], axis=1, count=d, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.uint8)
    return counts
