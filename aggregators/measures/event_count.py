# SPDX-License-Identifier: Apache-2.0
"""How many events a central stream had in a period, in all or by declared values.

Contract: as summed.py; one event changes one count, by 1.  Not here: sums of numbers (summed.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.summed import COUNT, Ints, SummedMeasure
from murmurate.topics.domains import Categories, Domain


@dataclass(frozen=True)
class EventCount(SummedMeasure):
    """How many events there were in a period, in all or by declared values.

    >>> EventCount(Categories(("view", "buy"))).sums(np.array([0, 1, 1, 0xFFFFFFFF], np.uint32)).tolist()
    [1, 2]
    """

    domain: Domain
    ranked = True

    name = "count"

    @property
    def names(self) -> tuple[str, ...]:
        """The declared values, "other" if it is one; or one name for all events."""
        if not isinstance(self.domain, Categories):
            return (COUNT,)
        return tuple(self.domain.value(code) for code in range(self.domain.none))

    def counting(self, values: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """All of them, where values are not told apart."""
        return super().counting(values) | (not isinstance(self.domain, Categories))

    @property
    def cells(self) -> int:
        """One of each name."""
        return len(self.names)

    def sums(self, values: NDArray[np.uint32]) -> Ints:
        """How many events of each value. Without declared values every event counts, whatever its value."""
        if not isinstance(self.domain, Categories):
            return np.array([len(values)], np.int64)
        return np.asarray(np.bincount(values[values < self.cells], minlength=self.cells), np.int64)

    def unclipped(self, values: NDArray[np.uint32]) -> Ints:
        """The counts."""
        return self.sums(values)

    def figures(self, sums: Ints, threshold: int) -> Ints:
        """The counts."""
        return sums

    def sensitivity(self, name: str, threshold: int) -> int:
        """One event is one."""
        return 1

    @property
    def called(self) -> tuple[str, str]:
        """Values, where they are told apart."""
        return ("Value", "Values") if isinstance(self.domain, Categories) else super().called

    @property
    def what(self) -> str:
        """What it is of, in words."""
        return f"events by {len(self.names)} values" if isinstance(self.domain, Categories) else "all events"

    def example(self, mark: int, *, peak: bool) -> Any:
        """Each value as often as the next; in the peak, two fifths of all say the third (or the last)."""
        return self.names[min(2, len(self.names) - 1) if peak and mark % 5 < 2 else mark % len(self.names)]
