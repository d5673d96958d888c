# SPDX-License-Identifier: Apache-2.0
"""Arrow columns to users, times and codes: what is judged is each different value, once, by the door's own rules.

Contract: a value is what JSON would say of it: whole and other numbers (a decimal is a number), texts, lists, structs
and maps as objects without their nulls.  What is no number in JSON (NaN, infinity) is of a wrong type, and a null is a
field that is missing.  Timestamps are in UTC whatever their zone; those without one are taken for UTC.  Nothing that a
column holds raises an error.  Not here: which column is which (columns.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from murmurate.topics.block import REFUSED
from murmurate.topics.domains import Codes, Domain, Words
from murmurate.topics.events import MAX_EVENT, MAX_USER, Reason
from murmurate.topics.message import MAX_TIME_MS
from murmurate.topics.times import InstantReader

Ints = NDArray[np.int64]
Flags = NDArray[np.uint8]
REASONS: Final = (None, *Reason)
"""A reason's number is its place here; 0 is none."""
NUMBER: Final[Mapping[Reason, int]] = {reason: place for place, reason in enumerate(Reason, 1)}
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EXACT: Final = 1 << 53
"""Whole numbers up to here are doubles."""
_LONGEST: Final = MAX_EVENT // 2
"""More items than any event has."""
_T = TypeVar("_T")


class _Broken:
    """Stands for a text that is no UTF-8."""


