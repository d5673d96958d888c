# SPDX-License-Identifier: Apache-2.0
"""The sessions of a stream's users: secret counters and values read, from the opening of a horizon to its end.

Contract: the round of a horizon's first node opens the session of its cohort, for the users of that period's population
and nobody who comes later.  From then on a level reads values at its own steps (`look`), whether a round asks or not,
and answers each node at most once, in order (the ledger sees to that); a skipped node is not answered, and costs
nothing.  A user tells at most s changes: a node with more changes than are left is told as no change, and so is every
later one.  Where a look was missed, the node is told as no change.  A cohort has one horizon at a time; another one is
refused, and so is a round about an older period than the newest one asked about in any session, and a horizon that
costs more than there is.  Secrets are drawn once: a horizon is not opened again, neither while it lasts nor where
somebody has paid for it.  Arrays and facts hold the whole state: from them the same bytes follow.
Source: ARCHITECTURE section 5.18.  Not here: charges (ledger.py), who may be asked (guard.py).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.guard import Ask, Refusal
from murmurate.randomizers.lanes import Bytes
from murmurate.randomizers.ledger import NEVER, Ledger
from murmurate.randomizers.question import Reports, Values
from murmurate.randomizers.randomness import Key, canonical_words
from murmurate.randomizers.sessions.horizon import Horizon
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.specs import horizon_of
from murmurate.randomizers.state import Arrays

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
MISSED: Final = -1
"""The step of a look that has not taken place."""


class Session:
    """One horizon of one cohort, for some users."""

    def __init__(self, horizon: Horizon, first_t: int) -> None:
        self.horizon, self.first_t = horizon, first_t
        levels = horizon.tree.levels
        self.rows: list[NDArray[np.int32]] = [np.zeros(0, np.int32) for _ in range(levels)]
        """The rows of each level's users."""
        self.before: list[NDArray[Any]] = [np.zeros(0, np.int32) for _ in range(levels)]
        """The newest values read of each level's users."""
        self.read_at = [0] * levels
        """The step at which each level's values were read; MISSED where a look was left out."""
        self.counters: list[NDArray[Any]] = [np.zeros((0, p.counters), np.uint16) for p in horizon.protocols]
        self.left: list[NDArray[np.uint16]] = [np.zeros(0, np.uint16) for _ in range(levels)]
        """The number of changes that each user may still tell."""
        self.looked = 0
        """The newest step that was looked at."""
        self.asked_t = first_t
        """The newest period of a round of it."""
        self.begun = False
        """Whether it has its users."""
        self._looks = [frozenset(horizon.tree.looks(level)) for level in range(levels)]

    @property
    def last_t(self) -> int:
        """The last period of the horizon."""
        return self.first_t + self.horizon.tree.periods - 1

    def begin(self, key: Key, users: Bytes, slots: NDArray[np.uint16], members: Mask, kind: NDArray[Any]) -> None:
        """Take in the members, and draw their secret counters. kind: an array of the type and shape of values."""
        self.begun = True
        level_of = self.horizon.level_of_slot[slots[: len(members)]]
        for level, protocol in enumerate(self.horizon.protocols):
            rows = np.flatnonzero((level_of == level) & members)
            self.rows[level] = rows.astype(np.int32)
            self.left[level] = np.full(len(rows), protocol.s, np.uint16)
            before = np.empty((len(rows), *kind.shape[1:]), kind.dtype)
            before[:] = np.asarray(self.horizon.ones.nothing, np.int64).astype(kind.dtype)
            self.before[level] = before
            identity = self.horizon.identity(self.first_t, level)
            lanes = key.draw(users[rows], round=identity).open(identity, None, "session")
            none = protocol.begin(np.zeros((0, protocol.begin_words), np.uint64))
            parts = [protocol.begin(words) for _, words in lanes.words(protocol.begin_words, np.uint64)]
            self.counters[level] = np.concatenate([none, *parts])

    def look(self, t: int, values: Values) -> None:
        """Read the values of period t where a level reads them then. Periods come in order; older ones are no news."""
        step = t - self.first_t + 1
        if step <= self.looked:
            return
        for level, looks in enumerate(self._looks):
            if step > self.looked + 1 and any(self.looked < at < step for at in looks):
                self.read_at[level] = MISSED
            if step in looks:
                self.before[level] = values[self.rows[level]].astype(self.before[level].dtype)
                self.read_at[level] = step
        self.looked = step

    def answer(self, node: Node, chosen: Mask, values: Values, key: Key, users: Bytes, digest: bytes) -> Reports:
        """The reports of a node from the chosen users of its level: bool[those of the level]."""
        level, protocol, ones = node.level, node.protocol, self.horizon.ones
        rows = self.rows[level][chosen]
        after = values[rows].astype(self.before[level].dtype)
        before = self.before[level][chosen] if self.read_at[level] == node.begins else after
        counters, left = self.counters[level][chosen], self.left[level][chosen]
        reports = np.empty((len(rows), node.wire_size), np.uint8)
        told = np.concatenate((_words(before), _words(after)), axis=1)
        lanes = key.draw(users[rows], round=digest).open(node.digest, canonical_words(told))
        for lane, words in lanes.words(protocol.tell_words, np.uint64):
            changes = ones.changes(before[lane], after[lane])
            wanted = np.count_nonzero(changes, axis=1)
            over = wanted > left[lane]
            changes[over] = 0
            left[lane] = np.where(over, 0, left[lane] - wanted)
            reports[lane] = protocol.tell(counters[lane], changes, words)
        self.counters[level][chosen], self.left[level][chosen] = counters, left
        return reports

    def facts(self) -> dict[str, Any]:
        """The part of the state that is no array."""
        return {
            "horizon": self.horizon.spec(), "first_t": self.first_t, "looked": self.looked, "read_at": self.read_at,
            "begun": self.begun, "asked_t": self.asked_t,
        }  # fmt: skip

    def arrays(self) -> Arrays:
        """The state of every user, by level."""
        return {
            f"{level}/{name}": held[level]
            for name, held in (
                ("rows", self.rows), ("before", self.before), ("counters", self.counters), ("left", self.left),
            )
            for level in range(self.horizon.tree.levels)
        }  # fmt: skip

    @classmethod
    def restored(cls, facts: dict[str, Any], arrays: Arrays) -> Session:
        """The session of what `facts` and `arrays` gave."""
        session = cls(horizon_of(facts["horizon"]), facts["first_t"])
        session.looked, session.read_at = facts["looked"], list(facts["read_at"])
        session.begun, session.asked_t = facts["begun"], facts["asked_t"]
        for level in range(session.horizon.tree.levels):
            session.rows[level], session.before[level], session.counters[level], session.left[level] = (
                arrays[f"{level}/{name}"] for name in ("rows", "before", "counters", "left")
            )
        return session


