# SPDX-License-Identifier: Apache-2.0
"""What an audit looks at and what it finds: the extent of the logs, the counts of violations, records as they decode.

Contract: a finding names a round, a contributor and a target, never a user.  Not here: the comparison (auditor.py), the
recount (recount.py), where logs come from (kafka/audited_logs.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from murmurate.topics.block import Block
from murmurate.topics.codec import decode_record
from murmurate.topics.errors import WireError
from murmurate.topics.message import Message

Reader = Callable[[str, int], Sequence[bytes]]
"""(topic, partition) -> its records, from offset 0 unless the extent says otherwise."""
Place = tuple[str, int, int]
"""The round, the contributor and the target of an answer."""
Verdict: TypeAlias = Counter[tuple[str, int]]
"""What is wrong with an answer or a sub-batch: of each kind and target (-1: all of them) how often."""
WHERE = 20
"""Violations that are named; all are counted."""


VIOLATIONS = (
    "lost", "twice", "over_budget", "conflicting", "foreign", "miscounted", "missummed", "miscurated", "misnoised",
    "mischosen",
)  # fmt: skip
"""Every kind of violation, by its count in an audit."""
SEEN = ("users", "rounds", "reports", "sums", "leaves", "thresholds", "aborted", "pending")
"""What an audit counts of what it has looked at."""


@dataclass
class Audit:
    """What was found: kinds of violations, those of VIOLATIONS, and what they were looked for in."""

    users: int = 0
    rounds: int = 0
    reports: int = 0
    lost: int = 0
    twice: int = 0
    over_budget: int = 0
    conflicting: int = 0
    foreign: int = 0
    miscounted: int = 0
    """The `done` records, seals and tallies that do not say what is there."""
    aborted: int = 0
    """Reports in transactions that were not committed: they are compared too, since somebody may have read them."""
    missummed: int = 0
    """Sums of a period at a raw partition, of central streams, that are not those of its events."""
    miscurated: int = 0
    """Records of the curator about a period that was not due: there may be a second noise of the same sums."""
    misnoised: int = 0
    """Noisy sums that are not the exact ones with the noise of their place, and records that name another tree."""
    mischosen: int = 0
    """Thresholds of central streams that are not those which the events of the hold-out and the key give."""
    sums: int = 0
    """Sums of central streams that were compared."""
    leaves: int = 0
    """Leaves whose noisy sums were compared."""
    thresholds: int = 0
    """Thresholds that were chosen a second time."""
    pending: int = 0
    """Answers, a round and a contributor each, that may still come."""
    torn: dict[tuple[str, int], int] = field(default_factory=dict)
    """For each log, how many of its records nobody can read, so that nobody has counted them."""
    where: list[str] = field(default_factory=list)
    """The first violations, by round and partition; never a user."""

    @property
    def holds(self) -> bool:
        """Whether there is no violation."""
        return not any(getattr(self, name) for name in VIOLATIONS)

    @property
    def unreadable(self) -> int:
        """Records that nobody can read."""
        return sum(self.torn.values())

    def note(self, what: str, n: int, place: Place) -> None:
        """Count a violation, and name it if it is among the first."""
        if n:
            setattr(self, what, getattr(self, what) + n)
            if len(self.where) < WHERE:
                self.where.append(f"{what}: {n} in round {place[0][:16]}, contributor {place[1]}, target {place[2]}")

    def add(self, other: Audit) -> None:
        """Add what another one has found."""
        for name in (*VIOLATIONS, *SEEN):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.where += other.where[: WHERE - len(self.where)]
        for log, torn in other.torn.items():
            self.torn[log] = self.torn.get(log, 0) + torn

    def wrong(self, what: str, n: int, where: str) -> None:
        """Count a violation about a central stream, and name it if it is among the first."""
        if n:
            setattr(self, what, getattr(self, what) + n)
            if len(self.where) < WHERE:
                self.where.append(f"{what}: {n} in {where}")

    def decoded(self, read: Reader, topic: str, partition: int) -> Iterator[tuple[int, Block | Message]]:
        """Each record of a log that can be read, with its number."""
        torn = 0
        for number, record in enumerate(read(topic, partition)):
            try:
                yield number, decode_record(record)
            except WireError:
                torn += 1
        self.torn[topic, partition] = torn


@dataclass(frozen=True)
class Extent:
    """How far the logs of a deployment reach that goes on, or that has begun to forget. By default: all there is."""

    folded: Mapping[int, tuple[int, int]] | None = None
    """Per raw partition, how many records of it and of `rounds` had been answered before `reports` was read."""
    tallied: Mapping[int, int] | None = None
    """Per partition of batches, how many of its records had been counted before `tallies` was read."""
    sums: bool = True
    """Whether all logs about central streams go back to the beginning."""
    people: bool = True
    """Whether raw and rounds go back to the beginning; otherwise it is unknown who had to answer."""
    kept: frozenset[str] | None = None
    """The rounds of which everything is still there; None: every round."""
    aborted: Mapping[int, Sequence[bytes]] = field(default_factory=dict)
    """Per target, records of `reports` that were never committed, in their order."""

    def covers(self, digest: str) -> bool:
        """Whether everything of this round is still there."""
        return self.kept is None or digest in self.kept

    def answered(self, p: int, number: int, closed: int) -> bool:
        """Whether this contributor must have answered: its round and the end of its period lie below its marks."""
        if self.folded is None:
            return True
        raw, rounds = self.folded.get(p, (0, 0))
        return number < rounds and closed < raw

    def closed(self, p: int, number: int) -> bool:
        """Whether the record of raw that closed a period lies below the marks of the partition's instance."""
        return self.folded is None or number < self.folded.get(p, (0, 0))[0]

    def counted(self, b: int, number: int) -> bool:
        """Whether the seal that stands there must have led to a tally."""
        return self.tallied is None or number < self.tallied.get(b, 0)


ALL = Extent()
"""Logs of a deployment that has ended, whole."""
