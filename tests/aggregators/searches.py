# SPDX-License-Identifier: Apache-2.0
"""A search small enough to follow by hand: codes of a declared domain are found as if nobody knew them.  `Rare` is the
measure, `TwoPhases` the method: the first half of a period's slots name candidates, the second half measures them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.found import FoundMeasure, Values
from murmurate.aggregators.measures.result import Floats
from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.followed import Search, Words
from murmurate.aggregators.methods.method import Answer, Decision, FoundValues, Request, Setting
from murmurate.randomizers import OUE, Question
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Categories


@dataclass(frozen=True)
class Rare(FoundMeasure):
    """Codes that are found."""

    domain: Categories = field(default_factory=lambda: Categories(tuple(map(str, range(40)))))
    name = "rare"

    @property
    def nothing(self) -> Values:
        return np.zeros(0, np.uint32)

    def names_of(self, values: Values) -> tuple[str, ...]:
        return tuple(map(str, values.tolist()))

    def values_of(self, names: Sequence[str]) -> Values:
        return np.array(list(map(int, names)), np.uint32)

    def true_shares(self, rows: Values, counts: NDArray[np.int64], values: Values) -> Floats:
        return np.array([float(counts[rows[:, 0] == value].sum() / counts.sum()) for value in values])

    @property
    def serving(self) -> tuple[str, ...]:
        return ("oue",)

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        return OUE(d=self.d, epsilon=epsilon)

    def example(self, mark: int, *, peak: bool) -> str:
        return str(mark % 40)


class TwoPhases(FindingMethod):
    """Ask who might be large, then ask others how large these are."""

    name = "two-phases"
    simplicity = 99
    searches = Rare
    ERRORS = 3.0

    def __init__(self, setting: Setting) -> None:
        self.oracle = OUE(d=setting.d, epsilon=Fraction(setting.epsilon_micro, 1_000_000))
        super().__init__(setting, would_use=self.oracle, parts=(Fraction(1, 2), Fraction(1, 2)))
        self._candidates: Words | None = None
        self._told: tuple[Floats, int] | None = None

    def _question(self, phase: int) -> Question | None:
        if phase == 0:
            return self.oracle
        if self._candidates is None:
            return None
        return OUE(d=len(self._candidates) + 1, epsilon=self.oracle.epsilon)

    def _heard(self, phase: int, question: Question, answer: Answer) -> None:
        shares = question.estimate(answer.support, answer.counted)
        if phase == 0:
            largest = np.argsort(-shares[:-1], kind="stable")[:8].astype(np.uint32)
            self._candidates = np.unique(np.concatenate((largest, self.followed.values)))
        else:
            self._told = shares, answer.counted

    def _searched(self) -> Search | None:
        (candidates, told), self._candidates, self._told = (self._candidates, self._told), None, None
        if candidates is None or told is None:
            return None
        shares, n = told
        error = float(np.sqrt(self.oracle.noise(np.zeros(1))[0] / n))
        bar = max(self.ERRORS * error, self.measure.least)
        found = candidates[shares[:-1] > bar]
        place = {code: at for at, code in enumerate(candidates.tolist())}

        def measured(values: Words) -> tuple[Floats, Floats]:
            known = np.array([shares[place[code]] if code in place else np.nan for code in values.tolist()])
            return known, self.oracle.noise(known) / n + self._sampled(known, n)

        return Search(found, np.full(len(found), bar), self.ERRORS * error, measured)

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "named": self._candidates is not None}

    def _arrays(self) -> Arrays:
        named = {} if self._candidates is None else {"candidates": self._candidates}
        return {**super()._arrays(), **named}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        super()._load(facts, arrays)
        self._candidates = arrays["candidates"].copy() if facts["named"] else None


@dataclass
class Crowd:
    """Users who hold codes, in slots; whoever is asked answers at once."""

    codes: NDArray[np.int64]
    slots: NDArray[np.int64]
    rng: np.random.Generator

    @classmethod
    def of(cls, shares: Floats, users: int, slots: int, seed: int) -> Crowd:
        """Users whose codes have these shares, the rest code 39."""
        rng = np.random.default_rng(seed)
        all_shares = np.append(shares, np.zeros(40 - len(shares)))
        all_shares[39] += 1 - all_shares.sum()
        return cls(rng.choice(40, users, p=all_shares), rng.integers(0, slots, users), rng)

    def answer(self, request: Request, candidates: Words | None = None) -> Answer:
        """The counts of a round."""
        assert request.asked is not None
        codes, question = self.codes[request.asked[self.slots]], request.question
        d, n = question.outcomes, len(codes)
        if candidates is not None:
            at = np.searchsorted(candidates, codes)
            at[at == len(candidates)] = 0
            codes = np.where(candidates[at] == codes, at, d - 1)
        ones = np.bincount(codes, minlength=d)
        assert isinstance(question, OUE)
        own, others = self.rng.binomial(ones, float(question.p)), self.rng.binomial(n - ones, float(question.q))
        return Answer(np.add(own, others, dtype=np.int64), n, bytes(32))


def found_in(decision: Decision) -> FoundValues:
    """What a decision found."""
    assert isinstance(decision.outcome, FoundValues)
    return decision.outcome
