# SPDX-License-Identifier: Apache-2.0
"""The events of a central stream that errors are expected for: of a recording, or as many as the file declares.

Contract: numbers are the first figure's, of each event, in steps.  Sums over leaves are those of all stretches of so
many leaves after the hold-out; where a recording is too short for one it goes on backwards from its end, and so on, as
in the paper's runs.  All events count: none is late, and none is one too many of its user.  A recording is raw data: it
stays in this process.  Source: ToPS, section 5.  Not here: what methods make of events (central_methods.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import Source, SourceError
from murmurate.config.plan import CentralPlan

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PerEvent = Callable[[Ints], NDArray[Any]]
"""A function from the numbers of events to what is summed of each."""

MOST_EVENTS: Final = 1 << 20
"""The most events of a hold-out that are made up."""
MOST_PERIODS: Final = 1 << 22
"""The most periods of a stretch for which a recording is repeated."""
MEDIAN: Final = 1 / 20
"""The median of made-up numbers, as a part of the range."""
SIGMA: Final = 0.86
"""The standard deviation of the logarithm of made-up numbers, which basket sizes have."""


class EventData(ABC):
    """Events for which errors are expected."""

    held_out: Ints
    """The numbers of the events of the hold-out, in any order."""
    weight: float = 1.0
    """How many events of the hold-out each of them stands for."""

    @abstractmethod
    def mean_square(self, per_event: PerEvent, leaves: int) -> float | None:
        """The mean square of a sum over all events of so many leaves; None where there are too few."""

    def periods(self, per_event: PerEvent) -> Floats | None:
        """The sum of each period after the hold-out, in order; None where nobody recorded them."""
        return None


class DeclaredEvents(EventData):
    """As many events a period as the hold-out declares, at any time, independent of each other: sums are exact.

    Their numbers are log-normal: half of them are below a twentieth of the range, one in 200 above .46 of it.
    """

    def __init__(self, stream: CentralPlan) -> None:
        held = stream.holdout
        if held is None:
            raise ValueError("a stream without a hold-out declares no events")
        made = min(held.events, MOST_EVENTS)
        at = (np.arange(made) + 0.5) / made
        self.weight = held.events / made
        normal = np.interp(at, _GRID, [NormalDist().inv_cdf(p) for p in _GRID.tolist()])
        top = stream.measure.largest
        self.held_out = np.rint(np.minimum(top * MEDIAN * np.exp(SIGMA * normal), top)).astype(np.int64)
        self._a_leaf = held.events / held.periods * stream.block

    def mean_square(self, per_event: PerEvent, leaves: int) -> float:
        """By the mean and the variance of a sum of a Poisson number of independent events."""
        worth, events = np.asarray(per_event(self.held_out), np.float64), self._a_leaf * leaves
        return float((events * worth.mean()) ** 2 + events * (worth**2).mean())


class RecordedEvents(EventData):
    """The events of a recording."""

    def __init__(self, stream: CentralPlan, source: Source) -> None:
        measure, first_t = stream.measure, source.first_t(stream.name)
        times, codes = list[Ints](), list[NDArray[np.uint32]]()
        for batch in source.batches():
            counts = measure.counting(batch.codes) & (batch.stream == stream.name)
            times.append(batch.times[counts])
            codes.append(batch.codes[counts])
        end_t = max(0, source.end_clock - source.plan.lateness_ms) // stream.every_ms
        t = np.concatenate([np.zeros(0, np.int64), *times]) // stream.every_ms
        here = (t >= first_t) & (t < end_t)
        t, each = t[here] - first_t, np.concatenate([np.zeros(0, np.uint32), *codes])[here]
        order = np.argsort(t, kind="stable")
        kinds, which = np.unique(each[order], return_inverse=True)
        worth = np.array([measure.unclipped(kinds[k : k + 1])[0] for k in range(len(kinds))], np.int64)
        held = 0 if stream.holdout is None else stream.holdout.periods
        if end_t - first_t <= held or not len(t):
            found = f"{max(0, end_t - first_t)} periods with {len(t)} events of {stream.name}"
            raise SourceError(f"source: found {found}; allowed: more than the {held} of the hold-out, with some event")
        self._values = worth[which]
        self._ends = np.searchsorted(t[order], np.arange(end_t - first_t + 1))
        self._held, self._block = held, stream.block
        self.held_out = self._values[: self._ends[held]]

    def periods(self, per_event: PerEvent) -> Floats:
        """The sum of each period after the hold-out."""
        until = np.concatenate((np.zeros(1), np.cumsum(per_event(self._values), dtype=np.float64)))
        return np.asarray(np.diff(until[self._ends])[self._held :])

    def mean_square(self, per_event: PerEvent, leaves: int) -> float | None:
        """Over all stretches of so many leaves, wherever they begin."""
        long = 2 * leaves * self._block
        if long > MOST_PERIODS:
            return None
        each = self.periods(per_event)
        if len(each) < long:
            each = np.resize(np.concatenate((each, each[-2:0:-1])), long)
        blocks = each[: len(each) // self._block * self._block].reshape(-1, self._block).sum(axis=1)
        until = np.concatenate((np.zeros(1), np.cumsum(blocks)))
        return float(((until[leaves:] - until[:-leaves]) ** 2).mean())


_GRID: Final = (np.arange(4096) + 0.5) / 4096
"""Chances between which the normal law is interpolated."""
