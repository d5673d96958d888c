# SPDX-License-Identifier: Apache-2.0
"""Marginals: joint shares of several attributes of users, one table for each declared set of attributes.

Contract: each user answers about one table, which is drawn independently of the value, and reports the own cell in it.
A cell is a share of all users, those without a value included, who are in no cell.  A table lists its attributes in
its own order, which names and shapes its cells; questions list them in the order in which they are declared.
Source: Wang 2021, section 6.2, all marginals (ARCHITECTURE section 5.13).  Not here: attributes (attributes.py), tables
that are made consistent with each other (they are not).
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
from murmurate.aggregators.measures.rows import Rows
from murmurate.aggregators.measures.wide import WideMeasure
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers.row_views import Marginal
from murmurate.topics.domains import Row
from murmurate.topics.release_parts import BETWEEN, Table

MADE_UP: Final = 1 << 10
"""The largest number of different rows of a synthetic population."""
_ALIKE: Final = 0.5
"""How strongly the attributes of a synthetic user depend on each other: the weight of a common component."""


@dataclass(frozen=True)
class Marginals(WideMeasure):
    """Shares of users in each cell of several tables."""

    domain: Row
    attributes: tuple[Attribute, ...] = field(kw_only=True)
    """The declared attributes, in the order of the domain."""
    tables: tuple[tuple[int, ...], ...] = field(kw_only=True)
    """Each table lists the numbers of its attributes, in the order in which its cells are named."""

    name = "marginals"

    @classmethod
    def of(cls, attributes: Sequence[Attribute], tables: Sequence[Sequence[str]], *, says_none: bool = True) -> Self:
        """The measure with these attributes and tables, which list attributes by name."""
        place = {attribute.name: number for number, attribute in enumerate(attributes)}
        return cls(
            Row(tuple((attribute.name, attribute.domain) for attribute in attributes)),
            says_none,
            attributes=tuple(attributes),
            tables=tuple(tuple(place[name] for name in table) for table in tables),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all cells, table after table."""
        return self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for table in self.shapes for name in table.names)

    @cached_property
    def shapes(self) -> tuple[Table, ...]:
        """The tables as a release lists them, with the names of their attributes and values."""
        return tuple(
            Table(of=tuple(one.name for one in of), values=tuple(one.values for one in of))
            for of in ([self.attributes[number] for number in table] for table in self.tables)
        )

    # ---- which questions devices get ----

    @property
    def views(self) -> tuple[Marginal, ...]:
        """One view per table: the marginal of its attributes."""
        return self._views

    @cached_property
    def _views(self) -> tuple[Marginal, ...]:
        return tuple(Marginal(self.layout, sorted(table)) for table in self.tables)

    def true_of(self, rows: Rows) -> NDArray[np.bool_]:
        """For each user and table the one cell, or *none*, that holds the user: bool[n, statistics]."""
        true = np.zeros((len(rows), self.statistics), np.bool_)
        start = 0
        for view in self.views:
            true[np.arange(len(rows)), start + view.cells_of(rows)] = True
            start += view.d
        return true

    @property
    def shown(self) -> NDArray[np.int64]:
        """The indices of all cells in the order of each table's own attributes, without *none*."""
        return self._shown

    @cached_property
    def _shown(self) -> NDArray[np.int64]:
        found, start = list[NDArray[np.int64]](), 0
        for table, view in zip(self.tables, self.views, strict=True):
            rising = sorted(table)
            sizes = [self.domain.sizes[number] for number in rising]
            cells = np.arange(prod(sizes)).reshape(sizes).transpose([rising.index(number) for number in table])
            found.append(start + cells.reshape(-1))
            start += view.d
        return np.concatenate(found)

    # ---- the figures of a release ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> InTables:
        """The figures of each table's cells."""
        named, filled, start = self.told(decision), list[Filled](), 0
        for table in self.shapes:
            shape = tuple(map(len, table.values))
            cells = slice(start, start + prod(shape))
            figures = named.estimate, named.stderr, named.unbiased, named.stderr_unbiased
            of = (each[cells].reshape(shape) for each in figures)
            filled.append(Filled(table, *of))
            start = cells.stop
        return InTables(tuple(filled), named.course)

    @property
    def what(self) -> str:
        """The number of tables and cells, and their attributes."""
        tables = f"{len(self.tables)} table{'s' if len(self.tables) > 1 else ''}"
        return f"{tables} ({'; '.join(' by '.join(table.of) for table in self.shapes)}) with {len(self.names)} cells"

    @property
    def brief(self) -> str:
        """The name, and the number of tables."""
        return f"{self.name} of {len(self.tables)} table{'s' if len(self.tables) > 1 else ''}"

    def said(self, code: int) -> str:
        """The row whose attributes all have the domain's first value."""
        row = self.domain.initial
        pairs = zip(self.attributes, self.domain.sizes, self.domain.places, strict=True)
        return BETWEEN.join(f"{one.name}={one.values[row[word] // times % size]}" for one, size, (word, times) in pairs)

    def page(self) -> dict[str, Any]:
        """The page's description, with the title and the number of cells of each table; their cells are consecutive
        names.
        """
        tables = [{"title": BETWEEN.join(table.of), "cells": len(table.names)} for table in self.shapes]
        return {**super().page(), "tables": tables}

    @property
    def called(self) -> tuple[str, str]:
        """The words for cells on the page."""
        return "Cell", "Cells"

    # ---- synthetic values ----

    def crowd(self) -> tuple[Rows, Floats]:
        """Rows whose attributes are correlated, with the frequencies of `Attribute.usual` for each."""
        return _crowd(self)

    def example(self, mark: int, *, peak: bool) -> dict[str, Any]:
        """Correlated attributes; in the peak two fifths of the events have the third value (or the last) of the first
        attribute.
        """
        event: dict[str, Any] = {}
        for place, (one, size) in enumerate(zip(self.attributes, self.domain.sizes, strict=True)):
            own = (mark * _STEPS[place % len(_STEPS)] + 17 * place) % 100 / 100
            code = one.usual(_ALIKE * mark / 100 + (1 - _ALIKE) * own)
            if peak and mark % 5 < 2 and not place:
                code = min(2, size - 1)
            event[one.name] = one.example(code, own)
        return event


_STEPS: Final = (37, 61, 83, 29, 71, 13, 47, 91)
"""Numbers prime to 100: multiples of each run through all residues of a hundred."""


@lru_cache(maxsize=16)
def _crowd(measure: Marginals) -> tuple[Rows, Floats]:
    """Rows from a low-discrepancy sequence (multiples of square roots of primes), each row once, with its share."""
    k = min(MADE_UP, prod(measure.domain.sizes) * 4)
    at = (np.arange(k) + 0.5) / k
    columns = []
    for place, one in enumerate(measure.attributes):
        own = np.arange(1, k + 1) * np.sqrt(_PRIMES[place % len(_PRIMES)]) * (1 + place // len(_PRIMES)) % 1
        columns.append(np.array([one.usual(part) for part in (_ALIKE * at + (1 - _ALIKE) * own).tolist()]))
    rows, times = np.unique(measure.domain.pack(columns), axis=0, return_counts=True)
    return rows, times / k


_PRIMES: Final = (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0)