class Sessions:
    """The sessions of a stream: of each cohort the one that is open, and those whose end has not been read yet."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], Session] = {}  # by cohort and first period

    def __bool__(self) -> bool:
        return bool(self._held)

    def refusal(self, ask: Ask, ledger: Ledger) -> Refusal | None:
        """The reason why nobody here may answer this question, if it is a node of a horizon; or None. It follows from
        the rounds folded alone: a session is forgotten only when nothing it could forbid is asked any more.
        """
        node = ask.question
        if not isinstance(node, Node):
            return None
        where = f"stream {ask.stream!r}: period {ask.t}"
        if node.first_t(ask.t) < 0:
            return Refusal("session", f"{where}: found a horizon that begins before period 0; allowed: none")
        if ask.slots != node.horizon.of or ask.asked is None or (ask.asked != node.horizon.asked(node.level)).any():
            return Refusal("session", f"{where}: asked other slots than those of level {node.level}")
        if ledger.division == "budget" or node.epsilon_micro > ledger.limit_micro:
            return Refusal("budget", f"{where}: found a horizon that nobody may ever answer")
        newest = max((each.asked_t for each in self._held.values()), default=NEVER)
        if ask.t < newest:  # values up to there may have been read, if the log of raw events came sooner
            return Refusal("session", f"{where}: asked after period {newest}")
        if self.of(node, ask.t) is not None:
            return None
        open_until = (each.last_t for (cohort, _), each in self._held.items() if cohort == node.horizon.cohort)
        if not node.opens or max(open_until, default=NEVER) >= ask.t:
            return Refusal("session", f"{where}: found a node of a horizon that was not opened here")
        levels = range(node.horizon.tree.levels)
        if any(ledger.on_bill(node.horizon.identity(ask.t, level)).any() for level in levels):
            return Refusal("session", f"{where}: found a horizon that was opened here before")
        return None

    def asked(self, ask: Ask) -> None:
        """Note a round that was not refused for everybody: it opens the horizon if it is the first node's."""
        node = ask.question
        if isinstance(node, Node):
            session = self.of(node, ask.t)
            if session is None and node.opens:
                session = self._held[node.horizon.cohort, ask.t] = Session(node.horizon, ask.t)
            if session is not None:
                session.asked_t = max(session.asked_t, ask.t)

    def of(self, node: Node, t: int) -> Session | None:
        """The session of a node that ends with period t."""
        held = self._held.get((node.horizon.cohort, node.first_t(t)))
        return held if held is not None and held.horizon.digest == node.horizon.digest else None

    def look(self, t: int, values: Values) -> None:
        """Read the values of period t wherever a session does."""
        for session in self._held.values():
            session.look(t, values)

    def end(self, t: int) -> None:
        """Forget the sessions that have read all they will, if nothing can be asked about period t any more."""
        for at, session in list(self._held.items()):
            if session.last_t <= t and session.looked >= session.horizon.tree.periods:
                del self._held[at]

    def facts(self) -> list[dict[str, Any]]:
        """The part of the state that is no array."""
        return [session.facts() for session in self._held.values()]

    def arrays(self) -> Arrays:
        """The state of every user."""
        return {
            f"session/{cohort}/{first_t}/{name}": array
            for (cohort, first_t), session in self._held.items()
            for name, array in session.arrays().items()
        }

    def load(self, facts: list[dict[str, Any]], arrays: Arrays) -> None:
        """Take over what `facts` and `arrays` gave."""
        for held in facts:
            at = held["horizon"]["cohort"], held["first_t"]
            lead = "session/{}/{}/".format(*at)
            own = {name.removeprefix(lead): array for name, array in arrays.items() if name.startswith(lead)}
            self._held[at] = Session.restored(held, own)


def _words(values: Values) -> NDArray[np.uint32]:
    rows = values.astype(np.int64).astype(np.uint32)
    return rows[:, np.newaxis] if rows.ndim == 1 else rows
