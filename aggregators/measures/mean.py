"""A mean: that of a number over the users who have one, in the stream's own unit, and how many have.

Contract: the mean of holders is a ratio, unbiased up to 1/n, and unknown where nobody is known to hold a value; its
error is that of a ratio.  Where its numbers are clipped at a threshold, what that may take is an error, too.  Errors
count for the mean alone: how many have a value is not what was asked.  Not here: finding a threshold (methods/).
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
"""The points of the coarse grid on which a mean is tried: noise and sampling on it are those of the fine one within 1.5
%.
"""
_RANGES: Final = {1: ((-1.0, 1.0),), 2: ((0.0, 1.0), (-1.0, 1.0))}
"""The ranges of the statistics that a filter follows, by how many there are: the mean; or the share of holders, and
their total.
"""


@dataclass(frozen=True)
class Mean(Numbers):
    """A mean, and the share of those who have a value."""

    name = "mean"
    all_shares = False
    zero_stands = False
    clips = True

    @classmethod
    def of_size(cls, d: int, *, says_none: bool = True) -> Self:
        """One of so many codes, from -1 to 1."""
        return cls(Grid(-1, 1, d - says_none, "points"), says_none)

    @property
    def names(self) -> tuple[str, ...]:
        """The mean, and how many have a value."""
        return (MEAN, PRESENT) if self.says_none else (MEAN,)

    def limits(self, name: str) -> Range:
        """A mean lies in its range."""
        return self.range if name == MEAN else (0.0, 1.0)

    def ranges(self, question: Question) -> tuple[Range, ...]:
        """On the scale of the mechanism."""
        return _RANGES[question.statistics]

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The error of numbers on the scale -1 to 1; with silence that of the holders' mean."""
        if holds := holding(question):
            return holds.mean_error(profile, max(1, round(n)), users) ** 2
        return super().round_error(question, n, users, profile)

    # ---- what is said of it ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The mean in the stream's own unit, and the share of holders."""
        question, ends = decision.question, self.range
        if not isinstance(question, Viewed) or not isinstance(question.view, Clipped):
            return self._told(decision, question, ends)
        told = self._told(decision, question.inner, question.view.within(*ends))  # whose scale is a part of the range
        taken = np.zeros(len(told.stderr))
        taken[0] = decision.vector.clipped * (ends[1] - ends[0])
        return replace(told, stderr=np.hypot(told.stderr, taken))

    def _told(self, decision: Decision, question: Question, ends: Range) -> NamedFigures:
        """What a mechanism says whose scale has these ends."""
        said, (low, half) = stands(decision), _scale(ends)
        if holds := holding(question):
            return self._of_holders(decision, holds, said, ends)
        near, course = np.clip(said.statistics, -1, 1), None
        if said.course is not None:
            course = np.stack((low + half * (said.course[0] + 1), half**2 * said.course[1]))
        own, estimate = low + half * (decision.vector.unbiased + 1), low + half * (near + 1)
        return self._named(decision.with_vector(unbiased=own), estimate, half * np.sqrt(said.variance), course)

    def _of_holders(self, decision: Decision, question: Holding, said: Estimate, ends: Range) -> NamedFigures:
        """The mean of those who hold a value, and their share."""
        low, half = _scale(ends)
        share, total = said.statistics.tolist()
        own_share, own_total = decision.vector.unbiased.tolist()
        mean = error = own = np.nan
        alone = _measured_variance(decision, question)
        if seen(share, min(alone, float(said.variance[0]))):  # nobody is forgotten because time has passed
            mean, error = total / share, _ratio_error(decision, question, said)
            if seen(own_share, alone):
                own = own_total / own_share
        near = np.clip(mean, -1, 1)
        return self._named(
            decision.with_vector(unbiased=np.array([low + half * (own + 1), own_share])),
            np.array([low + half * (near + 1), min(max(share, 0.0), 1.0)]),
            np.array([half * np.minimum(error, 1 + abs(near)), np.sqrt(said.variance[0])]),
            _course_of_holders(said, low, half),
        )

    def truth(self, counts: NDArray[Any]) -> Floats:
        """The mean of holders, and their share. Of those who hold no value it is NaN."""
        users = int(counts.sum())
        if not users:
            return np.full(len(self.names), np.nan)
        grid, holders = self.domain, counts[: self.domain.cells]
        present = int(holders.sum())
        place = float(holders @ np.arange(grid.cells)) / present / (grid.cells - 1) if present else np.nan
        mean = grid.low + place * (grid.high - grid.low)
        return np.array([mean, present / users] if self.says_none else [mean])

    def every_code(self) -> Distribution:
        """How its numbers are distributed."""
        return Distribution(self.domain, self.says_none, self.unit)

    @property
    def scored(self) -> tuple[str, ...]:
        """The mean."""
        return (MEAN,)

    def is_share(self, name: str) -> bool:
        """All but the mean."""
        return name != MEAN

    def scale(self, stream: str) -> str:
        """The unit; where there is none each stream has its own."""
        return f"mean of {self.unit or stream}"

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

    def true_figures(self, holders: Holders) -> Floats:
        """The mean of holders alone; the middle of the range where there is none."""
        low, high = self.range
        cells = self.domain.cells
        present = holders[:, :cells].sum(axis=1)
        total = holders[:, :cells] @ np.linspace(low, high, cells)
        return np.where(present > 0, total / np.maximum(present, 1), (low + high) / 2)[:, None]

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
        """The middle of the range."""
        return sum(self.range) / 2

    @property
    def spread(self) -> float:
        """Half of the range."""
        low, high = self.range
        return (high - low) / 2

    @property
    def drifts(self) -> str:
        """What a made-up drift is a part of: the range."""
        return "of its range "


