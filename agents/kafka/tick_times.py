# SPDX-License-Identifier: Apache-2.0
"""When a door needs a tick, under the wall clock: when a period can close, when events wait, and now and then.

Contract: periods close when a clock passes their end plus lateness, so doors get a tick at each of these instants of
their topic's streams, all at the same ones.  Between two of them a door needs none, unless events wait there: those are
covered within a quarter of a second.  A door that stands still says so from time to time in its own state, for whoever
watches clocks and for a successor.  Which ticks are given changes no release: what is written follows from ticks and
logs.  Source: ARCHITECTURE rule 15.  Not here: giving them (doors.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from murmurate.agents.stages.closing import next_closing
from murmurate.config.plan import Plan

EVENTS_MS: Final = 250
"""How long an event waits for its tick, at most, as long as the worker keeps up."""
KEPT_MS: Final = 30_000
"""How old the clock in a door's state becomes. `murmurate status` takes one that is a minute older than its longest
period for one that stands still.
"""


class TickTimes:
    """The instants at which periods close, for each source topic."""

    def __init__(self, plan: Plan) -> None:
        self._lateness_ms = plan.lateness_ms
        self._every = {
            topic: tuple(sorted({stream.every_ms for stream in plan.everything if stream.topic == topic}))
            for topic in {stream.topic for stream in plan.everything}
        }

    def following(self, topic: str, clock: int) -> int:
        """The next instant after this time."""
        return next_closing(self._every[topic], self._lateness_ms, clock)

    def due(self, topic: str, clock: int | None, now: int, *, holds: bool) -> bool:
        """Whether a door that shows this time needs a tick now. `holds`: events wait there."""
        if clock is None or self.following(topic, clock) <= now:
            return True
        return holds and not 0 <= now - clock < EVENTS_MS  # a clock that stands ahead lets nothing wait for it

    def wait_s(self, topics: Iterable[str], now: int, longest_s: float) -> float:
        """How long until the next instant of any of these topics, and no longer than this."""
        return min([longest_s, *((self.following(topic, now) - now) / 1000 for topic in topics)])
