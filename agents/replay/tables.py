# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON lines as a source: every line through the door's own reader of events.

Contract: a bad line is counted by reason and named by number, the others are read; a file without one good event is an
error.  A bad line whose user and time can be read all the same shows its user, as at the door.  A CSV row is one line;
the column of a field is its JSON pointer without the first slash, `session/user_id` or `session.user_id` for
/session/user_id.  An empty cell is a missing field; topics/domains/tables.py defines how lists and objects are written
in one.  A file has no timestamps of its own: a stream without a `time` pointer is read from `/time`.  Not here: the
clock's rule (clock.py), bytes to lines (lines.py), several streams of one record (record_source.py), rows that are
broken (rows.py).
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import orjson

from murmurate.agents.replay.lines import Lines, blocks, check_text
from murmurate.agents.replay.packed_text import TextFile
from murmurate.agents.replay.record_source import EventsFound, Piece, RecordSource, StreamsOfReader, gathered
from murmurate.agents.replay.rows import beside
from murmurate.agents.replay.source import SourceError
from murmurate.config.plan import Plan
from murmurate.errors import UsageError
from murmurate.topics.events import MAX_EVENT, EventReader, Fields, Reason
from murmurate.topics.pointers import tokens

CSV_REASON = "csv"
"""The reason for a row with another number of cells than the header, or a quote left open."""
UTF8_REASON = "utf8"
_FLAT = Fields("/user", "/value", "/time", None)
Records = tuple[Sequence[bytes], Mapping[int, str]]
"""Records for a reader of events; and by position those that are broken, with their reasons: they have no value."""


class TextSource(RecordSource):
    """A source of JSON lines. Other text formats differ in how lines become records for the reader of events."""

    def __init__(self, text: TextFile, plan: Plan, streams: tuple[str, ...]) -> None:
        super().__init__(text.name, plan, streams)
        self._text, self._known = text, text.packing != "zstd"
        self._begin(check_text(text))
        self._events = [self._make_reader(reader) for reader in self._readers]

    def fraction(self) -> float | None:
        """The part of the bytes that has been read; None where the file does not tell."""
        return self._part if self._known else None

    def _pieces(self, *, keep: bool) -> Iterator[Piece]:
        for block in blocks(self._text):
            numbers, each = self._records(block)
            found = [reader.read(records) for reader, (records, _) in zip(self._events, each, strict=True)]
            good, times, placed = gathered(found)
            had_row = np.zeros(len(numbers), np.bool_)
            had_row[good] = True
            wrong = [
                (index, broken.get(index, reason.value))
                for columns, (_, broken) in zip(found, each, strict=True)
                for index, reason in columns.refusals
            ]
            if len(found) > 1:  # a record that two readers refuse is one fault
                wrong = sorted(set(wrong))
            dropped = Counter({index: reason for index, reason in reversed(wrong) if not had_row[index]}.values())
            if keep:
                self._part = block.read / max(1, self._text.file.size)
                self.cut_line = block.first if block.cut else None
                self._complain((numbers[index], reason) for index, reason in wrong)
            records = [each[0][0][index] for index in good.tolist()] if self._with_records else []
            yield Piece(times, [[EventsFound(columns)] for columns in placed], records, dropped, len(numbers))
        if keep and self._text.remark is not None:
            self.remarks.append(self._text.remark)

    def _records(self, block: Lines) -> tuple[Sequence[int], Sequence[Records]]:
        """The numbers of the lines that are not empty, and for each reader the records that they are."""
        filled = [(number, line) for number, line in enumerate(block.lines, block.first) if line and not line.isspace()]
        return [number for number, _ in filled], [([line for _, line in filled], {})] * len(self._readers)

    def _begin(self, start: bytes) -> None:
        """Look at the beginning of the text."""
        if start.lstrip(b" \t\r\n").startswith(b"["):
            raise SourceError(f"{self._name}: found one JSON array; allowed: one JSON object a line")

    def _make_reader(self, reader: StreamsOfReader) -> EventReader:
        return EventReader({name: self.plan.any_stream(name).domain for name in reader.names}, reader.fields)


class CsvSource(TextSource):
    """A source from a table: the first line names the columns; commas, semicolons or tabs separate them, as in the
    header.
    """

    def fields(self) -> dict[str, int]:
        """The columns of the fields `user`, `time`, `value` and, where there is one, `stream`, of the first stream."""
        return dict(self._columns[0])

    def keep_records(self) -> None:
        """UsageError: a cell does not say whether it is a text or a number, which is another record for each stream."""
        raise UsageError(
            f"{self._name}: found {len(self.streams)} streams that read the same rows of a table; allowed: to feed "
            "JSON lines, Parquet or Arrow, or one stream (--stream)"
        )

    def _begin(self, start: bytes) -> None:
        longer = self._text.start(MAX_EVENT) if b"\n" not in start else start
        try:
            header = longer.partition(b"\n")[0].decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise SourceError(f"{self._name}: line 1: found bytes that are no UTF-8; allowed: UTF-8") from None
        self._separator = max(",;\t", key=header.count)
        self._names = [name.strip() for name in next(csv.reader([header], delimiter=self._separator))]
        self._columns: list[dict[str, int]] = []

    def _make_reader(self, reader: StreamsOfReader) -> EventReader:
        names, fields = self._names, reader.fields
        pointers = {"user": fields.user, "time": fields.time, "value": fields.value}
        columns = {what: self._column(names, what, str(pointer)) for what, pointer in pointers.items()}
        self._columns.append(columns)
        flat = _FLAT
        if fields.stream is not None:
            steps = tokens(fields.stream)
            found = [i for i, name in enumerate(names) if name in ("/".join(steps), ".".join(steps))]
            if found:
                columns["stream"] = found[0]
                flat = replace(_FLAT, stream="/stream")
            elif len(self.streams) > 1:
                self._column(names, "stream", fields.stream)
        return EventReader({name: self.plan.any_stream(name).domain for name in reader.names}, flat, texts=True)

    def _column(self, names: list[str], what: str, pointer: str) -> int:
        wanted = "/".join(tokens(pointer)), ".".join(tokens(pointer))
        for name in wanted:
            if name in names:
                return names.index(name)
        present = ", ".join(name[:40] for name in names[:20])
        raise SourceError(
            f"{self._name}: line 1: found no column {wanted[0]!r} for the {what}; the columns are: {present}"
        )

    def _records(self, block: Lines) -> tuple[Sequence[int], Sequence[Records]]:
        numbers: list[int] = []
        each: list[tuple[list[bytes], dict[int, str]]] = [([], {}) for _ in self._readers]
        for number, raw in enumerate(block.lines, block.first):
            if number == 1 or not raw or raw.isspace():
                continue
            numbers.append(number)
            cells = self._cells(raw)
            for (records, broken), columns in zip(each, self._columns, strict=True):
                mine = cells
                if isinstance(mine, str):
                    broken[len(records)] = mine
                    mine = beside(raw, self._separator, len(self._names), columns["value"], cut=block.cut)
                record: dict[str, str | int] = {
                    what: cell for what, column in columns.items() if (cell := mine[column].strip())
                }
                time = record.get("time")
                if type(time) is str and len(time) < 19 and time.isascii() and time.isdigit():
                    record["time"] = int(time)
                records.append(orjson.dumps(record))
        return numbers, each

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
        return cells if len(cells) == len(self._names) else CSV_REASON
