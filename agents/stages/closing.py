# SPDX-License-Identifier: Apache-2.0
"""Periods and the door's clock: which event is late or from the future, and which period a raw partition may close.

Contract: an event is judged by the ticks of its own source partition, so that nothing depends on how sources
interleave: it is late if its period was over, lateness included, at the tick before it, and from the future if it
lies further ahead than `future` of the tick that covers it.  A raw partition closes a period when all source
partitions have reached its end plus lateness; every event that was in time is before that in the log.  Which partitions
these are follows from the log too: those of the beginning, and each that has shown a time since.  Nothing a user sends
closes anything (ARCHITECTURE rules 6 and 15).  Periods close at fixed instants, their ends plus lateness; a
recording's clock, which takes its times from events, gives only these instants away (`newest_closing`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from murmurate.config.plan import AnyStreamPlan, Plan

Mask = NDArray[np.bool_]
MAX_UNSETTLED = 8
"""The most periods of one stream that wait for their decision: perturb keeps and publish asks about no more."""

MAX_WIDE = 2
"""The most periods that wait for their decision where a stream's values take more than WIDE words: they keep so much
more of each period.
"""
WIDE = 4


def unsettled(words: int) -> int:
    """How many periods of a stream with values of so many words may wait."""
    return MAX_WIDE if words > WIDE else MAX_UNSETTLED


def opened(every_ms: int, lateness_ms: int, clock: int) -> int:
    """The first period that is still open when the clock shows this time."""
    return max(0, clock - lateness_ms) // every_ms


def newest_closing(every_ms: Iterable[int], lateness_ms: int, clock: int) -> int:
    """The newest instant, up to this time, at which a period of one of these lengths closes; 0 before the first. A
    clock that shows it closes the same periods as one that shows the time itself.

    >>> newest_closing((1000, 60_000), 500, 61_400), newest_closing((60_000,), 500, 61_400)
    (60500, 60500)
    """
    return max(0, *((clock - lateness_ms) // every * every + lateness_ms for every in every_ms))


def next_closing(every_ms: Iterable[int], lateness_ms: int, clock: int) -> int:
    """The first instant after this time at which a period of one of these lengths closes."""
    return min(((clock - lateness_ms) // every + 1) * every + lateness_ms for every in every_ms)


def late(plan: Plan, stream: AnyStreamPlan, times: NDArray[np.int64], before: int | None) -> Mask:
    """Which events come too late. before: the tick before them, None before the first."""
    first = 0 if before is None else opened(stream.every_ms, plan.lateness_ms, before)
    return times < first * stream.every_ms


def ahead(plan: Plan, times: NDArray[np.int64], now: int) -> Mask:
    """Which events come from further ahead than allowed. now: the tick that covers them."""
    return times > now + plan.at(now).future_ms


@dataclass
class Closing:
    """The periods of one stream at a raw partition."""

    every_ms: int
    lateness_ms: int
    sources: int
    """Partitions of the stream's source when the deployment began: nothing closes before each of them has shown a time.
    One that was added later is waited for from its first time on, like the others.
    """
    times: dict[int, int] = field(default_factory=dict)
    """The time that each source partition has shown last: it goes back only where somebody set its door's clock back.
    """
    open_t: int | None = None
    """The period that closes next; None before every source partition has shown a time."""

    reached_t: int | None = None
    """The first period that the clock leaves open: those from `open_t` to before it are due."""

    def progress(self, partition: int, time_ms: int) -> None:
        """Take a progress record."""
        self.shown((partition,), time_ms)

    def shown(self, partitions: Iterable[int], time_ms: int) -> None:
        """These source partitions have shown this time. After one that is behind the last, what was reached stays
        reached, and the source is waited for again.
        """
        self.times.update(dict.fromkeys(partitions, time_ms))
        if self.open_t is None and any(first not in self.times for first in range(self.sources)):
            return
        first = opened(self.every_ms, self.lateness_ms, min(self.times.values()))
        self.reached_t = first if self.reached_t is None else max(self.reached_t, first)
        if self.open_t is None:
            self.open_t = first

    @property
    def due(self) -> bool:
        """Whether the open period may be closed."""
        return self.open_t is not None and self.reached_t is not None and self.open_t < self.reached_t

    def close(self) -> int:
        """Close the period that is due, and give its number."""
        if self.open_t is None:
            raise ValueError("nothing is due")
        self.open_t += 1
        return self.open_t - 1
