# SPDX-License-Identifier: Apache-2.0
"""The guards of all users of one raw partition, for one stream: decisions by slot, reports in one array.

Contract: that of one device (device.py), vectorized over users: the same bytes.  Whether users answer depends on their
slots and on the rounds folded, never on a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.cipher import BLOCK
from murmurate.randomizers.device import other_layout
from murmurate.randomizers.errors import FrozenFactsError, ParameterError, ValueRefusedError
from murmurate.randomizers.guard import Ask, Guard, Refusal, Secrets, check_facts
from murmurate.randomizers.identity import NO_STREAM, partitions, slots, streams
from murmurate.randomizers.lanes import Bytes
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.ledger import ANSWERING, NEVER, REASONS, Ledger, Mask
from murmurate.randomizers.question import Reports, Values
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.sessions import Sessions
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.randomizers.terms import Terms

DEVICES: Final = StateForm("devices", 2)
"""The state form of the spending and answers of all users of a stream."""


@dataclass(frozen=True, eq=False)
class Grant:
    """A question that was charged: who answers it, and who was refused and why."""

    ask: Ask
    answering: Mask
    """bool[S]: the slots that answer the round."""
    refused: Mapping[str, int]
    """How many users were refused, by reason."""


class Answers(NamedTuple):
    """The reports of a partition's users, in the order of their rows."""

    rows: NDArray[np.int64]
    users: Bytes
    reports: Reports


