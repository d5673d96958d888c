# SPDX-License-Identifier: Apache-2.0
"""PeGaSus: a w-th of the resource for every period, and the mean over the group that a period belongs to.

Contract: every period asks; its release is the mean of the estimates of its group, whose variance is that of a mean
and what a group can hide.  grouping = "free": groups are found among the estimates themselves, which is post-processing
and takes nothing from them (our own; a grouper's round is then pointless).  "paid": a first round with a fifth of each
period's part finds the groups, as in the original, and estimates have the other four fifths.  A lost first round begins
a group; a lost estimate leaves the last release.  Source: PeGaSus in LDP-IDS's frame, which only names it;
ARCHITECTURE section 5.2.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from murmurate.aggregators.accounting.schedules import Often, WindowRounds
from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.methods.asking import Asking, Everybody, FreshSlots
from murmurate.aggregators.methods.drawing import Drawing, too_little
from murmurate.aggregators.methods.drift import Drift
from murmurate.aggregators.methods.grouping import Grouping
from murmurate.aggregators.methods.last_estimate import LastEstimate
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Purpose, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown
from murmurate.randomizers.state import Arrays

KAPPA = {"free": 0.25, "paid": 0.1}
"""What a group may hide, in units of the variance of the estimates that it averages, by the kind of grouping. Under
budget division "paid" is in units of the grouper's own variance: that is 16 times theirs there, and groups that had to
hide less would be broken up by it alone."""
PARTS = 5
"""Under "paid" the grouper has one of so many parts, estimates the others."""


class Pegasus(Drawing):
    """PeGaSus over any resource."""

    averages = True

    def __init__(self, setting: Setting, asking: Asking, grouping: str, variance: str | None = None) -> None:
        if grouping not in KAPPA:
            raise ParameterError(f"grouping: found {shown(grouping)}; allowed: {', '.join(KAPPA)}")
        parts = PARTS if grouping == "paid" else 1
        self.grouper = asking.total // (parts * setting.w) if grouping == "paid" else 0
        self.unit = max(parts - 1, 1) * asking.total // (parts * setting.w)
        if asking.total < parts * setting.w:
            raise too_little(self.name, asking, setting.w, f"{parts} w = {parts * setting.w}".replace("1 w", "w"))
        super().__init__(setting, asking, usual=self.unit, variance=variance, grouping=grouping)
        kappa = KAPPA[grouping]
        if grouping == "paid" and asking.division == "population":
            kappa /= PARTS - 1  # by so much the estimates' variance is smaller than the grouper's
        self.groups = Grouping(kappa)
        self._size = 0
        self._sums: Floats = np.zeros((2, self.standing.mechanism.statistics))
        """The sums of the group's estimates, and of their variances."""
        self._drift = Drift()

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """A w-th, or the grouper's part of it."""
        return Fraction(1, PARTS * w if options.grouping == "paid" else w)

    def remember(self, known: OutsideEstimate) -> None:
        """Begin with what was known before the first period, as a group as long as a window would have made it, and as
        soon left, of answers that said more or less of their mean than those do.
        """
        window, statistics = self.setting.w, known.known[: known.statistics]
        self.groups.begin(statistics, self._error_of(self.grouper or self.unit, known), window)
        self._size, self._sums = window, np.stack((window * statistics, window**2 * known.variance))

    def most_rounds(self) -> WindowRounds:
        """Under budget division the grouper's round and the estimate's in every period."""
        if self.division == "population":
            return super().most_rounds()
        return self._rounds(*(Often(amount, self.setting.w) for amount in (self.grouper, self.unit) if amount))

    def _begin(self) -> Request:
        return self._ask(self.grouper, "dissimilarity") if self.grouper else self._ask(self.unit, "publication")

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Request | Decision:
        if purpose == "dissimilarity":
            if answer.counted:
                self._group(self._measured(amount, answer), self._error(amount, answer))
            else:
                self.groups.clear()
                self._restart()
            return self._ask(self.unit, "publication")
        if not answer.counted:
            square = self._drift.bound(self.standing, self.t) + self.groups.hidden
            return self.standing.decision(self.t, mean_square=min(1.0, square))
        fresh = self._measured(amount, answer)
        if not self.grouper:
            self._group(fresh, self._error(amount, answer))
        old, self.standing = self.standing, self._mean(fresh)
        self._drift.note(old, self.standing)
        return self.standing.decision(self.t, mean_square=float(self.standing.variance.mean()) + self.groups.hidden)

    def _group(self, estimate: LastEstimate, error: float) -> None:
        if not self.groups.take(estimate.unbiased, error):
            self._restart()

    def _restart(self) -> None:
        self._size, self._sums = 0, np.zeros_like(self._sums)

    def _mean(self, fresh: LastEstimate) -> LastEstimate:
        """The group's mean, this estimate in it."""
        self._size += 1
        self._sums = self._sums + np.stack((fresh.unbiased, fresh.variance))
        return replace(fresh, unbiased=self._sums[0] / self._size, variance=self._sums[1] / self._size**2)

    def _facts(self) -> dict[str, Any]:
        return {"groups": self.groups.facts(), "size": self._size, "moved": self._drift.facts()}

    def _arrays(self) -> Arrays:
        return {**super()._arrays(), "grouped": self.groups.sums, "sums": self._sums}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        self.groups.load(facts["groups"], arrays["grouped"])
        self._size, self._sums = facts["size"], arrays["sums"].copy()
        self._drift.load(facts["moved"])
        self.asking.load(self.t, arrays)


class LBPegasus(Pegasus):
    """PeGaSus by budget division: everybody answers, with a w-th of epsilon."""

    name = "lb-pegasus"
    division = Everybody.division
    simplicity = 10

    def __init__(self, setting: Setting, *, grouping: str = "free") -> None:
        super().__init__(setting, Everybody(setting), grouping)


class LPPegasus(Pegasus):
    """PeGaSus by population division: a w-th of the slots answers, with all of epsilon."""

    name = "lp-pegasus"
    division = FreshSlots.division
    simplicity = 3

    def __init__(self, setting: Setting, *, grouping: str = "free", variance: str = "sampling") -> None:
        super().__init__(setting, FreshSlots(setting), grouping, variance)
