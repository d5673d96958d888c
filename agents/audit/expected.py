# SPDX-License-Identifier: Apache-2.0
"""The reports that a contributor must have sent for a round: everybody's, many at a time, from the key and raw values.

Contract: shares no code with devices and stages; a report is the question's own of the user's value under the keyed
randomness, and its target the keyed one.  The question's form for many users at a time is what devices use too, so one
report in SAMPLED is made once more by the form for one user, in plain Python, and that one is the right one.  Not here:
who may answer (asked.py), sessions (transcripts.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.audit.asked import AskedRound
from murmurate.agents.audit.people import Mask, PeopleAtPartition, PeriodValues, first_words
from murmurate.agents.audit.user_table import Rows
from murmurate.randomizers import Key, Question

SAMPLED = 1 << 11
"""The number of reports of which one is made a second time, by the form for one user."""
Reports = NDArray[np.uint8]


class ExpectedReports(NamedTuple):
    """Reports of some users to one round."""

    rows: Rows
    """The users."""
    targets: NDArray[np.int64]
    """Where the report of each of them goes."""
    reports: Reports
    """uint8[n, width]."""


def population(people: PeopleAtPartition, closed: PeriodValues, slots: Mask) -> Rows:
    """The members of a closed period in these slots."""
    n = len(closed.members)
    return np.flatnonzero(slots[people.slots[:n]] & closed.members)


def expected(
    asked: AskedRound, key: Key, people: PeopleAtPartition, closed: PeriodValues, slots: Mask
) -> ExpectedReports:
    """What the users of these slots have to send."""
    assert asked.question is not None  # noqa: S101 - nobody may answer a round without a question
    rows = population(people, closed, slots)
    users, values = people.users(rows), closed.values[rows]
    reports = reports_of(asked.question, key, users, values, asked.round.digest)
    for place in range(asked.number % SAMPLED, len(rows), SAMPLED):
        value = values[place].tolist()
        draw = key.draw_one(users[place].tobytes(), round=asked.round.digest)
        one = asked.question.perturb_one(tuple(value) if isinstance(value, list) else value, draw)
        reports[place] = np.frombuffer(one, np.uint8)
    return ExpectedReports(rows, targets_of(asked, key, users), reports)


def reports_of(question: Question, key: Key, users: NDArray[np.uint8], values: NDArray[Any], digest: bytes) -> Reports:
    """The report of each of these users with these values."""
    return question.perturb(values if values.ndim > 1 else values.astype(np.int64), key.draw(users, round=digest))


def targets_of(asked: AskedRound, key: Key, users: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The target of each of these users in a round."""
    if asked.round.targets == 1:
        return np.zeros(len(users), np.int64)
    words = first_words(key, "scatter", users, asked.round.digest)
    return np.asarray(words % np.uint64(asked.round.targets), np.int64)
