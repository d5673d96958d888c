# SPDX-License-Identifier: Apache-2.0
"""The ways in which a statistic may move, as plain numbers: levels that drift, trends, fluctuations around a level,
seasons, jumps, and the settling after a jump.

Contract: a drift is a variance a period, in units of the observation variance of an average period, so that a filter
of data in another unit, or of more reports, is the same filter; a model of drift rho forgets with gain about sqrt(rho).
Among the values of a domain it is larger where share (1 - share) is: a fluctuation in proportion to that (`pace`), as
where every period has other people, a drift in proportion to its square (`drifting`), as where logits drift.  What
moves farther than the statistic can go is unlikely from the start (`first_odds`).  Rows of every array of a filter:
levels, trends, fluctuations, seasons, settling, jump.  Source: ARCHITECTURE sections 5.8 and 5.9; the grids, the
chances and how they are learned are our own.
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

    levels: tuple[float, ...] = (0.0, 0.0003, 0.003, 0.02, 0.08, 0.4, 2.0, 10.0)
    """The drifts of models that have a level alone."""
    trends: tuple[float, ...] = (1e-5, 1e-4, 1e-3)
    """The drifts of the velocity, for models that have one."""
    fluctuations: tuple[tuple[float, float], ...] = (
        (0.8, 0.03), (0.8, 0.3), (0.8, 3.0),
        (0.0, 0.01), (0.0, 0.03), (0.0, 0.1), (0.0, 0.3), (0.0, 1.0), (0.0, 3.0), (0.0, 30.0),
    )  # fmt: skip
    """For models that fluctuate around a level at rest: the part of the fluctuation that is left after a period, and
    the fluctuation's variance; models that keep nothing come last. Where every period has other people, the truth
    fluctuates; a small fluctuation is hard to distinguish from rest, and error bars cover it only with a model of it.
    """
    seasonal: tuple[Season, ...] = ()
    """The models of a season: None, or SEASONAL."""
    odds: tuple[float, ...] = (3.5, 1.5, 1, 3, 4, 3, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 1, 1, 2, 3, 2, 1, 1)
    """The odds of each model before anything is known. Taking a moving stream for one at rest costs more than the
    reverse: its error bars would be too short.
    """
    leaning: float = 11.0
    """How many times the weight of the model at rest counts in an estimate, but not in its error bar: at rest an
    average over all reports is best, and if something may move the bar covers it.
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
    """The chance that a model holds for another period; else one is drawn anew, by the odds learned so far."""
    damping: float = 0.995
    """The part of a velocity that is left after a period."""
    settling: float = 0.8
    """The chance that the model of settling after a jump holds for another period."""
    settling_drift: float = 0.001
    """The drift of the model of settling after a jump."""
    epoch: float = 0.005
    """The chance in a period, before anything is known, that many statistics jump at once."""
    joining: float = 0.8
    """The chance that one statistic jumps in a period in which many jump at once, before anything is known."""
    alone: float = 0.001
    """The chance in a period that one statistic jumps by itself, before anything is known."""
    leap: float = 100.0
    """The variance of a jump, in units, below which jumps are rarer in proportion: they are hard to distinguish from
    noise, and each false one costs all that was learned.
    """
    plain: float = 10.0
    """The variance of a jump, in units, below which the evidence of many statistics counts in proportion: reports are
    then so few that their errors are not normal, and in a sum over many values that looks like evidence.
    """
    patience: float = 50.0
    """The weight of the first guess at the chances of jumps, in periods."""
    habit: float = 10.0
    """The weight of the first guess at the odds of the models, in periods."""
    company: float = 1.5
    """The weight of the first guess at the odds, in values of one domain: other values show how the stream moves."""
    strangers: float = 5.0
    """The weight of the first guess at the odds, in statistics, where they are not values of one domain."""
    slowest: float = 0.05
    """The least pace of a value."""
    fastest: float = 20.0
    """The greatest pace of a value."""

    sure: float = 1.0
    """The excess of a mean square of innovations over 1, in standard errors, that is still taken for chance."""
    doubt: float = 0.65
    """In error bars a model counts by its chance times (its chance + this). Evidence between rest and small drifts
    grows so slowly that wrong models keep some weight for long: bars would cover 99.3 % of the errors at rest.
    """
    witnesses: float = 30.0
    """With so many other statistics the doubt is half of that: they show by then how the stream moves."""

    @property
    def moving(self) -> int:
        """The number of models that may hold for long: all but settling and jump."""
        return len(self.levels) + len(self.trends) + len(self.fluctuations) + len(self.seasonal)

    @property
    def rows(self) -> int:
        """The number of all models."""
        return self.moving + 2

    @property
    def paired(self) -> slice:
        """The rows that have a second state: a velocity, or the deviation from the level."""
        return slice(len(self.levels), len(self.levels) + len(self.trends) + len(self.fluctuations))

    @property
    def shares(self) -> Floats:
        """The odds, as shares: float64[moving, 1]."""
        return np.array(self.odds, np.float64)[:, None] / sum(self.odds)

    def with_season(self) -> Models:
        """These models, and those of a season."""
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
        """The pace of each value's fluctuation: in proportion to share (1 - share), and 1 on average: float64[d]."""
        room = np.minimum(shares, 1)
        room *= 1 - room
        np.maximum(room, 1e-300, out=room)
        mean = float(room.sum()) / len(room)
        np.minimum(room, self.fastest * mean, out=room)
        np.maximum(room, self.slowest * mean, out=room)
        room *= len(room) / float(room.sum())
        return np.asarray(room)

    @staticmethod
    def drifting(pace: Floats) -> Floats:
        """The pace of each value's drift: in proportion to the square of its pace; the fastest one keeps its own."""
        return np.asarray(pace * (pace / pace.max()))

    def doubted(self, others: float) -> float:
        """The doubt where so many other statistics are observed."""
        return self.doubt * self.witnesses / (self.witnesses + others)

    @property
    def lasting(self) -> float:
        """The variance of a velocity that has drifted for long, over its drift."""
        return 1 / (1 - self.damping**2)
