# SPDX-License-Identifier: Apache-2.0
"""The block codec: the unit on the wire for raw rows, reports, batches and many counts. Layout in docs/WIRE.md.

Contract: 64 bytes of header, then columns; a block holds at most 512 KiB; decoding copies nothing and gives read-only
views. Whatever bytes arrive, decoding gives a block or raises a WireError; any single flipped bit is refused (the
checksum covers all but itself). A block's length depends on its number of rows and their width only, never on what
they say.
Not here: JSON messages (codec.py), what a report means (randomizers/).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.topics.errors import ColumnError, CorruptError, NewerError, TooLargeError, TornError, UnknownError

MAGIC: Final = b"MURM"
VERSION: Final = 1
HEADER_BYTES: Final = 64
MAX_BLOCK: Final = 512 * 1024
MAX_PAYLOAD: Final = MAX_BLOCK - HEADER_BYTES
RAW, REPORTS, BATCH, TALLY, SUMS = 1, 2, 3, 4, 5
KINDS: Final = (RAW, REPORTS, BATCH, TALLY, SUMS)
MAX_WORDS: Final = 256
"""Words of a value, at most."""
REFUSED: Final = 0xFFFFFFFF
"""Every word of a refused value: its user is enrolled, nothing is set (ARCHITECTURE rule 7)."""
COUNT_WIDTH: Final = 8
"""Bytes of a count."""
COUNTS_PER_BLOCK: Final = MAX_PAYLOAD // COUNT_WIDTH
"""How many counts one block takes: all blocks of a tally but the last have as many."""
MAX_SUMS: Final = COUNTS_PER_BLOCK - 1
"""The most exact sums of one period and stream: they share a block with the period's number."""

_HEAD = struct.Struct("<4sBBHIIIII")  # magic, version, kind, reserved, rows, width, part, sequence, payload bytes
_CRC = struct.Struct("<I")
_CRC_AT, _SUBJECT_AT, _SUBJECT_BYTES = 28, 32, 32
_UINT32 = 1 << 32

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class RawBlock:
    """Coded events of one stream, sent by the door to perturb."""

    stream: bytes
    """SHA-256 of the stream's name (`names.stream_id`)."""
    sequence: int
    users: Bytes = field(repr=False)  # nothing of a row may reach a log
    """uint8[n, 16]: the users' pseudonyms."""
    times: NDArray[np.int64] = field(repr=False)
    """int64[n]: the times of the events, in milliseconds since 1970."""
    values: NDArray[np.uint32] = field(repr=False)
    """uint32[n], or uint32[n, words] where a value takes several words; REFUSED in every word of a refused value."""

    @property
    def words(self) -> int:
        """How many words a value takes."""
        return 1 if self.values.ndim == 1 else self.values.shape[1]


@dataclass(frozen=True, slots=True, eq=False)
class ReportBlock:
    """Reports of one contributor to one round, sent by perturb to shuffle."""

    round: bytes
    """The round's digest."""
    contributor: int
    """The raw partition that the reports come from."""
    sequence: int
    reports: Bytes = field(repr=False)
    """uint8[n, width]: one report a row."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchBlock:
    """A part of a sealed sub-batch, sent by shuffle to aggregate. It names no source."""

    round: bytes
    """The round's digest."""
    q: int
    """Which sub-batch of the round."""
    sequence: int
    reports: Bytes = field(repr=False)
    """uint8[n, width], in the order of the permutation."""


@dataclass(frozen=True, slots=True, eq=False)
class TallyBlock:
    """A part of the counts of one sub-batch, sent by aggregate to publish where they are too many for a message."""

    round: bytes
    """The round's digest."""
    q: int
    """Which sub-batch of the round."""
    sequence: int
    """Which block of the tally this is, from 0: its first count is number `sequence` x COUNTS_PER_BLOCK."""
    counts: NDArray[np.int64]
    """int64[n]: counts of the tally. A block can hold negative ones; whether they may be is the question's to say."""


@dataclass(frozen=True, slots=True, eq=False)
class SumsBlock:
    """Exact sums of a central stream's events in one period: what perturb tells the curator, inside the edge."""

    stream: bytes
    """SHA-256 of the stream's name (`names.stream_id`)."""
    contributor: int
    """The raw partition of the events."""
    t: int
    """The period."""
    sums: NDArray[np.int64] = field(repr=False)  # exact facts about raw events may not reach a log
    """int64[n]: what they are sums of is the stream's measure to say."""


Block = RawBlock | ReportBlock | BatchBlock | TallyBlock | SumsBlock