def _scale(ends: Range) -> tuple[float, float]:
    """The low end, and half the length."""
    return ends[0], (ends[1] - ends[0]) / 2


def _course_of_holders(said: Estimate, low: float, half: float) -> Floats | None:
    """The course of the mean and the share, from those of share and total, as if the share had stood."""
    if said.course is None or not said.course[0, 0] > 0:
        return None
    (share, total), (of_share, of_total) = said.course.tolist()
    mean = total / share
    moved = (of_total + mean * mean * of_share) / share**2
    return np.array([[low + half * (min(max(mean, -1.0), 1.0) + 1), share], [half**2 * moved, of_share]])


def _measured_variance(decision: Decision, question: Holding) -> float:
    """The variance of the method's share when it was measured, whatever has drifted since."""
    told = decision.vector
    variance = float(told.variance[0])
    if told.answer is None:
        return variance
    fresh = measured(decision.t, question, told.answer, told.users).variance
    return min(variance, float(fresh[0]))  # several answers together may know more than the newest


def _ratio_error(decision: Decision, question: Holding, said: Estimate) -> float:
    """The standard error of total / share, by the delta method. Errors of share and total go together where they were
    measured, which makes that of their ratio smaller; what both have drifted since does not, as far as is known.
    """
    share, total = said.statistics.tolist()
    mean = total / share
    of_share, of_total = said.variance.tolist()
    answer, users = decision.vector.answer, decision.vector.users
    if answer is None:
        return float(np.sqrt(of_total + mean * mean * of_share) / share)
    fresh = measured(decision.t, question, answer, users).variance
    profile = question.plausible(question.profile(answer.support, answer.counted))
    alone = question.mean_error(profile, answer.counted, users) ** 2
    if decision.vector.best is None:
        drifted = np.maximum(said.variance - fresh, 0)
        return float(np.sqrt(alone + (drifted[1] + mean * mean * drifted[0]) / share**2))
    measured_mean = profile[1] / profile[0] if profile[0] else 0.0
    apart = fresh[1] + measured_mean**2 * fresh[0]
    together = min(1.0, alone * profile[0] ** 2 / apart) if profile[0] and apart else 1.0
    return float(np.sqrt(together * (of_total + mean * mean * of_share)) / share)
