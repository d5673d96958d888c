# SPDX-License-Identifier: Apache-2.0
"""The piecewise mechanism (PM): a number of a wider grid, likely near the value.

Contract: reports and their worth are those of sliding.py: d - 1 + width outputs, exactly unbiased, of variance floor
+ v^2 (1 / gain - 1), and one value against another at most e^epsilon.  Width: the odd number next to
(d - 1) / e^(epsilon/2), which is where the continuous mechanism has its least worst variance.  Source:
ARCHITECTURE section 5.3; Wang et al. 2019.  Not here: the mixture with SR (hybrid.py).
"""

from fractions import Fraction

import numpy as np

from murmurate.randomizers.mechanism import Counts, Reports
from murmurate.randomizers.numeric.mean import (
    GRID,
    MeanMechanism,
    bits_sum,
    count_square_bits,
    square_bits,
)
from murmurate.randomizers.numeric.sliding import Sliding, odd_near
from murmurate.randomizers.packing import count_bits, unpack_ints
from murmurate.randomizers.thresholds import Epsilon, exp_floor


class PM(Sliding, MeanMechanism):
    """The mechanism that sends a cell number of one to three bytes. `support` is int64[bits]: the number of reports
    with each bit set, of the number and then of its square, the lowest first.
    """

    name = "pm"

    def __init__(self, *, d: int = GRID, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)

    def _width(self) -> int:
        return odd_near(Fraction(self.d - 1) / exp_floor(self.epsilon_micro, 2), self.d - 1)

    @property
    def bits(self) -> int:
        """The number of bits of a report's number."""
        return (self.cells - 1).bit_length()

    @property
    def outcomes(self) -> int:
        """The number of bits of a number and of its square."""
        return self.bits + square_bits(self.cells)

    def support(self, reports: Reports) -> Counts:
        """The number of reports with each bit of their number set, and of its square: int64[outcomes]."""
        numbers = unpack_ints(self._well_formed(reports))
        return np.concatenate((count_bits(reports, self.bits), count_square_bits(numbers, self.cells)))

    def worth(self, report: bytes) -> Fraction:
        """The distance from the middle, in units."""
        return self._cell_worth(int.from_bytes(report, "little"))

    def sums_of(self, bits: Counts, squares: Counts, n: int) -> tuple[Fraction, Fraction]:
        """The sums of worths and of their squares, from both parts of the support of n reports."""
        return self._sums_worth(bits_sum(bits), bits_sum(squares), n)

    def _sums(self, support: Counts, n: int) -> tuple[Fraction, Fraction]:
        return self.sums_of(support[: self.bits], support[self.bits :], n)
