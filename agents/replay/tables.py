# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON lines as a source: every line through the door's own reader of events.

Contract: a bad line is counted by reason and named by number, the others are read; a file without one good event is an
error.  A bad line whose user and time can be read all the same shows its user, as at the door.  A CSV row is one line;
the column of a field is its JSON pointer without the first slash, `session/user_id` or `session.user_id` for
/session/user_id.  An empty cell is a missing field; topics/domains/tables.py defines how lists and objects are written
in one.  A file has no timestamps of its own: a stream without a `time` pointer is read from `/time`.  Not here: the
clock's rule (clock.py), bytes to lines (lines.py), rows that are broken (rows.py).
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.agents.replay.clock import REACH, Clock, Ticks, first_period, last_closing
from murmurate.agents.replay.lines import Lines, blocks, check_text
from murmurate.agents.replay.rows import beside
from murmurate.agents.replay.source import BATCH_ROWS, NAMED_LINES, Batch, Ints, Source, SourceError
from murmurate.config.plan import Plan
from murmurate.topics.block import REFUSED
from murmurate.topics.events import MAX_EVENT, Columns, EventReader, Fields, Reason
from murmurate.topics.pointers import tokens

CSV_REASON = "csv"
"""The reason for a row with another number of cells than the header, or a quote left open."""
UTF8_REASON = "utf8"
_FLAT = Fields("/user", "/value", "/time", None)
_STRETCH = 2 * REACH + 1


@dataclass(eq=False)
class _Piece:
    """The good rows of some lines, and the faults of the others."""

    columns: list[Columns] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    lines: int = 0

    def __len__(self) -> int:
        return sum(len(columns.time) for columns in self.columns)

    def add(self, other: _Piece) -> None:
        """Append another piece."""
        self.columns += other.columns
        self.dropped += other.dropped
        self.lines += other.lines

    def times(self) -> Ints:
        """The times of the rows: int64[n]."""
        return np.concatenate([np.zeros(0, np.int64), *(columns.time for columns in self.columns)])


