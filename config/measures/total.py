# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures a total by reports of the users.

Not here: the table of one whose events a trusted edge sums, which registers under `model = "central"` (registry.py).
"""

from __future__ import annotations

from typing import Literal

from murmurate.aggregators.measures.total import Total
from murmurate.config.measures.amounts import AmountsStream


class TotalStream(AmountsStream):
    """The sum of a number over all users, told per user, and how many have one."""

    measured = Total
    measure: Literal["total"]
    """What is measured."""
    model: Literal["local"] = "local"
    """Who adds the noise. "local": every user's device, before anything is reported. Releases name the model where the
    file does.
    """

    def statistic(self) -> Total:
        """The total of its numbers."""
        return Total(self.grid, self.says_none, self.unit)
