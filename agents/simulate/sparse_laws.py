# SPDX-License-Identifier: Apache-2.0
"""How often reports about sparse vectors support a sign, by the formulas of the literature, for any d, s and epsilon.

Contract: exact in real arithmetic, as floats, at the epsilon itself: the product's mechanisms (randomizers/vectors)
round chances to 64-bit words and refuse values of more entries than a layout has, these do not.  A law is what a report
says about one coordinate; `squared_mean` and `squared_share` are the exact variances of one user's part of an estimate,
summed over all coordinates and divided by d.  Parameters are the exact best ones, found by looking at all that matter;
`paper_parameter` has the papers' rules.  Source: SaO2, section 5; Collision and CoCo, sections 5 and 7; the papers of
the mechanisms that they compare with.  Not here: errors of whole tables (sparse_errors.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class SparseLaw(NamedTuple):
    """The chances that one report supports signs of one coordinate; floats or arrays over a parameter."""

    own: Any
    """The sign that the user holds."""
    opposite: Any
    """The opposite of the sign that the user holds."""
    absent: Any
    """One certain sign of a coordinate that the user does not hold."""
    both_held: float = 0.0
    """Both signs at once, where the user holds one."""
    both_absent: float = 0.0
    """Both signs at once, where the user holds none."""
    told: float = 1.0
    """How often a report is about the coordinate at all, where that is told: shares are of what is asked there."""

    @property
    def mean_moments(self) -> tuple[float, float]:
        """The variance of one user's part of a mean, at a coordinate that is not held and at one that is."""
        squared = (self.own - self.opposite) ** 2
        held = (self.own + self.opposite - 2 * self.both_held) / squared - 1
        return 2 * (self.absent - self.both_absent) / squared, held

    @property
    def share_moments(self) -> tuple[float, float]:
        """The variance of one user's part of a share of holders, at both; infinite where reports do not tell it."""
        held, absent, told = self.own + self.opposite, 2 * self.absent, self.told
        squared = (held - absent) ** 2
        if not np.any(squared):
            return math.inf, math.inf
        of_absent = (absent + 2 * self.both_absent - absent**2 / told) / squared
        of_held = held + 2 * self.both_held - 2 * absent * held / told + absent**2 / told
        return of_absent, of_held / squared - 1


def averaged(moments: tuple[float, float], d: int, s: int) -> float:
    """A variance at the mean over all coordinates, of which each user holds s of d."""
    absent, held = moments
    return absent * (1 - s / d) + held * s / d


# ---- subsets of m of d + s coordinates, one sign each: ExSub and what it is compared with ----

Accepted = Callable[[int], tuple[float, float, float]]
"""For k coordinates that are held: how often it is told as likely, then the mean of true less reversed signs, and of
both together, each times that.
"""


def any_true(k: int) -> tuple[float, float, float]:
    """ExSub: at least one sign is true."""
    none = 0.5**k
    return 1 - none, k * none, k * (1 - none)


def any_held(k: int) -> tuple[float, float, float]:
    """At least one coordinate is held, whatever its sign is."""
    return float(k > 0), 0.0, float(k)


