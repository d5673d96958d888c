# SPDX-License-Identifier: Apache-2.0
"""Figures of releases, column by column: those with the same names together, one a period in the end.

Contract: of several releases of one period that of the highest revision counts, and of equal ones the last.  Not here:
what is kept of a release (index.py).
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

NO_TREE: Final = -1
UNKNOWN_HORIZON: Final = -2
"""In place of a horizon's number where a method has horizons and a release does not say which."""
NAN: Final = math.nan
CHUNK: Final = 4096
"""Releases that are kept together, and let go together."""


@dataclass(eq=False)
class SameNames:
    """Releases in a row with the same names."""

    names: tuple[str, ...]
    t: array[int] = field(default_factory=lambda: array("q"))
    revision: array[int] = field(default_factory=lambda: array("i"))
    tree: array[int] = field(default_factory=lambda: array("i"))
    """Number of the tree or of the horizon, or NO_TREE, or UNKNOWN_HORIZON."""
    measured: array[int] = field(default_factory=lambda: array("q"))
    """The period whose reports speak; -1 where none do."""
    first: array[float] = field(default_factory=lambda: array("d"))
    second: array[float] = field(default_factory=lambda: array("d"))
    ended: array[int] = field(default_factory=lambda: array("b"))
    """How many nodes of a horizon above its lowest level end with the period."""
    shares: array[float] = field(default_factory=lambda: array("d"))
    """The weight that a node's parts have in it, for all of these nodes, release by release."""

    def add(
        self, t: int, revision: int, tree: int, measured: int, first: list[float], second: list[float],
        shares: Sequence[float] = (),
    ) -> None:  # fmt: skip
        """One release: `first` and `second` have a figure for each name."""
        self.t.append(t)
        self.revision.append(revision)
        self.tree.append(tree)
        self.measured.append(measured)
        self.first.extend(first)
        self.second.extend(second)
        self.ended.append(len(shares))
        self.shares.extend(shares)


class ReleaseColumns:
    """Releases of a stream in the order of their periods, one a period."""

    def __init__(self, rows: Iterable[SameNames]) -> None:
        self._rows = [group for group in rows if len(group.t)]
        found = [np.concatenate([_copy(getattr(rows, of)) for rows in self._rows] or [np.zeros(0, np.int64)])
                 for of in ("t", "revision", "tree", "measured", "ended", "shares")]  # fmt: skip
        t, revision = found[0].astype(np.int64), found[1]
        self._order = np.lexsort((np.arange(len(t)), revision, t))
        t = t[self._order]
        if len(t):
            self._order = self._order[np.append(t[1:] != t[:-1], True)]
        self.t = found[0][self._order].astype(np.int64)
        self.tree, self.measured = found[2][self._order], found[3][self._order]
        self._ended, self._shares = found[4], found[5].astype(np.float64)

    def shares(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The weights of parts in nodes of horizons: the place of the release, the node's level, and the weight."""
        ended = self._ended.astype(np.int64)
        before = np.cumsum(ended) - ended
        ended, before = ended[self._order], before[self._order]
        place: NDArray[np.int64] = np.repeat(np.arange(len(ended)), ended)
        level: NDArray[np.int64] = np.arange(len(place)) - np.repeat(np.cumsum(ended) - ended, ended)
        above: NDArray[np.int64] = level + 1
        weight: NDArray[np.float64] = self._shares[before[place] + level]
        return place, above, weight

    def figures(self, name: str, *, second: bool = False) -> NDArray[np.float64]:
        """The figures of a name, NaN where a release has none: float64[n]."""
        parts = [np.zeros(0)]
        for rows in self._rows:
            if name in rows.names:
                table = np.frombuffer(rows.second if second else rows.first)  # let go at once, so that it can grow
                parts.append(table[rows.names.index(name) :: len(rows.names)].copy())
                del table
            else:
                parts.append(np.full(len(rows.t), NAN))
        return np.concatenate(parts)[self._order]


def rows_of(all_of_them: deque[SameNames], names: tuple[str, ...]) -> SameNames:
    """Where the next release goes that has these names."""
    if not all_of_them or all_of_them[-1].names != names or len(all_of_them[-1].t) >= CHUNK:
        all_of_them.append(SameNames(names))
    return all_of_them[-1]


def numbers_of(figures: Mapping[str, float | None], names: tuple[str, ...] | None = None) -> list[float]:
    """The figures, in the order of `names`; NaN for null."""
    values = figures.values() if names is None or tuple(figures) == names else [figures[name] for name in names]
    return [NAN if value is None else value for value in values]


def _copy(numbers: array[Any]) -> NDArray[Any]:
    """An array of one's own, so that the other one can grow."""
    return np.array(numbers)
