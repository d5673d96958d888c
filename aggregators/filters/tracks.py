# SPDX-License-Identifier: Apache-2.0
"""The mean and variance of each statistic under each model: the Kalman filters of all models and statistics at once.

Contract: `observe` is the textbook update, `predict` the textbook prediction after the states of the models were mixed,
as far as one may have followed another (interacting multiple models).  Models that end give their states to one common
pool, and models that begin take theirs from it, so that mixing is linear in the number of models.  Variances are never
negative.  A trend that begins from a model without velocity has velocity 0, with the variance of long drift; a
fluctuation that begins takes the pool's state for its level.  Rows of a season take part in the mixing, and are then
set to their own predictions again (adaptive.py).
Source: ARCHITECTURE section 5.8.  Not here: how likely each model is (jumps.py, adaptive.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from murmurate.aggregators.filters.models import Floats, Models
from murmurate.aggregators.filters.pairs import Pairs


@dataclass(eq=False)
class Tracks:
    """Means and variances: float64[rows, d], and of second states, velocities or fluctuations, float64[pairs, d]."""

    models: Models
    level: Floats
    variance: Floats
    velocity: Floats
    cross: Floats
    """The covariance of both states."""
    velocity_variance: Floats
    most: Floats
    """No variance of a level is larger: float64[d]."""
    _drift: Floats = field(init=False)
    _pairs: Pairs = field(init=False)

    def __post_init__(self) -> None:
        self._drift = np.array(self.models.levels)[:, None]
        self._pairs = Pairs.of(self.models)

    @classmethod
    def at(cls, models: Models, center: Floats, spread: Floats, most: Floats) -> Tracks:
        """The state before any answer: the same for all models."""
        shape = models.rows, len(center)
        pairs = len(models.trends) + len(models.fluctuations), len(center)
        level, variance = np.broadcast_to(center, shape).copy(), np.broadcast_to(spread, shape).copy()
        variance[-1] += spread
        return cls(models, level, variance, np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), most)

    def begin(self, units: Floats) -> None:
        """Set the variances of second states, now that the units of drifts and of fluctuations are known, float64[2,
        d]. A fluctuation is there from the start, so that it adds to the variance of its model's sum.
        """
        fluctuating = slice(self._pairs.trends, None)
        self.velocity_variance[:] = self._pairs.usual * self._pairs.each(units)
        self.cross[fluctuating] = self.velocity_variance[fluctuating]
        self.variance[self.models.paired][fluctuating] += self.velocity_variance[fluctuating]

    def observe(self, seen: Floats, noise: Floats, noise_of_jump: Floats) -> Floats:
        """Take a measurement, and give its log likelihood under each model, up to a constant: float64[rows, d]."""
        paired = self.models.paired
        total = self.variance + noise
        total[-1] = self.variance[-1] + noise_of_jump
        miss = seen - self.level
        inverse = 1 / total
        pull = miss * inverse
        self.level += self.variance * pull
        self.velocity += self.cross * pull[paired]
        inside = inverse[paired]
        self.velocity_variance -= self.cross * self.cross * inside
        np.maximum(self.velocity_variance, 0, out=self.velocity_variance)
        self.cross *= noise * inside
        self.variance[:-1] *= noise * inverse[:-1]
        self.variance[-1] *= noise_of_jump * inverse[-1]
        likelihood = np.log(total, out=total)
        pull *= miss
        likelihood += pull
        likelihood *= -0.5
        return likelihood

    def predict(
        self, weights: Floats, shares: Floats, units: Floats, leap: Floats, whole: tuple[Floats, Floats]
    ) -> Floats:
        """Go on to the next period. Gives the chance of each model there unless it jumps: float64[rows - 1, d].

        weights: how likely each model was; shares: the odds of models that begin; units: of drifts and of fluctuations,
        float64[2, d]; leap: the variance of a jump; whole: mean and variance of the mixture, from which a jump starts.

        It works in place, on views of the arrays, since it runs for every period, model and statistic: 1. white
        fluctuations are dropped; 2. models that end give their states to a pool; 3. each model mixes its own state with
        its share of the pool; 4. after a jump the model of settling takes over; 5. drift, motion and jumps are added.
        """
        m, pairs, (unit, _) = self.models, self._pairs, units
        of_pair = pairs.each(units)
        moving, paired, settling = m.moving, m.paired, m.moving
        kept = slice(paired.start, paired.start + pairs.lasting)
        trends = slice(paired.start, paired.start + pairs.trends)
        white, fluctuating = slice(kept.stop, paired.stop), slice(pairs.trends, pairs.lasting)
        held, levels, variances = weights[:moving], self.level[:moving], self.variance[:moving]

        # 1. white fluctuations are dropped: of those models only the level is left
        levels[white] -= self.velocity[pairs.lasting :]
        variances[white] += self.velocity_variance[pairs.lasting :] - 2 * self.cross[pairs.lasting :]
        np.maximum(variances[white], 0, out=variances[white])

        # 2. the pool of those whose model ends
        ended, settled = held * (1 - m.stay), weights[settling] * (1 - m.settling)
        leaving = ended.sum(axis=0) + settled
        ended /= leaving
        settled /= leaving
        mean = _total(ended, levels) + settled * self.level[settling]
        off, off_settling = levels - mean, self.level[settling] - mean
        square = off * off
        pooled = _total(ended, variances) + _total(ended, square)
        pooled += settled * (self.variance[settling] + off_settling * off_settling)
        among, velocity = ended[trends], self.velocity[: pairs.trends]
        mean_velocity = _total(among, velocity)
        pooled_cross = _total(among, self.cross[: pairs.trends])
        pooled_cross += np.einsum("kd,kd,kd->d", among, off[trends], velocity)
        pooled_velocity = _total(among, self.velocity_variance[: pairs.trends])
        pooled_velocity += np.einsum("kd,kd,kd->d", among, velocity, velocity) - mean_velocity**2
        np.maximum(pooled_velocity, 0, out=pooled_velocity)

        # 3. into each model: its own state, and its share of the pool
        entering = shares * leaving
        chance = np.empty((moving + 1, len(mean)))
        np.multiply(held, m.stay, out=chance[:moving])
        chance[:moving] += entering
        entering /= chance[:moving]
        staying = 1 - entering
        square *= staying
        square += pooled
        square -= variances
        square *= entering
        variances += square
        off *= staying
        np.add(mean, off, out=levels)
        new, stay, off = entering[kept], staying[kept], off[kept]
        second, spread, cross = (each[: pairs.lasting] for each in (self.velocity, self.velocity_variance, self.cross))
        second[: pairs.trends] -= mean_velocity  # from here on the difference from that of the pool
        fresh = pairs.usual[: pairs.lasting] * of_pair[: pairs.lasting]
        fresh[: pairs.trends] *= 1 - among.sum(axis=0)  # models without a velocity
        fresh[fluctuating] *= new[fluctuating]
        variances[trends.stop : kept.stop] += fresh[fluctuating]
        cross *= stay
        off *= new
        off *= second
        cross += off
        cross[: pairs.trends] += new[: pairs.trends] * pooled_cross
        cross[fluctuating] += fresh[fluctuating]
        fresh[: pairs.trends] += pooled_velocity
        fresh[: pairs.trends] *= new[: pairs.trends]
        spread += new * second * second
        spread *= stay
        spread += fresh
        second *= stay
        second[: pairs.trends] += mean_velocity

        # 4. after a jump
        before = weights[settling] * m.settling
        both = before + weights[-1]
        jumped = weights[-1] / both
        apart = self.level[-1] - self.level[settling]
        self.variance[settling] *= 1 - jumped
        self.variance[settling] += jumped * (self.variance[-1] + (1 - jumped) * apart * apart)
        self.variance[settling] += m.settling_drift * unit
        self.level[settling] += jumped * apart
        chance[settling] = both
        chance /= chance.sum(axis=0)

        # 5. drift, motion and jumps
        self.variance[: paired.start] += self._drift * unit
        push, left = pairs.push[: pairs.lasting], pairs.left[: pairs.lasting]
        levels[kept] += push * second
        pushed = push * spread
        variances[kept] += push * (2 * cross + pushed)
        np.maximum(variances[kept], 0, out=variances[kept])
        variances[paired] += pairs.noise_of_level * of_pair
        cross += pushed
        cross *= left
        second *= left
        spread *= left * left
        spread += pairs.noise[: pairs.lasting] * of_pair[: pairs.lasting]
        cross += pairs.noise_of_both[: pairs.lasting] * of_pair[: pairs.lasting]
        self.velocity[pairs.lasting :] = 0
        fresh = pairs.noise[pairs.lasting :] * units[1]
        self.cross[pairs.lasting :] = self.velocity_variance[pairs.lasting :] = fresh
        self.level[-1] = whole[0]
        np.add(whole[1], leap, out=self.variance[-1])
        if (self.variance > self.most).any():
            self.cross *= np.sqrt(np.minimum(1, self.most / self.variance[paired]))  # the correlation stays
            np.minimum(self.variance, self.most, out=self.variance)
        return chance

    def without_jumps(self, weights: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the mixture where nothing jumps: two float64[d]."""
        held = weights[:-1] / weights[:-1].sum(axis=0)
        mean = _total(held, self.level[:-1])
        off = self.level[:-1] - mean
        return mean, _total(held, self.variance[:-1] + off * off)

    def confine(self, low: Floats, high: Floats) -> None:
        """Clip all levels to the possible range, after a period without answers. (After one with answers they are left
        as they are: clipping again and again would push small values up.)
        """
        np.clip(self.level, low, high, out=self.level)

    def mean(self, weights: Floats) -> Floats:
        """The mean of all models together: float64[d]."""
        return _total(weights, self.level)

    def noisy(self, weights: Floats, unit: Floats) -> Floats:
        """The part of the variance of an estimate that the noise of answers makes up: float64[d].

        At rest the estimate is a mean of answers, whose variance is noise alone. A model of any gain K < 1 that has
        held for long has 1 / (2 - K) of its variance from noise; the rest is how far it lags behind the truth.
        unit: the observation variance of an average period.
        """
        leaning, part = weights.copy(), 1 / (2 - np.minimum(self.variance / unit, 1))
        leaning[0] *= self.models.leaning
        part[0] = 1
        part *= self.variance
        return np.asarray(_total(leaning, part) / leaning.sum(axis=0))

    def spread(self, weights: Floats, mean: Floats) -> Floats:
        """The variance of all models together, how far they disagree included: float64[d]."""
        off = self.level - mean
        off *= off
        off += self.variance
        return _total(weights, off)


def _total(weights: Floats, values: Floats) -> Floats:
    """sum_k weights[k] values[k]: float64[d]. Without BLAS, so that the order of additions is everywhere the same."""
    return np.asarray(np.einsum("kd,kd->d", weights, values))
