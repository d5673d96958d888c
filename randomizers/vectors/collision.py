# SPDX-License-Identifier: Apache-2.0
"""Collision: the cells of a user's entries under a public hash function, of which one is likelier to be reported.

Contract: with t >= 2 s cells, of which a user's entries fill k, each of the k is reported with probability p and each
other one with r_k = (1 - k p) / (t - k), about e^epsilon / W and at least 1 / W, W = s e^epsilon + t - s.  p does not
depend on k, so that estimates are unbiased whatever collides: P[y|x] <= e^epsilon P[y|x'] under every hash function, in
exact arithmetic.  An entry is hashed as its symbol: 2 item + (1 if its sign is -), of sets the item alone, which halves
the variance.  Source: Wang et al. 2023 (Collision and CoCo), definition 5; probabilities for any number of cells, the
variance and its smallest t are our own.  Not here: hash functions, pools and reports (hashed.py).

With fewer than s cells r_k would fall below p / e^epsilon; with less than 2 s no t is best, and the blanket's worst
pair, two vectors without a common cell, would not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ReportError, shown
from murmurate.randomizers.frequency.hashing import Words
from murmurate.randomizers.question import Blanket, Counts, Floats, Reports, Value
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.vectors.cells import (
    EMPTY,
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
from murmurate.randomizers.vectors.sparse import Moments, Supports

_TOP = 1 << 64


class Collision(HashedOracle):
    """The cells of a user's entries, of which each is e^epsilon times as likely as a cell without an entry may be."""

    name = "collision"

    def __init__(self, layout: Any, epsilon: Epsilon, t: int | None = None, pool: int | None = None) -> None:
        super().__init__(layout, epsilon, t, pool)
        self._high = own_level(self.bound, self.s, self.t)
        """The number of words of 2^64 for each of the user's cells."""
        own, any_cell = Fraction(self._high, _TOP), Fraction(1, self.t)
        self.supports = Supports(own, any_cell, any_cell, own * any_cell, any_cell**2)
        least, most = (_TOP - self.s * self._high) * (_TOP // (self.t - self.s)), self._high * _TOP
        self._realised = Fraction(most, least)
        """The ratio of p to the smallest probability, that of a cell without an entry where s cells have one."""

    def _total_variance(self, t: Any, excess: Any) -> Any:
        gap, own, any_cell = self._gap_of(t, excess), (1 + excess) / (self.s * excess + t), 1 / t
        absent = any_cell * (1 - any_cell)
        held = own * (1 - own)
        if self.signed:
            absent, held = 2 * absent, held + absent
        return (self.s * held + (self.d - self.s) * absent) / (gap * gap)

    def _gap_of(self, t: Any, excess: Any) -> Any:
        return excess * (t - self.s) / (t * (self.s * excess + t))  # p - 1/t without a subtraction

    # ---- the device's half ----

    def _symbols(self, items: Any, signs: Any) -> NDArray[np.uint32]:
        symbols = np.asarray(items, np.uint32)
        return np.asarray(symbols << np.uint32(1) | (signs < 0)) if self.signed else symbols

    def _drawn_from(self, cells: Cells, signs: NDArray[np.int8], coins: Words) -> Cells:
        """Cells in three steps: 1. the different ones of each user, in order; 2. the first coin names one of them, or
        none; 3. for users without one, the second coin names one of the others.
        """
        np.copyto(cells, np.uint16(EMPTY), where=signs == 0)
        cells = in_order(cells)
        first = firsts(cells)
        number = coins[0] // np.uint64(self._high)
        wanted = np.minimum(number, self.s).astype(np.uint8) + np.uint8(1)
        chosen = np.full(cells.shape[1], EMPTY, np.uint16)
        rank = np.zeros_like(wanted)
        for cell, new, rank in zip(cells, first, ranks(first), strict=True):
            np.copyto(chosen, cell, where=new & (rank == wanted))
        index = scaled(coins[1], np.uint64(self.t) - rank).astype(np.uint16)
        return np.where(chosen == EMPTY, skipping(index, cells, first), chosen)

    def _drawn_from_one(self, cells: list[int], coins: list[int]) -> int:
        own = sorted(set(cells))
        number = coins[0] // self._high
        return own[number] if number < len(own) else skipping_one(coins[1] * (self.t - len(own)) >> 64, own)

    # ---- the auditor's ----

    def law_given(self, cells: Sequence[int]) -> list[Fraction]:
        """The probability of each cell, for a user whose entries are hashed into these."""
        own = sorted(set(cells))
        others, rest = self.t - len(own), _TOP - len(own) * self._high
        law = [Fraction(self._high, _TOP)] * self.t
        for index in range(others):
            law[skipping_one(index, own)] = Fraction(rest * words_of_part(index, others), _TOP * _TOP)
        return law

    def supported(self, reports: Reports, item: int, sign: int) -> NDArray[np.bool_]:
        """Which reports name the cell of this entry."""
        hashed, cells = self.hashed_to(reports, item, sign)
        return np.asarray(hashed == cells)

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports name a cell of `one` that is none of `other`."""
        mine, theirs = (
            np.any([self.supported(reports, *entry) for entry in self.held_by(value)], axis=0) for value in (one, other)
        )
        return np.asarray(mine & ~theirs)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of a cell of the one extreme that is none of the other's, averaged over hash functions."""
        free = 1 - Fraction(1, self.t)
        apart = self.s if self.signed else min(self.s, self.d - self.s)
        hit, clear = 1 - free**apart, free**self.s
        return self.t * clear * hit * self.supports.own, hit * (1 - self.supports.own * self.t * (1 - clear))

    def blanket(self) -> Blanket:
        """The worst pair has s different cells each and none in common, also where values have fewer entries, whose
        laws are mixtures of those with s cells: s of t cells are likelier under each.
        """
        low = self.supports.own / self.realised
        return self.four_atoms(self.t * low, Fraction(self.s, self.t), Fraction(0), 1 - Fraction(2 * self.s, self.t))

    # ---- the server's half ----

    @property
    def outcomes(self) -> int:
        """The length of the support: two counts for each coordinate; of sets, one."""
        return 2 * self.d if self.signed else self.d

    def support(self, reports: Reports) -> Counts:
        """The number of reports that name the cell of each item with +1, then with -1; of sets, of each item."""
        numbers, cells = self._read(self._well_formed(reports))
        symbols = np.arange(self.outcomes, dtype=np.uint64)
        if self._is_small(len(numbers), len(symbols)):
            counts = self._matches(numbers, cells, symbols)
        else:
            counts = self._sums(numbers, cells, symbols, lambda table: table)
        return np.concatenate((counts[::2], counts[1::2])) if self.signed else counts

    def estimate(self, support: Counts, n: int) -> Floats:
        """The means and the shares of holders; of sets, the shares: unbiased, raw: float64[statistics]."""
        if self.signed:
            return super().estimate(support, n)
        support = np.asarray(support)
        self.check(support, n)
        if n < 1:
            raise ReportError(f"{self.name}: found n = {shown(n)}; allowed: n >= 1")
        return np.asarray((support / n - float(self.supports.absent)) / float(self.gap), np.float64)

    @cached_property
    def _mean_squares(self) -> tuple[Fraction, Fraction]:
        """The mean squares of one user's part of a mean; of sets, from one count instead of the difference of two."""
        if self.signed:
            return super()._mean_squares
        own, absent = self.supports.own, self.supports.absent
        return absent * (1 - absent) / self.gap**2, own * (1 - own) / self.gap**2 + 1

    @cached_property
    def share_moments(self) -> Moments:
        """The exact variances of one user's part of a share of holders."""
        return super().share_moments if self.signed else self.mean_moments

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance that the pool adds to each statistic: never too small, and at most a few percent of itself too
        large.

        Two users with the same function who share m entries err together, by at most (m / s) ((t / (t - 1))^s - 1) of
        g^2 for each of the one or two cells of a coordinate: equal if they share all, and nearly for one.
        """
        if not self.pool:
            return np.zeros(self.statistics)
        means, shares = self._halves(profile)
        alike = float(((1 + Fraction(1, self.t - 1)) ** self.s - 1) / self.s)
        if self.signed:  # f^2 summed over both signs, and two cells a coordinate
            alike, squares = 2 * alike, (shares**2 + means**2) / 2
        else:
            squares = means**2
        return np.full(self.statistics, alike * np.maximum(squares - shares / n, 0).sum() / self.pool)


def own_level(bound: Fraction, s: int, t: int) -> int:
    """The largest number of words of 2^64 for a cell with an entry, such that no cell without one has a chance smaller
    by more than the bound, however many cells have one: the words of the others are shared out in whole parts.
    """
    parts = ((k, _TOP // (t - k)) for k in range(s + 1))
    return min(int(bound * _TOP * part / (_TOP + k * bound * part)) for k, part in parts)
