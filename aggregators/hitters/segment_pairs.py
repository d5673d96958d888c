# SPDX-License-Identifier: Apache-2.0
"""The segment pairs method (SPM): frequent segments, frequent pairs of them, and strings of frequent pairs alone.

Contract: a string is a candidate only if each two of its segments are among the frequent pairs of these two; as many
pairs are taken, the same number for each two segments, as give more than k candidates.  These are asked of users of
their own, whose estimates alone decide.
Source: Fanti, Pihur and Erlingsson 2016, in the improved form of Wang 2021, sections 4.1.1 and 4.4: local hashing, k
values a segment, and a tenth of the users for the last question instead of a third of everybody's epsilon.
Not here: how users tell two segments at once (half of epsilon for each keeps the whole).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.hitters.candidates import Rows, placed
from murmurate.aggregators.hitters.levels import MOST_BITS
from murmurate.aggregators.hitters.search import SIGNIFICANT, Floats, PrefixLevel, Walked, named, top
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import BitsLayout

Numbers = NDArray[np.uint64]
Places = NDArray[np.intp]
Pair = tuple[int, int]

TESTED: Final = 0.1
"""The share of users who are asked for whole strings only."""
LONGEST: Final = 20
"""The longest segment in bits: all of its values are asked for."""
MOST_VALUES: Final = 1 << 10
"""The largest k: so many squared are the pairs of values of two segments."""
MOST_JOINED: Final = 1 << 16
"""How many beginnings of strings are followed at a time. More pairs than lead to so many are not taken."""


class SegmentReports(Protocol):
    """What users have told of two segments each."""

    def segment(self, of: int, values: Numbers) -> Floats:
        """The estimated share of each of these values of a segment."""
        ...

    def pair(self, of: Pair, first: Numbers, second: Numbers) -> Floats:
        """The estimated share of each pair of a value of one segment and a value of a later one: float64[k, k']."""
        ...


@dataclass(frozen=True)
class SegmentPlan:
    """Which segments are told, for the k most frequent strings of m bits.

    >>> SegmentPlan(64, 16, 5).lengths, SegmentPlan(64, 16, 4).pairs
    ((13, 13, 13, 13, 12), ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)))
    """

    m: int
    k: int
    segments: int

    def __post_init__(self) -> None:
        for name, found, least, most in (
            ("m", self.m, 2, MOST_BITS), ("k", self.k, 1, MOST_VALUES),
            ("segments", self.segments, max(2, -(-self.m // LONGEST)), self.m),
        ):  # fmt: skip
            if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
                raise ParameterError(f"segment_pairs: {name}: found {shown(found)}; allowed: {least} to {most}")

    @property
    def lengths(self) -> tuple[int, ...]:
        """The bits of each segment, from the first to the last."""
        short, longer = divmod(self.m, self.segments)
        return tuple(short + (segment < longer) for segment in range(self.segments))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Each two segments, of which every user tells one pair."""
        return tuple(combinations(range(self.segments), 2))

    def candidates(self, layout: BitsLayout, told: SegmentReports) -> Rows:
        """The strings whose pairs of segments are frequent, each once: uint32[n, words]."""
        # 1. The best values of each segment.
        values = [np.arange(1 << length, dtype=np.uint64) for length in self.lengths]
        values = [each[top(told.segment(at, each), self.k)] for at, each in enumerate(values)]
        # 2. The pairs of these, by their rank among those of the same two segments.
        ranks = {pair: _ranks(told.pair(pair, values[pair[0]], values[pair[1]])) for pair in self.pairs}
        # 3. The strings of the best pairs.
        places = joined(ranks, [len(each) for each in values], self.k)
        rows, end = np.zeros((len(places), layout.words), np.uint32), 0
        for at, length in enumerate(self.lengths):
            end += length
            rows |= placed(layout, values[at][places[:, at]], end)
        return rows

    def found(
        self,
        layout: BitsLayout,
        told: SegmentReports,
        tested: PrefixLevel,
        *,
        least: float | None = None,
        significance: float | None = SIGNIFICANT,
    ) -> Walked:
        """The k best of the candidates, by what the users who tell whole strings say of them."""
        if layout.m != self.m or tested.bits != self.m:
            raise ParameterError(f"segment_pairs: found {layout.m} and {tested.bits} bits; allowed: {self.m}")
        rows = self.candidates(layout, told)
        return named(rows, *tested.estimate(rows), k=self.k, least=least, significance=significance)


def joined(ranks: Mapping[Pair, Places], sizes: Sequence[int], k: int) -> Places:
    """Strings as the places of their segments' values, of the fewest pairs that give more than k: intp[n, segments].

    ranks: for each two segments the rank of each pair of values, from 0: intp[k, k'].
    """
    few, many = 1, max(int(of.size) for of in ranks.values())
    while few < many:
        middle = (few + many) // 2
        strings = _all_ranked_below(ranks, sizes, middle)
        if strings is None or len(strings) > k:
            many = middle
        else:
            few = middle + 1
    for taken in (few, few - 1):  # one fewer where so many pairs give more than can be followed
        strings = _all_ranked_below(ranks, sizes, taken)
        if strings is not None:
            return strings
    return np.zeros((0, len(sizes)), np.intp)


def _all_ranked_below(ranks: Mapping[Pair, Places], sizes: Sequence[int], taken: int) -> Places | None:
    """The strings all of whose pairs have a rank below this, segment by segment; None where there are too many."""
    strings = np.arange(sizes[0])[:, np.newaxis]
    for at in range(1, len(sizes)):
        fits = np.ones((len(strings), sizes[at]), np.bool_)
        for before in range(at):
            fits &= ranks[before, at][strings[:, before]] < taken
        beginnings, values = np.nonzero(fits)
        if len(beginnings) > MOST_JOINED:
            return None
        strings = np.concatenate([strings[beginnings], values[:, np.newaxis]], axis=1)
    return strings


def _ranks(shares: Floats) -> Places:
    """The rank of each estimate among all of them, 0 for the highest: intp of the same shape."""
    order = np.argsort(-shares, axis=None, kind="stable")
    ranks = np.empty(shares.size, np.intp)
    ranks[order] = np.arange(shares.size)
    return ranks.reshape(shares.shape)
