# SPDX-License-Identifier: Apache-2.0
"""Arrow columns to times and codes: each different value is judged once, by the door's own rules.

Contract: a value is what JSON would say of it: whole and other numbers (a decimal is a number), texts, lists, structs
and maps as objects without their nulls.  What is no number in JSON (NaN, infinity) is of a wrong type, and a null is a
field that is missing.  Timestamps are in UTC whatever their zone; those without one are taken for UTC.  Nothing that a
column holds raises an error.  Not here: which column is which (columns.py),
which values are different (distinct_values.py).
"""

from __future__ import annotations

from decimal import Decimal
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from murmurate.agents.replay.arrow_files import compute
from murmurate.agents.replay.distinct_values import (
    NUMBER,
    BrokenText,
    Distinct,
    Flags,
    Ints,
    as_python,
    is_text,
    missing_in,
    numbers_in,
    plain_column,
)
from murmurate.topics.block import REFUSED
from murmurate.topics.domains import Codes, Domain, Words
from murmurate.topics.events import MAX_EVENT, Reason
from murmurate.topics.message import MAX_TIME_MS
from murmurate.topics.times import InstantReader

_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EXACT: Final = 1 << 53
"""Whole numbers up to here are doubles."""
_LONGEST: Final = MAX_EVENT // 2
"""More items than any event has."""


class Instants:
    """Times of a column in milliseconds since 1970."""

    def __init__(self) -> None:
        self._reader = InstantReader()
        self._texts = Distinct(self._instant, 0)

    def read(self, column: pa.Array) -> tuple[Ints, Flags]:
        """The times, and what is wrong with each."""
        if is_text(column.type):
            read = self._texts.read(column)
            return self._texts.numbers[read.rows], read.flags
        flags = np.zeros(len(column), np.uint8)
        if pa.types.is_timestamp(column.type):
            times, wrong = _in_range(numbers_in(column.view(pa.int64())), _PER_SECOND[column.type.unit])
        else:  # what is beyond all 64-bit numbers becomes negative
            times, wrong = _in_range(numbers_in(column.cast(pa.int64(), safe=False)), 1_000)
        if wrong is not None:
            flags[wrong] = NUMBER[Reason.TIME]
        if (missing := missing_in(column)) is not None:
            flags[missing] = NUMBER[Reason.FIELD]
        return times, flags

    def _instant(self, text: str) -> tuple[int, int]:
        try:
            return self._reader.milliseconds(text), 0
        except ValueError:
            return 0, NUMBER[Reason.TIME]


def _in_range(times: Ints, per: int) -> tuple[Ints, NDArray[np.bool_] | None]:
    """Times of so many parts a second as milliseconds, 0 where one is out of range; and which are, if any."""
    last = MAX_TIME_MS * per // 1_000 + (per - 1_000) // 1_000 if per > 1_000 else MAX_TIME_MS * per // 1_000
    wrong = None
    if len(times) and not 0 <= times.min() <= times.max() <= last:
        wrong = (times < 0) | (times > last)
        times = np.where(wrong, 0, times)
    if per > 1_000:
        times = times // (per // 1_000)
    return (times * 1_000 if per == 1 else times), wrong