def encode_raw(stream: bytes, users: Bytes, times: NDArray[np.int64], values: NDArray[np.uint32]) -> Iterator[bytes]:
    """Raw rows as blocks, in order; without rows, one empty block."""
    _column("users", users, np.dtype(np.uint8), (len(users), 16))
    _column("times", times, np.dtype(np.int64), (len(users),))
    words = values.shape[1] if isinstance(values, np.ndarray) and values.ndim == 2 else 1
    _column("values", values, np.dtype(np.uint32), (len(users), words) if words > 1 else (len(users),))
    return _split(RAW, stream, 0, (users, times, values), len(users), raw_width(words))


def encode_reports(round_digest: bytes, contributor: int, reports: Bytes) -> Iterator[bytes]:
    """Reports as blocks, in order; without reports, one empty block."""
    return _encode_rows(REPORTS, round_digest, contributor, reports)


def encode_batch(
    round_digest: bytes, q: int, reports: Bytes, order: NDArray[np.int64] | None = None
) -> Iterator[bytes]:
    """A sealed sub-batch as blocks, the rows in this order or as they are; without reports, one empty block."""
    return _encode_rows(BATCH, round_digest, q, reports, order)


def raw_width(words: int) -> int:
    """Bytes of a raw row: pseudonym 16, time 8, and 4 for each word of the value."""
    if not 1 <= words <= MAX_WORDS:
        raise ColumnError(f"raw block: found values of {words} words; allowed: 1 to {MAX_WORDS}")
    return 24 + 4 * words


def encode_tally(round_digest: bytes, q: int, counts: NDArray[np.int64]) -> Iterator[bytes]:
    """The counts of a sub-batch as blocks, in order."""
    _column("counts", counts, np.dtype(np.int64), (len(counts),))
    return _split(TALLY, round_digest, q, (counts,), len(counts), COUNT_WIDTH)


def encode_sums(stream: bytes, contributor: int, t: int, sums: NDArray[np.int64]) -> bytes:
    """The exact sums of a period at a raw partition, as one block: its length depends on how many sums there are."""
    _column("sums", sums, np.dtype(np.int64), (len(sums),))
    if not 1 <= len(sums) <= MAX_SUMS:
        raise ColumnError(f"sums block: found {len(sums)} sums; allowed: 1 to {MAX_SUMS}")
    counts = np.concatenate((np.array([t], np.int64), sums))
    (block,) = _split(SUMS, stream, contributor, (counts,), len(counts), COUNT_WIDTH)
    return block


def rows_per_block(width: int) -> int:
    """How many rows of so many bytes one block takes."""
    if not 1 <= width <= MAX_PAYLOAD:
        raise TooLargeError(f"block: found rows of {width} bytes; allowed: 1 to {MAX_PAYLOAD}")
    return MAX_PAYLOAD // width


def decode(record: bytes | memoryview) -> Block:
    """The block in these bytes, its columns read-only views of them.

    The order of the checks is part of the contract, since it decides which error a reader sees:
    1. magic, 2. version, 3. length and size, 4. checksum, 5. kind, reserved bits and shape.
    """
    view = memoryview(record).toreadonly().cast("B")
    size = len(view)
    if view[:4] != MAGIC[:size] or not size:
        raise UnknownError("block: found bytes that do not begin a block; allowed: magic 'MURM'")
    if size > 4 and view[4] != VERSION:
        error = NewerError if view[4] > VERSION else UnknownError
        raise error(f"block: found version {view[4]} at byte 4; allowed: {VERSION}")
    if size < HEADER_BYTES:
        raise TornError(f"block: found {size} bytes; allowed: {HEADER_BYTES} of header at least")
    if size > MAX_BLOCK:
        raise TooLargeError(f"block: found {size} bytes; allowed: {MAX_BLOCK}")
    _, _, kind, reserved, rows, width, part, sequence, payload = _HEAD.unpack_from(view)
    if size != HEADER_BYTES + payload:
        raise TornError(f"block: found {size - HEADER_BYTES} bytes of payload; allowed: {payload}, as said at byte 24")
    if zlib.crc32(view[_SUBJECT_AT:], zlib.crc32(view[:_CRC_AT])) != _CRC.unpack_from(view, _CRC_AT)[0]:
        raise CorruptError("block: found a wrong checksum at byte 28; allowed: bytes as they were written")
    if kind not in KINDS:
        raise UnknownError(f"block: found kind {kind} at byte 5; allowed: {', '.join(map(str, KINDS))}")
    if reserved:
        raise UnknownError(f"block: found {reserved} in the reserved bytes 6 and 7; allowed: 0")
    if rows * width != payload or not 1 <= width <= MAX_PAYLOAD:  # Python's integers: nothing overflows
        raise TornError(f"block: found {rows} rows of {width} bytes in {payload}; allowed: rows that fill it")
    subject = bytes(view[_SUBJECT_AT:HEADER_BYTES])
    if kind == RAW:
        words, rest = divmod(width - 24, 4)
        if rest or not 1 <= words <= MAX_WORDS or part:
            allowed = f"24 and 4 for each of 1 to {MAX_WORDS} words, and 0"
            raise UnknownError(f"raw block: found rows of {width} bytes and part {part}; allowed: {allowed}")
        users = np.frombuffer(view, np.uint8, rows * 16, HEADER_BYTES).reshape(rows, 16)
        times = np.frombuffer(view, "<i8", rows, HEADER_BYTES + rows * 16)
        values = np.frombuffer(view, "<u4", rows * words, HEADER_BYTES + rows * 24)
        return RawBlock(subject, sequence, users, times, values if words == 1 else values.reshape(rows, words))
    if kind == TALLY:
        if width != COUNT_WIDTH:
            raise UnknownError(f"tally block: found counts of {width} bytes; allowed: {COUNT_WIDTH}")
        return TallyBlock(subject, part, sequence, np.frombuffer(view, "<i8", rows, HEADER_BYTES))
    if kind == SUMS:
        counts = np.frombuffer(view, "<i8", rows if width == COUNT_WIDTH else 0, HEADER_BYTES)
        if len(counts) < 2 or sequence or counts[0] < 0:
            found = f"{rows} numbers of {width} bytes in block {sequence}"
            raise UnknownError(f"sums block: found {found}; allowed: a period and 1 to {MAX_SUMS} sums, in one block")
        return SumsBlock(subject, part, int(counts[0]), counts[1:])
    reports = np.frombuffer(view, np.uint8, payload, HEADER_BYTES).reshape(rows, width)
    shape = ReportBlock if kind == REPORTS else BatchBlock
    return shape(subject, part, sequence, reports)


