# SPDX-License-Identifier: Apache-2.0
"""One question at a time, periods in order, and a state that survives a crash at any point: what all methods share.

Contract: `open` and `tally` come in turn, or a TurnError says so and nothing has changed.  `state()` between any two
calls, loaded into a new instance with the same setting, goes on as if nothing had happened, and the same history
gives the same bytes.  Not here: what to ask and what to release, which the methods fill in.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from inspect import signature
from typing import Any, ClassVar

import orjson

from murmurate.aggregators.accounting.schedules import Absorbed, Often, SharedOut, WindowRounds
from murmurate.aggregators.methods import last_estimate
from murmurate.aggregators.methods.asking import QuestionAt, sample_of
from murmurate.aggregators.methods.errors import TurnError
from murmurate.aggregators.methods.last_estimate import LastEstimate
from murmurate.aggregators.methods.method import Answer, Decision, Purpose, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.slots import Crowd
from murmurate.randomizers import Question, SnapshotError
from murmurate.randomizers.state import Arrays, StateForm, dump, load
from murmurate.randomizers.terms import Division


class MethodBase(ABC):
    """The base of all methods, which add what is asked and what is released."""

    name: ClassVar[str]
    """The method's name in a deployment file and a release."""
    division: ClassVar[Division]
    """What the promise is divided into: the users ("population") or epsilon ("budget")."""
    form: ClassVar[int] = 1
    """The form of the method's state: whoever changes what stands in it raises this number."""
    averages: ClassVar[bool] = False
    """Whether a release averages over the answers of many periods, also without a filter."""
    fixed: ClassVar[bool] = False
    """Whether the method's questions stay the same whatever is answered."""
    usual_words: ClassVar[Mapping[str, str]] = {}
    """The values that options have unless they are given, which nothing that is kept or released says."""
    simplicity: ClassVar[int]
    """The rank of the method by simplicity: of two with equal errors the one with the smaller number is chosen."""

    def __init__(self, setting: Setting, *, would_use: Question, **options: str) -> None:
        self.setting = setting
        self.crowd = Crowd(setting.slots)
        self.standing = last_estimate.nothing(would_use)
        self.t = setting.first_t - 1
        """The newest period that was opened."""
        self.waiting: tuple[Purpose, int] | None = None
        """Purpose and amount of the question that is open."""
        self._options = options
        self._setting = self._digest()

    @classmethod
    def takes(cls) -> tuple[str, ...]:
        """The names of the method's own options."""
        return tuple(name for name in signature(cls).parameters if name != "setting")

    @classmethod
    @abstractmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """The part that a period's smallest round uses: of the users, or of epsilon under budget division."""

    @classmethod
    def smallest_asked(cls, setting: Setting, options: MethodOptions) -> Fraction:
        """What `smallest` says, of a stream of this setting."""
        return cls.smallest(setting.w, options)

    @classmethod
    def first(cls, w: int, options: MethodOptions) -> Fraction:
        """The part that the very first round uses."""
        return cls.smallest(w, options)

    @classmethod
    def usual(cls, w: int) -> Fraction:
        """About the part of the resource behind a period's estimate, whatever the options."""
        return Fraction(1, w)

    @property
    def step(self) -> int:
        """The period as the papers count it: 1 for the stream's first."""
        return self.t - self.setting.first_t + 1

    @property
    def sample(self) -> float | None:
        """The number of users of whom the reports of a question are a sample; None where everybody answers."""
        return sample_of(self.division, self.crowd)

    def most_rounds(self) -> WindowRounds:
        """All that a user may be asked in any w periods: under population division one round, with the whole
        epsilon. A method that divides the budget says what it may ask.
        """
        if self.division == "budget":
            raise NotImplementedError(f"{self.name}: found no word on what it may ask in a window")
        return self._rounds(Often(self.setting.epsilon_micro, 1))

    def _rounds(
        self, *often: Often, chosen: bool = False, publications: Absorbed | SharedOut | None = None
    ) -> WindowRounds:
        one = self.setting.mechanism != "auto"
        return WindowRounds(QuestionAt(self.setting), often, chosen, publications, one)

    def open(self, t: int) -> Request | Decision:
        """Begin period t."""
        if self.waiting:
            raise TurnError(
                f"{self.name}: found t = {t} opened while the question of t = {self.t} waits for its answer"
            )
        if t <= self.t:
            raise TurnError(
                f"{self.name}: found t = {t} opened after t = {self.t}; allowed: periods in order, each once"
            )
        self.t = t
        return self._begin()

    def tally(self, answer: Answer) -> Request | Decision:
        """Take the whole answer to the question that is open."""
        if not self.waiting:
            raise TurnError(f"{self.name}: found an answer at t = {self.t} while no question is open")
        purpose, amount = self.waiting
        self.waiting = None
        self.crowd.learn(self._slots(amount), answer.counted)
        return self._answered(purpose, amount, answer)

    def later(self, t: int) -> Request | None:
        """What `open` will ask of a period that has not been opened, where that is known by now."""
        return None

    def go_on(self, min_batch: int) -> None:
        """From the next question on, another number of reports is the fewest that are released."""
        self.setting = replace(self.setting, min_batch=min_batch)
        self._setting = self._digest()

    def _digest(self) -> str:
        """What a state says of the setting that it was written under."""
        facts = {**self.setting.facts(), **self._options}
        return hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def state(self) -> bytes:
        """All that must survive a crash."""
        facts: dict[str, Any] = {
            "setting": self._setting,
            "t": self.t,
            "waiting": self.waiting,
            "reports": self.crowd.reports,
            "asked": self.crowd.slots_asked,
            "standing": self.standing.facts(),
            "own": self._facts(),
        }
        return dump(StateForm(f"method {self.name}", self.form), facts, {**self.standing.arrays(), **self._arrays()})

    def load(self, state: bytes) -> None:
        """Go on from `state()`, given the same setting."""
        facts, arrays = load(StateForm(f"method {self.name}", self.form), state)
        if facts["setting"] != self._setting:
            raise SnapshotError(f"method {self.name}: found the state of another setting; allowed: of this one")
        self.t = facts["t"]
        self.waiting = (facts["waiting"][0], facts["waiting"][1]) if facts["waiting"] else None
        self.crowd.reports, self.crowd.slots_asked = facts["reports"], facts["asked"]
        self.standing = last_estimate.restored(facts["standing"], arrays)
        self._load(facts["own"], arrays)

    def _estimate(self, mechanism: Question, answer: Answer) -> LastEstimate:
        """The estimate from an answer of this period that counts."""
        return last_estimate.measured(self.t, mechanism, answer, self.sample, kept=self.setting.measure.keeps_answers)

    # ---- what a method fills in ----

    @abstractmethod
    def _begin(self) -> Request | Decision:
        """The first question of period `self.t`; whoever asks sets `waiting`."""

    @abstractmethod
    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Request | Decision:
        """What follows from the answer to a question of this amount."""

    @abstractmethod
    def _slots(self, amount: int) -> int:
        """How many slots a question of this amount asked."""

    def _facts(self) -> dict[str, Any]:
        return {}

    def _arrays(self) -> Arrays:
        return {}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        return None
