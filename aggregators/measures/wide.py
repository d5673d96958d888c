"""What measures of sets, rows and strings have in common: shares of users of whom something is true, as views tell it.

Contract: a question looks at a value through one view, or each user answers through one of several (branches).  A
statistic is the share of users of whom something is true; a kind says of rows of words of which users it is
(`true_of`), which statistics its releases name (`shown`), and what a made-up crowd holds (`crowd`).  Not here: the
kinds (each a file beside this one), where names are found (the methods that find them).
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

_LANE: Final = 1 << 12
"""How many rows are looked at together, so that nobody holds a number for every user and statistic."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Different values that made-up or recorded users hold, so that counts of users can be counts of these."""

    values: Rows
    """One row for each, *none* among them where users say it."""


@dataclass(frozen=True)
class WideMeasure(Measure):
    """Shares of users of whom something is true."""

    among: Catalogue | None = field(default=None, compare=False, repr=False)
    """The values whose holders are counted where one plans; None: a made-up crowd's."""

    ranked: ClassVar[bool] = True
    keeps_answers: ClassVar[bool] = False

    # ---- what a kind says ----

    @property
    @abstractmethod
    def views(self) -> tuple[View, ...]:
        """What is told of a value; where there are several, each user tells by one of them."""

    @abstractmethod
    def true_of(self, rows: Rows) -> NDArray[np.bool_]:
        """Which statistics are true of whom, none included where a view tells it: bool[n, statistics]."""

    @abstractmethod
    def crowd(self) -> tuple[Rows, Floats]:
        """Different values that a made-up crowd holds, *none* not among them, and their usual shares."""

    @property
    def shown(self) -> NDArray[np.int64]:
        """Which statistics are figures of a release, in the order of its names."""
        return np.arange(len(self.names))

    # ---- how it is asked ----

    @cached_property
    def statistics(self) -> int:
        """How many numbers a method follows."""
        return sum(view.statistics or view.d for view in self.views)

    @property
    def d(self) -> int:
        """How many numbers a method follows: values of several words have no codes."""
        return self.statistics

    @property
    def default_code(self) -> int:
        """The domain's own first value is what users say then."""
        return 0

    @property
    def serving(self) -> tuple[str, ...]:
        """The frequency oracles."""
        return tuple(sorted(ORACLES))

    @property
    def possible(self) -> tuple[str, ...]:
        """Those that can stand behind every view, with reports short enough."""
        return tuple(name for name in self.serving if _can(self, name))

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """Behind each view the oracle that is best for its codes."""
        return self._branched([Viewed(view, self.best(view, epsilon, prefer)) for view in self.views])

    def best(self, view: View, epsilon: Epsilon, prefer: Prefer) -> Mechanism:
        """The oracle that "auto" takes behind one view."""
        return choose(d=view.d, epsilon=epsilon, prefer=prefer)

    def question(self, name: str, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The mechanism of this name behind each view, or what "auto" takes."""
        if name == AUTO:
            return self.choose(epsilon, prefer)
        return self._branched(
            [Viewed(view, mechanism({"name": name, "d": view.d, "epsilon": epsilon})) for view in self.views]
        )

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The error of what a release names, which need not be all that is followed."""
        near, shown = question.plausible(profile), self.shown
        error = question.noise(near) / n + question.sampling(near) / n * finite_population_factor(n, users or n)
        return float((error + question.added_variance(max(1, round(n)), near))[shown].mean())

    def wholes(self, question: Question) -> tuple[int, ...]:
        """The codes of a view are a whole; of a sample each share stands by itself."""
        lengths = [(view.d,) if view.statistics is None else (1,) * view.statistics for view in self.views]
        return tuple(chain.from_iterable(lengths))

    def _branched(self, each: list[Viewed]) -> Question:
        return each[0] if len(each) == 1 else Branches([(1, question) for question in each])

    # ---- what is said of it ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> Result:
        """Shares that there can be."""
        return self.told(decision)

    def told(self, decision: Decision) -> NamedFigures:
        """The figures of a release by name."""
        said, shown = stands(decision), self.shown
        told = decision.vector
        own = decision.with_vector(unbiased=told.unbiased[shown], own_variance=told.measured_variance[shown])
        course = None if said.course is None else said.course[:, shown]
        return self._named(own, np.clip(said.statistics[shown], 0, 1), np.sqrt(said.variance[shown]), course)

    def truth(self, counts: Rows) -> Floats:
        """The share of users of whom each statistic is true, from everybody's words."""
        if not len(counts):
            return np.full(len(self.shown), np.nan)
        total = np.zeros(self.statistics, np.int64)
        for start in range(0, len(counts), _LANE):
            total += self.true_of(counts[start : start + _LANE]).sum(axis=0)
        return np.asarray(total[self.shown] / len(counts))

    # ---- how it is planned for ----

    def over(self, values: Rows) -> Self:
        """The measure where counts of users are counts of these values."""
        return replace(self, among=Catalogue(values))

    def told_apart(self, rows: Rows) -> NDArray[np.uint8]:
        """What is true of them."""
        return np.packbits(self.true_of(rows), axis=1)

    @property
    def held_by(self) -> Rows:
        """The values whose holders are counted."""
        if self.among is not None:
            return self.among.values
        values, _ = self.crowd()
        if not self.says_none:
            return values
        return np.vstack((values, np.array([self.domain.nothing], np.uint32)))

    def usual_shares(self, values: int) -> Floats:
        """Those of the made-up crowd."""
        return self.crowd()[1]

    def made_up(self, *, drift: float, presence: float, periods: int, seed: int) -> Floats:
        """Shares of all values of the crowd that wander, so that what is told of them moves by `drift` in a period."""
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
        """Shares of users of whom what a release names is true."""
        return np.asarray(holders @ self._figures / holders.sum(axis=1, keepdims=True))

    def true_statistics(self, holders: Holders) -> Floats:
        """The truth of everything that a method follows."""
        return np.asarray(holders @ self._true / holders.sum(axis=1, keepdims=True))

    def true_profiles(self, holders: Holders) -> Floats:
        """The true statistics: there is nothing else in a profile."""
        return self.true_statistics(holders)

    @property
    def _true(self) -> Floats:
        return _true_of(self, self.among)

    @property
    def _figures(self) -> Floats:
        return self._true[:, self.shown]


@lru_cache(maxsize=2)  # of a hundred megabytes at most
def _true_of(measure: WideMeasure, among: Catalogue | None) -> Floats:
    """What is true of each value of the crowd: float64[values, statistics]."""
    return measure.true_of(measure.held_by).astype(np.float64)


@lru_cache(maxsize=256)
def _can(measure: WideMeasure, name: str) -> bool:
    try:
        measure.question(name, 1)
    except ParameterError:
        return False
    return True
