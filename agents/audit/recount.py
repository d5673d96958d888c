# SPDX-License-Identifier: Apache-2.0
"""One sub-batch, counted again: its seal and its tally against the reports of those who count.

Contract: shares no code with stages.  What has been found right is forgotten; what comes after that belongs to nothing.
Of fake reports only the mixing zone knows which they are: a round has to have as many reports that nobody sent as the
plan says.  Reports that show their values have to leave as a sum, and nothing beside it.  Not here: when a sub-batch is
looked at (mixed_audit.py), who had to answer what (answers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.audit.answers import ContributorAnswer
from murmurate.agents.audit.asked import AskedRound
from murmurate.agents.audit.prints import NOTHING, Printer, common
from murmurate.config.plan import Plan
from murmurate.randomizers import Question
from murmurate.topics.codec import decode, encode
from murmurate.topics.messages import Seal, Tally, TallyInBlocks

AnyTally = Tally | TallyInBlocks
Counts = NDArray[np.int64]
Reports = NDArray[np.uint8]


@dataclass
class SubBatch:
    """What has been seen of one sub-batch of a round."""

    seal: Seal | None = None
    sealed_at: tuple[int, int] = (0, -1)
    """The partition of `batches` and the record."""
    seals: int = 0
    tally: AnyTally | None = None
    tallies: int = 0
    rows: list[Reports] = field(default_factory=list)
    """The reports that it holds."""
    summed: bytes = b""
    """The sums that it holds, where reports are added up."""
    counts: dict[str, Counts] = field(default_factory=dict)
    """Blocks of counts, by their digest."""
    right: bool = False
    """Whether seal and tally are as they must be."""
    late: bool = False
    """Whether reports have come to it since it was found right."""
    nobodys: int | None = None
    """How many of its reports nobody sent; None where that does not count."""
    wrong: int = 0
    """How many of its seals and tallies are wrong, but for a tally that is missing."""

    def sealed(self, seal: Seal, partition: int, number: int) -> None:
        """Its seal; one is enough, and a second one belongs to nothing."""
        self.seals += 1
        if self.seal is None:
            self.seal, self.sealed_at = seal, (partition, number)

    def tallied(self, tally: AnyTally) -> None:
        """Its tally; one is enough."""
        self.tallies += 1
        if self.tally is None:
            self.tally = tally

    def recount(
        self, plan: Plan, asked: AskedRound, q: int, answers: Mapping[int, ContributorAnswer], printer: Printer
    ) -> None:
        """Compare it with the answers of those who count."""
        more = max(0, self.tallies - 1) + max(0, self.seals - 1)
        if self.right:
            self.wrong = more + int(self.late and not more)
            return
        if self.tally is None:
            self.wrong = max(0, self.seals - 1)
            return
        self.right = self.seal is not None and self._is_right(plan, asked, q, answers, printer)
        self.wrong = more + int(not self.right)
        if self.right:
            self.rows, self.summed, self.counts, self.late = [], b"", {}, False

    def _is_right(
        self, plan: Plan, asked: AskedRound, q: int, answers: Mapping[int, ContributorAnswer], printer: Printer
    ) -> bool:
        """1. The reports that are there against those that came. 2. What seal and tally say of them."""
        question, seal, tally = asked.question, self.seal, self.tally
        if question is None or seal is None or tally is None:
            return False
        counts = self._counts(tally)
        if question.summed_when_mixed:
            return self._is_sum(plan, question, seal, tally, counts, answers)
        came = np.sort(np.concatenate([NOTHING, *(answer.printed(q, printer) for answer in answers.values())]))
        blocks = [block for block in self.rows if len(block)]
        if any(block.shape[1] != question.wire_size for block in blocks):
            return False
        rows = np.sort(np.concatenate([NOTHING, *map(printer.of, blocks)]))
        support = sum(map(question.support, blocks), np.zeros(question.outcomes, np.int64))
        of_all = sum(sum(answer.received.values()) for answer in answers.values())
        shared = common(came, rows)
        nobodys = len(rows) - shared
        small, least = seal.rejected.undersized, plan.at(tally.t * plan.stream(tally.stream).every_ms).min_batch
        withheld = not len(rows) and small and (of_all < least or question.fakes != plan.fakes)
        if not small and of_all >= least:
            self.nobodys = nobodys
        return (
            seal.received == tally.received == (0 if small else len(came) + nobodys)
            and seal.counted + seal.rejected.malformed == seal.received
            and (withheld or (shared == len(came) and (not nobodys or question.fakes == plan.fakes > 0)))
            and np.array_equal(support, counts)
        )

    def _counts(self, tally: AnyTally) -> Counts:
        """The counts of a tally; where they stand in blocks, those of its blocks that are there."""
        if isinstance(tally, Tally):
            return np.array(tally.counts, np.int64)
        there = [self.counts[digest] for digest in tally.blocks if digest in self.counts]
        return np.concatenate([np.zeros(0, np.int64), *there])

    def _is_sum(
        self,
        plan: Plan,
        question: Question,
        seal: Seal,
        tally: AnyTally,
        counts: Counts,
        answers: Mapping[int, ContributorAnswer],
    ) -> bool:
        """Whether a round of reports that show their values left the mixing zone as their sum and nothing else: no
        report, and one row of sums; none where the round was held back.
        """
        round_, there = seal.descriptor, bool(self.rows or self.summed)
        total, good, support = 0, 0, np.zeros(question.outcomes, np.int64)
        for answer in answers.values():
            n, fine, mine = answer.summed or (0, 0, np.zeros_like(support))
            total, good, support = total + n, good + fine, support + mine
        stream = plan.stream(tally.stream)
        agreed = stream.mixed is not None and stream.mixed.question == question.digest.hex() and round_.targets == 1
        due = agreed and total >= plan.at(tally.t * stream.every_ms).min_batch
        judged = (round_.config, round_.revision) == (stream.config, stream.revision)  # else by a file that is not here
        if seal.rejected.undersized:
            return not there and not seal.received and not counts.any() and not (judged and due)
        if not round_.slots.count():
            return not there and not seal.received and not counts.any()
        sums = support.astype("<i8").tobytes() if good else b""
        said = seal.received, seal.counted, tally.received, tally.counted
        right = not self.rows and self.summed == sums and said == (total, good, total, good)
        return right and np.array_equal(support, counts) and (due or not judged)

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        messages = {name: None if (one := getattr(self, name)) is None else encode(one) for name in ("seal", "tally")}
        return vars(self) | messages

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> SubBatch:
        """What was saved."""
        messages: dict[str, Any] = {
            name: None if state[name] is None else decode(state[name]) for name in ("seal", "tally")
        }
        return cls(**(state | messages))
