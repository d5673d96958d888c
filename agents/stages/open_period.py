# SPDX-License-Identifier: Apache-2.0
"""The open period of a stream at publish: its state, the rounds that are out, and the tallies that came back.

Contract: the open period changes its state only as PERIOD_STATES allows; a round and its tallies can be stored and
restored.  Not here: what is done next (publish.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from murmurate.agents.stages.errors import StageError, StateError
from murmurate.agents.stages.plan_by_time import PlanByTime
from murmurate.agents.stages.round_question import question_of
from murmurate.agents.stages.tallies import RoundTallies
from murmurate.aggregators.accounting.window import MixedWindow
from murmurate.aggregators.filters.following import Following
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Answer, Decision, Method
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.aggregators.methods.registry import method
from murmurate.aggregators.transitions import State
from murmurate.config.plan import Plan, StreamPlan
from murmurate.topics.codec import decode, encode
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Round, Tally, TallyInBlocks
from murmurate.topics.release import Release


@dataclass(eq=False)
class OutstandingRound:
    """A round, and its tallies so far."""

    round: Round
    tallies: RoundTallies = field(default_factory=RoundTallies)

    @property
    def complete(self) -> bool:
        """Whether all sub-batches are counted."""
        return self.tallies.whole == self.round.targets

    def kept(self) -> dict[str, Any]:
        """The round and its tallies, as a part of a state."""
        return {"round": encode(self.round).decode(), **self.tallies.kept()}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> OutstandingRound:
        """The round and its tallies from what `kept` gave."""
        round_ = decode(kept["round"].encode())
        assert isinstance(round_, Round)  # noqa: S101 - what `kept` wrote
        return cls(round_, RoundTallies.of(kept))


class PeriodState(Enum):
    """The state of a stream's open period."""

    OPENING = "opening"
    """The method has not yet named its first request."""
    ASKED = "asked"
    """A round of the method's is out, and its tallies are awaited."""
    ANSWERED = "answered"
    """All tallies of the round are here: the method decides what follows."""
    UNASKED = "unasked"
    """The method has decided without a question. The tallies of a round of no slots show when the period is over."""


PERIOD_STATES: Final[Mapping[PeriodState, tuple[PeriodState, ...]]] = MappingProxyType({
    PeriodState.OPENING: (PeriodState.ASKED, PeriodState.UNASKED),
    PeriodState.ASKED: (PeriodState.ANSWERED,),
    PeriodState.ANSWERED: (PeriodState.ASKED, PeriodState.OPENING),
    PeriodState.UNASKED: (PeriodState.OPENING,),
})  # fmt: skip
"""The states that may follow each state. After a release the next period is opening."""


