# SPDX-License-Identifier: Apache-2.0
"""The questions of a search among sets of items: which items are candidates, how many a user holds, which of them.

Contract: each is a function of a stream's values, its epsilon and the candidates, which come from earlier reports.
Candidates: one item of a user's, padded, by GRR or by local hashing, whichever has the smaller exact variance for an
item that nobody holds (Wang 2021, equation 5.3).  Hashing keeps its counts of (seed, cell), which publish reads once
for all items; of more items than FLAT a group of users each tells the first bits of the item's number, more from group
to group, and only the best prefixes are extended.  Not here: what follows from answers (aggregators/hitters,
set_phases.py), who is asked.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.hitters.levels import domain_sizes, levels
from murmurate.aggregators.hitters.set_search import ranking
from murmurate.aggregators.methods.method import Answer, Floats
from murmurate.randomizers import GRR, OLH, Branches, Itemsets, Padded, Question, SampledPrefix, Size, Viewed
from murmurate.randomizers.candidates import Candidates
from murmurate.randomizers.frequency.hash_counts import OLHCounts
from murmurate.randomizers.frequency.local_hash import DEFAULT_POOL
from murmurate.randomizers.thresholds import MICRO, Epsilon
from murmurate.randomizers.views import View

FLAT: Final = 1 << 14
"""The largest number of items, or of prefixes in all groups together, that are hashed with every seed of the pool, in
about a second.
"""
COUNTS: Final = 1 << 20
"""The most counts of hash and cell that a tally holds, 4 MB."""
Layout = tuple[Any, ...]


@lru_cache(maxsize=64)
def candidates_question(layout: Layout, length: int, k: int, epsilon: Epsilon) -> Question:
    """The question that finds k candidates among all items. length: to how many items a set is padded."""
    d = layout[1]
    if d + length <= FLAT:
        view = Padded(layout, length)
        return better(view, OLHCounts(d=view.d, epsilon=epsilon, pool=pool_of(epsilon)))
    lengths = prefix_lengths(d, k)
    views = [SampledPrefix(layout, length, bits) for bits in lengths]
    told = [Viewed(view, OLHCounts(d=view.d, epsilon=epsilon, pool=pool_of(epsilon, len(lengths)))) for view in views]
    return told[0] if len(told) == 1 else Branches([(1, question) for question in told])


def prefix_lengths(d: int, k: int) -> tuple[int, ...]:
    """How many bits of an item's number each group tells: as few groups as FLAT prefixes allow, or one bit more each.

    >>> prefix_lengths(1_000_000, 64), prefix_lengths(1 << 31, 64)
    ((13, 20), (11, 16, 21, 26, 31))
    """
    m = (d - 1).bit_length()
    most = max(1, m - min((k - 1).bit_length(), m))
    steps = (levels(m, k, groups) for groups in range(1, most + 1))
    return next((one[1:] for one in steps if sum(domain_sizes(one, k)) <= FLAT), levels(m, k, most)[1:])


def better(view: View, hashing: OLH | OLHCounts) -> Viewed:
    """The view before GRR, or before this local hashing where that has the smaller variance."""
    hashed, told, nobody = (
        Viewed(view, hashing),
        Viewed(view, GRR(d=view.d, epsilon=Fraction(hashing.epsilon_micro, MICRO))),
        np.zeros(1),
    )
    return told if float(told.noise(nobody)[0]) <= float(hashed.noise(nobody)[0]) else hashed


@lru_cache(maxsize=64)
def pool_of(epsilon: Epsilon, groups: int = 1) -> int:
    """How many hash functions a round has whose counts are kept: the usual number, or as many as keep a tally, of all
    groups together, below COUNTS. What a pool adds to errors falls with its counts, so that fewer functions of more
    cells do.
    """
    cells = OLH(d=2, epsilon=epsilon, pool=0).g
    return max(1, min(DEFAULT_POOL, COUNTS // (groups * cells)))


def sizes_question(layout: Layout, candidates: Candidates | None, epsilon: Epsilon) -> Viewed:
    """The question for how many of the candidates a user holds. Each report has a hash function of its own: sizes are
    few, and so alike that a pool of functions would tell.
    """
    view = Size(layout, candidates)
    return better(view, OLH(d=view.d, epsilon=epsilon, pool=0))


def shares_question(
    layout: Layout, length: int, candidates: Candidates | None, epsilon: Epsilon, *, hashed: bool = False
) -> Viewed:
    """The question for one of the candidates, padded to this length. hashed: by local hashing, whatever is better."""
    sets = bool(candidates) and not isinstance(candidates[0], int)  # type: ignore[index]
    view = Itemsets(layout, length, candidates) if sets else Padded(layout, length, candidates)  # type: ignore[arg-type]
    hashing = OLH(d=view.d, epsilon=epsilon)
    return Viewed(view, hashing) if hashed else better(view, hashing)


def best_items(question: Question, answer: Answer, k: int) -> NDArray[np.int64]:
    """The k items with the largest estimates in the answer to `candidates_question`, the largest first: int64[k]. Of
    prefixes the best k of each length are extended by all further bits of the next. question: with the public choices
    of its round.
    """
    told = [(question, answer.counted, answer.support)]
    if isinstance(question, Branches):
        parts = zip(question.questions, question.parts(answer.support), strict=True)
        told = [(one, n, support) for one, (n, support) in parts]
    kept, bits, m = np.zeros(1, np.int64), 0, 0
    for one, n, support in told:
        assert isinstance(one, Viewed)  # noqa: S101 - what this module asks
        d = one.view.of.spec()[1]
        m = (d - 1).bit_length()
        here = one.view.bits if isinstance(one.view, SampledPrefix) else m
        codes = ((kept << (here - bits))[:, np.newaxis] + np.arange(1 << (here - bits))).reshape(-1)
        codes = codes[codes << (m - here) < d]
        codes = np.sort(codes)
        kept, bits = codes[ranking(shares_of(one, support, n, codes), k)], here
    return kept


def shares_of(question: Viewed, support: NDArray[np.int64], n: int, codes: NDArray[np.int64]) -> Floats:
    """The shares of holders of these candidates, raw: float64[codes]."""
    inner, chance = question.inner, question.view.chance
    assert chance is not None  # noqa: S101 - all of these views sample
    if isinstance(inner, OLHCounts):
        return np.asarray(inner.shares_of(support, n, codes.astype(np.uint64)) / float(chance))
    return question.estimate(support, n)[codes]
