"""The common part of measures of sets, rows and strings: shares of users for whom a statement about their value holds.

Contract: a question maps a value to a code by one view, or each user answers through one of several views (branches).
A statistic is the share of users for whom a statement is true.  A kind defines for which rows of words each statement
is true (`true_of`), which statistics its releases name (`shown`), and the values of a synthetic population (`crowd`).
Not here: the kinds (each a file beside this one), where names are found (the methods that find them).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer, choose
from murmurate.aggregators.measures.measure import AUTO, Measure, stands
from murmurate.aggregators.measures.planned import Holders
from murmurate.aggregators.measures.result import Floats, NamedFigures, Result
from murmurate.aggregators.measures.wandering import wandering_shares
from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import Branches, Mechanism, ParameterError, Question, Viewed
from murmurate.randomizers.registry import ORACLES, mechanism
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.views import View

Rows = NDArray[np.uint32]
"""Values of several words: uint32[n, words]."""

_ROWS_AT_ONCE: Final = 1 << 12
"""The number of rows examined at once, which bounds the memory for one number per row and statistic."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Distinct values that synthetic or recorded users hold, so that users can be counted by value."""

    values: Rows
    """One row for each value, with *none* among them where users may report it."""


@dataclass(frozen=True)
class WideMeasure(Measure):
    """Shares of users for whom a statement about their value is true."""

    among: Catalogue | None = field(default=None, compare=False, repr=False)
    """The values whose holders are counted in planning; None for those of a synthetic population."""

    ranked: ClassVar[bool] = True
    keeps_answers: ClassVar[bool] = False

    # ---- what a kind defines ----

    @property
    @abstractmethod
    def views(self) -> tuple[View, ...]:
        """The functions of a value that a question may ask for; where there are several, each user answers for one."""

    @abstractmethod
    def true_of(self, rows: Rows) -> NDArray[np.bool_]:
        """Which statistics are true of which row, *none* included where a view reports it: bool[n, statistics]."""

    @abstractmethod
    def crowd(self) -> tuple[Rows, Floats]:
        """Distinct values of a synthetic population, *none* not among them, and their usual shares."""

    @property
    def shown(self) -> NDArray[np.int64]:
        """The indices of the statistics that a release names, in the order of its names."""
        return np.arange(len(self.names))

    # ---- which questions devices get ----

    @cached_property
    def statistics(self) -> int:
        """The number of statistics that a method follows."""
        return sum(view.statistics or view.d for view in self.views)

    @property
    def d(self) -> int:
        """The number of statistics that a method follows, since values of several words have no codes."""
        return self.statistics

    @property
    def default_code(self) -> int:
        """The index of the value that the domain itself takes for its first one."""
        return 0

    @property
    def serving(self) -> tuple[str, ...]:
        """The frequency oracles."""
        return tuple(sorted(ORACLES))

    @property
    def possible(self) -> tuple[str, ...]:
        """The oracles that can serve every view with reports that are short enough."""
        return tuple(name for name in self.serving if _can(self, name))

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """For each view the oracle that is best for its number of codes."""
        return self._branched([Viewed(view, self.best(view, epsilon, prefer)) for view in self.views])

    def best(self, view: View, epsilon: Epsilon, prefer: Prefer) -> Mechanism:
        """The oracle that "auto" stands for with one view."""
        return choose(d=view.d, epsilon=epsilon, prefer=prefer)

    def question(self, name: str, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """For each view the mechanism of this name, or the one that "auto" stands for."""
        if name == AUTO:
            return self.choose(epsilon, prefer)
        return self._branched(
            [Viewed(view, mechanism({"name": name, "d": view.d, "epsilon": epsilon})) for view in self.views]
        )

    @property
    def mixes(self) -> bool:
        """Whether there are several views, each of which may have a mechanism of its own."""
        return len(self.views) > 1

    def usual_variance(self, question: Question, n: int) -> float:
        """The mean variance over all statistics, if the shares within a view are alike."""
        each = [np.full(view.statistics or view.d, self.usual(view)) for view in self.views]
        return float(question.variance(n, np.concatenate(each)).mean())

    def usual(self, view: View) -> float:
        """The share of users behind each statistic of a view, if they are alike."""
        return 1 / view.d

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The mean squared error of the statistics that a release names, which may be fewer than a method follows."""
        near, shown = question.plausible(profile), self.shown
        error = question.noise(near) / n + question.sampling(near) / n * finite_population_factor(n, users or n)
        return float((error + question.added_variance(max(1, round(n)), near))[shown].mean())

    def wholes(self, question: Question) -> tuple[int, ...]:
        """The lengths of groups of shares that sum to 1: all codes of a view, or each share by itself where one item is
        sampled.
        """
        lengths = [(view.d,) if view.statistics is None else (1,) * view.statistics for view in self.views]
        return tuple(chain.from_iterable(lengths))

    def _branched(self, each: list[Viewed]) -> Question:
        return each[0] if len(each) == 1 else Branches([(1, question) for question in each])

    # ---- the figures of a release ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> Result:
        """The estimated shares, clipped to 0 to 1, by name."""
        return self.told(decision)

    def told(self, decision: Decision) -> NamedFigures:
        """The figures of the statistics that a release names, clipped to 0 to 1."""
        standing, shown = stands(decision), self.shown
        vector = decision.vector
        own = decision.with_vector(unbiased=vector.unbiased[shown], own_variance=vector.measured_variance[shown])
        course = None if standing.course is None else standing.course[:, shown]
        return self._named(own, np.clip(standing.statistics[shown], 0, 1), np.sqrt(standing.variance[shown]), course)

    def truth(self, counts: Rows) -> Floats:
        """The share of users for whom each statistic is true, from the row of every user."""
        if not len(counts):
            return np.full(len(self.shown), np.nan)
        total = np.zeros(self.statistics, np.int64)
        for start in range(0, len(counts), _ROWS_AT_ONCE):
            total += self.true_of(counts[start : start + _ROWS_AT_ONCE]).sum(axis=0)
        return np.asarray(total[self.shown] / len(counts))

    # ---- how it is planned for ----

    def over(self, values: Rows) -> Self:
        """A measure with the same statistics, whose users are counted by these values."""
        return replace(self, among=Catalogue(values))

    def told_apart(self, rows: Rows) -> NDArray[np.uint8]:
        """The statistics that are true of each row, packed as bits."""
        return np.packbits(self.true_of(rows), axis=1)

    @property
    def held_by(self) -> Rows:
        """The values whose holders are counted, with *none* last where a synthetic population may report it."""
        if self.among is not None:
            return self.among.values
        values, _ = self.crowd()
        if not self.says_none:
            return values
        return np.vstack((values, np.array([self.domain.nothing], np.uint32)))

    def usual_shares(self, values: int) -> Floats:
        """The usual shares of the synthetic population's values."""
        return self.crowd()[1]

    def made_up(self, *, drift: float, presence: float, periods: int, seed: int) -> Floats:
        """Wandering shares of the values of the synthetic population, scaled so that the figures move by `drift` in a
        period.
        """
        base = self.usual_shares(0)
        base = base / base.sum() * presence
        if self.says_none:
            base = np.append(base, 1 - presence)
        path = wandering_shares(base, drift, periods, seed)
        if not drift or len(path) < 2:
            return path
        moves = float(np.sqrt((np.diff(path @ self._figures, axis=0) ** 2).mean()))
        return wandering_shares(base, drift * drift / moves, periods, seed) if moves else path

    def true_figures(self, holders: Holders) -> Floats:
        """The true share of users for each figure of a release: float64[periods, figures]."""
        return np.asarray(holders @ self._figures / holders.sum(axis=1, keepdims=True))

    def true_statistics(self, holders: Holders) -> Floats:
        """The true value of each statistic that a method follows: float64[periods, statistics]."""
        return np.asarray(holders @ self._true / holders.sum(axis=1, keepdims=True))

    def true_profiles(self, holders: Holders) -> Floats:
        """The true statistics, since a profile of such a question contains nothing else."""
        return self.true_statistics(holders)

    @property
    def _true(self) -> Floats:
        return _true_of(self, self.among)

    @property
    def _figures(self) -> Floats:
        return self._true[:, self.shown]


@lru_cache(maxsize=2)  # of a hundred megabytes at most
def _true_of(measure: WideMeasure, among: Catalogue | None) -> Floats:
    """Which statistics are true of each value that is counted, as 0 and 1: float64[values, statistics]."""
    return measure.true_of(measure.held_by).astype(np.float64)


@lru_cache(maxsize=256)
def _can(measure: WideMeasure, name: str) -> bool:
    try:
        measure.question(name, 1)
    except ParameterError:
        return False
    return True
