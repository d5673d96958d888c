# SPDX-License-Identifier: Apache-2.0
"""The prefix extending method (PEM): g groups of users, each of which tells longer prefixes than the one before.

Contract: a user is in one group, drawn without regard to the string, and tells one prefix with the whole epsilon; what
a server asks each group follows from m, k and g alone, and every group tells its prefix before anything is known
(local hashing can be asked any prefix later), so that nobody is asked twice.
Source: Wang 2021, algorithm 1.  Not here: reports and their estimates; prefixes of a fixed number of bits more each
(tree_hist.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from murmurate.aggregators.hitters.levels import QUERIES, domain_sizes, levels, smallest_groups
from murmurate.aggregators.hitters.search import ToldLengths


@dataclass(frozen=True)
class PrefixPlan(ToldLengths):
    """Which prefixes are told, for the k most frequent strings of m bits.

    >>> plan = PrefixPlan.within(48, 32)
    >>> plan.bits, plan.queries
    ((13, 20, 27, 34, 41, 48), 28672)
    """

    m: int
    k: int
    groups: int

    name = "pem"

    def __post_init__(self) -> None:
        levels(self.m, self.k, self.groups)

    @classmethod
    def within(cls, m: int, k: int, queries: int = QUERIES) -> PrefixPlan:
        """The plan of the fewest groups that ask no more than this."""
        return cls(m, k, smallest_groups(m, k, queries))

    @property
    def bits(self) -> tuple[int, ...]:
        """The length of the prefix that each group tells."""
        return levels(self.m, self.k, self.groups)[1:]

    @property
    def domain_sizes(self) -> tuple[int, ...]:
        """How many prefixes each group is asked about, at most."""
        return domain_sizes(levels(self.m, self.k, self.groups), self.k)

    @property
    def queries(self) -> int:
        """How many prefixes all groups are asked about, at most."""
        return sum(self.domain_sizes)
