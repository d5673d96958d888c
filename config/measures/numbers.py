# SPDX-License-Identifier: Apache-2.0
"""What tables of streams of numbers share: a declared range."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.measures.numbers import Numbers
from murmurate.config.errors import Mistake
from murmurate.config.kinds import AnyNumber, Text, seen
from murmurate.config.measures.stream import StreamTable
from murmurate.config.quantities import Range
from murmurate.randomizers.registry import serving

UNIT: Final = Text(r"^[^\u0000-\u001f\u007f]{1,64}$", "a text of 1 to 64 printable characters")


def told_by(measure: str) -> Callable[[], tuple[str, ...]]:
    """What lists the mechanisms of such numbers, when it is asked."""
    return lambda: (*serving(measure, says_none=True), *serving(measure, says_none=False))


class NumbersStream(StreamTable):
    """What streams of numbers share: a declared range."""

    range: Annotated[tuple[float, float], Range()]
    """The lowest and the highest number that counts as itself, declared and never inferred; others are clipped."""
    unit: Annotated[str, UNIT] | None = None
    """What the numbers are, for readers of releases: "EUR"."""
    initial: Annotated[float, AnyNumber()] | None = None
    """With carry = "always": what users say of whom no value was valid yet; the low end of `range` if left out."""
    mechanism: str

    @abstractmethod
    def statistic(self) -> Numbers:
        """What it measures of its numbers."""

    def meaning(self) -> dict[str, Any]:
        """Its range, as texts that say it exactly, and how it is coded."""
        cells = {"cells": self.statistic().domain.none, "unit": self.unit}
        return {"range": [repr(end) for end in self.range], **cells}

    @property
    def initial_code(self) -> int | None:
        """Its cell."""
        return None if self.initial is None else self.statistic().domain.code(self.initial) or None

    def _mistakes(self) -> Iterator[Mistake]:
        serve = self.statistic().serving
        if self.mechanism not in (AUTO, *serve):
            why = "where users may have no value" if self.says_none else 'with missing = { carry = "always" }'
            yield Mistake("mechanism", seen(self.mechanism), f"{', '.join((AUTO, *serve))}, {why}")
        if self.initial is not None and not self.range[0] <= self.initial <= self.range[1]:
            yield Mistake("initial", seen(self.initial), f"from {self.range[0]:g} to {self.range[1]:g}, the range")
        yield from super()._mistakes()
