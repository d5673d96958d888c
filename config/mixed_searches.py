# SPDX-License-Identifier: Apache-2.0
"""What a central target makes of a search for strings: with how many cells a round asks, and with which epsilon.

Contract: a function of the file alone, as mixed.py's.  A round asks by local hashing over prefixes that earlier answers
named; the number of cells is the target's (SOLH), and what a report tells does not depend on these prefixes.  Whether a
user answers every round of a search (`tree_hist_all`) or one in a window (`tree_hist`) is the method's, since it is a
frozen fact.  Source: Wang 2021, section 9.6.3.  Not here: the schedules (aggregators/methods/tree_hist_all.py,
pem_rounds.py), the choice itself (aggregators/accounting/target.py).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from murmurate.aggregators.accounting.claim import FEWEST, honest
from murmurate.aggregators.accounting.search import FLOOR
from murmurate.aggregators.accounting.solh import solh_buckets
from murmurate.aggregators.accounting.target import Candidate, Chosen, MixedTarget, under_target
from murmurate.aggregators.hash_cells import name_of
from murmurate.aggregators.methods.pem_rounds import TreeHist
from murmurate.aggregators.methods.tree_hist_all import OfExtensions, TreeHistOfAll
from murmurate.randomizers import OLH
from murmurate.randomizers.question import LayoutSpec, Question
from murmurate.randomizers.thresholds import MICRO

SERVED: Final = (TreeHist.name, TreeHistOfAll.name)
"""The searches that a central target has."""
_CODES: Final = 1 << 20
"""A number of prefixes of which a single one is a negligible part: what is found is judged by what nobody holds."""


@lru_cache(maxsize=64)
def searched_at(layout: LayoutSpec, target: MixedTarget, smallest: int, limit: int, rounds: int) -> Chosen:
    """The question of strings of this layout that keeps a target in so many rounds of a window. smallest: the reports
    of the smallest batch. limit: the micro-nats that a device may spend in one round.
    """
    reports = honest(smallest, target.corrupt) // rounds  # rounds together are about one of so many fewer
    able = [Candidate(OLH.name, OfExtensions(layout), _variance)]
    if reports >= FEWEST and FLOOR <= target.epsilon < limit / MICRO:
        cells = solh_buckets(reports, target.epsilon, target.delta, d=_CODES, limit=limit / MICRO).cells
        able.append(Candidate(name_of(cells), OfExtensions(layout, cells), _variance))
    return under_target(able, target, smallest=smallest, limit=limit, rounds=rounds)


def _variance(asked: Question, n: int) -> float:
    """The variance of the share of a prefix that nobody has, which decides what is found."""
    return float(asked.variance(n, 0.0))