@lru_cache(maxsize=256)
def majority(k: int) -> tuple[float, float, float]:
    """More signs are true than reversed."""
    chances = [(math.comb(k, true) * 0.5**k, 2 * true - k) for true in range(k // 2 + 1, k + 1)]
    accepted = math.fsum(chance for chance, _ in chances)
    return accepted, math.fsum(chance * more for chance, more in chances), k * accepted


def subset(d: int, s: int, epsilon: float, accepted: Accepted = any_true) -> SparseLaw:
    """The law of subsets of m coordinates, as arrays over m = 1 to d + s; s of the d + s are stubs."""
    places, c = d + s, math.expm1(epsilon)
    each = np.array([accepted(k) for k in range(s + 1)])
    chances = _drawn(places, s)
    likely, more, both = chances @ each[:, 0], chances @ each[:, 1], chances @ each[:, 2]
    drawn, weight = np.arange(1, places + 1), 1 + c * likely
    held = (drawn * s / places + c * both) / weight
    gap = c * more / weight
    absent = (drawn - held) / (2 * (places - s))
    return SparseLaw((held + gap) / (2 * s), (held - gap) / (2 * s), absent)


@lru_cache(maxsize=64)
def _drawn(places: int, s: int) -> Floats:
    """How likely k of s special places are among m drawn ones: float64[m = 1 to places, k = 0 to s]."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, places + 1)))))

    def choose(n: int, k: NDArray[np.int64]) -> Floats:
        inside = (k >= 0) & (k <= n)
        k = np.clip(k, 0, n)
        return np.where(inside, logs[n] - logs[k] - logs[n - k], -np.inf)

    m, k = np.arange(1, places + 1)[:, np.newaxis], np.arange(s + 1)[np.newaxis]
    chances = np.exp(choose(s, k) + choose(places - s, m - k) - choose(places, m))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def at(laws: SparseLaw, place: int) -> SparseLaw:
    """A law of arrays at one place."""
    return SparseLaw(*(float(np.broadcast_to(part, np.shape(laws.own))[place]) for part in laws))


def exsub(d: int, s: int, epsilon: float, m: int) -> SparseLaw:
    """ExSub of m signs."""
    return at(subset(d, s, epsilon), m - 1)


def best_signs(d: int, s: int, epsilon: float, accepted: Accepted = any_true, *, shares: bool = False) -> int:
    """The m of the smallest error, by looking at all of them."""
    laws = subset(d, s, epsilon, accepted)
    with np.errstate(all="ignore"):
        errors = averaged(laws.share_moments if shares else laws.mean_moments, d, s)
    return int(np.argmin(np.where(np.isfinite(errors), errors, np.inf))) + 1


# ---- hashes ----


def collision(s: int, epsilon: float, t: float) -> SparseLaw:
    """Collision: t buckets, the user's s likelier. Signs are hashed apart, so that both may be supported at once."""
    own = math.exp(epsilon) / (s * math.exp(epsilon) + t - s)
    return SparseLaw(own, 1 / t, 1 / t, own / t, 1 / t**2)


def coco(s: int, epsilon: float, t: float) -> SparseLaw:
    """CoCo: both signs of a coordinate are hashed into one pair of buckets; clashes do not change their sum."""
    ratio = math.exp(epsilon)
    total = s * (ratio + 1) + t - 2 * s
    lost = -math.expm1(s * math.log1p(-2 / t)) * t / (2 * s) if t > 2 else 1 / s
    clash = 1 - lost
    own = clash * (ratio + 1) / (2 * total) + lost * ratio / total
    opposite = clash * (ratio + 1) / (2 * total) + lost / total
    return SparseLaw(own, opposite, 1 / t)


def best_buckets(d: int, s: int, epsilon: float) -> int:
    """Collision's best number of buckets: where many coordinates are held, fewer than is best for those that are not.
    It is best for means and shares alike.
    """
    ratio = math.exp(epsilon)
    of_absent = (s * (ratio + 2) + math.sqrt(s * s * (ratio * ratio + 8 * ratio) - 8 * s * ratio)) / 2
    return _lowest(
        lambda t: averaged(collision(s, epsilon, t).mean_moments, d, s), max(2, s + 1), math.ceil(of_absent) + 1
    )


def best_pairs(d: int, s: int, epsilon: float, *, shares: bool = False) -> int:
    """CoCo's best even number of buckets, at least 2 s + 2 as its paper has it."""

    def error(t: int) -> float:
        law = coco(s, epsilon, t)
        return averaged(law.share_moments if shares else law.mean_moments, d, s)

    return 2 * _lowest(lambda half: error(2 * half), s + 1, int(4 * s * (math.exp(epsilon) + 6)))


def _lowest(error: Callable[[int], float], low: int, high: int) -> int:
    """Where a function that falls and then rises is lowest."""
    while high - low > 2:
        third = (high - low) // 3
        one, other = low + third, high - third
        low, high = (low, other - 1) if error(one) <= error(other) else (one + 1, high)
    return min(range(low, high + 1), key=error)


# ---- one coordinate, one symbol, and a bit for each ----


def privkv(d: int, epsilon: float) -> SparseLaw:
    """PrivKV: a random coordinate, presence and sign each with half of epsilon."""
    keep = 1 / (1 + math.exp(-epsilon / 2))
    return SparseLaw(keep * keep / d, keep * (1 - keep) / d, (1 - keep) / (2 * d), told=1 / d)


def kvue(d: int, epsilon: float) -> SparseLaw:
    """KVUE: a random coordinate by randomized response over three values."""
    low = 1 / (math.exp(epsilon) + 2)
    return SparseLaw((1 - 2 * low) / d, low / d, low / d, told=1 / d)


def pckv_unary(s: int, epsilon: float) -> SparseLaw:
    """PCKV-UE: one of the s entries among all coordinates, each encoded by itself."""
    ratio = math.exp(epsilon)
    other = (1 - 1 / s) / (ratio + 3)
    keep = ratio / (ratio + 1)
    return SparseLaw(keep / (2 * s) + other, (1 - keep) / (2 * s) + other, 1 / (ratio + 3))


def pckv_response(d: int, s: int, ratio: float) -> SparseLaw:
    """PCKV-GRR: one of the s entries by randomized response of this ratio over all signs and stubs."""
    low = 1 / (ratio + 2 * (d + s) - 1)
    return SparseLaw(low * (1 + (ratio - 1) / s), low, low)


def all_signs(gap: float) -> SparseLaw:
    """A sign for each coordinate, right with this much more than half. It tells no shares."""
    return SparseLaw((1 + gap) / 2, (1 - gap) / 2, 0.5)


def future_gap(s: int, epsilon: float) -> float:
    """What FutureRand's authors divide by in their tables: each sign is right by randomized response, or says nothing
    where the number of reversed ones is unlikely. The mechanism that their text describes has a larger gap.
    """
    small = epsilon / (5 * math.sqrt(s))
    flip = 1 / (math.exp(small) + 1)
    first = max(0, math.ceil(s * flip - 2 * math.sqrt(s)))
    last = min(s, math.floor(s * math.log(2 * (1 - flip)) / small))
    flips = range(first, last + 1)
    usual = math.fsum(math.comb(s, each) * flip**each * (1 - flip) ** (s - each) for each in flips)
    return usual * (1 - 2 * flip)


def succinct(s: int, epsilon: float, n: int) -> tuple[float, float]:
    """SUCCINCT without correction for what clipping takes: a user's mean square, and the share that is left."""
    edge = math.sqrt(s * math.log(n)) / 2.5
    sums = np.arange(-s, s + 1, 2.0)
    chances = np.array([math.comb(s, up) / 2**s for up in range(s + 1)])
    clipped = np.clip(sums, -edge, edge)
    return float(chances @ clipped**2) + 8 * edge**2 / epsilon**2, float(chances @ (clipped * sums)) / s


def paper_parameter(name: str, d: int, s: int, epsilon: float) -> int:
    """The parameter by the rule that a mechanism's paper prints; CoCo's is rounded up to an even number."""
    ratio = math.exp(epsilon)
    if name == "ExSub":
        return math.ceil((d + s) / (s * ratio + s + 2))
    if name == "Collision":
        return math.floor(2 * s - 1 + s * ratio)
    even = math.ceil(s * ratio + (5 * s if name == "CoCo, shares" else s + 2))
    return max(2 * s + 2, even + even % 2)
