# SPDX-License-Identifier: Apache-2.0
"""Periods of searches in sets of items, by the methods themselves and real devices: what their reports show of a user.

A method hears users with baskets, phase by phase and period by period; as many others, who all hold the same set, are
asked the same and watched.  Two runs differ in what these hold.  What is shown is the largest epsilon that bets on one
or two of their reports prove, at a chance of 10^-6 to claim too much; what is told at most is the product of the ratios
of what each of them answered in a window.  Not here: exact laws of whole transcripts (test_search_period.py).
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest

from murmurate.aggregators.methods.method import Answer, Request
from murmurate.aggregators.methods.slots import Pool
from murmurate.randomizers import Ask, DeviceArray, Grant, Question, Viewed
from murmurate.randomizers.audit import epsilon_at_least
from murmurate.randomizers.layouts import FILLER
from murmurate.randomizers.question import Value
from murmurate.randomizers.terms import StreamTerms, Terms
from murmurate.randomizers.thresholds import exp_floor
from tests.aggregators.set_searches import METHODS, sets_of, setting
from tests.audit import planted
from tests.cases import every
from tests.randomizers.guards import SECRETS, people

D, MOST, W, SLOTS, PERIODS = 30, 4, 2, 80, 2
EPSILON = 2.0
USERS, WATCHED = 6_000, 24_000
ONE, OTHER = (0, FILLER, FILLER, FILLER), (29, FILLER, FILLER, FILLER)
LEAST = {"svim": 0.7, "svsm": 0.7, "ldp_miner": 0.5}
"""The part of epsilon that reports show at least."""
SHOWN = ("svim", "svsm")
"""The methods with which two reports on one user show more than epsilon: what LDPMiner samples of a long padding shows
little, and only the ratios see it.
"""
SHARES = np.concatenate(([0.6, 0.4, 0.3], np.full(D - 3, 0.01)))


class Watching:
    """Some periods of one search, in which everybody who is watched holds the same set."""

    def __init__(self, name: str, held: Value) -> None:
        facts = setting(name, D, most=MOST, epsilon=EPSILON, w=W, slots=SLOTS, top=5)
        stream = StreamTerms("screen", 1_000_000, W, SLOTS, "population", facts.measure.layout)
        self.method = METHODS[name](facts)
        self.devices = DeviceArray(Terms("shop", round(EPSILON * 1e6), (stream,)), "screen", SECRETS)
        assert self.devices.enrol(people(USERS + WATCHED)).all()
        alike = np.tile(np.array(held, np.uint32), (WATCHED, 1))
        self.values = np.concatenate([sets_of(SHARES, USERS, MOST, 3), alike])
        self.asked: list[tuple[int, Question]] = []
        """The period and the question of each round."""
        self.evidence: list[tuple[np.ndarray, np.ndarray]] = []
        """Of each round who of the watched answered, and whether the report speaks for ONE."""
        for t in range(1, 1 + PERIODS):
            step = self.method.open(t)
            while isinstance(step, Request):
                step = self.method.tally(self._answer(t, step))

    def _answer(self, t: int, request: Request) -> Answer:
        """What those who are not watched tell the method."""
        digest = hashlib.sha256(bytes([len(self.asked)]) + request.question.digest).digest()
        grant = self.devices.charge(Ask("screen", t, SLOTS, request.asked, request.question, digest))
        assert isinstance(grant, Grant)
        rows, _, reports = self.devices.answer(grant, self.values)
        question, watched = request.question.of_round(digest), rows >= USERS
        assert isinstance(question, Viewed)
        tells = question.view.law(ONE) != question.view.law(OTHER)
        spoken = question.evidence(reports[watched], ONE, OTHER) if tells else np.zeros(int(watched.sum()), bool)
        self.asked.append((t, question))
        self.evidence.append((rows[watched] - USERS, spoken))
        return Answer(question.support(reports[~watched]), int((~watched).sum()), digest)

    def answers(self) -> np.ndarray:
        """Who of the watched answered which round: bool[rounds, watched]."""
        found = np.zeros((len(self.asked), WATCHED), bool)
        for mine, (rows, _) in zip(found, self.evidence, strict=True):
            mine[rows] = True
        return found

    def told(self) -> Fraction:
        """The largest ratio of all that one of the watched answered in any w periods."""
        histories = np.unique(self.answers(), axis=1).T
        windows = [range(begin, begin + W) for begin in range(1, 1 + PERIODS)]
        return max(
            prod(
                (q.realised for (t, q), mine in zip(self.asked, own, strict=True) if mine and t in of),
                start=Fraction(1),
            )
            for own in histories
            for of in windows
        )

    def hits(self, rounds: tuple[int, ...]) -> np.ndarray:
        """Of the watched who answered all these rounds, whether every report speaks for ONE."""
        spoken = np.ones(WATCHED, bool)
        for each in rounds:
            rows, says = self.evidence[each]
            spoken[rows] &= says
        return spoken[self.answers()[list(rounds)].all(axis=0)]


def watched(name: str) -> tuple[Watching, float]:
    """The first of two runs, and the epsilon that both together show."""
    one, other = Watching(name, ONE), Watching(name, OTHER)
    assert [q for _, q in one.asked] == [q for _, q in other.asked]  # they follow from others' reports, which are alike
    assert np.array_equal(one.answers(), other.answers())  # who answers does not depend on what is held
    rounds = range(len(one.asked))
    bets = [*((each,) for each in rounds), *combinations(rounds, 2)]
    shown = 0.0
    for bet in bets:
        mine, theirs = one.hits(bet), other.hits(bet)
        if len(mine):
            found = epsilon_at_least(int(mine.sum()), int(theirs.sum()), len(mine), 1e-6 / len(bets))
            shown = max(shown, found)
    return one, shown


def asks_everybody_in_every_phase(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pool, "draw", lambda self, t, count, purpose: np.ones(SLOTS, bool))


@every("name", METHODS)
def test_devices_answer_one_phase_of_a_search_each_and_show_no_more_than_epsilon(name: str) -> None:
    one, shown = watched(name)
    assert {t for t, _ in one.asked} == {1, 2}
    assert one.answers().sum(axis=0).max() == 1
    assert one.answers().sum(axis=0).mean() > 0.9  # w periods use nearly all slots
    assert one.told() <= exp_floor(round(EPSILON * 1e6))
    assert LEAST[name] * EPSILON < shown <= EPSILON


@every("name", METHODS)
def test_a_server_that_asks_everybody_in_every_phase_gets_refusals(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        asks_everybody_in_every_phase(patch)
        one, shown = watched(name)
    assert one.answers().sum(axis=0).max() == 1
    assert one.told() <= exp_floor(round(EPSILON * 1e6))
    assert shown <= EPSILON


@every("name", METHODS)
def test_devices_that_answer_several_phases_of_a_period_are_seen(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        asks_everybody_in_every_phase(patch)
        planted.every_phase_is_a_period_of_its_own(patch)
        one, shown = watched(name)
    assert one.answers().sum(axis=0).min() > 1
    assert one.told() > exp_floor(round(EPSILON * 1e6))
    assert name not in SHOWN or shown > 1.2 * EPSILON