class CodedValues:
    """Values of one stream as codes or words."""

    def __init__(self, domain: Domain) -> None:
        self._domain, self._codes = domain, domain.codes()
        self._distinct: Distinct[Words] = Distinct(self._judge, (REFUSED,))

    def read(self, column: pa.Array) -> tuple[NDArray[np.uint32], Flags, dict[int, Words]]:
        """The codes or words: uint32[n] or uint32[n, words]; what is wrong with each; rows with too many items."""
        column, words = plain_column(column), self._domain.words
        if (fast := self._numbers(column)) is not None:
            return *fast, {}
        if not _in_json(column.type):
            column = compute.if_else(column.is_null(), pa.scalar(None, pa.binary()), pa.scalar(b""))
        if pa.types.is_nested(column.type):
            found = [self._nested(value) for value in as_python(column)]
            rows, flags = np.arange(len(found)), np.array([flag for _, flag in found], np.uint8)
            values = [value for value, _ in found]
        else:
            read = self._distinct.read(column)
            rows, flags, values = read.rows, read.flags, read.values
        if not values:
            return np.full((len(rows), words) if words > 1 else len(rows), REFUSED, np.uint32), flags, {}
        table, lengthy = _table_of(values, words)
        coded = table[rows]
        if flags.any():
            coded[flags != 0] = REFUSED
        if not lengthy:
            return coded, flags, {}
        long = {row: values[entry] for row, entry in enumerate(rows.tolist()) if entry in lengthy and not flags[row]}
        return coded, flags, long

    def _numbers(self, column: pa.Array) -> tuple[NDArray[np.uint32], Flags] | None:
        """Numbers as codes all at once, where a stream's values are numbers."""
        found = column.type
        if not (pa.types.is_floating(found) or pa.types.is_integer(found)):
            return None
        numbers = numbers_in(column).astype(np.float64, copy=False)
        flags = np.where(np.isfinite(numbers), 0, NUMBER[Reason.TYPE]).astype(np.uint8)
        if (missing := missing_in(column)) is not None:
            flags[missing] = NUMBER[Reason.FIELD]
        bad = flags != 0
        if pa.types.is_integer(found) and (np.abs(numbers) > _EXACT).any():
            return None
        codes = self._domain.encode(np.where(bad, 0.0, numbers) if bad.any() else numbers)
        if codes is None:
            return None
        codes[bad] = REFUSED
        return codes, flags

    def _nested(self, value: Any) -> tuple[Words, int]:
        if value is None:
            return (REFUSED,), NUMBER[Reason.FIELD]
        if type(value) is BrokenText:
            return (REFUSED,), NUMBER[Reason.JSON]
        return self._judge(value)

    def _judge(self, value: Any) -> tuple[Words, int]:
        value = as_json(value)
        if (type(value) is str and len(value.encode()) > MAX_EVENT) or (
            type(value) in (list, dict) and len(value) > _LONGEST
        ):
            return (REFUSED,), NUMBER[Reason.SIZE]
        return judged(self._codes, value)


def judged(codes: Codes, value: Any) -> tuple[Words, int]:
    """The words of a value, and what is wrong with it."""
    try:
        found = codes[value]
    except (LookupError, TypeError, ValueError):
        wrong = codes.wrong(value)
        return (REFUSED,), NUMBER[Reason.TYPE if wrong is None else Reason(wrong)]
    return ((found,) if isinstance(found, int) else found), 0


def as_json(value: Any) -> Any:
    """What JSON would say of a value of Arrow: None for what it has no word for."""
    if type(value) is dict:
        return {name: as_json(inner) for name, inner in value.items() if inner is not None}
    if type(value) is list:
        return [as_json(inner) for inner in value]
    if type(value) is Decimal:
        value = float(value)
    if type(value) is float and not -float("inf") < value < float("inf"):
        return None
    return value if type(value) in (str, int, float, bool) else None


def _table_of(values: list[Words], words: int) -> tuple[NDArray[np.uint32], set[int]]:
    """Words as a table; and the numbers of the rows that have too many."""
    lengthy = {place for place, row in enumerate(values) if len(row) > words}
    refused = (REFUSED,) * words
    flat = chain.from_iterable(row if len(row) == words else refused for row in values)
    table = np.fromiter(flat, np.uint32, len(values) * words)
    return (table.reshape(-1, words) if words > 1 else table), lengthy


def _in_json(found: pa.DataType) -> bool:
    """Whether JSON has such values."""
    types = pa.types
    simple = types.is_null(found) or types.is_boolean(found) or types.is_integer(found) or types.is_floating(found)
    return bool(simple or is_text(found) or types.is_decimal(found) or types.is_nested(found))
