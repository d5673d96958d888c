# SPDX-License-Identifier: Apache-2.0
"""The search for strings along their prefixes, period by period, with what earlier periods remember of each length.

Contract: a level (prefixes of one length, told by one group of users) is asked about the extensions of the best
prefixes of the level before, and about those that it remembers; the best k go on: first whatever is beyond chance, by
its share, then the others by their standard errors.  Strings of the last level are found that are beyond chance in this
period alone, or in their average since they were first looked at (remembered.py), and whose share is at least `least`:
of all strings that nobody holds, SIGNIFICANT get through as expected.  At most k are found, the largest.
Source: Wang 2021, algorithm 1, for one period; to remember is our own.  Not here: what groups told (pem.py), the search
without memory (aggregators/hitters/search.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, Protocol

import numpy as np

from murmurate.aggregators.hitters import PrefixLevel, extended, sensitivity
from murmurate.aggregators.hitters.search import SIGNIFICANT
from murmurate.aggregators.methods.method import Floats
from murmurate.aggregators.methods.remembered import Remembered, Rows, average, in_errors
from murmurate.randomizers.layouts import BitsLayout
from murmurate.randomizers.state import Arrays

ROOM: Final = 2
"""As many times k prefixes of each length are remembered."""
_SINCE: Final = 1


@dataclass(frozen=True, eq=False)
class FoundInPrefixes:
    """What a search found, the largest first."""

    rows: Rows
    bars: Floats
    """What the share of each had to exceed."""
    shares: Floats
    """The share of each that did."""
    variances: Floats
    """The variance of each share, without the sampling of users."""
    averaged: Floats
    """How large the variance of each share is beside that of one period: 1 where it is that of one period."""
    threshold: float
    """The smallest share that was no chance, of any string that was asked about."""


@dataclass(frozen=True, eq=False)
class SeenPrefixes:
    """What a group told of the candidates of its length, and what is known of them by now."""

    rows: Rows
    shares: Floats
    noise: float
    """The variance of the share of one that nobody has."""
    sums: Floats
    """The sums of their averages, from `Remembered.joined`."""
    bars: tuple[float, Floats]
    """What this period's share, and each average, exceeds where it is beyond chance."""
    best: Rows
    """The candidates to go on with, in the order of their numbers."""


class SkewedLevel(PrefixLevel, Protocol):
    """What a group told of prefixes of one length in this period."""

    @property
    def skewness(self) -> float:
        """The skewness of the error of a share that nobody has."""
        ...


class PrefixSearch:
    """One stream's search."""

    def __init__(self, layout: BitsLayout, bits: Sequence[int], *, k: int, least: float) -> None:
        self.layout, self.k, self.least = layout, k, least
        self.levels = tuple(Remembered(layout.words, ROOM * k) for _ in bits)

    def age(self, periods: int) -> None:
        """Go on to a later period."""
        for level in self.levels:
            level.age(periods)

    def search(self, told: Sequence[SkewedLevel]) -> FoundInPrefixes:
        """Find what is frequent in what the groups told of this period, in the order of their lengths."""
        kept, before, seen = np.zeros((1, self.layout.words), np.uint32), 0, None
        for at, level in enumerate(told):
            further = extended(self.layout, kept, before, level.bits)
            seen = self.look(at, level, np.vstack((further, self.levels[at].rows)))
            kept, before = seen.best, level.bits
        assert seen is not None  # noqa: S101 - there is a group
        return self.found(seen)

    def forget(self, strings: Rows) -> None:
        """Begin anew with these strings: what is no longer followed would be found again by what it once was."""
        memory, these = self.levels[-1], {row.tobytes() for row in strings}
        memory.forget(np.array([row.tobytes() in these for row in memory.rows], np.bool_))

    def look(self, at: int, level: SkewedLevel, rows: Rows) -> SeenPrefixes:
        """See what a group told of these candidates of its length.

        1. Their averages go on. 2. The best are chosen, by what is beyond chance. 3. The largest are remembered.
        """
        memory, asked = self.levels[at], np.unique(rows, axis=0)
        shares, variances = level.estimate(asked)
        noise = float(np.median(variances))
        sums = memory.joined(asked, shares, noise)
        usual = sensitivity(1.0, len(asked) + len(memory.rows), 1, SIGNIFICANT)
        bars = _bars(usual, level.skewness, noise, sums[_SINCE])
        best = self._best(shares, noise, sums, bars)
        memory.keep(asked, sums)
        return SeenPrefixes(asked, shares, noise, sums, bars, asked[np.sort(best)])

    def _best(self, shares: Floats, noise: float, sums: Floats, bars: tuple[float, Floats]) -> np.ndarray:
        """The places of the k candidates to go on with. bars: what this period's share, and each average, exceeds where
        it is beyond chance.
        """
        errors = np.maximum(in_errors(sums[0]), shares / sqrt(noise))
        mean, _ = average(sums[_SINCE])
        sure = (shares > bars[0]) | (mean > bars[1])
        return np.lexsort((-np.where(sure, np.maximum(mean, shares), errors), ~sure))[: self.k]

    def found(self, seen: SeenPrefixes) -> FoundInPrefixes:
        """The strings that are beyond chance, by their averages where these are, else by this period alone."""
        rows, shares, noise = seen.rows, seen.shares, seen.noise
        mean, variance = average(seen.sums[_SINCE])
        alone, bars = max(seen.bars[0], self.least), np.maximum(seen.bars[1], self.least)
        by_average, by_itself = mean > bars, shares > alone
        share = np.where(by_average, mean, shares)
        found = np.flatnonzero(by_average | by_itself)
        order = found[np.argsort(-share[found], kind="stable")]
        best, next_best = order[: self.k], order[self.k : self.k + 1]
        least = float(share[next_best[0]]) if len(next_best) else 0.0
        own = np.maximum(np.where(by_average, bars, alone)[best], least)
        errors = np.where(by_average, variance, noise)[best]
        threshold = min(seen.bars[0], float(seen.bars[1].min()))
        return FoundInPrefixes(rows[best], own, share[best], errors, errors / noise, threshold)

    def arrays(self) -> Arrays:
        """The whole state."""
        return {k: v for at, one in enumerate(self.levels) for k, v in one.arrays(f"level {at}").items()}

    def load(self, arrays: Arrays) -> None:
        """Take over `arrays`."""
        for at, one in enumerate(self.levels):
            one.load(f"level {at}", arrays)


def _bars(beyond: float, skewness: float, noise: float, sums: Floats) -> tuple[float, Floats]:
    """What a share that nobody has does not exceed by chance: this period's own, and each average. beyond: in standard
    errors of normal ones; counts of few reports err upwards further (Cornish and Fisher's first term).
    """
    _, variance = average(sums)
    part = variance / noise
    further = beyond + skewness * (beyond**2 - 1) / 6 * np.sqrt(part)
    return (beyond + skewness * (beyond**2 - 1) / 6) * sqrt(noise), np.asarray(further * np.sqrt(variance))
