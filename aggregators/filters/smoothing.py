# SPDX-License-Identifier: Apache-2.0
"""Revisions: the estimates of past periods, now that later reports are known (fixed-lag smoothing).

Contract: `Past` keeps a filter's state at the end of its last periods; `revised` goes back through them, and gives the
oldest first.  A model that went on is smoothed as in the textbook (Rauch, Tung, Striebel); one that had ended or jumped
by the next period keeps its own state, so that no later level reaches back over a jump.  How likely each model was is
revised too.  Linear in the number of models.  Source: ARCHITECTURE section 5.8.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from murmurate.aggregators.filters.models import Floats, Models
from murmurate.aggregators.filters.pairs import Pairs
from murmurate.aggregators.filters.tracks import Tracks
from murmurate.randomizers.state import Arrays

_NAMES = ("weights", "shares", "units", "level", "variance", "velocity", "cross", "velocity_variance")


@dataclass(frozen=True, eq=False)
class Belief:
    """A filter's state at the end of a period: the arrays of Tracks, and what the step to the next one used."""

    weights: Floats
    shares: Floats
    units: Floats
    """The units of drifts and of fluctuations: float64[2, d]."""
    level: Floats
    variance: Floats
    velocity: Floats
    cross: Floats
    velocity_variance: Floats

    @classmethod
    def of(cls, tracks: Tracks, weights: Floats, shares: Floats, units: Floats) -> Belief:
        """A copy of these arrays, since the tracks change in place."""
        velocities = tracks.velocity.copy(), tracks.cross.copy(), tracks.velocity_variance.copy()
        return cls(weights.copy(), shares, units.copy(), tracks.level.copy(), tracks.variance.copy(), *velocities)

    def mixture(self) -> tuple[Floats, Floats]:
        """Mean and variance of all models together."""
        mean = np.einsum("kd,kd->d", self.weights, self.level)
        return mean, np.einsum("kd,kd->d", self.weights, self.variance + (self.level - mean) ** 2)


class Past:
    """The last periods, oldest first."""

    def __init__(self, models: Models, kept: int) -> None:
        self.models = models
        self.beliefs: deque[Belief] = deque(maxlen=kept)

    def revised(self, now: Belief, lag: int) -> tuple[Floats, Floats]:
        """Estimates and variances of the last `lag` periods that are kept: two float64[periods, d]."""
        found: list[tuple[Floats, Floats]] = []
        for belief in list(reversed(self.beliefs))[:lag]:
            now = _back(self.models, belief, now)
            found.append(now.mixture())
        means, variances = zip(*reversed(found), strict=True) if found else ((), ())
        shape = len(found), now.level.shape[1]
        return np.array(means).reshape(shape), np.array(variances).reshape(shape)

    def arrays(self) -> Arrays:
        """The whole state."""
        return {f"past_{name}": np.array([getattr(b, name) for b in self.beliefs]) for name in _NAMES if self.beliefs}

    def load(self, arrays: Arrays) -> None:
        """Take over `arrays`."""
        columns = [arrays[f"past_{name}"].copy() for name in _NAMES if f"past_{name}" in arrays]
        self.beliefs.clear()
        self.beliefs.extend(Belief(*rows) for rows in zip(*columns, strict=True))


