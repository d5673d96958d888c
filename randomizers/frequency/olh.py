# SPDX-License-Identifier: Apache-2.0
"""How many cells the functions of local hashing have: two (BLH), the best for epsilon, or a number that is named (OLH).

Contract: that of local_hash.py, for any number of cells.  Source: Wang 2021, sections 3.3.4 and 3.3.5; 9.3.3 (SOLH) for
a named one.  Not here: reports and what they support (local_hash.py), the number for a central target
(aggregators/accounting/solh.py), choosing between oracles (aggregators/chooser.py).
"""

from fractions import Fraction
from typing import Final

from murmurate.randomizers.frequency.local_hash import DEFAULT_POOL, LocalHash
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.thresholds import Epsilon, exp_floor, micro_nats

MAX_CELLS: Final = 1 << 24
"""The most cells that can be named."""


class BLH(LocalHash):
    """Binary local hashing: two cells, so that a report is a seed and a bit. For the smallest epsilons."""

    name = "blh"

    def _cells(self, ratio: Fraction) -> int:
        return 2


class OLH(LocalHash):
    """Optimized local hashing: g is the whole number nearest to e^eps + 1, and at least 2, or one that is named.

    Variance as OUE's, whatever d is; a report of three bytes (with fresh seeds nine) up to epsilon 5.5.  Which g is the
    best for a local epsilon follows from it.  For a *central* one it does not: reports that are shuffled may have
    fewer cells at a larger local epsilon (SOLH, `solh_buckets` in aggregators/accounting).
    """

    name = "olh"

    def __init__(self, *, d: int, epsilon: Epsilon, pool: int = DEFAULT_POOL, g: int = 0) -> None:
        usual = usual_cells(exp_floor(micro_nats(epsilon)))
        if isinstance(g, bool) or g != 0:
            whole(self.name, "g", g, 2, MAX_CELLS)
        self._named = g if g != usual else 0  # the usual number has one description, whether or not it is named
        super().__init__(d=d, epsilon=epsilon, pool=pool)

    def spec(self) -> dict[str, str | int]:
        """The description, with the number of cells where it is not the usual one."""
        return {**super().spec(), "g": self._named} if self._named else super().spec()

    def _cells(self, ratio: Fraction) -> int:
        return self._named or usual_cells(ratio)

    def __repr__(self) -> str:
        return f"OLH(d={self.d}, epsilon={self.epsilon}{f', g={self.g}' if self._named else ''})"


def usual_cells(ratio: Fraction) -> int:
    """The whole number of cells nearest to e^epsilon + 1, and at least 2 (Wang 2021, section 3.5.1)."""
    return max(2, int(ratio + 1 + Fraction(1, 2)))
