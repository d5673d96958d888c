# SPDX-License-Identifier: Apache-2.0
"""The figures of a release: by name, which is declared or found, or in tables.

Contract: an estimate, its standard error, an unbiased estimate and the standard error of that for each name, in the
order of the names; NaN where nothing is known.  The cells of tables have names, too.  Not here: how they come from a
decision (a measure's `result`), the record
(agents/stages/release.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.topics.release_parts import Table

Floats = NDArray[np.float64]


class ChosenItems(NamedTuple):
    """How the items of a release were chosen from very many."""

    of: int
    """The number of items."""
    by: Literal["mean", "share"]
    """The figure whose size counts."""
    named: tuple[str, ...]
    """The items that are always listed."""
    found: tuple[str, ...]
    """The largest of the others, the largest first."""
    errors: float
    """The number of its standard errors beyond which a found item is not expected by chance."""
    threshold: float | None
    """The size of a found item that chance hardly ever reaches: `errors` times the median standard error of what was
    found; None where nothing was.
    """


class FoundNames(NamedTuple):
    """How the names of a release were found, and how they fare."""

    least: float
    """The declared share below which nothing is named."""
    threshold: float | None
    """The share up to which what is found may be chance; None where nothing was asked."""
    since: tuple[int, ...]
    """For each name the period in which it was first found, of its present stay."""
    seen: tuple[int, ...]
    """For each name the newest period in which it was found."""
    rose: tuple[str, ...]
    """Names that rose by more than chance."""
    fell: tuple[str, ...]
    """Names that fell by more than chance."""
    gone: tuple[str, ...]
    """Names of the release before that are no longer listed."""


@dataclass(frozen=True, eq=False)
class NamedFigures:
    """Estimates with standard errors, by name."""

    names: tuple[str, ...]
    estimate: Floats
    """The best estimate, always within the possible range."""
    stderr: Floats
    """The standard error of `estimate`."""
    unbiased: Floats
    """The unbiased, raw estimate of the period's method."""
    stderr_unbiased: Floats
    """The standard error of `unbiased` as an estimate of the period that it was measured in: mechanism and sampling."""
    course: Floats | None = None
    """Mean and variance of the estimates so far, where a filter follows the stream: float64[2, names]."""
    found: bool = False
    """Whether the names themselves were found in the data."""
    chosen: ChosenItems | None = None
    """How they were chosen, where they are few of many."""
    discovery: FoundNames | None = None
    """How they were found, where nobody knows the list."""

    @property
    def named(self) -> NamedFigures:
        """The figures by name, which these are already."""
        return self

    @property
    def known(self) -> bool:
        """Whether any estimate is known."""
        return not bool(np.isnan(self.estimate).all())

    def unmeasured(self, *, estimated: bool) -> NamedFigures:
        """The figures before anything was measured. estimated: whether a filter has an estimate all the same."""
        unknown = np.full(len(self.unbiased), np.nan)
        if estimated:
            return replace(self, unbiased=unknown, stderr_unbiased=unknown)
        return NamedFigures(self.names, unknown, unknown, unknown, unknown)


@dataclass(frozen=True, eq=False)
class Filled:
    """A table with its figures; each attribute is an axis of the arrays."""

    table: Table
    estimate: Floats
    stderr: Floats
    unbiased: Floats
    stderr_unbiased: Floats


@dataclass(frozen=True, eq=False)
class InTables:
    """Figures of every combination of some attributes' values, table by table."""

    filled: tuple[Filled, ...]
    course: Floats | None = None
    """Mean and variance of the estimates so far, of all cells in a row, where a filter follows the stream."""

    @property
    def named(self) -> NamedFigures:
        """The figures of all tables by the names of their cells."""
        names = tuple(name for one in self.filled for name in one.table.names)
        estimate, stderr, unbiased, stderr_unbiased = (
            np.concatenate([getattr(one, what).reshape(-1) for one in self.filled])
            for what in ("estimate", "stderr", "unbiased", "stderr_unbiased")
        )
        return NamedFigures(names, estimate, stderr, unbiased, stderr_unbiased, self.course)


Result = NamedFigures | InTables
