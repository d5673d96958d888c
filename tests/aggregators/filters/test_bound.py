# SPDX-License-Identifier: Apache-2.0
"""How near the filter comes to filters that are told everything: of walks over 16 values at epsilon 2.5.

Told in each period how shares drift and how reports err, exactly: a Kalman filter for each value alone, and one for all
values together that knows how their drifts and errors hang together, and so that shares sum to 1.  The second is the
best that is linear in the reports.
"""

from __future__ import annotations

import numpy as np

from murmurate.agents.simulate.filter_error import SETTLED, Trial
from murmurate.agents.simulate.synthetic_counts import USERS
from murmurate.aggregators.filters.models import Floats
from murmurate.randomizers import OUE
from tests.cases import every

WALKS = Trial("walks", 2.5, "oue", d=16)
SIGMA = 0.02
"""Of the steps of logits (synthetic_counts.py)."""
W = 20


def alone(seen: Floats, noise: Floats, drift: Floats) -> Floats:
    """A filter for each value. noise, drift: covariances, of which the variances count."""
    level, error, best = seen[0], np.diag(noise[0]), np.empty_like(seen)
    for t, now in enumerate(seen):
        error = error + np.diag(drift[t]) * (t > 0)
        gain = error / (error + np.diag(noise[t])) * (t > 0)
        level, error = level + gain * (now - level), error * (1 - gain)
        best[t] = level
    return best


def together(seen: Floats, noise: Floats, drift: Floats) -> Floats:
    """One filter for all, which begins with what the first reports say of shares that sum to 1."""
    part = noise[0].sum(axis=1) / noise[0].sum()
    level, error = seen[0] + part * (1 - seen[0].sum()), noise[0] - np.outer(part, noise[0].sum(axis=0))
    best = np.empty_like(seen)
    for t, now in enumerate(seen):
        if t:
            error = error + drift[t]
            gain = error @ np.linalg.inv(error + noise[t])
            level, error = level + gain @ (now - level), error - gain @ error
        best[t] = level
    return best


def errors(seed: int) -> tuple[float, ...]:
    """Squared errors of LPA's own series, of the filter behind LPU, and of the two that are told everything."""
    true, lpu, lpa = WALKS.truth(seed).shares, WALKS.series("lpu", seed), WALKS.series("lpa", seed)
    oue, n = OUE(d=16, epsilon=WALKS.epsilon), USERS / W
    p, q = float(oue.p), float(oue.q)
    one_user = np.stack([np.diag(x) - np.outer(x, x) for x in true])
    of_cells = (p * (1 - p) * true + q * (1 - q) * (1 - true)) / (n * (p - q) ** 2)
    noise = np.stack([np.diag(x) for x in of_cells]) + one_user / n * (1 - 1 / W)
    drift = SIGMA**2 * one_user @ one_user
    assert lpu.best is not None
    said = lpa.said, lpu.best, alone(lpu.said, noise, drift), together(lpu.said, noise, drift)
    return tuple(float(((each - true)[SETTLED:] ** 2).sum()) for each in said)


@every("seeds", [1], long=[4])
def test_of_walks_at_a_large_epsilon_ours_beats_any_filter_of_single_values_and_is_near_the_best_there_is(
    seeds: int,
) -> None:
    lpa, ours, single, best = np.sum([errors(seed) for seed in range(seeds)], axis=0)
    assert best < ours < 1.05 * best
    assert ours < 0.98 * single
    assert best > 0.16 * lpa  # a target of .17 leaves this much room
