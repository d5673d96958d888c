# SPDX-License-Identifier: Apache-2.0
"""What all that the curator says of a stream tells about one event, or one user's counted events: exactly, through the
product's own code from the events on.

A stream of eight events goes through a hold-out of two periods and two trees of two leaves.  A neighbour has one event
more or less, at any time and of any value.  For every threshold, and every value that the noisy nodes may have in a
box, both streams must be told alike; and what was told has a chance under one that is at most e^epsilon times that
under the other, in Fractions.  Values beyond the box are bounded node by node, as those in it are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from murmurate.agents.stages import curation as module
from murmurate.agents.stages.counting import CountedEvents
from murmurate.agents.stages.curation import Curation
from murmurate.aggregators.measures.summed import CentralTotal
from murmurate.config.plan import CentralPlan, HoldoutPlan
from murmurate.randomizers.central import DiscreteLaplace, NoisyMax
from murmurate.randomizers.trees import Tree
from murmurate.topics.curated import Curated
from murmurate.topics.domains import Grid
from tests.agents.central import central, only
from tests.agents.world import key
from tests.randomizers.central.neighbours import at_most_e_to_the

Event = tuple[int, int]
"""A period, and a number of steps."""
EPSILON = Fraction(1)
CLAIM = at_most_e_to_the(EPSILON)
TOPS = central(
    "tops", CentralTotal(Grid(0.0, 3.0, 4, "points"), finds=True), tree=Tree(2, 2), holdout=HoldoutPlan(2, 3)
)
USERS = replace(TOPS, events=2, window_ms=2 * TOPS.every_ms)
PERIODS, NODES = 6, 3
STREAM: tuple[Event, ...] = ((0, 1), (0, 3), (1, 2), (2, 3), (3, 1), (3, 2), (4, 3), (5, 2))


class Given:
    """Noise as it is handed in: of the nodes of each tree, leaves first."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._levels = {1: list(numbers[:2]), 2: list(numbers[2:])}

    def of(self, level: int, first: int, count: int) -> np.ndarray:
        return np.array(self._levels[level][first : first + count], np.int64)


@dataclass
class Hearing:
    """What the curator would tell if its noise were this, and what it asked of the noisy max."""

    stream: CentralPlan
    threshold: int
    noise: Sequence[Sequence[int]]
    """The noise of each tree's nodes."""

    def told(self, events: Sequence[Event]) -> tuple[list[Curated], np.ndarray]:
        above: list[np.ndarray] = []
        laws: list[DiscreteLaplace] = []
        trees = iter(self.noise)

        def chosen(choice: NoisyMax, counts: np.ndarray, *_: Any) -> int:
            above.append(counts)
            assert choice.gamma == EPSILON / (self.stream.events or 1)
            return self.threshold

        def noise_of(_key: Any, _digest: bytes, law: DiscreteLaplace, _cell: int) -> Given:
            laws.append(law)
            return Given(next(trees))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(NoisyMax, "chosen", chosen)
            patch.setattr(module, "NodeNoise", noise_of)
            curator = Curation(only(self.stream), self.stream, key("randomness"))
            curator.begin(0)
            said = [
                curator.period(self.stream.measure.sums(np.array([v for at, v in events if at == t], np.uint32)))
                for t in range(PERIODS)
            ]
        assert {law.gamma for law in laws} == {self.stream.gamma("total", self.threshold)}
        return said, above[0]


def nodes(events: Sequence[Event], threshold: int, first: int) -> tuple[int, ...]:
    """The exact sums of the nodes of the tree that begins with this period."""
    leaves = [sum(min(v, threshold) for at, v in events if at == t) for t in (first, first + 1)]
    return *leaves, sum(leaves)


@lru_cache(maxsize=64)
def law_of(gamma: Fraction) -> DiscreteLaplace:
    return DiscreteLaplace(gamma)


def chance(stream: CentralPlan, threshold: int, noise: Sequence[int]) -> Fraction:
    law, found = law_of(stream.gamma("total", threshold)), Fraction(1)
    for number in noise:
        found *= law.chance(number)
    return found


Sums = tuple[tuple[tuple[int, int], ...] | None, ...]


def tree_laws(
    stream: CentralPlan, one: Sequence[Event], other: Sequence[Event], threshold: int, tree: int, reach: int
) -> tuple[dict[Sums, Fraction], dict[Sums, Fraction]]:
    """The law of what is told of one tree under both streams, over a box of values that its noisy nodes may have."""
    laws: tuple[dict[Sums, Fraction], dict[Sums, Fraction]] = defaultdict(Fraction), defaultdict(Fraction)
    exact = [nodes(events, threshold, 2 + 2 * tree) for events in (one, other)]
    for values in product(*(range(min(pair) - reach, max(pair) + reach + 1) for pair in zip(*exact, strict=True))):
        heard = []
        for events, sums, law in zip((one, other), exact, laws, strict=True):
            noise = [value - true for value, true in zip(values, sums, strict=True)]
            said, _ = Hearing(stream, threshold, [noise, noise]).told(events)
            mine = tuple(each.sums for each in said[2 + 2 * tree : 4 + 2 * tree])
            law[mine] += chance(stream, threshold, noise)
            heard.append(mine)
        assert heard[0] == heard[1]  # what is told is a function of noisy nodes
    return laws