class TextSource(Source):
    """A source of JSON lines. Other text formats differ in how lines become records for the reader of events."""

    def __init__(self, path: Path, plan: Plan, streams: tuple[str, ...]) -> None:
        super().__init__(plan, streams)
        check_text(path)
        self._path, self._bytes, self._read = path, path.stat().st_size, 0
        plans = self._plans()
        fields = plans[0].fields
        if len(plans) > 1 and (fields.stream is None or any(stream.fields != fields for stream in plans)):
            raise SourceError(f"{path.name}: found {len(plans)} streams whose events look alike; allowed: name one")
        self._fields = fields if fields.time is not None else replace(fields, time="/time")
        self._reader = self._make_reader()
        every = tuple(sorted({stream.every_ms for stream in plans}))
        self._ticks = Ticks(every, plan.lateness_ms, plan.future_ms // 2)
        self._first: dict[str, int] = {}
        self._check_start()

    def fraction(self) -> float | None:
        """The part of the bytes that has been read."""
        return self._read / max(1, self._bytes)

    def first_t(self, stream: str) -> int:
        """The first period of the stream, from the first 1 001 lines, as the clock's rule demands."""
        if not self._first:
            pieces = self._pieces(keep=False)
            piece, ends = next(pieces), False
            while len(piece) < _STRETCH and not ends:
                more = next(pieces, None)
                ends = more is None
                piece.add(more or _Piece())
            times = piece.times()
            if not len(times):
                self._refuse_all(piece.dropped)
            for plan in self._plans():
                self._first[plan.name] = first_period(
                    times[:_STRETCH], self._ticks, plan.every_ms, ends=len(times) <= _STRETCH and ends
                )
        return self._first[stream]

    def batches(self) -> Iterator[Batch]:
        """The events, from the beginning."""
        self.counts.clear()
        self.complaints.clear()
        self._end = None
        clock = Clock(self._ticks, BATCH_ROWS)
        end, usable = 0, False
        for piece, after, ends in self._stretches():
            times = piece.times()
            for at, stretch in enumerate(clock.cut(times, after, ends=ends)):
                rows, now = stretch
                end = max(end, last_closing(times[rows], now, self.plan.future_ms, self._ticks))
                for batch in self._batches_of(piece, rows, now, first=at == 0):
                    usable = usable or bool((batch.codes != REFUSED).any())
                    yield batch
        if not usable:
            self._refuse_all(self.counts)
        self._end = max(end, clock.clock or 0)
        self._read = self._bytes

    def _batches_of(self, piece: _Piece, rows: slice, clock: int, *, first: bool) -> Iterator[Batch]:
        """One batch for each stream among these rows. Faults are reported with the first batch of a piece."""
        columns = _joined(piece.columns)
        piece.columns = [columns]
        refused, lines = (dict(piece.dropped), piece.lines) if first else ({}, 0)
        for position in np.unique(columns.stream[rows]).tolist():
            domain = self.plan.any_stream(self.streams[position]).domain
            part = columns.of(position, domain.words, rows)
            names = columns.users
            yield Batch(
                self.streams[position], clock, [names[row] for row in part.rows.tolist()], None,
                part.times, part.values, refused, lines, part.long,
            )  # fmt: skip
            refused, lines = {}, 0

    def _stretches(self) -> Iterator[tuple[_Piece, Ints, bool]]:
        """Pieces of at least 1 001 good rows, each with the times of the 500 after it, and whether those are all."""
        held = _Piece()
        waiting: _Piece | None = None
        for piece in self._pieces(keep=True):
            held.add(piece)
            if len(held) < _STRETCH:
                continue
            if waiting is not None:
                yield waiting, held.times(), False
            waiting, held = held, _Piece()
        if waiting is not None and not len(held):
            waiting.add(held)  # nothing but refused lines: they still have to be counted with some batch
        if waiting is not None:
            yield waiting, held.times(), True
        yield held, np.zeros(0, np.int64), True

    def _pieces(self, *, keep: bool) -> Iterator[_Piece]:
        for block in blocks(self._path):
            records, numbers, broken = self._records(block)
            columns = self._reader.read(records)
            had_row = np.zeros(len(records), np.bool_)
            had_row[columns.index] = True
            wrong = [(index, broken.get(index, reason.value)) for index, reason in columns.refusals]
            dropped = Counter(reason for index, reason in wrong if not had_row[index])
            if keep:
                self._read = block.read
                self.cut_line = block.first if block.cut else None
                for index, reason in wrong:
                    self.counts[reason] += 1
                    if len(named := self.complaints.setdefault(reason, [])) < NAMED_LINES:
                        named.append(numbers[index])
            yield _Piece([columns], dropped, len(records))

    def _records(self, block: Lines) -> tuple[Sequence[bytes], Sequence[int], Mapping[int, str]]:
        """Records for the reader with their line numbers; and by position those that are broken, with their reasons:
        they have no value.
        """
        filled = [(number, line) for number, line in enumerate(block.lines, block.first) if line and not line.isspace()]
        return [line for _, line in filled], [number for number, _ in filled], {}

    def _make_reader(self) -> EventReader:
        return EventReader({stream.name: stream.domain for stream in self._plans()}, self._fields)

    def _check_start(self) -> None:
        with self._path.open("rb") as file:
            if file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
                raise SourceError(f"{self._path.name}: found one JSON array; allowed: one JSON object a line")

    def _refuse_all(self, reasons: Counter[str]) -> None:
        found = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items())) or "no line"
        raise SourceError(f"{self._path.name}: found no good event ({found}); allowed: at least one")


