# SPDX-License-Identifier: Apache-2.0
"""The contract of every layout of words, and the simplest layout: one code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.question import LayoutSpec, Value, Values

Row = NDArray[np.uint32]
Mask = NDArray[np.bool_]

FILLER: Final = 0x7FFFFFFF
NONE: Final = 0xFFFFFFFE
"""The first word of *none*, which is set when a period's values are frozen."""
REFUSED: Final = 0xFFFFFFFF
"""The word that fills a wrong value, in raw blocks alone."""
UNIT: Final = 1 << 16
"""The code of 1 on the grid of a signed number; it is also what is added to the number to get its code."""
MAX_BITS, MAX_MOST, MAX_ATTRIBUTES, MAX_WORD = 256, 64, 64, 1 << 31
_MAX_LISTED = 1 << 12  # values that `enumerate` gives


class Layout(ABC):
    """The words of a value, and which rows of words are values."""

    word: ClassVar[str]
    """The first entry of its description."""
    words: int
    none: bool

    @abstractmethod
    def spec(self) -> LayoutSpec:
        """The tuple that describes it."""

    @abstractmethod
    def _wrong(self, rows: Row) -> Mask:
        """Which rows are no value, *none* aside."""

    @abstractmethod
    def _listed(self) -> Iterator[tuple[int, ...]]:
        """Every value except *none*."""

    @property
    @abstractmethod
    def _size(self) -> int:
        """The number of values except *none*."""

    @property
    def nothing(self) -> Value:
        """The value of a user who has none, or None where everybody has one."""
        if not self.none:
            return None
        return NONE if self.words == 1 else (NONE, *(0,) * (self.words - 1))

    def rows(self, values: Values) -> Row:
        """The values as uint32[n, words], also where a value is one word."""
        rows = values.astype(np.uint32, copy=False)
        return rows[:, np.newaxis] if rows.ndim == 1 else rows

    def silent(self, rows: Row) -> Mask:
        """Which rows are *none*: bool[n]."""
        return np.asarray(rows[:, 0] == NONE)

    def wrong(self, values: Values) -> Mask:
        """Which of int[n] or uint32[n, words] are no value of this layout: bool[n]."""
        rows = self.rows(values)
        bad = self._wrong(rows)
        if self.none:
            silent = self.silent(rows)
            if silent.any():
                bad[silent] = rows[silent, 1:].any(axis=1)
        if values.dtype.itemsize > rows.dtype.itemsize:  # what 32 bits would have cut off
            bad |= (rows != values.reshape(rows.shape)).any(axis=1)
        return bad

    def enumerate(self) -> Iterator[Value]:
        """Every value, none included, for small layouts only."""
        if self._size > _MAX_LISTED:
            raise ParameterError(f"layout: found {self._size} values to list; allowed: {_MAX_LISTED}")
        for value in self._listed():
            yield value[0] if self.words == 1 else value
        if self.none:
            yield self.nothing

    def array(self, values: Sequence[Value]) -> Values:
        """Single values as an array of them."""
        if self.words == 1:
            return np.array(values, np.int64)
        return np.array(values, np.uint32).reshape(len(values), self.words)


@dataclass(frozen=True)
class CodeLayout(Layout):
    """A layout of one word below d. None, if any, is the last one."""

    word: ClassVar[str] = "code"
    d: int

    words = 1
    none = False

    def __post_init__(self) -> None:
        checked("code: d", self.d, 2, MAX_WORD)

    def spec(self) -> LayoutSpec:
        """The description by name and size."""
        return "code", self.d

    def wrong(self, values: Values) -> Mask:
        """Which codes are below 0 or not below d."""
        flat = values.reshape(len(values))
        return np.asarray((flat < 0) | (flat >= self.d))

    def _wrong(self, rows: Row) -> Mask:
        return np.asarray(rows[:, 0] >= self.d)

    def _listed(self) -> Iterator[tuple[int, ...]]:
        return ((code,) for code in range(self.d))

    @property
    def _size(self) -> int:
        return self.d


def checked(what: str, found: object, low: int, high: int) -> None:
    """Refuse a parameter that is no whole number in this range."""
    if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
        raise ParameterError(f"layout: {what}: found {shown(found)}; allowed: a whole number from {low} to {high}")
