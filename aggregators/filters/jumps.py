# SPDX-License-Identifier: Apache-2.0
"""Whether statistics jumped in this period: by the evidence of all of them, and by how often they jumped before.

Contract: many statistics jump at once with a chance of their own (an epoch), each of them then with chance `joining`;
besides, each may jump alone.  The posterior is exact in that model.  Frequencies sum to 1, so that d of them are d - 1
observations and their evidence counts (d - 1) / d.  The chances are learned: from a first guess with the weight of some
periods, and the jumps since; where a leap is hardly larger than the noise, both are smaller, and evidence counts less
(Models.leap, Models.plain).  Our own (ARCHITECTURE section 5.8).  Compared with a test of each category alone, the
error bars of the others are right at once after a jump, and small evidence in many of them is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from murmurate.aggregators.filters.models import Floats, Models

_FAR = 700.0
"""Beyond it e^-x is as good as 0, and e^x is no number."""


@dataclass
class Jumps:
    """The chances of jumps, as learned so far."""

    models: Models
    independent: float
    """The share of the statistics that are independent observations."""
    room: float = inf
    """The variance of a leap, in units."""
    periods: int = 0
    epochs: float = 0.0
    """The expected number of periods in which many statistics jumped at once, given what was seen."""
    alone: float = 0.0
    """The expected number of jumps of one statistic in the other periods, given what was seen."""

    @property
    def chances(self) -> tuple[float, float]:
        """The chance of an epoch, and that of a statistic to jump without one; both are smaller where a leap is hardly
        more than noise.
        """
        m = self.models
        weight = max(1.0, m.leap / self.room) * (m.patience + self.periods)
        return (m.epoch * m.patience + self.epochs) / weight, (m.alone * m.patience + self.alone) / weight

    @property
    def chance(self) -> float:
        """The chance that a statistic jumps."""
        epoch, alone = self.chances
        return epoch * self.models.joining + (1 - epoch) * alone

    def seen(self, ratio: Floats) -> tuple[Floats, float, float]:
        """From log likelihood ratios of a jump against none: the chance of a jump of each statistic, the chance of an
        epoch, and the expected number of jumps per statistic without one.
        """
        epoch, alone = self.chances
        joining = self.models.joining
        together, apart = _odds(joining), _odds(alone)
        evidence = np.logaddexp(np.log1p(-joining), np.log(joining) + ratio)
        evidence -= np.logaddexp(np.log1p(-alone), np.log(max(alone, 1e-300)) + ratio)
        counts = self.independent * min(1.0, self.room / self.models.plain)
        many = float(_chance(np.asarray(_odds(epoch) + counts * evidence.sum())))
        single = (1 - many) * _chance(ratio + apart)
        return many * _chance(ratio + together) + single, many, float(single.mean())

    def learn(self, epoch: float, alone: float) -> None:
        """Take what `seen` found in a period that is over."""
        self.periods += 1
        self.epochs += epoch
        self.alone += alone


def _odds(chance: float) -> float:
    """The logarithm of the odds."""
    return float(np.log(max(chance, 1e-300)) - np.log1p(-chance))


def _chance(odds: Floats) -> Floats:
    """The chance from the logarithm of the odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -_FAR, _FAR))))
