# SPDX-License-Identifier: Apache-2.0
"""The delta of one blanket at many epsilons at once, from above: what compositions ask for by the dozen.

Contract: each entry is at least the delta of n shuffled reports at its epsilon (blanket.py), inaccuracy included, and
is next to what `blanket.delta` gives on a lattice as fine.  The steps are those of sums.py, row by row in one array
each: a call costs a tenth of as many single ones where lattices are coarse.  Where doubles overflow the single ones are
asked.  Not here: several kinds of reports (sums.py), roots (search.py).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.accounting import sums
from murmurate.aggregators.accounting.blanket import MOST_LOG, MOST_REPORTS, delta, orders_of
from murmurate.aggregators.accounting.scores import PairAtoms
from murmurate.aggregators.accounting.sums import U
from murmurate.randomizers.question import Blanket, Floats

_LEAST: Final = 1e-300
_CELLS: Final = 1 << 18
"""How many points of lattices are held at a time."""


def deltas(blanket: Blanket, n: int, epsilons: Floats, sharpness: float) -> Floats:
    """Upper bounds of delta for the worse order of the pair, at each of the epsilons: float64[k]."""
    n = min(n, MOST_REPORTS)
    points = sums.points_of(n, sharpness)
    rows = max(1, _CELLS // points)
    parts = [epsilons[at : at + rows] for at in range(0, len(epsilons), rows)]
    return np.concatenate([_deltas(blanket, n, part, points, sharpness) for part in parts] or [np.zeros(0)])


@lru_cache(maxsize=256)
def loss_variance(blanket: Blanket) -> float:
    """What n times the variance of the loss of n reports comes to, where they are many."""
    return float(sum(atom.mass * (atom.one - atom.other) ** 2 for atom in blanket))


def _deltas(blanket: Blanket, n: int, epsilons: Floats, points: int, sharpness: float) -> Floats:
    worst = np.zeros(len(epsilons))
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            for pair in orders_of(blanket):
                worst = np.maximum(worst, _of_pair(pair, n, epsilons, points))
    except (FloatingPointError, OverflowError):
        return np.array([delta(blanket, n, float(at), sharpness).bound for at in epsilons])
    return worst


def _of_pair(pair: PairAtoms, n: int, epsilons: Floats, points: int) -> Floats:
    """Each report by itself; all together, where that is less and a lattice is any use."""
    ratios = np.where(epsilons > 0, np.exp(epsilons) * (1 - 2**-50), 1.0)
    values = np.nextafter(pair.one - np.nextafter(ratios[:, None] * pair.other, -np.inf), np.inf)
    alone = np.maximum(values, 0) @ pair.masses * (1 + 64 * U)
    largest = values.max(axis=1)
    rows = np.flatnonzero(largest >= np.maximum(sums.FLAT * np.abs(values).max(axis=1), _LEAST))
    found = alone.copy()
    if len(rows):
        found[rows] = np.minimum(alone[rows], _together(pair, values[rows], n, points))
    return np.where(largest > 0, found + _LEAST, 0.0)


class _Tilts(NamedTuple):
    """How strongly the chances of each row are tilted, and how far the sums of tilted scores spread."""

    theta: Floats
    spread: Floats


def _together(pair: PairAtoms, values: Floats, n: int, points: int) -> Floats:
    """The sum of tilted scores, by row.

    1. Tilts, and a lattice a row, wide enough for what is likely.  2. Laws on the lattice, and their transforms.
    3. The weighted sum of their n-th powers, with what inaccuracy and sums beyond the lattice may add.
    """
    tilts = _tilted(pair, values, n)
    steps, places, weights, last, beyond = _lattices(pair, values, n, tilts, points)
    totals = weights.sum(axis=1)
    rows = np.arange(len(values))
    laws = np.bincount(
        (rows[:, None] * points + places % points).ravel(), (weights / totals[:, None]).ravel(), len(values) * points
    )
    transforms = np.fft.rfft(laws.reshape(len(values), points), axis=1)
    value, error = _weighed(transforms, n, points, tilts.theta * steps, last)
    largest = np.abs(places).max(axis=1) * steps
    relative = n * U * (32 + 8 * tilts.theta * largest) + 256 * U
    log_scale = n * np.log(totals)
    value = value * steps
    excess = error * steps + np.abs(value) * relative + np.exp(np.clip(beyond - log_scale, -700.0, 700.0))
    bound = np.maximum(value, 0.0) + excess
    usable = np.isfinite(bound) & (log_scale <= MOST_LOG)
    return np.where(usable, bound * np.exp(np.where(usable, log_scale, 0.0)) / n, np.inf)


def _moments(pair: PairAtoms, values: Floats, n: int, theta: Floats) -> tuple[Floats, Floats]:
    weights = pair.masses * np.exp(theta[:, None] * values)
    total = weights.sum(axis=1) + pair.silent
    mean = (weights * values).sum(axis=1) / total
    spread = (weights * (values - mean[:, None]) ** 2).sum(axis=1) + pair.silent * mean**2
    return n * mean, n * spread / total


def _tilted(pair: PairAtoms, values: Floats, n: int) -> _Tilts:
    """The theta at which the mean is about 0, by Newton's steps, as sums.py has it. Any theta gives a bound."""
    largest = values.max(axis=1)
    low, high = np.zeros(len(values)), 1 / largest
    mean, variance = _moments(pair, values, n, high)
    while (more := (mean < 0) & (high * largest < sums.STEEPEST)).any():
        low, high = np.where(more, high, low), np.where(more, 2 * high, high)
        mean, variance = _moments(pair, values, n, high)
    theta = high
    for _ in range(20):
        low, high = np.where(mean < 0, theta, low), np.where(mean < 0, high, theta)
        if (np.abs(mean) < sums.NEAR * np.sqrt(variance)).all():
            break
        step = theta - mean / variance
        theta = np.where((low < step) & (step < high), step, (low + high) / 2)
        mean, variance = _moments(pair, values, n, theta)
    theta = np.maximum(theta, np.minimum(1 / np.sqrt(variance), sums.RARE / largest))
    return _Tilts(theta, np.sqrt(_moments(pair, values, n, theta)[1]))


