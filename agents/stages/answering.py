# SPDX-License-Identifier: Apache-2.0
"""A raw partition's answer to a round, as records: blocks of reports for each target, then what was sent.

Contract: every target gets a `done` with the number of its reports and of all, also where there are none.  Not here:
which reports there are (perturb.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from murmurate.agents.stages.stage import Log, Out
from murmurate.topics.block import encode_reports
from murmurate.topics.codec import encode
from murmurate.topics.messages import Done, Round

NOBODY = np.zeros((0, 1), np.uint8)  # no reports


def answer(round_: Round, contributor: int, targets: int, sent: Mapping[int, np.ndarray]) -> Iterator[Out]:
    """The records of an answer. sent: the reports of each target, uint8[n, bytes]."""
    total = sum(len(reports) for reports in sent.values())
    for q in range(min(round_.targets, targets)):
        log, reports = Log("reports", q), sent.get(q, NOBODY)
        if len(reports):
            yield from (Out(log, block) for block in encode_reports(round_.digest, contributor, reports))
        yield Out(log, encode(Done(round=round_.digest.hex(), contributor=contributor, sent=len(reports), total=total)))
