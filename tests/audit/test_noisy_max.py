# SPDX-License-Identifier: Apache-2.0
"""The promise of noisy max, in exact arithmetic: every set of at most four events over four values, each beside every
set that has one event more or another value in one event's place, in both directions.

Laws are lower bounds that lack less than the chance of noise beyond a reach; what they lack is added on the side where
it counts against the promise, so nothing is left to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from murmurate.randomizers.central import NoisyMax, count_above
from tests.cases import every

VALUES, MOST = range(1, 5), 4
Law = tuple[list[Fraction], Fraction]


def databases() -> Iterator[tuple[int, ...]]:
    for size in range(MOST + 1):
        yield from combinations_with_replacement(VALUES, size)


def neighbours(events: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Those with an event more, and those with another value in the place of one."""
    more = {tuple(sorted((*events, value))) for value in VALUES}
    return more | {
        tuple(sorted((*events[:i], *events[i + 1 :], value))) for i in range(len(events)) for value in VALUES
    }


def exp_at_most(gamma: Fraction) -> Fraction:
    """A Fraction below e^gamma: the first terms of its series."""
    term = total = Fraction(1)
    for k in range(1, 40):
        term *= gamma / k
        total += term
    return total


def law(choice: NoisyMax, events: tuple[int, ...]) -> Law:
    """Lower bounds of the chances, and what they lack in all."""
    reach = int(60 / choice.gamma) + MOST + int(choice.costs[-1])
    found = choice.law(count_above(np.array(events, np.int64), choice.candidates), reach)
    return found, 1 - sum(found, Fraction(0))


def violations(laws: dict[tuple[int, ...], Law], gamma: Fraction) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Neighbours and choices by which one could tell them apart better than promised."""
    allowed = exp_at_most(gamma)
    found = list[tuple[tuple[int, ...], tuple[int, ...], int]]()
    for less, (few, few_lack) in laws.items():
        for more in neighbours(less) & set(laws):
            many, many_lack = laws[more]
            found += [
                (less, more, j)
                for j in range(len(few))
                if few[j] + few_lack > allowed * many[j] or many[j] + many_lack > allowed * few[j]
            ]
    return found


def audited(slope: float, gamma: Fraction) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
    choice = NoisyMax(VALUES, slope=slope, gamma=gamma)
    return violations({events: law(choice, events) for events in databases()}, gamma)


def test_all_70_databases_are_there() -> None:
    assert len(list(databases())) == 70


@every(("slope", "gamma"), [(0.77, Fraction(2))], long=[(0.0, Fraction(2)), (2.6, Fraction(1))])
def test_one_event_more_less_or_changed_moves_no_choice_by_more_than_gamma(slope: float, gamma: Fraction) -> None:
    assert audited(slope, gamma) == []


@pytest.mark.audit
@every("slope", [0.0, 0.1, 0.5, 0.77, 1.5, 4.0])
@every("gamma", [Fraction(4), Fraction(1), Fraction(1, 2), Fraction(1, 7), Fraction(1, 20)])
def test_one_event_more_less_or_changed_moves_no_choice_by_more_than_gamma_whatever_gamma_is(
    slope: float, gamma: Fraction
) -> None:
    assert audited(slope, gamma) == []


def test_half_of_gamma_is_not_enough_of_a_claim() -> None:
    """The audit can see: the same laws break a promise of half."""
    choice = NoisyMax(VALUES, slope=0.3, gamma=Fraction(2))
    assert violations({events: law(choice, events) for events in databases()}, Fraction(1))


def test_a_slope_that_follows_the_observed_number_of_events_breaks_the_promise() -> None:
    """Why m is declared: each event more then costs the largest candidate a whole score more beside its count."""
    gamma = Fraction(1)
    laws = {events: law(NoisyMax(VALUES, slope=0.5 * len(events), gamma=gamma), events) for events in databases()}
    assert violations(laws, gamma)
