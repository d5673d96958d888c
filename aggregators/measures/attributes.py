# SPDX-License-Identifier: Apache-2.0
"""An attribute of users that tables are made of: its domain, and the name of each of its values in a release.

Contract: plain data that follows from its declaration.  Values are texts, groups of equally many whole numbers, or
equally long intervals of numbers.  Not here: tables of several attributes (marginals.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from murmurate.aggregators.measures.distribution import stretches
from murmurate.topics.domains import Categories, Grid


@dataclass(frozen=True)
class Attribute:
    """One attribute: its name, its domain and the names of its values."""

    name: str
    domain: Categories | Grid
    values: tuple[str, ...]
    """The names of its codes, in their order."""
    whole: bool = False
    """Whether its numbers are whole; others are rounded to the nearest whole number."""

    @classmethod
    def of_texts(cls, name: str, values: tuple[str, ...], *, other: bool = False) -> Self:
        """An attribute with these texts as values. other: whether any other text counts as "other" instead of as
        invalid.
        """
        return cls(name, Categories(values, other), (*values, *(("other",) if other else ())))

    @classmethod
    def of_whole(cls, name: str, low: int, high: int, cells: int) -> Self:
        """An attribute with whole numbers, equally many in each cell.

        >>> Attribute.of_whole("age", 0, 99, 10).values[:2], Attribute.of_whole("stars", 1, 5, 5).values
        (('0-9', '10-19'), ('1', '2', '3', '4', '5'))
        >>> Attribute.of_whole("balance", -10, -1, 2).values
        ('-10 to -6', '-5 to -1')
        """
        width = (high - low + 1) // cells
        between = "-" if low >= 0 else " to "
        starts = range(low, high + 1, width)
        values = tuple(str(start) if width == 1 else f"{start}{between}{start + width - 1}" for start in starts)
        # Ends half-way between whole numbers: no rounding moves one of them into another cell.
        return cls(name, Grid(low - 0.5, high + 0.5, cells, "stretches"), values, whole=True)

    @classmethod
    def of_range(cls, name: str, low: float, high: float, cells: int) -> Self:
        """An attribute with numbers in equally long intervals of a range; numbers outside count as its nearer end."""
        grid = Grid(low, high, cells, "stretches")
        return cls(name, grid, stretches(grid))

    def meaning(self) -> dict[str, Any]:
        """The declaration in whole numbers and texts that represent numbers exactly, from which its digest is made."""
        if isinstance(self.domain, Categories):
            return {"name": self.name, "values": self.domain.values, "other": self.domain.other}
        kind = "whole" if self.whole else "range"
        return {"name": self.name, kind: [repr(self.domain.low), repr(self.domain.high)], "cells": self.domain.cells}

    def usual(self, part: float) -> int:
        """The code below which this part of a synthetic population lies: each text is half as frequent as the one
        before; numbers concentrate at the low end.
        """
        if isinstance(self.domain, Categories):
            code = 0
            while part >= 0.5 and code < len(self.domain.values) - 1:
                part, code = part * 2 - 1, code + 1
            return code
        return min(int(part * part * self.domain.cells), self.domain.cells - 1)

    def example(self, code: int, part: float) -> str | float:
        """The value of a synthetic event with this code. part: the position within a cell, from 0 to below 1."""
        if isinstance(self.domain, Categories):
            return self.domain.value(code)
        low, high = self.domain.edge(code), self.domain.edge(code + 1)
        if self.whole:
            return int(low + 0.5) + int(part * round(high - low))
        return round(low + part * (high - low), 2)
