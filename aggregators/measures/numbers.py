# SPDX-License-Identifier: Apache-2.0
"""The common part of measures of numbers: a declared range, a unit, and synthetic numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.measure import Measure, Range
from murmurate.randomizers import Question
from murmurate.randomizers.registry import STREAMED, serving
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Grid


@dataclass(frozen=True)
class Numbers(Measure):
    """A statistic of numbers that users hold."""

    domain: Grid

    served_as: ClassVar[str]
    """The name by which mechanisms say that they serve it."""
    recorded_as = "fiu", "numbers"

    @property
    def range(self) -> Range:
        """The range of the numbers: those outside count as the nearer end."""
        return self.domain.low, self.domain.high

    @property
    def serving(self) -> tuple[str, ...]:
        """The mechanisms for it; where users may have no value, those that can report *none*."""
        return serving(self.served_as, says_none=self.says_none)

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """HM where it serves, whose worst-case variance is never above SR's or PM's; otherwise the first mechanism that
        does.
        """
        names = self.serving
        return STREAMED["hm" if "hm" in names else names[0]](d=self.d, epsilon=epsilon)

    def ends(self) -> tuple[int, int]:
        """The codes of the numbers 0 and 1."""
        return self.domain.code(0), self.domain.code(1)

    def codes_of(self, recorded: NDArray[Any]) -> NDArray[Any]:
        """The cells of numbers, -1 of NaN."""
        return self.domain.cells_of(recorded)

    def spread_over(self, columns: int) -> NDArray[np.uint32]:
        """Codes evenly over the range, both ends among them."""
        return np.rint(np.linspace(0, self.domain.cells - 1, columns)).astype(np.uint32)

    @property
    def what(self) -> str:
        """The range of the numbers and their unit."""
        low, high = (f"{end:.12g}" for end in self.range)
        return f"numbers from {low} to {high}{f' {self.unit}' if self.unit else ''}"

    @property
    def brief(self) -> str:
        """The name alone, since the range is declared."""
        return self.name

    def example(self, mark: int, *, peak: bool) -> float:
        """A number in the lower half of the range; in the peak two fifths of them lie in the upper half."""
        low, high = self.range
        return round(low + (high - low) * (mark + 100 * (peak and mark % 5 < 2)) / 200, 6)
