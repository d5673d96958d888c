# SPDX-License-Identifier: Apache-2.0
"""What all reports of one user about any w periods tell together, in exact arithmetic, for what was really asked.

A report is a keyed pseudorandom function of (round, user, value).  So over keys the reports of one user are independent
and each follows its mechanism's law: test_pipeline.py measures the first, test_exact.py proves the second.  Then
P[transcript | one stream] / P[transcript | another] is a product over the rounds that the user answered in the window,
and no transcript tells more than the product of the mechanisms' largest ratios.  Different bytes for one round are
draws of their own.  Questions may depend on earlier answers: the product is that of the questions of this very run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
import pytest

from murmurate.randomizers import Ask, DeviceArray, Grant, Question
from murmurate.randomizers.devices import Answers
from murmurate.randomizers.ledger import Mask

History = tuple[tuple[int, Question, int], ...]
"""(t, mechanism, different reports) of each round that a user answered."""


@dataclass
class Told:
    """All that left the devices of a run, crashes included."""

    asks: dict[bytes, Ask] = field(default_factory=dict)
    """Rounds that were answered, by digest."""
    said: dict[bytes, dict[bytes, dict[bytes, int]]] = field(default_factory=lambda: defaultdict(dict))
    """Per round and user each different report, and the value it was of."""
    times: int = 0
    """How often an array answered, crashes included."""

    def note(self, devices: DeviceArray, grant: Grant, answers: Answers) -> None:
        self.times += 1
        digest = grant.ask.digest
        self.asks[digest] = grant.ask
        users, values = devices.users[answers.rows], devices._value[answers.rows].tolist()
        for user, report, value in zip(users, answers.reports, values, strict=True):
            self.said[digest].setdefault(user.tobytes(), {}).setdefault(report.tobytes(), value)

    def histories(self) -> set[History]:
        """What the users were asked and answered: those of one slot have the same history."""
        of: dict[bytes, list[tuple[int, Question, int]]] = defaultdict(list)
        for digest, ask in self.asks.items():
            for user, reports in self.said[digest].items():
                of[user].append((ask.t, ask.question, len(reports)))
        return {tuple(history) for history in of.values()}

    def most_telling(self, w: int) -> Fraction:
        """The largest ratio of any transcript of any user about any w periods: e to what it costs in epsilon."""
        return max(
            prod((largest(mechanism) ** n for t, mechanism, n in history if begin <= t < begin + w), start=Fraction(1))
            for history in self.histories()
            for begin, _, _ in history
        )

    def values(self, user: bytes) -> dict[int, int]:
        """What a user told, by period, where one told anything."""
        told = {digest: said[user] for digest, said in self.said.items() if user in said}
        return {self.asks[digest].t: next(iter(reports.values())) for digest, reports in told.items()}

    def answered(self, user: bytes, periods: range) -> list[Ask]:
        """The rounds about these periods that a user answered."""
        return [ask for digest, ask in self.asks.items() if ask.t in periods and user in self.said[digest]]


@contextmanager
def listening() -> Iterator[Told]:
    """Hear all that devices say meanwhile, even where a crash follows at once."""
    told, answer = Told(), DeviceArray.answer

    def noted(self: DeviceArray, grant: Grant, values: np.ndarray, members: Mask | None = None) -> Answers:
        answers = answer(self, grant, values, members)
        told.note(self, grant, answers)
        return answers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeviceArray, "answer", noted)
        yield told


@lru_cache(maxsize=256)
def largest(mechanism: Question) -> Fraction:
    """By how much one report may be likelier for one value than for another."""
    laws = [mechanism.law(value) for value in range(mechanism.layout[1])]
    chances = ([law[report] for law in laws] for report in laws[0])
    return max((max(of) / min(of) for of in chances), default=Fraction(1))