def _encode_rows(
    kind: int, subject: bytes, part: int, reports: Bytes, order: NDArray[np.int64] | None = None
) -> Iterator[bytes]:
    width = reports.shape[1] if isinstance(reports, np.ndarray) and reports.ndim == 2 else 0
    _column("reports", reports, np.dtype(np.uint8), (len(reports), width))
    if order is not None:
        _column("order", order, np.dtype(np.int64), (len(reports),))
    return _split(kind, subject, part, (reports,), len(reports), width, order)


def _split(
    kind: int, subject: bytes, part: int, columns: tuple[NDArray[Any], ...], rows: int, width: int,
    order: NDArray[np.int64] | None = None,
) -> Iterator[bytes]:  # fmt: skip
    """Checks at the call; the blocks themselves are made one at a time, so that a large round needs no second copy."""
    if not isinstance(subject, bytes) or len(subject) != _SUBJECT_BYTES:
        raise ColumnError(f"block: found a subject of other than {_SUBJECT_BYTES} bytes; allowed: a digest")
    if isinstance(part, bool) or not isinstance(part, int) or not 0 <= part < _UINT32:
        raise ColumnError(f"block: part: found {part}; allowed: 0 to {_UINT32 - 1}")
    return _blocks(kind, subject, part, columns, rows, width, rows_per_block(width), order)


def _blocks(
    kind: int, subject: bytes, part: int, columns: tuple[NDArray[Any], ...], rows: int, width: int, most: int,
    order: NDArray[np.int64] | None,
) -> Iterator[bytes]:  # fmt: skip
    for sequence, start in enumerate(range(0, max(rows, 1), most)):
        count = min(most, rows - start)
        head = _HEAD.pack(MAGIC, VERSION, kind, 0, count, width, part, sequence, count * width)
        chosen = slice(start, start + count)
        cut = [column[chosen] if order is None else column.take(order[chosen], axis=0) for column in columns]
        pieces = [_wire(column) for column in cut]
        crc = zlib.crc32(subject, zlib.crc32(head))
        for piece in pieces:
            crc = zlib.crc32(piece, crc)
        yield b"".join((head, _CRC.pack(crc), subject, *pieces))


def _wire(column: NDArray[Any]) -> memoryview:
    """The column's bytes as they go on the wire: little-endian, row by row. On a usual machine this copies nothing."""
    little = column.astype(column.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(little).reshape(-1).view(np.uint8).data


def _column(name: str, column: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    if not isinstance(column, np.ndarray) or column.dtype != dtype or column.shape != shape:
        found = f"{column.dtype}{list(column.shape)}" if isinstance(column, np.ndarray) else type(column).__name__
        raise ColumnError(f"block: {name}: found {found}; allowed: {dtype}{list(shape)}")
