# SPDX-License-Identifier: Apache-2.0
"""A measure, and the table that describes a stream of it: by how much one answer leads another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer, choose
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.measure import AUTO, Measure, Range, stands
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.config.kinds import Text, Texts
from murmurate.config.measures.stream import StreamTable
from murmurate.config.streams import OneOf
from murmurate.randomizers import Question
from murmurate.randomizers.registry import oracles
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Categories


@dataclass(frozen=True)
class Lead(Measure):
    """The share of the first of two answers less that of the second: from -1 to 1."""

    domain: Categories

    name = "lead"
    all_shares = False

    @property
    def names(self) -> tuple[str, ...]:
        """One statistic."""
        return ("lead",)

    @property
    def range(self) -> Range:
        """Between all for the second and all for the first."""
        return -1.0, 1.0

    def limits(self, name: str) -> Range:
        """The same."""
        return self.range

    def is_share(self, name: str) -> bool:
        """A difference is none."""
        return False

    @property
    def what(self) -> str:
        """Which answers."""
        return " over ".join(self.domain.values)

    def said(self, code: int) -> str:
        """An answer."""
        return self.domain.value(code)

    @property
    def serving(self) -> tuple[str, ...]:
        """The frequency oracles."""
        return oracles()

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The best of them."""
        return choose(d=self.d, epsilon=epsilon, prefer=prefer)

    @property
    def _weights(self) -> Floats:
        return np.array([1.0, -1.0] + [0.0] * (self.d - 2))

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """Of the two of its statistics that count."""
        return 2 * super().round_error(question, n, users, profile)

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The difference, with the errors of both."""
        said, weights = stands(decision), self._weights
        lead = np.array([said.statistics @ weights])
        error = np.sqrt(np.array([said.variance @ weights**2]))
        course = None if said.course is None else np.stack((said.course[:1] @ weights, said.course[1:] @ weights**2))
        told = decision.vector
        own_variance = np.array([told.measured_variance @ weights**2])
        own = decision.with_vector(unbiased=np.array([told.unbiased @ weights]), own_variance=own_variance)
        return self._named(own, np.clip(lead, -1, 1), error, course)

    def truth(self, counts: NDArray[np.int64]) -> Floats:
        """The difference of true shares."""
        users = int(counts.sum())
        return np.array([counts @ self._weights / users if users else np.nan])

    def every_code(self) -> Frequency:
        """Shares of the answers."""
        return Frequency(self.domain, self.says_none)

    def true_figures(self, holders: NDArray[np.int64]) -> Floats:
        """The same of many periods."""
        return np.asarray(holders @ self._weights / holders.sum(axis=1))[:, np.newaxis]

    def example(self, mark: int, *, peak: bool) -> str:
        """The second answer leads in the peak."""
        return self.domain.values[int(mark % 5 < (3 if peak else 1))]


class LeadStream(StreamTable):
    """Its table."""

    measured = Lead
    measure: Literal["lead"]
    values: Annotated[tuple[str, ...], Texts(Text(r"^.{1,64}$", "a text of 1 to 64 characters"), 2, 2)]
    mechanism: Annotated[str, OneOf(AUTO, oracles)] = AUTO

    @classmethod
    def examples(cls) -> Iterator[dict[str, Any]]:
        """Keys of a stream's table that the audit replays."""
        yield {"measure": "lead", "values": ["tea", "coffee"]}

    def statistic(self) -> Lead:
        """The lead of its first answer."""
        return Lead(Categories(self.values), self.says_none)

    def meaning(self) -> dict[str, Any]:
        """Its answers."""
        return {"values": self.values}

    @property
    def initial_code(self) -> None:
        """The first answer."""
        return
