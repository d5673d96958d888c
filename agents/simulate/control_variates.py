"""How lucky a simulated run was, so that few runs tell as much as many: control variates of a squared error.

Contract: every number of `ControlVariates.row` has expectation 0 whatever a method does, because it compares how a
round turned out with what was expected of it just before, and weighs that by what was known then.  A linear filter of
gain K takes an error e to (1 - K) e + K v, and the square of that is (1 - K)^2 e^2 + K^2 V on average, V being the
exact variance of the round's noise v; what is more or less is luck, which goes on in later errors.  `adjusted` takes
off what a squared error had of it, by least squares over stretches of the other runs; of a stretch all luck counts,
also where its errors are those of some periods only.  Not here: runs (simulate_method.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRIFTS: Final = np.array([[1e-5], [1e-4], [1e-3], [1e-2], [1e-1], [1.0]])
"""The drifts that the filters suppose, in units of the first round's variance."""
STRETCHES: Final = 20
"""The number of parts into which a run is cut."""
USUAL: Final = 0.08
"""A first guess at how far an adjusted error of USUAL_PERIODS periods is usually off, as a part of it."""
USUAL_PERIODS: Final = 800
WEIGHT: Final = 4
"""How many runs the first guess USUAL weighs as much as."""


class ControlVariates:
    """Of one run."""

    def __init__(self) -> None:
        self._level: Floats = np.zeros((0, 0))  # of each filter: [filters, statistics]
        self._error = np.zeros_like(DRIFTS)
        self._unit = 0.0
        self.row = np.zeros(len(DRIFTS) + 1)
        """The current period's luck: each filter's, and that of publications themselves."""

    def advance(self) -> None:
        """On to the next period."""
        self.row = np.zeros_like(self.row)
        self._error = self._error + DRIFTS * self._unit

    def hear(self, estimate: Floats, truth: Floats, variance: float, *, published: bool) -> None:
        """A round's estimate: float64[statistics], and the mean of their exact variances."""
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
        self.row[:-1] += (after - left * before - weight**2 * variance) / (1 - left)  # it goes on in 1 / (1 - left)


def adjusted(squares: Sequence[Floats], lucks: Sequence[Floats]) -> tuple[float, float]:
    """The mean of squared errors, and how far its root is likely off, as a part of it. Of each run, at least two,
    float64[periods] and float64[periods, lucks]; or the errors of one period, whichever it is, out of each of equally
    long parts: float64[parts].

    What luck is worth in a run is learned from the others, so that its expectation stays 0. How far off, from how runs
    differ and a first guess, since a few may agree by chance.
    """
    cut = [_stretches(one, luck) for one, luck in zip(squares, lucks, strict=True)]
    each = np.array([
        one.mean() - luck.mean(axis=0) @ _worth([pair for j, pair in enumerate(cut) if j != i])
        for i, (one, luck) in enumerate(zip(squares, lucks, strict=True))
    ])  # fmt: skip
    raw, mean = float(np.mean(squares)), float(each.mean())
    if not raw / 4 < mean < 4 * raw:  # more luck than can be: the straight line does not hold
        mean, each = raw, np.array([one.mean() for one in squares])
    if not mean:
        return 0.0, 0.0
    guess = WEIGHT * (2 * USUAL) ** 2 * USUAL_PERIODS / len(lucks[0])
    spread = (guess + float(((each / mean - 1) ** 2).sum())) / (WEIGHT + len(squares) - 1)
    return mean, sqrt(spread / len(squares)) / 2


def _stretches(squares: Floats, luck: Floats) -> tuple[Floats, Floats]:
    """The means of stretches of a run."""
    stretches = min(STRETCHES, len(squares))
    return _means(squares[:, None], stretches)[:, 0], _means(luck, stretches)


def _means(series: Floats, stretches: int) -> Floats:
    """Of each of so many equal parts: float64[stretches, columns]."""
    cuts = np.linspace(0, len(series), stretches + 1).astype(np.int64)
    return np.asarray(np.add.reduceat(series, cuts[:-1], axis=0) / np.diff(cuts)[:, None])


def _worth(runs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """What luck adds to squared errors, by least squares: float64[lucks]."""
    y, x = (np.concatenate(part) for part in zip(*runs, strict=True))
    scale = np.maximum(np.abs(x).max(axis=0), 1e-300)
    return np.asarray(np.linalg.lstsq(x / scale, y - y.mean(), rcond=1e-6)[0] / scale)
