# SPDX-License-Identifier: Apache-2.0
"""What a server gains by what it writes into `rounds` while rounds stay below min_batch, measured: nothing.

Two populations differ in the number of users of one contributor, by many, and each is smaller than min_batch.  A server
writes what it likes, whenever it likes: rounds of fewer contributors, targets or slots, several about one period,
`give_up` at any time, `close` of whomever it likes.  Two perturb and two shuffle stages, which read as far apart as the
server can make them, then write the same bytes for both, to every log beyond `reports`.  Not here: what a contributor
answers (test_cheating_server.py), which crowd of min_batch reports or more it is (tests/agents/stages).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import Plan
from murmurate.randomizers import mechanism
from murmurate.topics.message import Message
from murmurate.topics.messages import Close, GiveUp, Round, Settled
from murmurate.topics.names import TOPICS
from murmurate.topics.slots import Slots
from tests.agents.stages.hands import RAW, Hand, progress, pseudonyms, question, rows, settled, start
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, deployment, key, stream

METHODS = ("lpu", "lbu")
FEW, MORE, OTHER = 1, 17, 5
"""Users of contributor 0 in the two populations; those of contributor 1 in both."""
BOTH = MORE + OTHER
SOME = Slots.chosen(np.arange(128) % 2 == 0)
CHEAP = mechanism({"name": "grr", "d": 5, "epsilon_micro": 1000}).spec()
ASKS: tuple[dict[str, Any], ...] = (
    {}, {"contributors": 1}, {"targets": 1}, {"targets": 1, "contributors": 1}, {"slots": SOME}, {"patience_ms": 1},
    {"purpose": "dissimilarity"}, {"mechanism": CHEAP}, {"mechanism": CHEAP, "slots": SOME}, {"t": FIRST + 1},
)  # fmt: skip
"""Rounds: changes of an honest question."""
WHOM = ((), (0,), (1,), (0, 1))
INPUTS = ("rounds", "closings", "reports")


class Step(NamedTuple):
    """Something that happens: `ask`, `close`, `give up` and `settled` by the server, about its round `which`; `edge`
    and `target` when that instance reads its next record, or the next transaction of `reports`.
    """

    what: str
    which: int = 0
    more: int = 0
    """Of `close`: whom it names; of `target`: which log is read."""


def steps() -> st.SearchStrategy[list[Step]]:
    """Whatever may happen, in any order."""
    asks = st.builds(Step, st.just("ask"), st.integers(0, len(ASKS) - 1))
    closes = st.builds(Step, st.just("close"), st.integers(0, 2), st.integers(0, len(WHOM) - 1))
    others = st.builds(Step, st.sampled_from(["give up", "settled"]), st.integers(0, 2))
    edges = st.builds(Step, st.just("edge"), st.integers(0, 1))
    reads = st.builds(Step, st.just("target"), st.integers(0, 1), st.integers(0, len(INPUTS) - 1))
    some = st.lists(st.one_of(asks, closes, others, edges, edges, reads, reads), min_size=4, max_size=30)
    return some.map(lambda found: [Step("ask"), *found])


def plan(method: str, min_batch: int) -> Plan:
    return deployment(stream("screen", method, w=4, carry_ms=10**9), partitions=2, targets=2, min_batch=min_batch)


class Deployment:
    """Two contributors and two targets, the logs between them, and how far each has read."""

    def __init__(self, made: Plan, population: Sequence[int]) -> None:
        self.plan, self.asked = made, list[Round]()
        self.rounds: list[bytes | Message] = [start(made.streams[0])]
        self.closings: list[bytes | Message] = []
        self.reports: list[list[list[bytes | Message]]] = [[], []]
        """Of each target what each transaction wrote."""
        self.written: list[Out] = []
        """Everything that left the mixing zone or is an order within it."""
        self.edges = [self._edge(p, n) for p, n in enumerate(population)]
        self.targets = [Hand(Shuffle(made, key("shuffle"), q)) for q in range(2)]
        self.read = [[0, 0], *([0] * len(INPUTS) for _ in self.targets)]

    def _edge(self, p: int, n: int) -> Hand:
        hand = Hand(Perturb(self.plan, KEYS.edge, p, {TOPIC: 1}))
        users = pseudonyms(BOTH)
        users[:, 0] = p  # the partition of a pseudonym is its first bytes
        users[:, 1] = np.arange(BOTH)
        log = Log(RAW.topic, p)
        hand.give(log, progress((FIRST - 1) * SECOND))
        hand.give(log, *rows(self.plan, self.plan.streams[0], users[:n], [(FIRST - 1) * SECOND + 1] * n, [1] * n))
        hand.give(log, progress((FIRST + 2) * SECOND + self.plan.lateness_ms))
        return hand

    def happen(self, step: Step) -> None:
        """Let it happen."""
        match step.what:
            case "ask":
                self.asked.append(question(self.plan, self.plan.streams[0], **({"t": FIRST} | ASKS[step.which])))
                self.rounds.append(self.asked[-1])
            case "close":
                self.rounds.append(Close(round=self._about(step.which).digest.hex(), contributors=WHOM[step.more]))
            case "nothing":
                self.rounds.append(Settled(stream="nobody", t=step.which))
            case "give up":
                self.rounds.append(GiveUp(round=self._about(step.which).digest.hex()))
            case "settled":
                self.rounds.append(settled(self.plan.streams[0], self._about(step.which).t))
            case "edge":
                self._answer(step.which)
            case _:
                self._mix(step.which, step.more)

    def end(self) -> None:
        """Give up each round three times more, after which it is closed, and let everybody read everything."""
        for _ in range(3):
            for round_ in self.asked:
                self.rounds.append(GiveUp(round=round_.digest.hex()))
            for p in range(2):
                while self._answer(p):
                    pass
            while sum(self._mix(q, log) for log in range(len(INPUTS)) for q in range(2)):
                pass

    def _about(self, which: int) -> Round:
        return self.asked[which % len(self.asked)]

    def _answer(self, p: int) -> bool:
        at = self.read[0][p]
        if at == len(self.rounds):
            return False
        self.read[0][p] += 1
        out = self.edges[p].give(Log("rounds", 0), self.rounds[at])
        if out:
            for q in range(2):
                self.reports[q].append([one.value for one in out if one.log == Log("reports", q)])
        return True

    def _mix(self, q: int, log: int) -> bool:
        at = self.read[1 + q][log]
        source = [[[one] for one in self.rounds], [[one] for one in self.closings], self.reports[q]][log]
        if at == len(source):
            return False
        self.read[1 + q][log] += 1
        for one in self.targets[q].give(Log(INPUTS[log], q if INPUTS[log] == "reports" else 0), *source[at]):
            self.written.append(one)
            if one.log.topic == "closings":
                self.closings.append(one.value)
        return True

    def tallies(self) -> list[Out]:
        """What analysis makes of it."""
        hands = [Hand(Aggregate(self.plan, b)) for b in range(2)]
        batches = [one for one in self.written if one.log.topic == "batches"]
        return [out for one in batches for out in hands[one.log.partition].give(one.log, one.value)]


def seen(made: Plan, population: Sequence[int], happening: Sequence[Step]) -> list[Out]:
    """All that stands in `closings`, `batches`, `dead.mixing` and `tallies` in the end."""
    found = Deployment(made, population)
    for step in happening:
        found.happen(step)
    found.end()
    return found.written + found.tallies()


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40, deadline=None)
@given(happening=steps())
def test_of_rounds_below_min_batch_a_server_sees_the_same_bytes_whoever_there_is(
    method: str, happening: list[Step]
) -> None:
    made = plan(method, min_batch=BOTH + 1)
    few, more = (seen(made, (n, OTHER), happening) for n in (FEW, MORE))
    assert few == more
    assert {one.log.topic for one in few} >= {"closings", "batches", "tallies"}


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20, deadline=None)
@given(happening=steps())
def test_a_close_that_a_server_writes_changes_no_byte_of_any_round(method: str, happening: list[Step]) -> None:
    made = plan(method, min_batch=OTHER)  # one contributor alone is enough
    without = [step if step.what != "close" else Step("nothing") for step in happening]
    assert seen(made, (MORE, OTHER), happening) == seen(made, (MORE, OTHER), without)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_servers_would_see_the_difference_if_rounds_were_released(method: str) -> None:
    made = plan(method, min_batch=1)
    for which in (0, 2, 5, 6, 7, 9):
        few, more = (seen(made, (n, OTHER), [Step("ask", which)]) for n in (FEW, MORE))
        assert few != more


def test_nobody_who_writes_rounds_may_write_or_read_who_counts() -> None:
    rounds, closings = TOPICS["rounds"], TOPICS["closings"]
    assert not {*rounds.writers} & {*closings.writers, *closings.readers}
