# SPDX-License-Identifier: Apache-2.0
"""A distribution: how a number is spread over the users, as shares of equally long intervals of its range.

Contract: where one mechanism makes all reports, a filter follows the shares of reports, and EM estimates the
distribution behind them, with the standard error of so many reports.  Not here: EM (aggregators/distribution*.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from murmurate.aggregators.distribution_posterior import posterior
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.measures.measure import stands
from murmurate.aggregators.measures.numbers import Numbers
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.measures.wandering import bumps
from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.last_estimate import measured
from murmurate.aggregators.methods.method import Answer, Decision, Estimate
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping, shaped
from murmurate.randomizers import SW, WaveAndPresence
from murmurate.randomizers.terms import Division
from murmurate.topics.domains import Grid


@dataclass(frozen=True)
class Distribution(Numbers):
    """Shares of users by interval of the range, and by *none*."""

    name = "distribution"
    served_as = name
    ordered = True
    costly = True

    @classmethod
    def of_size(cls, d: int, *, says_none: bool = True) -> Self:
        """A distribution over so many codes, from -1 to 1."""
        return cls(Grid(-1, 1, d - says_none, "stretches"), says_none)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the intervals, and of having no value."""
        names = stretches(self.domain)
        return (*names, "none") if self.says_none else names

    def follows_reports(self, division: Division) -> bool:
        """Only under population division: under budget division the reports of different rounds are not comparable."""
        return division == "population"

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The distribution behind the reports, where one mechanism made all of them; otherwise the estimated cells,
        post-processed.
        """
        standing, question, vector = stands(decision), decision.question, decision.vector
        if isinstance(question, SW | WaveAndPresence):
            if standing.of_reports:
                return self._named(decision, *_behind(standing, question))
            if vector.best is None and decision.measured_t is not None and vector.answer is not None:
                return self._named(decision, *_of_reports(decision, question, vector.answer))
        shares = shaped(shaping, standing.statistics, standing.variance, question)
        return self._named(decision, shares, np.sqrt(standing.variance), standing.course)

    @property
    def what(self) -> str:
        """The range of the numbers and the number of intervals."""
        return f"{super().what} in {self.domain.none} stretches"

    @property
    def shown_as(self) -> str:
        """What one line per release shows: the shape, the highest share and its standard error."""
        return "their shape, the highest and its standard error"

    def said(self, code: int) -> str:
        """The interval of a code, by its name."""
        return self.names[code]

    @property
    def called(self) -> tuple[str, str]:
        """The words for intervals on the page, with the unit of their names."""
        unit = f" in {self.unit}" if self.unit else ""
        return f"Stretch{unit}", f"Stretches{unit}"

    def usual_shares(self, values: int) -> Floats:
        """A bump around the middle of the range."""
        return np.asarray(bumps(np.zeros(1), values)[0])


@lru_cache(maxsize=64)
def stretches(grid: Grid) -> tuple[str, ...]:
    """The names of a grid's stretches.

    >>> stretches(Grid(0, 1, 4, "stretches"))
    ('[0, 0.25)', '[0.25, 0.5)', '[0.5, 0.75)', '[0.75, 1]')
    """
    edges = [f"{grid.edge(code):.12g}" for code in range(grid.cells + 1)]
    ends = [")"] * (grid.cells - 1) + ["]"]
    return tuple(f"[{edges[i]}, {edges[i + 1]}{end}" for i, end in enumerate(ends))


def _behind(standing: Estimate, question: SW | WaveAndPresence) -> tuple[Floats, Floats]:
    """The distribution behind smoothed shares of reports, and its standard error: that of as many reports as would give
    these shares the same variance.
    """
    shares = np.clip(standing.statistics, 0, 1)
    reports = float((shares * (1 - shares)).mean() / standing.variance.mean())
    found = posterior(channel_of(question), shares * reports)
    return found.frequencies, np.sqrt(found.variance)


def _of_reports(decision: Decision, question: SW | WaveAndPresence, answer: Answer) -> tuple[Floats, Floats]:
    """The distribution behind the newest reports, and its standard error: of these reports plus the drift since."""
    n, users = answer.counted, decision.vector.users
    sampled = 0.0 if users is None else finite_population_factor(n, users)
    found = posterior(channel_of(question), answer.support, sampled=sampled)
    fresh = measured(decision.t, question, answer, users).variance
    return found.frequencies, np.sqrt(found.variance + np.maximum(decision.vector.variance - fresh, 0))
