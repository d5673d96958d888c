# SPDX-License-Identifier: Apache-2.0
"""The fake reports that a mixing zone adds to one target's reports of a round: all from its key, none from chance.

Contract: the same key, round and question give the same fakes, in the same order, whenever they are drawn.  Number i of
a round's fakes has words of its own: the first says to which target it goes, as independent of everything as a user's
target is; the others are the report (randomizers/fakes.py).  How many come to one target is said nowhere: whoever knew
it would know how many users are there.  Not here: which rounds get any (shuffle.py).
"""

from __future__ import annotations

import numpy as np

from murmurate.randomizers import Faked, Key
from murmurate.randomizers.fakes import WORDS, fake_reports
from murmurate.randomizers.question import Reports
from murmurate.randomizers.randomness import contexts

CHUNK = 1 << 18
"""Fakes that are drawn at once."""


def fakes_of(key: Key, question: Faked, q: int, targets: int, *, round: bytes) -> Reports:
    """The fakes of one target: uint8[n, wire_size]."""
    found = [np.zeros((0, question.wire_size), np.uint8)]
    for start in range(0, question.fakes, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, question.fakes))
        if targets > 1:
            words = key.words("fakes", contexts(numbers), round=round)[:, 0]
            numbers = numbers[words % np.uint64(targets) == q]
        words = key.words("fakes", contexts(numbers), round=round, k=1 + WORDS)[:, 1:]
        found.append(fake_reports(question.inner, np.ascontiguousarray(words)))
    return np.concatenate(found)
