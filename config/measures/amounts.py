# SPDX-License-Identifier: Apache-2.0
"""What the tables of a mean and of a total share: mechanisms that tell numbers, and a threshold that may be found."""

from __future__ import annotations

from typing import Annotated, Literal

from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.measures.numbers import NumbersStream, told_by
from murmurate.config.streams import OneOf
from murmurate.randomizers.numeric.mean import GRID
from murmurate.topics.domains import Grid


class AmountsStream(NumbersStream):
    """One figure of the numbers that users hold."""

    mechanism: Annotated[str, OneOf(AUTO, told_by("mean"))] = AUTO
    """"auto": value_presence, or hm where everybody always has a value."""
    clip: Literal["declared", "found"] = "declared"
    """"declared": at the ends of the range; "found": above at a threshold that a first round of everybody finds."""

    @property
    def grid(self) -> Grid:
        """The points that numbers are rounded to."""
        return Grid(*self.range, GRID, "points")

    def method_options(self) -> MethodOptions:
        """That it may begin by finding a threshold belongs to it."""
        return self.method.options(every=self.every, clip=self.clip)
