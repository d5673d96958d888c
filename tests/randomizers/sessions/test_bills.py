# SPDX-License-Identifier: Apache-2.0
"""A bill of several periods: no w consecutive periods have answers of two bills, each node is answered once, in order.

Every schedule of up to 8 periods is enumerated, with rounds of one period mixed in: for one slot, since slots do not
share anything; states that the same future follows from are visited once.  The oracle is lists of answers.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from murmurate.randomizers.errors import SnapshotError
from murmurate.randomizers.ledger import Ledger, Verdict
from tests.cases import every
from tests.randomizers.guards import EPSILON

ONE = np.ones(1, np.bool_)


class Round(NamedTuple):
    """What is asked in a period: a node of a bill, or a round by itself."""

    t: int
    bill: tuple[int, int] | None
    """The first and last period of the bill; None: of the round alone."""

    @property
    def digest(self) -> bytes:
        """The bill's identity."""
        named = (1, self.t, self.t) if self.bill is None else (2, *self.bill)
        return bytes(named).ljust(32, b"\0")

    @property
    def covers(self) -> tuple[int, int]:
        """The periods of its bill."""
        return self.bill or (self.t, self.t)


def charged(ledger: Ledger, round_: Round) -> Verdict:
    return Verdict(ledger.charge(round_.t, EPSILON, round_.digest, ONE, round_.bill)[0])


def new(w: int) -> Ledger:
    return Ledger(1, w=w, limit_micro=EPSILON, division="population")


@every("size", [(2, 2, 6), (3, 2, 6), (2, 3, 6)], long=[(w, T, 8) for w in (1, 2, 3, 4) for T in (1, 2, 3, 4)])
def test_no_window_has_answers_of_two_bills_whatever_is_asked(size: tuple[int, int, int]) -> None:
    w, length, periods = size
    asked = [Round(t, None) for t in range(periods)]
    for first in range(periods):
        for last in range(first, min(first + length, periods + length)):
            asked += [Round(t, (first, last)) for t in range(first, min(last + 1, periods))]
    seen: set[tuple[object, ...]] = set()
    waiting: list[tuple[Ledger, tuple[Round, ...]]] = [(new(w), ())]
    answers = 0
    while waiting:
        ledger, told = waiting.pop()
        for round_ in asked:
            after = new(w)
            after.load(ledger.arrays())
            verdict = charged(after, round_)
            if verdict not in (Verdict.CHARGED, Verdict.CONTINUED):
                continue
            answers += 1
            for before in told:
                if before.covers == round_.covers and before.digest == round_.digest:
                    assert before.t < round_.t, (told, round_)  # each node once, and in order
                else:  # no w periods that hold the one hold the other, whatever other nodes of the bills are answered
                    assert round_.covers[0] - before.covers[1] >= w, (told, round_)
            assert (verdict == Verdict.CONTINUED) == any(before.digest == round_.digest for before in told)
            state = tuple((name, array.tobytes()) for name, array in sorted(after.arrays().items()))
            if state not in seen:
                seen.add(state)
                waiting.append((after, (*told, round_)))
    assert answers > 50


def test_a_bill_is_charged_once_and_its_rounds_go_on_in_order() -> None:
    ledger = new(3)
    verdicts = [charged(ledger, Round(t, (2, 9))) for t in (4, 4, 3, 6, 9, 9)]
    assert verdicts == [
        Verdict.CHARGED, Verdict.CLOSED, Verdict.CLOSED, Verdict.CONTINUED, Verdict.CONTINUED, Verdict.CLOSED,
    ]  # fmt: skip
    assert ledger.newest().tolist() == [9]
    assert charged(ledger, Round(11, None)) == Verdict.GAP
    assert charged(ledger, Round(11, (11, 14))) == Verdict.GAP
    assert charged(ledger, Round(12, (12, 14))) == Verdict.CHARGED


def test_a_round_in_the_middle_of_a_bill_is_refused_and_leaves_it_as_it_is() -> None:
    ledger = new(1)
    assert charged(ledger, Round(2, (2, 9))) == Verdict.CHARGED
    assert charged(ledger, Round(5, None)) == Verdict.CLOSED
    assert charged(ledger, Round(5, (5, 12))) == Verdict.CLOSED
    assert charged(ledger, Round(5, (2, 9))) == Verdict.CONTINUED


