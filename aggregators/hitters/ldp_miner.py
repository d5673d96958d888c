# SPDX-License-Identifier: Apache-2.0
"""Frequent items of users' sets by LDPMiner, for comparison, in the improved form of Wang 2021, section 5.5.

Contract: each phase asks users whom no other phase asks, with the whole epsilon (the original splits it, with weaker
oracles, and is given L):

    1  1 of 10 users    how many items a user holds           L as in set_search.py, of all items
    2  4 of 10          one of all items, padded to L         the 2k with the largest estimates are candidates
    3  5 of 10          one of the candidates, padded to 2k   shares: nobody can hold more, so nothing is corrected

It is the square of 2k, not of L, that is in the variance of the third phase.  Not here: the functions of estimates,
which are those of set_search.py.
"""

from __future__ import annotations

from typing import Any, Final

from murmurate.randomizers import OLH, Padded, Viewed
from murmurate.randomizers.candidates import Candidates
from murmurate.randomizers.thresholds import Epsilon

MINER_PARTS: Final = (1, 4, 5)
"""The weights of the three phases."""


def miner_question(layout: Any, length: int, candidates: Candidates | None, epsilon: Epsilon, pool: int = 0) -> Viewed:
    """The question for one candidate of a set that is padded to this length, always by OLH."""
    view = Padded(layout, length, candidates)
    return Viewed(view, OLH(d=view.d, epsilon=epsilon, pool=pool))
