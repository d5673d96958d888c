# SPDX-License-Identifier: Apache-2.0
"""Who counts in a round is decided once: every interleaving of two or three targets, contributors, publish and crashes.

A small world, walked through from end to end: contributors answer all targets at once, publish gives the round up,
targets read their three logs as far apart as they like and may die between any two records.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import pytest

from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Record
from murmurate.topics.block import encode_reports
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.messages import Close, Done, GiveUp, Seal
from tests.agents.stages.hands import CLOSINGS, ROUNDS, question
from tests.agents.world import FIRST, deployment, key, stream

KEY = key("shuffle")
LOGS = ("rounds", "reports", "closings")
DEATHS = {"dies": LOGS, "dies, reports first": ("reports", "closings", "rounds"), "dies, closings first": LOGS[::-1]}
"""How a target may die, with the order in which its successor reads the logs again."""
EACH = 6  # reports of each contributor: one alone stays below min_batch, two do not


class World:
    """One round, its targets, and the logs between them."""

    def __init__(self, targets: int, *, answers: int, give_ups: int, deaths: int) -> None:
        self.plan = deployment(stream("screen"), partitions=2, targets=targets, min_batch=EACH + 2)
        self.round_ = question(self.plan, self.plan.streams[0], FIRST)
        self.rounds: list[bytes] = [encode(self.round_)]
        self.closings: list[bytes] = []
        self.answered: tuple[int, ...] = ()
        self.answers, self.give_ups, self.deaths = answers, give_ups, deaths
        self.targets = [self.born(q) for q in range(targets)]
        self.marks = [[0, 0, 0] for _ in range(targets)]  # of LOGS
        self.saved = [([0, 0, 0], target.small()) for target in self.targets]  # where a target recovers from
        self.seals: dict[int, Seal] = {}

    def born(self, q: int) -> Shuffle:
        return Shuffle(self.plan, KEY, q)

    def copy(self) -> World:
        other = copy.copy(self)
        other.targets = [copied(target) for target in self.targets]
        other.marks, other.saved = [list(marks) for marks in self.marks], list(self.saved)
        other.rounds, other.closings, other.seals = list(self.rounds), list(self.closings), dict(self.seals)
        return other

    def steps(self) -> list[tuple[str, int]]:
        """What can happen next."""
        found = [("answer", c) for c in range(2) if c not in self.answered and len(self.answered) < self.answers]
        found += [("give up", 0)] * (self.give_ups > 0)
        for q in range(len(self.targets)):
            ends = len(self.rounds), len(self.answered), len(self.closings)
            found += [(log, q) for log, mark, end in zip(LOGS, self.marks[q], ends, strict=True) if mark < end]
            found += [(how, q) for how in DEATHS if self.deaths and any(self.marks[q])]
        return found

    def take(self, step: str, at: int) -> None:
        if step == "answer":
            self.answered = (*self.answered, at)  # one transaction: all targets have it from now on
        elif step == "give up":
            self.give_ups -= 1
            self.rounds.append(encode(GiveUp(round=self.round_.digest.hex())))
        elif step in LOGS:
            self.fold(at, self.targets[at], step, self.marks[at][LOGS.index(step)])
            self.marks[at][LOGS.index(step)] += 1
            for out in self.targets[at].drain().records:
                if out.log == CLOSINGS:
                    self.closings.append(out.value)
                elif isinstance(seal := decode_record(out.value), Seal):
                    assert at not in self.seals
                    self.seals[at] = seal
            rounds, answers, closings = self.marks[at]
            start = self.targets[at].replay_from({ROUNDS: rounds, Log("reports", at): 3 * answers, CLOSINGS: closings})
            begin = [start[ROUNDS], start[Log("reports", at)] // 3, start[CLOSINGS]]
            self.saved[at] = begin, self.targets[at].small()
        else:
            self.deaths -= 1
            target = self.targets[at] = self.born(at)
            begins, small = self.saved[at]
            target.restore(small, ())
            for log in DEATHS[step]:
                for i in range(begins[LOGS.index(log)], self.marks[at][LOGS.index(log)]):
                    self.fold(at, target, log, i)
            target.drain()  # committed already

    def fold(self, q: int, target: Shuffle, topic: str, i: int) -> None:
        if topic == "rounds":
            target.fold(Record(ROUNDS, i, self.rounds[i]))
            return
        if topic == "closings":
            target.fold(Record(CLOSINGS, i, self.closings[i]))
            return
        log, c = Log("reports", q), self.answered[i]
        here = EACH // len(self.targets)
        (block,) = encode_reports(self.round_.digest, c, np.full((here, 1), c, np.uint8))
        done = Done(round=self.round_.digest.hex(), contributor=c, sent=here, total=EACH)
        target.fold(Record(log, 3 * i, block))
        target.fold(Record(log, 3 * i + 1, encode(done)))

    def fingerprint(self) -> Any:
        """All on which the future depends."""
        states = tuple(
            (tuple(marks), small, tuple(
                (g.closed, len(g.closes), g.state.now.value, *sorted(c for c, o in g.contributions.items() if o.done))
                for g in target._open.values()
            ))
            for target, marks, (_, small) in zip(self.targets, self.marks, self.saved, strict=True)
        )  # fmt: skip
        sealed = tuple((q, seal.missing) for q, seal in sorted(self.seals.items()))
        return tuple(self.rounds), tuple(self.closings), self.answered, self.give_ups, self.deaths, states, sealed


def copied(target: Shuffle) -> Shuffle:
    """Another stage in the same state. (What it says of rounds is never changed in place.)"""
    other = copy.copy(target)
    vars(other).update({name: copy.copy(kept) for name, kept in vars(target).items() if isinstance(kept, dict | list)})
    other._open = {digest: copy.copy(gathering) for digest, gathering in target._open.items()}
    for gathering in other._open.values():
        gathering.first, gathering.last = dict(gathering.first), dict(gathering.last)
        gathering.state = copy.copy(gathering.state)
        gathering.contributions = {c: copy.copy(one) for c, one in gathering.contributions.items()}
        for one in gathering.contributions.values():
            one.reports = list(one.reports)
        gathering.closes = list(gathering.closes)
    other._sealed = {digest: dict(last) for digest, last in target._sealed.items()}
    other._missing = {digest: list(late) for digest, late in target._missing.items()}
    return other


class Ends(NamedTuple):
    """How the walks through a world ended."""

    visited: int
    worlds: list[World]


def walked(first: World) -> Ends:
    """Every end that any order of events leads to."""
    seen, waiting, ends = {first.fingerprint()}, [first], []
    while waiting:
        world = waiting.pop()
        steps = world.steps()
        if all(step in DEATHS for step, _ in steps):
            ends.append(world)
        for step in steps:
            other = world.copy()
            other.take(*step)
            mark = other.fingerprint()
            if mark not in seen:
                seen.add(mark)
                waiting.append(other)
    return Ends(len(seen), ends)


@pytest.mark.parametrize(
    ("targets", "answers", "give_ups", "deaths"),
    [
        (2, 2, 1, 1),
        (2, 1, 2, 1),
        *(pytest.param(*case, marks=pytest.mark.audit) for case in ((2, 2, 2, 0), (3, 2, 1, 0))),
    ],
)
def test_all_sub_batches_of_a_round_have_the_same_contributors_in_every_interleaving(
    targets: int, answers: int, give_ups: int, deaths: int
) -> None:
    ends = walked(World(targets, answers=answers, give_ups=give_ups, deaths=deaths)).worlds
    outcomes = set()
    for end in ends:
        missing = {seal.missing for seal in end.seals.values()}
        assert len(missing) <= 1
        assert len({seal.rejected.undersized for seal in end.seals.values()}) <= 1
        for seal in end.seals.values():  # what leaves the mixing zone belongs to a round of min_batch
            assert seal.counted == 0 or EACH * (2 - len(seal.missing)) >= end.plan.min_batch
        closes = [one for one in map(decode_record, end.closings) if isinstance(one, Close)]
        assert len(end.seals) == (targets if closes else 0)  # nobody waits for what does not come
        if answers == 2:
            assert closes  # all are in: the round ends
        outcomes.add((bool(closes), *missing))
    assert (True, ()) in outcomes or answers == 1
    assert any(out[1:] not in ((), ((),)) for out in outcomes)  # and some orders do close a contributor out
