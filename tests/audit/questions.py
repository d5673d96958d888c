# SPDX-License-Identifier: Apache-2.0
"""Questions over which the audit runs: every view there is over every small domain, and faults that it must see."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

from murmurate.randomizers import (
    GRR,
    OLH,
    OUE,
    VIEWS,
    Branches,
    Extensions,
    Itemsets,
    Level,
    LongPrefix,
    Marginal,
    Mechanism,
    OLHCounts,
    Padded,
    Prefix,
    Question,
    SampledPrefix,
    Size,
    TrieLeaf,
    View,
    Viewed,
    Weighted,
    Whole,
)  # fmt: skip
from murmurate.randomizers.layouts import NONE
from murmurate.randomizers.question import Value
from murmurate.randomizers.thresholds import exp_floor
from murmurate.randomizers.views import words_of
from tests.audit.registry import ROUND

ROW, BITS = (2, 2, 2), 4
NAMED = [([""], 0, 2), (["0", "1"], 1, 3), (["1", "2"], 2, 4), (["3"], 3, 4), (["5", "0", "7"], 3, 4)]
"""Parents of strings of four bits, with their bits and those of their extensions."""
GROWN = [
    (BITS, [""]),
    (2, [""]),
    (5, [""]),
    (5, ["8", "", "0"]),
    (6, ["", "3", "f", "a"]),
    (7, ["", *"0123456789abcdef"]),
]
"""Lengths of strings in bits, and what has grown by four."""


def sets(universes: tuple[int, ...] = (1, 2, 3, 4), most: tuple[int, ...] = (1, 2, 3)) -> Iterator[tuple[Any, ...]]:
    """The layout of every set of a small universe."""
    return (("items", d, of, none) for d in universes for of in most if of <= d for none in (0, 1))


def padded(lengths: tuple[int, ...] = (1, 2, 3, 4)) -> Iterator[Padded]:
    """Every length behind every small universe, and candidates that are some items, or sets of them."""
    for of in sets():
        for length in lengths:
            yield Padded(of, length)
    for of in sets((4,), (2, 3)):
        yield from (Padded(of, 2, [1, 3]), Padded(of, 3, [2]), Itemsets(of, 2, [[0, 1], [1, 2], [3]]))


def sampled_prefixes() -> Iterator[SampledPrefix]:
    """Every length of prefix behind every small universe."""
    for of in sets():
        for bits in range(1, max(1, (of[1] - 1).bit_length()) + 1):
            yield from (SampledPrefix(of, length, bits) for length in (1, 2, 3))


def exact() -> Iterator[View]:
    """Every view that draws nothing."""
    yield Whole(("code", 4))
    for none in (0, 1):
        strings = [(("bits", BITS, none), bits) for bits in range(1, BITS + 1)]
        yield from (kind(of, bits) for kind in (Prefix, LongPrefix) for of, bits in strings)
        yield from (Extensions(("bits", BITS, none), *of) for of in NAMED)
        yield from (TrieLeaf(("bits", m, none), grown, 4) for m, grown in GROWN)
        row = ("row", ROW, none)
        yield from (Marginal(row, list(of)) for n in (1, 2, 3) for of in combinations(range(3), n))
        yield from (Level(("row", (2, 3, 2), none), widths) for widths in ((1, 2, 2), (2, 1, 1), (2, 2, 1)))
    for of in sets():
        yield Size(of)
    yield from (Size(("items", 4, 3, 1), [0, 2]), Size(("items", 4, 3, 1), [[0, 1], [2]]))


def views() -> list[View]:
    return [*padded(), *sampled_prefixes(), *exact()]


def told_by(view: View, epsilon: Fraction | float) -> Viewed:
    return Viewed(view, GRR(d=view.d, epsilon=epsilon))


def others(epsilon: Fraction | float) -> Iterator[Question]:
    """Questions with other mechanisms, of several branches, and with a public number."""
    small = Padded(("items", 3, 2, 1), 2)
    yield Viewed(small, OUE(d=small.d, epsilon=epsilon))
    if epsilon <= 6:  # its cells grow with e^epsilon
        yield Viewed(small, OLH(d=small.d, epsilon=epsilon, pool=2))
        yield Viewed(Prefix(("bits", 3, 1), 2), OLH(d=5, epsilon=epsilon, pool=2))
    row = ("row", ROW, 1)
    groups = [(3, told_by(Marginal(row, [0, 1]), epsilon)), (1, told_by(Marginal(row, [2]), epsilon))]
    yield Branches(groups)
    mixed = [(1, told_by(Size(("items", 3, 2, 1)), epsilon)), (2, told_by(small, epsilon))]
    yield Branches(mixed)
    yield Weighted(Branches(groups), 4, 3)
    yield Weighted(GRR(d=3, epsilon=epsilon), 2)
    if epsilon <= 6:
        yield from searched(epsilon)


def searched(epsilon: Fraction | float) -> Iterator[Question]:
    """Questions of searches, whose values nobody lists: prefixes, alone and in groups of users."""
    for none in (0, 1):
        views = [LongPrefix(("bits", 3, none), bits) for bits in (1, 2, 3)]
        counted = [Viewed(view, OLHCounts(d=view.d, epsilon=epsilon, pool=2)) for view in views]
        yield from counted
        named = Extensions(("bits", 3, none), ["1", "2"], 2, 3)
        yield Viewed(named, OUE(d=named.d, epsilon=epsilon))
        yield Viewed(named, OLH(d=named.d, epsilon=epsilon, pool=2))
        yield Branches([(1, question) for question in counted])
        leaf = TrieLeaf(("bits", 6, none), ["", "0", "9"], 4)
        yield Viewed(leaf, OLHCounts(d=leaf.d, epsilon=epsilon, pool=2))
        yield Viewed(leaf, GRR(d=leaf.d, epsilon=epsilon))
        items = [SampledPrefix(("items", 4, 3, none), 2, bits) for bits in (1, 2)]
        counted = [Viewed(view, OLHCounts(d=view.d, epsilon=epsilon, pool=2)) for view in items]
        yield from (*counted, Branches([(1, question) for question in counted]))
        yield Viewed(items[0], OUE(d=items[0].d, epsilon=epsilon))
        yield Viewed(items[1], OLH(d=items[1].d, epsilon=epsilon, pool=2))


def kinds() -> set[str]:
    """All that a spec may name, whatever a registry has them by."""
    ours = {name for name, kind in VIEWS.items() if kind.__module__.startswith("murmurate.")}
    return {*ours, "branches", "weighted"}


# ---- faults ----


class Fault(Padded):
    """A padded sample that breaks its word, behind the ratio that an honest one may have."""

    def law(self, value: Value) -> Mapping[int, Fraction]:
        words = words_of(value)
        own = [] if words[0] == NONE else self.held.of(words)
        return self.told(own, silent=words[0] == NONE)

    def told(self, own: list[int], *, silent: bool) -> Mapping[int, Fraction]:
        raise NotImplementedError


class NoneOfItsOwn(Fault):
    """Who has no value tells a code of their own, always."""

    def __init__(self, layout: Any, length: int) -> None:
        super().__init__(layout, length)
        self.d += 1

    def told(self, own: list[int], *, silent: bool) -> Mapping[int, Fraction]:
        if silent:
            return {self.d - 1: Fraction(1)}
        each = Fraction(1, self.length)
        rest = (1 - len(own) * each) / self.length
        dummies = {self.held.number + i: rest for i in range(self.length) if rest}
        return {**dict.fromkeys(own, each), **dummies}


class OneDummy(Fault):
    """One dummy for all."""

    def __init__(self, layout: Any, length: int) -> None:
        super().__init__(layout, length)
        self.d = self.held.number + 1

    def told(self, own: list[int], *, silent: bool) -> Mapping[int, Fraction]:
        each = Fraction(1, self.length)
        rest = {self.held.number: 1 - len(own) * each} if len(own) < self.length else {}
        return {**dict.fromkeys(own, each), **rest}


class PaddedByItems(Fault):
    """Not by dummies but by the first items: no ratio sees it."""

    def told(self, own: list[int], *, silent: bool) -> Mapping[int, Fraction]:
        filled = (own + [item for item in range(self.held.number) if item not in own])[: max(self.length, len(own))]
        short = {self.held.number + i: Fraction(1, self.length) for i in range(self.length - len(filled))}
        return {**dict.fromkeys(filled, Fraction(1, max(self.length, len(filled)))), **short}


class FirstKept(Fault):
    """Of more than L items the first L: no ratio sees it."""

    def told(self, own: list[int], *, silent: bool) -> Mapping[int, Fraction]:
        own, each = own[: self.length], Fraction(1, self.length)
        rest = (1 - len(own) * each) / self.length
        return {**dict.fromkeys(own, each), **{self.held.number + i: rest for i in range(self.length) if rest}}


class EnlargedPrefix(SampledPrefix):
    """Prefixes that several items share, and one dummy for all, behind the ratio that distinct codes may have."""

    def inside(self, mechanism: Mechanism) -> Mechanism:
        return mechanism.sampled(self.length)


class RoundedRatio(Padded):
    """The inner ratio as micro-nats, to the nearest."""

    def inside(self, mechanism: Mechanism) -> Mechanism:
        ratio = self.length * (exp_floor(mechanism.epsilon_micro) - 1) + 1
        return GRR(d=mechanism.d, epsilon=Fraction(math.ceil(math.log(ratio) * 10**6), 10**6))


class SeedOfValue(OLHCounts):
    """Prefers a seed of the pool, by the value."""

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        tilted = (Fraction(3, 2), Fraction(1, 2)) if value % 2 else (Fraction(1, 2), Fraction(3, 2))
        return {report: chance * tilted[report[0]] for report, chance in super().law(value).items()}


class BranchOfValue(Branches):
    """The branch follows from the value."""

    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        honest, mine = super().law(value), int(words_of(value)[0] % 2)
        chances = {report: chance / self.chances[report[0]] for report, chance in honest.items()}
        tilted = {0: Fraction(3, 4), 1: Fraction(1, 4)} if mine else {0: Fraction(1, 4), 1: Fraction(3, 4)}
        return {report: chance * tilted[report[0]] for report, chance in chances.items()}


def faults(epsilon: Fraction | float) -> dict[str, Question]:
    """Questions whose ratio is above the claim."""
    of, row = ("items", 4, 3, 1), ("row", ROW, 0)
    groups = [(1, told_by(Marginal(row, [0]), epsilon)), (1, told_by(Marginal(row, [1]), epsilon))]
    return {
        "a none of its own": told_by(NoneOfItsOwn(of, 3), epsilon),
        "one dummy for all": told_by(OneDummy(of, 3), epsilon),
        "an inner ratio in rounded micro-nats": told_by(RoundedRatio(of, 3), epsilon),
        "a prefix as if its items were apart": told_by(EnlargedPrefix(of, 3, 1), epsilon),
        "a branch drawn from the value": BranchOfValue(groups),
        "a seed drawn from the value": Viewed(LongPrefix(("bits", 3, 1), 3), SeedOfValue(d=9, epsilon=epsilon, pool=2)),
    }


def bias(view: Padded, users: list[Value]) -> list[Fraction]:
    """How far the expected estimate of each candidate's frequency is off, in exact arithmetic."""
    laws = [view.law(value) for value in users]
    own = [[] if words_of(value)[0] == NONE else view.held.of(words_of(value)) for value in users]
    chance, n = Fraction(view.share, 2**64), len(users)
    return [
        sum((law.get(item, Fraction(0)) for law in laws), Fraction(0)) / chance / n
        - Fraction(sum(item in of for of in own), n)
        for item in range(view.held.number)
    ]


def at_round(question: Question) -> Question:
    return question.of_round(ROUND)
