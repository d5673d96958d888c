"""The table of a stream that measures a mean."""

from __future__ import annotations

from typing import Literal

from murmurate.aggregators.measures.mean import Mean
from murmurate.config.measures.amounts import AmountsStream


class MeanStream(AmountsStream):
    """The mean of a number over the users who have one, and how many have."""

    measured = Mean
    measure: Literal["mean"]
    """What is measured."""

    def statistic(self) -> Mean:
        """The mean of its numbers."""
        return Mean(self.grid, self.says_none, self.unit)
