"""The ways in which a statistic may move, as plain numbers: levels that drift, trends, fluctuations around a level,
seasons, jumps, and what follows them.

Contract: a drift is a variance a period, in units of the observation variance of an average period, so that a filter
of data in another unit, or of more reports, is the same filter; a model of drift rho forgets with gain about sqrt(rho).
Among the values of a domain it is larger where share (1 - share) is (`pace`): large shares move more.  What moves
farther than the statistic can go is unlikely from the start (`first_odds`).  Rows of every array of a filter: levels,
trends, fluctuations, seasons, settling, jump.  Source: ARCHITECTURE sections 5.8 and 5.9; grids, chances and
what is learned of them are our own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Season = tuple[float, float, float, float, float]
SEASONAL: tuple[Season, ...] = (
    (30, 0.999, 1.0, 0, 0.0005), (30, 0.999, 1.0, 0, 0.005), (30, 0.999, 0.5, 0, 0.003), (30, 0.8, 0.5, 0, 0.003),
    (30, 0.8, 0.5, 1, 0.01), (30, 0.8, 0.5, 10, 0.03),
)  # fmt: skip
"""Models of a season, where one is declared: the variance of its profile, the part of it that is smooth, how smooth
(seasons.py), the variance of white fluctuation around it, and the drift of the level.
"""
SEASONAL_ODDS = 1.0


@dataclass(frozen=True)
class Models:
    """One mixture; the defaults are the ones that were tuned."""

    levels: tuple[float, ...] = (0.0, 0.003, 0.02, 0.08, 0.4, 2.0, 10.0)
    """The drifts of models that have a level alone."""
    trends: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3)
    """The drifts of the velocity, for models that have one."""
    fluctuations: tuple[tuple[float, float], ...] = (
        (0.8, 0.03), (0.8, 0.3), (0.8, 3.0),
        (0.0, 0.01), (0.0, 0.03), (0.0, 0.1), (0.0, 0.3), (0.0, 1.0), (0.0, 3.0), (0.0, 30.0),
    )  # fmt: skip
    """For models that fluctuate around a level at rest: the part of the fluctuation that is left after a period, and
    the fluctuation's variance; models that keep nothing come last. Where every period has other people, the truth
    fluctuates; a small fluctuation can hardly be told from rest, and error bars hold it only where it is thought of.
    """
    seasonal: tuple[Season, ...] = ()
    """The models of a season: None, or SEASONAL."""
    odds: tuple[float, ...] = (3.5, 1, 3, 4, 3, 1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 1, 1, 2, 3, 2, 1, 1)
    """The odds of each model before anything is known. To take a moving stream for one at rest costs more than the
    contrary, and its error bars would be too short.
    """
    leaning: float = 11.0
    """How much more an estimate believes in rest than its bar does: where nothing moves, an average over all there was
    is best, and where something may, the bar says so.
    """
    farthest: float = 0.0003
    """A drifting model has half its odds where its drift in a period is this part of the largest variance that a
    statistic can have.
    """
    turning: float = 1_000.0
    """A model with a velocity has half its odds by what the velocity's drift comes to in this many periods."""
    wavering: float = 0.03
    """A fluctuating model has half its odds where the fluctuation is this part of the largest variance that a statistic
    can have.
    """
    stay: float = 0.999
    """Chance that a model holds for another period; else one is drawn anew, by the odds learned so far."""
    damping: float = 0.995
    """What is left of a velocity after a period."""
    settling: float = 0.8
    """Chance that, after a jump, it stays open for another period whether there was one."""
    settling_drift: float = 0.001
    """The drift while it stays open whether there was a jump."""
    epoch: float = 0.005
    """The chance in a period, before anything is known, that many statistics jump at once."""
    joining: float = 0.8
    """The chance that one statistic jumps in a period in which many jump at once, before anything is known."""
    alone: float = 0.001
    """The chance in a period that one statistic jumps by itself, before anything is known."""
    leap: float = 100.0
    """The variance of a jump, in units, below which jumps are rarer in proportion: they can hardly be told from noise,
    and each false one costs all that is known.
    """
    plain: float = 10.0
    """The number of reports below which what many statistics together say of jumps counts in proportion: reports are
    then so few that their errors are not normal, and in a sum over many values that looks like evidence.
    """
    patience: float = 50.0
    """How many periods the first guess at the chances of jumps weighs as much as."""
    habit: float = 10.0
    """How many periods the first guess at the odds of the models weighs as much as."""
    company: float = 1.5
    """How many values of one domain the first guess at the odds weighs as much as: the other values show how the stream
    moves.
    """
    strangers: float = 5.0
    """How many statistics the first guess at the odds weighs as much as, where they are not values of one domain."""
    slowest: float = 0.05
    fastest: float = 20.0
    """The pace of no value is less, or more."""

    sure: float = 1.0
    """A filter may miss by this many standard errors more than it says, and it is still taken for chance."""
    doubt: float = 0.65
    """In error bars a model counts by its chance times (its chance + this). Rest and small drifts are told apart so
    slowly that models which are wrong keep some weight for long: bars would hold 99.3 % of the errors of what stands.
    """

    @property
    def moving(self) -> int:
        """All that hold for longer."""
        return len(self.levels) + len(self.trends) + len(self.fluctuations) + len(self.seasonal)

    @property
    def rows(self) -> int:
        """All of them."""
        return self.moving + 2

    @property
    def paired(self) -> slice:
        """The rows that have a second state: a velocity, or what is off the level."""
        return slice(len(self.levels), len(self.levels) + len(self.trends) + len(self.fluctuations))

    @property
    def shares(self) -> Floats:
        """The odds, as shares: float64[moving, 1]."""
        return np.array(self.odds, np.float64)[:, None] / sum(self.odds)

    def with_season(self) -> Models:
        """The same with models of a season."""
        return replace(self, seasonal=SEASONAL, odds=(*self.odds, *(SEASONAL_ODDS for _ in SEASONAL)))

    def first_odds(self, room: float) -> Floats:
        """The shares where the largest variance of a statistic is so many units: float64[moving, 1]."""
        moved = (
            *self.levels,
            *(self.turning * drift for drift in self.trends),
            *(self.wavering * size for _, size in self.fluctuations),
            *(0.0 for _ in self.seasonal),
        )
        odds = self.shares / (1 + np.array(moved)[:, None] / (self.farthest * room))
        return np.asarray(odds / odds.sum())

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
