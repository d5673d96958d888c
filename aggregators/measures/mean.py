"""The mean of a number over the users who have one, in the stream's own unit, and the share of users who have one.

Contract: the mean of holders is a ratio of two estimates, unbiased up to 1/n, with the standard error of a ratio; it is
NaN unless the share of holders is significantly above 0.  Where numbers are clipped at a threshold, the bias that this
may cause is part of the standard error.  Only errors of the mean are scored.  Not here: finding a threshold (methods/).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.holders import Holding, holding, seen
from murmurate.aggregators.measures.measure import Range, stands
from murmurate.aggregators.measures.numbers import Numbers
from murmurate.aggregators.measures.planned import Holders
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.measures.wandering import bumps, wandering_number
from murmurate.aggregators.methods.last_estimate import measured
from murmurate.aggregators.methods.method import Decision, Estimate
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import Clipped, Question, Viewed
from murmurate.topics.domains import Grid

MEAN, PRESENT = "mean", "present"
POINTS = 33
"""The number of points of the coarse grid on which methods are simulated; noise and sampling on it are those of the
fine grid within 1.5 %.
"""
_RANGES: Final = {1: ((-1.0, 1.0),), 2: ((0.0, 1.0), (-1.0, 1.0))}
"""The ranges of the statistics that a filter follows, by their number: of the mean; or of the share of holders and of
their total.
"""


@dataclass(frozen=True)
class Mean(Numbers):
    """The mean of the users who have a value, and their share."""

    name = "mean"
    all_shares = False
    zero_stands = False
    clips = True

    @classmethod
    def of_size(cls, d: int, *, says_none: bool = True) -> Self:
        """A mean over a grid from -1 to 1 with so many codes."""
        return cls(Grid(-1, 1, d - says_none, "points"), says_none)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the mean and, where users may have no value, of the share who have one."""
        return (MEAN, PRESENT) if self.says_none else (MEAN,)

    def limits(self, name: str) -> Range:
        """The declared range for the mean, 0 to 1 for the share."""
        return self.range if name == MEAN else (0.0, 1.0)

    def ranges(self, question: Question) -> tuple[Range, ...]:
        """The ranges of the statistics on the scale of the mechanism."""
        return _RANGES[question.statistics]

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The mean squared error on the scale -1 to 1: of the mean or, where users may have no value, of the holders'
        mean.
        """
        if holds := holding(question):
            return holds.mean_error(profile, max(1, round(n)), users) ** 2
        return super().round_error(question, n, users, profile)

    # ---- the figures of a release, and descriptions ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The mean in the stream's own unit, and the share of holders."""
        question, ends = decision.question, self.range
        if not isinstance(question, Viewed) or not isinstance(question.view, Clipped):
            return self._figures(decision, question, ends)
        # The scale of a clipped question stands for a part of the range.
        figures = self._figures(decision, question.inner, question.view.within(*ends))
        bias = np.zeros(len(figures.stderr))
        bias[0] = decision.vector.clipped * (ends[1] - ends[0])
        return replace(figures, stderr=np.hypot(figures.stderr, bias))

    def _figures(self, decision: Decision, question: Question, ends: Range) -> NamedFigures:
        """The figures of a decision, where the scale of the mechanism stands for the range with these ends."""
        standing, (low, half) = stands(decision), _scale(ends)
        if holds := holding(question):
            return self._of_holders(decision, holds, standing, ends)
        near, course = np.clip(standing.statistics, -1, 1), None
        if standing.course is not None:
            course = np.stack((low + half * (standing.course[0] + 1), half**2 * standing.course[1]))
        own, estimate = low + half * (decision.vector.unbiased + 1), low + half * (near + 1)
        return self._named(decision.with_vector(unbiased=own), estimate, half * np.sqrt(standing.variance), course)

    def _of_holders(self, decision: Decision, question: Holding, standing: Estimate, ends: Range) -> NamedFigures:
        """The figures from estimates of share and total: the holders' mean, which is NaN unless there are known to be
        holders, and their share.
        """
        low, half = _scale(ends)
        share, total = standing.statistics.tolist()
        own_share, own_total = decision.vector.unbiased.tolist()
        mean = error = own = np.nan
        alone = _measured_variance(decision, question)
        if seen(share, min(alone, float(standing.variance[0]))):  # the drift since makes no holder uncertain
            mean, error = total / share, _ratio_error(decision, question, standing)
            if seen(own_share, alone):
                own = own_total / own_share
        near = np.clip(mean, -1, 1)
        return self._named(
            decision.with_vector(unbiased=np.array([low + half * (own + 1), own_share])),
            np.array([low + half * (near + 1), min(max(share, 0.0), 1.0)]),
            np.array([half * np.minimum(error, 1 + abs(near)), np.sqrt(standing.variance[0])]),
            _course_of_holders(standing, low, half),
        )

    def truth(self, counts: NDArray[Any]) -> Floats:
        """The mean of those who have a value, NaN if nobody has one, and their share."""
        users = int(counts.sum())
        if not users:
            return np.full(len(self.names), np.nan)
        grid, holders = self.domain, counts[: self.domain.cells]
        present = int(holders.sum())
        place = float(holders @ np.arange(grid.cells)) / present / (grid.cells - 1) if present else np.nan
        mean = grid.low + place * (grid.high - grid.low)
        return np.array([mean, present / users] if self.says_none else [mean])

    def every_code(self) -> Distribution:
        """The distribution of the same numbers."""
        return Distribution(self.domain, self.says_none, self.unit)

    @property
    def scored(self) -> tuple[str, ...]:
        """The mean alone: errors of the share do not count."""
        return (MEAN,)

    def is_share(self, name: str) -> bool:
        """True for the share, false for the mean."""
        return name != MEAN

    def scale(self, stream: str) -> str:
        """The unit of the numbers; without a unit the stream's own name, since such numbers are not comparable."""
        return f"mean of {self.unit or stream}"

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
        """A mean of the same numbers on the coarse grid."""
        return replace(self, domain=replace(self.domain, cells=POINTS))

    def binned(self, shares: Floats) -> Floats:
        """The shares of cells, each moved to the nearest point of the coarse grid."""
        cells = self.domain.none
        nearest = np.rint(np.arange(cells) * ((POINTS - 1) / (cells - 1))).astype(np.int64)
        binned = np.bincount(nearest, weights=shares[:cells], minlength=POINTS)
        return np.asarray(np.append(binned, shares[cells:]), np.float64)

    def made_up(self, *, drift: float, presence: float, periods: int, seed: int) -> Floats:
        """Shares of numbers spread around a wandering mean, whose drift is a part of the range per period."""
        shares = bumps(wandering_number(2 * drift, periods, seed), self.domain.cells) * presence
        return np.column_stack((shares, np.full(periods, 1 - presence))) if self.says_none else shares

    def true_figures(self, holders: Holders) -> Floats:
        """The mean of the holders, or the middle of the range in periods without any: float64[periods, 1]."""
        low, high = self.range
        cells = self.domain.cells
        present = holders[:, :cells].sum(axis=1)
        total = holders[:, :cells] @ np.linspace(low, high, cells)
        return np.where(present > 0, total / np.maximum(present, 1), (low + high) / 2)[:, None]

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
        """The middle of the range, which is the best guess without data."""
        return sum(self.range) / 2

    @property
    def spread(self) -> float:
        """Half of the range: the length of 1 on the scale of the mechanism."""
        low, high = self.range
        return (high - low) / 2

    @property
    def drifts(self) -> str:
        """The words "of its range": synthetic drift is a part of the range."""
        return "of its range "


