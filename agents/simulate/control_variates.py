# SPDX-License-Identifier: Apache-2.0
"""Control variates of a squared error, with which few simulated runs are as precise as many.

Contract: every number of `ControlVariates.row` has expectation 0 whatever a method does, because it compares the result
of a round with its expectation just before, weighted by what was known then.  A linear filter of gain K turns an error
e into (1 - K) e + K v, whose square is (1 - K)^2 e^2 + K^2 V on average, V being the exact variance of the round's
noise v; the deviation from that is chance ("luck"), which persists in later errors.  `adjusted` subtracts from a mean
squared error the part that regresses on these deviations, by least squares over parts of the other runs; a part takes
all its periods' deviations, also where only some periods have an error.  Not here: runs (simulate_method.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRIFTS: Final = np.array([[1e-5], [1e-4], [1e-3], [1e-2], [1e-1], [1.0]])
"""The drifts that the linear filters assume, in units of the first round's variance."""
STRETCHES: Final = 20
"""The number of parts into which a run is cut."""
USUAL: Final = 0.08
"""A first guess at the relative error of an adjusted error over USUAL_PERIODS periods."""
USUAL_PERIODS: Final = 800
WEIGHT: Final = 4
"""The number of runs that the first guess USUAL counts for."""


class ControlVariates:
    """The control variates of one run."""

    def __init__(self) -> None:
        self._level: Floats = np.zeros((0, 0))  # of each filter: [filters, statistics]
        self._error = np.zeros_like(DRIFTS)
        self._unit = 0.0
        self.row = np.zeros(len(DRIFTS) + 1)
        """The deviations of the current period from their expectations: of each filter's squared error, and of
        publications'.
        """

    def advance(self) -> None:
        """Start the next period."""
        self.row = np.zeros_like(self.row)
        self._error = self._error + DRIFTS * self._unit

    def hear(self, estimate: Floats, truth: Floats, variance: float, *, published: bool) -> None:
        """Take a round's estimate, float64[statistics], with its truth and the mean of its exact variances."""
        if published:
            self.row[-1] += float(((estimate - truth) ** 2).mean()) - variance
        if not self._unit:
            self._unit = variance
            self._level = np.tile(estimate, (len(DRIFTS), 1))
            self._error = np.full_like(DRIFTS, variance)
            return
        gain = self._error / (self._error + variance)
        before = ((self._level - truth) ** 2).mean(axis=1)
        self._level = self._level + gain * (estimate - self._level)
        self._error = (1 - gain) * self._error
        after, weight, left = ((self._level - truth) ** 2).mean(axis=1), gain[:, 0], (1 - gain[:, 0]) ** 2
        self.row[:-1] += (after - left * before - weight**2 * variance) / (
            1 - left
        )  # it persists for 1 / (1 - left) periods


def adjusted(squares: Sequence[Floats], lucks: Sequence[Floats]) -> tuple[float, float]:
    """The mean of squared errors, and the relative standard error of its root. Arguments are given for each run, at
    least two: float64[periods] and float64[periods, lucks]; or, for errors of one random period out of each of equally
    long parts, float64[parts].

    The coefficients for a run are estimated from the others, so that the correction's expectation stays 0. The standard
    error comes from the differences between runs and a first guess, since a few runs may agree by chance.
    """
    cut = [_stretches(one, luck) for one, luck in zip(squares, lucks, strict=True)]
    each = np.array([
        one.mean() - luck.mean(axis=0) @ _coefficients([pair for j, pair in enumerate(cut) if j != i])
        for i, (one, luck) in enumerate(zip(squares, lucks, strict=True))
    ])  # fmt: skip
    raw, mean = float(np.mean(squares)), float(each.mean())
    if not raw / 4 < mean < 4 * raw:  # an implausibly large correction: the linear model does not hold
        mean, each = raw, np.array([one.mean() for one in squares])
    if not mean:
        return 0.0, 0.0
    guess = WEIGHT * (2 * USUAL) ** 2 * USUAL_PERIODS / len(lucks[0])
    spread = (guess + float(((each / mean - 1) ** 2).sum())) / (WEIGHT + len(squares) - 1)
    return mean, sqrt(spread / len(squares)) / 2


def _stretches(squares: Floats, luck: Floats) -> tuple[Floats, Floats]:
    """The means of a run's errors and control variates over equal parts of it."""
    stretches = min(STRETCHES, len(squares))
    return _means(squares[:, None], stretches)[:, 0], _means(luck, stretches)


def _means(series: Floats, stretches: int) -> Floats:
    """The means of each of so many equal parts: float64[stretches, columns]."""
    cuts = np.linspace(0, len(series), stretches + 1).astype(np.int64)
    return np.asarray(np.add.reduceat(series, cuts[:-1], axis=0) / np.diff(cuts)[:, None])


def _coefficients(runs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The coefficients of the control variates, by least squares: float64[lucks]."""
    y, x = (np.concatenate(part) for part in zip(*runs, strict=True))
    scale = np.maximum(np.abs(x).max(axis=0), 1e-300)
    return np.asarray(np.linalg.lstsq(x / scale, y - y.mean(), rcond=1e-6)[0] / scale)