def holdout_laws(stream: CentralPlan, one: Sequence[Event], other: Sequence[Event]) -> list[list[Fraction]]:
    """Of both streams, the chance of each threshold but for what lies beyond a reach, and last how much that is."""
    found = []
    for events in (one, other):
        _, above = Hearing(stream, 3, [[0] * NODES] * 2).told(events)
        assert above.tolist() == [sum(v > c for at, v in events if at < 2) for c in stream.measure.candidates]
        choice = _choice(stream)
        law = choice.law(above, int(60 / choice.gamma) + 10)
        found.append([*law, 1 - sum(law, Fraction(0))])
    return found


def _choice(stream: CentralPlan) -> NoisyMax:
    """The noisy max as the curator builds it."""
    kept: list[NoisyMax] = []

    def chosen(choice: NoisyMax, *_: Any) -> int:
        kept.append(choice)
        return 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NoisyMax, "chosen", chosen)
        curator = Curation(only(stream), stream, key("randomness"))
        curator.begin(0)
        for _ in range(2):
            curator.period(np.zeros(stream.measure.cells, np.int64))
    return kept[0]


def worst(stream: CentralPlan, one: Sequence[Event], other: Sequence[Event], reach: int) -> Fraction:
    """The largest ratio, of either direction, over thresholds and what is told of both trees."""
    held, found = holdout_laws(stream, one, other), Fraction(0)
    for j, threshold in enumerate(stream.measure.candidates):
        both = [
            max((held[a][j] + held[a][-1]) / held[b][j] for _ in (0,))
            if _differs(one, other, range(2))
            else Fraction(1)
            for a, b in ((0, 1), (1, 0))
        ]
        for tree in range(2):
            if _differs(one, other, range(2 + 2 * tree, 4 + 2 * tree)):
                laws = tree_laws(stream, one, other, threshold, tree, reach)
                assert laws[0].keys() == laws[1].keys()
                both = [
                    ratio * max(laws[a][said] / laws[b][said] for said in laws[a])
                    for ratio, (a, b) in zip(both, ((0, 1), (1, 0)), strict=True)
                ]
        found = max(found, *both)
    return found


def _differs(one: Sequence[Event], other: Sequence[Event], periods: range) -> bool:
    return sorted(e for e in one if e[0] in periods) != sorted(e for e in other if e[0] in periods)


def neighbours() -> Iterator[tuple[Event, ...]]:
    """Every stream with one event less, and with one more of any time and value."""
    for left_out in dict.fromkeys(STREAM):
        yield tuple(event for i, event in enumerate(STREAM) if i != STREAM.index(left_out))
    for t, value in product(range(PERIODS), range(4)):
        yield tuple(sorted((*STREAM, (t, value))))


@pytest.mark.parametrize("reach", [0, pytest.param(2, marks=pytest.mark.audit)])
def test_one_event_more_or_less_is_worth_at_most_epsilon(reach: int) -> None:
    found = [worst(TOPS, STREAM, other, reach) for other in neighbours()]
    assert len(found) == 8 + 24
    assert max(found) <= CLAIM
    assert max(found) > Fraction(5, 2)  # and not much less: the promise is used


@pytest.mark.parametrize("reach", [0, pytest.param(2, marks=pytest.mark.audit)])
def test_all_counted_events_of_a_user_in_one_window_are_worth_at_most_epsilon(reach: int) -> None:
    """Beside the eight events of others: a user's events within one window, of which at most two count."""
    window = [(t, value) for t in (1, 2) for value in (1, 3)]  # the last period of the hold-out, and the first leaf
    ratios = []
    for size in range(1, 5):
        for mine in combinations(window, size):
            counted = _counted(mine)
            assert len(counted) == min(size, 2)
            ratios.append(worst(USERS, STREAM, tuple(sorted((*STREAM, *counted))), reach))
    assert max(ratios) <= CLAIM
    assert max(ratios) > Fraction(2)


def _counted(mine: Sequence[Event]) -> list[Event]:
    """Which of a user's events count, by the stage's own rule."""
    assert USERS.events is not None
    assert USERS.window_ms is not None
    rule, every = CountedEvents(USERS.events, USERS.window_ms), USERS.every_ms
    users = np.zeros((len(mine), 16), np.uint8)
    rule.take(users, np.array([at * every for at, _ in mine]), np.array([value for _, value in mine], np.uint32))
    return [(t, value) for t in range(PERIODS) for value in rule.close((t + 1) * every).tolist()]


def test_a_noise_of_half_the_size_is_found_out() -> None:
    """The enumeration sees what it ought to: with the noise of one event, two counted events are worth more."""
    both = tuple(sorted((*STREAM, (2, 3), (2, 3))))
    assert worst(TOPS, STREAM, both, 0) > CLAIM


def test_nothing_is_told_of_a_tree_by_events_of_another_or_of_the_hold_out() -> None:
    noise = [[3, -1, 4], [-1, 5, -9]]
    calm, _ = Hearing(TOPS, 2, noise).told(STREAM)
    for other in neighbours():
        said, _ = Hearing(TOPS, 2, noise).told(other)
        for first, end in ((0, 2), (2, 4), (4, 6)):
            if not _differs(STREAM, other, range(first, end)):
                assert said[first:end] == calm[first:end]
