# SPDX-License-Identifier: Apache-2.0
"""A mechanism: keep the value, or draw any value at all.

With probability s the report is drawn evenly from all d values, the own one among them; else it is the own value.  So
another value has q = s / d, the own one p = 1 - (d - 1) q, and p / q = e^epsilon where q = 1 / (e^epsilon + d - 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.mechanism import Counts, PureOracle, Reports
from murmurate.randomizers.question import Blanket, one_apart
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level

BITS = 64


class KeepOrDraw(PureOracle):
    """A report is the number of a value in one byte."""

    name = "keep_or_draw"
    sums: ClassVar[bool] = True
    max_domain = 256
    _level: int

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        # Rounded up to a whole number of 2^-64, so that p / q stays below e^epsilon.
        level = low_level(1 / (exp_floor(self.epsilon_micro) + self.d - 1), BITS)
        q = Fraction(level, 1 << BITS)
        vars(self).update(_level=level, q=q, p=1 - (self.d - 1) * q)

    @property
    def wire_size(self) -> int:
        return 1

    @property
    def realised(self) -> Fraction:
        return self.p / self.q

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        values = self._values(values, draw)
        reports, level = np.empty((len(values), 1), np.uint8), np.uint64(self._level)
        for rows, words in draw.open(self.digest, canonical(values)).words(1, np.uint64):
            drawn = words[:, 0] // level  # which value, if it is below d: each has `level` words
            reports[rows, 0] = np.where(drawn < self.d, drawn, values[rows].astype(np.uint64))
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        value = self.checked_one(value, draw)
        drawn = draw.open(self.digest, canonical_one(value))(1, BITS)[0] // self._level
        return bytes([drawn if drawn < self.d else value])

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(self._reports(reports)[:, 0] >= self.d)

    def support(self, reports: Reports) -> Counts:
        return np.bincount(self._well_formed(reports)[:, 0], minlength=self.d)

    @property
    def reports_possible(self) -> int:
        return self.d

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        value = self.checked(value)
        return {bytes([report]): self.p if report == value else self.q for report in range(self.d)}

    def blanket(self) -> Blanket:
        return one_apart(self.q, self.p / self.q, self.d)

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        return np.asarray(self._reports(reports)[:, 0] == self.checked(one))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        return self.p, self.q
