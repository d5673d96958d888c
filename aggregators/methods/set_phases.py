# SPDX-License-Identifier: Apache-2.0
"""The phases of one period's search among sets of items, and what their answers measure.

Contract: each phase asks users whom no other phase asks, with the whole epsilon; what it asks follows from answers to
the phases before it, from what was found in earlier periods (which stays among the candidates) and from public
settings, never from anything else.  A phase that cannot say anything is left out: candidates where all items can be,
sizes where nobody can hold two.  The state between two phases is in `facts` and `arrays`.

    svim        candidates 5, sizes 1, shares 4 parts of the users
    svsm        the same, then sizes 2 and shares 8 of itemsets guessed from the shares of items
    ldp_miner   sizes of all 1, candidates 4, shares 5

Shares carry the correction for sets larger than the padding, and their variances what it leaves unknown
(set_sizes.py).  Source: Wang 2021, sections 5.1.1, 5.3 and 5.4.  Not here: slots and rounds (set_methods.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.aggregators.hitters.itemset_search import ITEMSET_PARTS, guesses
from murmurate.aggregators.hitters.ldp_miner import MINER_PARTS
from murmurate.aggregators.hitters.search import threshold
from murmurate.aggregators.hitters.set_search import ITEM_PARTS, needs_candidates
from murmurate.aggregators.methods.last_estimate import measured
from murmurate.aggregators.methods.method import Answer, Floats
from murmurate.aggregators.methods.set_questions import (
    Layout,
    best_items,
    candidates_question,
    shares_question,
    sizes_question,
)
from murmurate.aggregators.methods.set_sizes import HeldSizes, Padding
from murmurate.randomizers import Question, Size, Viewed
from murmurate.randomizers.candidates import MOST_BYTES, MOST_SETS
from murmurate.randomizers.layouts import FILLER
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.thresholds import Epsilon

Rows = NDArray[np.uint32]


class SetPhase(Enum):
    """What a phase finds out."""

    ALL_SIZES = "all sizes"
    """How many items a user holds, of all."""
    CANDIDATES = "candidates"
    """Which items could be frequent."""
    SIZES = "sizes"
    """How many of these a user holds."""
    SHARES = "shares"
    """How many users hold each of these."""
    SET_SIZES = "set sizes"
    """How many of the guessed itemsets a user holds."""
    SET_SHARES = "set shares"
    """How many users hold each of the guessed itemsets."""


_ITEMS: Final = (SetPhase.CANDIDATES, SetPhase.SIZES, SetPhase.SHARES)
PARTS: Final[Mapping[str, Mapping[SetPhase, int]]] = {
    "svim": dict(zip(_ITEMS, ITEM_PARTS, strict=True)),
    "svsm": dict(zip((*_ITEMS, SetPhase.SET_SIZES, SetPhase.SET_SHARES), ITEMSET_PARTS, strict=True)),
    "ldp_miner": dict(zip((SetPhase.ALL_SIZES, SetPhase.CANDIDATES, SetPhase.SHARES), MINER_PARTS, strict=True)),
}
"""The phases of each method in their order, with their parts of the users."""
BY_CHANCE: Final = 0.02
"""How many candidates that nobody holds are expected above the bar of a phase: one in fifty periods."""
NO_SIZES: Final[Mapping[SetPhase, HeldSizes]] = MappingProxyType({})
"""What is known of sizes before the first period."""


@dataclass(frozen=True)
class SetPlan:
    """What a search is about."""

    method: str
    layout: Layout
    """The layout of sets: ("items", how many there are, how many a user holds, whether users may have no value)."""
    epsilon: Epsilon
    k: int
    """How many names are wanted; twice as many are candidates."""
    largest: int
    """The largest number of items in a name."""

    @cached_property
    def parts(self) -> dict[SetPhase, int]:
        """The phases that say anything, in their order, with their parts of the users."""
        _, d, most, _ = self.layout
        found = dict(PARTS[self.method])
        if not needs_candidates(d, self.k):
            for useless in (SetPhase.CANDIDATES, SetPhase.ALL_SIZES):
                found.pop(useless, None)
        if min(most, d) == 1:
            found.pop(SetPhase.SIZES, None)
            found.pop(SetPhase.ALL_SIZES, None)
        return found

    @property
    def phases(self) -> tuple[SetPhase, ...]:
        """The phases in their order."""
        return tuple(self.parts)

    @property
    def first(self) -> Question:
        """The question of the first phase."""
        found = PhasedSearch(self, np.zeros((0, self.largest), np.uint32)).question(0)
        assert found is not None  # noqa: S101 - all are asked what begins
        return found


class MeasuredShares:
    """What the answer of a phase says of its candidates."""

    def __init__(self, rows: Rows, shares: Floats, variances: Floats) -> None:
        self.rows, self.shares, self.variances = rows, shares, variances
        """The candidates as rows of items, uint32[c, largest]; their shares, raw; and the variances of these."""

    @property
    def bar(self) -> float:
        """What hardly any candidate that nobody holds exceeds."""
        return threshold(self.variances, None, BY_CHANCE)


class PhasedSearch:
    """One period's search: what is known after the phases so far."""

    def __init__(self, plan: SetPlan, followed: Rows, sizes: Mapping[SetPhase, HeldSizes] = NO_SIZES) -> None:
        """followed: rows of items that were found in earlier periods, and are measured again. sizes: what earlier
        periods said of sizes.
        """
        self.plan, self.followed, self.sizes = plan, followed, dict(sizes)
        _, d, self._most, _ = plan.layout
        self.items = np.zeros(0, np.int64) if SetPhase.CANDIDATES in plan.parts else np.arange(d)
        """The candidates among items, rising."""
        self.itemsets: list[tuple[int, ...]] = []
        """The candidates among sets of items, in the order of their questions."""
        self.padding = Padding()
        """What sets are padded to in the next phase of candidates or shares."""
        self.measured: list[MeasuredShares] = []
        """What is known of shares: of items, then of itemsets."""
        self.heard = 0
        """How many phases were answered, all from the first one on: what follows an unanswered one is not asked."""

    def question(self, number: int) -> Question | None:
        """The question of a phase; None where what it needs is not known, or it has nothing to ask."""
        phase = self.plan.phases[number]
        if number > self.heard or (phase in (SetPhase.SET_SIZES, SetPhase.SET_SHARES) and not self.itemsets):
            return None
        return self._question(phase)

    def _question(self, phase: SetPhase) -> Question:
        layout, epsilon, k = self.plan.layout, self.plan.epsilon, self.plan.k
        items: list[int] | None = None if len(self.items) == layout[1] else self.items.tolist()
        match phase:
            case SetPhase.ALL_SIZES:
                return sizes_question(layout, None, epsilon)
            case SetPhase.CANDIDATES:
                return candidates_question(layout, self.padding.length, 2 * k, epsilon)
            case SetPhase.SIZES:
                return sizes_question(layout, items, epsilon)
            case SetPhase.SHARES:
                miner = self.plan.method == "ldp_miner"
                return shares_question(layout, 2 * k if miner else self.padding.length, items, epsilon, hashed=miner)
            case SetPhase.SET_SIZES:
                return sizes_question(layout, self.itemsets, epsilon)
            case SetPhase.SET_SHARES:
                return shares_question(layout, self.padding.length, self.itemsets, epsilon)

    def take(self, number: int, question: Question, answer: Answer, users: float | None) -> None:
        """Take the answer of a phase that counts. question: with the public choices of its round. users: of whom those
        who answered are a sample.
        """
        self.heard = number + 1
        phase = self.plan.phases[number]
        match phase:
            case SetPhase.CANDIDATES:
                known = self.followed[(self.followed != FILLER).sum(axis=1) == 1, 0].astype(np.int64)
                best = best_items(question, answer, 2 * self.plan.k)
                new = best[~np.isin(best, known)]
                self.items = np.sort(np.concatenate((known, new))[: 2 * self.plan.k])
                self.padding = Padding()
            case SetPhase.ALL_SIZES | SetPhase.SIZES | SetPhase.SET_SIZES:
                self._size(phase, question, answer)
            case SetPhase.SHARES:
                rows = self._rows([(item,) for item in self.items.tolist()])
                self.measured.append(self._shares(rows, question, answer, users))
                self.itemsets = self._guessed(self.measured[0]) if self.plan.largest > 1 else []
                self.padding = Padding()
            case SetPhase.SET_SHARES:
                self.measured.append(self._shares(self._rows(self.itemsets), question, answer, users))

    def _size(self, phase: SetPhase, question: Question, answer: Answer) -> None:
        """Take what users said of the number of candidates that they hold, and choose what sets are padded to."""
        assert isinstance(question, Viewed)  # noqa: S101 - what set_questions.py asks
        assert isinstance(question.view, Size)  # noqa: S101
        n, parts = answer.counted, self.plan.parts
        told = question.estimate(answer.support, n)[: question.view.most + 1]  # and not who has no value
        noise = float(question.noise(np.zeros(1))[0]) / n
        self.sizes[phase] = self.sizes.get(phase, HeldSizes()).take(told, noise, 1 / n)
        following = self.plan.phases[self.plan.phases.index(phase) + 1]
        reports = n * parts[following] / parts[phase]
        self.padding = self.sizes[phase].padding(
            question.view.most, question.view.held.number, float(self.plan.epsilon), reports
        )

    def _shares(self, rows: Rows, question: Question, answer: Answer, users: float | None) -> MeasuredShares:
        """The corrected shares of a phase's candidates. To their variances comes the square of what a single report
        makes of a share: of few reports a count of 0 says little, and one report is no find.
        """
        assert isinstance(question, Viewed)  # noqa: S101 - what set_questions.py asks
        own = measured(0, question, answer, users, kept=False)
        (held, other), _, factor, doubt = question.telling, *self.padding
        single = 1 / (answer.counted * float(held - other))
        unsure = doubt * np.maximum(own.unbiased, 0) ** 2
        return MeasuredShares(rows, own.unbiased * factor, (own.variance + single**2) * factor**2 + unsure)

    def _guessed(self, items: MeasuredShares) -> list[tuple[int, ...]]:
        """Itemsets that could be frequent: those that are followed, and guessed ones, as many as a round can name."""
        k = self.plan.k
        held = [tuple(int(item) for item in row if item != FILLER) for row in self.followed.tolist()]
        known = [items_of for items_of in held if len(items_of) > 1]
        guessed = guesses(items.shares, max(k, 2), min(self.plan.largest, self._most), 2 * k)
        best = [tuple(sorted(int(self.items[place]) for place in one.places)) for one in guessed]
        listed = list(dict.fromkeys((*known, *best)))[: min(2 * k, MOST_SETS)]
        while len(orjson.dumps(listed)) > MOST_BYTES or len({item for one in listed for item in one}) > MOST_SETS:
            listed.pop()
        return sorted(listed)

    def _rows(self, items: list[tuple[int, ...]]) -> Rows:
        """Sets of items as rows, filled with FILLER: uint32[c, largest]."""
        rows = np.full((len(items), self.plan.largest), FILLER, np.uint32)
        for row, one in zip(rows, items, strict=True):
            row[: len(one)] = one
        return rows

    # ---- state ----

    def facts(self) -> dict[str, Any]:
        """What of the state is no array."""
        sizes = {phase.value: [one.noise, one.drawn] for phase, one in self.sizes.items()}
        return {"heard": self.heard, "padding": list(self.padding), "itemsets": self.itemsets, "sizes": sizes}

    def arrays(self) -> Arrays:
        """The rest of the state."""
        found: Arrays = {"followed": self.followed, "items": self.items}
        found |= {phase.value: one.shares for phase, one in self.sizes.items()}
        for number, one in enumerate(self.measured):
            found |= {f"rows {number}": one.rows, f"told {number}": np.stack((one.shares, one.variances))}
        return found

    def load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        """Take over `facts` and `arrays`."""
        self.heard, self.padding = facts["heard"], Padding(*facts["padding"])
        self.itemsets = [tuple(one) for one in facts["itemsets"]]
        self.sizes = {SetPhase(name): HeldSizes(arrays[name].copy(), *known) for name, known in facts["sizes"].items()}
        self.followed, self.items = arrays["followed"].copy(), arrays["items"].copy()
        self.measured = []
        while f"rows {len(self.measured)}" in arrays:
            number = len(self.measured)
            self.measured.append(MeasuredShares(arrays[f"rows {number}"].copy(), *arrays[f"told {number}"].copy()))
