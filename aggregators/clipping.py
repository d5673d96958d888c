# SPDX-License-Identifier: Apache-2.0
"""Where to clip numbers: what a threshold may take from their mean, against the noise that it saves (after SW-W, ToPL).

Contract: clipping is of the top alone, and `excess` is what it takes from each value.  What it may take is never the
word of a distribution that EM found: EM's tail is what noise left of it, and one user in two hundred at the top of
the range is lost in it without a trace.  `taken_at_most` is what the reports cannot exclude, from an unbiased estimate
and its error.  `best` weighs that against the noise of what is released in the end, not of one answer, and clips only
where it pays.  `whole_or_pruned` is plain EM's distribution with the tail of its noise cut off, unless more than noise
is cut: of it are the mean that stands for a few periods and the room for growth (`doubled`), not what is said to be
taken.  `Growth` is what clipping takes once amounts have grown.
Source: ARCHITECTURE section 5.4; the weighing is our own.  Not here: asking (methods/holdout.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.distribution import pruned

Floats = NDArray[np.float64]

PERIODS: Final = 100
"""The number of periods whose answers are taken to be behind a release, where something averages: as many as a filter
uses of a mean that drifts by a hundredth of an answer's standard error a period. Most streams move more, so more of
their noise is left: the range is rather not clipped than clipped, since a bias stays for ever and noise is averaged
away.
"""
ROOM: Final = 2.0
"""The factor by which all amounts may grow before clipping takes more than was weighed: a threshold close above where
most users are would turn the first rush hour into a bias of any size.
"""
WORTH: Final = 0.9
"""A threshold must leave less than this part of the error of the whole range."""
FACTORS: Final = 65
"""The number of growth factors that are tabled, from 1 to the whole range."""
TOO_FAR: Final = 2.0
"""The unbiased mean lies too far above the pruned one beyond this many standard errors."""
QUIET: Final = 20
"""This many faint cells in a row mean that there is only noise behind them. The source has 5 of 1024: it ends at gaps
that EM leaves in long tails. In 432 runs (six shapes of values, n from 2 000 to 100 000, epsilon 0.5 to 2.5, w 4 and
20) thresholds found with 20 of 512 had the least error of twelve choices.
"""


def excess(middles: Floats, edges: Floats) -> Floats:
    """How far each value lies above each edge: float64[edges, values]."""
    return np.maximum(middles - edges[:, None], 0.0)


def taken_at_most(unbiased: Floats, error: Floats) -> Floats:
    """What clipping takes from a mean as far as reports cannot exclude it: an estimate below 0 is chance, and no reason
    to believe in less than its error. That comes in full on top (not squared), since of many edges one is chosen at
    which little seems to be taken: where a lot is in truth, 9 % of errors exceeded twice their bar without.
    """
    return np.asarray(np.maximum(unbiased, 0.0) + error)


def doubled(frequencies: Floats, middles: Floats, edges: Floats, top: float) -> Floats:
    """What clipping takes from a distribution of amounts, from 0 to the top of the range, all of which have grown as
    much as there is ROOM for.
    """
    return np.asarray(excess(np.minimum(ROOM * middles, top), edges) @ frequencies)


def best(taken: Floats, noise: Floats) -> int:
    """Which edge has the least squared error: of what it takes, and the variance of a release that clips there. The
    last edge is the end of the range, which is taken unless another one is WORTH it.

    >>> best(np.array([3.0, 1.0, 0.0]), np.array([0.0, 1.0, 3.0]))
    1
    >>> best(np.array([3.0, 1.0, 0.0]), np.array([0.0, 1.6, 3.0]))
    2
    """
    squared = taken**2 + noise
    found = int(np.argmin(squared))
    return found if squared[found] < WORTH**2 * squared[-1] else len(squared) - 1


def whole_or_pruned(frequencies: Floats, middles: Floats, mean: float, stderr: float) -> Floats:
    """The frequencies from which a mean is computed; mean: the unbiased one of the same reports."""
    cut = pruned(frequencies, quiet=QUIET)
    return frequencies if mean - float(cut @ middles) > TOO_FAR * stderr else cut


@dataclass(frozen=True, eq=False)
class Growth:
    """The effect of clipping once all amounts have grown by one factor, as the mean of clipped ones shows it. Later
    reports do not show what lies above the threshold; it is assumed to grow with what lies below.
    """

    levels: Floats
    """The means of clipped amounts at each growth factor, rising: float64[factors]."""
    taken: Floats
    """How much more clipping takes from the mean at each growth factor than it does at factor 1: float64[factors]."""

    @classmethod
    def of(cls, frequencies: Floats, middles: Floats, edge: float, top: float) -> Growth:
        """For a distribution of amounts from 0 to the top of the range, clipped at an edge."""
        grown = np.minimum(middles * np.geomspace(1, top, FACTORS)[:, None], top)
        levels = np.minimum(grown, edge) @ frequencies
        taken = np.maximum(grown - edge, 0.0) @ frequencies
        return cls(levels, taken - taken[0])

    def at(self, grown: float) -> float:
        """What is taken where the mean of clipped amounts is larger than at first by so much."""
        return float(np.interp(self.levels[0] + grown, self.levels, self.taken))
