"""The table of a stream that measures a mean."""

from __future__ import annotations

from typing import Annotated, Literal

from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.measures.numbers import NumbersStream
from murmurate.config.streams import OneOf
from murmurate.randomizers.numeric.mean import GRID
from murmurate.randomizers.registry import serving
from murmurate.topics.domains import Grid


class MeanStream(NumbersStream):
    """The mean of a number over the users who have one, and how many have."""

    measured = Mean
    measure: Literal["mean"]
    """What is measured."""
    mechanism: Annotated[str, OneOf(AUTO, *serving("mean", says_none=True), *serving("mean", says_none=False))] = AUTO
    """"auto": value_presence, or hm where everybody always has a value."""
    clip: Literal["declared", "found"] = "declared"
    """"declared": at the ends of the range; "found": above at a threshold that a first round of everybody finds."""

    def statistic(self) -> Mean:
        """The mean of its numbers."""
        return Mean(Grid(*self.range, GRID, "points"), self.says_none, self.unit)

    def method_options(self) -> MethodOptions:
        """That it may begin by finding a threshold belongs to it."""
        return self.method.options(clip=self.clip)
