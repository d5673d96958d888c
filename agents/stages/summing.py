# SPDX-License-Identifier: Apache-2.0
"""Rounds whose reports show their values: the mixing zone adds them up, and hands on their sums and how many they were.

Contract: all reports of such a round come to one target, so that no sum is of a part of them; what leaves is the
question's support of the well-formed ones, as blocks of counts whose length depends on the domain alone, and the seal's
numbers of reports.  It holds back a round that this zone's own file does not have: one of another question, of more
targets, or of a stream that is protected locally.  The same reports give the same bytes in whatever order they came.
Not here: which reports count, and how many are enough (shuffle.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.errors import StageError
from murmurate.config.plan import Plan
from murmurate.randomizers import Question, ReportError
from murmurate.randomizers.question import Counts, Reports
from murmurate.topics.block import TallyBlock, encode_tally
from murmurate.topics.messages import Round, Seal

TARGETS: Final = 1
"""How many targets a round has whose reports are added up."""


def targets_of(question: Question, targets: int) -> int:
    """The targets over which the reports to a question scatter, of so many that there are."""
    return TARGETS if question.summed_when_mixed else targets


def as_agreed(plan: Plan, round_: Round, question: Question) -> bool:
    """Whether this zone's own file has the round: any other one is not added up, and nothing of it leaves."""
    if not question.summed_when_mixed:
        return True
    stream = plan.stream(round_.stream)
    own = None if stream.mixed is None else stream.mixed.question
    return stream.unprotected and round_.targets == TARGETS and question.digest.hex() == own


def added_up(round_: Round, q: int, question: Question, reports: Reports) -> Iterator[bytes]:
    """The blocks of the sums of these reports, which are well-formed."""
    return encode_tally(round_.digest, q, question.support(reports))


def well_formed(question: Question, reports: Reports) -> Reports:
    """The reports that some value gives: only these are added up, since nobody can take others out of a sum."""
    bad: NDArray[np.bool_] = question.malformed(reports)
    return reports[~bad] if bad.any() else reports


def sums_of(seal: Seal, question: Question, blocks: list[TallyBlock], where: str) -> Counts:
    """The sums that a seal ends, checked. Without a report there are none."""
    ordered = [block.sequence for block in blocks] == list(range(seal.blocks))
    sums = np.concatenate([np.zeros(0, np.int64), *(block.counts for block in blocks)])
    if not ordered or len(sums) != (question.outcomes if seal.counted else 0):
        raise StageError(f"{where}: a sub-batch of {seal.blocks} blocks has {len(blocks)}, of {len(sums)} sums")
    if not seal.counted:
        return np.zeros(question.outcomes, np.int64)
    try:
        question.check(sums, seal.counted)
    except ReportError as error:
        raise StageError(f"{where}: {error}") from None
    return sums
