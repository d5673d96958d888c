"""The accepted cells of exclusive subsets as whole numbers of words, and all exact probabilities that follow from them.

Contract: with probability `plain` a report is uniform among all of them; else an accepted cell is drawn (a specials
that agree with the user, b that do not; exsub_terms.py), and the report is uniform in it.  A cell has a number of the
2^64 words that is rounded down from (E - 1) / (1 + (E - 1) A) times its chance among all reports, where E is at most
e^epsilon and A the chance of being accepted; all other words are plain.  So one of chance U among all is drawn with

    plain U + (words of its cell / 2^64) (U / chance of the cell)  <=  E plain U,      and with at least plain U,

since plain is at least 1 / (1 + (E - 1) A).  Words and chances are the same for every vector of at most s entries, as
stubs fill up the specials to s: so no ratio exceeds E, and every vector gives every report (ARCHITECTURE rule 26), also
those of a cell that is too rare to have a word.  Specials are chosen by words of 32 bits; a word that cannot be shared
out evenly among those left makes the report a plain one, which takes the same part from a cell for all vectors.
Not here: the drawing itself (subset_reports.py, subset_lanes.py).
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from murmurate.randomizers.vectors.exsub_terms import Cell, acceptance, accepted_cells, specials_law

WORD = 32
_TOP = 1 << 64


class DrawnCell(NamedTuple):
    """An accepted cell, and how it is drawn."""

    agreeing: int
    opposite: int
    chance: Fraction
    """Its chance among all reports, each taken to be equally likely."""
    level: int
    """The number of the 2^64 words that stand for it."""
    drawn: Fraction
    """The probability that it is drawn on purpose: that of its words, less that of a choice that is not even."""


class SubsetCells:
    """The cells of reports of m of d + s coordinates. bound: the ratio that epsilon allows, rounded down."""

    def __init__(self, d: int, s: int, m: int, tau: int | None, bound: Fraction) -> None:
        self.d, self.s, self.m, self.tau = d, s, m, tau
        cells = accepted_cells(d, s, m, tau)
        self.accepted = sum((cell.chance for cell in cells), Fraction(0))
        """The chance of an accepted cell among all reports."""
        lift = (bound - 1) / (1 + (bound - 1) * self.accepted)
        levels = [int(lift * cell.chance * _TOP) for cell in cells]
        self.cells = tuple(
            DrawnCell(*cell, level, self._evenly(cell) * Fraction(level, _TOP))
            for cell, level in zip(cells, levels, strict=True)
        )
        """The accepted cells in the order of their words."""
        self.edges = list(accumulate(levels))
        """The word of 64 bits at which each cell ends; the first begins at 0."""
        self.plain = 1 - sum((cell.drawn for cell in self.cells), Fraction(0))
        """The probability of a report that is uniform among all."""

    def _evenly(self, cell: Cell) -> Fraction:
        """The probability that words of 32 bits choose the specials of a cell: none of them is left over."""
        evenly = Fraction(1)
        for left in range(self.s, self.s - cell.specials, -1):
            evenly *= Fraction((1 << WORD) // left * left, 1 << WORD)
        return evenly

    def of_word(self, word: int) -> DrawnCell | None:
        """The cell that a word of 64 bits draws; None for a plain report."""
        number = bisect_right(self.edges, word)
        return self.cells[number] if number < len(self.cells) else None

    @cached_property
    def realised(self) -> Fraction:
        """The largest probability of a report, as a multiple of the smallest."""
        return 1 + max((cell.drawn / cell.chance for cell in self.cells), default=Fraction(0)) / self.plain

    def weight(self, agreeing: int, opposite: int) -> Fraction:
        """The probability of a report with so many specials, as a multiple of its share among all."""
        of = (cell.drawn / cell.chance for cell in self.cells if cell[:2] == (agreeing, opposite))
        return self.plain + next(of, Fraction(0))

    def expected(self) -> tuple[Fraction, Fraction, Fraction]:
        """The expected numbers of specials that agree, of those that do not, and of other coordinates in a report; of
        sets without signs, all specials are among the first.
        """
        number, signs = self.d + self.s, 1 if self.tau is None else 2
        each = self.plain * self.s * self.m / number / signs
        agreeing = sum((cell.drawn * cell.agreeing for cell in self.cells), each)
        opposite = sum((cell.drawn * cell.opposite for cell in self.cells), each if signs == 2 else Fraction(0))
        return agreeing, opposite, self.m - agreeing - opposite

    # ---- two users whose reports are told apart best ----

    def apart(self, signed: bool) -> tuple[Fraction, Fraction, Fraction]:
        """The chances among all reports to be accepted for the first of the two alone, for both, and for neither.

        signed: the two have opposite signs; otherwise the specials of the one are none of the other's.
        """
        both = sum((cell.chance * self._other_accepts(cell, signed) for cell in self.cells), Fraction(0))
        return self.accepted - both, both, 1 - 2 * self.accepted + both

    def telling(self, signed: bool) -> tuple[Fraction, Fraction]:
        """The probabilities from either of them of reports that are accepted for the first alone."""
        alone = self.plain * self.apart(signed)[0]
        return alone + sum(cell.drawn * (1 - self._other_accepts(cell, signed)) for cell in self.cells), alone

    def _other_accepts(self, cell: DrawnCell, signed: bool) -> Fraction:
        """The share of the reports of a cell that are accepted for the other user, too."""
        if signed:
            return Fraction(any(cell[:2] == (other.opposite, other.agreeing) for other in self.cells))
        law = specials_law(self.d - self.s, self.s, self.m - cell.agreeing - cell.opposite)
        return sum((chance * acceptance(k, self.tau) for k, chance in enumerate(law)), Fraction(0))
