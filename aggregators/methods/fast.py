# SPDX-License-Identifier: Apache-2.0
"""FAST: at most M samples of one size in a window, at shorter intervals where the filter's predictions were wrong.

Contract: M = max(1, round(0.15 w)) samples in any w periods, each an M-th of the resource; a sample that is due while
the window has had M waits.  The controller's feedback on the relative error of predictions lengthens the interval below
`GOAL` and shortens it above.  Source: FAST in LDP-IDS's frame, which only names it; ARCHITECTURE section 5.2.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np

from murmurate.aggregators.accounting.schedules import Often, WindowRounds
from murmurate.aggregators.methods.asking import Asking, Everybody, FreshSlots
from murmurate.aggregators.methods.drawing import too_little
from murmurate.aggregators.methods.dsat import often
from murmurate.aggregators.methods.filtered import Filtered
from murmurate.aggregators.methods.method import Floats, Setting
from murmurate.aggregators.methods.options import MethodOptions

THETA, GOAL = 5.0, 0.1
"""How strongly the interval changes, and the paper's xi: the feedback that leaves the interval as it is."""
MEMORY = 5
"""The number of errors that the controller remembers."""
LEAST = 0.001
"""The paper's delta: an error is relative to at least this."""
STEEPEST = 50.0
"""The largest exponent worked out: beyond it the interval is 1 whatever it was."""


class Fast(Filtered):
    """FAST over any resource."""

    def __init__(self, setting: Setting, asking: Asking, variance: str | None = None) -> None:
        self.samples = often(setting.w)
        if asking.total < self.samples:
            raise too_little(self.name, asking, setting.w, f"{self.samples}")
        usual = asking.total // self.samples
        super().__init__(setting, asking, usual=usual, variance=variance, memory=MEMORY)

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """1 / M, the part of a sample."""
        return Fraction(1, often(w))

    def most_rounds(self) -> WindowRounds:
        """Under budget division all samples of a window; answers decide when."""
        if self.division == "population":
            return super().most_rounds()
        return self._rounds(Often(self.amount(1.0), self.samples), chosen=True)

    def share(self) -> float:
        """1 / M while the window has had fewer than M samples, then 0."""
        return 1 / self.samples if len(self.used.before(self.step)) < self.samples else 0.0

    def amount(self, share: float) -> int:
        """An M-th of the resource."""
        return self.asking.total // self.samples if share else 0

    def adapt(self, prior: Floats) -> None:
        """Set the interval to I + theta (1 - e^((Delta - xi) / xi)), from 1 to w."""
        level = self.kalman.level
        error = float(np.abs(level - prior).mean()) / max(abs(float(level.mean())), LEAST)
        excess = (self.pid.feedback(error) - GOAL) / GOAL
        longer = THETA * (1 - exp(min(excess, STEEPEST)))
        self.interval = min(max(1.0, self.interval + longer), float(self.setting.w))


class LBFast(Fast):
    """FAST by budget division: everybody answers, with a part of epsilon."""

    name = "lb-fast"
    division = Everybody.division
    simplicity = 13

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, Everybody(setting))


class LPFast(Fast):
    """FAST by population division: fresh slots answer, with all of epsilon."""

    name = "lp-fast"
    division = FreshSlots.division
    simplicity = 6

    def __init__(self, setting: Setting, *, variance: str = "sampling") -> None:
        super().__init__(setting, FreshSlots(setting), variance)
