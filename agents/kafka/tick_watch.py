# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with the ticks of a worker's doors: they wait, they end where nothing is, or a door stands ahead.

Contract: each is said in the log once, and counted for metrics and `murmurate status`.  A tick whose end lies above the
end of its partition, seen after the tick was, was forged or its records were lost, since whoever gives a tick looks at
the end first: it is cut, and its door goes on.  Not here: giving ticks (doors.py), setting a clock back
(repair_clock.py).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from murmurate.agents.kafka.client import Place
from murmurate.topics.messages import Tick

WAITS_S: Final = 60.0
"""A tick that has waited for so long is logged once."""
log = logging.getLogger("murmurate.door")


class TickWatch:
    """Watches the doors of one worker. `skew_ms`: how far a worker's clock may be from the brokers'."""

    def __init__(self, skew_ms: int) -> None:
        self._skew_ms = skew_ms
        self.bounded: Counter[Place] = Counter()
        """For each source partition, how many ticks were cut to what it holds."""
        self.ahead_ms: dict[Place, int] = {}
        """How far the clock of each door stands ahead of the wall clock."""
        self._waiting: dict[Place, tuple[Tick, float] | None] = {}  # the tick that waits, and since when
        self._said: set[object] = set()  # what was logged

    @property
    def waits_s(self) -> Mapping[Place, float]:
        """For how long the first tick of each door that has not passed has waited; 0 where none does."""
        now = time.monotonic()
        return {place: 0.0 if since is None else now - since[1] for place, since in self._waiting.items()}

    def note(self, waited: Mapping[Place, Tick | None]) -> None:
        """These are the doors, and the ticks that wait there now."""
        before, now = self._waiting, time.monotonic()
        self._waiting = {}
        for place, tick in waited.items():
            known = before.get(place)
            since = known if known is not None and known[0] == tick else None if tick is None else (tick, now)
            self._waiting[place] = since
            if since is not None and now - since[1] > WAITS_S and self._first((place, "waits", since[0].time)):
                log.warning(
                    "door %s/%d: its clock stands still: a tick has waited for %.0f s for the records below offset %d "
                    "(see `murmurate status`)", place.topic, place.partition, now - since[1], since[0].end,
                )  # fmt: skip

    def cut(self, place: Place, tick: Tick, end: int) -> Tick:
        """The tick as it can pass: nothing stands at its end, and nothing may ever."""
        if self._first((place, "cut", tick)):
            self.bounded[place] += 1
            log.warning(
                "door %s/%d: found a tick that waits for the records below offset %d; allowed: at most %d, where the "
                "partition ends. It is taken for that; it was forged, or records were lost",
                place.topic, place.partition, tick.end, end,
            )  # fmt: skip
        return tick.model_copy(update={"end": end})

    def compare(self, place: Place, clock: int | None, now: int) -> None:
        """The door has passed this time on last, and it is now."""
        ahead = 0 if clock is None else clock - now
        self.ahead_ms[place] = max(0, ahead)
        if ahead > 2 * self._skew_ms and self._first((place, "ahead")):  # each of two workers may be off by as much
            log.error(
                "door %s/%d: its clock stands %.1f s ahead: a worker wrote that whose own was wrong, and what comes "
                "until then is refused as late (see `murmurate repair clock`)",
                place.topic, place.partition, ahead / 1000,
            )  # fmt: skip

    def _first(self, what: object) -> bool:
        """Whether this has not been logged yet."""
        new = what not in self._said
        self._said.add(what)
        return new