_Lattices = tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64], Floats]


def _lattices(pair: PairAtoms, values: Floats, n: int, tilts: _Tilts, points: int) -> _Lattices:
    """Steps, places, tilted chances, the first sum that is not weighed, and what sums from there on may add (its
    logarithm).  Rows whose lattice is too narrow for what is likely get a wider one.
    """
    lowest, largest = np.minimum(0.0, values.min(axis=1)), values.max(axis=1)
    whole = n * (largest - lowest) / (points - 2 * n - 2) if points > 4 * n else np.full(len(values), np.inf)
    reach = np.full(len(values), sums.REACH)
    while True:
        steps = _nearest(pair, values, tilts.theta, np.minimum(whole, 2 * reach * tilts.spread / points))
        exact = values / steps[:, None]
        low = np.floor(exact)
        up = np.minimum(1.0, exact - low + 4 * U * (np.abs(exact) + 1))
        silent = np.full((len(values), 1), pair.silent)
        places = np.concatenate((np.zeros_like(silent), low, low + 1), axis=1).astype(np.int64)
        chances = np.concatenate((silent, pair.masses * (1 - up), pair.masses * up), axis=1)
        at = places * steps[:, None]
        weights = chances * np.exp(tilts.theta[:, None] * at)
        high, span = places.max(axis=1), places.max(axis=1) - places.min(axis=1)
        fits = n * span + 1 < points
        last = np.where(fits, n * high + 1, points // 2)
        beyond = np.where(fits, -np.inf, _log_beyond(weights, at, n, tilts, last * steps))
        below = _log_below(weights, at, n, tilts, (points - last) * steps)
        expected = n * np.log(weights.sum(axis=1)) - np.log(np.maximum(tilts.theta**2 * tilts.spread, 1e-300))
        enough = fits | ((beyond < expected - 25) & (below < -14)) | (reach > 100)
        if enough.all():
            return steps, places, weights, last, beyond
        reach = np.where(enough, reach, 1.5 * reach)


def _nearest(pair: PairAtoms, values: Floats, theta: Floats, least: Floats) -> Floats:
    """The steps, up to a third above the least ones, whose lattices add the least variance."""
    steps = least[:, None] * sums.TRIED
    parts = np.mod(values[:, :, None] / steps[:, None], 1)
    weights = pair.masses * np.exp(theta[:, None] * values)
    added = np.einsum("rk,rkt->rt", weights, parts * (1 - parts)) * steps**2
    return np.asarray(steps[np.arange(len(steps)), np.argmin(added, axis=1)])


def _log_beyond(weights: Floats, at: Floats, n: int, tilts: _Tilts, x: Floats) -> Floats:
    """The logarithm of a bound of E[S; S >= x] by row: S is at most x e^(k (S - x)) there, for k of at least 1 / x."""
    rates = np.maximum(tilts.theta[:, None] + np.arange(0, 14, 2) / tilts.spread[:, None], 1 / x[:, None])
    moments = _log_moments(weights, (rates - tilts.theta[:, None])[:, :, None] * at[:, None])
    return np.asarray((np.log(x)[:, None] - rates * x[:, None] + n * moments).min(axis=1))


def _log_below(weights: Floats, at: Floats, n: int, tilts: _Tilts, x: Floats) -> Floats:
    """The logarithm of a bound of the tilted chance of sums of at most -x, by row."""
    rates = np.arange(2, 16, 2) / tilts.spread[:, None]
    moments = _log_moments(weights, -rates[:, :, None] * at[:, None]) - np.log(weights.sum(axis=1))[:, None]
    return np.asarray((n * moments - rates * x[:, None]).min(axis=1))


def _log_moments(weights: Floats, exponents: Floats) -> Floats:
    """The logarithm of the sum of weights times e to these: float64[rows, rates]."""
    exponents = np.where(weights[:, None] > 0, exponents, -np.inf)
    top = exponents.max(axis=2)
    with np.errstate(under="ignore"):
        total = (np.exp(exponents - top[:, :, None]) * weights[:, None]).sum(axis=2)
    return np.asarray(top + np.log(total))


def _weighed(
    transforms: NDArray[np.complex128], n: int, points: int, rates: Floats, last: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """The sums of j e^(-rate j) over 0 < j < last under the laws whose transforms are these to the n-th power, and
    their errors.
    """
    off = 8 * U * math.log2(points)
    cut = math.exp(-sums.FADED / n)
    rows, kept = np.nonzero(transforms.real**2 + transforms.imag**2 > cut**2)
    found = transforms[rows, kept]
    power = sums.powers(found, n)
    doubt = 16 * n * U + n * np.log1p(off / np.abs(found))
    turned, less_one = sums.turns(points)
    weights = _weights(turned[kept], less_one[kept], turned[kept * (last[rows] - 1) % points], rates[rows], last[rows])
    twice = np.where((kept == 0) | (2 * kept == points), 1.0, 2.0) / points
    value = np.asarray(np.bincount(rows, twice * (power * weights).real, len(rates)), np.float64)
    size = twice * np.abs(power) * np.abs(weights) * (np.expm1(doubt) + 2.0**-44)
    one = np.ones(len(rates), np.complex128)
    most = np.abs(_weights(one, np.zeros_like(one), one, rates, last))
    return value, np.bincount(rows, size, len(rates)) + (cut + off) ** n * most


def _weights(
    turned: NDArray[np.complex128], less_one: NDArray[np.complex128], end: NDArray[np.complex128], rates: Floats,
    last: NDArray[np.int64],
) -> NDArray[np.complex128]:  # fmt: skip
    """The sum of j z^j over 0 < j < last, z = e^(-rate + 2 pi i k / points), as sums.py has it."""
    z = np.exp(-rates) * turned
    less = -(np.expm1(-rates) * turned + less_one)
    ends = np.exp(-rates * (last - 1)) * end
    return np.asarray(z * (1 - ends * (1 + (last - 1) * less)) / less**2, np.complex128)
