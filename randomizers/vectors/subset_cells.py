# SPDX-License-Identifier: Apache-2.0
"""The accepted cells of exclusive subsets as whole numbers of words, and all exact probabilities that follow from them.

Contract: with probability `plain` a report is uniform among all of them; else an accepted cell is drawn (a specials
that agree with the user, b that do not; exsub_terms.py), and the report is uniform in it.  A cell has a number of the
2^64 words that is rounded down from (E - 1) / (1 + (E - 1) A) times its chance among all reports, where E is at most
e^epsilon and A the chance of being accepted; all other words are plain.  So one of chance U among all is drawn with

    plain U + (words of its cell / 2^64) (U / chance of the cell)  <=  E plain U,      and with at least plain U,

since plain is at least 1 / (1 + (E - 1) A).  Words and chances are the same for every vector of at most s entries, as
stubs fill up the specials to s: so no ratio exceeds E, and every vector gives every report (ARCHITECTURE rule 26), also
those of a cell that is too rare to have a word.  Specials are chosen by words of 64 bits; a word that cannot be shared
out evenly among those left makes the report a plain one, which takes the same part from a cell for all vectors.
Not here: the drawing itself (subset_reports.py, subset_lanes.py).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.question import Atom, Blanket
from murmurate.randomizers.vectors.exsub_terms import acceptance, is_accepted, specials_law

_BITS = 64
_TOP = 1 << _BITS


class DrawnCell(NamedTuple):
    """An accepted cell, and how many words draw it."""

    agreeing: int
    opposite: int
    level: int
    """The number of the 2^64 words that stand for it."""

    @property
    def specials(self) -> int:
        """The number of the user's specials in such a report."""
        return self.agreeing + self.opposite


