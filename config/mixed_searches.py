# SPDX-License-Identifier: Apache-2.0
"""What a central target makes of a search for strings: who answers a round, with how many cells and which epsilon.

Contract: a function of the file alone, as mixed.py's.  A round asks by local hashing over prefixes that earlier answers
named; the number of cells is the target's (SOLH), and what a report tells does not depend on these prefixes.  Everybody
answers every round of a search with a part of the target, unless the local epsilon, divided among these rounds, leaves
so little that a part of the users, each in one round of a window, errs less.  Source: Wang 2021, section 9.6.3.
Not here: the schedules (aggregators/methods/tree_hist_all.py, pem_rounds.py), the choice (accounting/target.py).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from murmurate.aggregators.accounting.claim import honest
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.aggregators.accounting.solh import cells_below
from murmurate.aggregators.accounting.target import Candidate, Chosen, MixedTarget, under_target
from murmurate.aggregators.hash_cells import name_of
from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.methods.pem_rounds import TreeHist
from murmurate.aggregators.methods.tree_hist_all import OfExtensions, TreeHistOfAll
from murmurate.config.plan import StreamPlan
from murmurate.randomizers import OLH
from murmurate.randomizers.question import LayoutSpec, Question
from murmurate.randomizers.thresholds import MICRO

SERVED: Final = (TreeHist.name, TreeHistOfAll.name)
"""The searches that a central target has."""
_CODES: Final = 1 << 20
"""Cells are looked for below so many: more than a round's candidates, which are few."""


class SearchAtTarget(NamedTuple):
    """How a search keeps a target."""

    method: str
    """The method, by the users that it asks."""
    rounds: int
    """How many rounds a user answers in a window."""
    chosen: Chosen
    """The question of a round."""


def rounds_of(stream: StreamPlan, method: str) -> int:
    """How many rounds of this search a user answers in a window."""
    assert isinstance(stream.measure, FoundStrings)  # noqa: S101 - by what the methods search
    return TreeHistOfAll.rounds(stream.measure, stream.w) if method == TreeHistOfAll.name else 1


def search_at_target(stream: StreamPlan, target: MixedTarget, smallest: int, limit: int) -> SearchAtTarget:
    """How a search keeps it, with so many reports in the smallest batch and micro-nats of a device in a window.

    With the same users a round of everybody has w times the reports of a w-th of them, and there are fewer rounds: so
    everybody is asked unless the variance of equal batches is larger by more than the number of rounds.
    """
    ways = [TreeHistOfAll.name] if stream.method.name == TreeHistOfAll.name else [TreeHistOfAll.name, TreeHist.name]
    found = []
    for method in ways:
        rounds = rounds_of(stream, method)
        if limit >= rounds:
            chosen = _chosen(stream.measure.layout, target, smallest, limit // rounds, rounds)
            found.append(SearchAtTarget(method, rounds, chosen))
    if not found:
        raise AccountingError(f"epsilon: found {limit} micro-nats a window; allowed: one for each round")
    able = [one for one in found if one.chosen.claim.bound != "local" and one.chosen.gain > 1] or found
    most = max(one.rounds for one in found)
    return min(able, key=lambda one: one.chosen.variance * most / one.rounds)


@lru_cache(maxsize=64)
def _chosen(layout: LayoutSpec, target: MixedTarget, smallest: int, limit: int, rounds: int) -> Chosen:
    reports = honest(smallest, target.corrupt)
    cells = None
    if reports >= 2 * rounds:
        cells = cells_below(reports // rounds, target.epsilon, target.delta, d=_CODES, limit=limit / MICRO)
    able = [Candidate(OLH.name, OfExtensions(layout), _variance)]
    if cells is not None:
        able.append(Candidate(name_of(cells), OfExtensions(layout, cells), _variance))
    return under_target(able, target, smallest=smallest, limit=limit, rounds=rounds)


def _variance(asked: Question, n: int) -> float:
    """The variance of the share of a prefix that nobody has, which decides what is found."""
    return float(asked.variance(n, 0.0)[0])
