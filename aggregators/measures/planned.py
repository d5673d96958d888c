# SPDX-License-Identifier: Apache-2.0
"""What planning needs of a measure: synthetic truths, the true figures of users with given codes, the scale of errors.

Contract: counts of users are int64[periods, d].  A synthetic truth wanders around its start (wandering.py).  The
defaults fit shares of codes.  Not here: users and reports (agents/replay), which methods are simulated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.wandering import wandering_shares

Floats = NDArray[np.float64]
Holders = NDArray[np.int64]


class PlannedMeasure(ABC):
    """The part of a measure that planning uses."""

    says_none: bool

    costly: ClassVar[bool] = False
    """Whether an estimate takes a hundredth of a second or more, so that planning simulates fewer periods."""
    takes_a_crowd: ClassVar[bool] = False
    """Whether a first release that says something takes tens of thousands of users."""
    recorded_as: ClassVar[tuple[str, str]] = "iu", "integers"
    """What an array of values holds, by NumPy's kinds and in words: the codes themselves, -1 for no event."""

    @property
    @abstractmethod
    def d(self) -> int:
        """The number of codes, *none* included where users may report it."""

    @abstractmethod
    def example(self, mark: int, *, peak: bool) -> Any:
        """The value of a synthetic event. mark: a number from 0 to 99 that selects it; peak: whether the event lies in
        the minutes in which values shift.
        """

    def example_at(self, chance: int, moment: int, *, peak: bool) -> Any:
        """The value of a synthetic event at one of 60 moments, from 0. chance: a number below 2^32 that selects it."""
        return self.example(chance % 100, peak=peak)

    def journey(self) -> tuple[Any, Any]:
        """The values of a synthetic user who tells changes: at first, and after arriving."""
        return self.example(99, peak=False), self.example(0, peak=True)

    @property
    def held_by(self) -> NDArray[np.uint32] | None:
        """The values whose holders are counted, where values are rows of words: uint32[k, words]; None: every code."""
        return None

    def over(self, values: NDArray[np.uint32]) -> Self:
        """The measure where counts of users are counts of these rows of words; codes are counted as they are."""
        return self

    def told_apart(self, rows: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """For each row of words bytes that are equal exactly where all statistics are: uint8[n, k]."""
        return np.ascontiguousarray(rows, np.uint32).view(np.uint8)

    def tried(self) -> Self:
        """The measure with which methods are simulated: itself, or one of fewer codes with the same errors."""
        return self

    def binned(self, shares: Floats) -> Floats:
        """Shares of its codes, regrouped as shares of the codes of `tried`."""
        return shares

    def usual_shares(self, values: int) -> Floats:
        """The shares around which a synthetic truth of so many values wanders, without *none*; their sum does not
        matter.
        """
        return np.ones(values)

    def made_up(self, *, drift: float, presence: float, periods: int, seed: int) -> Floats:
        """Wandering shares of all codes: float64[periods, d]. drift: the root mean square change of a share in a
        period.
        """
        base = self.usual_shares(self.d - self.says_none)
        base = base / base.sum() * presence
        if self.says_none:
            base = np.append(base, 1 - presence)
        return wandering_shares(base, drift, periods, seed)

    def ends(self) -> tuple[int, int]:
        """The codes that stand for 0 and 1 in the papers' streams of two values."""
        return 0, 1

    def codes_of(self, recorded: NDArray[Any]) -> NDArray[Any]:
        """The codes of an array of values, -1 for no event."""
        return recorded

    def spread_over(self, columns: int) -> NDArray[np.uint32]:
        """The codes for which so many columns of synthetic counts stand."""
        return np.arange(columns, dtype=np.uint32)

    def true_figures(self, holders: Holders) -> Floats:
        """The true values of the scored statistics of a release: float64[periods, k]."""
        return np.asarray(holders / holders.sum(axis=1, keepdims=True))

    def true_statistics(self, holders: Holders) -> Floats:
        """The true values of the statistics that a method follows, if everybody has a value: float64[periods, k]."""
        return np.asarray(holders / holders.sum(axis=1, keepdims=True))

    def true_profiles(self, holders: Holders) -> Floats:
        """The true profile of a mechanism in each period: float64[periods, k]."""
        return np.asarray(holders / holders.sum(axis=1, keepdims=True))

    @property
    def guess(self) -> float:
        """The value that a reader would assume for a figure without any data."""
        return 0.0

    @property
    def spread(self) -> float:
        """The length, in the unit of a release, of 1 on the scale of the mechanism."""
        return 1.0

    @property
    def drifts(self) -> str:
        """The quantity of which a synthetic drift is a part, in words that end in a space: the range, for a mean."""
        return ""
