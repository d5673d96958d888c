"""What a decision says in the end, as a release shows it: figures by name, declared or found, or in tables.

Contract: four times as many figures as names, in the order of the names; NaN where nothing is known.  A table is
figures by name, too: its cells have names.  Not here: how they come from a decision (a measure's `result`), the record
(agents/stages/release.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from murmurate.topics.release import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NamedFigures:
    """Figures by name."""

    names: tuple[str, ...]
    estimate: Floats
    """The best estimate there is, always a possible one."""
    stderr: Floats
    """The standard error of `estimate`."""
    unbiased: Floats
    """What the period's own method says: raw and unbiased."""
    stderr_unbiased: Floats
    """The standard error of `unbiased` as an estimate of the period that it was measured in: mechanism and sampling."""
    course: Floats | None = None
    """Mean and variance of the estimates so far, where a filter follows the stream: float64[2, names]."""
    found: bool = False
    """Whether the names are data, too."""

    @property
    def named(self) -> NamedFigures:
        """Itself."""
        return self

    @property
    def known(self) -> bool:
        """Whether anything is known."""
        return not bool(np.isnan(self.estimate).all())

    def unmeasured(self, *, estimated: bool) -> NamedFigures:
        """The result before reports have spoken. estimated: whether something is known by then all the same."""
        unknown = np.full(len(self.unbiased), np.nan)
        if estimated:
            return replace(self, unbiased=unknown, stderr_unbiased=unknown)
        return NamedFigures(self.names, unknown, unknown, unknown, unknown)


@dataclass(frozen=True, eq=False)
class Filled:
    """A table with its figures, an axis an attribute."""

    table: Table
    estimate: Floats
    stderr: Floats
    unbiased: Floats
    stderr_unbiased: Floats


@dataclass(frozen=True, eq=False)
class InTables:
    """Figures of every combination of some attributes' values."""

    filled: tuple[Filled, ...]
    course: Floats | None = None
    """Mean and variance of the estimates so far, of all cells in a row, where a filter follows the stream."""

    @property
    def named(self) -> NamedFigures:
        """The figures by the names of cells."""
        names = tuple(name for one in self.filled for name in one.table.names)
        estimate, stderr, unbiased, stderr_unbiased = (
            np.concatenate([getattr(one, what).reshape(-1) for one in self.filled])
            for what in ("estimate", "stderr", "unbiased", "stderr_unbiased")
        )
        return NamedFigures(names, estimate, stderr, unbiased, stderr_unbiased, self.course)


Result = NamedFigures | InTables
