# SPDX-License-Identifier: Apache-2.0
"""From a question to the statistics that answer it, and what is computed of them.

Contract: pure; QueryRefusedError where a stream has no such statistic, with what there is.  Central sums are of events,
local ones of users: a local sum or count is per user, and a mean or share the average over the periods.
Source: docs/METHODS.md, "Answers over time".  Not here: sums over periods (central.py, local.py), rows (answers.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Final, Literal

from murmurate.aggregators.measures.figure_kinds import FigureKind, figure_kind
from murmurate.aggregators.queries.central import LeafSums
from murmurate.aggregators.queries.errors import QueryRefusedError
from murmurate.aggregators.queries.grammar import ParsedQuery
from murmurate.aggregators.queries.index import RecordedStream
from murmurate.aggregators.queries.local import ReportSums
from murmurate.aggregators.queries.stretch import StretchSum, combined

Formula = Literal["sum", "average", "ratio", "part"]
"""A sum over the periods; that divided by their number; one sum by another; one sum by those of all of them."""
LISTED: Final = 12
EVENTS: Final = "events"
"""The unit of central counts."""
OF: Final[dict[str, tuple[FigureKind, ...]]] = {
    "sum": ("total",), "mean": ("mean", "total"), "share": ("share",), "count": ("share",)
}  # fmt: skip
"""For each word, the kinds of a local stream's statistics that it can be asked of."""


@dataclass(frozen=True)
class AnsweredFigure:
    """One figure of an answer."""

    formula: Formula
    names: tuple[str, ...]
    """The statistics that it is of: of a ratio both, of a part all, the one that is meant first."""
    shown: str
    """The name that stands beside it."""
    unit: str | None = None

    def of(self, recorded: RecordedStream, low: int, high: int) -> tuple[float | None, float | None, StretchSum]:
        """Its value and its standard error over the periods low..high-1; None where it is not known."""
        sums = [over(recorded, name, low, high) for name in self.names]
        if not sums[0].coverage.periods:
            return None, None, sums[0]
        if self.formula == "sum":
            whole = combined(sums)
            return whole.value, whole.stderr, whole
        first, number = sums[0], sums[0].coverage.periods
        if self.formula == "average":
            return first.value / number, None if first.stderr is None else first.stderr / number, first
        below = sums[1] if self.formula == "ratio" else combined(sums)
        if below.value <= 0 or first.stderr is None or below.stderr is None:
            return None, None, first
        ratio = first.value / below.value
        if self.formula == "ratio":
            return ratio, hypot(first.stderr, ratio * below.stderr) / below.value, first
        others = combined(sums[1:]).stderr if len(sums) > 1 else 0.0
        return ratio, hypot((1 - ratio) * first.stderr, ratio * (others or 0.0)) / below.value, first


def over(recorded: RecordedStream, name: str, low: int, high: int) -> StretchSum:
    """The sum of a statistic over the periods low..high-1."""
    if name not in recorded.answers:
        recorded.answers[name] = (LeafSums if recorded.form.central else ReportSums)(recorded, name)
    found: StretchSum = recorded.answers[name].over(low, high)
    return found


def figures(query: ParsedQuery, recorded: RecordedStream) -> list[AnsweredFigure]:
    """What answers a question."""
    names = recorded.names
    if query.name is not None and query.name not in names:
        raise QueryRefusedError(
            f"query: {query.stream}: found statistic {query.name[:40]!r}; allowed: {_listed(names)}"
        )
    measure, central = recorded.form.measure, recorded.form.central
    kinds: dict[str, FigureKind] = {name: figure_kind(measure, name, central=central) for name in names}
    return (_central if central else _local)(query, recorded, kinds)


def _central(query: ParsedQuery, recorded: RecordedStream, kinds: dict[str, FigureKind]) -> list[AnsweredFigure]:
    totals = tuple(name for name, kind in kinds.items() if kind == "total")
    counts = tuple(name for name, kind in kinds.items() if kind == "count")
    unit, name = recorded.form.unit, query.name
    if query.what == "sum":
        of = (name,) if name else totals or counts
        return [AnsweredFigure("sum", of, _shown(query, of), unit if of[0] in totals else EVENTS)]
    if query.what == "count" and (name is None or name in counts):
        of = (name,) if name else counts
        if of:
            return [AnsweredFigure("sum", of, _shown(query, of), EVENTS)]
        raise QueryRefusedError(
            f"query: {query.stream}: found no count of events; allowed: sum, or counts = true in the stream's table"
        )
    if query.what == "mean" and totals and name in (None, *totals):
        if counts:
            return [AnsweredFigure("ratio", (totals[0], counts[0]), "mean", unit)]
        raise QueryRefusedError(
            f"query: {query.stream}: found no count of events to divide by; allowed: sum, or counts = true in the "
            "stream's table"
        )
    if query.what == "share" and len(counts) > 1 and not totals:
        return [
            AnsweredFigure("part", (one, *(c for c in counts if c != one)), one) for one in ([name] if name else counts)
        ]
    words = "sum, mean, count" if totals and counts else "sum, mean" if totals else "sum, count, share"
    if len(counts) < 2 and not totals:
        words = "sum, count"
    raise QueryRefusedError(f"query: {query.stream}: found {query.what} of {name or 'it'}; allowed: {words}")


def _local(query: ParsedQuery, recorded: RecordedStream, kinds: dict[str, FigureKind]) -> list[AnsweredFigure]:
    fitting: tuple[FigureKind, ...] = OF[query.what]
    if query.what == "sum" and len(kinds) == 1:  # everybody has a value, so that means of users are totals per user
        fitting = ("total", "mean")
    asked = [query.name] if query.name is not None else list(kinds)
    found = [name for name in asked if kinds[name] in fitting]
    if not found:
        words = [word for word, of in OF.items() if any(kind in of for kind in kinds.values())]
        about = f"{query.what} of {asked[0][:40]!r}" if query.name is not None else query.what
        raise QueryRefusedError(f"query: {query.stream}: found {about}; allowed: {', '.join(words)}")
    formula: Formula = "average" if query.what in ("mean", "share") else "sum"
    unit = {"count": "periods", "share": None}.get(query.what, recorded.form.unit)
    return [AnsweredFigure(formula, (name,), name, unit) for name in found]


def _shown(query: ParsedQuery, names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else query.what


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
