# SPDX-License-Identifier: Apache-2.0
"""Searches for frequent items of users' sets, and for frequent sets of items: svim, svsm, and ldp_miner beside them.

Contract: a period's slots are divided among the phases of set_phases.py, as its table says.  Items and itemsets that
are followed are candidates again in every period, so that each of their measurements counts.  What is new has to exceed
what chance reaches among all candidates of its phase, and `least`.
Source: Wang 2021, sections 5.1.1, 5.3 and 5.4; ARCHITECTURE section 5.13.  Not here: slots and the course of a period
(finding.py), what a phase asks and learns (set_phases.py).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from murmurate.aggregators.measures.found_items import FoundItems
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.followed import Search
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.set_phases import PARTS, MeasuredShares, PhasedSearch, Rows, SetPlan
from murmurate.randomizers import Question
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.thresholds import MICRO


class SetMethod(FindingMethod):
    """A search among sets of items."""

    searches = FoundItems
    finds: ClassVar[str]
    """What it finds: "items" or "itemsets"."""

    def __init__(self, setting: Setting) -> None:
        measure = self.checked(setting)
        assert isinstance(measure, FoundItems)  # noqa: S101 - what it serves
        epsilon = Fraction(setting.epsilon_micro, MICRO)
        self.plan = SetPlan(self.name, measure.layout, epsilon, measure.top, measure.largest)
        whole = sum(self.plan.parts.values())
        parts = [Fraction(part, whole) for part in self.plan.parts.values()]
        super().__init__(setting, would_use=self.plan.first, parts=parts)
        self.search = PhasedSearch(self.plan, self.followed.values)

    @classmethod
    def serves(cls, measure: Measure) -> bool:
        """Whether the measure looks for what it finds."""
        return isinstance(measure, FoundItems) and measure.find == cls.finds

    @classmethod
    def smallest_part(cls, options: MethodOptions) -> Fraction:
        """The smallest phase's, where all phases are asked."""
        parts = PARTS[options.name].values()
        return Fraction(min(parts), sum(parts))

    def _begin(self) -> Request | Decision:
        self.search = PhasedSearch(self.plan, self.followed.values, self.search.sizes)
        return super()._begin()

    def _question(self, phase: int) -> Question | None:
        return self.search.question(phase)

    def _heard(self, phase: int, question: Question, answer: Answer) -> None:
        self.search.take(phase, question, answer, self.sample)

    def _searched(self) -> Search | None:
        measured = self.search.measured
        self.search = PhasedSearch(self.plan, self.followed.values[:0], self.search.sizes)
        return search_of(measured, self.measure.least) if measured else None

    # ---- state ----

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "search": self.search.facts()}

    def _arrays(self) -> Arrays:
        return {**super()._arrays(), **{f"search {name}": array for name, array in self.search.arrays().items()}}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        super()._load(facts, arrays)
        own = {name.removeprefix("search "): array for name, array in arrays.items() if name.startswith("search ")}
        self.search.load(facts["search"], own)


class SVIM(SetMethod):
    """Set-value item mining: frequent items by candidates, sizes, and shares with a correction for large sets."""

    name = "svim"
    finds = "items"
    simplicity = 40


class LDPMiner(SetMethod):
    """LDPMiner in its improved form, for comparison: shares of candidates are padded to as many as there are."""

    name = "ldp_miner"
    finds = "items"
    simplicity = 41


class SVSM(SetMethod):
    """Set-value itemset mining: SVIM, and then itemsets that its items make likely."""

    name = "svsm"
    finds = "itemsets"
    simplicity = 42


def search_of(measured: list[MeasuredShares], least: float) -> Search:
    """What measured shares find: whatever exceeds the bar of its phase, and `least`."""
    rows = np.concatenate([one.rows for one in measured])
    shares = np.concatenate([one.shares for one in measured])
    variances = np.concatenate([one.variances for one in measured])
    bars = np.concatenate([np.full(len(one.rows), max(one.bar, least)) for one in measured])
    place = {row.tobytes(): at for at, row in enumerate(rows)}

    def of_values(values: Rows) -> tuple[Floats, Floats]:
        at = np.array([place.get(row.tobytes(), -1) for row in values], np.int64)
        told = at >= 0
        return np.where(told, shares[at], np.nan), np.where(told, variances[at], np.nan)

    found = np.flatnonzero(shares > bars)
    return Search(rows[found], bars[found], min(one.bar for one in measured), of_values)
