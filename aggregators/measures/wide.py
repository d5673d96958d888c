# SPDX-License-Identifier: Apache-2.0
"""The common part of measures of sets, rows and strings: shares of users for whom a statement about their value holds.

Contract: a question maps a value to a code by one view, or each user answers through one of several views (branches).
A statistic is the share of users for whom a statement is true.  A kind defines for which rows of words each statement
is true (`true_of`), which statistics its releases name (`shown`), and the values of a synthetic population (`crowd`).
Not here: the kinds (each a file beside this one), where names are found (the methods that find them).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer, choose
from murmurate.aggregators.measures.measure import AUTO, stands
from murmurate.aggregators.measures.result import Floats, NamedFigures, Result
from murmurate.aggregators.measures.rows import ROWS_AT_ONCE, RowMeasure, Rows
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import Branches, Mechanism, Question, Viewed
from murmurate.randomizers.registry import mechanism, oracles
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.views import View


@dataclass(frozen=True)
class WideMeasure(RowMeasure):
    """Shares of users for whom a statement about their value is true."""

    keeps_answers: ClassVar[bool] = False

    # ---- what a kind defines ----

    @property
    @abstractmethod
    def views(self) -> tuple[View, ...]:
        """The functions of a value that a question may ask for; where there are several, each user answers for one."""

    @abstractmethod
    def true_of(self, rows: Rows) -> NDArray[np.bool_]:
        """Which statistics are true of which row, *none* included where a view reports it: bool[n, statistics]."""

    # ---- which questions devices get ----

    @property
    def statistics(self) -> int:
        """The number of statistics that a method follows."""
        return self._statistics

    @cached_property
    def _statistics(self) -> int:
        return sum(view.statistics or view.d for view in self.views)

    @property
    def serving(self) -> tuple[str, ...]:
        """The frequency oracles."""
        return oracles()

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
        for start in range(0, len(counts), ROWS_AT_ONCE):
            total += self.true_of(counts[start : start + ROWS_AT_ONCE]).sum(axis=0)
        return np.asarray(total[self.shown] / len(counts))

    # ---- how it is planned for ----

    def told_apart(self, rows: Rows) -> NDArray[np.uint8]:
        """The statistics that are true of each row, packed as bits."""
        return np.packbits(self.true_of(rows), axis=1)