def test_a_bill_that_comes_too_soon_after_a_round_is_refused_though_it_is_asked_late() -> None:
    ledger = new(3)
    assert charged(ledger, Round(3, None)) == Verdict.CHARGED
    assert charged(ledger, Round(6, (5, 9))) == Verdict.GAP  # its first period is 5
    assert charged(ledger, Round(6, (6, 9))) == Verdict.CHARGED


def test_a_round_outside_its_bill_is_closed() -> None:
    assert charged(new(1), Round(1, (2, 3))) == Verdict.CLOSED
    assert charged(new(1), Round(4, (2, 3))) == Verdict.CLOSED


def test_a_divided_budget_has_no_bills_of_several_periods() -> None:
    ledger = Ledger(1, w=3, limit_micro=EPSILON, division="budget")
    assert charged(ledger, Round(2, (2, 9))) == Verdict.BUDGET


def test_a_closure_ends_bills_that_are_open() -> None:
    ledger = new(1)
    assert charged(ledger, Round(2, (2, 9))) == Verdict.CHARGED
    ledger.close_until(4)
    assert charged(ledger, Round(5, (2, 9))) == Verdict.CLOSED


def test_other_randomness_ends_bills_that_are_open() -> None:
    ledger = new(1)
    assert charged(ledger, Round(2, (2, 9))) == Verdict.CHARGED
    ledger.forget_answers()
    assert charged(ledger, Round(5, (2, 9))) == Verdict.CLOSED


def test_a_state_without_the_periods_of_rounds_is_refused() -> None:
    ledger, arrays = new(1), new(1).arrays()
    with pytest.raises(SnapshotError, match="past"):
        ledger.load({**arrays, "told": np.zeros(2, np.int64)})


def asked_at_random(rng: random.Random, now: int) -> Round:
    """A round about a period near the present one, by itself or on a bill that covers it, or hardly does."""
    t = max(0, now + rng.choice([0, 0, 1, 1, 2, 5, -1, -3]))
    if rng.random() < 0.3:
        return Round(t, None)
    first = max(0, t - rng.choice([0, 0, 1, 2, 4]))
    return Round(t, (first, max(first, t + rng.choice([0, 1, 2, 4, 8, -1]))))


def steps_of_a_ledger(seed: int, steps: int) -> int:
    """Random rounds of three slots, with crashes in between: who answers is what lists of answers allow."""
    rng = random.Random(seed)
    w = rng.choice([1, 2, 3, 7, 30])
    ledger = Ledger(3, w=w, limit_micro=EPSILON, division="population")
    told: list[list[Round]] = [[], [], []]
    now = answers = 0
    rounds = list[Round]()
    for _ in range(steps):
        again = rounds and rng.random() < 0.5  # the bill of an earlier round goes on, or that round comes again
        round_ = rng.choice(rounds[-4:]) if again else asked_at_random(rng, now)
        if again and round_.bill is not None:
            round_ = round_._replace(t=max(0, now + rng.choice([0, 1, -1])))
        rounds.append(round_)
        now = max(now, round_.t)
        asked = np.array([rng.random() < 0.7 for _ in range(3)])
        if rng.random() < 0.1:
            crashed = Ledger(3, w=w, limit_micro=EPSILON, division="population")
            crashed.load(ledger.arrays())
            ledger = crashed
        verdicts = ledger.charge(round_.t, EPSILON, round_.digest, asked, round_.bill)
        for slot in range(3):
            newest = told[slot][-1] if told[slot] else None
            first, last = round_.covers
            if newest is not None and newest.digest == round_.digest:
                may = newest.t < round_.t <= last if round_.bill else newest.t == round_.t
            else:
                may = first <= round_.t <= last and (newest is None or first - newest.covers[1] >= w)
            answering = verdicts[slot] in (Verdict.CHARGED, Verdict.CONTINUED, Verdict.REPEATED)
            assert answering == (may and asked[slot]), (seed, told[slot], round_)
            if answering and verdicts[slot] != Verdict.REPEATED:
                answers += 1
                told[slot].append(round_)
    for slot in range(3):  # whatever was answered, no w periods that touch one bill touch another
        bills = sorted({(one.covers, one.digest) for one in told[slot]})
        assert all(later[0][0] - before[0][1] >= w for before, later in pairwise(bills))
    return answers


@every("runs", [(40, 100)], long=[(10_000, 200)])
def test_no_random_sequence_of_rounds_and_bills_breaks_the_gap(runs: tuple[int, int]) -> None:
    sequences, steps = runs
    assert sum(steps_of_a_ledger(seed, steps) for seed in range(sequences)) > 5 * sequences
