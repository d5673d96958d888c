"""What users had to tell in their sessions, told a second time: from raw values and the key, user by user.

Contract: shares no code with devices and their sessions.  Of each horizon it keeps who belonged to its population in
its first period; each of them draws the secret counters, and at each node that is asked tells what has changed between
the values of two periods, until as many changes are told as there may be.  A round that a device would refuse whole (of
another horizon than the cohort's, older than the newest one, about other slots than a level's) is told by nobody.
Source: ARCHITECTURE section 5.18.  Not here: which slots may answer (auditor.py).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from murmurate.randomizers import Key
from murmurate.randomizers.question import Value, Values
from murmurate.randomizers.randomness import canonical_words_one
from murmurate.randomizers.sessions.node import Node
from murmurate.topics.messages import Round

Someone = TypeVar("Someone")


@dataclass
class _Course:
    """One horizon of one cohort."""

    horizon: bytes
    last_t: int
    asked_t: int
    members: set[bytes]
    counters: dict[bytes, list[int]] = field(default_factory=dict)
    left: dict[bytes, int] = field(default_factory=dict)


class Transcripts(Generic[Someone]):
    """The sessions of a stream's users at one contributor."""

    def __init__(
        self, key: Key, belongs: Callable[[Someone, int], bool], held: Callable[[Someone, int], Value]
    ) -> None:
        """belongs: whether somebody is in the population of a period. held: somebody's value in a period."""
        self._key, self._belongs, self._held = key, belongs, held
        self._courses: dict[tuple[int, int], _Course] = {}

    def admits(self, round_: Round, node: Node) -> bool:
        """Whether devices would answer it at all, if their slots may."""
        cohort, first_t = node.horizon.cohort, node.first_t(round_.t)
        if any(round_.t < course.asked_t for course in self._courses.values()):
            return False
        asked = round_.slots.mask()
        if first_t < 0 or asked.tolist() != node.horizon.asked(node.level).tolist():
            return False
        course = self._courses.get((cohort, first_t))
        if course is not None:
            return course.horizon == node.horizon.digest
        busy = any(of == cohort and course.last_t >= round_.t for (of, _), course in self._courses.items())
        return node.opens and not busy

    def granted(self, round_: Round, node: Node) -> None:
        """Note a round that devices do not refuse whole."""
        at = node.horizon.cohort, node.first_t(round_.t)
        if at not in self._courses:
            last = at[1] + node.horizon.tree.periods - 1
            self._courses[at] = _Course(node.horizon.digest, last, round_.t, set())
        self._courses[at].asked_t = round_.t

    def opened(self, round_: Round, node: Node, people: Iterable[tuple[bytes, Someone]]) -> None:
        """Take in the population of a horizon's first period, if that is what the round is about."""
        if node.opens:
            course = self._courses[node.horizon.cohort, round_.t]
            course.members = {user for user, person in people if self._belongs(person, round_.t)}

    def told(
        self, round_: Round, node: Node, people: Iterable[tuple[bytes, Someone]], slots: Container[int],
        slot_of: Callable[[Someone], int],
    ) -> dict[bytes, bytes]:  # fmt: skip
        """The report of each user of these slots."""
        first_t = node.first_t(round_.t)
        course = self._courses[node.horizon.cohort, first_t]
        found = {}
        for user, person in people:
            if user in course.members and slot_of(person) in slots:
                found[user] = self._report(course, round_, node, first_t, user, person)
        return found

    def _report(self, course: _Course, round_: Round, node: Node, first_t: int, user: bytes, person: Someone) -> bytes:
        protocol, identity = node.protocol, node.horizon.identity(first_t, node.level)
        if user not in course.counters:
            words = self._key.draw_one(user, round=identity).open(identity, None, "session")
            course.counters[user] = protocol.begin_one(words(protocol.begin_words, 64))
            course.left[user] = protocol.s
        after = self._held(person, round_.t)
        before = self._held(person, first_t + node.begins - 1) if node.begins else node.horizon.ones.nothing
        ones = node.horizon.ones
        changes = ones.changes(_row(before), _row(after))[0].astype(int).tolist()
        wanted = sum(map(abs, changes))
        if wanted > course.left[user]:
            changes, wanted, course.left[user] = [0] * len(changes), 0, 0
        course.left[user] -= wanted
        value = canonical_words_one([word & 0xFFFFFFFF for one in (before, after) for word in _words(one)])
        drawn = self._key.draw_one(user, round=round_.digest).open(node.digest, value)
        return protocol.tell_one(course.counters[user], changes, drawn(protocol.tell_words, 64))


def _row(value: Value) -> Values:
    return np.array([value], np.int64 if isinstance(value, int) else np.uint32)


def _words(value: Value) -> list[int]:
    return [value] if isinstance(value, int) else list(value)
