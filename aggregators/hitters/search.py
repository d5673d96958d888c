# SPDX-License-Identifier: Apache-2.0
"""The search for frequent strings along their prefixes: each level's best candidates are extended to the next level.

Contract: a pure function of the estimates that the levels give, the same for the same estimates; equal estimates stand
in the order of the strings.  A level is asked about each candidate once.  What is found are the best candidates of the
last level, by its estimates alone: nothing below the threshold of significance, by which an expected number
(`significance`) of all its candidates that nobody holds gets through, nor below `least`.
Source: Wang 2021, algorithm 1 and section 3.5.2.  Not here: how long the prefixes are (levels.py), reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.hitters.candidates import Rows, extended
from murmurate.aggregators.hitters.levels import MOST_FOUND, sensitivity
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import BitsLayout

Floats = NDArray[np.float64]

SIGNIFICANT: Final = 0.05
"""How many candidates that nobody holds are expected among those that are found: one in twenty searches."""


class PrefixLevel(Protocol):
    """What a group of users has told about prefixes of one length."""

    @property
    def bits(self) -> int:
        """The length of the prefixes."""
        ...

    def estimate(self, rows: Rows) -> tuple[Floats, Floats]:
        """The share of users whose strings have each of these prefixes, unbiased, and the variance of each estimate."""
        ...


@dataclass(frozen=True, eq=False)
class Walked:
    """What a search has found, the most frequent first."""

    rows: Rows
    """The strings: uint32[found, words]."""
    shares: Floats
    """The estimates of the last level, unbiased for a string, but the best of many are on average too high."""
    variances: Floats
    """The variances of these estimates."""
    threshold: float
    """What an estimate had to reach: minus infinity if nothing was asked for, infinity if the level had no reports."""
    candidates: int
    """How many strings the last level was asked about."""


def walk(
    layout: BitsLayout,
    levels: Sequence[PrefixLevel],
    *,
    k: int,
    least: float | None = None,
    significance: float | None = SIGNIFICANT,
    prune: bool = False,
) -> Walked:
    """The k most frequent strings that pass, from levels whose lengths rise; none passes if a level has no reports.

    least: the smallest share that is found; None: no bound. significance: how many strings that nobody holds may be
    found, as expected; None: any number. prune: leave out on the way, too, what lies below `least`.
    """
    _check(layout, levels, k, least)
    kept, bits = np.zeros((1, layout.words), np.uint32), 0
    asked, shares, variances = kept[:0], np.zeros(0), np.zeros(0)
    for level in levels:
        asked = extended(layout, kept, bits, level.bits)
        shares, variances = level.estimate(asked)
        if len(asked) and np.isnan(shares).all():
            break
        kept, bits = best(asked, shares, k, least=least if prune else None), level.bits
    return named(asked, shares, variances, k=k, least=least, significance=significance)


class ToldLengths(ABC):
    """Which prefixes are told, for the k most frequent strings of m bits: what all plans of lengths share."""

    name: ClassVar[str]
    """The search's name in an error."""
    m: int
    k: int

    @property
    @abstractmethod
    def bits(self) -> tuple[int, ...]:
        """The lengths of the prefixes that are told, rising."""

    def found(
        self,
        layout: BitsLayout,
        told: Sequence[PrefixLevel],
        *,
        least: float | None = None,
        significance: float | None = SIGNIFICANT,
        prune: bool = False,
    ) -> Walked:
        """What is found in what was told of each length, in their order; see `walk`."""
        if tuple(level.bits for level in told) != self.bits or layout.m != self.m:
            lengths = [level.bits for level in told]
            raise ParameterError(f"{self.name}: levels: found {shown(lengths)} bits; allowed: {list(self.bits)}")
        return walk(layout, told, k=self.k, least=least, significance=significance, prune=prune)


def best(asked: Rows, shares: Floats, k: int, *, least: float | None = None) -> Rows:
    """The k candidates of the highest estimates, in their order: what is extended to the next level.

    least: the smallest estimate that is extended; None: no bound.
    """
    places = top(shares, k)
    if least is not None:
        places = places[shares[places] >= least]
    return np.asarray(asked[np.sort(places)])


def named(
    asked: Rows,
    shares: Floats,
    variances: Floats,
    *,
    k: int,
    least: float | None = None,
    significance: float | None = SIGNIFICANT,
) -> Walked:
    """The k candidates of the highest estimates that pass, the highest first."""
    passes = threshold(variances, least, significance)
    if len(asked) and np.isnan(shares).all():
        passes = np.inf
    places = top(shares, k)
    places = places[shares[places] >= passes]
    return Walked(asked[places], shares[places], variances[places], passes, len(asked))


def top(shares: Floats, k: int) -> NDArray[np.intp]:
    """The places of the k largest estimates, the largest first and equal ones in their order; nothing unknown."""
    known = np.flatnonzero(~np.isnan(shares))
    return np.asarray(known[np.argsort(-shares[known], kind="stable")[:k]])


def threshold(variances: Floats, least: float | None, significance: float | None) -> float:
    """What an estimate must reach to be named, among candidates of which by far the most are held by nobody.

    Their error is the median one: few candidates are so frequent that it changes the variance of their estimates.
    """
    bounds = [-np.inf if least is None else least]
    if significance is not None and len(variances):
        bounds.append(sensitivity(float(np.median(variances)) ** 0.5, len(variances), 1, significance))
    return float(max(bounds))


def _check(layout: BitsLayout, levels: Sequence[PrefixLevel], k: int, least: float | None) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_FOUND:
        raise ParameterError(f"search: k: found {shown(k)}; allowed: a whole number from 1 to {MOST_FOUND}")
    if least is not None and not 0 <= least < 1:
        raise ParameterError(f"search: least: found {shown(least)}; allowed: a share from 0 to below 1")
    lengths = [level.bits for level in levels]
    if not lengths or lengths[-1] != layout.m or any(a >= b for a, b in zip([0, *lengths], lengths, strict=False)):
        raise ParameterError(f"search: levels: found {shown(lengths)} bits; allowed: rising, the last one {layout.m}")
