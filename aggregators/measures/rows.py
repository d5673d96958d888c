# SPDX-License-Identifier: Apache-2.0
"""The common part of measures whose values are rows of words: how their users are counted, and planned for.

Contract: a statistic is the mean over all users of a number that a user's row determines (`true_of`): 1 or 0 for a
share, from -1 to 1 for a mean.  Users are counted by distinct rows: those of a synthetic population (`crowd`), or of a
recording (`over`).  Not here: views (wide.py), signed items (vector.py), which recorded rows count as one
(agents/simulate/different.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.measures.planned import Holders
from murmurate.aggregators.measures.result import Floats
from murmurate.aggregators.measures.wandering import wandering_shares
from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.randomizers import ParameterError, Question
from murmurate.randomizers.thresholds import Epsilon

Rows = NDArray[np.uint32]
"""Values of several words: uint32[n, words]."""

ROWS_AT_ONCE: Final = 1 << 12
"""The number of rows examined at once, which bounds the memory for one number per row and statistic."""
QUICK: Final = ("kvue", "pckv_grr", "pckv_agrr", "collision", "coco", "exsub")
"""Mechanisms for vectors by how little they ask of a device: of those that are as accurate, the first is taken."""


ALIKE: Final = 1.000001
"""How many times the smallest variance is as good."""
EQUAL: Final = 1 - 1e-8
"""The part of a variance from which on another one is the same but for rounding."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Distinct values that synthetic or recorded users hold, so that users can be counted by value."""

    values: Rows
    """One row for each value, with *none* among them where users may report it."""


@dataclass(frozen=True)
class RowMeasure(Measure):
    """Means over all users of numbers that their rows determine."""

    among: Catalogue | None = field(default=None, compare=False, repr=False)
    """The values whose holders are counted in planning; None for those of a synthetic population."""

    ranked: ClassVar[bool] = True

    # ---- what a kind defines ----

    @property
    @abstractmethod
    def statistics(self) -> int:
        """The number of statistics that a method follows."""

    @abstractmethod
    def true_of(self, rows: Rows) -> NDArray[Any]:
        """The number of each statistic for each row, *none* included: [n, statistics]."""

    @abstractmethod
    def crowd(self) -> tuple[Rows, Floats]:
        """Distinct values of a synthetic population, *none* not among them, and their usual shares."""

    @property
    def shown(self) -> NDArray[np.int64]:
        """The indices of the statistics whose errors count, in the order of the names of a release."""
        return np.arange(len(self.names))

    # ---- which questions devices get ----

    @property
    def d(self) -> int:
        """The number of statistics that a method follows, since values of several words have no codes."""
        return self.statistics

    @property
    def default_code(self) -> int:
        """The index of the value that the domain itself takes for its first one."""
        return 0

    @property
    def possible(self) -> tuple[str, ...]:
        """The serving mechanisms that can make a question of it whose reports are short enough."""
        return tuple(name for name in self.serving if _can(self, name))

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The mean squared error of those statistics alone whose errors count (`shown`)."""
        near, shown = question.plausible(profile), self.shown
        error = question.noise(near) / n + question.sampling(near) / n * finite_population_factor(n, users or n)
        return float((error + question.added_variance(max(1, round(n)), near))[shown].mean())

    def usual_error(self, question: Question) -> float:
        """The mean squared error of one report by which mechanisms are compared."""
        return self.usual_variance(question, 1)

    def least_variance(self, name: str, epsilon: Epsilon) -> float:
        """A bound in closed form, which `usual_error` never stays below; 0 where there is none."""
        return 0.0

    # ---- how it is planned for ----

    def over(self, values: Rows) -> Self:
        """A measure with the same statistics, whose users are counted by these values."""
        return replace(self, among=Catalogue(values))

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
        """The true value of each figure whose error counts: float64[periods, figures]."""
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


def quickest(names: Iterable[str]) -> tuple[str, ...]:
    """Names of mechanisms for vectors, those that ask least of a device first.

    >>> quickest(["other", "coco", "kvue"])
    ('kvue', 'coco', 'other')
    """
    return tuple(sorted(names, key=lambda name: (QUICK.index(name) if name in QUICK else len(QUICK), name)))


def smallest(measure: RowMeasure, epsilon: Epsilon) -> Question:
    """The question with the smallest error of all that are possible; of equally good ones the first, since errors are
    compared up to a millionth. A mechanism that is costly to build is built only if it could be the one.
    """
    names = measure.possible
    least = {name: measure.least_variance(name, epsilon) for name in names}
    quick = [name for name in names if not least[name]]
    built = {name: measure.question(name, epsilon) for name in quick or names}
    if not built:
        raise ParameterError(f"{measure.name}: found no mechanism that serves; allowed: {', '.join(measure.serving)}")
    of = {name: measure.usual_error(one) for name, one in built.items()}
    for name in names:
        best = min(of.values())
        first = next(one for one in names if of.get(one, inf) <= best * ALIKE)
        is_worse = least[name] > best * ALIKE
        is_never_first = least[name] >= best * EQUAL and names.index(first) < names.index(name)
        if name not in built and not is_worse and not is_never_first:
            built[name] = measure.question(name, epsilon)
            of[name] = measure.usual_error(built[name])
    return next(built[name] for name in names if of.get(name, inf) <= min(of.values()) * ALIKE)


@lru_cache(maxsize=2)  # of a hundred megabytes at most
def _true_of(measure: RowMeasure, among: Catalogue | None) -> Floats:
    """The number of each statistic for each value that is counted: float64[values, statistics]."""
    return measure.true_of(measure.held_by).astype(np.float64)


@lru_cache(maxsize=256)
def _can(measure: RowMeasure, name: str) -> bool:
    try:
        measure.question(name, 1)
    except ParameterError:
        return False
    return True
