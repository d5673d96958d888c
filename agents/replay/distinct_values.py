# SPDX-License-Identifier: Apache-2.0
"""The different values of an Arrow column, each judged once, and the users of a source as numbers.

Contract: whatever stands in a column raises no error.  A dictionary that begins with all of the one before it, as those
of one row group of Parquet do, is judged from there on, so that a user who comes a thousand times is looked at once.
Not here: what a value says (column_values.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from murmurate.agents.replay.arrow_files import compute
from murmurate.topics.events import MAX_USER, Reason

Ints = NDArray[np.int64]
Flags = NDArray[np.uint8]
REASONS: Final = (None, *Reason)
"""A reason's number is its place here; 0 is none."""
NUMBER: Final[Mapping[Reason, int]] = {reason: place for place, reason in enumerate(Reason, 1)}
_T = TypeVar("_T")


class BrokenText:
    """Stands for a text that is no UTF-8."""


@dataclass(frozen=True)
class JudgedRows(Generic[_T]):
    """The different values of a column, each judged once, and which of them stands in each row."""

    rows: Ints
    """The number of each row's value."""
    flags: Flags
    """What is wrong with each row, as the number of a reason."""
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

    def read(self, column: pa.Array) -> JudgedRows[_T]:
        """The values of a column that is not nested."""
        if pa.types.is_null(column.type):
            return JudgedRows(np.zeros(len(column), np.int64), np.full(len(column), NUMBER[Reason.FIELD], np.uint8), [])
        found = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        dictionary, indices = found.dictionary, found.indices
        self._learn(dictionary)
        if not len(self._flags):
            return JudgedRows(np.zeros(len(column), np.int64), np.full(len(column), NUMBER[Reason.FIELD], np.uint8), [])
        missing = missing_in(indices)
        rows = numbers_in(indices)
        flags = self._flags[rows] if self._flags.any() else np.zeros(len(rows), np.uint8)
        if missing is not None:
            flags[missing] = NUMBER[Reason.FIELD]
        return JudgedRows(rows, flags, self._values)

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
            found = [self._judged(value) for value in as_python(fresh)]
            self._values += [value for value, _ in found]
            flags = np.array([flag for _, flag in found], np.uint8)
            numbers = np.array([value if type(value) is int else 0 for value, _ in found], np.int64)
        self._flags = np.concatenate((self._flags[:known], flags))
        self.numbers = np.concatenate((self.numbers[:known], numbers))

    def _judged(self, value: Any) -> tuple[_T, int]:
        if value is None:
            return self._nothing, NUMBER[Reason.FIELD]
        if type(value) is BrokenText:
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
        lengths = numbers_in(compute.binary_length(users))
        if len(lengths) and not 0 < lengths.min() <= lengths.max() <= MAX_USER:
            return None
        try:
            users.validate(full=True)
        except pa.ArrowException:
            return None
        raw = users.view(pa.binary() if pa.types.is_string(users.type) else pa.large_binary())
        return np.fromiter(map(self.__getitem__, raw.to_pylist()), np.int64, len(users))


def plain_column(column: pa.Array) -> pa.Array:
    """A column with the values of this one, in one of Arrow's basic layouts."""
    found = column.type
    if isinstance(column, pa.ExtensionArray):
        column, found = column.storage, column.type.storage_type
    if pa.types.is_run_end_encoded(found):
        column = compute.run_end_decode(column)
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


def missing_in(column: pa.Array) -> NDArray[np.bool_] | None:
    """Which values are missing; None if none is."""
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False)) if column.null_count else None


def numbers_in(column: pa.Array) -> NDArray[Any]:
    """Numbers, 0 where one is missing."""
    if column.null_count:
        column = column.fill_null(pa.scalar(0, column.type))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def as_python(column: pa.Array) -> list[Any]:
    """The values as Python's, maps as objects. What Python has no value for is b"", which is none of JSON either."""
    try:
        found: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    except (ValueError, OverflowError, pa.ArrowException):
        found = [_oneas_python(scalar) for scalar in column]
    return found


def _oneas_python(scalar: Any) -> Any:
    try:
        return scalar.as_py(maps_as_pydicts="lossy")
    except UnicodeDecodeError:
        return BrokenText()
    except (ValueError, OverflowError, pa.ArrowException):
        return b""
