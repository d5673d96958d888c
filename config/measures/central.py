# SPDX-License-Identifier: Apache-2.0
"""Tables of streams that the curator at the edge sums up, and releases with central noise: model = "central".

Contract: as for every stream (declared.py); sums and noise of a stream that is built fit 64 bits with room to spare.
The promise is another one than that of local streams: `[curator]` in the file.  Not here: the noise itself
(randomizers/central), how epsilon is divided (config/settings.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from murmurate.aggregators.measures.event_count import EventCount
from murmurate.aggregators.measures.summed import CentralTotal, SummedMeasure
from murmurate.config.errors import Mistake
from murmurate.config.kinds import (
    AnyNumber,
    Flag,
    Kind,
    NumbersByName,
    Texts,
    WholeNumber,
    exactly,
    repeated,
    seen,
    written,
)
from murmurate.config.measures.declared import DeclaredStream
from murmurate.config.measures.frequency import VALUE
from murmurate.config.measures.numbers import UNIT
from murmurate.config.quantities import Range, Share
from murmurate.config.streams import ConfigTable, OneOf
from murmurate.topics.domains import AnyValue, Categories, Grid
from murmurate.topics.domains.grid import MAX_CELLS

USUAL_STEPS: Final = 65_536
"""Steps of a range where the file does not say how long one is."""
MAX_LEAVES: Final = 1 << 24
"""Leaves of a tree, at most, times the figures of a release: each figure has trees of its own."""
MAX_CATEGORIES: Final = 256
SMOOTHERS: Final = ("recent", "mean", "median", "moving", "exponential")


class PowerOfTwo(Kind):
    """2, 4, 8 up to 256."""

    @property
    def allowed(self) -> str:
        """All of them."""
        return "a power of two from 2 to 256"

    @property
    def schema(self) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": [1 << power for power in range(1, 9)]}

    def read(self, found: Any) -> int:
        """The number."""
        number = WholeNumber(2, 256).read(found)
        if number & (number - 1):
            raise ValueError
        return number


@dataclass(frozen=True)
class ProtectsKind(Kind):
    """The word event, or { user = N }."""

    @property
    def allowed(self) -> str:
        """Both forms."""
        return f'"event", or {{ user = N }} with {_EVENTS.allowed}'

    @property
    def schema(self) -> dict[str, Any]:
        """A word or an object."""
        table = {"type": "object", "properties": {"user": _EVENTS.schema}, "required": ["user"]}
        return {"anyOf": [{"const": "event"}, {**table, "additionalProperties": False}]}

    def read(self, found: Any) -> int | None:
        """How many events of a user count in any window; None where the unit is an event."""
        if found == "event":
            return None
        if not isinstance(found, Mapping) or found.keys() != {"user"}:
            raise ValueError
        return _EVENTS.read(found["user"])


@dataclass(frozen=True)
class ThresholdKind(Kind):
    """The word found, or a number."""

    @property
    def allowed(self) -> str:
        """Both forms."""
        return '"found", or a number within the range'

    @property
    def schema(self) -> dict[str, Any]:
        """A word or a number."""
        return {"anyOf": [{"const": "found"}, {"type": "number"}]}

    def read(self, found: Any) -> float | str:
        """The word, or the number."""
        return "found" if found == "found" else float(exactly(found))


_EVENTS: Final = WholeNumber(1, 1000)


class TreeTable(ConfigTable):
    """The tree whose nodes get noise: the answer to any stretch of time is the sum of few of them."""

    fanout: Annotated[int, PowerOfTwo()] = 16
    """How many children a node has."""
    levels: Annotated[int, WholeNumber(1, 25)] = 5
    """How many levels there are: fanout^(levels - 1) leaves a tree, and trees follow each other."""
    block: Annotated[int, WholeNumber(0, 8)] = 0
    """A leaf is the sum of fanout^block periods: less noise, and within a block releases are predictions. 0: a leaf a
    period.
    """
    smoother: Annotated[str, OneOf(*SMOOTHERS)] = "recent"
    """How periods within a block are predicted from the blocks before it."""

    @property
    def leaves(self) -> int:
        """Leaves of one tree."""
        return int(self.fanout ** (self.levels - 1))


class HoldoutTable(ConfigTable):
    """The phase that finds the threshold: its values are used for nothing else."""

    periods: Annotated[int, WholeNumber(1, 1_000_000)] = 60
    """How many periods it takes."""
    events: Annotated[int, WholeNumber(1, 1_000_000_000_000)] = 65_536
    """About how many events they have together, declared and never counted."""
    again: Annotated[bool, Flag()] = False
    """Whether a threshold is found again after every fanout trees; if not, the first one stays."""


class CentralStream(DeclaredStream):
    """What every central stream says."""

    of_model = "central"
    model: Literal["central"]
    """Who adds the noise: the trusted edge."""
    share: Annotated[float, Share()] = 1.0
    """The stream's part of the curator's epsilon; parts of streams over one topic add up to at most 1."""
    protects: Annotated[int | None, ProtectsKind()] = written("event")
    """What the promise is about: one event; or { user = 4 }, all events of a user, of whom the first 4 in any window
    count, with 4 times the noise.
    """
    tree: TreeTable = TreeTable()
    noise: Literal["laplace"] = "laplace"
    """The law of the noise of a node: whole numbers, exactly discrete Laplace."""
    thresholds: Annotated[Mapping[str, float], NumbersByName()] = written({})
    """Thresholds by name of a statistic: releases say whether it is above or below, and how sure that is."""

    @abstractmethod
    def statistic(self) -> SummedMeasure:
        """What it measures, as everything else asks it."""

    @property
    def holdout_phase(self) -> HoldoutTable | None:
        """The phase that finds a threshold, if one is found."""
        return None

    def _mistakes(self) -> Iterator[Mistake]:
        names = self.statistic().names
        most = MAX_LEAVES // len(names)
        if self.tree.leaves > most:
            found = f"fanout {self.tree.fanout} and {self.tree.levels} levels, {self.tree.leaves} leaves"
            yield Mistake("tree", found, f"at most {most} leaves, for {len(names)} figures a release")
        for name in self.thresholds:
            if name not in names:
                yield Mistake("thresholds", seen(name), f"statistics of the stream: {', '.join(names[:8])}")


class CentralTotalStream(CentralStream):
    """The sum of a number over all events of a period, with central noise."""

    measured = CentralTotal
    measure: Literal["total"]
    """What is measured."""
    range: Annotated[tuple[float, float], Range()]
    """The lowest and the highest number that counts as itself, declared and never inferred; others are clipped."""
    unit: Annotated[str, UNIT] | None = None
    """What the numbers are, for readers of releases: "EUR"."""
    step: Annotated[float, AnyNumber()] | None = None
    """To what numbers are rounded, such as 0.01; both ends of the range are multiples of it. Left out: 1/65 536 of the
    range.
    """
    threshold: Annotated[float | str, ThresholdKind()] = "found"
    """Larger numbers count as this one, since noise grows with it; "found": a hold-out finds it."""
    holdout: HoldoutTable = HoldoutTable()
    counts: Annotated[bool, Flag()] = False
    """Whether releases say how many events there were as well; each of the two then has half of epsilon."""

    @property
    def finds(self) -> bool:
        """Whether the threshold is found."""
        return self.threshold == "found"

    @property
    def holdout_phase(self) -> HoldoutTable | None:
        """As the file says, where the threshold is found."""
        return self.holdout if self.finds else None

    @property
    def _length(self) -> float:
        """The length of a step."""
        low, high = self.range
        return (high - low) / USUAL_STEPS if self.step is None else self.step

    def statistic(self) -> CentralTotal:
        """The sum of its numbers."""
        low, high = self.range
        cells = round((high - low) / self._length) + 1
        declared = None if isinstance(self.threshold, str) else round(self.threshold / self._length)
        grid = Grid(low, high, cells, "points")
        return CentralTotal(grid, unit=self.unit, finds=self.finds, threshold=declared, counts=self.counts)

    def meaning(self) -> dict[str, Any]:
        """Its range and step, as texts that say them exactly, and where numbers are clipped."""
        phase = self.holdout.model_dump() if self.finds else None
        return {
            "range": [repr(end) for end in self.range], "cells": self.statistic().domain.cells, "unit": self.unit,
            "threshold": str(self.threshold), "holdout": phase, "counts": self.counts,
        }  # fmt: skip

    def _mistakes(self) -> Iterator[Mistake]:
        low, high = self.range
        length = self._length
        if not length > 0 or not 1 <= (high - low) / length <= MAX_CELLS - 1:
            least = (high - low) / (MAX_CELLS - 1)
            yield Mistake("step", seen(self.step), f"a number from {least:g} to {high - low:g}, for this range")
            return
        for end in (low, high):
            if abs(end / length - round(end / length)) > 1e-9 * max(1.0, abs(end / length)):
                yield Mistake("range", f"{end:g}", f"multiples of the step, {length:.12g}")
                return
        if self.finds and low != 0:
            yield Mistake("threshold", seen("found"), f"a number, since the range begins at {low:g} and not at 0")
            return
        if not isinstance(self.threshold, str) and not (low < self.threshold <= high and self.threshold >= length):
            yield Mistake("threshold", seen(self.threshold), f"above {max(low, 0):g}, up to {high:g}")
            return
        yield from super()._mistakes()


class EventCountStream(CentralStream):
    """How many events there were in a period, in all or by declared values, with central noise."""

    measured = EventCount
    measure: Literal["count"]
    """What is measured."""
    values: Annotated[tuple[str, ...], Texts(VALUE, 1, MAX_CATEGORIES)] | None = None
    """The values that are counted by themselves; left out: all events together, whatever they say."""
    other: Annotated[bool, Flag()] = False
    """Whether anything else counts as "other"; if not, such an event is not counted."""

    def statistic(self) -> EventCount:
        """The count of its events."""
        return EventCount(AnyValue() if self.values is None else Categories(self.values, self.other))

    def meaning(self) -> dict[str, Any]:
        """Its values."""
        return {"values": self.values, "other": self.other}

    def _mistakes(self) -> Iterator[Mistake]:
        if twice := repeated(self.values or ()):
            yield Mistake("values", f"{', '.join(map(seen, twice))} more than once", "each value once")
            return
        if self.other and (self.values is None or "other" in self.values):
            yield Mistake("other", seen(True), "only with values, of which none is called other")
            return
        yield from super()._mistakes()
