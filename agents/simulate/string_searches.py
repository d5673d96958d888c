# SPDX-License-Identifier: Apache-2.0
"""Searches for the k most frequent strings by every method of Wang 2021, chapter 4, on drawn reports, and their scores.

Contract: the same strings, search and seed give the same list; reports support values as in drawn_levels.py; nobody is
asked twice, except where epsilon is split.  The methods are those of aggregators/hitters; here are the groups that they
ask, and what these tell.  Deviation: segments and their pairs come from the same reports, and are drawn independently.
Not here: what should come out (agents/cli/reproductions/hitters_strings.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.drawn_levels import (
    DrawnLevel,
    UsersLeft,
    drawn_shares,
    held_by,
    local_hashing,
    usual_variance,
)
from murmurate.agents.simulate.held_strings import Strings
from murmurate.agents.simulate.mixed_histograms import HistogramMethod
from murmurate.aggregators.hitters import channels, segment_pairs
from murmurate.aggregators.hitters.candidates import numbered, placed
from murmurate.aggregators.hitters.channels import ChannelPlan
from murmurate.aggregators.hitters.levels import smallest_groups
from murmurate.aggregators.hitters.pem import PrefixPlan
from murmurate.aggregators.hitters.priv_trie import GrowingTrie, batch_size
from murmurate.aggregators.hitters.scores import f1, ncr
from murmurate.aggregators.hitters.search import Walked, named
from murmurate.aggregators.hitters.segment_pairs import SegmentPlan
from murmurate.aggregators.hitters.tree_hist import TreePlan
from murmurate.randomizers.layouts import BitsLayout

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.uint64]

QUERIES: Final = 1 << 20
"""How many prefixes PEM asks for at most, in the dissertation's comparisons."""
_LISTED: Final = 22
"""One group is asked for every string of at most so many bits, one by one."""
SEGMENT: Final = 16
"""The length of segments in bits: four of a string of 64 ask for 2^18 values, and three would for 2^22 or more."""


@dataclass(frozen=True)
class StringSearch:
    """How strings are searched for."""

    method: str
    epsilon: float
    k: int = 16
    groups: int | None = None
    """For PEM; None: as few as QUERIES allow."""


@dataclass(frozen=True)
class SearchScores:
    """How good a found list is."""

    f1: float
    ncr: float
    hits: int
    squared_error: float | None
    """The mean squared error of the counts of hits; None without a hit."""


def searched(strings: Strings, search: StringSearch, seed: int) -> SearchScores:
    """One search among these users."""
    generator = np.random.default_rng([seed, 5])
    layout = BitsLayout(strings.m, none=False)
    found = METHODS[search.method](strings, layout, search, generator)
    names = numbered(layout, found.rows, strings.m)
    truth = strings.most_frequent(search.k).tolist()
    at = np.searchsorted(strings.codes, names)
    hits = np.array([name in set(truth) for name in names.tolist()], np.bool_)
    errors = strings.counts[at[hits]] - strings.n * found.shares[hits]
    squared = float((errors**2).mean()) if hits.any() else None
    return SearchScores(f1(names.tolist(), truth), ncr(names.tolist(), truth), int(hits.sum()), squared)


def _pem(strings: Strings, layout: BitsLayout, search: StringSearch, generator: np.random.Generator) -> Walked:
    groups = search.groups or smallest_groups(strings.m, search.k, QUERIES)
    if groups == 1 and strings.m > _LISTED:
        return _among_all(strings, layout, search, generator)
    plan = PrefixPlan(strings.m, search.k, groups)
    users, way = UsersLeft(strings, generator).equal_groups(groups), local_hashing(search.epsilon)
    told = [DrawnLevel(layout, bits, users, way, generator) for bits in plan.bits]
    return plan.found(layout, told, significance=None)


def _among_all(strings: Strings, layout: BitsLayout, search: StringSearch, generator: np.random.Generator) -> Walked:
    """One group, asked for all strings there can be: of those that nobody holds only the k best estimates are drawn."""
    way, n, empty = local_hashing(search.epsilon), strings.n, (1 << strings.m) - len(strings.codes)
    chances = np.cumsum(generator.exponential(size=search.k)) / empty
    nobodys = np.array([-NormalDist().inv_cdf(chance) for chance in chances]) * usual_variance(way, n) ** 0.5
    shares = np.concatenate([drawn_shares(strings.counts, n, way, generator), nobodys])
    others = generator.integers(0, (1 << strings.m) - 1, search.k, np.uint64, endpoint=True)
    rows = placed(layout, np.concatenate([strings.codes, others]), strings.m)
    return named(rows, shares, np.full(len(rows), usual_variance(way, n)), k=search.k, significance=None)


def _pem1(strings: Strings, layout: BitsLayout, search: StringSearch, generator: np.random.Generator) -> Walked:
    plan = TreePlan(strings.m, search.k)
    users, way = UsersLeft(strings, generator).equal_groups(len(plan.bits)), local_hashing(search.epsilon)
    told = [DrawnLevel(layout, bits, users, way, generator) for bits in plan.bits]
    return plan.found(layout, told, significance=None)


# ---- segment pairs ----


