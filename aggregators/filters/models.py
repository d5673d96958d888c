"""The ways in which a statistic may move, as plain numbers: levels that drift, trends, jumps, and what follows them.

Contract: a drift is a variance a period, in units of the observation variance of an average period, so that a filter
of data in another unit, or of more reports, is the same filter; a model of drift rho forgets with gain about sqrt(rho).
Among the values of a domain it is larger where share (1 - share) is (`pace`): large shares move more.
Rows of every array of a filter: levels, trends, settling, jump.  Source: spec filter.md (the mixture); grids, chances
and what is learned of them are our own, tuned with agents/replay/filtered.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Models:
    """One mixture; the defaults are the ones that were tuned."""

    levels: tuple[float, ...] = (0.0, 0.003, 0.02, 0.08, 0.4)
    """Drifts of the level."""
    trends: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3)
    """Drifts of the velocity, for models that have one."""
    odds: tuple[float, ...] = (3, 1, 4, 4, 3, 1, 1, 1, 1)
    """Of each level and trend before anything is known. To take a moving stream for one at rest costs more than the
    contrary, and its error bars would be too short."""
    stay: float = 0.999
    """Chance that a model holds for another period; else one is drawn anew, by the odds learned so far."""
    damping: float = 0.995
    """What is left of a velocity after a period."""
    settling: float = 0.8
    """Chance that, after a jump, it stays open for another period whether there was one."""
    settling_drift: float = 0.001
    """The drift meanwhile."""
    epoch: float = 0.01
    """Chance a period, before anything is known, that many statistics jump at once,"""
    joining: float = 0.8
    """chance that one of them then does,"""
    alone: float = 0.002
    """and chance that one jumps by itself."""
    patience: float = 50.0
    """How many periods the first guess at those chances weighs,"""
    habit: float = 10.0
    """and the first guess at the odds of the models."""
    company: float = 1.5
    """How many values of the domain that first guess weighs, where the other ones show how the stream moves,"""
    strangers: float = 5.0
    """and how many statistics, where they are no values of one domain."""
    slowest: float = 0.05
    fastest: float = 5.0
    """The pace of no value is less, or more."""

    doubt: float = 0.65
    """In error bars a model counts by its chance times (its chance + this). Rest and small drifts are told apart so
    slowly that models which are wrong keep some weight for long: bars would hold 99.3 % of the errors of what stands.
    """

    @property
    def moving(self) -> int:
        """Levels and trends."""
        return len(self.levels) + len(self.trends)

    @property
    def rows(self) -> int:
        """All of them."""
        return self.moving + 2

    @property
    def trending(self) -> slice:
        """The rows that have a velocity."""
        return slice(len(self.levels), self.moving)

    @property
    def shares(self) -> Floats:
        """The odds, as shares: float64[moving, 1]."""
        return np.array(self.odds, np.float64)[:, None] / sum(self.odds)

    def pace(self, shares: Floats) -> Floats:
        """In proportion to share (1 - share), as what logits drift by moves shares; 1 on average: float64[d]."""
        room = np.minimum(shares, 1)
        room *= 1 - room
        np.maximum(room, 1e-300, out=room)
        mean = float(room.sum()) / len(room)
        np.minimum(room, self.fastest * mean, out=room)
        np.maximum(room, self.slowest * mean, out=room)
        room *= len(room) / float(room.sum())
        return np.asarray(room)

    @property
    def lasting(self) -> float:
        """The variance of a velocity that has drifted for long, over its drift."""
        return 1 / (1 - self.damping**2)
