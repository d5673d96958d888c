# SPDX-License-Identifier: Apache-2.0
"""Unary encoding: a bit for every value of the domain, each perturbed by itself (OUE, SUE).

Contract: two values differ in two bits, so P[y|x] / P[y|x'] <= p(1-q) / (q(1-p)) <= e^epsilon, in exact arithmetic
(`law`). Levels are whole numbers out of 2^32, or of 2^64 where q's would be below 2^16: OUE above 11.09 nats. q is
rounded up, so the ratio can only fall.  Source: Wang 2021, section 3.3.3 and equation (3.6).  Not here: thresholded
histograms (the.py) and RAPPOR (rappor.py), which are unary encodings with levels of their own; choosing between
oracles (aggregators/chooser.py).
"""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.mechanism import Counts, PureOracle, Reports
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_bits, padding_set
from murmurate.randomizers.question import Atom, Blanket
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import MICRO, Epsilon, exp_floor, low_level, micro_nats

_LISTED = 64  # values up to which the row of ones only has a mass of its own
_FINE = 1 << 16  # a level below this would be rounded by more than 2^-16 of itself


class Levels(NamedTuple):
    """The number of 2^bits equally likely words that set the own bit, and the number that set any other one."""

    high: int
    low: int
    bits: int


class Unary(PureOracle):
    """A bit a value, each by itself: the own bit is 1 with probability p, every other with q.

    A report is d bits, cell v in bit v mod 8 of byte v // 8. Variance does not grow with d, the report does.
    """

    max_domain = 1 << 20

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        high, low, bits = self._levels()
        top = 1 << bits
        while Fraction(high * (top - low), low * (top - high)) > exp_floor(self.epsilon_micro):
            high -= 1  # a hair, where a level is the rounding of a root of e^epsilon
        self._high, self._low, self._bits = high, low, bits
        self.p, self.q = self._sent(Fraction(high, top)), self._sent(Fraction(low, top))

    @abstractmethod
    def _levels(self) -> Levels:
        """The levels of p and q. The constructor lowers p until the promise holds."""

    def _sent(self, drawn: Fraction) -> Fraction:
        """The probability that a bit is sent as 1, given that of drawing 1; they differ where a second step follows."""
        return drawn

    @property
    def wire_size(self) -> int:
        """The bytes that hold d bits."""
        return bit_bytes(self.d)

    @property
    def realised(self) -> Fraction:
        """The ratio p(1-q) / (q(1-p)): the own bit set and another one's clear, against the opposite."""
        one, other = self.telling
        return one / other

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from one word u a cell: its bit is 1 while u < low, in the own cell while u < high."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        word = np.uint32 if self._bits == 32 else np.uint64
        low, high = word(self._low), word(self._high)
        for rows, words in draw.open(self.digest, canonical(values)).words(self.d, word):
            ones = words < low
            own = np.arange(len(words)), values[rows]
            ones[own] = words[own] < high
            reports[rows] = pack_bits(ones)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        row = 0
        for cell, word in enumerate(draw.open(self.digest, canonical_one(value))(self.d, self._bits)):
            row |= (word < (self._high if cell == value else self._low)) << cell
        return row.to_bytes(self.wire_size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports have a bit past the domain."""
        return padding_set(self._reports(reports), self.d)

    def support(self, reports: Reports) -> Counts:
        """The number of reports that set each bit."""
        return count_bits(self._well_formed(reports), self.d)

    @property
    def reports_possible(self) -> int:
        """Every row of d bits."""
        return 1 << self.d

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The product of d independent bits."""
        value = self.checked(value)
        self._check_listable()
        law = {}
        for bits in product((0, 1), repeat=self.d):
            chance = Fraction(1)
            for cell, bit in enumerate(bits):
                one = self.p if cell == value else self.q
                chance *= one if bit else 1 - one
            law[sum(bit << cell for cell, bit in enumerate(bits)).to_bytes(self.wire_size, "little")] = chance
        return law

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports have the bit of `one` set and that of `other` clear."""
        return one_without_other(self._reports(reports), self.checked(one), self.checked(other))

    def blanket(self) -> Blanket:
        """Rows by the bits of both values: a clear one has its chance from every value but its own, which lowers it by
        (1-p) / (1-q). Only the row of ones has more, and is every value's alike: left out of large domains, where it is
        below 2^-64, which makes the blanket no better.
        """
        p, q, apart, one = self.p, self.q, self.realised, Fraction(1)
        low = (1 - p) / (1 - q)
        ones = q**self.d if self.d <= _LISTED else Fraction(0)
        return (
            Atom(low * q * (1 - q), apart, one),
            Atom(low * q * (1 - q), one, apart),
            Atom(low * (q * q - ones), apart, apart),
            Atom(low * (1 - q) ** 2 + ones * p / q, one, one),
        )

    @property
    def removing(self) -> Fraction:
        """The largest ratio to the report of somebody who holds nothing, all of whose bits are drawn as others': what
        taking a value away may show, where replacing it shows `realised`.
        """
        return max(self.p / self.q, (1 - self.q) / (1 - self.p))

    def cell_blanket(self) -> Blanket:
        """The blanket of a single bit, the own one against another: what counts where every cell is mixed by itself."""
        p, q, one = self.p, self.q, Fraction(1)
        return Atom(q, p / q, one), Atom(1 - p, one, (1 - q) / (1 - p))

    def removal_blanket(self) -> Blanket:
        """What all values and none have in common, and how a value departs from none. Only the row of ones is rarer
        without a value than with one.
        """
        own, clear = self.p / self.q, (1 - self.p) / (1 - self.q)
        ones = self.q**self.d if self.d <= _LISTED else Fraction(0)
        return (
            Atom(clear * (self.q - ones), own / clear, 1 / clear),
            Atom(ones, own, Fraction(1)),
            Atom(clear * (1 - self.q), Fraction(1), 1 / clear),
        )

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities p(1-q) and q(1-p)."""
        return self.p * (1 - self.q), self.q * (1 - self.p)


class OUE(Unary):
    """Optimized unary encoding: the own bit is 1 with probability 1/2, every other with q = 1 / (e^eps + 1).

    The smallest variance of a rare value that any unary encoding has.
    """

    name = "oue"

    def _levels(self) -> Levels:
        q = 1 / (exp_floor(self.epsilon_micro) + 1)
        bits = 32 if low_level(q, 32) >= _FINE else 64
        return Levels(1 << (bits - 1), low_level(q, bits), bits)


class SUE(Unary):
    """Symmetric unary encoding: every bit is turned over with the same probability q = 1 / (e^(eps/2) + 1).

    The first step of Basic RAPPOR. A variance that no frequency changes, above OUE's for rare values. The literature of
    shuffling calls it RAP; with epsilon counted per removed value RAP_R, which is `removal`.
    """

    name = "sue"

    @classmethod
    def removal(cls, *, d: int, epsilon: Epsilon) -> "SUE":
        """The one whose bits turn over with 1 / (e^epsilon + 1): taking a value away shows epsilon (RAP_R). Replacing
        it changes two bits, so its own epsilon, which a ledger books, is twice that.

        >>> SUE.removal(d=9, epsilon=0.5)
        SUE(d=9, epsilon=1.0)
        """
        return cls(d=d, epsilon=Fraction(2 * micro_nats(epsilon), MICRO))

    def _levels(self) -> Levels:
        return symmetric(self.epsilon_micro, 2)


def symmetric(epsilon_micro: int, bits: int) -> Levels:
    """Levels with p + q = 1 for an encoding whose values differ in so many bits: q = 1 / (e^(eps/bits) + 1)."""
    low = low_level(1 / (exp_floor(epsilon_micro, bits) + 1), 32)  # from 2 bits on never below e^-10 of 2^32
    return Levels((1 << 32) - low, low, 32)


def one_without_other(rows: NDArray[np.uint8], one: int, other: int) -> NDArray[np.bool_]:
    """Which rows have the bit of the one value set and that of the other clear."""
    return np.asarray((rows[:, one // 8] >> (one % 8) & 1 == 1) & (rows[:, other // 8] >> (other % 8) & 1 == 0))