def _back(m: Models, then: Belief, now: Belief) -> Belief:
    """The revised state of the period of `then`, from `now`, the revised state of the period after.

    1. How likely each model went on. 2. The smoothed states of models that went on. 3. The mixture with those that did
    not.
    """
    moving, settling, paired = m.moving, m.moving, m.paired
    weights, after = then.weights, now.weights

    # 1. how likely each model went on, ended (and gave to the pool), or was left by a jump: float64[rows, d]
    ended = weights[:-1] * (1 - m.stay)
    ended[settling] = weights[settling] * (1 - m.settling)
    leaving = ended.sum(axis=0)
    ended /= leaving
    entering = then.shares * leaving
    entering /= weights[:moving] * m.stay + entering
    resumed = weights[settling] * m.settling + weights[-1]
    went_on = np.empty_like(weights)
    went_on[:moving] = after[:moving] * (1 - entering)
    went_on[settling] = after[settling] * (weights[settling] * m.settling / resumed)
    went_on[-1] = after[settling] * (weights[-1] / resumed)
    kept = after[-1] * weights
    kept[:-1] += ended * (after[:moving] * entering).sum(axis=0)
    share = went_on / (went_on + kept)

    # 2. the smoothed states of models that went on
    lasting = [*(0.0 for _ in range(*m.paired.indices(m.moving))), *(1e30 for _ in m.seasonal)]
    drift = np.array([*m.levels, *lasting, m.settling_drift, m.settling_drift])[:, None] * then.units[0]
    next_level, next_variance = now.level.copy(), now.variance.copy()
    next_level[-1], next_variance[-1] = now.level[settling], now.variance[settling]
    gain = then.variance / np.maximum(then.variance + drift, np.finfo(float).tiny)
    level = then.level + gain * (next_level - then.level)
    variance = then.variance * (1 - gain) + gain * gain * next_variance
    moved = _pairs_back(m, then, now)
    level[paired], variance[paired] = moved.level, moved.variance

    # 3. together with those that did not
    def mixed(one: Floats, other: Floats) -> Floats:
        return np.asarray(share * one + (1 - share) * other)

    between = share * (1 - share)
    apart = level - then.level
    turned, part, both = moved.velocity - then.velocity, share[paired], between[paired]
    return Belief(
        went_on + kept,
        then.shares,
        then.units,
        mixed(level, then.level),
        mixed(variance, then.variance) + between * apart * apart,
        then.velocity + part * turned,
        then.cross + part * (moved.cross - then.cross) + both * apart[paired] * turned,
        then.velocity_variance + part * (moved.velocity_variance - then.velocity_variance) + both * turned * turned,
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Two states a model: float64[pairs, d]."""

    level: Floats
    variance: Floats
    velocity: Floats
    cross: Floats
    velocity_variance: Floats


def _pairs_back(m: Models, then: Belief, now: Belief) -> _Pairs:
    """State x + G (x' - F x), covariance P + G (P' - P-) G^T; P- = F P F^T + Q, G = P F^T / P-, entry by entry."""
    rows, pairs = m.paired, Pairs.of(m)
    h, c, units = pairs.push, pairs.left, pairs.each(then.units)
    a, b, aa, ab, bb = then.level[rows], then.velocity, then.variance[rows], then.cross, then.velocity_variance
    # P F^T and P-
    ca, cb, da, db = aa + h * ab, c * ab, ab + h * bb, c * bb
    paa = aa + 2 * h * ab + h * h * bb + pairs.noise_of_level * units
    pab, pbb = c * (ab + h * bb) + pairs.noise_of_both * units, c * c * bb + pairs.noise * units
    determinant = np.maximum(paa * pbb - pab * pab, 1e-12 * paa * pbb)  # what rounding may leave of it
    gaa, gab = (ca * pbb - cb * pab) / determinant, (cb * paa - ca * pab) / determinant
    gba, gbb = (da * pbb - db * pab) / determinant, (db * paa - da * pab) / determinant
    ea, eb = now.level[rows] - a - h * b, now.velocity - c * b
    xaa, xab, xbb = now.variance[rows] - paa, now.cross - pab, now.velocity_variance - pbb
    ua, ub, va, vb = gaa * xaa + gab * xab, gaa * xab + gab * xbb, gba * xaa + gbb * xab, gba * xab + gbb * xbb
    return _Pairs(
        a + gaa * ea + gab * eb,
        np.maximum(aa + ua * gaa + ub * gab, 0),
        b + gba * ea + gbb * eb,
        ab + ua * gba + ub * gbb,
        np.maximum(bb + va * gba + vb * gbb, 0),
    )
