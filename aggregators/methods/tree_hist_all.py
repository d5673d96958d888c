# SPDX-License-Identifier: Apache-2.0
"""TreeHist under a central target: everybody answers every round of a search, each with an equal part of epsilon.

Contract: no more rounds are asked in any w periods than a search has (or w, if these are fewer), whether they counted
or not; a period in which another one would be too many asks nothing.  So what a window is worth is known beforehand:
so many rounds of one price, whose candidates come from earlier answers, and whose reports tell as much whatever these
are.  Where answers are mixed, rounds compose to about the square root of their number, and each has all users to hide
among: less error than a part of the users a round.
Source: Wang 2021, section 9.6.3.  Not here: the search (pem_rounds.py), the price of a round (config/mixed.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.accounting.schedules import Often, WindowRounds
from murmurate.aggregators.hitters.tree_hist import TreePlan
from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.methods.method import Floats, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.pem_rounds import CHARACTER, TreeHist
from murmurate.randomizers import OLH, ParameterError, Question, Viewed
from murmurate.randomizers.question import LayoutSpec
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.string_views import Extensions
from murmurate.randomizers.thresholds import MICRO


@dataclass(frozen=True)
class OfExtensions:
    """What stands for every round of a search, at so many micro-nats: two of the same layout and cells are equal."""

    layout: LayoutSpec
    cells: int = 0
    """The number of cells of the hash functions; 0: the usual one."""

    def __call__(self, epsilon_micro: int) -> Question:
        """The question about the first bit, which tells as much as any other one."""
        view = Extensions(self.layout, ("",), 0, 1)
        return Viewed(view, OLH(d=view.d, epsilon=Fraction(epsilon_micro, MICRO), pool=0, g=self.cells))


class TreeHistOfAll(TreeHist):
    """One stream's search by eight more bits a round, which everybody answers."""

    name = "tree_hist_all"
    simplicity = 23
    division = "budget"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.sizes = (setting.slots,)
        self._rounds_at: tuple[int, ...] = ()
        """The newest periods that had a round, as far back as a window reaches."""

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """A w-th of epsilon, or more where a window has fewer rounds."""
        return Fraction(1, w)

    @classmethod
    def usual(cls, w: int) -> Fraction:
        """All users."""
        return Fraction(1)

    @staticmethod
    def rounds(strings: FoundStrings, w: int) -> int:
        """How many rounds a user answers in w periods, at most.

        >>> from murmurate.topics.domains import Bits
        >>> [TreeHistOfAll.rounds(FoundStrings(Bits(48)), w) for w in (3, 6, 60)]
        [3, 6, 6]
        """
        return min(w, len(TreePlan(strings.domain.m, strings.top, CHARACTER).bits))

    def most_rounds(self) -> WindowRounds:
        """As many rounds as a search has, whatever was answered."""
        often = Often(self._spent(self.setting), self.rounds(self.strings, self.setting.w))
        return WindowRounds(OfExtensions(self.strings.layout, self._cells), (often,), one_mechanism=True)

    def _spent(self, setting: Setting) -> int:
        rounds = self.rounds(self.strings, setting.w)
        if setting.epsilon_micro < rounds:
            found = f"{setting.epsilon_micro} micro-nats for {rounds} rounds"
            raise ParameterError(f"{self.name}: epsilon: found {found}; allowed: at least one each")
        return setting.epsilon_micro // rounds

    def _question(self, phase: int) -> Question | None:
        before = [t for t in self._rounds_at if self.t - self.setting.w < t < self.t]
        return None if len(before) >= self.rounds(self.strings, self.setting.w) else super()._question(phase)

    def _drawn(self, count: int) -> NDArray[np.bool_] | None:
        w = self.setting.w
        self._rounds_at = (*(t for t in self._rounds_at if t > self.t - w), self.t)
        return None

    def _sampled(self, shares: Floats, n: int) -> Floats:
        """Nothing: everybody was asked."""
        return np.zeros(len(shares))

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "rounds_at": list(self._rounds_at)}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        super()._load(facts, arrays)
        self._rounds_at = tuple(facts["rounds_at"])