def _scale(ends: Range) -> tuple[float, float]:
    """The low end of a range, and half its length."""
    return ends[0], (ends[1] - ends[0]) / 2


def _course_of_holders(standing: Estimate, low: float, half: float) -> Floats | None:
    """The mean and variance of the estimates so far, for the holders' mean and their share, computed from those of
    share and total as if the share had been constant.
    """
    if standing.course is None or not standing.course[0, 0] > 0:
        return None
    (share, total), (of_share, of_total) = standing.course.tolist()
    mean = total / share
    moved = (of_total + mean * mean * of_share) / share**2
    return np.array([[low + half * (min(max(mean, -1.0), 1.0) + 1), share], [half**2 * moved, of_share]])


def _measured_variance(decision: Decision, question: Holding) -> float:
    """The variance of the estimated share as of its measurement, without the drift since."""
    vector = decision.vector
    variance = float(vector.variance[0])
    if vector.answer is None:
        return variance
    fresh = measured(decision.t, question, vector.answer, vector.users).variance
    return min(variance, float(fresh[0]))  # several answers together may be more precise than the newest


def _ratio_error(decision: Decision, question: Holding, standing: Estimate) -> float:
    """The standard error of total / share, by the delta method. The errors of a measured share and total are
    correlated, which makes the ratio's error smaller; their drift since then is taken for uncorrelated.
    """
    share, total = standing.statistics.tolist()
    mean = total / share
    of_share, of_total = standing.variance.tolist()
    answer, users = decision.vector.answer, decision.vector.users
    if answer is None:
        return float(np.sqrt(of_total + mean * mean * of_share) / share)
    fresh = measured(decision.t, question, answer, users).variance
    profile = question.plausible(question.profile(answer.support, answer.counted))
    alone = question.mean_error(profile, answer.counted, users) ** 2
    if decision.vector.best is None:
        drifted = np.maximum(standing.variance - fresh, 0)
        return float(np.sqrt(alone + (drifted[1] + mean * mean * drifted[0]) / share**2))
    measured_mean = profile[1] / profile[0] if profile[0] else 0.0
    apart = fresh[1] + measured_mean**2 * fresh[0]
    together = min(1.0, alone * profile[0] ** 2 / apart) if profile[0] and apart else 1.0
    return float(np.sqrt(together * (of_total + mean * mean * of_share)) / share)
