"""Where each model believes each statistic to be: the Kalman filters of all models and statistics at once.

Contract: `observe` is the textbook update, `predict` the textbook prediction after the models' beliefs were mixed, as
far as one may have followed another (interacting multiple models).  Whoever is left gives to one common pool and
whoever is entered draws from it, so that mixing is linear in the number of models.  Variances are never negative.
Only trends have a velocity; that of whoever becomes one is 0, with the variance of long drift.  Source: spec filter.md.
Not here: how likely each model is (jumps.py, adaptive.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from murmurate.aggregators.filters.models import Floats, Models


@dataclass(eq=False)
class Tracks:
    """Means and variances: float64[rows, d], and of velocities float64[trends, d]."""

    models: Models
    level: Floats
    variance: Floats
    velocity: Floats
    cross: Floats
    """Covariance of level and velocity."""
    velocity_variance: Floats
    most: Floats
    """No variance of a level is larger: float64[d]."""
    _drift: Floats = field(init=False)
    _spin: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._drift = np.array(self.models.levels)[:, None]
        self._spin = np.array(self.models.trends)[:, None]

    @classmethod
    def at(cls, models: Models, center: Floats, spread: Floats, most: Floats) -> Tracks:
        """Nothing observed: all models believe the same."""
        shape = models.rows, len(center)
        trends = len(models.trends), len(center)
        level, variance = np.broadcast_to(center, shape).copy(), np.broadcast_to(spread, shape).copy()
        variance[-1] += spread
        return cls(models, level, variance, np.zeros(trends), np.zeros(trends), np.zeros(trends), most)

    def begin(self, unit: Floats) -> None:
        """Now that the unit of drifts is known, velocities have a variance."""
        self.velocity_variance[:] = self._spin * (unit * self.models.lasting)

    def observe(self, seen: Floats, noise: Floats, noise_of_jump: Floats) -> Floats:
        """Take a measurement in; its log likelihood under each model, up to a constant: float64[rows, d]."""
        trending = self.models.trending
        total = self.variance + noise
        total[-1] = self.variance[-1] + noise_of_jump
        miss = seen - self.level
        inverse = 1 / total
        pull = miss * inverse
        self.level += self.variance * pull
        self.velocity += self.cross * pull[trending]
        inside = inverse[trending]
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
        self, weights: Floats, shares: Floats, unit: Floats, leap: Floats, whole: tuple[Floats, Floats]
    ) -> Floats:
        """On to the next period; the chance of each model there unless it jumps, float64[rows - 1, d].

        weights: how likely each model was; shares: how a model is drawn where one ends; unit: of drifts; leap: the
        variance of a jump; whole: mean and variance of the mixture, from where one jumps.
        """
        m = self.models
        moving, trending, settling = m.moving, m.trending, m.moving
        held, levels, variances = weights[:moving], self.level[:moving], self.variance[:moving]

        # 1. the pool of those whose model ends
        ended, settled = held * (1 - m.stay), weights[settling] * (1 - m.settling)
        leaving = ended.sum(axis=0) + settled
        ended /= leaving
        settled /= leaving
        mean = _total(ended, levels) + settled * self.level[settling]
        off, off_settling = levels - mean, self.level[settling] - mean
        square = off * off
        pooled = _total(ended, variances) + _total(ended, square)
        pooled += settled * (self.variance[settling] + off_settling * off_settling)
        among = ended[trending]
        mean_velocity = _total(among, self.velocity)
        off_velocity = self.velocity - mean_velocity
        pooled_cross = _total(among, self.cross) + np.einsum("kd,kd,kd->d", among, off[trending], self.velocity)
        pooled_velocity = _total(among, self.velocity_variance)
        pooled_velocity += np.einsum("kd,kd,kd->d", among, self.velocity, self.velocity) - mean_velocity**2
        np.maximum(pooled_velocity, 0, out=pooled_velocity)

        # 2. into each model: those who stay, and its share of the pool
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
        new, stay = entering[trending], staying[trending]
        still = unit * m.lasting * (1 - among.sum(axis=0))  # whoever had no velocity
        apart = new * off_velocity
        self.cross *= stay
        self.cross += new * pooled_cross + apart * off[trending]
        self.velocity_variance *= stay
        self.velocity_variance += new * (pooled_velocity + self._spin * still) + stay * apart * off_velocity
        self.velocity -= apart
        np.add(mean, off, out=levels)

        # 3. after a jump
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

        # 4. drift, motion and jumps
        steady, spin = slice(0, trending.start), self._spin * unit
        self.variance[steady] += self._drift * unit
        self.level[trending] += self.velocity
        self.variance[trending] += 2 * self.cross + self.velocity_variance
        np.maximum(self.variance[trending], 0, out=self.variance[trending])
        self.variance[trending] += spin / 3
        self.cross += self.velocity_variance
        self.cross *= m.damping
        self.cross += spin / 2
        self.velocity *= m.damping
        self.velocity_variance *= m.damping**2
        self.velocity_variance += spin
        self.level[-1] = whole[0]
        np.add(whole[1], leap, out=self.variance[-1])
        if (self.variance > self.most).any():
            self.cross *= np.sqrt(np.minimum(1, self.most / self.variance[trending]))  # the correlation stays
            np.minimum(self.variance, self.most, out=self.variance)
        return chance

    def confine(self, low: Floats, high: Floats) -> None:
        """Where nothing was heard for a period, no belief leaves what is possible. (Where something was, it stays as it
        is: to clip again and again would push small values up.)
        """
        np.clip(self.level, low, high, out=self.level)

    def mean(self, weights: Floats) -> Floats:
        """Of all models together: float64[d]."""
        return _total(weights, self.level)

    def spread(self, weights: Floats, mean: Floats) -> Floats:
        """The variance of all models together, how far they disagree included: float64[d]."""
        off = self.level - mean
        off *= off
        off += self.variance
        return _total(weights, off)


def _total(weights: Floats, values: Floats) -> Floats:
    """sum_k weights[k] values[k]: float64[d]. Without BLAS, so that the order of additions is everywhere the same."""
    return np.asarray(np.einsum("kd,kd->d", weights, values))
