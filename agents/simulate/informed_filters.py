# SPDX-License-Identifier: Apache-2.0
"""The smallest errors of linear filters that know how the truth moves: the standard for the width of error bars.

Contract: the squared errors of a family of causal linear filters over the series of raw answers, each the Kalman filter
of one way of moving, in units of the answers' noise; which of them fits a value best is chosen in hindsight by the true
errors, so that the best of the family knows more than anyone can.  Its own error is measured, never claimed.  The ways:
  a level that walks, by any variance a period, from rest to so fast that the last answer is all there is;
  a level, at rest or walking, and a fluctuation around it that keeps 0, .5, .8 or .95 of itself: white noise too;
  a level with a velocity that walks, with a small drift of its own or none;
  where a season is declared, a level and a profile of the day that is learned, period by period or as three harmonics,
  with white noise around or none.
White noise, walks, trends and seasons have the filter in it that is the best of all linear ones (within the grid, whose
steps cost 1 %).  All begin with nothing but how far shares can lie from each other.  Frequencies that need not sum to
1 are first made to, as the adaptive filter makes them.  Not here: the adaptive filter, what is measured
(filter_comparison.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Parts = Sequence[Floats | float]

WALKS: Final = (0.0, *(10 ** (half / 2) for half in range(-12, 5)))
"""Variances of a level's step, in units of an answer's noise."""
SLOW_WALKS: Final = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""Variances of a level's step under a fluctuation or a velocity, in units of an answer's noise."""
KEPT: Final = (0.0, 0.5, 0.8, 0.95)
"""The parts of a fluctuation that remain after a period."""
FLUCTUATIONS: Final = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
"""Variances of a fluctuation, in units of an answer's noise."""
TURNS: Final = tuple(10 ** (half / 2) for half in range(-20, 1))
"""Variances of a velocity's step."""
DRIFTS: Final = (0.0, 1e-3)
"""Variances of a level's step where the level has a velocity."""
OF_DAYS: Final = (0.0, 1e-3, 3e-2)
"""Variances of a step of the daily profile, for each period."""
UNDER_DAYS: Final = (0.0, 1e-4, 1e-3, 1e-2)
"""Variances of a step of the level under a daily profile."""
AROUND_DAYS: Final = (0.0, 0.3, 3.0)
"""Variances of white fluctuation around a daily profile and its level."""
HARMONICS: Final = 3
"""The number of harmonics of a smooth daily profile."""
DAMPING: Final = 0.995
"""The part of a velocity that remains after a period."""


@dataclass(frozen=True, eq=False)
class Ways:
    """Linear models with states of one size: x' = F x + a step of variance Q, an answer H x + noise of variance 1."""

    keep: Floats
    """The matrices F: float64[ways, k, k]."""
    step: Floats
    """The variances Q: float64[ways, k, k]."""
    seen: Floats
    """The rows H: float64[cycle, k]; a row for each period of a season, or one for all."""
    begin: Floats
    """The first state's variance: float64[ways, k, k]."""

    def at(self, t: int) -> Floats:
        """The row H of period t."""
        return np.asarray(self.seen[t % len(self.seen)])


def squared_errors(seen: Floats, true: Floats, *, start: float, unit: float, season: int | None) -> Floats:
    """The squared errors of each filter of the family, in each period, for each value: float64[filters, periods,
    values].

    seen: raw answers, float64[periods, values]; start: the mean of shares, 1 / d; unit: the usual variance of answers;
    season: periods of a day, where declared.
    """
    spread = float(f"{max(1e-3, start * (1 - start) / unit):.1g}")  # gains are the same where this nearly is
    return np.concatenate([
        (_followed(ways, gains, seen - start) - (true - start)) ** 2
        for ways, gains in _gains(len(seen), spread, season)
    ])  # fmt: skip


def summed(seen: Floats, *, sums: bool) -> Floats:
    """Raw frequencies, corrected to sum to 1. sums: whether they do already."""
    return seen if sums else np.asarray(seen + (1 - seen.sum(axis=1, keepdims=True)) / seen.shape[1])


def _followed(ways: Ways, gains: Floats, seen: Floats) -> Floats:
    """The estimates of all filters: float64[filters, periods, values]."""
    states = np.zeros((len(ways.keep), ways.keep.shape[1], seen.shape[1]))
    found = np.empty((len(ways.keep), *seen.shape))
    for t, answer in enumerate(seen):
        states = ways.keep @ states
        row = ways.at(t)
        states += gains[t][:, :, None] * (answer - row @ states)[:, None, :]
        found[:, t] = row @ states
    return found


@lru_cache(maxsize=8)
def _gains(periods: int, spread: float, season: int | None) -> tuple[tuple[Ways, Floats], ...]:
    """The models and their gains, float64[periods, filters, k] each, which do not depend on the answers."""
    return tuple((ways, _kalman(ways, periods)) for ways in _family(spread, season))


def _kalman(ways: Ways, periods: int) -> Floats:
    gains = np.empty((periods, *ways.step.shape[:2]))
    error = ways.begin.copy()
    for t in range(periods):
        if t:
            error = ways.keep @ error @ ways.keep.transpose(0, 2, 1) + ways.step
        row = ways.at(t)
        along = error @ row
        gain = along / (along @ row + 1)[:, None]
        error = error - gain[:, :, None] * along[:, None, :]
        gains[t] = gain
    return gains


def _family(spread: float, season: int | None) -> Iterator[Ways]:
    one = np.ones((1, 1))
    walks = np.array(WALKS)[:, None, None]
    yield Ways(np.ones_like(walks), walks, one, np.full_like(walks, spread))

    walk, kept, size = np.array(list(product(SLOW_WALKS, KEPT, FLUCTUATIONS))).T
    yield _apart([np.ones_like(kept), kept], [walk, size * (1 - kept**2)], np.ones((1, 2)), [spread, size])

    drift, turn = np.array(list(product(DRIFTS, TURNS))).T
    trend = _apart([1, DAMPING], [drift, turn], np.array([[1.0, 0.0]]), [spread, turn / (1 - DAMPING**2)])
    trend.keep[:, 0, 1] = 1
    yield trend

    if season is not None:
        own, walk, size = np.array(list(product(OF_DAYS, UNDER_DAYS, AROUND_DAYS))).T
        turns = 2 * np.pi * np.arange(season)[:, None] * np.arange(1, HARMONICS + 1) / season
        for profile in (np.eye(season), np.hstack((np.cos(turns), np.sin(turns)))):
            k = profile.shape[1]
            seen = np.hstack((np.ones((season, 2)), profile))
            yield _apart([1, 0, *[1] * k], [walk, size, *[own] * k], seen, [spread, size, *[spread] * k])


def _apart(keep: Parts, step: Parts, seen: Floats, begin: Parts) -> Ways:
    """Models that combine two parts which move independently."""
    ways = max(np.size(part) for part in step)
    return Ways(_diagonal(keep, ways), _diagonal(step, ways), seen, _diagonal(begin, ways))


def _diagonal(parts: Parts, ways: int) -> Floats:
    """Diagonal matrices with these entries: float64[ways, k, k]."""
    columns = np.stack([np.broadcast_to(np.asarray(part, np.float64), ways) for part in parts], axis=1)
    return np.asarray(columns[:, :, None] * np.eye(len(parts)))