class DrawnSegments:
    """What users tell of two segments each, with the same chances for both."""

    def __init__(
        self, strings: Strings, plan: SegmentPlan, way: HistogramMethod, generator: np.random.Generator
    ) -> None:
        """strings: who tells, each user one pair of segments."""
        self._way, self._generator = way, generator
        parts = np.full(len(plan.pairs), 1 / len(plan.pairs))
        of_pairs = generator.multinomial(strings.counts, parts).T
        self._counts: Mapping[tuple[int, int], Counts] = dict(zip(plan.pairs, of_pairs, strict=True))
        ends = np.cumsum(plan.lengths)
        masks = [(1 << length) - 1 for length in plan.lengths]
        shifts = [np.uint64(strings.m - end) for end in ends]
        self._values = [strings.codes >> shift & np.uint64(mask) for shift, mask in zip(shifts, masks, strict=True)]

    def segment(self, of: int, values: Numbers) -> Floats:
        """The estimated share of each value, from all who tell this segment; all values are asked for, in order."""
        counts = sum(counts for pair, counts in self._counts.items() if of in pair)
        held = np.bincount(self._values[of].astype(np.int64), counts, len(values)).astype(np.int64)
        return drawn_shares(held, int(held.sum()), self._way, self._generator)

    def pair(self, of: tuple[int, int], first: Numbers, second: Numbers) -> Floats:
        """The estimated share of each pair: the mean of the products of both debiased reports."""
        counts, n = self._counts[of], int(self._counts[of].sum())
        # 1. How many users hold both values, or one of them alone.
        one = self._values[of[0]] == first[:, np.newaxis]
        other = self._values[of[1]] == second[:, np.newaxis]
        both = ((one * counts) @ other.T).astype(np.int64)
        alone = (one @ counts)[:, np.newaxis] - both, other @ counts - both
        neither = n - both - alone[0] - alone[1]
        # 2. Which of the two reports support their value.
        p, q = self._way.p, self._way.q
        total = np.zeros(both.shape)
        for users, a, b in ((both, p, p), (alone[0], p, q), (alone[1], q, p), (neither, q, q)):
            chances = [a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b)]
            told = self._generator.multinomial(users, chances)
            total += told @ np.array([(1 - q) ** 2, -q * (1 - q), -q * (1 - q), q**2])
        return np.asarray(total / (n * (p - q) ** 2))


def _spm(
    strings: Strings, layout: BitsLayout, search: StringSearch, generator: np.random.Generator, *, split: bool = False
) -> Walked:
    plan = SegmentPlan(strings.m, search.k, -(-strings.m // SEGMENT))
    left = UsersLeft(strings, generator)
    testing = strings if split else left.group(segment_pairs.TESTED)
    parts = 3 if split else 2
    told = DrawnSegments(left.strings, plan, local_hashing(search.epsilon / parts), generator)
    way = local_hashing(search.epsilon / 3 if split else search.epsilon)
    tested = DrawnLevel(layout, strings.m, lambda: testing, way, generator)
    return plan.found(layout, told, tested, significance=None)


# ---- channels ----


def _hash(
    strings: Strings, layout: BitsLayout, search: StringSearch, generator: np.random.Generator, *, split: bool = False
) -> Walked:
    plan = ChannelPlan.usual(strings.m, search.k)
    left = UsersLeft(strings, generator)
    testing = strings if split else left.group(channels.TESTED)
    part = search.epsilon / 2 if split else search.epsilon
    votes = drawn_votes(left.strings, plan, part, generator)
    tested = DrawnLevel(layout, strings.m, lambda: testing, local_hashing(part), generator)
    return plan.found(layout, votes, tested, significance=None)


def drawn_votes(strings: Strings, plan: ChannelPlan, epsilon: float, generator: np.random.Generator) -> Floats:
    """How many more ones than zeros users tell for each bit of a channel: float64[channels, m].

    A user tells one bit of every channel: that of the string in the string's own channel, or the other one with
    probability 1 / (e^epsilon + 1), and an even coin in every other channel.
    """
    # 1. The channel of each string, by a random hash, and its users by the bit that they tell.
    channel = generator.integers(plan.channels, size=len(strings.codes))
    telling = generator.multinomial(strings.counts, np.full(plan.m, 1 / plan.m))
    shifts = np.arange(plan.m - 1, -1, -1, dtype=np.uint64)
    ones = (strings.codes[:, np.newaxis] >> shifts & np.uint64(1)).astype(np.int64)
    held = np.zeros((2, plan.channels, plan.m), np.int64)
    for bit in (0, 1):
        np.add.at(held[bit], channel, np.where(ones == bit, telling, 0))
    # 2. The ones that they tell.
    others = telling.sum(axis=0) - held.sum(axis=0)
    low = 1 / (np.exp(epsilon) + 1)
    told = generator.binomial(held[1], 1 - low) + generator.binomial(held[0], low) + generator.binomial(others, 0.5)
    return np.asarray(2.0 * told - telling.sum(axis=0))


# ---- tries ----


def _priv_trie(strings: Strings, layout: BitsLayout, search: StringSearch, generator: np.random.Generator) -> Walked:
    size = batch_size(strings.n, search.epsilon)
    batches, way, left = strings.n // size, local_hashing(search.epsilon), UsersLeft(strings, generator)
    trie, next_batch = GrowingTrie.planted(layout, search.epsilon, batches), left.equal_groups(batches)
    for _ in range(batches):
        users = next_batch()
        told = {}
        for bits, rows in trie.asked.items():
            shares = drawn_shares(held_by(users, numbered(layout, rows, bits), bits), users.n, way, generator)
            told[bits] = shares, np.full(len(rows), usual_variance(way, users.n))
        trie = trie.grown(told, users.n)
    return trie.best(search.k, usual_variance(way, 1) ** 0.5)


METHODS: Final[Mapping[str, Callable[[Strings, BitsLayout, StringSearch, np.random.Generator], Walked]]] = {
    "PEM": _pem,
    "PEM1": _pem1,
    "SPM": _spm,
    "SPM, split": lambda *given: _spm(*given, split=True),
    "HASH": _hash,
    "HASH, split": lambda *given: _hash(*given, split=True),
    "PrivTrie": _priv_trie,
}
"""The methods by name; those that are "split" tell everything of everybody, each part with its part of epsilon."""
