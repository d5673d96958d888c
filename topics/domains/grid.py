# SPDX-License-Identifier: Apache-2.0
"""Numbers of a declared range: as the nearest of so many points, or the piece of the range that holds them.

Contract: a number outside the range counts as its nearer end.  `none`, the code of a user without a value, follows
after all cells: no event has it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.topics.domains.domain import Codes, Domain, Layout, Words, Wrong
from murmurate.topics.errors import MappingError

MAX_CELLS: Final = (1 << 22) + 1
FINEST: Final = 1e-9
"""A range must be at least this part of its larger end, or its cells could not be told apart."""
NUMBER: Final = re.compile(r"[-+]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][-+]?[0-9]{1,3})?")
"""A number that comes as a text."""


@dataclass(frozen=True)
class Grid(Domain):
    """Numbers of a declared range as cells 0 to `cells` - 1.

    points: a number is rounded to the nearest of so many points, both ends among them, as means need it.  stretches:
    the range is cut into so many pieces, each with its lower end, the last with both, as distributions need it.

    >>> fare = Grid(0, 120, 7, "points")
    >>> fare.code(29.0), fare.code(31.0), fare.code(1e9), Grid(0, 120, 6, "stretches").code(39.9)
    (1, 2, 6, 1)
    """

    coded: ClassVar[bool] = True
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
    def words(self) -> int:
        """One."""
        return 1

    @property
    def none(self) -> int:
        """The code of a user without a value: the first after all others. No event has it; the stage gives it."""
        return self.cells

    @property
    def size(self) -> int:
        """The number of codes, *none* included: the domain of a mechanism that can report none."""
        return self.cells + 1

    def layout(self, none: bool) -> Layout:
        """Codes."""
        return ("code", self.cells + none)

    @property
    def nothing(self) -> Words:
        """The code after all others."""
        return (self.none,)

    @property
    def initial(self) -> Words:
        """The code of users who have had no valid value yet, in a stream whose values stand for ever: the low end."""
        return (0,)

    def code(self, number: float) -> int:
        """The cell of a number; of one outside the range that of the nearer end."""
        part = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return round(part * (self.cells - 1)) if self.form == "points" else min(int(part * self.cells), self.cells - 1)

    def encode(self, numbers: NDArray[np.float64]) -> NDArray[np.uint32]:
        """The codes of many numbers at once: uint32[n]."""
        part = (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)
        if self.form == "points":
            return np.rint(part * (self.cells - 1)).astype(np.uint32)
        return np.minimum((part * self.cells).astype(np.uint32), np.uint32(self.cells - 1))

    def cells_of(self, recorded: NDArray[Any]) -> NDArray[np.int64]:
        """The codes of an array of numbers, -1 of NaN."""
        numbers = np.asarray(recorded, np.float64)
        spoken = ~np.isnan(numbers)
        return np.where(spoken, self.encode(np.where(spoken, numbers, self.low)).astype(np.int64), -1)

    def value(self, row: int, /) -> float:
        """The number that a cell stands for: its point, or the middle of its stretch."""
        part = row / (self.cells - 1) if self.form == "points" else (row + 0.5) / self.cells
        return self.low + part * (self.high - self.low)

    def edge(self, code: int) -> float:
        """Where a stretch begins; that of `cells` is the end of the range."""
        return self.high if code == self.cells else self.low + code / self.cells * (self.high - self.low)

    def codes(self, *, texts: bool = False) -> Cells:
        """Its codes. texts: numbers come as texts, as in a CSV file."""
        return Cells(self, texts=texts)


class Cells(Codes):
    """The codes of numbers."""

    def __init__(self, grid: Grid, *, texts: bool) -> None:
        self._code, self._texts = grid.code, texts

    def __getitem__(self, value: Any, /) -> int:
        """The cell of a number."""
        if type(value) is float or type(value) is int:
            return self._code(value)
        if self._texts and type(value) is str and NUMBER.fullmatch(value):
            return self._code(float(value))
        raise TypeError

    def wrong(self, value: Any) -> Wrong | None:
        """Not a number. JSON has no others than finite ones, and those outside the range are clipped."""
        try:
            self[value]
        except (TypeError, ValueError):
            return "type"
        return None
