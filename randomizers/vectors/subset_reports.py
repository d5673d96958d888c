# SPDX-License-Identifier: Apache-2.0
"""Questions whose reports are m of d + s coordinates, those that agree with the user e^epsilon times as likely.

Contract: P[y|x] <= E P[y|x'] for E <= e^epsilon and any vectors of at most s entries, exactly (`law`): a report is
uniform among all, or among those of a cell of the user's (subset_cells.py has the proof).  Coordinates are drawn one by
one, each with a chance of at least 1 / (d + s), and signs by bits (distinct.py).

The user's words, of 32 bits, are in this order: 2 that choose the cell, 2 for each of s specials, the signs, a bit
each (1 is -1), of the coordinates in rising order, filled to whole words; then those that draw coordinates.  Where
2 m > d + s the coordinates to be left out are drawn instead.  No report depends on how many words are at hand: who has
too few draws from more of the same.  Source: Wang et al. 2023 (SaO2), section 5; ARCHITECTURE section 5.17.  Not here:
estimates (exsub.py, set_subset.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.layouts import FILLER
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.packing import bit_bytes
from murmurate.randomizers.question import Blanket, Reports, Value
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.vectors.distinct import DistinctCoordinates
from murmurate.randomizers.vectors.entries import Entries, Held
from murmurate.randomizers.vectors.exsub_terms import best_length
from murmurate.randomizers.vectors.scratch import Scratch
from murmurate.randomizers.vectors.subset_cells import SubsetCells
from murmurate.randomizers.vectors.subset_lanes import SubsetLane
from murmurate.randomizers.vectors.symbol_rows import SymbolRows
from murmurate.randomizers.vectors.vector import VectorQuestion
from murmurate.randomizers.viewed import MAX_REPORT

WORD = 32
_LANE = 1 << 21  # bytes of keys, or of bits as bytes, that are held at a time
MAX_COORDINATES = 1 << 24


class SubsetReports(VectorQuestion):
    """A mechanism whose reports are m of d + s coordinates, with a sign each unless `has_signs` is false."""

    has_signs: bool = True
    """Whether coordinates are reported with signs."""
    tau: int | None
    """The condition on agreeing and opposite specials under which a report is likelier (exsub_terms.py)."""

    def __init__(self, layout: Any, epsilon: Epsilon, m: int | None, tau: int | None) -> None:
        self._wanted_m = m
        self.tau = tau
        super().__init__(layout, epsilon)

    def parameters(self) -> dict[str, Any]:
        """The number of coordinates of a report."""
        return {"m": self.m}

    @property
    def number(self) -> int:
        """The number of coordinates, stubs included: d' = d + s."""
        return self.d + self.s

    @cached_property
    def m(self) -> int:
        """The number of coordinates of a report: the best one that fits a report, if none is named."""
        if self.number > MAX_COORDINATES:
            found = f"{self.d} items and {self.s} stubs"
            raise ParameterError(f"{self.name}: layout: found {found}; allowed: {MAX_COORDINATES} together")
        most, tau = self._longest, self.tau or 0
        if tau > min(self.s, self._wanted_m or self.s):
            allowed = f"1 to {min(self.s, self._wanted_m or self.s)}"
            raise ParameterError(f"{self.name}: tau: found {tau}; allowed: {allowed}")
        if self._wanted_m is None:
            return best_length(self.d, self.s, self.epsilon_micro, self.tau, most)
        return whole(self.name, "m", self._wanted_m, 1, most)

    @property
    def _longest(self) -> int:
        """The longest report that a device sends, which is at least as long as the condition needs."""
        low, high = 1, self.number if self.has_signs else self.d
        while low < high:
            middle = (low + high + 1) // 2
            fits = SymbolRows(self.number, middle, self.has_signs).size <= MAX_REPORT
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    @cached_property
    def rows(self) -> SymbolRows:
        """The form of the reports."""
        return SymbolRows(self.number, self.m, self.has_signs)

    @property
    def wire_size(self) -> int:
        """The bytes of a list of m coordinates or of a bit for each coordinate, and of m signs."""
        return self.rows.size

    @property
    def reports_possible(self) -> int:
        """The number of sets of m coordinates, times that of their signs."""
        return comb(self.number, self.m) << (self.m if self.has_signs else 0)

    @cached_property
    def table(self) -> SubsetCells:
        """The cells of reports and their exact probabilities."""
        return SubsetCells(self.d, self.s, self.m, self.tau, self.bound)

    @property
    def realised(self) -> Fraction:
        """The largest ratio of probabilities."""
        return self.table.realised

    @cached_property
    def draws(self) -> DistinctCoordinates:
        """The way in which coordinates are drawn."""
        return DistinctCoordinates(self.number)

    @property
    def leaves_out(self) -> bool:
        """Whether the coordinates that a report does not have are drawn."""
        return 2 * self.m > self.number

    def to_draw(self, specials: int | None) -> int:
        """The number of coordinates that words draw for a report with so many specials; None: for a plain one."""
        if specials is None:
            return self.number - self.m if self.leaves_out else self.m
        return self.d - self.m + specials if self.leaves_out else self.m - specials

    @cached_property
    def head(self) -> int:
        """The number of words before those that draw coordinates."""
        return 2 + 2 * self.s + (-(-self.m // WORD) if self.has_signs else 0)

    @cached_property
    def _words(self) -> int:
        """The number of words of 32 bits that nearly always suffice."""
        each = [self.draws.words_for(self.to_draw(None), 0)]
        inside = {cell.specials for cell in self.table.cells}
        each += [self.draws.words_for(self.to_draw(k), self.s) for k in inside]
        return self.head + -(-max(each) * self.draws.bits // WORD)

    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        """Reports by the lane; for those whose words run out, from more of their words in plain Python."""
        reports = np.empty((len(held.items), self.wire_size), np.uint8)
        width = self.s + self.to_draw(None)
        most = max(1, _LANE // max(width * self.draws.dtype.itemsize, 1 if self.rows.listed else self.number))
        short, scratch = list[int](), Scratch()
        for rows, words in lanes.words(self._words, np.uint32):
            step = -(-len(words) // -(-len(words) // most))  # parts of one size: a small one takes as many calls
            for start in range(0, len(words), step):
                lane = slice(rows.start + start, min(rows.start + start + step, rows.stop))
                part = SubsetLane(self, held.items[lane], held.signs[lane], words[start : start + step], scratch)
                reports[lane] = part.reports()
                short += (part.more + lane.start).tolist()
        for row in short:
            own = tuple((int(i), int(s)) for i, s in zip(held.items[row], held.signs[row], strict=True) if i != FILLER)
            reports[row] = np.frombuffer(self._perturb_one(own, _words_of(lanes, row)), np.uint8)
        return reports

    def _perturb_one(self, held: Held, words: Any) -> bytes:
        """What `_perturb` gives, for one user in plain Python; where words run out, from twice as many."""
        count = self._words
        while (report := self._from_words(held, words(count, WORD))) is None:
            count *= 2
        return report

    def _from_words(self, held: Held, words: list[int]) -> bytes | None:
        """The report of these entries from these words; None if there are too few.

        1. Specials: the entries, and stubs for those that are missing, by coordinate.
        2. The cell and which of them are in it, or none for a plain report.
        3. The other coordinates.
        4. The signs, and the row.
        """
        specials = self.specials(held)
        cell, forced = self._chosen(words), dict[int, int]()
        if cell is not None:
            agreeing, places = cell
            for place, at in enumerate(places):
                coordinate, sign = specials[at]
                forced[coordinate] = sign if place < agreeing else -sign
        taken = {coordinate for coordinate, _ in specials} if cell is not None else set()
        drawn = self._coordinates(words[self.head :], self.to_draw(len(forced) if cell is not None else None), taken)
        if drawn is None:
            return None
        out = set(drawn)
        free = out if not self.leaves_out else set(range(self.number)) - out - taken
        coins = sum(word << WORD * i for i, word in enumerate(words[2 + 2 * self.s : self.head]))
        coordinates = sorted(free | set(forced))
        minus = [forced[j] < 0 if j in forced else bool(coins >> i & 1) for i, j in enumerate(coordinates)]
        return self.encoded(list(zip(coordinates, minus, strict=True)))

    def specials(self, held: Held) -> list[tuple[int, int]]:
        """The coordinates and signs of a user's specials, by coordinate: the entries, then stubs, which are +1."""
        return [*held, *((self.d + i, 1) for i in range(self.s - len(held)))]

    def _chosen(self, words: list[int]) -> tuple[int, list[int]] | None:
        """The number of agreeing specials, and which specials are in the report, those first; None: a plain one."""
        cell = self.table.of_word(words[0] | words[1] << WORD)
        if cell is None:
            return None
        agreeing, opposite, *_ = cell
        order = list(range(self.s))
        for i in range(agreeing + opposite):
            at = (words[2 + 2 * i] | words[3 + 2 * i] << WORD) // ((1 << 2 * WORD) // (self.s - i))
            if at >= self.s - i:
                return None
            order[i], order[i + at] = order[i + at], order[i]
        return agreeing, order[: agreeing + opposite]

    def _coordinates(self, words: list[int], count: int, taken: set[int]) -> list[int] | None:
        if self.draws.bits < WORD:
            words = [word >> half & 0xFFFF for word in words for half in (0, 16)]
        return self.draws.one(words, count, taken)

    def encoded(self, chosen: list[tuple[int, bool]]) -> bytes:
        """The report of these coordinates, rising, each with whether its sign is -1."""
        form = self.rows
        if form.listed:
            row = np.array([[2 * j + minus if self.has_signs else j for j, minus in chosen]], form.dtype)
            return form.pack(row, None, Scratch()).tobytes()
        bits, signs = sum(1 << j for j, _ in chosen), sum(minus << i for i, (_, minus) in enumerate(chosen))
        body = bits.to_bytes(bit_bytes(self.number), "little")
        return body + signs.to_bytes(bit_bytes(self.m), "little") if self.has_signs else body

    # ---- the server's half ----

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports do not list m different coordinates in their only form."""
        return self.rows.malformed(self._reports(reports))

    def _symbol_counts(self, reports: Reports) -> NDArray[np.int64]:
        """How often each symbol is reported, if every report could have been given."""
        counts, bad = self.rows.counts(self._reports(reports))
        if len(bad):
            self._well_formed(reports)
        return counts

    # ---- the auditor's ----

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """The law of all reports: the plain part, and that of the report's cell."""
        own, every = dict(self.specials(held)), Fraction(1, self.reports_possible)
        signs = (False, True) if self.has_signs else (False,)
        weights: dict[tuple[int, int], Fraction] = {}
        law = {}
        for coordinates in combinations(range(self.number), self.m):
            for minus in product(signs, repeat=self.m):
                chosen = list(zip(coordinates, minus, strict=True))
                right = sum(j in own and (own[j] < 0) == sign for j, sign in chosen)
                cell = right, sum(j in own for j in coordinates) - right
                weights.setdefault(cell, every * self.table.weight(*cell))
                law[self.encoded(chosen)] = weights[cell]
        return law

    def in_cell(self, reports: Reports, held: Held) -> NDArray[np.bool_]:
        """Which reports are in an accepted cell of a user with these entries: bool[n]."""
        symbols, accepted = self.rows.symbols(self._reports(reports)), np.zeros(len(reports), np.bool_)
        agreeing, opposite = np.zeros((2, len(reports)), np.int64)
        for coordinate, sign in self.specials(held):
            if not self.has_signs:
                agreeing += (symbols == coordinate).any(axis=1)
                continue
            agreeing += (symbols == 2 * coordinate + (sign < 0)).any(axis=1)
            opposite += (symbols == 2 * coordinate + (sign > 0)).any(axis=1)
        for cell in self.table.cells:
            accepted |= (agreeing == cell.agreeing) & (opposite == cell.opposite)
        return accepted

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports are likelier under `one`, and not under `other`."""
        return self.in_cell(reports, self.held_by(one)) & ~self.in_cell(reports, self.held_by(other))

    @property
    def extremes(self) -> tuple[Value, Value]:
        """Opposite vectors with s entries; of sets one with s items and the empty one, whose specials are all stubs."""
        if self.signed:
            return super().extremes
        return self.value(tuple((item, 1) for item in range(self.s))), self.value(())

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the evidence, from users with the one extreme and with the other."""
        return self.table.telling(self.signed)

    def blanket(self) -> Blanket:
        """The plain part of all reports, by those that the two extremes have more often."""
        return self.table.blanket(self.signed, self.realised)

    @abstractmethod
    def support(self, reports: Reports) -> NDArray[np.int64]:
        """The counts that estimates are made of."""


def _words_of(lanes: Lanes, row: int) -> Any:
    """A function (k, bits) that gives the first k words of one user of many."""

    def words(k: int, bits: int) -> list[int]:
        for rows, lane in lanes.words(k, np.uint32):
            if rows.start <= row < rows.stop:
                return [int(word) for word in lane[row - rows.start]]
        raise AssertionError("no lane has this row")

    return words
