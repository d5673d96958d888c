"""The expectation of the positive part of a sum of n independent scores, from above, however small it is.

Contract: E[(G_1 + ... + G_n)_+] is at most `value` times e^`log_scale`; of `value` inaccuracy may be `excess`.  Three
steps, each an upper bound or with an error that is added:

1. Every score moves to the points of a lattice on both its sides, so that its mean stays: the expectation of a convex
   function can only grow.
2. Chances are tilted by e^(theta score) until the sum's mean is about 0.  What is looked for then lies where the
   tilted sum is likely, and its relative accuracy does not depend on how small it is.
3. The law of the tilted sum is an inverse Fourier transform of an n-th power, and the weights s e^(-theta s) of sums
   s > 0 have a closed transform.  A cyclic lattice puts sums on top of each other: that only adds, but for the sums
   beyond the last one that is weighed, which are bounded by Chernoff and added.

Floating point: chances that are off by a relative u give n u; a transform of chances that sum to 1 is off by at most
8 u log2(points) at every frequency.  Not here: which scores (scores.py), delta (blanket.py).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.accounting.scores import Scores
from murmurate.randomizers.question import Floats

U = 2.0**-53
"""The unit of rounding of doubles."""
_FEWEST, _MOST = 1 << 16, 1 << 20  # points of a lattice
_STEP = 0.0229  # standard deviations of one tilted score
_REACH = 6.0  # standard deviations of the tilted sum that are weighed, to begin with
_TRIED = 48  # steps of the lattice: the one whose points lie nearest to the scores is taken
_FLAT = 2.0**-20  # the largest score over the smallest, where e^epsilon is next to the largest ratio
_STEEPEST = 300.0  # over the largest score: beyond twice that doubles overflow
_RARE = 8.0  # over the largest score: no need of a steeper tilt than this where few scores are large
_FADED = 80.0  # frequencies whose power is below e^-80 are not summed but bounded


class PositivePart(NamedTuple):
    """An upper bound, its inaccuracy, and the scale of both."""

    value: float
    excess: float
    log_scale: float


class Tilt(NamedTuple):
    """How strongly chances are tilted, and how far the sum of the tilted scores spreads."""

    theta: float
    spread: float


class Lattice(NamedTuple):
    """Scores on the points of a lattice, their chances tilted."""

    step: float
    places: NDArray[np.int64]
    """Numbers of the points."""
    weights: Floats
    """Tilted chances, which do not sum to 1."""
    last: int
    """The first sum that is not weighed, in steps."""
    log_beyond: float
    """The logarithm of the most that sums from there on can add to the expectation."""


def positive_part(scores: Scores, n: int, sharpness: float = 1.0) -> PositivePart:
    """The bound for n reports, never above n times that of one. sharpness: how many times as fine as usual the lattice
    is.
    """
    if not len(scores.values) or scores.values.max() <= 0:
        return PositivePart(0.0, 0.0, 0.0)
    alone = PositivePart(n * float(scores.chances @ np.maximum(scores.values, 0)) * (1 + 64 * U), 0.0, 0.0)
    if scores.values.max() < _FLAT * np.abs(scores.values).max():  # each by itself is enough, and a tilt too steep
        return alone
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            together = _on_lattice(scores, n, _tilted(scores, n), _points(n, sharpness))
    except (FloatingPointError, OverflowError):  # scores too rare and too large for doubles
        return alone
    scale = math.log(together.value) + together.log_scale if together.value > 0 else math.nan
    return together if scale < math.log(alone.value) and math.isfinite(together.excess) else alone


def _on_lattice(scores: Scores, n: int, tilt: Tilt, points: int) -> PositivePart:
    """The sum of tilted scores; above n times one score where these are rare and each too large for a lattice."""
    lattice = _lattice(scores, n, tilt, points)
    total = float(lattice.weights.sum())
    law = np.zeros(points)
    np.add.at(law, lattice.places % points, lattice.weights / total)
    value, error = _weighed(np.fft.rfft(law), n, points, tilt.theta * lattice.step, lattice.last)
    largest = float(np.abs(lattice.places).max()) * lattice.step
    relative = n * U * (32 + 8 * tilt.theta * largest) + 256 * U
    log_scale = n * math.log(total)
    value *= lattice.step
    excess = error * lattice.step + abs(value) * relative + math.exp(min(700.0, lattice.log_beyond - log_scale))
    return PositivePart(max(value, 0.0) + excess, excess, log_scale)


def _points(n: int, sharpness: float) -> int:
    wanted = max(_FEWEST, 2 * _REACH * math.sqrt(n) / _STEP) * sharpness
    return min(_MOST, 1 << math.ceil(math.log2(wanted)))


def _tilted(scores: Scores, n: int) -> Tilt:
    """The theta at which the mean is 0, by halving; a larger one where that is below one over the spread."""
    values = scores.values

    def moments(theta: float) -> tuple[float, float]:
        weights = scores.chances * np.exp(theta * values)
        total = float(weights.sum()) + scores.silent
        mean = float(weights @ values) / total
        return mean, float(weights @ (values - mean) ** 2 + scores.silent * mean**2) / total

    low, high = 0.0, 1 / float(values.max())
    while moments(high)[0] < 0 and high * float(values.max()) < _STEEPEST:
        low, high = high, 2 * high
    for _ in range(20):  # any theta gives a bound
        middle = (low + high) / 2
        low, high = (middle, high) if moments(middle)[0] < 0 else (low, middle)
    if not 0 < moments(high)[1] < math.inf:
        raise FloatingPointError("tilted scores that are all alike")
    theta = max(high, min(1 / math.sqrt(n * moments(high)[1]), _RARE / float(values.max())))
    return Tilt(theta, math.sqrt(n * moments(theta)[1]))


def _lattice(scores: Scores, n: int, tilt: Tilt, points: int) -> Lattice:
    """Wide enough for all sums where that is no coarser, else for what is likely and some more."""
    scored = scores.values
    whole = n * (float(scored.max()) - min(0.0, float(scored.min()))) / (points - 2 * n - 2) if points > 4 * n else 0.0
    reach = _REACH
    while True:
        wide = 2 * reach * tilt.spread / points
        step = _nearest_step(scores, tilt.theta, whole if 0 < whole <= wide else wide)
        places, chances = _split(scores, step)
        values = np.asarray(places * step, np.float64)
        weights = chances * np.exp(tilt.theta * values)
        low, high = int(places.min()), int(places.max())
        if n * (high - low) + 1 < points:
            return Lattice(step, places, weights, n * high + 1, -math.inf)
        last = points // 2
        beyond = _log_beyond(weights, values, n, tilt, last * step)
        expected = n * math.log(float(weights.sum())) - math.log(max(tilt.theta**2 * tilt.spread, 1e-300))
        below = _log_below(weights, values, n, tilt, (points - last) * step)
        if (beyond < expected - 25 and below < -14) or reach > 100:
            return Lattice(step, places, weights, last, beyond)
        reach *= 1.5


def _nearest_step(scores: Scores, theta: float, least: float) -> float:
    """The step, up to a third above the least one, whose lattice adds the least variance."""
    steps = least * np.geomspace(1.0, 4 / 3, _TRIED)
    parts = np.mod(scores.values[:, None] / steps[None], 1)
    weights = scores.chances * np.exp(theta * scores.values)
    return float(steps[int(np.argmin((weights @ (parts * (1 - parts))) * steps**2))])


def _split(scores: Scores, step: float) -> tuple[NDArray[np.int64], Floats]:
    """Points and their chances, that of 0 among them. The part that goes up is rounded up."""
    exact = scores.values / step
    low = np.floor(exact)
    up = np.minimum(1.0, exact - low + 4 * U * (np.abs(exact) + 1))
    places = np.concatenate(([0], low, low + 1)).astype(np.int64)
    return places, np.concatenate(([scores.silent], scores.chances * (1 - up), scores.chances * up))


def _log_beyond(weights: Floats, values: Floats, n: int, tilt: Tilt, x: float) -> float:
    """The logarithm of a bound of E[S; S >= x]: S is at most x e^(k (S - x)) there, for every k of at least 1 / x."""
    rates = [max(tilt.theta + more / tilt.spread, 1 / x) for more in range(0, 14, 2)]
    return min(math.log(x) - k * x + n * _log_moment(weights, (k - tilt.theta) * values) for k in rates)


def _log_below(weights: Floats, values: Floats, n: int, tilt: Tilt, x: float) -> float:
    """The logarithm of a bound of the tilted chance of sums of at most -x, which a cyclic lattice puts above 0."""
    total = math.log(float(weights.sum()))
    rates = [more / tilt.spread for more in range(2, 16, 2)]
    return min(n * (_log_moment(weights, -k * values) - total) - k * x for k in rates)


def _log_moment(weights: Floats, exponents: Floats) -> float:
    """The logarithm of the sum of weights times e to these."""
    exponents = np.where(weights > 0, exponents, -np.inf)
    top = float(exponents.max())
    return top + math.log(float(weights @ np.exp(exponents - top)))


def _weighed(transform: NDArray[np.complex128], n: int, points: int, rate: float, last: int) -> tuple[float, float]:
    """The sum of j e^(-rate j) over 0 < j < last under the law whose transform's n-th power is meant, and its error."""
    off = 8 * U * math.log2(points)
    sizes = np.abs(transform)
    cut = math.exp(-_FADED / n)
    kept = np.flatnonzero(sizes > cut)
    ratio, size = transform[kept], sizes[kept]
    power = np.exp(n * np.log(ratio))
    weights = _weights(kept, points, rate, last)
    twice = np.where((kept == 0) | (2 * kept == points), 1.0, 2.0) / points
    value = float((twice * (power * weights).real).sum())
    doubt = np.expm1(n * np.log1p(off / size) + 16 * n * U) + 2.0**-44
    error = float((twice * np.abs(power) * np.abs(weights) * doubt).sum())
    left = (cut + off) ** n * float(np.abs(_weights(np.zeros(1, np.int64), points, rate, last))[0])
    return value, error + left


def _weights(frequencies: NDArray[np.int64], points: int, rate: float, last: int) -> NDArray[np.complex128]:
    """The sum of j z^j over 0 < j < last, z = e^(-rate + 2 pi i k / points): a geometric series, differentiated."""
    turn = -rate + 2j * np.pi * frequencies / points
    ends = np.exp(-rate * (last - 1) + 2j * np.pi * (frequencies * (last - 1) % points) / points)
    less = -np.expm1(turn)
    return np.asarray(np.exp(turn) * (1 - ends * (1 + (last - 1) * less)) / less**2, np.complex128)
