# SPDX-License-Identifier: Apache-2.0
"""A value with a public number beside it: the number, and that there is a value at all, are nobody's secret.

Contract: an event says an object {"value": ..., "measure": a number}.  Its words are those of the inner value, then the
number's cell on its grid.  What is wrong with either makes the whole value wrong.  Source: ARCHITECTURE rule 29.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from murmurate.topics.domains import tables
from murmurate.topics.domains.domain import Codes, Domain, Layout, Ranks, Values, Words, Wrong
from murmurate.topics.domains.grid import Grid
from murmurate.topics.errors import MappingError

VALUE: Final = "value"
MEASURE: Final = "measure"


@dataclass(frozen=True)
class Measured(Domain):
    """Values with a public number. measure: its grid, whose cells are the levels that a report may show."""

    inner: Domain
    measure: Grid

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Domain) or isinstance(self.inner, Measured):
            raise MappingError("measured: found no inner domain; allowed: any domain without a public number")
        if type(self.measure) is not Grid:
            raise MappingError("measured: found no grid; allowed: the grid of the public number")

    @property
    def words(self) -> int:
        """One more than the inner value's."""
        return self.inner.words + 1

    def layout(self, none: bool) -> Layout:
        """The inner layout, and how many levels there are."""
        return ("measured", self.inner.layout(none), self.measure.cells)

    @property
    def nothing(self) -> Words:
        """The inner value's, at the lowest level."""
        return (*self.inner.nothing, 0)

    @property
    def initial(self) -> Words:
        """The words of users who have had no valid value yet, in a stream whose values stand for ever: the inner ones
        at the lowest level.
        """
        return (*self.inner.initial, 0)

    def codes(self, *, texts: bool = False) -> Codes:
        """Their codes. texts: both stand in one cell."""
        return _Beside(self, texts=texts)

    def value(self, row: Words, /) -> dict[str, Any]:
        """The value of an event with these words."""
        first = int(row[0]) if self.inner.coded else row[:-1]
        return {VALUE: self.inner.value(first), MEASURE: self.measure.value(int(row[-1]))}

    def cut(self, rows: Sequence[Words], ranks: Ranks) -> Values:
        """The words with the entries of the inner lists that have the smallest ranks."""
        levels = np.array([[row[-1]] for row in rows], np.uint32)
        return np.concatenate((self.inner.cut([row[:-1] for row in rows], ranks), levels), axis=1)


class _Beside(Codes):
    """The words of both."""

    def __init__(self, domain: Measured, *, texts: bool) -> None:
        self._texts = texts
        self._inner, self._measure = domain.inner.codes(texts=texts), domain.measure.codes(texts=texts)

    def __getitem__(self, value: Any, /) -> Words:
        """The words of an object."""
        if self._texts:
            value = tables.beside(value, VALUE, MEASURE)
        if type(value) is not dict or len(value) != 2:
            raise TypeError
        inner, level = self._inner[value[VALUE]], self._measure[value[MEASURE]]
        return (inner, level) if isinstance(inner, int) else (*inner, level)

    def wrong(self, value: Any) -> Wrong | None:
        """No object; one that has not just these two members; or what the first wrong one is."""
        try:
            found = tables.beside(value, VALUE, MEASURE) if self._texts else value
        except ValueError:
            return "type"
        if type(found) is not dict:
            return "type"
        if found.keys() != {VALUE, MEASURE}:
            return "field"
        return self._inner.wrong(found[VALUE]) or self._measure.wrong(found[MEASURE])
