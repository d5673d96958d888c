# SPDX-License-Identifier: Apache-2.0
"""How far the stages have come, as an auditor may believe it: marks, and what was written by the time they were seen.

Contract: marks are committed together with the effects of what lies below them, but brokers show a transaction
partition by partition: the marks may be seen first, by milliseconds, or where brokers are lost by many seconds.  So
marks count only once everything has been taken that was written, committed or not, when they were seen.  Not here:
reading what is taken (audited_logs.py), what is judged by marks (agents/audit).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from murmurate.agents.audit.findings import Extent
from murmurate.agents.kafka.client import Place, Reader
from murmurate.agents.kafka.collect import states
from murmurate.agents.kafka.state import StateRecord
from murmurate.agents.stages.stage import Log

EFFECTS: Final = ("tallies", "sums", "reports")
"""The logs of what is committed together with marks."""
MOST: Final = 64
"""The number of passes whose marks may wait for what was written with them."""
NONE: Final = Extent(folded={}, tallied={})


class Marks(NamedTuple):
    """How far the stages had come at a moment."""

    looked_ms: int | None
    """When that was, by the wall clock; None before any marks count."""
    extent: Extent
    written: Mapping[Place, int]
    """Where the logs of their effects ended, with what was not committed."""


async def look(committed: Reader, written: Reader, deployment: str, effects: Mapping[str, int], now_ms: int) -> Marks:
    """The marks that can be seen now, and everything that was written by then. written: a reader of what was aborted
    too; effects: the partitions of each log, by its short name, of states too.
    """
    perturbs = await states(committed, deployment, "perturb", effects["state.perturb"])
    aggregates = await states(committed, deployment, "aggregate", effects["state.aggregate"])
    extent = Extent(
        folded={p: (_mark(state, "raw", p), _mark(state, "rounds", 0)) for p, state in perturbs.items()},
        tallied={b: _mark(state, "batches", b) for b, state in aggregates.items()},
    )
    places = [Place(f"{deployment}.{name}", p) for name in EFFECTS for p in range(effects.get(name, 0))]
    return Marks(now_ms, extent, {place: end for place, (_, end) in (await written.bounds(places)).items()})


class WaitingMarks:
    """Marks that were seen, the newest last, until they count; `counting` are the newest that do."""

    def __init__(self) -> None:
        self._waiting: list[Marks] = []
        self.counting = Marks(None, NONE, {})

    def add(self, marks: Marks) -> None:
        """Newer ones. The oldest are kept: they count first."""
        self._waiting = [*self._waiting[: MOST - 1], marks]

    def taken(self, ends: Mapping[Place, int]) -> Marks:
        """The newest marks that count, now that the logs have been taken up to here."""
        for i, marks in reversed(list(enumerate(self._waiting))):
            if all(ends[place] >= end for place, end in marks.written.items()):
                self.counting, self._waiting = marks, self._waiting[i + 1 :]
                break
        return self.counting


def _mark(state: StateRecord, name: str, partition: int) -> int:
    return state.marks.get(Log(name, partition), 0)