class DeviceArray:
    """The guards of all users of one raw partition, for one stream: decisions by slot, reports in one array."""

    def __init__(self, terms: Terms, stream: str, secrets: Secrets, *, partition: int = 0) -> None:
        found = terms.stream(stream)
        if found is None:
            raise ParameterError(f"stream: found {stream!r}; allowed: {', '.join(s.name for s in terms.streams)}")
        if not 0 <= partition < terms.partitions:
            raise ParameterError(f"partition: found {partition}; allowed: 0 to {terms.partitions - 1}")
        self._terms, self._secrets, self._partition = terms, secrets, partition
        self._index = terms.streams.index(found)
        self._guard = Guard(terms, found, found.slots)
        self._size = 0
        self._users = np.zeros((0, BLOCK), np.uint8)
        self._slot = np.zeros(0, np.uint16)
        words = layout(found.layout).words
        self._wide = (words,) if words > 1 else ()
        self._kind = np.dtype(np.uint32 if self._wide else np.int32)
        self._value = np.zeros((0, *self._wide), self._kind)  # the value of each user's newest answer,
        self._value_t = np.zeros(0, np.int64)  # and the period it was for
        self._sessions = Sessions()
        self._in_slot = np.zeros(found.slots, np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def users(self) -> Bytes:
        """Pseudonyms in the order of their rows: uint8[n, 16]."""
        return self._users[: self._size]

    @property
    def ledger(self) -> Ledger:
        """What each slot has spent."""
        return self._guard.ledger

    def enrol(self, users: Bytes) -> Mask:
        """Add users as the next rows, in this order. Whoever hashes to another partition or stream is refused:
        bool[n] accepted.

        The caller enrols a user once.
        """
        mine = partitions(users, self._terms.partitions) == self._partition
        if self._terms.split == "users":
            shares = [stream.share_micro for stream in self._terms.streams]
            served = streams(self._secrets.split, users, shares)
            mine &= (served == self._index) & (served != NO_STREAM)
        new = users[mine]
        slot = slots(self._secrets.slots, new, self._guard.stream.slots, self._guard.stream.name)
        size = self._size + len(new)
        if size > len(self._users):
            room = max(size, len(self._users) * 5 // 4, 1024) - len(self._users)
            self._users = np.concatenate((self._users, np.zeros((room, BLOCK), np.uint8)))
            self._slot = np.concatenate((self._slot, np.zeros(room, np.uint16)))
            self._value = np.concatenate((self._value, np.zeros((room, *self._wide), self._kind)))
            self._value_t = np.concatenate((self._value_t, np.full(room, NEVER, np.int64)))
        self._users[self._size : size] = new
        self._slot[self._size : size] = slot
        self._in_slot += np.bincount(slot, minlength=len(self._in_slot))
        self._size = size
        return np.asarray(mine)

    def charge(self, ask: Ask) -> Grant | Refusal:
        """Decide and book, slot by slot, when the round is folded and before its closing is awaited."""
        refusal = self._guard.refusal(ask) or self._sessions.refusal(ask, self.ledger)
        if refusal is not None:
            return refusal
        self._sessions.asked(ask)
        asked = np.ones(self._guard.stream.slots, np.bool_) if ask.asked is None else ask.asked
        verdicts = self._guard.charge(ask, asked)
        answering = np.isin(verdicts, ANSWERING)
        refused = {reason: int(self._in_slot[verdicts == verdict].sum()) for verdict, reason in REASONS.items()}
        return Grant(ask, answering, {reason: n for reason, n in refused.items() if n})

    def rows(self, grant: Grant, members: Mask | None = None) -> NDArray[np.int64]:
        """The rows that answer, among the members (all users): int64[m]."""
        answering = grant.answering[self._slot[: self._size]]
        return np.flatnonzero(answering if members is None else answering[: len(members)] & members)

    def answer(self, grant: Grant, values: Values, members: Mask | None = None) -> Answers:
        """The reports to a question that was charged.

        values: int[n] or uint32[n, words], one for each of the first n users. members: bool[n], who of them is in the
        population of this period; those enrolled later are not.
        """
        n, shape = len(values), values.shape[1:]
        everybody = np.ones(n, np.bool_)
        if shape != self._wide or n > self._size or (members is not None and members.shape != (n,)):
            raise ValueRefusedError(
                f"values: found {list(values.shape)}; allowed: one for each of at most {self._size} users"
                + (f", each of {self._wide[0]} words" if self._wide else "")
            )
        if isinstance(grant.ask.question, Node):
            return self._answer_node(grant, grant.ask.question, values, everybody if members is None else members)
        t = grant.ask.t
        rows = self.rows(grant, everybody if members is None else members)
        at = slice(len(rows)) if len(rows) == len(values) else rows  # where all answer, no copies
        users, answered, before = self._users[at], values[at].astype(self._kind), self._value_t[at]
        repeated, newer = before == t, before < t
        if repeated.any():
            answered[repeated] = self._value[at][repeated]
        reports = grant.ask.question.perturb(answered, self._secrets.randomness.draw(users, round=grant.ask.digest))
        if newer.all():
            self._value[at], self._value_t[at] = answered, t
        else:
            self._value[rows[newer]], self._value_t[rows[newer]] = answered[newer], t
        return Answers(rows, users, reports)

    def _answer_node(self, grant: Grant, node: Node, values: Values, members: Mask) -> Answers:
        """1. Open the session, with the members of its first period. 2. Answer for those of its level."""
        session, key = self._sessions.of(node, grant.ask.t), self._secrets.randomness
        if session is None:
            return Answers(np.zeros(0, np.int64), self._users[:0], np.zeros((0, node.wire_size), np.uint8))
        if node.opens and not session.begun:
            session.begin(key, self.users, self._slot, members, self._value)
        chosen = grant.answering[self._slot[session.rows[node.level]]]
        rows = session.rows[node.level][chosen].astype(np.int64)
        reports = session.answer(node, chosen, values, key, self.users, grant.ask.digest)
        return Answers(rows, self._users[rows], reports)

    def look(self, t: int, values: Values) -> None:
        """Take note of the values of period t, one for each of the first users, where a session reads them.

        To be called for each period that a session lasts, in order and after the answers about that period.
        """
        self._sessions.look(t, values)

    def end_sessions(self, t: int) -> None:
        """Forget the sessions that are over, once nothing can be asked about period t any more."""
        self._sessions.end(t)

    @property
    def in_session(self) -> bool:
        """Whether a horizon is open, so that periods have to be looked at."""
        return bool(self._sessions)

    def close_until(self, time_ms: int) -> None:
        """Refuse periods that begin before this time, as after a lost history of spending."""
        self._guard.close_until(time_ms)

    def snapshot(self) -> bytes:
        """The whole state of spending and answers; the stage encrypts it, since it holds values."""
        arrays = self._guard.ledger.arrays() | {
            "users": self.users,
            "value": self._value[: self._size],
            "value_t": self._value_t[: self._size],
            **self._sessions.arrays(),
        }
        facts = {
            "terms": self._terms.facts(),
            "sessions": self._sessions.facts(),
            "stream": self._guard.stream.name,
            "partition": self._partition,
            "randomness": self._secrets.randomness.fingerprint,
        }
        return dump(DEVICES, facts, arrays)

    @classmethod
    def restore(cls, data: bytes, terms: Terms, stream: str, secrets: Secrets, *, partition: int = 0) -> DeviceArray:
        """The array of a snapshot. FrozenFactsError if it belongs to others, or was written under other frozen facts.

        Under another randomness key a repeated round would get other bytes, so it has to be paid for again.
        """
        facts, arrays = load(DEVICES, data)
        devices = cls(terms, stream, secrets, partition=partition)
        if (facts["stream"], facts["partition"]) != (stream, partition):
            raise FrozenFactsError(f"stream {stream!r}, partition {partition}: the snapshot is another's")
        check_facts(facts["terms"], terms, f"stream {stream!r}")
        held = arrays["value"]
        if held.shape[1:] != devices._wide or held.dtype != devices._kind:
            raise other_layout(f"stream {stream!r}", held.shape[1:])
        accepted = devices.enrol(arrays["users"])
        devices._value[: devices._size] = arrays["value"][accepted]
        devices._value_t[: devices._size] = arrays["value_t"][accepted]
        devices._guard.ledger.load({name: arrays[name] for name in devices._guard.ledger.arrays()})
        if facts["randomness"] != secrets.randomness.fingerprint:
            devices._guard.ledger.forget_answers()
        else:
            devices._sessions.load(facts["sessions"], arrays)
        return devices
