# SPDX-License-Identifier: Apache-2.0
"""Columns as a source (Parquet, Arrow, tables in memory): each row is an event, judged as its JSON would be.

Contract: the column of a field is its JSON pointer: `session` and inside it `user_id` for /session/user_id, or one
column of the name `session/user_id` or `session.user_id`.  A null is a missing field.  Where a deployment's stream is
told by a field and the table has no such column, all rows are of the one stream that is read.  Columns that cannot hold
users or times, that are missing or there twice are one error, before anything is read; any other fault is counted by
row.  Only the columns that are needed are read.  Not here: what a value says (column_values.py), files
(arrow_files.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from murmurate.agents.replay.arrow_files import FEW_ROWS, ROWS, ColumnFile, compute, steps_of
from murmurate.agents.replay.column_values import CodedValues, Instants, as_json
from murmurate.agents.replay.distinct_values import (
    NUMBER,
    REASONS,
    Distinct,
    Flags,
    UserNumbers,
    is_text,
    plain_column,
)
from murmurate.agents.replay.record_source import EventsFound, Piece, RecordSource, StreamsOfReader, gathered
from murmurate.agents.replay.source import NAMED_LINES, Ints, SourceError
from murmurate.config.plan import Plan
from murmurate.topics.block import REFUSED
from murmurate.topics.domains import Domain, Words
from murmurate.topics.events import Columns, Reason
from murmurate.topics.pointers import tokens

_USERS: Final = "texts or whole numbers"
_TIMES: Final = "timestamps, whole milliseconds since 1970 or RFC 3339 texts"


class ColumnSource(RecordSource):
    """A source whose rows are events."""

    unit = "row"

    def __init__(self, file: ColumnFile, plan: Plan, streams: tuple[str, ...]) -> None:
        super().__init__(file.name, plan, streams)
        self._file, self._users = file, UserNumbers()
        self._columns = [_columns(file, reader, single=len(streams) == 1) for reader in self._readers]
        self._events = [
            _EventColumns({name: plan.any_stream(name).domain for name in reader.names}, columns, self._users)
            for reader, columns in zip(self._readers, self._columns, strict=True)
        ]
        time = self._columns[0]["time"]
        found = _typed(file.schema, steps_of(file.schema, time))
        self._no_zone = f"{file.name}: column {time!r} names no zone: its times were read as UTC"
        self._naive = pa.types.is_timestamp(found) and found.tz is None

    def fraction(self) -> float | None:
        """The part of the rows that has been read, where their number is known."""
        return self._part if self._file.rows is not None else None

    def names(self, ids: Ints) -> list[bytes]:
        """The names of numbered users."""
        return self._users.names(ids)

    def _pieces(self, *, keep: bool) -> Iterator[Piece]:
        """1. Each reader judges its columns. 2. Rows with an event of any of them are good. 3. Faults are counted."""
        if keep and self._naive:
            self.remarks.append(self._no_zone)
        before = 0
        names = sorted({name for columns in self._columns for name in columns.values()})
        for batch in self._file.batches(names, ROWS if keep else FEW_ROWS):
            judged = [events.read(batch) for events in self._events]
            good, times, placed = gathered([columns for columns, _, _ in judged])
            dropped = self._count([flags for _, _, flags in judged], good, before, keep=keep)
            found = [[EventsFound(columns, ids)] for columns, (_, ids, _) in zip(placed, judged, strict=True)]
            records = self._records(batch, good) if self._with_records else []
            before += batch.num_rows
            if keep and self._file.rows:
                self._part = before / self._file.rows
            yield Piece(times, found, records, dropped, batch.num_rows)

    def _count(self, flags: Sequence[Flags], good: Ints, before: int, *, keep: bool) -> Counter[str]:
        """Count the faults of a batch, and give how many rows gave no event, by reason."""
        dropped: Counter[str] = Counter()
        if not any(found.any() for found in flags):
            return dropped
        gone = np.ones(len(flags[0]), np.bool_)
        gone[good] = False
        first = np.zeros(len(gone), np.uint8)
        for found in reversed(flags):
            first = np.where(found != 0, found, first)
        for number, reason in enumerate(REASONS):
            if reason is None:
                continue
            if lost := int((gone & (first == number)).sum()):
                dropped[reason.value] = lost
            places = np.flatnonzero(np.logical_or.reduce([found == number for found in flags]))
            if keep and len(places):
                self.counts[reason.value] += len(places)
                named = self.complaints.setdefault(reason.value, [])
                named += (places[: NAMED_LINES - len(named)] + before + 1).tolist()
        return dropped

    def _records(self, batch: pa.RecordBatch, good: Ints) -> list[bytes]:
        """These rows as JSON, with the fields that the readers look at."""
        records: list[dict[str, Any]] = [{} for _ in good]
        chosen = pa.array(good)
        for reader, columns in zip(self._readers, self._columns, strict=True):
            pointers = {"user": reader.fields.user, "time": reader.fields.time, "value": reader.fields.value}
            if "stream" in columns:
                pointers["stream"] = reader.fields.stream
            for what, name in columns.items():
                column = plain_column(_column(batch, name))
                if what == "time":
                    values: list[Any] = Instants().read(column)[0][good].tolist()
                else:
                    values = column.take(chosen).to_pylist(maps_as_pydicts="lossy")
                for record, value in zip(records, values, strict=True):
                    if value is not None:
                        _put(record, tokens(str(pointers[what])), as_json(value))
        return [orjson.dumps(record) for record in records]

    def _refuse_all(self, reasons: Counter[str]) -> None:
        try:
            super()._refuse_all(reasons)
        except SourceError as error:
            name = self._columns[0]["value"]
            held = _typed(self._file.schema, steps_of(self._file.schema, name))
            raise SourceError(f"{error}; column {name!r} holds {held}") from None


class _EventColumns:
    """The events of one reader."""

    def __init__(self, domains: Mapping[str, Domain], columns: Mapping[str, str], users: UserNumbers) -> None:
        self._columns = columns
        self._values = [CodedValues(domain) for domain in domains.values()]
        self._words = max(domain.words for domain in domains.values())
        self._users, self._instants = users.distinct(), Instants()
        known = {name: position for position, name in enumerate(domains)}

        def position(name: Any) -> tuple[int, int]:
            if type(name) is not str:
                return 0, NUMBER[Reason.TYPE]
            return (known[name], 0) if name in known else (0, NUMBER[Reason.STREAM])

        self._streams = Distinct(position, 0)

    def read(self, batch: pa.RecordBatch) -> tuple[Columns, Ints, Flags]:
        """The events of a batch, their users, and what is wrong with each row: the first fault of stream, user, time
        and value, as the reader of JSON looks at them.
        """
        column = {what: plain_column(_column(batch, name)) for what, name in self._columns.items()}
        flags = np.zeros(batch.num_rows, np.uint8)
        streams = np.zeros(batch.num_rows, np.uint16)
        if "stream" in column:
            read = self._streams.read(column["stream"])
            flags, streams = read.flags.copy(), self._streams.numbers[read.rows].astype(np.uint16)
        users = self._users.read(column["user"])
        flags = _first(flags, users.flags)
        times, wrong = self._instants.read(column["time"])
        flags = _first(flags, wrong)
        everything = not flags.any()
        rows = np.arange(len(flags)) if everything else np.flatnonzero(flags == 0)
        codes, faults, long = self._coded(column["value"], streams, rows, everything=everything)
        ids = self._users.numbers[users.rows]
        if everything:
            return Columns(streams, times, codes, [], rows, (), long), ids, faults
        flags[rows] = faults
        return Columns(streams[rows], times[rows], codes, [], rows, (), long), ids[rows], flags

    def _coded(
        self, column: pa.Array, streams: NDArray[np.uint16], rows: Ints, *, everything: bool
    ) -> tuple[NDArray[np.uint32], Flags, dict[int, Words]]:
        """The values of these rows, each by its own stream."""
        if not everything:
            column, streams = column.take(pa.array(rows)), streams[rows]
        if len(self._values) == 1:
            return self._values[0].read(column)
        shape = (len(rows), self._words) if self._words > 1 else len(rows)
        codes, flags = np.zeros(shape, np.uint32), np.zeros(len(rows), np.uint8)
        long: dict[int, Words] = {}
        for position, values in enumerate(self._values):
            mine = np.flatnonzero(streams == position)
            if not len(mine):
                continue
            found, wrong, lengthy = values.read(column.take(pa.array(mine)))
            flags[mine] = wrong
            long |= {int(mine[row]): words for row, words in lengthy.items()}
            if self._words == 1:
                codes[mine] = found
                continue
            table = found.reshape(len(mine), -1)
            codes[mine, : table.shape[1]] = table
            codes[mine[(table == REFUSED).all(axis=1)]] = REFUSED
        return codes, flags, long


def _first(flags: Flags, more: Flags) -> Flags:
    if not more.any():
        return flags
    return np.where(flags != 0, flags, more) if flags.any() else more.copy()


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column, or the field of one, in one piece."""
    first, *inner = steps_of(batch.schema, name)
    column = batch.column(batch.schema.get_field_index(first))
    return compute.struct_field(column, inner) if inner else column