@dataclass(eq=False)
class OpenPeriod:
    """One stream, with its open period."""

    plan: StreamPlan
    method: Method
    first_t: int
    t: int
    mixed: MixedWindow
    """The counted rounds of the newest periods: what the mixing is worth."""
    open: OutstandingRound | None = None
    """The round whose tallies are awaited."""
    ahead: dict[int, OutstandingRound] = field(default_factory=dict)
    """The first rounds of the next periods, where they were known and asked ahead of their period."""
    slots: int = 0
    """Slots asked in all rounds of this period."""
    fakes: int = 0
    """The fake reports in the complete rounds of this period."""
    tallies: list[Tally | TallyInBlocks] = field(default_factory=list)
    """The tallies of the complete rounds of this period."""
    decided: Decision | None = None
    """A decision that the method made without a question, to be released when the period is over."""
    past: dict[int, str] = field(default_factory=dict)
    """The releases that are still to be revised, by period, as they were written."""
    given_up: int = 0
    """How often the open round was given up, as far as this instance knows."""
    since: int | None = None
    """When the open round's patience began, in the time of the ticks; None until it begins."""

    def __post_init__(self) -> None:
        self.state: State[PeriodState] = State(
            f"publish: stream {self.plan.name!r}", PeriodState.OPENING, PERIOD_STATES
        )

    def ask(self, outstanding: OutstandingRound) -> None:
        """Wait for the tallies of a round that was written now, or ahead in an earlier period."""
        self.given_up = 0
        self.state.to(PeriodState.ASKED)
        self._wait(outstanding)

    def decide_unasked(self, ends: OutstandingRound, decision: Decision) -> None:
        """Keep a decision made without a question until the tallies of a round of no slots are here."""
        self.state.to(PeriodState.UNASKED)
        self.decided = decision
        self._wait(ends)

    def finish_round(self) -> Answer | Decision | None:
        """End the open round if all its tallies are here, else None. Gives the answer that the method waits for or,
        where nothing was asked, the decision that was kept.
        """
        if self.open is None or not self.open.complete:
            return None
        came, round_, self.open = self.open.tallies, self.open.round, None
        self.tallies += came.in_order()
        question = question_of(round_)
        fakes = question.fakes if came.received else 0  # a round that was held back has none
        counted = came.counted - fakes
        if counted < 0:
            raise StageError(
                f"publish: stream {self.plan.name!r}: {came.counted} reports were counted in period {round_.t}, of "
                f"which {fakes} should be fakes"
            )
        self.fakes += fakes
        whole = not any(tally.missing for tally in came.in_order())
        self.mixed.take(round_.t, question, counted, whole=whole)
        if self.decided is not None:
            decision, self.decided = self.decided, None
            return decision
        self.state.to(PeriodState.ANSWERED)
        support = came.support()
        if not counted or not question.complete(support):
            return Answer(np.zeros_like(support), 0, round_.digest)
        return Answer(support, counted, round_.digest)

    def end(self) -> None:
        """Go on to the next period: this one has been released."""
        self.state.to(PeriodState.OPENING)
        self.t, self.slots, self.fakes, self.tallies = self.t + 1, 0, 0, []

    def _wait(self, outstanding: OutstandingRound) -> None:
        self.open, self.since = outstanding, None
        self.slots += outstanding.round.slots.count()

    @property
    def waiting(self) -> list[OutstandingRound]:
        """The rounds that wait for their tallies."""
        return [one for one in (self.open, *self.ahead.values()) if one is not None]

    def outstanding(self, digest: str) -> OutstandingRound | None:
        """The round of this digest that waits for its tallies, if there is one."""
        return next((one for one in self.waiting if one.round.digest.hex() == digest), None)


def release_of(text: str) -> Release:
    """A release that a state holds. StateError if it was written by a version with another form."""
    try:
        record = decode(text.encode())
    except WireError as error:
        raise StateError(
            f"publish: the state holds a release of another form ({error}): go on with the version that wrote it, or "
            "begin a deployment of another name"
        ) from None
    assert isinstance(record, Release)  # noqa: S101 - what `small` wrote
    return record


def switch(period: OpenPeriod, values: PlanByTime) -> None:
    """Let the method go by what holds from this period on. StageError for one that has decided by it who is asked."""
    begins = period.t * period.plan.every_ms
    least = period.plan.setting(values.at(begins), period.first_t).min_batch
    if least == period.plan.setting(values.at(max(0, begins - period.plan.every_ms)), period.first_t).min_batch:
        return
    method = period.method
    if not isinstance(method, (MethodBase, Following)) or isinstance(method, HorizonMethod):
        raise StageError("publish: found another min_batch; allowed: the same one, with horizons or a found threshold")
    method.go_on(least)


def begun(made: Plan, plan: StreamPlan, first_t: int, t: int) -> OpenPeriod:
    """A stream at the beginning of period t, with its method as it was before the first one."""
    known = None if plan.mixed is None else (made.min_batch, plan.mixed.claim)
    mixed = MixedWindow(plan.w, plan.division, made.delta, made.assumed_corrupt, known)
    return OpenPeriod(plan, method(plan.method, plan.setting(made, first_t)), first_t, t, mixed)
