# SPDX-License-Identifier: Apache-2.0
"""Reports of m different coordinates, each with a sign, as rows of constant length in one canonical form.

Contract: symbols are coordinates without signs, or 2 j for +1 at coordinate j and 2 j + 1 for -1, rising.  A report
lists them in b bits each, the fewest that hold all of them.  Where 2 m > number, or that is shorter, it has a bit for
each of `number` coordinates, m of them set, and then m bits for signs, in the order of the coordinates, 1 for -1.  A
list is cut into planes: the lowest 8 bits of every symbol, the next 8, ...; then of the bits that are left the lowest
4, 2 and 1, as there are, in planes of their own: part i of p bits begins at bit p i of its plane (bit v of a row is bit
v mod 8 of byte v // 8).  Bits behind the last part are 0.  All else is malformed.  Not here: what symbols mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.packing import bit_bytes, count_bits, pack_bits, padding_set
from murmurate.randomizers.vectors.scratch import Scratch

Reports = NDArray[np.uint8]
Symbols = NDArray[np.unsignedinteger[Any]]
_LANE = 1 << 19  # bytes of symbols or of bits as bytes that are held at a time


class SymbolRows:
    """The form of reports of m of `number` coordinates."""

    def __init__(self, number: int, m: int, signs: bool) -> None:
        self.number, self.m, self.signs = number, m, signs
        symbols = number * (2 if signs else 1)
        self.bits = max(1, (symbols - 1).bit_length())
        self.dtype = np.dtype("<u2" if self.bits <= 16 else "<u4")
        self.width = -(-m // 8) * 8
        """The number of symbols of a row while they are packed: the last ones are 0."""
        self.planes = _planes(self.bits)
        listed = sum(bit_bytes(m * part) for _, part in self.planes)
        mapped = bit_bytes(number) + (bit_bytes(m) if signs else 0)
        self.listed = 2 * m <= number and listed <= mapped
        """Whether reports are lists; otherwise they have a bit for each coordinate."""
        self.size = listed if self.listed else mapped
        """The number of bytes of a report."""

    def lanes(self, n: int) -> Iterator[slice]:
        """Slices of n rows that fit a core's cache: symbols of lists, bytes of bits."""
        step = max(1, _LANE // (self.width * self.dtype.itemsize if self.listed else self.size))
        return (slice(start, min(n, start + step)) for start in range(0, n, step))

    # ---- lists ----

    def pack(self, symbols: Symbols, signs: NDArray[np.uint8] | None, scratch: Scratch) -> Reports:
        """Lists of rising symbols as reports. symbols: [n, m], with lowest bits 0 if `signs`, uint8[n, m], has them."""
        n, flat = len(symbols), symbols.reshape(-1)
        reports, at = np.empty((n, self.size), np.uint8), 0
        parts = scratch.array("parts", symbols.shape, symbols.dtype)
        small = scratch.array("small", (n, self.width), np.uint8)
        small[:, self.m :] = 0
        for shift, part in self.planes:
            np.right_shift(flat, flat.dtype.type(shift), out=parts.reshape(-1))
            small[:, : self.m] = parts
            if part < 8:
                small &= np.uint8((1 << part) - 1)
            if signs is not None and not shift:
                small[:, : self.m] |= signs
            plane, size = _folded(small.reshape(-1), part).reshape(n, -1), bit_bytes(self.m * part)
            reports[:, at : at + size] = plane[:, :size]
            at += size
        return reports

    def unpack(self, reports: Reports) -> Symbols:
        """The symbols of lists: dtype[n, width], where columns from m on hold what the last bits do, 0 if canonical."""
        n, at = len(reports), 0
        symbols = np.zeros(n * self.width, self.dtype)
        for shift, part in self.planes:
            plane, size = np.zeros((n, self.width * part // 8), np.uint8), bit_bytes(self.m * part)
            plane[:, :size] = reports[:, at : at + size]
            at += size
            parts = _unfolded(plane.reshape(-1), part)
            if shift:
                symbols |= parts.astype(self.dtype) << self.dtype.type(shift)
            else:
                symbols[:] = parts
        return symbols.reshape(n, self.width)

    def wrong(self, symbols: Symbols) -> NDArray[np.bool_]:
        """Which rows of unpacked symbols are no list that `pack` makes: bool[n]."""
        n, coordinate = len(symbols), symbols >> 1 if self.signs else symbols
        flat = coordinate.reshape(-1)
        rising = np.empty(n * self.width, np.bool_)
        np.greater(flat[1:], flat[:-1], out=rising[1:])
        rows = rising.reshape(n, self.width)
        rows[:, 0] = True
        rows[:, self.m :] = symbols[:, self.m :] == 0
        wrong = (rising.view("<u8").reshape(n, -1) != 0x0101010101010101).any(axis=1)
        return np.asarray(wrong | (coordinate[:, self.m - 1] >= self.number))

    # ---- bits ----

    def map(self, chosen: NDArray[np.bool_], signs: Reports) -> Reports:
        """Reports of bits. chosen: bool[n, number]; signs: uint8[n, bit_bytes(m)], its last bits 0."""
        bits = pack_bits(chosen)
        return np.concatenate((bits, signs), axis=1) if self.signs else bits

    def _mapped_wrong(self, reports: Reports) -> NDArray[np.bool_]:
        bits, signs = np.split(reports, [bit_bytes(self.number)], axis=1)
        narrow = np.uint16 if self.number < 1 << 16 else np.int64  # NumPy adds bytes to wide numbers slowly
        ones = np.bitwise_count(bits).sum(axis=1, dtype=narrow)
        wrong = padding_set(bits, self.number) | (ones != self.m)
        return np.asarray(wrong | padding_set(signs, self.m)) if self.signs else wrong

    def _mapped_symbols(self, reports: Reports) -> Symbols:
        n, of = len(reports), bit_bytes(self.number)
        bits = np.unpackbits(reports[:, :of], axis=1, count=self.number, bitorder="little")
        coordinates = np.flatnonzero(bits.view(np.bool_)).reshape(n, self.m)
        coordinates -= (np.arange(n) * self.number)[:, np.newaxis]
        if self.signs:
            coordinates *= 2
            coordinates += np.unpackbits(reports[:, of:], axis=1, count=self.m, bitorder="little")
        return coordinates.astype(self.dtype)

    # ---- either ----

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports are not of this form: bool[n]."""
        wrong = np.empty(len(reports), np.bool_)
        for rows in self.lanes(len(reports)):
            part = reports[rows]
            wrong[rows] = self.wrong(self.unpack(part)) if self.listed else self._mapped_wrong(part)
        return wrong

    def symbols(self, reports: Reports) -> Symbols:
        """The symbols of well-formed reports: dtype[n, m]."""
        return self.unpack(reports)[:, : self.m] if self.listed else self._mapped_symbols(reports)

    def counts(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """How often each symbol is in well-formed reports, and which reports are not: int64[symbols], rows."""
        counts, bad = np.zeros(self.number * (2 if self.signs else 1), np.int64), [np.empty(0, np.intp)]
        for rows in self.lanes(len(reports)):
            part = reports[rows]
            symbols = self.unpack(part) if self.listed else None
            wrong = self.wrong(symbols) if symbols is not None else self._mapped_wrong(part)
            if wrong.any():
                bad.append(np.flatnonzero(wrong) + rows.start)
            elif symbols is None:
                counts += self._mapped_counts(part)
            else:
                counts += np.bincount(symbols.reshape(-1), minlength=len(counts))
                counts[0] -= symbols.size - len(symbols) * self.m
        return counts, np.concatenate(bad)

    def _mapped_counts(self, reports: Reports) -> NDArray[np.int64]:
        """How often each symbol is in well-formed reports of bits: those of coordinates are added in words, and so are
        signs if every coordinate has one; otherwise each sign is first put into the place of its coordinate.
        """
        bits, signs = np.split(reports, [bit_bytes(self.number)], axis=1)
        every = self.m == self.number
        all_counts = np.full(self.number, len(reports)) if every else count_bits(bits, self.number)
        if not self.signs:
            return all_counts
        if every:
            minus = count_bits(signs, self.m)
        else:
            minus = np.zeros(self.number, np.int64)
            for start in range(0, len(reports), 255):  # 255 ones still fit a byte
                rows = slice(start, start + 255)
                places = np.unpackbits(bits[rows], axis=1, count=self.number, bitorder="little")
                coins = np.unpackbits(signs[rows], axis=1, count=self.m, bitorder="little")
                places.reshape(-1)[np.flatnonzero(places.view(np.bool_))] = coins.reshape(-1)
                minus += places.sum(axis=0, dtype=np.uint8)
        return np.stack((all_counts - minus, minus), axis=1).reshape(-1)


def _planes(bits: int) -> list[tuple[int, int]]:
    """The planes of symbols of so many bits: the lowest bit and the number of bits of each."""
    planes = [(8 * i, 8) for i in range(bits // 8)]
    at = 8 * len(planes)
    for part in (4, 2, 1):
        if bits % 8 & part:
            planes.append((at, part))
            at += part
    return planes


def _folded(parts: NDArray[np.uint8], part: int) -> NDArray[np.uint8]:
    """Bytes that hold 8 / part small numbers each, the first in the lowest bits."""
    if part == 8:
        return parts
    if part == 1:
        return np.packbits(parts, bitorder="little")
    wide = parts.view("<u2" if part == 4 else "<u4")
    folded = wide | wide >> 4 if part == 4 else wide | wide >> 6 | wide >> 12 | wide >> 18
    return np.asarray(folded.astype(np.uint8))


def _unfolded(plane: NDArray[np.uint8], part: int) -> NDArray[np.uint8]:
    """The small numbers that `_folded` put into bytes."""
    if part == 8:
        return plane
    if part == 1:
        return np.unpackbits(plane, bitorder="little")
    if part == 4:
        wide = plane.astype("<u2")
        return np.asarray(((wide | wide << 4) & 0x0F0F).view(np.uint8))
    wide = plane.astype("<u4")
    wide = (wide | wide << 12) & 0x000F000F
    return np.asarray(((wide | wide << 6) & 0x03030303).view(np.uint8))
