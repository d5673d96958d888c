# SPDX-License-Identifier: Apache-2.0
"""What was true of central streams: the exact sums of each period, from the source alone.

Contract: as truth.py, whose rule 1 holds; every event that a period admits counts, not the last one of a user.  Nothing
is clipped at a threshold, and no event is left out because it came in a hold-out or was one too many of its user: what
these cost is part of a release's error.  This is raw data: it stays with the replay that computes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import Ints
from murmurate.agents.replay.true_period import TruePeriod
from murmurate.config.plan import CentralPlan


@dataclass(eq=False)
class TrueSums:
    """What is remembered of one central stream."""

    plan: CentralPlan
    lateness: int
    first_t: int
    open_t: int = -1
    """The first period that has not closed; -1 before the first clock."""
    sums: dict[int, tuple[int, Ints]] = field(default_factory=dict)
    """The number of events of each open period, and their sums in steps."""

    @property
    def every(self) -> int:
        """The length of a period in milliseconds."""
        return self.plan.every_ms

    def take(self, times: Ints, codes: NDArray[np.uint32]) -> None:
        """Take events of open periods."""
        periods = times // self.every
        for t in np.unique(periods).tolist():
            mine = codes[periods == t]
            count, sums = self.sums.get(t, (0, np.zeros(len(self.plan.names), np.int64)))
            self.sums[t] = count + len(mine), sums + self.plan.measure.unclipped(mine)

    def close(self, clock: int) -> Iterator[TruePeriod]:
        """The periods that this time closes."""
        opened = max(0, clock - self.lateness) // self.every
        if self.open_t < 0:
            self.open_t = opened
        while self.open_t < opened:
            t = self.open_t
            self.open_t += 1
            count, sums = self.sums.pop(t, (0, np.zeros(len(self.plan.names), np.int64)))
            if t >= self.first_t:
                yield TruePeriod(self.plan.name, t, count, self.plan.measure.in_units(sums), of="events")