def _columns(file: ColumnFile, reader: StreamsOfReader, *, single: bool) -> dict[str, str]:
    """The columns of user, time, value and stream. An error where one is missing, there twice, or of no use."""
    fields, schema = reader.fields, file.schema
    pointers = {"user": fields.user, "time": str(fields.time), "value": fields.value}
    columns = {what: _place(file, what, pointer) for what, pointer in pointers.items()}
    if fields.stream is not None and not (single and not _candidates(schema, fields.stream)):
        columns["stream"] = _place(file, "stream", fields.stream)
    for what, fits, allowed in (("user", _holds_users, _USERS), ("time", _holds_times, _TIMES)):
        found = _typed(schema, steps_of(schema, columns[what]))
        if not fits(found):
            raise SourceError(
                f"{file.name}: found {found} in column {columns[what]!r} for the {what}; allowed: {allowed}"
            )
    return columns


def _place(file: ColumnFile, what: str, pointer: str) -> str:
    """The name of the column that holds a field."""
    found = _candidates(file.schema, pointer)
    if len(found) == 1:
        return found[0]
    steps = tokens(pointer)
    if found:
        raise SourceError(f"{file.name}: found {len(found)} columns {'.'.join(steps)!r} for the {what}; allowed: one")
    present = ", ".join(name[:40] for name in _names(file.schema)[:20])
    raise SourceError(f"{file.name}: found no column {'/'.join(steps)!r} for the {what}; the columns are: {present}")


