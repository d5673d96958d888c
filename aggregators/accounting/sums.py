# SPDX-License-Identifier: Apache-2.0
"""The expectation of the positive part of a sum of n independent scores, from above, however small it is.

Contract: E[(G_1 + ... + G_n)_+] is at most `value` times e^`log_scale`; of `value` inaccuracy may be `excess`.  Scores
have one law (`positive_part`), or several that take the same values, each with its own number (`positive_part_of`).
Three steps, each an upper bound or with an error that is added:

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
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.accounting.scores import Scores
from murmurate.randomizers.question import Floats

U = 2.0**-53
"""The unit of rounding of doubles."""
_FEWEST, _MOST = 1 << 16, 1 << 20  # points of a lattice
_STEP = 0.0229  # standard deviations of one tilted score
REACH = 6.0  # standard deviations of the tilted sum that are weighed, to begin with
TRIED = np.geomspace(1.0, 4 / 3, 48)  # steps of the lattice: the one whose points lie nearest to the scores is taken
NEAR = 1e-6  # a tilted mean of so small a part of its spread is 0
FLAT = 2.0**-20  # the largest score over the smallest, where e^epsilon is next to the largest ratio
STEEPEST = 300.0  # over the largest score: beyond twice that doubles overflow
RARE = 8.0  # over the largest score: no need of a steeper tilt than this where few scores are large
FADED = 80.0  # frequencies whose power is below e^-80 are not summed but bounded


class PositivePart(NamedTuple):
    """An upper bound, its inaccuracy, and the scale of both."""

    value: float
    excess: float
    log_scale: float


Kinds = Sequence[tuple[Scores, int]]
"""Laws of scores that take the same values, and how many scores have each."""


class Tilt(NamedTuple):
    """How strongly chances are tilted, and how far the sum of the tilted scores spreads."""

    theta: float
    spread: float


class Lattice(NamedTuple):
    """Scores on the points of a lattice, their chances tilted."""

    step: float
    places: NDArray[np.int64]
    """Numbers of the points."""
    weights: list[Floats]
    """Tilted chances by kind, which do not sum to 1."""
    last: int
    """The first sum that is not weighed, in steps."""
    log_beyond: float
    """The logarithm of the most that sums from there on can add to the expectation."""


def positive_part(scores: Scores, n: int, sharpness: float = 1.0) -> PositivePart:
    """The bound for n reports. sharpness: how many times as fine as usual the lattice is."""
    return positive_part_of([(scores, n)], sharpness)


def positive_part_of(kinds: Kinds, sharpness: float = 1.0) -> PositivePart:
    """The bound for reports of several kinds, whose scores take the same values with chances of their own: never above
    the sum of what each report gives by itself.
    """
    kinds = [(scores, number) for scores, number in kinds if number]
    if not kinds or not len(kinds[0][0].values) or kinds[0][0].values.max() <= 0:
        return PositivePart(0.0, 0.0, 0.0)
    scored = kinds[0][0].values
    each = sum(number * float(scores.chances @ np.maximum(scored, 0)) for scores, number in kinds)
    alone = PositivePart(each * (1 + 64 * U), 0.0, 0.0)
    if scored.max() < FLAT * np.abs(scored).max():  # each by itself is enough, and a tilt too steep
        return alone
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            together = _on_lattice(kinds, _tilted(kinds), sharpness)
    except (FloatingPointError, OverflowError):  # scores too rare and too large for doubles
        return alone
    scale = math.log(together.value) + together.log_scale if together.value > 0 else math.nan
    return together if scale < math.log(alone.value) and math.isfinite(together.excess) else alone


def _on_lattice(kinds: Kinds, tilt: Tilt, sharpness: float) -> PositivePart:
    """The sum of tilted scores; above the sum of all by themselves where these are rare and too large for a lattice."""
    n = sum(number for _, number in kinds)
    points = points_of(n, sharpness)
    lattice = _lattice(kinds, n, tilt, points)
    totals = [float(weights.sum()) for weights in lattice.weights]
    transforms = [
        (np.fft.rfft(_law(lattice.places % points, weights / total, points)), number)
        for weights, total, (_, number) in zip(lattice.weights, totals, kinds, strict=True)
    ]
    value, error = _weighed(transforms, points, tilt.theta * lattice.step, lattice.last)
    largest = float(np.abs(lattice.places).max()) * lattice.step
    relative = n * U * (32 + 8 * tilt.theta * largest) + 256 * U
    log_scale = sum(number * math.log(total) for total, (_, number) in zip(totals, kinds, strict=True))
    value *= lattice.step
    excess = error * lattice.step + abs(value) * relative + math.exp(min(700.0, lattice.log_beyond - log_scale))
    return PositivePart(max(value, 0.0) + excess, excess, log_scale)


def _law(places: NDArray[np.int64], chances: Floats, points: int) -> Floats:
    law = np.zeros(points)
    np.add.at(law, places, chances)
    return law


def points_of(n: int, sharpness: float) -> int:
    """The number of points of a lattice for n reports: a power of 2."""
    wanted = max(_FEWEST, 2 * REACH * math.sqrt(n) / _STEP) * sharpness
    return min(_MOST, 1 << math.ceil(math.log2(wanted)))


def _tilted(kinds: Kinds) -> Tilt:
    """The theta at which the mean is about 0, by Newton's steps; a larger one where that is below one over the spread.
    Any theta gives a bound.
    """
    values = kinds[0][0].values
    largest = float(values.max())

    def moments(theta: float) -> tuple[float, float]:
        mean, variance, powers = 0.0, 0.0, np.exp(theta * values)
        for scores, number in kinds:
            weights = scores.chances * powers
            total = float(weights.sum()) + scores.silent
            one = float(weights @ values) / total
            mean += number * one
            variance += number * float(weights @ (values - one) ** 2 + scores.silent * one**2) / total
        return mean, variance

    low, high = 0.0, 1 / largest
    while (found := moments(high))[0] < 0 and high * largest < STEEPEST:
        low, high = high, 2 * high
    theta = high
    for _ in range(20):
        mean, variance = found
        low, high = (theta, high) if mean < 0 else (low, theta)
        if not 0 < variance < math.inf or abs(mean) < NEAR * math.sqrt(variance):
            break
        step = theta - mean / variance  # the slope of the mean by theta is the variance
        theta = step if low < step < high else (low + high) / 2
        found = moments(theta)
    variance = found[1]
    if not 0 < variance < math.inf:
        raise FloatingPointError("tilted scores that are all alike")
    more = min(1 / math.sqrt(variance), RARE / largest)
    if theta < more:
        theta, variance = more, moments(more)[1]
    return Tilt(theta, math.sqrt(variance))


def _lattice(kinds: Kinds, n: int, tilt: Tilt, points: int) -> Lattice:
    """Wide enough for all sums where that is no coarser, else for what is likely and some more."""
    scored = kinds[0][0].values
    numbers = [number for _, number in kinds]
    whole = n * (float(scored.max()) - min(0.0, float(scored.min()))) / (points - 2 * n - 2) if points > 4 * n else 0.0
    reach = REACH
    while True:
        wide = 2 * reach * tilt.spread / points
        step = _nearest_step(kinds, tilt.theta, whole if 0 < whole <= wide else wide)
        places, chances = _split(kinds, step)
        values = np.asarray(places * step, np.float64)
        powers = np.exp(tilt.theta * values)
        weights = [part * powers for part in chances]
        low, high = int(places.min()), int(places.max())
        if n * (high - low) + 1 < points:
            return Lattice(step, places, weights, n * high + 1, -math.inf)
        last = points // 2
        sized = list(zip(weights, numbers, strict=True))
        beyond = _log_beyond(sized, values, tilt, last * step)
        expected = sum(number * math.log(float(part.sum())) for part, number in sized)
        expected -= math.log(max(tilt.theta**2 * tilt.spread, 1e-300))
        below = _log_below(sized, values, tilt, (points - last) * step)
        if (beyond < expected - 25 and below < -14) or reach > 100:
            return Lattice(step, places, weights, last, beyond)
        reach *= 1.5


def _nearest_step(kinds: Kinds, theta: float, least: float) -> float:
    """The step, up to a third above the least one, whose lattice adds the least variance."""
    values = kinds[0][0].values
    steps = least * TRIED
    parts = np.mod(values[:, None] / steps[None], 1)
    chances = sum((number * scores.chances for scores, number in kinds), np.zeros(len(values)))
    weights = chances * np.exp(theta * values)
    return float(steps[int(np.argmin((weights @ (parts * (1 - parts))) * steps**2))])


def _split(kinds: Kinds, step: float) -> tuple[NDArray[np.int64], list[Floats]]:
    """Points and their chances by kind, that of 0 among them. The part that goes up is rounded up."""
    exact = kinds[0][0].values / step
    low = np.floor(exact)
    up = np.minimum(1.0, exact - low + 4 * U * (np.abs(exact) + 1))
    places = np.concatenate(([0], low, low + 1)).astype(np.int64)
    chances = [np.concatenate(([scores.silent], scores.chances * (1 - up), scores.chances * up)) for scores, _ in kinds]
    return places, chances


Sized = Sequence[tuple[Floats, int]]
"""Tilted chances and how many reports have them."""


def _log_beyond(sized: Sized, values: Floats, tilt: Tilt, x: float) -> float:
    """The logarithm of a bound of E[S; S >= x]: S is at most x e^(k (S - x)) there, for every k of at least 1 / x."""
    rates = np.maximum(tilt.theta + np.arange(0, 14, 2) / tilt.spread, 1 / x)
    powers = (rates - tilt.theta)[:, None] * values
    found = math.log(x) - rates * x + sum(n * _log_moments(weights, powers) for weights, n in sized)
    return float(found.min())


def _log_below(sized: Sized, values: Floats, tilt: Tilt, x: float) -> float:
    """The logarithm of a bound of the tilted chance of sums of at most -x, which a cyclic lattice puts above 0."""
    total = sum(n * math.log(float(weights.sum())) for weights, n in sized)
    rates = np.arange(2, 16, 2) / tilt.spread
    powers = -rates[:, None] * values
    found = sum(n * _log_moments(weights, powers) for weights, n in sized) - total - rates * x
    return float(found.min())


def _log_moments(weights: Floats, exponents: Floats) -> Floats:
    """The logarithm of the sum of weights times e to these, by row."""
    exponents = np.where(weights > 0, exponents, -np.inf)
    top = exponents.max(axis=1)
    return np.asarray(top + np.log(np.exp(exponents - top[:, None]) @ weights))


def _weighed(
    transforms: Sequence[tuple[NDArray[np.complex128], int]], points: int, rate: float, last: int
) -> tuple[float, float]:
    """The sum of j e^(-rate j) over 0 < j < last under the law whose transform is the product of these to these powers,
    and its error.
    """
    off = 8 * U * math.log2(points)
    every = sum(n for _, n in transforms)
    cuts = [math.exp(-FADED / n) for _, n in transforms]
    sizes = [np.abs(transform) for transform, _ in transforms]
    kept = np.flatnonzero(np.logical_and.reduce([size > cut for size, cut in zip(sizes, cuts, strict=True)]))
    power, doubt = np.ones(len(kept), np.complex128), np.full(len(kept), 16 * every * U)
    for (transform, n), size in zip(transforms, sizes, strict=True):
        power *= powers(transform[kept], n)
        doubt += n * np.log1p(off / size[kept])
    weights = _weights(kept, points, rate, last)
    twice = np.where((kept == 0) | (2 * kept == points), 1.0, 2.0) / points
    value = float((twice * (power * weights).real).sum())
    error = float((twice * np.abs(power) * np.abs(weights) * (np.expm1(doubt) + 2.0**-44)).sum())
    faded = [(cut + off) ** n * (1 + off) ** (every - n) for cut, (_, n) in zip(cuts, transforms, strict=True)]
    left = max(faded) * float(np.abs(_weights(np.zeros(1, np.int64), points, rate, last))[0])
    return value, error + left


def powers(base: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """The n-th powers, by squares: each product adds less than 3 U, so that all of them add less than 3 n U."""
    found = np.ones_like(base)
    while True:
        if n & 1:
            found *= base
        n >>= 1
        if not n:
            return found
        base = base * base


def _weights(frequencies: NDArray[np.int64], points: int, rate: float, last: int) -> NDArray[np.complex128]:
    """The sum of j z^j over 0 < j < last, z = e^(-rate + 2 pi i k / points): a geometric series, differentiated."""
    turned, less_one = turns(points)
    # z and 1 - z, without loss where z is near 1
    z = math.exp(-rate) * turned[frequencies]
    less = -(math.expm1(-rate) * turned[frequencies] + less_one[frequencies])
    ends = math.exp(-rate * (last - 1)) * turned[frequencies * (last - 1) % points]
    return np.asarray(z * (1 - ends * (1 + (last - 1) * less)) / less**2, np.complex128)


@lru_cache(maxsize=8)
def turns(points: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """e^(2 pi i k / points) for all k below points, and the same less 1."""
    angles = 2j * np.pi * np.arange(points) / points
    return np.exp(angles), np.expm1(angles)
