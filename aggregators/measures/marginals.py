"""Marginals: how several attributes of users go together, as tables of shares, one for each declared set of attributes.

Contract: each user answers for one table, drawn without regard to the value, and tells the cell of that table.  A cell
is the share of all users who are asked; those without a value are told and counted, and stand in no table.  A table's
own order of its attributes is how its cells are named and shaped; what is asked knows the declared order alone.
Source: Wang 2021, section 6.2, all marginals (ARCHITECTURE section 5.13).  Not here: attributes (attributes.py), tables
that are made consistent with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.attributes import Attribute
from murmurate.aggregators.measures.result import Filled, Floats, InTables
from murmurate.aggregators.measures.wide import Rows, WideMeasure
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers.row_views import Marginal
from murmurate.topics.domains import Row
from murmurate.topics.release import BETWEEN, Table

MADE_UP: Final = 1 << 10
"""Different rows that a made-up crowd holds, at most."""
_ALIKE: Final = 0.5
"""How much of an attribute's place a made-up user has in common with the other attributes."""


@dataclass(frozen=True)
class Marginals(WideMeasure):
    """Shares of the cells of tables."""

    domain: Row
    attributes: tuple[Attribute, ...] = field(kw_only=True)
    """In the order of the domain."""
    tables: tuple[tuple[int, ...], ...] = field(kw_only=True)
    """Each table lists the numbers of its attributes, in the order in which its cells are named."""

    name = "marginals"

    @classmethod
    def of(cls, attributes: Sequence[Attribute], tables: Sequence[Sequence[str]], *, says_none: bool = True) -> Self:
        """Tables of these attributes by their names."""
        place = {attribute.name: number for number, attribute in enumerate(attributes)}
        return cls(
            Row(tuple((attribute.name, attribute.domain) for attribute in attributes)),
            says_none,
            attributes=tuple(attributes),
            tables=tuple(tuple(place[name] for name in table) for table in tables),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """One a cell, table after table."""
        return self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for table in self.shapes for name in table.names)

    @cached_property
    def shapes(self) -> tuple[Table, ...]:
        """The tables as a release has them."""
        return tuple(
            Table(of=tuple(one.name for one in of), values=tuple(one.values for one in of))
            for of in ([self.attributes[number] for number in table] for table in self.tables)
        )

    # ---- how it is asked ----

    @property
    def views(self) -> tuple[Marginal, ...]:
        """One a table."""
        return self._views

    @cached_property
    def _views(self) -> tuple[Marginal, ...]:
        return tuple(Marginal(self.layout, sorted(table)) for table in self.tables)

    def true_of(self, rows: Rows) -> NDArray[np.bool_]:
        """Each user is in one cell of each table, or says of it that there is no value."""
        told = np.zeros((len(rows), self.statistics), np.bool_)
        start = 0
        for view in self.views:
            told[np.arange(len(rows)), start + view.cells_of(rows)] = True
            start += view.d
        return told

    @property
    def shown(self) -> NDArray[np.int64]:
        """Every cell, in its table's own order, and nobody without a value."""
        return self._shown

    @cached_property
    def _shown(self) -> NDArray[np.int64]:
        found, start = list[NDArray[np.int64]](), 0
        for table, view in zip(self.tables, self.views, strict=True):
            rising = sorted(table)
            sizes = [self.domain.sizes[number] for number in rising]
            told = np.arange(prod(sizes)).reshape(sizes).transpose([rising.index(number) for number in table])
            found.append(start + told.reshape(-1))
            start += view.d
        return np.concatenate(found)

    # ---- what is said of it ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> InTables:
        """The figures of each table's cells."""
        told, filled, start = self.told(decision), list[Filled](), 0
        for table in self.shapes:
            shape = tuple(map(len, table.values))
            cells = slice(start, start + prod(shape))
            figures = told.estimate, told.stderr, told.unbiased, told.stderr_unbiased
            of = (each[cells].reshape(shape) for each in figures)
            filled.append(Filled(table, *of))
            start = cells.stop
        return InTables(tuple(filled), told.course)

    @property
    def what(self) -> str:
        """How many tables, of what."""
        tables = f"{len(self.tables)} table{'s' if len(self.tables) > 1 else ''}"
        return f"{tables} ({'; '.join(' by '.join(table.of) for table in self.shapes)}) with {len(self.names)} cells"

    @property
    def brief(self) -> str:
        """Its name, and how many tables and cells."""
        return f"{self.name} of {len(self.tables)} table{'s' if len(self.tables) > 1 else ''}"

    def said(self, code: int) -> str:
        """The row that the domain begins with."""
        row = self.domain.initial
        pairs = zip(self.attributes, self.domain.sizes, self.domain.places, strict=True)
        return BETWEEN.join(f"{one.name}={one.values[row[word] // times % size]}" for one, size, (word, times) in pairs)

    def page(self) -> dict[str, Any]:
        """With what stands above each table, and how many cells it has: they follow each other among the names."""
        tables = [{"title": BETWEEN.join(table.of), "cells": len(table.names)} for table in self.shapes]
        return {**super().page(), "tables": tables}

    @property
    def called(self) -> tuple[str, str]:
        """As a page calls them."""
        return "Cell", "Cells"

    # ---- what is made up of it ----

    def crowd(self) -> tuple[Rows, Floats]:
        """Rows whose attributes go together by half, each value of an attribute as frequent as `usual` has it."""
        return _crowd(self)

    def example(self, mark: int, *, peak: bool) -> dict[str, Any]:
        """Attributes that go together; in the peak, two fifths of all say the third value (or the last) of the first
        attribute.
        """
        said: dict[str, Any] = {}
        for place, (one, size) in enumerate(zip(self.attributes, self.domain.sizes, strict=True)):
            own = (mark * _STEPS[place % len(_STEPS)] + 17 * place) % 100 / 100
            code = one.usual(_ALIKE * mark / 100 + (1 - _ALIKE) * own)
            if peak and mark % 5 < 2 and not place:
                code = min(2, size - 1)
            said[one.name] = one.example(code, own)
        return said


_STEPS: Final = (37, 61, 83, 29, 71, 13, 47, 91)
"""Odd and no multiples of five: each takes a hundred marks through all hundredths."""


@lru_cache(maxsize=16)
def _crowd(measure: Marginals) -> tuple[Rows, Floats]:
    """Points that fill a cube evenly, by multiples of roots of primes, as rows; the same rows together."""
    k = min(MADE_UP, prod(measure.domain.sizes) * 4)
    at = (np.arange(k) + 0.5) / k
    columns = []
    for place, one in enumerate(measure.attributes):
        own = np.arange(1, k + 1) * np.sqrt(_PRIMES[place % len(_PRIMES)]) * (1 + place // len(_PRIMES)) % 1
        columns.append(np.array([one.usual(part) for part in (_ALIKE * at + (1 - _ALIKE) * own).tolist()]))
    rows, times = np.unique(measure.domain.pack(columns), axis=0, return_counts=True)
    return rows, times / k


_PRIMES: Final = (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0)
