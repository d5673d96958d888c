"""What an event may say, and the code of it: declared texts, or numbers of a declared range.

Contract: a domain is data and makes its own `Codes`, which give a parsed JSON value its code or say what is wrong with
it; a number outside the range counts as its nearer end.  `none`, the code of a user without a value, follows after all
others: no event has it.  Codes follow from the declaration alone.  Not here: whole events (events.py).
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.topics.errors import MappingError

MAX_CATEGORIES: Final = 1 << 24
"""As many as the largest domain of a mechanism."""
MAX_CELLS: Final = (1 << 22) + 1
FINEST: Final = 1e-9
"""A range must be at least this part of its larger end, or its cells could not be told apart."""
_NUMBER: Final = re.compile(r"[-+]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][-+]?[0-9]{1,3})?")

Wrong = Literal["type", "value"]


class Codes(ABC):
    """Values to codes. A value without one is a LookupError, a TypeError or a ValueError."""

    @abstractmethod
    def __getitem__(self, value: Any, /) -> int:
        """The code of a value."""

    @abstractmethod
    def wrong(self, value: Any) -> Wrong | None:
        """Why a value has no code; None if it has one."""


@dataclass(frozen=True)
class Categories:
    """The declared values of a stream and their codes: 0 to k - 1 in order, then "other" if enabled, then *none*."""

    values: tuple[str, ...]
    other: bool = False

    def __post_init__(self) -> None:
        texts = all(isinstance(value, str) for value in self.values)
        if not isinstance(self.values, tuple) or not self.values or not texts or len(self.values) > MAX_CATEGORIES:
            raise MappingError(f"categories: found no tuple of texts; allowed: 1 to {MAX_CATEGORIES} texts")
        if len(set(self.values)) != len(self.values):
            raise MappingError("categories: found one twice; allowed: each once")

    @property
    def none(self) -> int:
        """The code of a user without a value: the first after all others. No event has it; the stage gives it."""
        return len(self.values) + self.other

    @property
    def size(self) -> int:
        """How many codes there are, *none* included: the domain of a mechanism that can say none."""
        return self.none + 1

    def value(self, code: int) -> str:
        """What an event of this code says."""
        if code < len(self.values):
            return self.values[code]
        other = "other"
        while other in self.values:
            other += "-"
        return other

    def codes(self, *, texts: bool = False) -> Codes:
        """Their codes; texts or not, they are texts."""
        return _Declared(self)


class _Declared(dict[str, int], Codes):
    """The codes of declared texts. Only a value that is not declared comes to `__missing__`."""

    def __init__(self, categories: Categories) -> None:
        super().__init__({value: code for code, value in enumerate(categories.values)})
        self._other = len(categories.values) if categories.other else None

    def __missing__(self, value: object) -> int:
        if self._other is None or type(value) is not str:
            raise LookupError
        return self._other

    def wrong(self, value: Any) -> Wrong | None:
        """Not a text, or one that nobody declared."""
        if type(value) is not str:
            return "type"
        return "value" if self._other is None and value not in self else None


@dataclass(frozen=True)
class Grid:
    """Numbers of a declared range as cells 0 to `cells` - 1.

    points: a number is rounded to the nearest of so many points, both ends among them, as means need it.  stretches:
    the range is cut into so many pieces, each with its lower end, the last with both, as distributions need it.

    >>> fare = Grid(0, 120, 7, "points")
    >>> fare.code(29.0), fare.code(31.0), fare.code(1e9), Grid(0, 120, 6, "stretches").code(39.9)
    (1, 2, 6, 1)
    """

    low: float
    high: float
    cells: int
    form: Literal["points", "stretches"]

    def __post_init__(self) -> None:
        fine = all(type(end) in (int, float) and math.isfinite(end) for end in (self.low, self.high))
        if not fine or not self.high - self.low > FINEST * max(abs(self.low), abs(self.high)):
            raise MappingError("grid: found no range; allowed: two numbers, the lower first, and not all but the same")
        if not 2 <= self.cells <= MAX_CELLS or self.form not in ("points", "stretches"):
            raise MappingError(f"grid: found {self.cells} {self.form}; allowed: 2 to {MAX_CELLS} points or stretches")

    @property
    def none(self) -> int:
        """The code of a user without a value: the first after all others. No event has it; the stage gives it."""
        return self.cells

    @property
    def size(self) -> int:
        """How many codes there are, *none* included: the domain of a mechanism that can say none."""
        return self.cells + 1

    def code(self, number: float) -> int:
        """The cell of a number; of one outside the range that of the nearer end."""
        part = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return round(part * (self.cells - 1)) if self.form == "points" else min(int(part * self.cells), self.cells - 1)

    def encode(self, numbers: NDArray[np.float64]) -> NDArray[np.uint32]:
        """The same of many at once: uint32[n]."""
        part = (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)
        if self.form == "points":
            return np.rint(part * (self.cells - 1)).astype(np.uint32)
        return np.minimum((part * self.cells).astype(np.uint32), np.uint32(self.cells - 1))

    def value(self, code: int) -> float:
        """The number that a cell stands for: its point, or the middle of its stretch."""
        part = code / (self.cells - 1) if self.form == "points" else (code + 0.5) / self.cells
        return self.low + part * (self.high - self.low)

    def edge(self, code: int) -> float:
        """Where a stretch begins; that of `cells` is the end of the range."""
        return self.high if code == self.cells else self.low + code / self.cells * (self.high - self.low)

    def codes(self, *, texts: bool = False) -> Codes:
        """Its codes. texts: numbers come as texts, as in a CSV file."""
        return _Cells(self, texts=texts)


class _Cells(Codes):
    """The codes of numbers."""

    def __init__(self, grid: Grid, *, texts: bool) -> None:
        self._code, self._texts = grid.code, texts

    def __getitem__(self, value: Any, /) -> int:
        """The cell of a number."""
        if type(value) is float or type(value) is int:
            return self._code(value)
        if self._texts and type(value) is str and _NUMBER.fullmatch(value):
            return self._code(float(value))
        raise TypeError

    def wrong(self, value: Any) -> Wrong | None:
        """Not a number. JSON has no others than finite ones, and those outside the range are clipped."""
        try:
            self[value]
        except (TypeError, ValueError):
            return "type"
        return None


Domain = Categories | Grid
