# SPDX-License-Identifier: Apache-2.0
"""The clocks of a worker as metrics: its own beside the brokers', and those of its doors.

Contract: a machine's clock says nothing of any event, so its skew is served everywhere; how a door's ticks fare follows
from what its source holds, and is the edge's alone.  Not here: measuring (kafka/skew.py, kafka/doors.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from murmurate.agents.kafka.doors import Doors
from murmurate.agents.kafka.skew import ComparedClock
from murmurate.agents.observe.families import gauge


class SkewGauges(Collector):
    """How far the machine's clock is from the brokers', and how far it may be."""

    def __init__(self, clock: ComparedClock) -> None:
        self._clock = clock

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Only what is certain of the skew; nothing before it was measured."""
        skew, limit = gauge("murmurate_clock_skew_seconds"), gauge("murmurate_clock_skew_limit_seconds")
        if (found := self._clock.skew) is not None:
            skew.add_metric((), found.certain_ms / 1000)
        limit.add_metric((), self._clock.bound_ms / 1000)
        yield from (skew, limit)


class TickGauges(Collector):
    """Ticks that wait, ticks that were cut, and doors that are ahead."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """A sample for each door that lives here."""
        waits, cut, ahead = (
            gauge(f"murmurate_{name}") for name in ("tick_waits_seconds", "ticks_bounded", "door_ahead_seconds")
        )
        for place, seconds in sorted(self._doors.ticks.waits_s.items()):
            labels = (place.topic, str(place.partition))
            waits.add_metric(labels, seconds)
            cut.add_metric(labels, self._doors.ticks.bounded[place])
            ahead.add_metric(labels, self._doors.ticks.ahead_ms.get(place, 0) / 1000)
        yield from (waits, cut, ahead)
