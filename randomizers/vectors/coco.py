# SPDX-License-Identifier: Apache-2.0
"""CoCo: correlated collisions, where the two signs of an item are hashed into the two cells of one pair.

Contract: a public hash function puts +1 of an item into one of t cells, evenly, and -1 into the partner of that cell
(cells 2 i and 2 i + 1 are partners).  A user always has s entries, of which those that are missing are dummies in cells
of their own draw: with fewer, a report would name a held cell more often, and estimates would be biased.  In each of
the k pairs that entries fall into, one of its entries, drawn evenly, has the probability P for its cell and R for the
partner; all other cells share what is left, evenly.  That is R (1 + (s - k) (e^epsilon - 1) / (t - 2 k)) each, from R
to P, so that P[y|x] <= e^epsilon P[y|x'] under every hash function and whatever the dummies are, in exact arithmetic.
Source: Wang et al. 2023 (Collision and CoCo), section 7.  An entry of a pair that is drawn evenly is what their random
order of all entries comes to.  They print half of a pair's probability, and t from 2 s + 2 on: summed over all hash
functions it is P + R, and 2 s cells are enough.  Dummies of a user's own draw are ours: dummy keys, which all users
share, would let those with the same hash function err together.  Not here: pools and reports (hashed.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.frequency.hashing import Words
from murmurate.randomizers.question import Blanket, Counts, Floats, Reports, Value
from murmurate.randomizers.thresholds import Epsilon, low_level
from murmurate.randomizers.vectors.cells import (
    Cells,
    firsts,
    in_order,
    ranks,
    scaled,
    skipping,
    skipping_one,
    words_of_part,
)
from murmurate.randomizers.vectors.hashed import HashedOracle
from murmurate.randomizers.vectors.sparse import Supports

_TOP = 1 << 64
_ONE = np.uint16(1)


class CoCo(HashedOracle):
    """Pairs of cells for the two signs of an item, and s entries for every user. Of sets Collision tells more."""

    name = "coco"
    step = 2

    def __init__(self, layout: Any, epsilon: Epsilon, t: int | None = None, pool: int | None = None) -> None:
        super().__init__(layout, epsilon, t, pool)
        self._low = low_level(1 / (self.s * (self.bound - 1) + self.t), 64)
        """The number of words of 2^64 for the partner of a winning entry's cell."""
        self._high = winning_level(self.bound, self.s, self.t, self._low)
        """The number of words of 2^64 for the cell of a winning entry."""
        high, low = Fraction(self._high, _TOP), Fraction(self._low, _TOP)
        lost = self._lost(Fraction(self.t))
        either = lost * (high + low) / 2
        self.supports = Supports(either + (1 - lost) * high, either + (1 - lost) * low, Fraction(1, self.t))
        self._least = min(low, self._smallest_other)
        self._realised = high / self._least

    @property
    def coins(self) -> int:  # type: ignore[override]
        """Two words for a cell, and one for each dummy."""
        return 2 + self.s

    @property
    def tells_shares(self) -> bool:  # type: ignore[override]
        """Not with 2 s cells, where a pair is as likely as any other whether or not it has an entry."""
        return self.t > 2 * self.s

    def _lost(self, t: Any) -> Any:
        """The probability that another entry of the same pair wins."""
        return 1 - t / (2 * self.s) * (1 - (1 - 2 / t) ** self.s)

    def _gap_of(self, t: Any, excess: Any) -> Any:
        return (1 - self._lost(t)) * excess / (self.s * excess + t)

    def _total_variance(self, t: Any, excess: Any) -> Any:
        gap = self._gap_of(t, excess)
        absent, held = 2 / t, (excess + 2) / (self.s * excess + t)
        return (self.s * held + (self.d - self.s) * absent) / (gap * gap) - self.s

    @property
    def _smallest_other(self) -> Fraction:
        """The smallest probability of a cell in a pair without an entry."""
        left = ((_TOP - k * (self._high + self._low), self.t - 2 * k) for k in range(1, self.s + 1))
        chances = [Fraction(words * (_TOP // cells), _TOP * _TOP) for words, cells in left if cells]
        return min(chances, default=Fraction(1))

    # ---- the device's half ----

    def _symbols(self, items: Any, signs: Any) -> NDArray[np.uint32]:
        return np.asarray(items, np.uint32)

    def _signed(self, cells: Any, signs: Any) -> Any:
        return cells ^ (signs < 0)

    def _drawn_from(self, cells: Cells, signs: NDArray[np.int8], coins: Words) -> Cells:
        """Cells in five steps: 1. a dummy's, from a coin; 2. in order, by pairs; 3. the first coin names
        one of the pairs, or none; 4. the second coin names the entry of that pair that wins, or one of the cells of
        all other pairs; 5. the rest of the first coin names the winner's cell or its partner.
        """
        if not signs.all():
            np.copyto(cells, scaled(coins[2:], np.uint64(self.t)).astype(np.uint16), where=signs == 0)
        cells = in_order(cells)
        pairs = cells >> _ONE
        first = firsts(pairs)
        both = np.uint64(self._high + self._low)
        held = first.sum(axis=0, dtype=np.uint8)
        number = np.minimum(coins[0] // both, self.s).astype(np.uint8)
        if self.t == 2 * self.s:  # no other pair is left for the few words beyond the last pair of s
            number = np.minimum(number, np.where(held == self.s, self.s - 1, self.s).astype(np.uint8))
        entries, odd = np.zeros_like(number), np.zeros_like(number)
        chosen = np.zeros(len(number), np.uint16)
        for pair, side, rank in zip(pairs, (cells & _ONE).astype(np.uint8), ranks(first), strict=True):
            inside = rank == number + np.uint8(1)
            entries += inside
            odd += side & inside.view(np.uint8)
            np.copyto(chosen, pair, where=inside)
        own = number < held
        parts = np.where(own, entries, np.uint64(self.t) - 2 * held.astype(np.uint64)).astype(np.uint64)
        index = scaled(coins[1], parts).astype(np.uint16)
        partner = coins[0] - number * both >= np.uint64(self._high)
        winner = (index >= entries - odd) ^ partner
        other = skipping(index >> _ONE, pairs, first) << _ONE | index & _ONE
        return np.where(own, chosen << _ONE | winner, other)

    def _drawn_from_one(self, cells: list[int], coins: list[int]) -> int:
        """What `_drawn_from` gives for one user, whose dummies follow the entries."""
        cells = sorted(cells + [coin * self.t >> 64 for coin in coins[2 + len(cells) :]])
        pairs = sorted({cell >> 1 for cell in cells})
        both = self._high + self._low
        number = coins[0] // both
        if self.t == 2 * len(pairs):
            number = min(number, len(pairs) - 1)
        if number >= len(pairs):
            index = coins[1] * (self.t - 2 * len(pairs)) >> 64
            return skipping_one(index >> 1, pairs) << 1 | index & 1
        inside = [cell for cell in cells if cell >> 1 == pairs[number]]
        winner = inside[coins[1] * len(inside) >> 64]
        return winner ^ (coins[0] - number * both >= self._high)

    # ---- the auditor's ----

    def law_given(self, cells: Sequence[int]) -> list[Fraction]:
        """The probability of each cell, for a user whose entries are hashed into these: over all dummies' cells."""
        missing = self.s - len(cells)
        law = [0] * self.t
        for dummies in combinations_with_replacement(range(self.t), missing):
            words = factorial(missing)
            for cell in dummies:
                words *= words_of_part(cell, self.t)
            for same in Counter(dummies).values():
                words //= factorial(same)
            law = [so_far + words * its for so_far, its in zip(law, self.law_of_all([*cells, *dummies]), strict=True)]
        return [Fraction(its, _TOP ** (2 + missing)) for its in law]

    def law_of_all(self, cells: Sequence[int]) -> list[int]:
        """The chances of each cell out of 2^128, for a user whose entries and dummies are in these."""
        pairs = sorted({cell >> 1 for cell in cells})
        others, rest = self.t - 2 * len(pairs), _TOP - len(pairs) * (self._high + self._low)
        law = [0] * self.t
        for index in range(others):
            law[skipping_one(index >> 1, pairs) << 1 | index & 1] = rest * words_of_part(index, others)
        for pair in pairs:
            inside = sorted(cell for cell in cells if cell >> 1 == pair)
            low = self._low + (rest if pair == pairs[-1] and not others else 0)
            for index, cell in enumerate(inside):
                wins = words_of_part(index, len(inside))
                law[cell] += wins * self._high
                law[cell ^ 1] += wins * low
        return law

    def supported(self, reports: Reports, item: int, sign: int) -> NDArray[np.bool_]:
        """Which reports name the cell of this entry."""
        hashed, cells = self.hashed_to(reports, item, sign)
        return np.asarray(hashed == cells)

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports name a cell of `one` that is none of `other`, and whose partner is none of `one`."""
        told = np.zeros(len(reports), np.bool_)
        for item, sign in self.held_by(one):
            told |= self.supported(reports, item, sign)
        for item, sign in self.held_by(one):
            told &= ~self.supported(reports, item, -sign)
        for item, sign in self.held_by(other):
            told &= ~self.supported(reports, item, sign)
        return told

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of such a report from the holders of the extremes, averaged over hash functions; of sets
        that overlap the second is a close guess.
        """
        high, low = Fraction(self._high, _TOP), Fraction(self._low, _TOP)
        one_free, both_free = 1 - Fraction(1, self.t), 1 - Fraction(2, self.t)
        if self.signed:
            alone = self.t * (one_free**self.s - both_free**self.s)
            return alone * high, alone * low
        apart = min(self.s, self.d - self.s)
        common = both_free ** (self.s - apart)
        alone = self.t * common * (one_free**apart - both_free**apart)
        clear = one_free**self.s
        named = (1 - both_free**self.s) * (high + low) / 2 - low * (clear - both_free**self.s)
        return alone * one_free**apart * high, alone * one_free**apart * (Fraction(1, self.t) - named) / clear

    def blanket(self) -> Blanket:
        """The worst pair has entries in s pairs, with opposite signs or none in common, also where values have fewer
        entries, whose laws are mixtures over dummies: s of t cells are likelier under each.
        """
        apart = Fraction(self.s, self.t)
        return self.four_atoms(self.t * self._least, apart, Fraction(0), 1 - 2 * apart)

    # ---- the server's half ----

    def support(self, reports: Reports) -> Counts:
        """The number of reports that name the cell of +1 of each item, and then of -1."""
        if len(reports) >> 31:  # both counts of an item share a word below
            half = len(reports) // 2
            return self.support(reports[:half]) + self.support(reports[half:])
        numbers, cells = self._read(self._well_formed(reports))
        items = np.arange(self.d, dtype=np.uint64)
        if self._is_small(len(numbers), 2 * self.d):
            return np.concatenate([self._matches(numbers, cells ^ np.uint64(sign), items) for sign in (0, 1)])
        counts = self._sums(numbers, cells, items, _with_partners)
        return np.concatenate((counts & 0xFFFFFFFF, counts >> 32))

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance that the pool adds to each statistic: never too small.

        Two users with the same function who share m entries err together by at most m / s of what they do if they
        share all: of means, E[1 / M] (P - R)^2, where M > 0 of the entries fall into the pair of a coordinate; of
        shares, as in Collision with pairs for cells.
        """
        if not self.pool:
            return np.zeros(self.statistics)
        means, shares = self._halves(profile)
        into, out = 2 / self.t, 1 - 2 / self.t
        alone = sum(comb(self.s, m) * into**m * out ** (self.s - m) / m for m in range(1, self.s + 1))
        of_means = alone * float((self._high - self._low) / (_TOP * self.gap)) ** 2 / self.s
        added = np.full(self.statistics, of_means * np.maximum(means**2 - shares / n, 0).sum() / self.pool)
        if self.statistics > self.d:
            of_shares = (out**-self.s - 1) / self.s
            added[self.d :] = of_shares * np.maximum(shares**2 - shares / n, 0).sum() / self.pool
        return added


def winning_level(bound: Fraction, s: int, t: int, low: int) -> int:
    """The largest number of words of 2^64 for the cell of a winning entry, such that no cell has a chance smaller by
    more than the bound, however many pairs have an entry, and that s pairs have less than all words.
    """
    allowed = [int(bound * low), (_TOP - 1) // s - low]
    for k in range(1, s + 1):
        if t > 2 * k:
            part = _TOP // (t - 2 * k)
            allowed.append(int(bound * part * (_TOP - k * low) / (_TOP + k * bound * part)))
    return min(allowed)


def _with_partners(table: Counts) -> Counts:
    """The count of each cell in the low half of a word, that of its partner in the high half."""
    return table + (table.reshape(-1, 2)[:, ::-1].reshape(-1) << 32)
