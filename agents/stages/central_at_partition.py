# SPDX-License-Identifier: Apache-2.0
"""One central stream at one raw partition: its clock, and the exact sums of the periods that are open.

Contract: when a period closes, its exact sums go to `sums`, one block a period, in order, whatever they are: a function
of the raw log alone, since nothing is asked about a central stream.  Where users are protected, the first c events of a
user in any window count, by (time, value), and no others (counting.py).  Events never enrol a user in local streams.
`load` of `facts` and `arrays` gives the same state.  Source: ARCHITECTURE rules 9 and 27.  Not here: noise (curate.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.closing import Closing
from murmurate.agents.stages.counting import CountedEvents
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers.state import Arrays
from murmurate.topics.block import encode_sums
from murmurate.topics.names import stream_id

Ints = NDArray[np.int64]
SUMS = Log("sums", 0)


class CentralAtPartition:
    """One central stream's part of the partition."""

    def __init__(self, plan: Plan, stream: CentralPlan, partition: int, sources: int) -> None:
        self.plan = stream
        self.closing = Closing(stream.every_ms, plan.lateness_ms, sources)
        self._partition, self._identity = partition, stream_id(stream.name)
        self._open: dict[int, Ints] = {}  # exact sums of each open period
        limit = None if stream.events is None or stream.window_ms is None else (stream.events, stream.window_ms)
        self._counted = None if limit is None else CountedEvents(*limit)

    @property
    def left_out(self) -> int:
        """How many events did not count since a user had enough of them in the window."""
        return 0 if self._counted is None else self._counted.left_out

    def take(self, users: NDArray[np.uint8], times: Ints, values: NDArray[np.uint32]) -> None:
        """Take events of open periods."""
        if self._counted is not None:
            self._counted.take(users, times, values)
            return
        periods = times // self.plan.every_ms
        for t in np.unique(periods).tolist():
            self._add(t, values[periods == t])

    def shown(self, partitions: Sequence[int], time_ms: int) -> Iterator[Out]:
        """These source partitions have shown this time; gives the sums of the periods that it closes."""
        begins = self.closing.open_t is None
        self.closing.shown(partitions, time_ms)
        if begins and self.closing.open_t is not None:
            self._drop_before(self.closing.open_t)
        while self.closing.due:
            t = self.closing.close()
            if self._counted is not None:
                self._add(t, self._counted.close((t + 1) * self.plan.every_ms))
            sums = self._open.pop(t, None)
            if sums is None:
                sums = np.zeros(self.plan.measure.cells, np.int64)
            yield Out(SUMS, encode_sums(self._identity, self._partition, t, sums))

    def _drop_before(self, t: int) -> None:
        """Forget events of periods that were over before this partition's clock began: they are in no sum."""
        self._open = {at: sums for at, sums in self._open.items() if at >= t}
        if self._counted is not None:
            self._counted.drop_before(t * self.plan.every_ms)

    def _add(self, t: int, values: NDArray[np.uint32]) -> None:
        sums = self.plan.measure.sums(values)
        self._open[t] = self._open[t] + sums if t in self._open else sums

    # ---- state ----

    def facts(self) -> dict[str, Any]:
        """The part of a snapshot that is no array."""
        closing = self.closing
        return {
            "config": self.plan.config, "open_t": closing.open_t, "reached_t": closing.reached_t,
            "times": {str(partition): time for partition, time in sorted(closing.times.items())},
            "left_out": self.left_out,
        }  # fmt: skip

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """The arrays of a snapshot."""
        for t, sums in self._open.items():
            yield f"open/{t}", sums
        if self._counted is not None:
            for name, array in self._counted.arrays():
                yield f"counted/{name}", array

    def load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        """Take over a state."""
        self.closing.open_t, self.closing.reached_t = facts["open_t"], facts["reached_t"]
        self.closing.times = {int(source): time for source, time in facts["times"].items()}
        self._open = {int(name[5:]): array.copy() for name, array in arrays.items() if name.startswith("open/")}
        if self._counted is not None:
            mine = {name[8:]: array for name, array in arrays.items() if name.startswith("counted/")}
            self._counted.load(mine, facts["left_out"])
