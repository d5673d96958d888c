# SPDX-License-Identifier: Apache-2.0
"""Distribution: each publication gets half of what the window has left (LBD, LPD).

Contract: publications of any w consecutive periods use less than `total` together, since each is offered at most half
of what the others in its window left; the first may use half of it.  Source: LDP-IDS algorithm 2, ARCHITECTURE section
5.1. ARCHITECTURE erratum E1: the printed sum over publications runs from -w + 1, which is all of time, and would end
publications.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from murmurate.aggregators.accounting.schedules import SharedOut
from murmurate.aggregators.methods.adaptive import ByBudget, ByPopulation
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.recent import Publications


class Halving(Publications):
    """How much the next publication may use. Steps count periods as the paper does, from 1."""

    def __init__(self, *, total: int, w: int) -> None:
        super().__init__(w)
        self.total, self.w = total, w

    def uses(self) -> SharedOut:
        """Each publication of a window has at most half of what others in it left."""
        return SharedOut(self.total, self.w, Fraction(1, 2), self.total // 2)

    def offer(self, step: int) -> int:
        """The amount for a publication now."""
        return (self.total - sum(self._used.before(step))) // 2


class Halved:
    """A method that schedules its publications by halving."""

    @classmethod
    def schedule(cls, setting: Setting) -> Callable[[int], Halving]:
        """The function from what publications may use in a window to their schedule."""
        return lambda rest: Halving(total=rest, w=setting.w)


class LBD(Halved, ByBudget):
    """LDP-IDS budget distribution: everybody measures each period with epsilon / (2 w) how far the last release is off,
    and makes a new one with half of what the window has left when that pays.
    """

    name = "lbd"
    simplicity = 12


class LPD(Halved, ByPopulation):
    """LDP-IDS population distribution: S // (2 w) fresh slots measure each period how far the last release is off, and
    half of those that publications have left in the window make a new one when that pays.
    """

    name = "lpd"
    simplicity = 5
