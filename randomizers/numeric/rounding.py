# SPDX-License-Identifier: Apache-2.0
"""Stochastic rounding (SR): one bit, more likely 1 the larger the value.

Contract: P[1|cell] = (low + cell step) / 2^64 with high = 2^64 - low, so that the chances are exactly linear in the
cell and high / low <= e^epsilon. low is rounded up until the step is whole. A report is worth +K or -K, K = 2^64 /
(high - low); its variance is K^2 - v^2.  Source: ARCHITECTURE section 5.3, erratum E12 (printed: v' times a ratio; the
output is +-K).  Best of the three below .61 nats.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.mechanism import Counts, Reports
from murmurate.randomizers.numeric.mean import GRID, MeanMechanism
from murmurate.randomizers.packing import count_bits
from murmurate.randomizers.question import Atom, Blanket
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level

TOP = 1 << 64


class SR(MeanMechanism):
    """The mechanism that sends a byte, 0 or 1. `support` is int64[1]: the number of ones."""

    name = "sr"

    def __init__(self, *, d: int = GRID, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        low = low_level(1 / (exp_floor(self.epsilon_micro) + 1), 64)
        self._step = (TOP - 2 * low) // (2 * (d - 1)) * 2
        self._low = (TOP - self._step * (d - 1)) // 2
        if not self._step:
            raise ParameterError(
                f"{self.name}: epsilon: found {self.epsilon_micro} micro-nats, which {d} cells cannot share; "
                "allowed: a larger epsilon or a coarser grid"
            )
        self.scale = Fraction(TOP, TOP - 2 * self._low)
        self.floor, self.slope = self.scale**2, Fraction(-1)

    @property
    def outcomes(self) -> int:
        """The length of the support, one count."""
        return 1

    @property
    def wire_size(self) -> int:
        """The report length, one byte."""
        return 1

    @property
    def reports_possible(self) -> int:
        """The two reports."""
        return 2

    @property
    def realised(self) -> Fraction:
        """The ratio high / low."""
        return Fraction(TOP - self._low, self._low)

    def ones(self, words: NDArray[Any], cells: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Which words, uint64[n], give a 1 for these cells."""
        return np.asarray(words < cells.astype(np.uint64) * np.uint64(self._step) + np.uint64(self._low))

    def one(self, word: int, cell: int) -> bool:
        """The report that a device sends for one word."""
        return word < self._low + cell * self._step

    def chance(self, cell: int) -> Fraction:
        """The probability of a 1."""
        return Fraction(self._low + cell * self._step, TOP)

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from one word u a user: 1 while u < low + value step."""
        values = self._values(values, draw)
        reports = np.empty((len(values), 1), np.uint8)
        for rows, words in draw.open(self.digest, canonical(values)).words(1, np.uint64):
            reports[rows, 0] = self.ones(words[:, 0], values[rows])
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        return bytes([self.one(draw.open(self.digest, canonical_one(value))(1, 64)[0], value)])

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports are neither 0 nor 1."""
        return np.asarray(self._reports(reports)[:, 0] > 1)

    def support(self, reports: Reports) -> Counts:
        """The number of ones: int64[1]."""
        return count_bits(self._well_formed(reports), 1)

    def worth(self, report: bytes) -> Fraction:
        """The worth K of a 1, or -K of a 0."""
        return self.scale if report[0] else -self.scale

    def _sums(self, support: Counts, n: int) -> tuple[Fraction, Fraction]:
        return self.sums_of(int(support[0]), n)

    def sums_of(self, ones: int, n: int) -> tuple[Fraction, Fraction]:
        """The sums of worths and of their squares, from the number of ones among n reports."""
        return (2 * ones - n) * self.scale, n * self.scale**2

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The probabilities of both reports."""
        one = self.chance(self.checked(value))
        return {b"\0": 1 - one, b"\1": one}

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports are the bit that is likelier for `one`."""
        return np.asarray(self._reports(reports)[:, 0] == (self.checked(one) > self.checked(other)))

    def blanket(self) -> Blanket:
        """Either bit has its lower chance from everybody; the lowest and the highest cell are told apart best."""
        low, apart, one = Fraction(self._low, TOP), self.realised, Fraction(1)
        return Atom(low, apart, one), Atom(low, one, apart)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of a 0 from the lowest and from the highest cell."""
        return 1 - self.chance(0), 1 - self.chance(self.d - 1)
