# SPDX-License-Identifier: Apache-2.0
"""The replay's clock T: the running maximum of the median time of 1 001 lines, which one forged line cannot move.

Contract (ARCHITECTURE rule 15): half of the 1 001 lines lie below their median; T is announced when that half has been
read, as a door writes progress when everything below it is in `raw`.  So T before line i is the greatest median of the
lines j - 500 to j + 500 with j <= i: in a sorted source the time of line i itself, and no line is late or from the
future by the clock's doing however few lines a period has. 500 forged lines among any 1 001 move nothing.  Towards the
ends of a source the stretch shrinks with the lines there are, down to EDGE lines on each side, and stays at the last
such stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.closing import next_closing

Ints = NDArray[np.int64]

REACH: Final = 500
"""The number of lines on each side of the middle one: 1 001 in all."""
EDGE: Final = 10
_SEARCH = 1024


@dataclass(frozen=True)
class Ticks:
    """The rule for which times of a clock are announced: whenever it closes a period, or has moved by `step_ms`."""

    every_ms: tuple[int, ...]
    lateness_ms: int
    step_ms: int

    def after(self, clock: int) -> int:
        """The next time to announce."""
        return min(clock + self.step_ms + 1, next_closing(self.every_ms, self.lateness_ms, clock))


def cut_sorted(times: Ints, ticks: Ticks, rows: int) -> Iterator[tuple[slice, int]]:
    """Parts of at most `rows` of a sorted source, with the clock before each: its first time."""
    at = 0
    while at < len(times):
        clock = int(times[at])
        end = int(np.searchsorted(times[at : at + rows], ticks.after(clock))) + at
        yield slice(at, end), clock
        at = end


def edge(lines: int) -> int:
    """The number of lines on each side from which the clock is computed at the ends of a source of so many lines."""
    return min(EDGE, max(1, lines // 100), (lines - 1) // 2)


class Medians:
    """Medians around each line of a part, given the lines before and after it.

    `before` are the up to 500 lines before the stretch, `after` the lines after it: at least 500, or all there are.
    """

    def __init__(self, before: Ints, stretch: Ints, after: Ints, *, begins: bool, ends: bool) -> None:
        self._times = np.concatenate((before, stretch, after[:REACH]))
        size, ends = len(self._times), ends and len(after) <= REACH
        margin = edge(size) if begins and ends else EDGE
        middle = np.arange(len(before), len(before) + len(stretch))
        low, high = margin if begins else 0, size - 1 - margin if ends else size - 1
        self._middle = np.clip(middle, low, max(low, high))
        self._reach = np.minimum(REACH, np.minimum(self._middle, size - 1 - self._middle))

    def at(self, line: int) -> int:
        """The median around this line of the part."""
        reach, middle = int(self._reach[line]), int(self._middle[line])
        around = self._times[middle - reach : middle + reach + 1]
        return int(np.partition(around, reach)[reach])

    def first_reaching(self, time: int, start: int, stop: int) -> int:
        """The first line from `start` on whose median is at least `time`, or `stop` if there is none."""
        step = _SEARCH
        while start < stop:
            end = min(stop, start + step)
            middle, reach = self._middle[start:end], self._reach[start:end]
            low = int((middle - reach).min())
            high = int((middle + reach).max()) + 1
            below = np.zeros(high - low + 1, np.int64)
            np.cumsum(self._times[low:high] < time, out=below[1:])
            # A median of 2 r + 1 lines is at least `time` if and only if at most r of them are below it.
            found = np.flatnonzero(below[middle + reach + 1 - low] - below[middle - reach - low] <= reach)
            if len(found):
                return start + int(found[0])
            start, step = end, 2 * step
        return stop


class Clock:
    """The clock T over a source that is read in parts, and the places where the parts are cut."""

    def __init__(self, ticks: Ticks, rows: int) -> None:
        self._ticks, self._rows = ticks, rows
        self._before = np.zeros(0, np.int64)
        self._begins = True
        self.clock: int | None = None
        """The newest T announced; None before the first."""

    def cut(self, stretch: Ints, after: Ints, *, ends: bool) -> Iterator[tuple[slice, int]]:
        """Parts of these lines with the T before each. `after`: the next 500 lines, or, if it `ends`, all others.

        A stretch has at least 1 001 lines, but for the last one.
        """
        medians = Medians(self._before, stretch, after, begins=self._begins, ends=ends)
        at = 0
        while at < len(stretch):
            found = medians.at(at)
            self.clock = clock = found if self.clock is None else max(self.clock, found)
            # `at` has been looked at; the rest up to the next tick shares this clock
            end = medians.first_reaching(self._ticks.after(clock), at + 1, min(at + self._rows, len(stretch)))
            yield slice(at, end), clock
            at = end
        self._before = np.concatenate((self._before, stretch))[-REACH:]
        self._begins = False


def first_period(times: Ints, ticks: Ticks, every_ms: int, *, ends: bool) -> int:
    """The first period of a stream, from the first lines of a source: that of the earliest line there which is not
    late.
    """
    medians = Medians(times[:0], times, times[:0], begins=True, ends=ends)
    margin = edge(len(times)) if ends else EDGE
    opened = (medians.at(0) - ticks.lateness_ms) // every_ms
    periods = times[: 2 * margin + 1] // every_ms
    return int(periods[periods >= opened].min())


def last_closing(times: Ints, clock: int, future_ms: int, ticks: Ticks) -> int:
    """The T that closes the period of the last of these events that is not from the future; 0 if there is none."""
    believed = times[times <= clock + future_ms]
    if not len(believed):
        return 0
    last = int(believed.max())
    return max((last // every + 1) * every + ticks.lateness_ms for every in ticks.every_ms)
