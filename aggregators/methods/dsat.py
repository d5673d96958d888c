# SPDX-License-Identifier: Apache-2.0
"""DSATw: at most C publications a window, when the distance passes a threshold that steers their number to C.

Contract: a window holds C = max(1, round(0.15 w)) publications at most, with an equal part each of what first rounds
leave; once they are used no first round is asked either, and the last release is repeated.  The threshold T is in
units of a publication's error: it rises while there were more publications than C / w of the periods, and falls while
there were fewer, but for a dead zone of `SIGMA` (our own).  Source: DSATw in LDP-IDS's frame (its algorithm 4),
ARCHITECTURE section 5.2.  ARCHITECTURE errata E7 and E8: the paper's first round takes 1 / C of their users each
period, and the pool is empty after C of them; a w-th is taken. The printed count over t has t grow while the count of a
window does not; the window's length is what it is a share of, and its clamp of 2 bounds another distance.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from murmurate.aggregators.accounting.schedules import Often
from murmurate.aggregators.methods.adaptive import Adaptive
from murmurate.aggregators.methods.asking import Asking, Everybody, FreshSlots
from murmurate.aggregators.methods.drift import Drift
from murmurate.aggregators.methods.method import Answer, Decision, Purpose, Request, Setting
from murmurate.aggregators.methods.recent import Publications
from murmurate.randomizers.state import Arrays

SIGMA, THETA = 0.05, 0.1
"""The dead zone of the share of publications, and how far the threshold moves for each further dead zone."""
LEAST, MOST = 0.0, 4.0
"""The least and the greatest value of the threshold, which begins at 1."""


def often(w: int) -> int:
    """C: the number of publications, or samples, that a window may have.

    >>> often(30), often(20), often(1)
    (4, 3, 1)
    """
    return max(1, round(Fraction(3 * w, 20)))


class FixedPublications(Publications):
    """A schedule of at most `most` publications a window, all of one size."""

    def __init__(self, *, unit: int, most: int, w: int) -> None:
        super().__init__(w)
        self.unit, self.most = unit, most

    def count(self, step: int) -> int:
        """The number of publications in the w - 1 periods before this one."""
        return len(self._used.before(step))

    def offer(self, step: int) -> int:
        """The amount for a publication now; 0 where the window has had all."""
        return self.unit if self.count(step) < self.most else 0

    def uses(self) -> Often:
        """All of a window's publications."""
        return Often(self.unit, self.most)


class Dsat(Adaptive):
    """DSATw over any resource."""

    allotment: FixedPublications

    def __init__(self, setting: Setting, asking: Asking, variance: str | None = None) -> None:
        super().__init__(setting, asking, _counted(setting), variance=variance)
        self.threshold = 1.0
        self._drift = Drift()

    def _begin(self) -> Request | Decision:
        if not self.allotment.offer(self.step):
            return self.standing.decision(self.t, mean_square=self._drift.bound(self.standing, self.t))
        self.threshold = self._steered()
        return super()._begin()

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Request | Decision:
        old = self.standing
        step = super()._answered(purpose, amount, answer)
        if self.standing is not old:
            self._drift.note(old, self.standing)
        return step

    def _pays(self, dis: float, price: float) -> bool:
        return self.standing.measured_t is None or dis >= self.threshold * price

    def _steered(self) -> float:
        """The threshold of this period."""
        w = self.setting.w
        count, length = self.allotment.count(self.step), max(1, min(self.step - 1, w - 1))
        gap = count / length - self.allotment.most / w
        change = THETA * max(0.0, (abs(gap) - SIGMA) / SIGMA)
        return max(LEAST, self.threshold - change) if gap < 0 else min(MOST, self.threshold + change)

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "threshold": self.threshold, "moved": self._drift.facts()}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        super()._load(facts, arrays)
        self.threshold = facts["threshold"]
        self._drift.load(facts["moved"])


class LBDsat(Dsat):
    """DSATw by budget division: everybody answers, with a part of epsilon."""

    name = "lb-dsat"
    division = Everybody.division
    simplicity = 15

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, Everybody(setting))


class LPDsat(Dsat):
    """DSATw by population division: fresh slots answer, with all of epsilon."""

    name = "lp-dsat"
    division = FreshSlots.division
    simplicity = 8

    def __init__(self, setting: Setting, *, variance: str = "sampling") -> None:
        super().__init__(setting, FreshSlots(setting), variance)


def _counted(setting: Setting) -> Callable[[int], FixedPublications]:
    most = often(setting.w)
    return lambda rest: FixedPublications(unit=rest // most, most=most, w=setting.w)
