# SPDX-License-Identifier: Apache-2.0
"""One entry of each user, sampled, in a row of cells of which every one may say something: PCKV-UE.

Contract: a set of entries is padded to s with dummies, which have no cells.  A first word names one of the s places,
whatever is held.  The cell of an entry there says its own sign with a, the opposite one with b, a + b = 1/2, and
nothing else; every other cell says either sign with c.  So the probability of a row, divided by the one without an
entry, is a/c, b/c or (1 - a - b) / (1 - 2 c), or 1 for a dummy, under every choice of places, and

    a/b <= e^epsilon        (a/c) (1 - 2 c) / (1 - a - b) <= e^epsilon

in whole levels of 2^64: b and c are rounded up and a takes the remainder.  Ideally a = b e^epsilon, c = 1 / (e^epsilon
+ 3).  Source: Gu et al. 2020 (PCKV), ARCHITECTURE section 5.17.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ReportError
from murmurate.randomizers.frequency.hashing import cells_of, cells_of_one
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_bits, padding_set
from murmurate.randomizers.question import Counts, Reports, Value
from murmurate.randomizers.thresholds import Epsilon, low_level
from murmurate.randomizers.vectors.entries import Entries, Held
from murmurate.randomizers.vectors.sparse import SparseOracle, Supports

_BITS = 64
_TOP = 1 << _BITS


class PCKVUE(SparseOracle):
    """A sampled entry in a row of d cells. A report is d bits, 1 where a cell says +1, and d bits for -1."""

    name = "pckv_ue"

    def __init__(self, layout: Any, epsilon: Epsilon) -> None:
        super().__init__(layout, epsilon)
        self._opposite = low_level(1 / (2 * (self.bound + 1)), _BITS)
        self._own = (_TOP >> 1) - self._opposite
        own = Fraction(self._own, _TOP)
        self._noise = low_level(own / (self.bound / 2 + 2 * own), _BITS)
        opposite, absent = Fraction(self._opposite, _TOP), Fraction(self._noise, _TOP)
        self.factors = own / absent, opposite / absent, (1 - own - opposite) / (1 - 2 * absent)
        """What the probability of a cell that says the own sign, the opposite one, or nothing is multiplied by where
        the cell is that of the sampled entry.
        """
        rest = Fraction(self.s - 1, self.s)
        self.supports = Supports(own / self.s + rest * absent, opposite / self.s + rest * absent, absent)
        self._short_enough()

    def parameters(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    @property
    def wire_size(self) -> int:
        """The bytes of two rows of d bits."""
        return 2 * bit_bytes(self.d)

    @property
    def reports_possible(self) -> int:
        """Every cell says +1, -1 or nothing."""
        return int(3**self.d)

    @property
    def realised(self) -> Fraction:
        """The largest ratio: for opposite vectors that of two factors; of sets of few items what occurs."""
        own, opposite, nothing = self.factors
        places, least = self._places, min(opposite, nothing)
        if self.signed:
            told = sum(sorted(places, reverse=True)[: min(self.s, self.d - self.s)], Fraction(0))
            return own / (opposite + told * (least - opposite))
        ratios = []
        for ones in range(min(self.d, 2 * self.s) + 1):
            mine, theirs = (sum(places[:held], Fraction(0)) for held in (min(ones, self.s), min(self.d - ones, self.s)))
            ratios.append((1 + mine * (own - 1)) / (1 + theirs * (least - 1)))
        return max(ratios)

    @property
    def _places(self) -> list[Fraction]:
        """The probability of each place, 1/s up to 2^-64, by the words that name it."""
        return [Fraction(-(-(j + 1) * _TOP // self.s) + (-j * _TOP // self.s), _TOP) for j in range(self.s)]

    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        """A word for the place, then one for each cell: the sign -1 below a level, +1 below a higher one."""
        width = bit_bytes(self.d)
        reports = np.empty((len(held.items), 2 * width), np.uint8)
        once, twice = np.uint64(self._noise), np.uint64(2 * self._noise)
        for rows, words in lanes.words(1 + self.d, np.uint64):
            cells = words[:, 1:]
            minus = cells < once
            plus = ~minus & (cells < twice)
            place = cells_of(words[:, 0], self.s).view(np.int64)[:, np.newaxis]
            items, signs = held.items[rows], held.signs[rows]
            sign = np.take_along_axis(signs, place, 1)[:, 0]
            user = np.flatnonzero(sign)
            item = np.take_along_axis(items, place, 1)[user, 0].astype(np.int64)
            word = cells[user, item]
            other = word < np.uint64(self._opposite)
            own = ~other & (word < np.uint64(self._opposite + self._own))
            up = sign[user] > 0
            plus[user, item] = np.where(up, own, other)
            minus[user, item] = np.where(up, other, own)
            reports[rows, :width], reports[rows, width:] = pack_bits(plus), pack_bits(minus)
        return reports

    def _perturb_one(self, held: Held, words: Any) -> bytes:
        """What `_perturb` gives, for one user in plain Python."""
        where, *cells = words(1 + self.d, _BITS)
        place = cells_of_one(where, self.s)
        sampled, sampled_sign = held[place] if place < len(held) else (-1, 0)
        rows = {1: 0, -1: 0}
        for item, word in enumerate(cells):
            if item == sampled:
                other, either, sign = self._opposite, self._opposite + self._own, sampled_sign
            else:
                other, either, sign = self._noise, 2 * self._noise, 1
            if word < either:
                rows[-sign if word < other else sign] |= 1 << item
        return b"".join(rows[sign].to_bytes(bit_bytes(self.d), "little") for sign in (1, -1))

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """The law: that of a row of noise, times the mean of the factors over the places."""
        absent, law = Fraction(self._noise, _TOP), dict[bytes, Fraction]()
        own, opposite, nothing = self.factors
        for row in product((0, 1, -1), repeat=self.d):
            chance = absent ** sum(map(abs, row)) * (1 - 2 * absent) ** row.count(0)
            factors = [{0: nothing, sign: own, -sign: opposite}[row[item]] for item, sign in held]
            factors += [Fraction(1)] * (self.s - len(held))
            mean = sum((n * factor for n, factor in zip(self._places, factors, strict=True)), Fraction(0))
            both = (sum((cell == sign) << item for item, cell in enumerate(row)) for sign in (1, -1))
            report = b"".join(bits.to_bytes(bit_bytes(self.d), "little") for bits in both)
            law[report] = chance * mean
        return law

    def _halves_of(self, reports: Reports) -> tuple[Reports, Reports]:
        rows, width = self._reports(reports), bit_bytes(self.d)
        return rows[:, :width], rows[:, width:]

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which rows have a bit past the last cell, or a cell that says both signs."""
        up, down = self._halves_of(reports)
        return np.asarray(padding_set(up, self.d) | padding_set(down, self.d) | (up & down).any(axis=1))

    def support(self, reports: Reports) -> Counts:
        """The number of reports in which each cell says +1, and -1."""
        up, down = self._halves_of(self._well_formed(reports))
        return np.concatenate((count_bits(up, self.d), count_bits(down, self.d)))

    def _check_most(self, counts: Counts, n: int) -> None:
        """A cell says one sign at most."""
        if counts.min() < 0 or (counts[: self.d] + counts[self.d :] > n).any():
            raise ReportError(f"{self.name}: counts: found a cell with more signs than reports; allowed: 0 to {n}")

    def supported(self, reports: Reports, item: int, sign: int) -> NDArray[np.bool_]:
        """Which reports say this sign in this cell."""
        half = self._halves_of(reports)[sign < 0]
        return np.asarray(half[:, item // 8] >> item % 8 & 1 == 1)

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports say all entries of `one` that are not entries of `other`."""
        mine, theirs = (self.held_by(value) for value in (one, other))
        return np.asarray(np.all([self.supported(reports, *entry) for entry in set(mine) - set(theirs)], axis=0))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of all the entries that one extreme has and the other has not."""
        mine, theirs = (self.held_by(value) for value in self.extremes)
        apart, (own, opposite, _) = len(set(mine) - set(theirs)), self.factors
        noise, rest = Fraction(self._noise, _TOP) ** apart, Fraction(self.s - apart, self.s)
        told = (noise * (rest + Fraction(apart, self.s) * factor) for factor in (own, opposite if self.signed else 1))
        one, other = told
        return one, other
