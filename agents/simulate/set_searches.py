# SPDX-License-Identifier: Apache-2.0
"""Whole searches for frequent items and sets of items in baskets, with supports drawn from the laws of the questions.

Contract: the functions of aggregators/hitters decide everything; the same baskets and generator give the same search.
Each phase has users of its own.  Of each asked user a candidate or a dummy is sampled as randomizers/padding.py does;
then the support of every code is drawn at once, from the chances p and q of the question, and independently of other
codes, as if every report had a fresh hash function.  Not here: real reports (tests), baskets (baskets.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.baskets import Baskets, FrequentSet
from murmurate.aggregators.hitters.itemset_search import (
    ITEMSET_PARTS,
    guesses,
    itemset_candidates,
    ranked_together,
)
from murmurate.aggregators.hitters.ldp_miner import MINER_PARTS, miner_question
from murmurate.aggregators.hitters.scores import ncr
from murmurate.aggregators.hitters.set_search import (
    ITEM_PARTS,
    corrected,
    correction,
    first_candidates,
    kept_sizes,
    length_from,
    needs_candidates,
    ranking,
    sampled_question,
    size_question,
)
from murmurate.randomizers import Padded, Size, Viewed
from murmurate.randomizers.layouts.layout import MAX_MOST
from murmurate.randomizers.mechanism import PureOracle

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SearchedSets(NamedTuple):
    """What a search found, the most frequent first."""

    itemsets: tuple[tuple[int, ...], ...]
    """Items or sets of items, each a tuple of rising numbers."""
    shares: Floats


@dataclass(frozen=True)
class BasketSearch:
    """How frequent items or sets of items are searched for."""

    method: str
    epsilon: float
    k: int


@dataclass(frozen=True)
class SetScores:
    """How good one search was."""

    ncr: float
    hits: int
    """How many of the k most frequent ones were found."""
    squared_error: float | None
    """The mean squared error of the shares of hits; None without one."""


def searched_sets(baskets: Baskets, search: BasketSearch, truth: Sequence[FrequentSet], seed: int) -> SetScores:
    """The scores of one search. truth: the most frequent items, or sets of items for SVSM."""
    generator = np.random.default_rng(
        [seed, round(1000 * search.epsilon), search.k, sorted(SET_METHODS).index(search.method)]
    )
    found = SET_METHODS[search.method](baskets, search.k, search.epsilon, generator)
    true = {of.items: of.holders / baskets.n for of in truth}
    errors = [share - true[of] for of, share in zip(found.itemsets, found.shares, strict=True) if of in true]
    square = float(np.mean(np.square(errors))) if errors else None
    return SetScores(ncr(found.itemsets, list(true)), len(errors), square)


def svim(baskets: Baskets, k: int, epsilon: float, generator: np.random.Generator) -> SearchedSets:
    """SVIM: the k most frequent items."""
    candidates, shares = _items(baskets.parts(ITEM_PARTS, generator), k, epsilon, generator)
    best = ranking(shares, k)
    return SearchedSets(tuple((int(item),) for item in candidates[best]), shares[best])


def ldp_miner(baskets: Baskets, k: int, epsilon: float, generator: np.random.Generator) -> SearchedSets:
    """LDPMiner in its improved form: the k most frequent items."""
    sizes, first, last = baskets.parts(MINER_PARTS, generator)
    layout = layout_of_baskets(baskets)
    length = length_from(_sizes(sizes, size_question(layout, None, epsilon), _every_item(sizes), generator))
    told = _shares(first, miner_question(layout, length, None, epsilon), _every_item(first), generator)
    candidates = first_candidates(told, k)
    question = miner_question(layout, 2 * k, candidates.tolist(), epsilon)
    shares = _shares(last, question, _some_items(last, candidates), generator)
    best = ranking(shares, k)
    return SearchedSets(tuple((int(item),) for item in candidates[best]), shares[best])


def svsm(baskets: Baskets, k: int, epsilon: float, generator: np.random.Generator) -> SearchedSets:
    """SVSM: the k most frequent items and sets of items together."""
    parts = baskets.parts(ITEMSET_PARTS, generator)
    candidates, shares = _items(parts[:3], k, epsilon, generator)
    itemsets = itemset_candidates(candidates.tolist(), guesses(shares, k, MAX_MOST))
    single = [(int(item),) for item in candidates], shares, np.zeros(len(shares))
    if not itemsets:
        alone = ranked_together(single, ([], np.zeros(0), np.zeros(0)), k)
        return SearchedSets(alone.itemsets, alone.shares)
    layout, (sizes, last) = layout_of_baskets(baskets), parts[3:]
    kept = _sizes(sizes, size_question(layout, itemsets, epsilon), held_itemsets(sizes, itemsets), generator)
    among = length_from(kept)
    question = sampled_question(layout, among, itemsets, epsilon)
    told = _shares(last, question, held_itemsets(last, itemsets), generator) * correction(kept, among)
    found = ranked_together(single, (itemsets, told, np.zeros(len(told))), k)
    return SearchedSets(found.itemsets, found.shares)


def _items(parts: Sequence[Baskets], k: int, epsilon: float, generator: np.random.Generator) -> tuple[Ints, Floats]:
    """The candidates of SVIM and their shares."""
    first, sizes, last = parts
    layout = layout_of_baskets(first)
    candidates = np.arange(first.d, dtype=np.int64)
    if needs_candidates(first.d, k):
        told = _shares(first, sampled_question(layout, 1, None, epsilon), _every_item(first), generator)
        candidates = first_candidates(told, k)
    listed = candidates.tolist()
    kept = _sizes(sizes, size_question(layout, listed, epsilon), _some_items(sizes, candidates), generator)
    length = length_from(kept)
    question = sampled_question(layout, length, listed, epsilon)
    told = _shares(last, question, _some_items(last, candidates), generator)
    return candidates, corrected(told, question.variance(last.n, 0.0), correction(kept, length))[0]


SET_METHODS: Final = {"SVIM": svim, "LDPMiner": ldp_miner, "SVSM": svsm}
"""The searches by name."""


def layout_of_baskets(baskets: Baskets) -> tuple[str, int, int, int]:
    """The layout of sets of these items, as large as a layout allows."""
    return "items", baskets.d, min(MAX_MOST, baskets.d), 0


class HeldCandidates(NamedTuple):
    """Which candidates users hold."""

    users: Ints
    """A user for each candidate that is held, rising."""
    numbers: Ints
    """The number of that candidate."""


def _every_item(baskets: Baskets) -> HeldCandidates:
    return HeldCandidates(baskets.users, baskets.items)


def _some_items(baskets: Baskets, candidates: Ints) -> HeldCandidates:
    number = np.full(baskets.d, -1, np.int64)
    number[candidates] = np.arange(len(candidates))
    of = number[baskets.items]
    return HeldCandidates(baskets.users[of >= 0], of[of >= 0])


def held_itemsets(baskets: Baskets, itemsets: Sequence[tuple[int, ...]]) -> HeldCandidates:
    """The sets of items of which users hold all."""
    items = sorted({item for of in itemsets for item in of})
    holds = np.zeros((len(items), baskets.n), np.bool_)
    held = _some_items(baskets, np.array(items, np.int64))
    holds[held.numbers, held.users] = True
    place = {item: number for number, item in enumerate(items)}
    holders = [np.flatnonzero(holds[[place[item] for item in of]].all(axis=0)) for of in itemsets]
    users = np.concatenate(holders)
    order = np.argsort(users, kind="stable")
    return HeldCandidates(users[order], np.repeat(np.arange(len(itemsets)), [len(of) for of in holders])[order])


def _sizes(baskets: Baskets, question: Viewed, held: HeldCandidates, generator: np.random.Generator) -> Floats:
    """The sizes that a search keeps."""
    assert isinstance(question.view, Size)  # noqa: S101 - what size_question gives
    sizes = np.bincount(np.bincount(held.users, minlength=baskets.n), minlength=question.view.d)
    told = _estimates(sizes.astype(np.int64), baskets.n, question, generator)
    return kept_sizes(told, question.variance(baskets.n, 0.0))


def _shares(baskets: Baskets, question: Viewed, held: HeldCandidates, generator: np.random.Generator) -> Floats:
    """The estimated share of each candidate, from one sampled for each user."""
    assert isinstance(question.view, Padded)  # noqa: S101 - what sampled_question gives
    own = np.bincount(held.users, minlength=baskets.n)
    place = (generator.random(baskets.n) * np.maximum(own, question.view.length)).astype(np.int64)
    named = place < own
    starts = np.cumsum(own) - own
    codes = held.numbers[starts[named] + place[named]]
    return _estimates(np.bincount(codes, minlength=question.view.d), baskets.n, question, generator)


def _estimates(counts: Ints, n: int, question: Viewed, generator: np.random.Generator) -> Floats:
    """The question's estimates where so many of n users have each code."""
    inner = question.inner
    assert isinstance(inner, PureOracle)  # noqa: S101 - GRR and OLH are
    p, q = float(inner.p), float(inner.q)
    return question.estimate(generator.binomial(counts, p) + generator.binomial(n - counts, q), n)
