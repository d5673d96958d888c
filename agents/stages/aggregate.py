# SPDX-License-Identifier: Apache-2.0
"""Aggregate: sealed sub-batches in, additive counts out, one tally a sub-batch. It sees reports, but not their users.

Log: its batches partition.  The seal that ends a sub-batch brings the round's descriptor, so that its mechanism is
known without another log.  Malformed reports, which no value can give, are dropped and counted.  Reports that show
their values come as sums, which the mixing zone has made, and are only checked (summing.py).  A tally of many counts
is a message and blocks, all in one transaction (tallies.py).  Source: ARCHITECTURE rules 16 and 20.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.reading import read
from murmurate.agents.stages.round_question import question_of
from murmurate.agents.stages.stage import NOWHERE, Log, Out, Outbox, Record
from murmurate.agents.stages.summing import sums_of
from murmurate.agents.stages.tallies import tally_records
from murmurate.config.plan import Plan
from murmurate.randomizers import Question
from murmurate.randomizers.question import Counts
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.topics.block import BatchBlock, TallyBlock
from murmurate.topics.messages import MAX_CELLS, Rejected, Seal
from murmurate.topics.names import stream_partition

FORM: Final = StateForm("aggregate", 1)
"""The form of the stage's state."""
SLACK = 64
"""Seals that may stand between a sub-batch's first block and its own, beyond two for each stream."""


@dataclass(eq=False)
class OpenSubBatch:
    """Blocks of a sub-batch whose seal has not come yet."""

    first: int
    """Offset of its first block."""
    since: int
    """How many seals this instance had folded when the first block came."""
    reports: list[np.ndarray] = field(default_factory=list)
    sums: list[TallyBlock] = field(default_factory=list)
    """Instead of reports, the sums of those that the mixing zone adds up."""


class Aggregate:
    """The stage of one batches partition."""

    large: ClassVar[bool] = False

    def __init__(self, plan: Plan, partition: int) -> None:
        self._plan, self._partition = plan, partition
        self._open: dict[tuple[str, int], OpenSubBatch] = {}
        self._sealed: list[tuple[str, int, int]] = []  # (round, q, offset of the seal) that a replay may read again
        self._folded = 0  # seals
        self._lag = 2 * len(plan.streams) + SLACK
        self._out: list[Out] = []
        self.counts: Counter[str] = Counter()
        """Reports ok | malformed; and wrong_round: those in blocks whose seal never came."""

    def fold(self, record: Record) -> None:
        """Take a block, or the seal that ends a sub-batch."""
        found = read(record, "analysis", self._out)
        if isinstance(found, BatchBlock | TallyBlock):
            key = found.round.hex(), found.q
            if not any(key == (digest, q) for digest, q, _ in self._sealed):
                batch = self._open.setdefault(key, OpenSubBatch(record.offset, self._folded))
                if isinstance(found, TallyBlock):
                    batch.sums.append(found)
                else:
                    batch.reports.append(found.reports)
        elif isinstance(found, Seal):
            self._folded += 1
            self._forget_unsealed()
            if any((found.round, found.q) == (digest, q) for digest, q, _ in self._sealed):
                return
            batch = self._open.pop((found.round, found.q), OpenSubBatch(record.offset, self._folded))
            self._sealed.append((found.round, found.q, record.offset))
            log = Log("tallies", stream_partition(found.descriptor.stream, self._plan.tallies))
            self._out += (Out(log, record) for record in self._tally(found, batch))

    def _forget_unsealed(self) -> None:
        """Drop blocks that no shuffle wrote: a recovery would have to read the log from them on, beyond its retention.

        A sub-batch is one transaction, and publish asks one round of a stream at a time: so between a block and its
        seal stand only sub-batches of rounds that were open then, and of the next ones of other streams.
        """
        for key, batch in list(self._open.items()):
            if self._folded - batch.since > self._lag:
                del self._open[key]
                self.counts["wrong_round"] += sum(len(reports) for reports in batch.reports)

    def ready(self, log: Log) -> bool:
        """Always."""
        return True

    def drain(self) -> Outbox:
        """Tallies, all of them urgent."""
        out, self._out = tuple(self._out), []
        return Outbox(out, bool(out))

    def _tally(self, seal: Seal, batch: OpenSubBatch) -> Iterator[bytes]:
        """1. The question. 2. Its support of the rows, or the sums that came. 3. The records."""
        question = question_of(seal.descriptor)
        if question.outcomes > MAX_CELLS:
            raise StageError(
                f"aggregate {self._partition}: stream {seal.descriptor.stream!r}: found a question of "
                f"{question.outcomes} counts; allowed: {MAX_CELLS}"
            )
        if question.summed_when_mixed:
            counts, counted = sums_of(seal, question, batch.sums, f"aggregate {self._partition}"), seal.counted
        else:
            counts, counted = self._counted(seal, question, batch.reports)
        malformed = seal.counted - counted
        self.counts.update(ok=counted, malformed=malformed + seal.rejected.malformed)
        rejected = Rejected(
            malformed=seal.rejected.malformed + malformed,
            undersized=seal.rejected.undersized,
        )
        descriptor = seal.descriptor
        fields = {
            "round": seal.round,
            "q": seal.q,
            "received": seal.received,
            "counted": counted,
            "rejected": rejected,
            "missing": seal.missing,
            "stream": descriptor.stream,
            "t": descriptor.t,
            "targets": descriptor.targets,
        }
        return tally_records(fields, counts)

    def _counted(self, seal: Seal, question: Question, blocks: list[np.ndarray]) -> tuple[Counts, int]:
        """The support of the well-formed rows, and how many they are."""
        if (len(blocks), sum(len(reports) for reports in blocks)) != (seal.blocks, seal.counted):
            raise StageError(f"aggregate {self._partition}: a sub-batch of {seal.blocks} blocks has {len(blocks)}")
        counts, counted = np.zeros(question.outcomes, np.int64), 0
        for reports in blocks:
            bad = question.malformed(reports)
            good = reports[~bad] if bad.any() else reports  # choosing rows costs more than counting them
            counts += question.support(good)
            counted += len(good)
        return counts, counted

    # ---- state: the log from the first block of any open sub-batch ----

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """From the first block of a sub-batch that is not sealed."""
        starts = {log: min([mark, *(batch.first for batch in self._open.values())]) for log, mark in marks.items()}
        self._sealed = [kept for kept in self._sealed if kept[2] >= min(starts.values(), default=0)]
        return starts

    def small(self) -> bytes:
        """The sealed sub-batches of which a replay would read records again."""
        return dump(FORM, {"sealed": self._sealed}, {})

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """None: the log holds everything."""
        return ()

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Take over which sub-batches are sealed."""
        facts, _ = load(FORM, small)
        self._sealed = [(digest, q, offset) for digest, q, offset in facts["sealed"]]
