"""Where a stream stands, as the stage that releases it sees it: what it asked, what came back, what is still to come.

Contract: the open period goes through PERIOD_STATES and no other states; a round and its tallies are a part of a state
and come back from it.  Not here: what is done next (publish.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.round_question import question_of
from murmurate.agents.stages.tallies import RoundTallies
from murmurate.aggregators.methods.method import Answer, Decision, Method
from murmurate.aggregators.transitions import State
from murmurate.config.plan import StreamPlan
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
        """As a part of a state."""
        return {"round": encode(self.round).decode(), **self.tallies.kept()}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> OutstandingRound:
        """From that part."""
        round_ = decode(kept["round"].encode())
        assert isinstance(round_, Round)  # noqa: S101 - what `kept` wrote
        return cls(round_, RoundTallies.of(kept))


class PeriodState(Enum):
    """Where the open period of a stream stands."""

    OPENING = "opening"
    """The method is to say what it asks."""
    ASKED = "asked"
    """A question of the method's waits for its answer."""
    HEARD = "heard"
    """The answer is whole: the method is to say what follows."""
    UNASKED = "unasked"
    """The method has decided without a question. A round to nobody says when the period is over."""


PERIOD_STATES: Final[Mapping[PeriodState, tuple[PeriodState, ...]]] = MappingProxyType({
    PeriodState.OPENING: (PeriodState.ASKED, PeriodState.UNASKED),
    PeriodState.ASKED: (PeriodState.HEARD,),
    PeriodState.HEARD: (PeriodState.ASKED, PeriodState.OPENING),
    PeriodState.UNASKED: (PeriodState.OPENING,),
})  # fmt: skip
"""What may follow: a decision is released, and the next period is opening."""


@dataclass(eq=False)
class OpenPeriod:
    """Where one stream stands."""

    plan: StreamPlan
    method: Method
    first_t: int
    t: int
    open: OutstandingRound | None = None
    """The round whose tallies are awaited."""
    ahead: dict[int, OutstandingRound] = field(default_factory=dict)
    """The first rounds of the next periods, where they were known and asked ahead of their period."""
    slots: int = 0
    """Slots asked in all rounds of this period."""
    tallies: list[Tally | TallyInBlocks] = field(default_factory=list)
    """The tallies of the complete rounds of this period."""
    unasked: Decision | None = None
    """What the method said of this period without a question: released when the period is over."""
    past: dict[int, Release] = field(default_factory=dict)
    """Releases that are still to be revised."""
    since: int | None = None
    """When the open round's patience began, by the ticks; None before the first tick after its period came up."""

    def __post_init__(self) -> None:
        self.state: State[PeriodState] = State(
            f"publish: stream {self.plan.name!r}", PeriodState.OPENING, PERIOD_STATES
        )

    def ask(self, outstanding: OutstandingRound) -> None:
        """A question of the method's goes out, or has been out since an earlier period."""
        self.state.to(PeriodState.ASKED)
        self._wait(outstanding)

    def pass_by(self, ends: OutstandingRound, decision: Decision) -> None:
        """Nothing is asked of this period: the decision is there, and is released once a round to nobody is over."""
        self.state.to(PeriodState.UNASKED)
        self.unasked = decision
        self._wait(ends)

    def hear(self) -> Answer | Decision | None:
        """What is there, if the round that is out is complete: the answer that the method waits for; or of a period of
        which nothing was asked the decision, with which it is over.
        """
        if self.open is None or not self.open.complete:
            return None
        came, round_, self.open = self.open.tallies, self.open.round, None
        self.tallies += came.in_order()
        if self.unasked is not None:
            decision, self.unasked = self.unasked, None
            return decision
        self.state.to(PeriodState.HEARD)
        support = came.support()
        if not question_of(round_).complete(support):
            return Answer(np.zeros_like(support), 0)
        return Answer(support, came.counted)

    def end(self) -> None:
        """The period has been released: on to the next one."""
        self.state.to(PeriodState.OPENING)
        self.t, self.slots, self.tallies = self.t + 1, 0, []

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
    """A release that was kept. StateError if it was written by a version with another form."""
    try:
        record = decode(text.encode())
    except WireError as error:
        raise StateError(
            f"publish: the state holds a release of another form ({error}): go on with the version that wrote it, or "
            "begin a deployment of another name"
        ) from None
    assert isinstance(record, Release)  # noqa: S101 - what `small` wrote
    return record
