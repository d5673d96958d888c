# SPDX-License-Identifier: Apache-2.0
"""The rounds that a user may answer in one window, where earlier answers may decide what later rounds ask.

Contract: a `WindowRounds` holds every schedule that its method may take in any w periods, whatever was answered in them
and before; more than these is allowed, less is not.  `dearest` is the most that such a schedule can cost where each
round has a cost that depends on its amount (micro-nats) alone.  Not here: what a round costs (worst.py), which method
has which rounds (its class).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, Literal, NamedTuple

import numpy as np

from murmurate.randomizers.question import Question

Cost = Callable[[int], float]
Division = Literal["users", "budget", "adaptive budget"]
"""Whether a user answers one round of a window, several that are fixed beforehand, or several that answers decide."""
_PARTS: Final = 1 << 12
"""How finely what is left of a window is told apart."""
_OCTAVE: Final = 6
"""How many amounts in an octave are told apart."""
_OCTAVES: Final = 5
"""In so many octaves below the largest amount; one in each further octave."""
_QUICK: Final = 2
"""In so many octaves where a cost some hundredths larger is no harm."""


class Often(NamedTuple):
    """Rounds of one amount, at most so many in a window."""

    amount: int
    times: int


class Absorbed(NamedTuple):
    """Publications of k whole units: the k - 1 periods after one have none, and it takes over units of k - 1 before."""

    unit: int
    w: int

    @property
    def amounts(self) -> range:
        """All amounts that there may be."""
        return range(self.unit, self.w * self.unit + 1, self.unit)

    @property
    def total(self) -> int:
        """The most that all of a window use together."""
        return self.w * self.unit

    @property
    def largest(self) -> int:
        """The largest amount."""
        return self.total

    def dearest(self, cost: Cost, quick: bool = False) -> float:
        """The most that a window's publications can cost.

        best[a - 1] is for some periods left, of which the first may have a units: it publishes k of these, and one
        unit is there again after k periods; or it waits, and one more is there in the next.
        """
        each = np.array([cost(amount) for amount in self.amounts])
        after = [0.0]  # for 0, 1, 2, ... periods left, the first of which may have one unit
        best = np.zeros(self.w)
        for left in range(1, self.w + 1):
            then = np.array([after[max(0, left - k)] for k in range(1, self.w + 1)])
            publishes = np.maximum.accumulate(each + then)
            best = np.maximum(publishes, np.append(best[1:], best[-1]))
            after.append(float(best[0]))
        return float(best[-1])


class SharedOut(NamedTuple):
    """One round a period at most, each with at most a part of what the others before it in the window have left."""

    total: int
    w: int
    part: Fraction
    """The largest part of what is left."""
    most: int
    """No amount is above this one."""

    @property
    def largest(self) -> int:
        """The largest amount."""
        return min(self.most, math.floor(self.part * self.total))

    def dearest(self, cost: Cost, quick: bool = False) -> float:
        """The most that a window's rounds can cost, where a larger amount costs no less: amounts between two that are
        told apart cost what the larger one does, and use what the smaller one does. quick: fewer are told apart.
        """
        ends = self._ends(_QUICK if quick else _OCTAVES)
        each = np.array([cost(amount) for amount in ends[1:]])
        least = np.array(ends[:-1])
        unit = Fraction(self.total, _PARTS)
        uses = np.array([math.floor(Fraction(amount) / unit) for amount in ends[:-1]])
        needs = [math.floor(Fraction(int(amount)) / (self.part * unit)) for amount in least]
        best = np.zeros(_PARTS + 1)  # by what is left, rounded up
        for _ in range(self.w):
            more = best.copy()
            for one, used, need in zip(each, uses, needs, strict=True):
                start = max(int(used), need)
                more[start:] = np.maximum(more[start:], one + best[start - used : len(best) - used])
            if np.array_equal(more, best):
                break
            best = more
        return float(best[-1])

    def _ends(self, octaves: int) -> list[int]:
        top = self.largest
        fine = [math.ceil(top / 2 ** (step / _OCTAVE)) for step in range(_OCTAVE * octaves)]
        few = [math.ceil(top / 2**step) for step in range(octaves, _OCTAVES + max(1, self.w).bit_length() + 1)]
        return [0, *sorted({*fine, *few})]


class WindowRounds(NamedTuple):
    """All that a user may be asked in one window."""

    question: Callable[[int], Question]
    """The question of so many micro-nats."""
    often: tuple[Often, ...]
    """Rounds of a fixed amount."""
    chosen: bool = False
    """Whether answers decide which of them are asked."""
    publications: Absorbed | SharedOut | None = None
    """Rounds whose amounts answers decide."""
    one_mechanism: bool = False
    """Whether the mechanism is the same for every amount."""

    @property
    def division(self) -> Division:
        """What a window's promise is divided into, as far as mixing is concerned."""
        if self.most == 1:
            return "users"
        return "adaptive budget" if self.chosen else "budget"

    @property
    def total(self) -> int:
        """The most micro-nats that a user may spend."""
        more = self.publications.total if self.publications is not None else 0
        return more + sum(amount * times for amount, times in self.often)

    @property
    def most(self) -> int:
        """The most rounds that a user may answer."""
        more = self.publications.w if self.publications is not None else 0
        return more + sum(times for _, times in self.often)
