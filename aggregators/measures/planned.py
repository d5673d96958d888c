"""What planning asks of a measure: made-up truths, what is true of users who hold codes, and on which scale errors are.

Contract: counts of users are int64[periods, d].  A truth that is made up wanders around where it begins (wandering.py).
What is said here fits shares of codes.  Not here: users and reports (agents/replay), which methods are tried.
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
    """A measure, as far as one plans for it."""

    says_none: bool

    costly: ClassVar[bool] = False
    """Whether an estimate takes a hundredth of a second or more."""
    recorded_as: ClassVar[tuple[str, str]] = "iu", "integers"
    """What an array of values holds, by NumPy's kinds and in words: the codes themselves, -1 for no event."""

    @property
    @abstractmethod
    def d(self) -> int:
        """How many codes there are, *none* included where users say it."""

    @property
    def held_by(self) -> NDArray[np.uint32] | None:
        """The values whose holders are counted, where values are rows of words: uint32[k, words]; None: every code."""
        return None

    def over(self, values: NDArray[np.uint32]) -> Self:
        """The same where counts of users are counts of these rows of words; codes are counted as they are."""
        return self

    def told_apart(self, rows: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Bytes of each row of words that are alike where no statistic tells two of them apart: uint8[n, k]."""
        return np.ascontiguousarray(rows, np.uint32).view(np.uint8)

    def tried(self) -> Self:
        """The measure on which methods are tried: itself, or one of fewer codes whose errors are the same."""
        return self

    def binned(self, shares: Floats) -> Floats:
        """Shares of its codes as shares of the codes of `tried`."""
        return shares

    def usual_shares(self, values: int) -> Floats:
        """Around which shares of so many values a made-up truth wanders, *none* aside; of any sum."""
        return np.ones(values)

    def made_up(self, *, drift: float, presence: float, periods: int, seed: int) -> Floats:
        """Shares of all codes that wander: float64[periods, d]. drift: what a share moves in a period."""
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
        """The codes that so many columns of made-up counts stand for."""
        return np.arange(columns, dtype=np.uint32)

    def true_figures(self, holders: Holders) -> Floats:
        """What a release without noise would say of the statistics that are scored: float64[periods, k]."""
        return np.asarray(holders / holders.sum(axis=1, keepdims=True))

    def true_statistics(self, holders: Holders) -> Floats:
        """What a method without noise would say of each period, where everybody has a value: float64[periods, k]."""
        return np.asarray(holders / holders.sum(axis=1, keepdims=True))

    def true_profiles(self, holders: Holders) -> Floats:
        """What a mechanism's profile of each period would be without noise: float64[periods, k]."""
        return np.asarray(holders / holders.sum(axis=1, keepdims=True))

    @property
    def guess(self) -> float:
        """What a reader takes a figure for of which nothing is known."""
        return 0.0

    @property
    def spread(self) -> float:
        """How long, in figures of a release, one is on the scale of the mechanism."""
        return 1.0

    @property
    def drifts(self) -> str:
        """Of what a made-up drift is a part, in words that end in a space: of a mean its range."""
        return ""
