# SPDX-License-Identifier: Apache-2.0
"""Devices that break the promise about horizons, one way each, and servers that would profit: what the audit must see.

Each fault is in the devices; the rounds beside it ask for what it gives away.  Not here: faults of the laws themselves,
such as counters as printed or a table of 64 bits a node (tests/randomizers/sessions/drawn_outright.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from murmurate.agents.stages.stream_at_partition import StreamAtPartition
from murmurate.config.plan import Plan
from murmurate.randomizers import DeviceArray, Grant, Refusal
from murmurate.randomizers.devices import Answers
from murmurate.randomizers.guard import Ask, Guard
from murmurate.randomizers.ledger import Ledger, Mask, Verdict
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.sessions import Session, Sessions
from murmurate.topics.message import Message
from murmurate.topics.messages import Round
from tests.agents.stages.horizon_rounds import COHORTS, LAWFUL, T, lawful
from tests.agents.world import FIRST

SOON = 1
"""What a server writes as the patience of a round, if it says that its bill ends with its period."""


class Planted(NamedTuple):
    """A fault, and a server that makes use of it."""

    plant: Callable[[pytest.MonkeyPatch], None]
    rounds: Sequence[Message]
    crashes: bool = False


def bill_by_the_servers_word(patch: pytest.MonkeyPatch) -> None:
    """A round costs what its message says: here that its bill ends with its own period."""
    charge, of_stream, said = Guard.charge, StreamAtPartition.charge, [0]

    def heard(self: StreamAtPartition, round_: Round, plan: Plan) -> Grant | Refusal:
        said[0] = round_.patience_ms
        return of_stream(self, round_, plan)

    def charged(self: Guard, ask: Ask, asked: Mask) -> np.ndarray:
        bill = ask.question.bill(ask.t)
        if said[0] != SOON or bill.digest is None:
            return charge(self, ask, asked)
        return self.ledger.charge(ask.t, bill.epsilon_micro, ask.digest, asked, (ask.t, ask.t))

    patch.setattr(StreamAtPartition, "charge", heard)
    patch.setattr(Guard, "charge", charged)


def slots_rest_too_short(patch: pytest.MonkeyPatch) -> None:
    """A slot may pay for the next bill as soon as the one before has ended."""
    verdicts = Ledger.verdicts

    def early(self: Ledger, *charge: Any) -> np.ndarray:
        w, self.w = self.w, 1
        try:
            return verdicts(self, *charge)
        finally:
            self.w = w

    patch.setattr(Ledger, "verdicts", early)


def nodes_are_answered_again(patch: pytest.MonkeyPatch) -> None:
    """Whoever has paid for a bill answers any round of it."""
    verdicts = Ledger.verdicts

    def again(self: Ledger, *charge: Any) -> np.ndarray:
        told = verdicts(self, *charge)
        told[told == Verdict.CLOSED] = Verdict.CONTINUED
        return told

    patch.setattr(Ledger, "verdicts", again)


def secrets_are_drawn_with_each_first_round(patch: pytest.MonkeyPatch) -> None:
    """The first round of a horizon, whenever it comes, begins all its sessions."""
    answer = DeviceArray._answer_node

    def begun(self: DeviceArray, grant: Grant, asked: Node, values: np.ndarray, members: Mask) -> Answers:
        session = self._sessions.of(asked, grant.ask.t)
        if session is not None and asked.opens:
            session.begun = False
        return answer(self, grant, asked, values, members)

    patch.setattr(DeviceArray, "_answer_node", begun)


def draws_are_fresh_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    """Whoever is restored draws the words of nodes by another name of their rounds."""
    restore: Any = DeviceArray.restore.__func__  # type: ignore[attr-defined]
    answer: Any = Session.answer
    lives = [0]

    def restored(cls: type[DeviceArray], *state: Any, **where: Any) -> DeviceArray:
        lives[0] += 1
        return restore(cls, *state, **where)  # type: ignore[no-any-return]

    def fresh(self: Session, asked: Node, *rest: Any) -> Any:
        *others, digest = rest
        return answer(self, asked, *others, digest[:28] + lives[0].to_bytes(4, "little"))

    patch.setattr(DeviceArray, "restore", classmethod(restored))
    patch.setattr(Session, "answer", fresh)


def counters_are_fresh_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    """Secret counters are drawn anew where a state is read."""
    load = Sessions.load

    def forgetful(self: Sessions, *state: Any) -> None:
        load(self, *state)
        for session in self._held.values():
            for level, protocol in enumerate(session.horizon.protocols):
                words = np.arange(len(session.rows[level]) * protocol.begin_words, dtype=np.uint64) << np.uint64(48)
                session.counters[level] = protocol.begin(words.reshape(-1, protocol.begin_words))

    patch.setattr(Sessions, "load", forgetful)


def users_are_forgotten_and_enrolled_again(patch: pytest.MonkeyPatch) -> None:
    """At each node whoever belongs to the period begins a session, as if nothing had been told before."""
    answer = DeviceArray._answer_node

    def again(self: DeviceArray, grant: Grant, asked: Node, values: np.ndarray, members: Mask) -> Answers:
        session = self._sessions.of(asked, grant.ask.t)
        if session is not None and session.begun:
            session.begin(self._secrets.randomness, self.users, self._slot, members, self._value)
        return answer(self, grant, asked, values, members)

    patch.setattr(DeviceArray, "_answer_node", again)


def is_again(again: Round, one: Message) -> bool:
    """Whether one asks the node that the other asks again."""
    return isinstance(one, Round) and (again.t, again.mechanism) == (one.t, one.mechanism)


HORIZON = [*lawful(COHORTS[0], FIRST)]
AGAIN = [
    one.model_copy(update={"patience_ms": 7}) for one in LAWFUL if isinstance(one, Round) and one.t % T == FIRST % T
]
"""The first rounds of all horizons, by other rounds."""
TWICE = [each for one in LAWFUL for each in (one, *(again for again in AGAIN if is_again(again, one)))]
SAID_TO_END_SOON = [
    one.model_copy(update={"patience_ms": SOON}) if isinstance(one, Round) else one
    for one in [*HORIZON, *lawful(COHORTS[0], FIRST + T)]
]
PLANTED = [
    Planted(bill_by_the_servers_word, SAID_TO_END_SOON),
    Planted(slots_rest_too_short, [*HORIZON, *lawful(COHORTS[0], FIRST + T)]),
    Planted(nodes_are_answered_again, [HORIZON[0], AGAIN[0], *HORIZON[1:6]]),
    Planted(secrets_are_drawn_with_each_first_round, TWICE),
    Planted(draws_are_fresh_after_a_restart, LAWFUL, crashes=True),
    Planted(counters_are_fresh_after_a_restart, LAWFUL, crashes=True),
    Planted(users_are_forgotten_and_enrolled_again, LAWFUL),
]
