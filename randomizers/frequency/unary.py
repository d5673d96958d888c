"""Unary encoding: a bit for every value of the domain, each perturbed by itself (OUE).

Contract: two values differ in two bits, so P[y|x] / P[y|x'] <= p(1-q) / (q(1-p)) <= e^epsilon, in exact arithmetic
(`law`). q is rounded up to a whole number out of 2^32 (of 2^64 where that would be below 2^16, above 11.09 nats); p
is exactly one half. Source: Wang 2021, section 3.3.3 and equation (3.6).  Not here: choosing between oracles
(aggregators/chooser.py).
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.mechanism import Counts, PureOracle, Reports
from murmurate.randomizers.packing import bit_bytes, count_bits, padding_set
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level

_FINE = 1 << 16  # a level below this would be rounded by more than 2^-16 of itself


class OUE(PureOracle):
    """Optimized unary encoding: the own bit is 1 with probability 1/2, every other with q = 1 / (e^eps + 1).

    A report is d bits, cell v in bit v mod 8 of byte v // 8. Variance does not grow with d, the report does.
    """

    name = "oue"
    max_domain = 1 << 20

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        q = 1 / (exp_floor(self.epsilon_micro) + 1)
        self._bits = 32 if low_level(q, 32) >= _FINE else 64
        self._low = low_level(q, self._bits)
        self.p = Fraction(1, 2)
        self.q = Fraction(self._low, 1 << self._bits)

    @property
    def wire_size(self) -> int:
        """Bytes that hold d bits."""
        return bit_bytes(self.d)

    @property
    def realised(self) -> Fraction:
        """(1 - q) / q, since p is one half."""
        return (1 - self.q) / self.q

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """One word u a cell: its bit is 1 while u < low, in the own cell while u < half."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        word = np.uint32 if self._bits == 32 else np.uint64
        low, half = word(self._low), word(1 << (self._bits - 1))
        for rows, words in draw.open(self.digest, canonical(values)).words(self.d, word):
            ones = words < low
            own = np.arange(len(words)), values[rows]
            ones[own] = words[own] < half
            reports[rows] = np.packbits(ones, axis=1, bitorder="little")
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """The same in plain Python."""
        value = self.checked_one(value, draw)
        row = 0
        for cell, word in enumerate(draw.open(self.digest, canonical_one(value))(self.d, self._bits)):
            row |= (word < (1 << (self._bits - 1) if cell == value else self._low)) << cell
        return row.to_bytes(self.wire_size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Reports with a bit past the domain."""
        return padding_set(self._reports(reports), self.d)

    def support(self, reports: Reports) -> Counts:
        """How many reports set each bit."""
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
        """Reports with the bit of `one` set and that of `other` clear."""
        rows = self._reports(reports)
        one, other = self.checked(one), self.checked(other)
        return np.asarray((rows[:, one // 8] >> (one % 8) & 1 == 1) & (rows[:, other // 8] >> (other % 8) & 1 == 0))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """p(1-q) and q(1-p)."""
        return self.p * (1 - self.q), self.q * (1 - self.p)
