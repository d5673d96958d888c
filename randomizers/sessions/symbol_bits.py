# SPDX-License-Identifier: Apache-2.0
"""Reports of a node: some of d coordinates with a sign each, fewer or more, as rows of constant length.

Contract: a report has a bit for +1 at each coordinate, in whole bytes, and then one for -1 at each, and no coordinate
has both.  Where that is shorter it is a list of `most` little-endian 16-bit symbols instead, 2 j for +1 at coordinate j
and 2 j + 1 for -1, rising, and then FILLER.  There are `least` to `most` symbols in a report; all else is malformed.
Not here: what the symbols mean (exsub_online.py), rows that always have as many (vectors/symbol_rows.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.packing import bit_bytes, count_bits, padding_set
from murmurate.randomizers.question import Counts, Reports

FILLER: Final = 0xFFFF


class SymbolBits:
    """The form of reports of `least` to `most` of d coordinates."""

    def __init__(self, d: int, least: int, most: int) -> None:
        self.d, self.least, self.most = d, least, most
        self.bytes = bit_bytes(d)
        self.listed = most < self.bytes
        """Whether reports are lists."""
        self.size = 2 * most if self.listed else 2 * self.bytes
        """The number of bytes of a report."""

    def pack(self, bits: Reports) -> Reports:
        """Reports from rows of bits for +1 and for -1: uint8[n, 2 bytes]."""
        if not self.listed:
            return bits
        chosen = np.unpackbits(bits[:, : self.bytes] | bits[:, self.bytes :], axis=1, count=self.d, bitorder="little")
        user, coordinate = np.nonzero(chosen)
        minus = bits[user, self.bytes + (coordinate >> 3)] >> (coordinate & 7) & 1
        symbols = np.full((len(bits), self.most), FILLER, "<u2")
        symbols[user, np.arange(len(user)) - np.searchsorted(user, user)] = 2 * coordinate + minus
        return symbols.view(np.uint8)

    def pack_one(self, symbols: Iterable[int]) -> bytes:
        """The report of these symbols, in plain Python."""
        if self.listed:
            rising = sorted(symbols)
            return b"".join(symbol.to_bytes(2, "little") for symbol in rising + [FILLER] * (self.most - len(rising)))
        bits = sum(1 << (symbol >> 1) + 8 * self.bytes * (symbol & 1) for symbol in symbols)
        return bits.to_bytes(self.size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports are not of this form: bool[n]."""
        if self.listed:
            symbols = np.ascontiguousarray(reports).view("<u2").astype(np.int32)
            there = symbols != FILLER
            wrong = (there & (symbols >= 2 * self.d)).any(axis=1)
            coordinate = symbols >> 1
            wrong |= (there[:, 1:] & ~(there[:, :-1] & (coordinate[:, 1:] > coordinate[:, :-1]))).any(axis=1)
            count = there.sum(axis=1)
        else:
            plus, minus = reports[:, : self.bytes], reports[:, self.bytes :]
            wrong = (plus & minus).any(axis=1) | padding_set(plus, self.d) | padding_set(minus, self.d)
            count = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        return np.asarray(wrong | (count < self.least) | (count > self.most))

    def counts(self, reports: Reports) -> Counts:
        """How many well-formed reports have +1 at each coordinate, and how many have -1: int64[2 d]."""
        if not self.listed:
            halves = (reports[:, : self.bytes], reports[:, self.bytes :])
            return np.concatenate([count_bits(half, self.d) for half in halves])
        symbols = np.ascontiguousarray(reports).view("<u2").reshape(-1)
        found = np.bincount(symbols[symbols != FILLER], minlength=2 * self.d)
        return np.concatenate((found[::2], found[1::2])).astype(np.int64, copy=False)
