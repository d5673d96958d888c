"""What a mean and a total of numbers share: the grid of the numbers, the mechanisms that tell them, and made-up truths.

Contract: a number is a point of a fine grid over the declared range.  What a method follows is the mean on the scale
-1 to 1 where everybody has a value; else the share of holders, and the total of their values on that scale, a user.
Where numbers are clipped at a threshold, what that may take is a part of the error.  Not here: what a release makes of
these statistics (mean.py, total.py), finding a threshold (methods/).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.holders import Holding, holding
from murmurate.aggregators.measures.measure import Range, stands
from murmurate.aggregators.measures.numbers import Numbers
from murmurate.aggregators.measures.planned import Holders
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.measures.wandering import bumps, wandering_number
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import Clipped, Question, Viewed
from murmurate.topics.domains import Grid

PRESENT: Final = "present"
"""The share of users who have a value, in a release."""
POINTS: Final = 33
"""The points of the coarse grid on which methods are tried: noise and sampling on it are those of the fine one within
1.5 %.
"""
_RANGES: Final = {1: ((-1.0, 1.0),), 2: ((0.0, 1.0), (-1.0, 1.0))}
"""The ranges of the statistics that a filter follows, by how many there are: the mean; or the share of holders, and
their total.
"""


@dataclass(frozen=True)
class Amounts(Numbers):
    """One figure of the numbers that users hold, called as the measure is, and the share of those who have one."""

    all_shares = False
    zero_stands = False
    clips = True
    served_as = "mean"

    @classmethod
    def of_size(cls, d: int, *, says_none: bool = True) -> Self:
        """One of so many codes, from -1 to 1."""
        return cls(Grid(-1, 1, d - says_none, "points"), says_none)

    @property
    def names(self) -> tuple[str, ...]:
        """The figure, and how many have a value."""
        return (self.name, PRESENT) if self.says_none else (self.name,)

    @property
    def figure_limits(self) -> Range:
        """Between which the figure lies."""
        return self.range

    def limits(self, name: str) -> Range:
        """Those of the figure, or of a share."""
        return self.figure_limits if name == self.name else (0.0, 1.0)

    def ranges(self, question: Question) -> tuple[Range, ...]:
        """On the scale of the mechanism."""
        return _RANGES[question.statistics]

    # ---- what is said of it ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The figure in the stream's own unit, and the share of holders."""
        question, ends = decision.question, self.range
        if not isinstance(question, Viewed) or not isinstance(question.view, Clipped):
            return self._told(decision, question, ends)
        told = self._told(decision, question.inner, question.view.within(*ends))  # whose scale is a part of the range
        taken = np.zeros(len(told.stderr))
        taken[0] = decision.vector.clipped * (ends[1] - ends[0]) * self._weight_of_holders(told)
        return replace(told, stderr=np.hypot(told.stderr, taken))

    def _weight_of_holders(self, told: NamedFigures) -> float:
        """How much of an error of the holders' mean is an error of the figure."""
        return 1.0

    def _told(self, decision: Decision, question: Question, ends: Range) -> NamedFigures:
        """What a mechanism says whose scale has these ends."""
        if holds := holding(question):
            return self._of_holders(decision, holds, ends)
        said, (low, half) = stands(decision), scale_of(ends)
        near, course = np.clip(said.statistics, -1, 1), None
        if said.course is not None:
            course = np.stack((low + half * (said.course[0] + 1), half**2 * said.course[1]))
        told = decision.vector
        own, estimate = low + half * (told.unbiased + 1), low + half * (near + 1)
        scaled = decision.with_vector(unbiased=own, own_variance=half**2 * told.measured_variance)
        return self._named(scaled, estimate, half * np.sqrt(said.variance), course)

    @abstractmethod
    def _of_holders(self, decision: Decision, question: Holding, ends: Range) -> NamedFigures:
        """The figure, and the share of those who hold a value, where users may hold none."""

    def truth(self, counts: NDArray[Any]) -> Floats:
        """The figure, and the share of holders."""
        users = int(counts.sum())
        if not users:
            return np.full(len(self.names), np.nan)
        grid, holders = self.domain, counts[: self.domain.cells]
        present = int(holders.sum())
        place = float(holders @ np.arange(grid.cells)) / present / (grid.cells - 1) if present else np.nan
        figure = self._true_figure(grid.low + place * (grid.high - grid.low), present / users)
        return np.array([figure, present / users] if self.says_none else [figure])

    @abstractmethod
    def _true_figure(self, mean: float, share: float) -> float:
        """The figure where this share of the users holds numbers of this mean, which is NaN where nobody does."""

    def every_code(self) -> Distribution:
        """How its numbers are distributed."""
        return Distribution(self.domain, self.says_none, self.unit)

    @property
    def scored(self) -> tuple[str, ...]:
        """The figure."""
        return (self.name,)

    def is_share(self, name: str) -> bool:
        """All but the figure."""
        return name != self.name

    def scale(self, stream: str) -> str:
        """The unit; where there is none each stream has its own."""
        return f"{self.name} of {self.unit or stream}"

    @property
    def resolution(self) -> str:
        """Its grid is so fine that the steps matter to nobody but a check."""
        low, high = self.range
        return f", read in steps of {(high - low) / (self.domain.cells - 1):.3g}"

    def said(self, code: int) -> str:
        """A number."""
        return f"{self.domain.value(code):.12g}"

    # ---- how it is planned for ----

    def tried(self) -> Self:
        """On a coarse grid."""
        return replace(self, domain=replace(self.domain, cells=POINTS))

    def binned(self, shares: Floats) -> Floats:
        """Each cell at the nearest point of the coarse grid."""
        cells = self.domain.none
        nearest = np.rint(np.arange(cells) * ((POINTS - 1) / (cells - 1))).astype(np.int64)
        binned = np.bincount(nearest, weights=shares[:cells], minlength=POINTS)
        return np.asarray(np.append(binned, shares[cells:]), np.float64)

    def made_up(self, *, drift: float, presence: float, periods: int, seed: int) -> Floats:
        """Numbers around one that wanders, by a part of the range a period."""
        shares = bumps(wandering_number(2 * drift, periods, seed), self.domain.cells) * presence
        return np.column_stack((shares, np.full(periods, 1 - presence))) if self.says_none else shares

    def sums(self, holders: Holders) -> tuple[Floats, NDArray[np.int64]]:
        """The sum of the numbers that users hold in each period, and how many hold one."""
        low, high = self.range
        cells = self.domain.cells
        return np.asarray(holders[:, :cells] @ np.linspace(low, high, cells)), holders[:, :cells].sum(axis=1)

    def true_statistics(self, holders: Holders) -> Floats:
        """The mean, on the scale of the mechanism."""
        return np.asarray(holders @ np.linspace(-1, 1, self.d)[:, np.newaxis] / holders.sum(axis=1, keepdims=True))

    def true_profiles(self, holders: Holders) -> Floats:
        """Sums of values and of their squares a user, behind the share of holders where not everybody is one."""
        shares, cells = holders / holders.sum(axis=1, keepdims=True), self.domain.cells
        places = np.linspace(-1, 1, cells)
        numbers = np.column_stack((shares[:, :cells] @ places, shares[:, :cells] @ places**2))
        return np.column_stack((shares[:, :cells].sum(axis=1), numbers)) if self.says_none else numbers

    @property
    def guess(self) -> float:
        """The middle of what the figure may be."""
        return sum(self.figure_limits) / 2

    @property
    def spread(self) -> float:
        """Half of the range."""
        low, high = self.range
        return (high - low) / 2

    @property
    def drifts(self) -> str:
        """What a made-up drift is a part of: the range."""
        return "of its range "


def scale_of(ends: Range) -> tuple[float, float]:
    """The low end, and half the length."""
    return ends[0], (ends[1] - ends[0]) / 2
