# SPDX-License-Identifier: Apache-2.0
"""RescueDP: samples take a part of what the window has left, the larger the longer they waited.

Contract: a sample takes min(phi ln(I + 1), 0.6) of what the window has left, and at most a fifth of all; so a window's
samples never use all of it, whatever they are.  Feedback above the error that the next sample would have shortens the
interval, below lengthens it.  Source: RescueDP in LDP-IDS's frame (its algorithm 5), ARCHITECTURE section 5.2.
ARCHITECTURE erratum E9: printed is (delta / Var)^2, an error over a square; RescueDP divides by the noise's scale:
delta^2 / Var.  Not here: its grouping of many dimensions, and the noise of the grouping.
"""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

from murmurate.aggregators.accounting.schedules import SharedOut, WindowRounds
from murmurate.aggregators.methods.asking import Asking, Everybody, FreshSlots
from murmurate.aggregators.methods.drawing import too_little
from murmurate.aggregators.methods.filtered import Filtered
from murmurate.aggregators.methods.method import Floats, Setting
from murmurate.aggregators.methods.options import MethodOptions

PHI, MOST_OF_REST, MOST = 0.2, 0.6, 0.2
"""A round gets ln(I + 1) times PHI of the rest, at most MOST_OF_REST of the rest, and at most MOST of all."""
THETA = 3.0
"""How far the interval moves."""
_ROUNDING = Fraction(1, 1 << 40)
MEMORY = 3
"""Errors that the controller remembers."""


class RescueDP(Filtered):
    """RescueDP over any resource."""

    def __init__(self, setting: Setting, asking: Asking, variance: str | None = None) -> None:
        first = int(PHI * log(2) * asking.total)
        if not first:
            raise too_little(self.name, asking, setting.w, "8")
        super().__init__(setting, asking, usual=first, variance=variance, memory=MEMORY)

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """Later samples may have less than this eighth, as far as min_batch allows."""
        return Fraction(1, 8)

    @classmethod
    def first(cls, w: int, options: MethodOptions) -> Fraction:
        """The first sample has phi ln 2 of all."""
        return Fraction(7, 50)

    def most_rounds(self) -> WindowRounds:
        """Under budget division a sample in any period, of parts that are rounded up by more than doubles are off."""
        if self.division == "population":
            return super().most_rounds()
        part, most = Fraction(repr(MOST_OF_REST)) + _ROUNDING, Fraction(repr(MOST)) + _ROUNDING
        total = self.asking.total
        samples = SharedOut(total, self.setting.w, part, int(most * total))
        return self._rounds(chosen=True, publications=samples)

    def share(self) -> float:
        """By how long ago the last sample was meant to be, and by what the window has left."""
        return min(min(PHI * log(self.interval + 1), MOST_OF_REST) * self._left(self.step), MOST)

    def adapt(self, prior: Floats) -> None:
        """I + theta (1 - delta^2 / Var), from 1 to w, where Var is that of a sample in the next period."""
        error = sqrt(float(((self.kalman.level - prior) ** 2).mean()))
        delta = self.pid.feedback(error)
        coming = self.price(self.amount(min(self._left(self.step + 1), MOST)), self.profile)
        longer = THETA * (1 - delta**2 / coming)
        self.interval = min(max(1.0, self.interval + longer), float(self.setting.w))

    def _left(self, step: int) -> float:
        """The share of the resource that the window before this period left."""
        return 1 - sum(self.used.before(step))


class LBRescueDP(RescueDP):
    """RescueDP by budget division: everybody answers, with a part of epsilon."""

    name = "lb-rescuedp"
    division = Everybody.division
    simplicity = 14

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, Everybody(setting))


class LPRescueDP(RescueDP):
    """RescueDP by population division: fresh slots answer, with all of epsilon."""

    name = "lp-rescuedp"
    division = FreshSlots.division
    simplicity = 7

    def __init__(self, setting: Setting, *, variance: str = "sampling") -> None:
        super().__init__(setting, FreshSlots(setting), variance)
