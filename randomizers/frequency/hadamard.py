# SPDX-License-Identifier: Apache-2.0
"""Hadamard response: one bit of the value's column of a Hadamard matrix, in a random row.

Contract: the row j is uniform and independent of the value, the bit is flipped with probability
1 / (e^eps + 1), rounded up to a whole number out of 2^64, so P[y|x] / P[y|x'] <= e^epsilon, in exact arithmetic
(`law`).  Source: Wang 2021, sections 3.1.3 and 9.6 (it names the method; binary local hashing with the rows as hash
functions).  Not here: Hadamard response with more than one bit (Acharya, Sun and Zhang 2019).
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.mechanism import Counts, PureOracle, Reports
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import Atom, Blanket
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level

_BITS = 64


class HadamardResponse(PureOracle):
    """The sign of entry (j, v + 1) of the K x K Hadamard matrix, K the smallest power of two above d.

    A report is j + K b, one to three bytes: b = 1 where popcount(j and (v + 1)) is odd, or turned over. It supports
    the values whose entry in its row has its sign: the own one with p = e^eps / (e^eps + 1), any other with exactly
    1/2, since two columns agree in half the rows. Small reports for any domain; twice OUE's variance at epsilon
    1.76, and never below 1 a user.
    """

    name = "hr"
    max_domain = 1 << 20

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        self.rows = 1 << d.bit_length()
        self._low = low_level(1 / (exp_floor(self.epsilon_micro) + 1), _BITS)
        self.p = 1 - Fraction(self._low, 1 << _BITS)
        self.q = Fraction(1, 2)

    @property
    def wire_size(self) -> int:
        """The bytes that hold a row's number and a bit."""
        return int_bytes(self.reports_possible)

    @property
    def realised(self) -> Fraction:
        """The ratio p / (1 - p)."""
        return self.p / (1 - self.p)

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from two words u, t a user: row u mod K, and its bit, flipped while t < low."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        low, last = np.uint64(self._low), np.uint64(self.rows - 1)
        for rows, words in draw.open(self.digest, canonical(values)).words(2, np.uint64):
            row = words[:, 0] & last
            bit = _odd(row & (values[rows].astype(np.uint64) + np.uint64(1))) ^ (words[:, 1] < low)
            reports[rows] = pack_ints(row + bit * np.uint64(self.rows), self.wire_size)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        word, turn = draw.open(self.digest, canonical_one(value))(2, _BITS)
        row = word % self.rows
        bit = (row & (value + 1)).bit_count() % 2 ^ (turn < self._low)
        return (row + bit * self.rows).to_bytes(self.wire_size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports name a row past the matrix."""
        return np.asarray(unpack_ints(self._reports(reports)) >= self.reports_possible)

    def support(self, reports: Reports) -> Counts:
        """The number of reports that agree with the column of each value, in time O(n + K log K) and memory for K
        counts.
        """
        reports = self._well_formed(reports)
        plus, minus = np.bincount(unpack_ints(reports), minlength=self.reports_possible).reshape(2, self.rows)
        signs = _transformed(plus - minus)[1 : self.d + 1]
        return np.asarray((len(reports) + signs) // 2, np.int64)

    @property
    def reports_possible(self) -> int:
        """Two reports for each row."""
        return 2 * self.rows

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The probability p / K for each row with its bit, (1 - p) / K with the flipped one."""
        value = self.checked(value)
        self._check_listable()
        law = {}
        for bit in (0, 1):
            for row in range(self.rows):
                true = (row & (value + 1)).bit_count() % 2 == bit
                law[(row + bit * self.rows).to_bytes(self.wire_size, "little")] = (
                    self.p if true else 1 - self.p
                ) / self.rows
        return law

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports support `one` and not `other`."""
        numbers = unpack_ints(self._reports(reports)).astype(np.uint64)
        row, bit = numbers % np.uint64(self.rows), numbers // np.uint64(self.rows) == 1
        mine, theirs = (_odd(row & np.uint64(self.checked(value) + 1)) for value in (one, other))
        return np.asarray((mine == bit) & (theirs != bit))

    def blanket(self) -> Blanket:
        """Two columns differ in half the rows, where either has a sign of its own. In row 0 all columns agree, and of
        two values in one row more: what is reported there says nothing.
        """
        low, apart, one = (1 - self.p) / self.rows, self.realised, Fraction(1)
        silent = 1 if self.d > 2 else 2
        alike = self.rows // 2 - silent
        atoms = [Atom(self.rows // 2 * low, apart, one), Atom(self.rows // 2 * low, one, apart)]
        if alike:
            atoms += [Atom(alike * low, apart, apart), Atom(alike * low, one, one)]
        return (*atoms, Atom(Fraction(silent, self.rows), one, one))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities p / 2 and (1 - p) / 2, since two columns differ in half the rows."""
        return self.p / 2, (1 - self.p) / 2


def _odd(numbers: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which numbers have an odd number of ones."""
    return np.asarray(np.bitwise_count(numbers) & 1, np.bool_)


def _transformed(counts: Counts) -> Counts:
    """The Walsh-Hadamard transform: out[i] = sum over j of (-1)^popcount(i and j) counts[j]."""
    out = counts.astype(np.int64)
    width = 1
    while width < len(out):
        pairs = out.reshape(-1, 2, width)
        out = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
        width *= 2
    return out
