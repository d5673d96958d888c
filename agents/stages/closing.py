"""Periods at a raw partition: which one is open, by the door's progress records and by nothing a user sends.

Contract: a stream's clock is the least time that all partitions of its source have reached.  A period closes when the
clock passes its end plus lateness; an event for a closed period is late, one further ahead of the clock than `future`
is from the future, and both are refused as if they had never come (DESIGN rules 6 and 15).  A function of the raw log
alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


@dataclass
class Closing:
    """The open period of one stream."""

    every_ms: int
    lateness_ms: int
    future_ms: int
    sources: int
    """Partitions of the stream's source."""
    times: dict[int, int] = field(default_factory=dict)
    """The newest time each source partition has reached."""
    open_t: int | None = None
    """The period that closes next; None before every source partition has shown a time."""

    @property
    def clock(self) -> int | None:
        """The time all source partitions have reached."""
        return min(self.times.values()) if len(self.times) == self.sources else None

    def progress(self, partition: int, time_ms: int) -> range:
        """Take a progress record; the periods that it closes. A time that goes back is no progress."""
        if partition < self.sources:
            self.times[partition] = max(time_ms, self.times.get(partition, 0))
        clock = self.clock
        if clock is None:
            return range(0)
        opened = max(0, clock - self.lateness_ms) // self.every_ms  # the first period whose end, and lateness, is ahead
        if self.open_t is None:
            self.open_t = opened
        closed = range(self.open_t, opened)
        self.open_t = max(self.open_t, opened)
        return closed

    def late(self, times: NDArray[np.int64]) -> Mask:
        """Which events come after their period has closed."""
        return times < (self.open_t or 0) * self.every_ms

    def ahead(self, times: NDArray[np.int64]) -> Mask:
        """Which events come from further ahead than allowed; all of them while there is no clock."""
        clock = self.clock
        return np.ones(len(times), np.bool_) if clock is None else times > clock + self.future_ms