class SubsetCells:
    """The cells of reports of m of d + s coordinates. bound: the ratio that epsilon allows, rounded down. even: whether
    all specials of a report are chosen at once, evenly or not at all; otherwise whoever draws answers for how.
    """

    def __init__(self, d: int, s: int, m: int, tau: int | None, bound: Fraction, *, even: bool = True) -> None:
        self.d, self.s, self.m, self.tau = d, s, m, tau
        self.law = specials_law(d, s, m)
        """The probabilities of 0, 1 ... s specials in a plain report."""
        self.accepted = sum((chance * acceptance(k, tau) for k, chance in enumerate(self.law)), Fraction(0))
        """The chance of an accepted cell among all reports."""
        lift = (bound - 1) / (1 + (bound - 1) * self.accepted) * _TOP
        words = [lift * chance for chance in self.law]
        self.cells = tuple(
            DrawnCell(
                a, b, words[a + b].numerator * self._ways(a, b) // (words[a + b].denominator << self._coins(a + b))
            )
            for a in range(s + 1)
            for b in range(s + 1 - a if tau is not None else 1)
            if self.law[a + b] and is_accepted(a, b, tau)
        )
        """The accepted cells in the order of their words."""
        self.edges = list(accumulate(cell.level for cell in self.cells))
        """The word of 64 bits at which each cell ends; the first begins at 0."""
        evenly = Fraction(1)
        self._each = [evenly / _TOP]  # of a word of a cell with 0, 1, ... specials, that all of them are chosen evenly
        for left in range(s, 0, -1):
            evenly *= Fraction(_TOP // left * left, _TOP) if even else 1
            self._each.append(evenly / _TOP)
        self.plain = 1 - self._drawn(lambda cell: 1)
        """The probability of a report that is uniform among all."""

    def _ways(self, agreeing: int, opposite: int) -> int:
        return comb(agreeing + opposite, agreeing) if self.tau is not None else 1

    def _coins(self, specials: int) -> int:
        return specials if self.tau is not None else 0

    def _drawn(self, times: Callable[[DrawnCell], int]) -> Fraction:
        """The probability that a cell is drawn on purpose, each so many times: that of its words, if they are even."""
        levels = [0] * (self.s + 1)
        for cell in self.cells:
            levels[cell.specials] += cell.level * times(cell)
        return sum((level * each for level, each in zip(levels, self._each, strict=True)), Fraction(0))

    def lift(self, cell: DrawnCell) -> Fraction:
        """The probability that a cell is drawn on purpose, as a multiple of its chance among all reports."""
        k = cell.specials
        return cell.level * self._each[k] / (self.law[k] * Fraction(self._ways(*cell[:2]), 1 << self._coins(k)))

    @cached_property
    def columns(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
        """For each cell the word at which it ends, its specials that agree, and all its specials."""
        specials = np.array([cell.specials for cell in self.cells], np.int64)
        return np.array(self.edges, np.uint64), np.array([cell.agreeing for cell in self.cells], np.int64), specials

    def of_word(self, word: int) -> DrawnCell | None:
        """The cell that a word of 64 bits draws; None for a plain report."""
        number = bisect_right(self.edges, word)
        return self.cells[number] if number < len(self.cells) else None

    @cached_property
    def realised(self) -> Fraction:
        """The largest probability of a report, as a multiple of the smallest."""
        most: dict[int, DrawnCell] = {}
        for cell in self.cells:
            k = cell.specials
            if k not in most or cell.level * self._ways(*most[k][:2]) > most[k].level * self._ways(*cell[:2]):
                most[k] = cell
        return 1 + max((self.lift(cell) for cell in most.values()), default=Fraction(0)) / self.plain

    def weight(self, agreeing: int, opposite: int) -> Fraction:
        """The probability of a report with so many specials, as a multiple of its share among all."""
        of = (self.lift(cell) for cell in self.cells if cell[:2] == (agreeing, opposite))
        return self.plain + next(of, Fraction(0))

    def expected(self) -> tuple[Fraction, Fraction, Fraction]:
        """The expected numbers of specials that agree, of those that do not, and of other coordinates in a report; of
        sets without signs, all specials are among the first.
        """
        each = self.plain * self.s * self.m / (self.d + self.s) / (1 if self.tau is None else 2)
        agreeing = each + self._drawn(lambda cell: cell.agreeing)
        opposite = each + self._drawn(lambda cell: cell.opposite) if self.tau is not None else Fraction(0)
        return agreeing, opposite, self.m - agreeing - opposite

    # ---- two users whose reports are told apart best ----

    def apart(self, signed: bool) -> tuple[Fraction, Fraction, Fraction]:
        """The chances among all reports to be accepted for the first of the two alone, for both, and for neither.

        signed: the two have opposite signs; otherwise the specials of the one are none of the other's.
        """
        ways = [0] * (self.s + 1)
        for cell in self.cells:
            ways[cell.specials] += self._ways(*cell[:2]) * (not signed or self._turned(cell))
        chances = (chance * Fraction(ways[k], 1 << self._coins(k)) for k, chance in enumerate(self.law))
        shares = [Fraction(1)] * (self.s + 1) if signed else self._others
        both = sum((chance * share for chance, share in zip(chances, shares, strict=True)), Fraction(0))
        return self.accepted - both, both, 1 - 2 * self.accepted + both

    def blanket(self, signed: bool, high: Fraction) -> Blanket:
        """The plain part of all reports, by those that the two have more often.

        Cells are drawn by whole words, so that their ratios differ in the tenth digit: all are given the largest,
        `high`, and the plain part is what that leaves, which is a little less than it is.
        """
        apart, both, neither = self.apart(signed)
        one = Fraction(1)
        plain = 1 / (high * (apart + both) + apart + neither)
        split = (apart, high, one), (apart, one, high), (both, high, high), (neither, one, one)
        return tuple(Atom(plain * mass, *ratios) for mass, *ratios in split if mass)

    def telling(self, signed: bool) -> tuple[Fraction, Fraction]:
        """The probabilities from either of them of reports that are accepted for the first alone."""
        alone = self.plain * self.apart(signed)[0]
        if signed:
            return alone + self._drawn(lambda cell: not self._turned(cell)), alone
        levels = [0] * (self.s + 1)
        for cell in self.cells:
            levels[cell.specials] += cell.level
        missed = (
            level * each * (1 - share) for level, each, share in zip(levels, self._each, self._others, strict=True)
        )
        return alone + sum(missed, Fraction(0)), alone

    def _turned(self, cell: DrawnCell) -> bool:
        """Whether a cell is accepted with all signs turned."""
        return is_accepted(cell.opposite, cell.agreeing, self.tau)

    @cached_property
    def _others(self) -> list[Fraction]:
        """The shares of the reports with 0, 1 ... s specials that are accepted for a user with s other ones."""
        shares = []
        for k in range(self.s + 1):
            rest = self.m - k
            law = specials_law(self.d - self.s, self.s, rest) if 0 <= rest <= self.d else []
            shares.append(sum((chance * acceptance(i, self.tau) for i, chance in enumerate(law)), Fraction(0)))
        return shares
