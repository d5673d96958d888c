# SPDX-License-Identifier: Apache-2.0
"""Power: what a value's count most likely is on average, when few values are frequent and most are rare.

Contract: with counts x = 1..n and the prior Pr[x] proportional to x^-a, every estimate e becomes
sum x Pr[x] N(n e - x; 0, s) / sum Pr[x] N(n e - x; 0, s), over n, where s is the deviation of a count (Var* for a
value that nobody holds).  It keeps the order of the estimates, lies in [1/n, 1], and its sum is whatever it becomes;
PowerNS is Norm-Sub of it.  The same input gives the same output: no sampling, no search that may stop early.
Source: Wang 2021, equation 8.7. The text does not say how the prior is fitted; as in its authors' public code
(vvv214/LDP_Protocols), the prior's mean is made equal to the mean estimate, by bisection, and a = 1.01 where the mean
is below one user, which no prior of this family has.  Deviations from that code: weights are logarithms, all values of
x count (it cuts a window and rounds the estimates to tens), and a may go down to 0 for small domains.
Not here: whether the data follow such a law (query.py).
"""

import functools
import math
from typing import Final

import numpy as np

from murmurate.aggregators.postprocess.context import Context, Floats, sum_of
from murmurate.aggregators.postprocess.norm import norm_sub

BELOW_ONE: Final = 1.01
"""The exponent where the mean estimate is below one user."""
STEEPEST: Final = 64.0
HALVINGS: Final = 56
"""How often an interval of 64 is halved: what is left is 1e-15 wide."""
NODES: Final = 12
"""Points that stand for a block of counts: enough for 14 digits over a block as wide as the noise."""
REACH: Final = 10
"""Deviations around an estimate beyond which the noise (e^-50) leaves nothing that float64 sees."""
CHUNK: Final = 512


def power(estimate: Floats, context: Context) -> Floats:
    """Posterior means under the fitted law: far less noise in rare values, hardly a change in frequent ones."""
    f, n = context.checked(estimate), context.n
    exponent = fit(n * (sum_of(f) / len(f)), n)
    return posterior_mean(n * f, n=n, exponent=exponent, deviation=n * context.deviation) / n


def power_ns(estimate: Floats, context: Context) -> Floats:
    """Norm-Sub of Power: at least 0, sum 1."""
    return norm_sub(power(estimate, context))


def fit(mean: float, n: int) -> float:
    """The exponent of the prior on counts 1..n that has this mean.

    Between 0 (all counts alike, mean (n+1)/2) and STEEPEST; 1.01 where the mean is below 1.

    >>> round(fit(1_000_000 / 1024, 1_000_000), 3)
    1.476
    """
    if mean < 1:
        return BELOW_ONE
    if mean >= (n + 1) / 2:
        return 0.0
    x, many = _first(n, n)
    logs = np.log(x)
    low, high = 0.0, STEEPEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        weights = many * np.exp(-middle * logs)
        if sum_of(weights * x) > mean * sum_of(weights):
            low = middle
        else:
            high = middle
    return high


def posterior_mean(counts: Floats, *, n: int, exponent: float, deviation: float) -> Floats:
    """The mean of x = 1..n given noisy counts with this deviation, where x had the prior x^-exponent: float64[d].

    sum_x x w(x) / sum_x w(x) with log w = -exponent ln x - (count - x)^2 / (2 deviation^2)
    """
    wide = max(NODES, math.floor(deviation))
    # The first counts in growing blocks, then blocks of equal width that end at n: a power of x is smooth in both.
    blocks = max(0, (n - max(32, wide)) // wide)
    x0 = n - blocks * wide
    x_first, many_first = _first(x0, wide)
    offsets, many_block = _block(wide)
    around = np.arange(-math.ceil(REACH * deviation / wide) - 1, math.ceil(REACH * deviation / wide) + 2)
    found = np.empty(len(counts))
    for start in range(0, len(counts), CHUNK):
        count = counts[start : start + CHUNK, None]
        block = np.floor((np.clip(count, 1, n) - x0 - 1) / wide) + around  # those within reach of each count
        there = (block >= 0) & (block < blocks)
        rest = (x0 + 1 + wide * block)[:, :, None] + offsets
        x = np.hstack([np.broadcast_to(x_first, (len(count), len(x_first))), rest.reshape(len(count), -1)])
        many = np.hstack(
            [
                np.broadcast_to(many_first, (len(count), len(many_first))),
                (there[:, :, None] * many_block).reshape(len(count), -1),
            ]
        )
        x = np.where(many > 0, x, 1.0)
        log = -exponent * np.log(x) - ((count - x) / deviation) ** 2 / 2
        weight = many * np.exp(log - np.max(log, axis=1, keepdims=True, where=many > 0, initial=-np.inf))
        found[start : start + CHUNK] = (weight * x).sum(axis=1) / weight.sum(axis=1)
    return np.clip(found, 1.0, float(n))


def _first(last: int, widest: int) -> tuple[Floats, Floats]:
    """Points and weights so that sum weight h(point) = sum of h(x) over x = 1..last, for h smooth like a power of x."""
    points, weights = [np.arange(1.0, min(32, last) + 1)], [np.ones(min(32, last))]
    start = 33
    while start <= last:
        length = min(start - 1, widest, last - start + 1)
        offsets, many = _block(length)
        points.append(start + offsets)
        weights.append(many)
        start += length
    return np.concatenate(points), np.concatenate(weights)


@functools.lru_cache(maxsize=256)
def _block(length: int) -> tuple[Floats, Floats]:
    """Gauss quadrature of a sum over 0..length-1: NODES points and positive weights, exact to degree 2 NODES - 1.

    The recurrence of the polynomials that are orthogonal over equally spaced points (discrete Chebyshev) has
    coefficients j^2 (length^2 - j^2) / (4 (4 j^2 - 1)); its matrix has the points as eigenvalues (Golub and Welsch).
    """
    j = np.arange(1.0, min(NODES, length))
    beside = np.sqrt(j**2 * (float(length) ** 2 - j**2) / (4 * (4 * j**2 - 1)))
    points, vectors = np.linalg.eigh(np.diag(beside, 1) + np.diag(beside, -1))
    points, weights = points + (length - 1) / 2, length * vectors[0] ** 2
    points.flags.writeable = weights.flags.writeable = False  # they are kept
    return points, weights
