# SPDX-License-Identifier: Apache-2.0
"""What a central stream measures: exact sums of its events in a period, of which releases show noisy ones.

Contract: everything is in whole numbers (steps) until a figure is shown.  An edge partition keeps `cells` exact sums of
a period, from which the figures follow for every threshold that may be found; one event changes a figure by at most its
`sensitivity`.  Figures that one event can change together share epsilon (`part`).  Source: ARCHITECTURE rule 27; Wang
et al. 2021, section 3.  Not here: noise (randomizers/central), trees (aggregators/trees), statistics of local reports.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.measure import Measure, Range
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import ParameterError, Question
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Grid

MAX_CANDIDATES: Final = 1024
"""The most thresholds among which one is found."""
TOTAL, COUNT = "total", "count"
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SummedMeasure(Measure):
    """What one central stream measures."""

    says_none: bool = False
    """Nobody is asked, so nobody says that there is no value."""

    all_shares = False

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many exact sums of a period a partition keeps."""

    @abstractmethod
    def sums(self, values: NDArray[np.uint32]) -> Ints:
        """The exact sums of some events by their codes: int64[cells]. Refused values have the highest code there is."""

    def counting(self, values: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which events are summed, by their codes: not those whose value was refused."""
        return values < self.domain.none

    @abstractmethod
    def figures(self, sums: Ints, threshold: int) -> Ints:
        """The exact sums that releases are made of, from those of a partition or of all: int64[names], in steps."""

    @abstractmethod
    def sensitivity(self, name: str, threshold: int) -> int:
        """By how much one event can change a figure, in steps."""

    def part(self, name: str) -> Fraction:
        """The part of epsilon that a figure has: all of it where no event changes another one with it."""
        return Fraction(1)

    def step(self, name: str) -> float:
        """The number that one step of a figure stands for."""
        return 1.0

    @property
    def candidates(self) -> tuple[int, ...]:
        """The thresholds among which one can be found, in steps, rising; none where there is nothing to clip."""
        return ()

    def above(self, sums: Ints) -> Ints:
        """How many of the events lie above each candidate: int64[candidates]."""
        return np.zeros(0, np.int64)

    def limits(self, name: str) -> Range:
        """Sums have none."""
        return -np.inf, np.inf

    def is_share(self, name: str) -> bool:
        """Sums are numbers."""
        return False

    @property
    def serving(self) -> tuple[str, ...]:
        """None: nobody is asked."""
        return ()

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """No mechanism serves it."""
        raise ParameterError(f"mechanism: found a central stream of {self.name}; allowed: a local one")

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """No method decides about it."""
        raise ParameterError(f"result: found a central stream of {self.name}; allowed: a local one")

    @abstractmethod
    def unclipped(self, values: NDArray[np.uint32]) -> Ints:
        """The exact sums of some events by their codes, with no threshold: int64[names], in steps."""

    def in_units(self, exact: Ints) -> Floats:
        """Exact sums in steps as a release would say them: float64[names]."""
        return np.asarray(exact * np.array([self.step(name) for name in self.names]), np.float64)

    @property
    def largest(self) -> int:
        """The threshold that clips nothing, in steps."""
        return 1

    @property
    def threshold_without_search(self) -> int:
        """The threshold where none is found: the declared one, else that which clips nothing."""
        return self.largest

    @property
    def what(self) -> str:
        """What it is of, in words."""
        return "events"

    @property
    def shown_as(self) -> str:
        """What a line of a release shows."""
        return "the sum and its standard error"

    def scale(self, stream: str) -> str:
        """The unit; where there is none each stream has its own."""
        return f"{self.name} of {self.unit or stream}"


@dataclass(frozen=True)
class CentralTotal(SummedMeasure):
    """The sum of a number over the events of a period, and on demand how many there were.

    >>> fares = CentralTotal(Grid(0, 120, 121, "points"), finds=True, counts=True)
    >>> sums = fares.sums(np.array([3, 50, 120], np.uint32))
    >>> fares.figures(sums, 60).tolist(), fares.above(sums)[[2, 49, 119]].tolist()
    ([113, 3], [2, 1, 0])
    """

    domain: Grid
    finds: bool = False
    """Whether its threshold is found: then a partition keeps what every candidate needs."""
    threshold: int | None = None
    """The declared threshold, in steps; the upper end of the range if there is none."""
    counts: bool = False
    """Whether releases say how many events there were."""

    name = "total"
    recorded_as = "fiu", "numbers"

    @property
    def names(self) -> tuple[str, ...]:
        """The sum; and the number of events."""
        return (TOTAL, COUNT) if self.counts else (TOTAL,)

    @property
    def range(self) -> Range:
        """Numbers outside count as the nearer end."""
        return self.domain.low, self.domain.high

    @cached_property
    def low(self) -> int:
        """The lower end of the range, in steps."""
        return round(self.domain.low / self._step)

    @property
    def largest(self) -> int:
        """The upper end of the range, in steps."""
        return self.low + self.domain.cells - 1

    @property
    def threshold_without_search(self) -> int:
        """As declared."""
        return self.largest if self.threshold is None else self.threshold

    @cached_property
    def _step(self) -> float:
        return (self.domain.high - self.domain.low) / (self.domain.cells - 1)

    @property
    def candidates(self) -> tuple[int, ...]:
        """Up to 1 024 thresholds as far as the end of the range, evenly apart."""
        return self._candidates if self.finds else ()

    @cached_property
    def _candidates(self) -> tuple[int, ...]:
        many = min(MAX_CANDIDATES, self.largest)
        return tuple(-(-self.largest * (place + 1) // many) for place in range(many))

    @property
    def cells(self) -> int:
        """How many events, and their sum; below each candidate, where a threshold is found."""
        return 2 * max(1, len(self.candidates))

    def sums(self, values: NDArray[np.uint32]) -> Ints:
        """Counts, then sums. Events whose value was refused are in neither."""
        taken = values[values < self.domain.cells].astype(np.int64) + self.low
        if not self.finds:
            clipped = np.minimum(taken, self.threshold_without_search)
            return np.array([len(taken), clipped.sum()], np.int64)
        many = len(self.candidates)
        cell = np.searchsorted(np.array(self.candidates), taken)
        counts = np.bincount(cell, minlength=many)
        return np.concatenate((counts, np.bincount(cell, weights=taken, minlength=many).astype(np.int64)))

    def unclipped(self, values: NDArray[np.uint32]) -> Ints:
        """The sum of all numbers as they are in the range; and how many."""
        taken = values[values < self.domain.cells].astype(np.int64) + self.low
        return np.array([taken.sum(), len(taken)][: len(self.names)], np.int64)

    def figures(self, sums: Ints, threshold: int) -> Ints:
        """The sum, with numbers above the threshold counting as it; and how many."""
        many = len(sums) // 2
        counts, totals = sums[:many], sums[many:]
        if self.finds:
            below = np.array(self.candidates) <= threshold
            total = int(totals[below].sum()) + threshold * int(counts[~below].sum())
        else:
            total = int(totals[0])
        return np.array([total, counts.sum()] if self.counts else [total], np.int64)

    def above(self, sums: Ints) -> Ints:
        """From the counts between candidates."""
        counts = sums[: len(self.candidates)]
        return np.asarray(counts.sum() - np.cumsum(counts), np.int64)

    def sensitivity(self, name: str, threshold: int) -> int:
        """The largest size of a clipped number; 1 for the number of events."""
        return 1 if name == COUNT else max(abs(self.low), abs(threshold), 1)

    def part(self, name: str) -> Fraction:
        """Half each, where there are two."""
        return Fraction(1, len(self.names))

    def step(self, name: str) -> float:
        """As declared; events are counted by ones."""
        return 1.0 if name == COUNT else self._step

    @property
    def what(self) -> str:
        """What it is of, in words."""
        return f"numbers from {self.domain.low:.12g} to {self.domain.high:.12g}{' ' + self.unit if self.unit else ''}"

    def unit_of(self, name: str) -> str | None:
        """The unit of the sum; a number of events has none."""
        return None if name == COUNT else self.unit

    @property
    def resolution(self) -> str:
        """How finely numbers are read."""
        return f", read in steps of {self._step:.12g}"

    def ends(self) -> tuple[int, int]:
        """The cells of the lowest and of the highest number."""
        return 0, self.domain.cells - 1

    def codes_of(self, recorded: NDArray[Any]) -> NDArray[Any]:
        """The cells of numbers, -1 of NaN."""
        return self.domain.cells_of(recorded)

    @property
    def scored(self) -> tuple[str, ...]:
        """The sum: errors of a number of events have another unit."""
        return (TOTAL,)

    def example(self, mark: int, *, peak: bool) -> Any:
        """Numbers of which few are large."""
        low, high = self.range
        return round(low + (high - low) * (mark / 100) ** (2 if peak else 4), 2)
