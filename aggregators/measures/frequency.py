# SPDX-License-Identifier: Apache-2.0
"""A frequency: the shares of users who have each of some declared values, a rolling histogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from murmurate.aggregators.chooser import Prefer, choose
from murmurate.aggregators.measures.measure import Measure, stands
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping, shaped
from murmurate.randomizers import Question
from murmurate.randomizers.registry import serving
from murmurate.randomizers.sessions import Category
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Categories


@dataclass(frozen=True)
class Frequency(Measure):
    """Shares of users by declared value, by "other" if that is declared, and by *none*."""

    domain: Categories

    name = "frequency"
    shaped = True
    ranked = True
    sums_to_one = True
    even_noise = True
    keeps_answers = False

    @classmethod
    def of_size(cls, d: int, *, says_none: bool = True) -> Self:
        """A frequency of so many codes, whose values are named by their numbers."""
        return cls(Categories(tuple(map(str, range(d - says_none)))), says_none)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all codes, in their order."""
        domain = self.domain
        other, none = ("other",) if domain.other else (), ("none",) if self.says_none else ()
        return (*domain.values, *other, *none)

    @property
    def default_code(self) -> int:
        """The code of "other" if that is declared, else of the first value."""
        return len(self.domain.values) if self.domain.other else 0

    @property
    def serving(self) -> tuple[str, ...]:
        """The frequency oracles."""
        return serving(self.name, says_none=self.says_none)

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The oracle with the smallest exact variance, or a short report."""
        return choose(d=self.d, epsilon=epsilon, prefer=prefer)

    def ones(self) -> Category:
        """One coordinate for each value; *none* is zero."""
        return Category(self.d, self.says_none)

    @property
    def d_of_ones(self) -> int:
        """All shares, that of *none* included."""
        return self.d

    def of_ones(self, shares: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """The shares of the values; that of *none* is what is missing."""
        if not self.says_none:
            return shares, variance
        return np.append(shares, 1 - shares.sum()), np.append(variance, variance.sum())

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The shares after post-processing, with the standard errors of the raw ones."""
        standing = stands(decision)
        shares = shaped(shaping, standing.statistics, standing.variance, decision.question)
        return self._named(decision, shares, np.sqrt(standing.variance), standing.course)

    @property
    def two_sided(self) -> bool:
        """Whether there are two values, so that one share determines the other."""
        return self.d == 2

    @property
    def called(self) -> tuple[str, str]:
        """The words for values on the page."""
        return "Category", "Categories"

    def usual_shares(self, values: int) -> Floats:
        """Shares proportional to 1/k for the k-th value."""
        return 1 / np.arange(1.0, values + 1)

    def example(self, mark: int, *, peak: bool) -> str:
        """Each value is half as frequent as the one before; in the peak two fifths of the events have the third value
        (or the last).
        """
        values = self.domain.values
        if peak and mark % 5 < 2:
            return values[min(2, len(values) - 1)]
        step = 0
        while mark < 50 and step < len(values) - 1:
            mark, step = mark * 2, step + 1
        return values[step]
