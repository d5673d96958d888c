# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures a distribution."""

from __future__ import annotations

from typing import Annotated, Literal

from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.measure import AUTO
from murmurate.config.kinds import WholeNumber
from murmurate.config.measures.numbers import NumbersStream, told_by
from murmurate.config.streams import OneOf
from murmurate.topics.domains import Grid
from murmurate.topics.release_parts import MAX_NAMES


class DistributionStream(NumbersStream):
    """How a number is distributed over the users: shares of equally long stretches of its range."""

    measured = Distribution
    measure: Literal["distribution"]
    """What is measured."""
    cells: Annotated[int, WholeNumber(2, MAX_NAMES - 1)] = 64
    """Into how many stretches the range is cut."""
    mechanism: Annotated[str, OneOf(AUTO, told_by("distribution"))] = AUTO
    """"auto": sw_presence, or sw where everybody always has a value."""

    def statistic(self) -> Distribution:
        """How its numbers are distributed."""
        return Distribution(Grid(*self.range, self.cells, "stretches"), self.says_none, self.unit)
