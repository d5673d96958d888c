# SPDX-License-Identifier: Apache-2.0
"""What the mixing zone and the tallies made of the answers, sub-batch by sub-batch, as the logs grow.

Contract: a sub-batch is compared once its seal, its tally and the answers of all who count are there, or when nothing
of them may still come; again when more of it comes.  A seal that may still be tallied is not missing.  Not here: the
comparison (recount.py), answers (answers.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from murmurate.agents.audit.answers import ContributorAnswer
from murmurate.agents.audit.asked import AskedRound
from murmurate.agents.audit.findings import Extent, Place
from murmurate.agents.audit.prints import Printer
from murmurate.agents.audit.recount import SubBatch
from murmurate.config.plan import Plan
from murmurate.topics.block import BatchBlock, Block, TallyBlock
from murmurate.topics.message import Message
from murmurate.topics.messages import Close, Seal, Tally, TallyInBlocks

AnswerOf = Callable[[str, int], ContributorAnswer | None]
"""What came for a round from a contributor."""
Finding = tuple[Place, str, int]
"""Where, what kind, how often."""


class MixedAudit:
    """All sub-batches of the rounds that are kept."""

    def __init__(self, plan: Plan, printer: Printer, answer_of: AnswerOf) -> None:
        self._plan, self._printer, self._answer_of = plan, printer, answer_of
        self._subs: dict[tuple[str, int], SubBatch] = {}
        self._closes: dict[str, tuple[int, ...]] = {}
        self._touched: set[tuple[str, int]] = set()
        self._untallied: dict[tuple[str, int], int] = {}
        self._fakes: set[str] = set()  # rounds with a wrong number of reports that nobody sent

    def take(self, topic: str, partition: int, number: int, record: Block | Message, data: bytes) -> None:
        """A record of `closings`, `batches` or `tallies`. data: its bytes, by whose digest tallies name blocks."""
        if isinstance(record, Close):
            if topic == "closings":
                self._closes.setdefault(record.round, record.contributors)  # the first one counts
            return
        if not isinstance(record, BatchBlock | TallyBlock | Seal | Tally | TallyInBlocks):
            return
        digest = record.round.hex() if isinstance(record, BatchBlock | TallyBlock) else record.round
        at = digest, record.q
        sub = self._subs.setdefault(at, SubBatch())
        self._touched.add(at)
        match topic, record:
            case "batches", BatchBlock():
                sub.rows.append(record.reports)
            case "batches", TallyBlock():  # of reports that were added up: all blocks as one row
                sub.summed += record.counts.astype("<i8").tobytes()
            case "batches", Seal():
                sub.sealed(record, partition, number)
            case "tallies", TallyBlock():
                sub.counts[hashlib.sha256(data).hexdigest()] = record.counts
            case "tallies", Tally() | TallyInBlocks():
                sub.tallied(record)

    def came(self, digest: str, p: int, q: int, *, late: bool) -> None:
        """An answer to a target has come, or more of it after it was judged."""
        sub = self._subs.get((digest, q))
        if sub is not None and p in self._who_counts(digest):
            sub.late |= late
            self._touched.add((digest, q))

    def judge(self, asked_of: Mapping[str, AskedRound]) -> None:
        """Compare what has come whole."""
        for at in list(self._touched):
            asked, sub = asked_of.get(at[0]), self._subs[at]
            if asked is None or sub.tally is None or sub.seal is None:
                continue
            whole = [(one := self._answer_of(at[0], p)) is not None and one.judged for p in self._who_counts(at[0])]
            if sub.right or all(whole):
                self._recount(asked, *at)

    def settle(self, asked_of: Mapping[str, AskedRound], extent: Extent) -> None:
        """Compare what is missing too. extent: what must have been tallied of all that was taken."""
        self.judge(asked_of)
        self._untallied.clear()
        for at, sub in self._subs.items():
            asked, covered = asked_of.get(at[0]), extent.covers(at[0])
            if asked is not None and covered and at in self._touched:
                self._recount(asked, *at)
            if sub.seal is not None and sub.tally is None and covered and extent.counted(*sub.sealed_at):
                self._untallied[at] = 1
        self._touched.clear()
        for digest, asked in asked_of.items():
            subs = [self._subs.get((digest, q)) for q in range(self._plan.targets)]
            numbers = [sub.nobodys for sub in subs if sub is not None and sub.nobodys is not None]
            wrong = asked.question is not None and sum(numbers) != asked.question.fakes
            if wrong and len(numbers) == self._plan.targets and extent.covers(digest):
                self._fakes.add(digest)

    def _recount(self, asked: AskedRound, digest: str, q: int) -> None:
        sub = self._subs[digest, q]
        found = ((p, self._answer_of(digest, p)) for p in self._who_counts(digest))
        answers = {p: answer for p, answer in found if answer is not None}
        sub.recount(self._plan, asked, q, answers, self._printer)
        self._touched.discard((digest, q))
        if sub.right:
            for answer in answers.values():
                answer.prints.pop(q, None)

    def _who_counts(self, digest: str) -> tuple[int, ...]:
        return self._closes.get(digest, tuple(range(self._plan.partitions)))

    def finished(self, digest: str, targets: int, *, over: bool) -> bool:
        """Whether nothing is missing of a round."""
        subs = [self._subs.get((digest, q)) for q in range(targets)]
        return all(sub is not None and (sub.right or (over and sub.tally is not None)) for sub in subs)

    def drop(self, digest: str) -> None:
        """Let go of a round."""
        for q in range(self._plan.targets):
            for held in (self._subs, self._untallied):
                held.pop((digest, q), None)
            self._touched.discard((digest, q))
        self._closes.pop(digest, None)
        self._fakes.discard(digest)

    def drop_unknown(self, known: Container[str]) -> Iterator[Finding]:
        """Let go of what belongs to no round that is kept; gives what was found of it."""
        for at in [at for at in self._subs if at[0] not in known]:
            sub = self._subs[at]
            if wrong := self._untallied.get(at, 0):
                yield (at[0], -1, at[1]), "miscounted", wrong
            if wrong or sub.seal is None or sub.tally is not None:
                del self._subs[at]

    def findings(self, digest: str | None = None) -> Iterator[Finding]:
        """What was found, of one round or all."""
        for (of, q), sub in self._subs.items():
            if digest in (None, of) and (wrong := sub.wrong + self._untallied.get((of, q), 0)):
                yield (of, -1, q), "miscounted", wrong
        yield from (((of, -1, -1), "miscounted", 1) for of in sorted(self._fakes) if digest in (None, of))

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        return {
            "subs": {at: sub.state() for at, sub in self._subs.items()}, "closes": self._closes,
            "touched": list(self._touched), "untallied": self._untallied, "fakes": sorted(self._fakes),
        }  # fmt: skip

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._subs = {at: SubBatch.of_state(one) for at, one in state["subs"].items()}
        self._closes, self._untallied = state["closes"], state["untallied"]
        self._touched, self._fakes = set(state["touched"]), set(state["fakes"])
