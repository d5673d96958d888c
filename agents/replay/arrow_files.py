# SPDX-License-Identifier: Apache-2.0
"""Parquet files, Arrow's IPC files and streams, and tables in memory: a part of some columns at a time.

Contract: `batches(columns)` can be called again and gives the same rows, a part at a time, of the columns that are
named alone.  Texts of Parquet stay as dictionaries, so that a small file cannot become a large one in memory.  What
pyarrow says about a file it cannot read may hold content of it, so that messages are our own.  Needs pyarrow: the extra
`parquet`.  Not here: what columns mean (columns.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet

from murmurate.agents.replay.input_file import InputFile
from murmurate.agents.replay.source import SourceError

compute: Final[Any] = pyarrow.compute
"""Functions that pyarrow makes when it is imported, so that type checkers know none of them."""
ROWS: Final = 1 << 18
"""The most rows that are looked at together."""
FEW_ROWS: Final = 4096
"""As many are enough to find a source's first period."""


class ColumnFile(ABC):
    """Columns of a file, or of a table."""

    name: str
    """What messages call it."""
    schema: pa.Schema
    rows: int | None = None
    """The number of rows, where it is known beforehand."""

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int = ROWS) -> Iterator[pa.RecordBatch]:
        """Some columns, by name: `session.user_id` is the field of a column of structs."""


class ParquetFile(ColumnFile):
    """A Parquet file, read a part of a row group at a time."""

    def __init__(self, file: InputFile) -> None:
        self.name, self._file = file.name, file
        try:
            found = self._opened([])
            self.schema, self.rows = found.schema_arrow, found.metadata.num_rows
        except (pa.ArrowException, OSError):
            raise SourceError(
                f"{self.name}: found no Parquet file, or one whose end is missing; allowed: a whole one"
            ) from None
        if not self.rows:
            raise SourceError(f"{self.name}: found a Parquet file without rows; allowed: one event a row")

    def batches(self, columns: Sequence[str], rows: int = ROWS) -> Iterator[pa.RecordBatch]:
        """Some columns, by name."""
        texts = [column for column in columns if _is_text(_typed(self.schema, column))]
        read = 0
        try:
            for batch in self._opened(texts).iter_batches(rows, columns=list(columns), use_threads=False):
                yield batch
                read += batch.num_rows
        except (pa.ArrowException, OSError):
            raise SourceError(
                f"{self.name}: found damaged Parquet data behind row {read}; allowed: a whole file"
            ) from None

    def _opened(self, texts: list[str]) -> Any:
        return pyarrow.parquet.ParquetFile(opened(self._file), read_dictionary=texts, pre_buffer=False)


class ArrowFile(ColumnFile):
    """An IPC file (also called Feather), or an IPC stream."""

    def __init__(self, file: InputFile) -> None:
        self.name, self._file = file.name, file
        with file.open() as start:
            self._random = start.read(6) == b"ARROW1"
        try:
            self.schema = self._opened(None).schema
        except (pa.ArrowException, OSError):
            raise SourceError(f"{self.name}: found no Arrow file or stream; allowed: a whole one") from None

    def batches(self, columns: Sequence[str], rows: int = ROWS) -> Iterator[pa.RecordBatch]:
        """Some columns, by name."""
        places = sorted({_top(self.schema, column) for column in columns})
        read = 0
        try:
            reader = self._opened(places)
            each = map(reader.get_batch, range(reader.num_record_batches)) if self._random else reader
            for batch in each:
                for column in batch.columns:
                    _check(column)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)
                read += batch.num_rows
        except (pa.ArrowException, OSError):
            raise SourceError(
                f"{self.name}: found damaged Arrow data behind row {read}; allowed: a whole file"
            ) from None

    def _opened(self, places: list[int] | None) -> Any:
        options = pyarrow.ipc.IpcReadOptions(included_fields=places, use_threads=False)
        opening = pyarrow.ipc.open_file if self._random else pyarrow.ipc.open_stream
        return opening(opened(self._file), options=options)


class ArrowTable(ColumnFile):
    """A table in memory, of any library that speaks Arrow's C stream."""

    name = "table"

    def __init__(self, source: Any) -> None:
        try:
            self._table = pa.table(source)  # no copy, but of what has to be converted; a reader is read to its end
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise SourceError(
                f"table: found a {type(source).__name__} whose columns are none of Arrow's ({type(error).__name__}); "
                "allowed: one type a column"
            ) from None
        self.schema, self.rows = self._table.schema, self._table.num_rows
        if not self.rows:
            raise SourceError("table: found a table without rows; allowed: one event a row")

    def batches(self, columns: Sequence[str], rows: int = ROWS) -> Iterator[pa.RecordBatch]:
        """Some columns, by name."""
        places = sorted({_top(self.schema, column) for column in columns})
        yield from self._table.select(places).to_batches(max_chunksize=rows)


def opened(file: InputFile) -> Any:
    """A file as Arrow reads it: by itself where it has a path."""
    return file.open() if file.path is None else pa.OSFile(str(file.path))


def steps_of(schema: pa.Schema, column: str) -> tuple[str, ...]:
    """A column of this name, or the way to a field inside one."""
    if schema.get_field_index(column) >= 0:
        return (column,)
    return tuple(column.split("."))


def _top(schema: pa.Schema, column: str) -> int:
    return int(schema.get_field_index(steps_of(schema, column)[0]))


def _typed(schema: pa.Schema, column: str) -> pa.DataType:
    first, *inner = steps_of(schema, column)
    found = schema.field(first).type
    for step in inner:
        found = found.field(step).type
    return found


def _is_text(found: pa.DataType) -> bool:
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def _check(column: pa.Array) -> None:
    """ArrowInvalid if anything in a column leads outside of it. Texts need not be UTF-8: whoever reads them judges."""
    found = column.type
    if pa.types.is_dictionary(found):
        _check(column.indices)
        _check(column.dictionary)
        column.validate()
        if not len(column.dictionary) and column.null_count < len(column):
            raise pa.ArrowInvalid("indices of nothing")
        top = compute.max(column.indices).as_py()
        if top is not None and top >= len(column.dictionary):
            raise pa.ArrowInvalid("an index of nothing")
    elif pa.types.is_string(found):
        column.view(pa.binary()).validate(full=True)
    elif pa.types.is_large_string(found):
        column.view(pa.large_binary()).validate(full=True)
    else:
        column.validate(full=True)