def plain_column(column: pa.Array) -> pa.Array:
    """The same values in one of Arrow's basic layouts."""
    found = column.type
    if isinstance(column, pa.ExtensionArray):
        column, found = column.storage, column.type.storage_type
    if pa.types.is_run_end_encoded(found):
        column = pc.run_end_decode(column)
    if pa.types.is_dictionary(column.type) and not is_text(column.type.value_type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return column


def is_text(found: pa.DataType) -> bool:
    """Whether these are texts, as a dictionary or not."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found))


@dataclass(frozen=True)
class Read(Generic[_T]):
    """The different values of a column, each judged once, and which of them stands in each row."""

    rows: Ints
    """Of each row the number of its value."""
    flags: Flags
    """Of each row what is wrong, as the number of a reason."""
    values: list[_T]


class Distinct(Generic[_T]):
    """Judges the different values of a column. judge: from a value to what it stands for and what is wrong with it;
    all_good: the same for all of a dictionary's values at once, None where any of them needs looking at.

    A dictionary that begins with all of the one before it, as those of one row group do, is judged from there on.
    """

    def __init__(
        self, judge: Callable[[Any], tuple[_T, int]], nothing: _T,
        all_good: Callable[[pa.Array], Ints | None] = lambda values: None,
    ) -> None:  # fmt: skip
        self._judge, self._nothing, self._all_good = judge, nothing, all_good
        self._known: pa.Array | None = None
        self._values: list[_T] = []
        self._flags = np.zeros(0, np.uint8)
        self.numbers = np.zeros(1, np.int64)
        """What the values of the column that was read last stand for, where that is a number each."""

    def read(self, column: pa.Array) -> Read[_T]:
        """The values of a column that is not nested."""
        if pa.types.is_null(column.type):
            return Read(np.zeros(len(column), np.int64), np.full(len(column), NUMBER[Reason.FIELD], np.uint8), [])
        found = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        dictionary, indices = found.dictionary, found.indices
        self._learn(dictionary)
        if not len(self._flags):
            return Read(np.zeros(len(column), np.int64), np.full(len(column), NUMBER[Reason.FIELD], np.uint8), [])
        missing = _nulls(indices)
        rows = _numbers(indices)
        flags = self._flags[rows] if self._flags.any() else np.zeros(len(rows), np.uint8)
        if missing is not None:
            flags[missing] = NUMBER[Reason.FIELD]
        return Read(rows, flags, self._values)

    def _learn(self, dictionary: pa.Array) -> None:
        known = 0 if self._known is None else len(self._known)
        same = self._known is not None and len(dictionary) >= known and dictionary.type == self._known.type
        if not same or not dictionary.slice(0, known).equals(self._known):
            known, self._values, self._flags = 0, [], self._flags[:0]
        self._known = dictionary
        if known == len(dictionary) == len(self._flags):
            return
        fresh = dictionary.slice(known)
        numbers, flags = self._all_good(fresh), np.zeros(len(fresh), np.uint8)
        if numbers is None:
            found = [self._judged(value) for value in _as_python(fresh)]
            self._values += [value for value, _ in found]
            flags = np.array([flag for _, flag in found], np.uint8)
            numbers = np.array([value if type(value) is int else 0 for value, _ in found], np.int64)
        self._flags = np.concatenate((self._flags[:known], flags))
        self.numbers = np.concatenate((self.numbers[:known], numbers))

    def _judged(self, value: Any) -> tuple[_T, int]:
        if value is None:
            return self._nothing, NUMBER[Reason.FIELD]
        if type(value) is _Broken:
            return self._nothing, NUMBER[Reason.JSON]
        return self._judge(value)


class UserNumbers(dict[bytes, int]):
    """The users of a source by name, numbered as they come."""

    def __init__(self) -> None:
        self._names: list[bytes] = []

    def __missing__(self, name: bytes) -> int:
        self[name] = number = len(self._names)
        self._names.append(name)
        return number

    def names(self, ids: Ints) -> list[bytes]:
        """The names of numbered users."""
        names = self._names
        return [names[user] for user in ids.tolist()]

    def distinct(self) -> Distinct[int]:
        """A column's users, as numbers."""
        return Distinct(self._judge, 0, self._all_good)

    def _judge(self, user: Any) -> tuple[int, int]:
        if type(user) is not int and type(user) is not str:
            return 0, NUMBER[Reason.TYPE]
        name = str(user).encode()
        return (self[name], 0) if 0 < len(name) <= MAX_USER else (0, NUMBER[Reason.USER])

    def _all_good(self, users: pa.Array) -> Ints | None:
        if users.null_count or not is_text(users.type):
            return None
        lengths = _numbers(pc.binary_length(users))
        if len(lengths) and not 0 < lengths.min() <= lengths.max() <= MAX_USER:
            return None
        try:
            users.validate(full=True)
        except pa.ArrowException:
            return None
        raw = users.view(pa.binary() if pa.types.is_string(users.type) else pa.large_binary())
        return np.fromiter(map(self.__getitem__, raw.to_pylist()), np.int64, len(users))


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
            times, wrong = _in_range(_numbers(column.view(pa.int64())), _PER_SECOND[column.type.unit])
        else:  # what is beyond all 64-bit numbers becomes negative
            times, wrong = _in_range(_numbers(column.cast(pa.int64(), safe=False)), 1_000)
        if wrong is not None:
            flags[wrong] = NUMBER[Reason.TIME]
        if (missing := _nulls(column)) is not None:
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
            column = pc.if_else(column.is_null(), pa.scalar(None, pa.binary()), pa.scalar(b""))
        if pa.types.is_nested(column.type):
            found = [self._nested(value) for value in _as_python(column)]
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
        numbers = _numbers(column).astype(np.float64, copy=False)
        flags = np.where(np.isfinite(numbers), 0, NUMBER[Reason.TYPE]).astype(np.uint8)
        if (missing := _nulls(column)) is not None:
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
        if type(value) is _Broken:
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


def _nulls(column: pa.Array) -> NDArray[np.bool_] | None:
    """Which values are missing; None if none is."""
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False)) if column.null_count else None


def _numbers(column: pa.Array) -> NDArray[Any]:
    """Numbers, 0 where one is missing."""
    if column.null_count:
        column = column.fill_null(pa.scalar(0, column.type))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _as_python(column: pa.Array) -> list[Any]:
    """The values as Python's, maps as objects. What Python has no value for is b"", which is none of JSON either."""
    try:
        found: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    except (ValueError, OverflowError, pa.ArrowException):
        found = [_one_as_python(scalar) for scalar in column]
    return found


def _one_as_python(scalar: Any) -> Any:
    try:
        return scalar.as_py(maps_as_pydicts="lossy")
    except UnicodeDecodeError:
        return _Broken()
    except (ValueError, OverflowError, pa.ArrowException):
        return b""


def _in_json(found: pa.DataType) -> bool:
    """Whether JSON has such values."""
    types = pa.types
    simple = types.is_null(found) or types.is_boolean(found) or types.is_integer(found) or types.is_floating(found)
    return bool(simple or is_text(found) or types.is_decimal(found) or types.is_nested(found))
