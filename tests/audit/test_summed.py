# SPDX-License-Identifier: Apache-2.0
"""Is what is claimed of sums true?  Everything that the mixing zone may write of a few users' reports, and how likely.

Contract: for every pair of values of one user and all values of the others, delta of the exact law of the records that
the shuffle stage writes is at most the claim, and equal to it but for its rounding.  The same records with the reports
permuted, as of any other question, show nearly everything: that planted leak is seen.  The law of a user's report is
the mechanism's own (`law`), the records are the stage's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log
from murmurate.aggregators.accounting.summed_claim import summed_epsilon
from murmurate.config.plan import MixedPlan, Plan
from murmurate.randomizers.frequency.appended import AUE, LEVELS, counted_delta
from murmurate.topics.block import encode_reports
from murmurate.topics.messages import Close, Done
from tests.agents.stages.hands import CLOSINGS, ROUNDS, Hand, question
from tests.agents.summed import added_up
from tests.agents.world import FIRST, key

Rows = tuple[bytes, ...]
Law = dict[tuple[bytes, ...], Fraction]
BASE = added_up()


def of(asked: AUE, n: int) -> Plan:
    """A deployment whose mixing zone adds up n reports to this question."""
    screen = BASE.streams[0]
    assert screen.mixed is not None
    named: MixedPlan = replace(screen.mixed, question=asked.digest.hex())
    return replace(BASE, partitions=1, min_batch=n, streams=(replace(screen, mixed=named),))


def stage(asked: AUE, n: int) -> Callable[[Rows], tuple[bytes, ...]]:
    """What the mixing zone writes for these reports."""
    plan = of(asked, n)
    round_ = question(plan, plan.streams[0], FIRST, mechanism=asked.spec(), targets=1)
    digest = round_.digest.hex()

    @cache
    def written(rows: Rows) -> tuple[bytes, ...]:
        hand, matrix = Hand(Shuffle(plan, key("shuffle"), 0)), np.array([list(row) for row in rows], np.uint8)
        hand.give(ROUNDS, round_)
        done = Done(round=digest, contributor=0, sent=n, total=n)
        hand.give(Log("reports", 0), *encode_reports(round_.digest, 0, matrix), done)
        return tuple(one.value for one in hand.give(CLOSINGS, Close(round=digest, contributors=(0,))))

    return written


def shown(rows: Rows) -> tuple[bytes, ...]:
    """A planted leak: the rows, in an order that says nothing."""
    return tuple(sorted(rows))


def law_of(laws: Sequence[Mapping[bytes, Fraction]], view: Callable[[Rows], tuple[bytes, ...]]) -> Law:
    """The law of what is seen of one report by each of these laws. Which of them sent which does not change the sum, so
    the stage sees them in a sorted order; that it does not depend on the order is test_summing.py's.
    """
    rows: Law = {(): Fraction(1)}
    for law in laws:
        more: Law = {}
        for before, chance in rows.items():
            for report, likely in law.items():
                at = tuple(sorted((*before, report)))
                more[at] = more.get(at, Fraction(0)) + chance * likely
        rows = more
    found: Law = {}
    for at, chance in rows.items():
        records = view(at)
        found[records] = found.get(records, Fraction(0)) + chance
    return found


def worst(asked: AUE, n: int, epsilon: float, view: Callable[[Rows], tuple[bytes, ...]]) -> float:
    """The largest delta of any two neighbours, over all that the other users may hold."""
    laws, ratio = [asked.law(value) for value in range(asked.d)], Fraction(math.exp(epsilon))
    most = Fraction(0)
    for others in combinations_with_replacement(range(asked.d), n - 1):
        seen = [law_of([*(laws[value] for value in others), law], view) for law in laws]
        for one, other in permutations(seen, 2):
            gap = (chance - ratio * other.get(records, Fraction(0)) for records, chance in one.items())
            most = max(most, sum((each for each in gap if each > 0), Fraction(0)))
    return float(most)


def asked_of(d: int, n: int, part: int) -> AUE:
    return AUE(d=d, ones=LEVELS // part, batch=n, central=1.0, delta=1 - 1e-9)


SMALL = [(2, 2), (2, 3), (3, 2)]


@pytest.mark.parametrize(
    ("d", "n"), [*SMALL, *(pytest.param(d, n, marks=pytest.mark.audit) for d, n in ((2, 4), (3, 3), (3, 4)))]
)
def test_what_the_mixing_zone_writes_shows_exactly_what_is_claimed(d: int, n: int) -> None:
    for part in (2, 4):
        asked = asked_of(d, n, part)
        view = stage(asked, n)
        for epsilon in (0.3, 1.2):
            exact = worst(asked, n, epsilon, view)
            assert exact <= counted_delta(asked.ones, n, epsilon) <= exact * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize(("d", "n"), SMALL)
def test_reports_that_are_permuted_and_not_added_up_are_seen_to_show_more(d: int, n: int) -> None:
    asked = asked_of(d, n, 4)
    assert worst(asked, n, 1.2, shown) > 1.1 * counted_delta(asked.ones, n, 1.2)


def test_the_epsilon_of_a_claim_is_the_least_of_three_digits_at_which_delta_holds() -> None:
    asked = asked_of(3, 40, 2)
    epsilon = summed_epsilon(asked, 40, 1e-4, 3)
    assert counted_delta(asked.ones, 40, epsilon) <= 1e-4 < counted_delta(asked.ones, 40, epsilon * 0.99)
