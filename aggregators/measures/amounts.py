# SPDX-License-Identifier: Apache-2.0
"""The common part of a mean and a total of numbers: grid, mechanisms, clipping, and synthetic truths.

Contract: a number is a point of a fine grid over the declared range.  A method follows the mean on the scale -1 to 1
where everybody has a value; otherwise the share of holders, and the total of their values on that scale per user.
Where numbers are clipped at a threshold, the bias that this may cause is part of the standard error.  Only errors of
the mean or total are scored.  Not here: the figures of a release (mean.py, total.py), finding a threshold (methods/).
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
"""The name of the share of users who have a value."""
POINTS: Final = 33
"""The number of points of the coarse grid on which methods are simulated; noise and sampling on it are those of the
fine grid within 1.5 %.
"""
_RANGES: Final = {1: ((-1.0, 1.0),), 2: ((0.0, 1.0), (-1.0, 1.0))}
"""The ranges of the statistics that a filter follows, by their number: of the mean; or of the share of holders and of
their total.
"""


@dataclass(frozen=True)
class Amounts(Numbers):
    """A figure of the numbers that users hold, with the name of the measure, and the share of users who have one."""

    all_shares = False
    zero_stands = False
    clips = True
    served_as = "mean"

    @classmethod
    def of_size(cls, d: int, *, says_none: bool = True) -> Self:
        """The measure over a grid from -1 to 1 with so many codes."""
        return cls(Grid(-1, 1, d - says_none, "points"), says_none)

    def usual_variance(self, question: Question, n: int) -> float:
        """The largest variance of the mean, on the scale -1 to 1, where everybody holds the same value."""
        if holds := holding(question):
            return max(holds.total_variance(n, 1.0, square) for square in (0.0, 1.0))
        return float(question.variance(n, np.array([0.0, 1.0])).max())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the figure and, where users may have no value, of the share who have one."""
        return (self.name, PRESENT) if self.says_none else (self.name,)

    @property
    def figure_limits(self) -> Range:
        """The smallest and the largest value that the figure can have."""
        return self.range

    def limits(self, name: str) -> Range:
        """The limits of the figure, 0 to 1 for the share."""
        return self.figure_limits if name == self.name else (0.0, 1.0)

    def ranges(self, question: Question) -> tuple[Range, ...]:
        """The ranges of the statistics on the scale of the mechanism."""
        return _RANGES[question.statistics]

    # ---- the figures of a release, and descriptions ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The figure in the stream's own unit, and the share of holders."""
        question, ends = decision.question, self.range
        if not isinstance(question, Viewed) or not isinstance(question.view, Clipped):
            return self._figures(decision, question, ends)
        # The scale of a clipped question stands for a part of the range.
        figures = self._figures(decision, question.inner, question.view.within(*ends))
        bias = np.zeros(len(figures.stderr))
        bias[0] = decision.vector.clipped * (ends[1] - ends[0]) * self._weight_of_holders(figures)
        return replace(figures, stderr=np.hypot(figures.stderr, bias))

    def _weight_of_holders(self, figures: NamedFigures) -> float:
        """The error of the figure per error of the holders' mean."""
        return 1.0

    def _figures(self, decision: Decision, question: Question, ends: Range) -> NamedFigures:
        """The figures of a decision, where the scale of the mechanism stands for the range with these ends."""
        if holds := holding(question):
            return self._of_holders(decision, holds, ends)
        standing, vector, (low, half) = stands(decision), decision.vector, scale_of(ends)
        near, course = np.clip(standing.statistics, -1, 1), None
        if standing.course is not None:
            course = np.stack((low + half * (standing.course[0] + 1), half**2 * standing.course[1]))
        own, estimate = low + half * (vector.unbiased + 1), low + half * (near + 1)
        scaled = decision.with_vector(unbiased=own, own_variance=half**2 * vector.measured_variance)
        return self._named(scaled, estimate, half * np.sqrt(standing.variance), course)

    @abstractmethod
    def _of_holders(self, decision: Decision, question: Holding, ends: Range) -> NamedFigures:
        """The figures from estimates of share and total, where users may have no value."""

    def truth(self, counts: NDArray[Any]) -> Floats:
        """The figure, and the share of those who have a value."""
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
        """The figure where this share of the users holds numbers with this mean, which is NaN if nobody does."""

    def every_code(self) -> Distribution:
        """The distribution of the same numbers."""
        return Distribution(self.domain, self.says_none, self.unit)

    @property
    def scored(self) -> tuple[str, ...]:
        """The figure alone: errors of the share do not count."""
        return (self.name,)

    def is_share(self, name: str) -> bool:
        """True for the share, false for the figure."""
        return name != self.name

    def scale(self, stream: str) -> str:
        """The unit of the numbers; without a unit the stream's own name, since such numbers are not comparable."""
        return f"{self.name} of {self.unit or stream}"

    @property
    def resolution(self) -> str:
        """The step of the grid, which is far below the errors of estimates."""
        low, high = self.range
        return f", read in steps of {(high - low) / (self.domain.cells - 1):.3g}"

    def said(self, code: int) -> str:
        """The number of a code."""
        return f"{self.domain.value(code):.12g}"

    # ---- how it is planned for ----

    def tried(self) -> Self:
        """The measure of the same numbers on the coarse grid, or on their own if that is coarser."""
        return replace(self, domain=replace(self.domain, cells=min(POINTS, self.domain.cells)))

    def binned(self, shares: Floats) -> Floats:
        """The shares of cells, each moved to the nearest point of the coarse grid."""
        cells, points = self.domain.none, self.tried().domain.cells
        nearest = np.rint(np.arange(cells) * ((points - 1) / (cells - 1))).astype(np.int64)
        binned = np.bincount(nearest, weights=shares[:cells], minlength=points)
        return np.asarray(np.append(binned, shares[cells:]), np.float64)

    def made_up(self, *, drift: float, presence: float, periods: int, seed: int) -> Floats:
        """Shares of numbers spread around a wandering mean, whose drift is a part of the range per period."""
        shares = bumps(wandering_number(2 * drift, periods, seed), self.domain.cells) * presence
        return np.column_stack((shares, np.full(periods, 1 - presence))) if self.says_none else shares

    def sums(self, holders: Holders) -> tuple[Floats, NDArray[np.int64]]:
        """The sum of the numbers that users hold in each period, and the number of holders."""
        low, high = self.range
        cells = self.domain.cells
        return np.asarray(holders[:, :cells] @ np.linspace(low, high, cells)), holders[:, :cells].sum(axis=1)

    def true_statistics(self, holders: Holders) -> Floats:
        """The mean over all users on the scale of the mechanism, -1 to 1."""
        return np.asarray(holders @ np.linspace(-1, 1, self.d)[:, np.newaxis] / holders.sum(axis=1, keepdims=True))

    def true_profiles(self, holders: Holders) -> Floats:
        """Per user the sum of values and of their squares, preceded by the share of holders where users may have no
        value.
        """
        shares, cells = holders / holders.sum(axis=1, keepdims=True), self.domain.cells
        places = np.linspace(-1, 1, cells)
        numbers = np.column_stack((shares[:, :cells] @ places, shares[:, :cells] @ places**2))
        return np.column_stack((shares[:, :cells].sum(axis=1), numbers)) if self.says_none else numbers

    @property
    def guess(self) -> float:
        """The middle between the limits of the figure, which is the best guess without data."""
        return sum(self.figure_limits) / 2

    @property
    def spread(self) -> float:
        """Half of the range: the length of 1 on the scale of the mechanism."""
        low, high = self.range
        return (high - low) / 2

    @property
    def drifts(self) -> str:
        """The words "of its range": synthetic drift is a part of the range."""
        return "of its range "


def scale_of(ends: Range) -> tuple[float, float]:
    """The low end of a range, and half its length."""
    return ends[0], (ends[1] - ends[0]) / 2
