# SPDX-License-Identifier: Apache-2.0
"""Prefixes that grow by a fixed number of bits a round (TreeHist): by one each it is PEM1, by eight a character each.

Contract: rounds follow each other, and what a round asks about is known only after the one before.  Against whoever
collects reports users are divided among the rounds, each with the whole epsilon; for a central target everybody answers
every round with a part of epsilon and delta, and a user behind no candidate says "other".  How that is done is not
decided here: a round is a level with its estimates, as for PEM.
Source: Bassily, Nissim, Stemmer and Thakurta 2017, as Wang 2021 has it in sections 4.2.3 and 9.6.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from murmurate.aggregators.hitters.levels import MOST_BITS, MOST_FOUND
from murmurate.aggregators.hitters.search import ToldLengths
from murmurate.randomizers.errors import ParameterError, shown


@dataclass(frozen=True)
class TreePlan(ToldLengths):
    """Which prefixes are asked for, of strings of m bits.

    >>> plan = TreePlan(48, 32, step=8)
    >>> plan.bits, plan.domain_sizes
    ((8, 16, 24, 32, 40, 48), (256, 8192, 8192, 8192, 8192, 8192))
    """

    m: int
    k: int
    step: int = 1
    """By how many bits a prefix grows; the last round takes what is left."""

    name = "tree_hist"

    def __post_init__(self) -> None:
        for name, found, most in (("m", self.m, MOST_BITS), ("k", self.k, MOST_FOUND), ("step", self.step, self.m)):
            if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= most:
                raise ParameterError(f"tree_hist: {name}: found {shown(found)}; allowed: a whole number, 1 to {most}")

    @property
    def bits(self) -> tuple[int, ...]:
        """The length of the prefixes of each round. No round asks only for prefixes that are all kept anyway."""
        first = self.step * -(-self.k.bit_length() // self.step)
        return (*range(first, self.m, self.step), self.m)

    @property
    def domain_sizes(self) -> tuple[int, ...]:
        """How many prefixes each round asks about, at most."""
        lengths = (0, *self.bits)
        asked = [1 << lengths[1]]
        for before, here in pairwise(lengths[1:]):
            asked.append(min(self.k, asked[-1]) << here - before)
        return tuple(asked)
