# SPDX-License-Identifier: Apache-2.0
"""Frames of two central streams: what a shop takes, with the number of sales, and which events there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from murmurate.aggregators.measures.event_count import EventCount
from murmurate.aggregators.measures.figure_kinds import page_question
from murmurate.aggregators.measures.summed import CentralTotal, SummedMeasure
from murmurate.topics.domains import Categories, Grid
from tests.agents.web.frames import done, hello
from tests.aggregators.queries.made import EVERY_MS, MadeStream

PERIODS = 150
Frames = list[dict[str, Any]]


def spec(name: str, measure: SummedMeasure) -> dict[str, Any]:
    """A stream as the page's header has it."""
    return {
        "name": name, "names": list(measure.names), "every_ms": EVERY_MS, "periods": None, "measure": measure.name,
        **measure.page(), "unit": measure.unit, "thresholds": {}, "min_batch": 1000, "range": None, "epsilon": 1.0,
        "method": "tops", "warning": None, "central": True, **page_question(measure.name, measure.names, central=True),
    }  # fmt: skip


def made(periods: int = PERIODS) -> tuple[MadeStream, MadeStream]:
    """Sales that rise and fall, after a hold-out of 6 periods; events in blocks of 4 periods."""
    day = 1 + np.sin(np.arange(periods) / 23)
    takings = np.column_stack((300 * day, 5400 * day)).astype(int)
    events = np.column_stack((700 * day, 2400 + 600 * day)).astype(int)
    sales = MadeStream(levels=4, names=("count", "total")).hold_out(6).run(takings)
    return sales, MadeStream(1, levels=3, block=4, names=("buy", "view"), measure="count", stream="events").run(events)


def whole_sums(periods: int = PERIODS, *, mode: str = "live") -> Frames:
    """Every frame, in order."""
    sales, events = made(periods)
    total = CentralTotal(Grid(0, 120, 241, "points"), unit="EUR", finds=True, counts=True)
    streams = [spec("revenue", total), spec("events", EventCount(Categories(("buy", "view"), other=False)))]
    promise = ["Nobody who sees all releases learns more than epsilon 1.0 about whether one event was there."]
    found = [hello(streams=streams, mode=mode, promise=promise)]
    found += [{"type": "release", "release": r, "truth": None} for r in (*sales.records, *events.records)]
    return found + ([done(len(found) - 1)] if mode == "replay" else [])
