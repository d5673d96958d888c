# SPDX-License-Identifier: Apache-2.0
"""What kind of figure a statistic of a release is, for whoever has only the words in the release.

Contract: as the measures declare it (`Measure.is_share`, `SummedMeasure.names`).  Not here: the answer to a question
(aggregators/queries).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.measures.summed import COUNT, TOTAL
from murmurate.aggregators.measures.vector import HELD, ItemNumbers

FigureKind = Literal["share", "mean", "total", "count"]
"""A part of all users; a mean of numbers; a sum of numbers, of a local stream per user; a number of events."""


def figure_kind(measure: str, name: str, *, central: bool) -> FigureKind:
    """The kind of a statistic.

    >>> figure_kind("mean", "present", central=False), figure_kind("count", "buy", central=True)
    ('share', 'count')
    """
    if central:
        return "total" if measure == TOTAL and name != COUNT else "count"
    if measure == ItemNumbers.name:
        return "share" if name.endswith(HELD) else "mean"
    kind = KINDS.get(measure)
    if name != measure or (kind is not None and kind.all_shares):  # a name that is found may be any word
        return "share"
    return "total" if measure == TOTAL else "mean"


def page_question(measure: str, names: Iterable[str], *, central: bool) -> dict[str, str | bool | None]:
    """What a page asks about a stretch of a stream: the word, whether a running total says anything, and the statistic
    that has the chart to itself where not all of them are of one unit.

    >>> page_question("total", ["total", "count"], central=True)
    {'asked': 'sum', 'running': True, 'main': 'total'}
    """
    kinds = {name: figure_kind(measure, name, central=central) for name in names}
    total = next((name for name, kind in kinds.items() if kind == "total"), None)
    if total is not None:
        return {"asked": "sum", "running": True, "main": total}
    if central:
        return {"asked": "count", "running": True, "main": None}
    return {"asked": "mean" if "mean" in kinds.values() else "share", "running": False, "main": None}
