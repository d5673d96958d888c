"""What kind of figure a statistic of a release is, for whoever has only the words in the release.

Contract: as the measures declare it (`Measure.is_share`, `SummedMeasure.names`).  Not here: what can be asked of which
kind (aggregators/queries).
"""

from __future__ import annotations

from typing import Literal

from murmurate.aggregators.measures.summed import COUNT, TOTAL

FigureKind = Literal["share", "mean", "total", "count"]
"""A part of all users; a mean of numbers; a sum of numbers, of a local stream per user; a number of events."""


def figure_kind(measure: str, name: str, *, central: bool) -> FigureKind:
    """The kind of a statistic.

    >>> figure_kind("mean", "present", central=False), figure_kind("count", "buy", central=True)
    ('share', 'count')
    """
    if central:
        return "total" if measure == TOTAL and name != COUNT else "count"
    if name != measure:
        return "share"
    return "total" if measure == TOTAL else "mean"