def _candidates(schema: pa.Schema, pointer: str) -> list[str]:
    """The columns that a pointer may mean."""
    steps = tokens(pointer)
    flat = dict.fromkeys(("/".join(steps), ".".join(steps)))
    found = [name for name in flat for _ in schema.get_all_field_indices(name)]
    if len(steps) > 1 and not any("." in step for step in steps):
        found += [".".join(steps)] * _ways(schema, steps)
    return found


def _ways(schema: Any, steps: Sequence[str]) -> int:
    """In how many ways these steps lead through structs."""
    inner = [one for one in _fields(schema) if one.name == steps[0]]
    if len(steps) == 1:
        return len(inner)
    return sum(_ways(one.type, steps[1:]) for one in inner if pa.types.is_struct(one.type))


def _fields(of: Any) -> list[Any]:
    return list(of) if isinstance(of, pa.Schema) else [of.field(place) for place in range(of.num_fields)]


def _names(of: Any, before: str = "") -> list[str]:
    """The names of all columns, with those inside structs."""
    names: list[str] = []
    for one in _fields(of):
        names += _names(one.type, f"{before}{one.name}.") if pa.types.is_struct(one.type) else [before + one.name]
    return names


def _typed(schema: pa.Schema, steps: Sequence[str]) -> pa.DataType:
    found = schema.field(steps[0]).type
    for step in steps[1:]:
        found = found.field(step).type
    return found


def _value_type(found: pa.DataType) -> pa.DataType:
    while pa.types.is_dictionary(found) or pa.types.is_run_end_encoded(found):
        found = found.value_type
    return found


def _holds_users(found: pa.DataType) -> bool:
    found = _value_type(found)
    return bool(is_text(found) or pa.types.is_integer(found) or pa.types.is_null(found))


def _holds_times(found: pa.DataType) -> bool:
    return bool(_holds_users(found) or pa.types.is_timestamp(_value_type(found)))


def _put(record: dict[str, Any], steps: Sequence[str], value: Any) -> None:
    for step in steps[:-1]:
        record = record.setdefault(step, {})
    record[steps[-1]] = value
