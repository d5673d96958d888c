# SPDX-License-Identifier: Apache-2.0
"""No w periods of any user hold two transcripts, in exact arithmetic, whatever a server asks; each fault that is
planted in the devices is seen, and the auditor sees it too.

What leaves the devices is heard where it leaves them, crashes included.  A transcript tells at most its protocol's
largest ratio, once for all its nodes, if each node was told once, in order and from counters that nobody drew again; so
a user who tells two of them about one window tells the product.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import pytest

from murmurate.agents.embedded.log import Logs
from murmurate.randomizers.bill import Bill
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.sessions import Session
from murmurate.randomizers.thresholds import exp_floor
from murmurate.topics.message import Message
from tests.agents.stages.horizon_rounds import LAWFUL, UNTIL, Course, W, audited, habits, opening, raw_of, run
from tests.audit.planted_horizons import PLANTED, Planted
from tests.cases import every

CLAIM = exp_floor(2_000_000)


class Answered(NamedTuple):
    """What a user told of a node, and the secrets before and after."""

    before: tuple[bytes, int]
    """Secret counters, and the changes left."""
    report: bytes
    after: tuple[bytes, int]


@dataclass
class Heard:
    """All transcripts of all users."""

    told: dict[tuple[bytes, Bill], dict[int, set[Answered]]] = field(default_factory=lambda: defaultdict(dict))
    """Of each user and bill, by period, each different answer."""
    realised: dict[Bill, Fraction] = field(default_factory=dict)

    def transcripts(self, user: bytes, bill: Bill) -> int:
        """How many times a user told from secrets of their own: once, unless a node has two answers, or counters or the
        number of changes left are not those that the node before has left.
        """
        nodes = [self.told[user, bill][t] for t in sorted(self.told[user, bill])]
        again = sum(len(answers) - 1 for answers in nodes)
        broken = sum({one.after for one in early} != {one.before for one in late} for early, late in pairwise(nodes))
        return 1 + again + broken

    def most_telling(self) -> Fraction:
        """The largest ratio of what any user told on all bills that any w periods touch."""
        of: dict[bytes, list[tuple[Bill, Fraction]]] = defaultdict(list)
        for user, bill in self.told:
            of[user].append((bill, self.realised[bill] ** self.transcripts(user, bill)))
        return max(
            prod(
                (ratio for bill, ratio in bills if bill.first < at.last + W and bill.last >= at.last), start=Fraction(1)
            )
            for bills in of.values()
            for at, _ in bills
        )


@contextmanager
def listening() -> Iterator[Heard]:
    """Hear all that is told in sessions meanwhile, even where a crash follows at once."""
    heard, answer = Heard(), Session.answer

    def noted(self: Session, asked: Node, chosen: Any, values: Any, key: Any, users: Any, digest: bytes) -> Any:
        rows, level = self.rows[asked.level][chosen], asked.level
        states: list[list[tuple[bytes, int]]] = []
        reports: Any = ()
        for moment in range(2):
            if moment:
                reports = answer(self, asked, chosen, values, key, users, digest)
            counters, left = self.counters[level][chosen], self.left[level][chosen].tolist()
            states.append([(row.tobytes(), n) for row, n in zip(counters, left, strict=True)])
        bill = asked.horizon.bill(self.first_t, level)
        heard.realised[bill] = asked.realised
        t = self.first_t + asked.step - 1
        for user, before, report, after in zip(users[rows], states[0], reports, states[1], strict=True):
            heard.told[user.tobytes(), bill].setdefault(t, set()).add(Answered(before, report.tobytes(), after))
        return reports

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "answer", noted)
        yield heard


def played(rounds: Sequence[Message], seed: int, *, crashes: bool) -> tuple[Heard, Logs]:
    """What is told where these rounds are asked, and the logs."""
    rng = random.Random(seed)
    course = Course(raw_of(habits(rng, UNTIL), UNTIL), opening(*rounds))
    with listening() as heard:
        logs = run(course, rng, crashes=crashes)
    return heard, logs


@every("crashes", [True], long=[False])
def test_what_is_told_about_any_window_uses_up_one_epsilon_and_no_more(crashes: bool) -> None:
    heard, logs = played(LAWFUL, 0, crashes=crashes)
    assert 0.99 * CLAIM < heard.most_telling() <= CLAIM
    assert audited(logs).holds


@every("planted", PLANTED[:1], long=PLANTED[1:])
def test_the_server_of_a_planted_fault_learns_no_more_where_devices_have_none(planted: Planted) -> None:
    heard, logs = played(planted.rounds, 0, crashes=True)
    assert heard.most_telling() <= CLAIM
    assert audited(logs).holds


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.plant.__name__)
def test_a_planted_fault_is_seen_by_its_transcripts_and_by_the_auditor(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.plant(monkeypatch)
    heard, logs = played(planted.rounds, 0, crashes=planted.crashes)
    assert heard.most_telling() > CLAIM
    assert not audited(logs).holds