class CsvSource(TextSource):
    """A source from a table: the first line names the columns; commas, semicolons or tabs separate them, as in the
    header.
    """

    def fields(self) -> dict[str, int]:
        """The columns of the fields `user`, `time`, `value` and, where there is one, `stream`."""
        return dict(self._columns)

    def _check_start(self) -> None:
        pass

    def _make_reader(self) -> EventReader:
        with self._path.open("rb") as file:
            first = file.readline(MAX_EVENT)
        try:
            header = first.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise SourceError(f"{self._path.name}: line 1: found bytes that are no UTF-8; allowed: UTF-8") from None
        self._separator = max(",;\t", key=header.count)
        names = [name.strip() for name in next(csv.reader([header], delimiter=self._separator))]
        self._width = len(names)
        self._columns: dict[str, int] = {}
        pointers = {"user": self._fields.user, "time": self._fields.time, "value": self._fields.value}
        for what, pointer in pointers.items():
            self._columns[what] = self._column(names, what, str(pointer))
        flat, streams = _FLAT, self._plans()
        if self._fields.stream is not None:
            steps = tokens(self._fields.stream)
            found = [i for i, name in enumerate(names) if name in ("/".join(steps), ".".join(steps))]
            if found:
                self._columns["stream"] = found[0]
                flat = replace(_FLAT, stream="/stream")
            elif len(streams) > 1:
                self._column(names, "stream", self._fields.stream)
        return EventReader({stream.name: stream.domain for stream in streams}, flat, texts=True)

    def _column(self, names: list[str], what: str, pointer: str) -> int:
        wanted = "/".join(tokens(pointer)), ".".join(tokens(pointer))
        for name in wanted:
            if name in names:
                return names.index(name)
        present = ", ".join(name[:40] for name in names[:20])
        raise SourceError(
            f"{self._path.name}: line 1: found no column {wanted[0]!r} for the {what}; the columns are: {present}"
        )

    def _records(self, block: Lines) -> tuple[Sequence[bytes], Sequence[int], Mapping[int, str]]:
        records: list[bytes] = []
        numbers: list[int] = []
        broken: dict[int, str] = {}
        columns = tuple(self._columns.items())
        for number, raw in enumerate(block.lines, block.first):
            if number == 1 or not raw or raw.isspace():
                continue
            cells = self._cells(raw)
            if isinstance(cells, str):
                broken[len(records)] = cells
                cells = beside(raw, self._separator, self._width, self._columns["value"], cut=block.cut)
            record: dict[str, str | int] = {what: cell for what, column in columns if (cell := cells[column].strip())}
            time = record.get("time")
            if type(time) is str and len(time) < 19 and time.isascii() and time.isdigit():
                record["time"] = int(time)
            records.append(orjson.dumps(record))
            numbers.append(number)
        return records, numbers, broken

    def _cells(self, raw: bytes) -> list[str] | str:
        """The cells of a row, or the reason why it is none."""
        try:
            line = raw.decode()
            if len(raw) > MAX_EVENT:
                return Reason.SIZE.value
            separator = self._separator
            quoted = '"' in line
            cells = next(csv.reader((line,), delimiter=separator, strict=True)) if quoted else line.split(separator)
        except UnicodeDecodeError:
            return UTF8_REASON
        except csv.Error:
            return CSV_REASON
        return cells if len(cells) == self._width else CSV_REASON


def _joined(parts: list[Columns]) -> Columns:
    """The concatenation of several sets of columns, without their index."""
    if len(parts) == 1:
        return parts[0]
    stream: NDArray[np.uint16] = np.concatenate([part.stream for part in parts])
    time, code = np.concatenate([part.time for part in parts]), np.concatenate([part.code for part in parts])
    users = [user for part in parts for user in part.users]
    before = np.cumsum([0, *(len(part.time) for part in parts)]).tolist()
    long = {first + row: words for first, part in zip(before, parts, strict=False) for row, words in part.long.items()}
    return Columns(stream, time, code, users, np.arange(len(time)), (), long)
