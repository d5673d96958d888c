# SPDX-License-Identifier: Apache-2.0
"""ExSub online with counters drawn outright, as Algorithm 4 has it, and faults of that and other kinds.

`DrawnOutright` has the law of `ExSubOnline` but for the rounding of words; `Exactly` decides without words at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import comb

from murmurate.randomizers.sessions.exsub_online import ExSubOnline

State = tuple[int, ...]


class Exactly(ExSubOnline):
    """Decisions of exact probabilities, counters plain or lifted."""

    @staticmethod
    def level(k: int, of: int) -> Fraction:
        return Fraction(k, of)


class BoundOfThree(ExSubOnline):
    """The bound e^epsilon = 3 of the golden file, which is no whole number of micro-nats."""

    @property
    def bound(self) -> Fraction:
        return Fraction(3)


class DrawnOutright(ExSubOnline):
    """The numbers of agreeing and opposite symbols are drawn at the beginning, for everybody."""

    def law_begin(self) -> Mapping[State, Fraction]:
        law = {}
        for k, chance in enumerate(self.cells.law):
            for a in range(k + 1):
                if chance:
                    part = chance * Fraction(comb(k, a), 1 << k) * self.cells.weight(a, k - a)
                    law[self.first(a, k - a)] = part
        return law

    def first(self, agreeing: int, opposite: int) -> State:
        return agreeing, opposite, self.m - agreeing - opposite, self.s, self.entries


class ExactlyOutright(DrawnOutright, Exactly):
    """Decisions of exact probabilities, counters drawn outright."""


class AsPrinted(DrawnOutright):
    """Algorithm 4 as printed: it counts all coordinates, stubs included, as others, and tests after the decrement."""

    def first(self, agreeing: int, opposite: int) -> State:
        return agreeing, opposite, self.m - agreeing - opposite, self.s, self.number

    def entry_law(self, state: State, change: int) -> Iterator[tuple[int, State, Fraction]]:
        agreeing, opposite, elsewhere, slots, others = state
        slots, others = (slots - 1, others) if change else (slots, others - 1)
        if change:
            inside = (
                min(Fraction(1), Fraction(agreeing + opposite, slots)) if slots else Fraction(agreeing + opposite > 0)
            )
            own = inside * Fraction(agreeing, max(1, agreeing + opposite))
            yield from told(
                (change, (agreeing - 1, opposite, elsewhere, slots, others), own),
                (-change, (agreeing, opposite - 1, elsewhere, slots, others), inside - own),
                (0, (agreeing, opposite, elsewhere, slots, others), 1 - inside),
            )
            return
        inside = min(Fraction(1), Fraction(elsewhere, others))
        yield from told(
            (1, (agreeing, opposite, elsewhere - 1, slots, others), inside / 2),
            (-1, (agreeing, opposite, elsewhere - 1, slots, others), inside / 2),
            (0, (agreeing, opposite, elsewhere, slots, others), 1 - inside),
        )


def told(*parts: tuple[int, State, Fraction]) -> Iterator[tuple[int, State, Fraction]]:
    """Those that may happen."""
    return (part for part in parts if part[2])


class WithoutClamp(DrawnOutright):
    """Changes after the last slot are slots too, from which nothing is left to tell."""

    def entry_law(self, state: State, change: int) -> Iterator[tuple[int, State, Fraction]]:
        if change and not state[3]:
            return iter([(0, state, Fraction(1))])
        return super().entry_law(state, change)


class ByTable(ExactlyOutright):
    """The number of others that a node tells is drawn from one table of words of `bits` bits, and where by chance."""

    bits = 64

    def law_tell(self, counters: State, changes: tuple[int, ...]) -> Mapping[tuple[bytes, State], Fraction]:
        _, _, elsewhere, _, others = counters
        free = changes.count(0)
        law, table = {}, self.table(elsewhere, others, free)
        for (report, state), chance in super().law_tell(counters, changes).items():
            told_elsewhere = elsewhere - state[2]
            exact = hypergeometric(elsewhere, others, free, told_elsewhere)
            part = chance / exact * table[told_elsewhere]
            if part:
                law[report, state] = part
        return law

    def table(self, elsewhere: int, others: int, free: int) -> list[Fraction]:
        """The chance of each number: whole words, rounded down, the rest for the likeliest."""
        exact = [hypergeometric(elsewhere, others, free, k) for k in range(free + 1)]
        words = [int(chance * (1 << self.bits)) for chance in exact]
        words[exact.index(max(exact))] += (1 << self.bits) - sum(words)
        return [Fraction(word, 1 << self.bits) for word in words]


class BySmallTable(ByTable):
    """A table of few bits, whose rows are as rare for few coordinates as those of 64 bits for many."""

    bits = 2


def hypergeometric(good: int, of: int, drawn: int, k: int) -> Fraction:
    """The chance of k good ones among those drawn."""
    if not max(0, drawn - (of - good)) <= k <= min(good, drawn):
        return Fraction(0)
    return Fraction(comb(good, k) * comb(of - good, drawn - k), comb(of, drawn))
