# SPDX-License-Identifier: Apache-2.0
"""The hybrid mechanism (HM): SR with probability e^(-epsilon/2), else PM; up to .61 nats SR alone.

Contract: the coin is tossed with the keyed words and is in the report; it does not depend on the value, so the ratio
is the larger of the two mechanisms'.  Unbiased; the variance hardly depends on the value, (K^2 + (h + 3) / (3 (h -
1))) / h with h = e^(epsilon/2).  Source: ARCHITECTURE section 5.3, erratum E3 (L's equation 10 squares h - 1; T's 14 is
right).  SR's reports have no information on the mean square, PM's do: their squares, less what noise and coin add to
them on average, are an unbiased estimate, and the variance from it is the one among the reports.  Not here: skewed
values, for which SR alone may be better.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.mechanism import Counts, Reports
from murmurate.randomizers.numeric.mean import GRID, MeanMechanism, count_square_bits, square_bits
from murmurate.randomizers.numeric.piecewise import PM
from murmurate.randomizers.numeric.rounding import SR
from murmurate.randomizers.numeric.window import TOP
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_ints, unpack_ints
from murmurate.randomizers.question import Atom, Blanket
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor

SWITCH_MICRO = 610_000
"""Up to this epsilon HM is SR alone (the variances cross at .60935)."""


class HM(MeanMechanism):
    """The mechanism that sends PM's number, or a flag for SR and SR's bit. `support` is int64[bits]: the number of
    reports with each bit set, and then with each bit of the square of PM's number.
    """

    name = "hm"

    def __init__(self, *, d: int = GRID, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        self._sr = SR(d=d, epsilon=epsilon)
        self._pm = PM(d=d, epsilon=epsilon) if self.epsilon_micro > SWITCH_MICRO else None
        self._flag = self._pm.bits if self._pm else 0  # the bit that stands for SR
        self._coin = int(TOP / exp_floor(self.epsilon_micro, 2)) if self._pm else TOP  # words that choose SR
        self.coin = Fraction(self._coin, TOP)
        self.floor, self.slope = self._mixed("floor"), self._mixed("slope")

    def _mixed(self, what: str) -> Fraction:
        other = getattr(self._pm, what) if self._pm else Fraction(0)
        mixed: Fraction = self.coin * getattr(self._sr, what) + (1 - self.coin) * other
        return mixed

    @property
    def bits(self) -> int:
        """The number of bits of a report."""
        return self._flag + 2

    @property
    def outcomes(self) -> int:
        """The number of bits of a report, and of the square of PM's number."""
        return self.bits + (square_bits(self._pm.cells) if self._pm else 0)

    @property
    def wire_size(self) -> int:
        """The bytes that hold a report's bits."""
        return bit_bytes(self.bits)

    @property
    def reports_possible(self) -> int:
        """The reports of PM and of SR together."""
        return 2 + (self._pm.reports_possible if self._pm else 0)

    @property
    def realised(self) -> Fraction:
        """The larger ratio of the two mechanisms."""
        return max(self._sr.realised, self._pm.realised) if self._pm else self._sr.realised

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from two words a user: one for the coin, the other for the mechanism it chooses."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        for rows, words in draw.open(self.digest, canonical(values)).words(2, np.uint64):
            coin, word = words[:, 0], np.ascontiguousarray(words[:, 1])
            numbers = (self._sr.ones(word, values[rows]) * np.uint64(2) + np.uint64(1)) << np.uint64(self._flag)
            if self._pm:
                cells = self._pm.window.place(word, values[rows].astype(np.uint64))
                numbers = np.where(coin < np.uint64(self._coin), numbers, cells)
            reports[rows] = pack_ints(numbers, self.wire_size)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        coin, word = draw.open(self.digest, canonical_one(value))(2, 64)
        if self._pm and coin >= self._coin:
            number = self._pm.window.place_one(word, value)
        else:
            number = (2 * self._sr.one(word, value) + 1) << self._flag
        return number.to_bytes(self.wire_size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports lie past PM's last cell and are not one of SR's two."""
        numbers = unpack_ints(self._reports(reports))
        cells = self._pm.window.cells if self._pm else 0
        sr = (numbers == 1 << self._flag) | (numbers == 3 << self._flag)
        return np.asarray((numbers >= cells) & ~sr)

    def support(self, reports: Reports) -> Counts:
        """The number of reports with each bit set, the lowest first, and with each bit of the square of PM's number:
        int64[outcomes].
        """
        counts = count_bits(self._well_formed(reports), self.bits)
        if not self._pm:
            return counts
        numbers = unpack_ints(reports)
        numbers = np.where(numbers >> self._flag == 0, numbers, np.asarray(0, numbers.dtype))
        return np.concatenate((counts, count_square_bits(numbers, self._pm.cells)))

    def worth(self, report: bytes) -> Fraction:
        """The worth of the report under the mechanism that made it, SR or PM."""
        number = int.from_bytes(report, "little")
        if self._pm and not number >> self._flag:
            return self._pm.worth(report)
        return self._sr.worth(bytes([number >> (self._flag + 1)]))

    def _sums(self, support: Counts, n: int) -> tuple[Fraction, Fraction]:
        rounded, plus = (int(count) for count in support[self._flag : self.bits])
        total, squares = self._sr.sums_of(plus, rounded)
        if not self._pm:
            return total, squares
        more = self._pm.sums_of(support[: self._flag], support[self.bits :], n - rounded)
        return total + more[0], squares + more[1]

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The laws of both, weighed by the coin."""
        value = self.checked(value)
        self._check_listable()
        one = self._sr.chance(value)
        law = {1 << self._flag: self.coin * (1 - one), 3 << self._flag: self.coin * one}
        if self._pm:
            law |= {y: (1 - self.coin) * self._pm.window.chance(y, value) for y in range(self._pm.window.cells)}
        return {number.to_bytes(self.wire_size, "little"): chance for number, chance in law.items()}

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports are evidence under the mechanism that made them."""
        numbers = unpack_ints(self._reports(reports))
        flag = np.asarray(numbers >> self._flag)
        found = np.asarray(flag == (3 if self.checked(one) > self.checked(other) else 1))
        if self._pm:
            window = self._pm.window
            found |= (flag == 0) & window.within(numbers, one) & ~window.within(numbers, other)
        return found

    def blanket(self) -> Blanket:
        """Both mechanisms' by the coin, which is in the report: the two ends of the grid are the worst of both."""
        rounded, near = self._sr.blanket(), self._pm.blanket() if self._pm else ()
        return tuple(
            Atom(chance * mass, one, other)
            for chance, atoms in ((self.coin, rounded), (1 - self.coin, near))
            for mass, one, other in atoms
        )

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of both mechanisms, mixed by the coin."""
        one, other = self._sr.telling
        if not self._pm:
            return one, other
        near, far = self._pm.telling
        return self.coin * one + (1 - self.coin) * near, self.coin * other + (1 - self.coin) * far
