# SPDX-License-Identifier: Apache-2.0
"""ExSub told node by node: m of all changes that there could be, with signs that agree with the user more often.

Contract: that of `Protocol`.  All reports of a user together are what a plain or a lifted report of m of d nodes + s
coordinates is (vectors/subset_cells.py), less its s stubs.  A user has secret counters from the beginning: how many
symbols are left to tell that agree with a change, that are opposite to one, and that lie elsewhere, of how many slots
for changes and how many other coordinates.  At each coordinate, in order, one 64-bit word decides:

    no change   it is told with probability elsewhere / others, with a sign by a coin, and then `others` is one less
    a change    its own sign is told with agreeing / slots, the other with opposite / slots, then `slots` is one less

With plain counters there are no slots and d nodes + s others, so that changes count for nothing: a change without a
slot is told as no change is.  A probability k / z is that of a word below k 2^64 / z, rounded up.  So any course of
decisions has its exact probability within a factor of 1 - c, c = (1 + 2 + ... + d nodes + s) / 2^64, and

    P[y|x] = plain U(y) + sum over lifted cells <= (1 + (largest lift / plain) / (1 - c)^2) P[y|x'],

where U is the same for all x: lifts are taken from an e^epsilon lowered by as much.  The expected supports are those of
exact draws, within c.  Source: Wang et al. 2023 (SaO2), Algorithm 4, whose counters as printed have an infinite ratio;
ARCHITECTURE section 5.18.  Not here: many users' coordinates at once (told_changes.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ValueRefusedError
from murmurate.randomizers.lanes import Words
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.question import Blanket, Counts, Reports
from murmurate.randomizers.sessions.level import BITS, TOP, LevelProtocol, State
from murmurate.randomizers.sessions.ones import Changes
from murmurate.randomizers.sessions.protocol import Counters, NodeSupports
from murmurate.randomizers.sessions.symbol_bits import SymbolBits
from murmurate.randomizers.sessions.told_changes import tell_many
from murmurate.randomizers.thresholds import Epsilon, exp_floor
from murmurate.randomizers.vectors.exsub_terms import best_length
from murmurate.randomizers.vectors.subset_cells import SubsetCells

AGREEING, OPPOSITE, ELSEWHERE, SLOTS, OTHERS = range(5)
"""What each counter is of: symbols left to tell, slots for changes, coordinates without."""
MAX_NUMBER = 1 << 20
"""The most coordinates of a transcript, with which the bound is lowered by about 2^-24 of it."""


class ExSubOnline(LevelProtocol):
    """ExSub of a level; with tau >= 1 its majority form. m: the number of symbols of all nodes and stubs, the best one
    for means unless it is named.
    """

    name = "exsub_online"
    counters = 5
    begin_words = 1

    def __init__(self, d: int, nodes: int, s: int, epsilon: Epsilon, m: int | None = None, tau: int = 0) -> None:
        super().__init__(d, nodes, s, epsilon)
        if self.number > MAX_NUMBER:
            found = f"{self.d} coordinates, {self.nodes} nodes and {self.s} changes"
            raise ParameterError(f"{self.name}: found {found}; allowed: d nodes + s up to {MAX_NUMBER}")
        self.counter = np.uint16 if self.number <= np.iinfo(np.uint16).max else np.uint32
        self.tau = whole(
            self.name, "tau", tau, 0, self.s if m is None else min(self.s, whole(self.name, "m", m, 1, self.number))
        )
        if m is None:
            m = best_length(self.entries, self.s, self.epsilon_micro, self.tau, self.number)
        self.m = whole(self.name, "m", m, 1, self.number)
        agreeing, opposite, others = self.cells.expected()
        self.supports = NodeSupports(agreeing / self.s, opposite / self.s, others / (2 * self.entries))
        self.realised = 1 + (self.cells.realised - 1) / self.kept**2
        self.form = SymbolBits(self.d, max(0, self.d - (self.number - self.m)), min(self.d, self.m))
        self.wire_size = self.form.size
        self.tell_words = self.d + self.coins

    def parameters(self) -> dict[str, Any]:
        """The number of changes, the number of symbols of a transcript, and the majority it takes."""
        return {**super().parameters(), "m": self.m, "tau": self.tau}

    @property
    def number(self) -> int:
        """The number of coordinates of a transcript, stubs included: d' = d nodes + s."""
        return self.entries + self.s

    @property
    def bound(self) -> Fraction:
        """The largest ratio that epsilon allows, rounded down."""
        return exp_floor(self.epsilon_micro)

    @property
    def kept(self) -> Fraction:
        """The least part of its exact probability that a course of decisions has."""
        return 1 - Fraction(self.number * (self.number + 1), 2 * TOP)

    @cached_property
    def cells(self) -> SubsetCells:
        """The cells of transcripts and their exact probabilities."""
        lowered = 1 + (self.bound - 1) * self.kept**2
        return SubsetCells(self.entries, self.s, self.m, self.tau, lowered, even=False)

    @cached_property
    def states(self) -> list[State]:
        """The counters that a user may begin with: those of every lifted cell, and last the plain ones."""
        lifted = [(a, b, self.m - a - b, self.s, self.entries) for a, b, _ in self.cells.cells]
        return [*lifted, (0, 0, self.m, 0, self.number)]

    # ---- the device's half ----

    def begin(self, words: Words) -> Counters:
        """The secret counters from uint64[n, 1]: uint16[n, 5], or uint32 for long horizons."""
        edges = np.array(self.cells.edges, np.uint64)
        drawn = np.searchsorted(edges, self._drawn_from(words, self.begin_words)[:, 0], "right")
        return np.array(self.states, self.counter)[drawn]

    def begin_one(self, words: list[int]) -> list[int]:
        """What `begin` gives, for one user in plain Python."""
        return list(self.states[sum(edge <= words[0] for edge in self.cells.edges)])

    def tell(self, counters: Counters, changes: Changes, words: Words) -> Reports:
        """The reports of a node; the counters are moved in place."""
        if self._to_tell(counters, changes, words):
            self._has_more(int(counters[:, OTHERS].min()))
        return self.form.pack(tell_many(counters, changes, words))

    def tell_one(self, counters: list[int], changes: list[int], words: list[int]) -> bytes:
        """What `tell` gives, for one user in plain Python; the counters are moved in place."""
        self._has_more(counters[OTHERS])
        symbols = []
        for j, change in enumerate(changes):
            own = 2 * j + (change < 0)
            if change and counters[SLOTS]:
                place = words[j] * counters[SLOTS] >> BITS
                kind = self._kind(place, counters[AGREEING], counters[OPPOSITE])
                counters[SLOTS] -= 1
                if kind is not None:
                    counters[kind] -= 1
                    symbols.append(own if kind == AGREEING else own ^ 1)
            else:
                place = words[j] * counters[OTHERS] >> BITS
                counters[OTHERS] -= 1
                if place < counters[ELSEWHERE]:
                    counters[ELSEWHERE] -= 1
                    plus = words[self.d + j // BITS] >> j % BITS & 1
                    symbols.append(2 * j + 1 - plus)
        return self.form.pack_one(symbols)

    def _has_more(self, others: int) -> None:
        """Refuse to tell more nodes than there are."""
        if others < self.d:
            raise ValueRefusedError(f"{self.name}: found more nodes; allowed: {self.nodes}")

    @staticmethod
    def _kind(place: int, agreeing: int, opposite: int) -> int | None:
        """Which counter a slot is told from, by its place among those left."""
        return AGREEING if place < agreeing else OPPOSITE if place < agreeing + opposite else None

    # ---- the server's ----

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no user could give at any node."""
        return self.form.malformed(self._reports(reports))

    def support(self, reports: Reports) -> Counts:
        """The number of reports with +1 at each coordinate, and with -1."""
        return self.form.counts(self._well_formed(reports))

    # ---- the auditor's ----

    def law_begin(self) -> Mapping[State, Fraction]:
        """Every state at the beginning, with its exact probability."""
        law = dict[State, Fraction]()
        parts = [Fraction(cell.level, TOP) for cell in self.cells.cells]
        for state, part in zip(self.states, chain(parts, [1 - sum(parts, Fraction(0))]), strict=True):
            if part:
                law[state] = law.get(state, Fraction(0)) + part
        return law

    def packed(self, symbols: Sequence[int]) -> bytes:
        """The report of these symbols."""
        return self.form.pack_one(symbols)

    def entry_law(self, state: State, change: int) -> Iterator[tuple[int, State, Fraction]]:
        """What may be told of a coordinate, +1, -1 or nothing, with the state after it and the probability."""
        agreeing, opposite, elsewhere, slots, others = state
        if change and slots:
            first, both = self.level(agreeing, slots), self.level(agreeing + opposite, slots)
            parts = {
                (change, (agreeing - 1, opposite, elsewhere, slots - 1, others)): first,
                (-change, (agreeing, opposite - 1, elsewhere, slots - 1, others)): both - first,
                (0, (agreeing, opposite, elsewhere, slots - 1, others)): 1 - both,
            }
        else:
            told, after = self.level(elsewhere, others), (agreeing, opposite, elsewhere - 1, slots, others - 1)
            rest = agreeing, opposite, elsewhere, slots, others - 1
            parts = {(1, after): told / 2, (-1, after): told / 2, (0, rest): 1 - told}
        return ((sign, then, part) for (sign, then), part in parts.items() if part)

    @staticmethod
    def level(k: int, of: int) -> Fraction:
        """The probability of a word that is among the first k of so many parts."""
        return Fraction(-(-k * TOP // of), TOP)

    def blanket(self) -> Blanket:
        """The plain part of all transcripts, by those that two courses of s opposite changes have more often."""
        return self.cells.blanket(True, self.realised)
