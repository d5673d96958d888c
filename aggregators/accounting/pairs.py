# SPDX-License-Identifier: Apache-2.0
"""Two laws of three kinds of reports: what a sum of mixed reports tells of one that is likelier in the first or second.

Contract: everybody else's report is of the first kind with chance r, of the second with r, else of the third; the one
report in question is of the first kind with chance p a and of the second with a under the one value, the other way
round under the other, else of the third.  `pair_delta` is the exact delta of the numbers of both kinds, with its own
inaccuracy added: relative about 1e-12.  With a = 1 / (p + 1) and 2 r = 1 / p it bounds every p-LDP report (clones.py);
with a = r = 1 / (p + 1) it is binary randomised response.  With a = r below that it is what shuffled reports show at
least, where some third value gives both kinds equally rarely: a lower bound, printed in the literature as an upper one
(ARCHITECTURE erratum E21).  Source: Wang, Peng, Li et al. 2024 (variation-ratio), in whole sums.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.accounting.binomial import chances
from murmurate.aggregators.accounting.blanket import COARSE
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.aggregators.accounting.scores import PairAtoms
from murmurate.aggregators.accounting.search import CertifiedDelta, least_epsilon
from murmurate.aggregators.accounting.sums import positive_part
from murmurate.randomizers.question import Floats

_WIDE = 160.0
"""Numbers of both kinds together are left out where a chance is below about e^(-80)."""
_BLOCK = 64
_TINY = 2.0**-60
_SLACK = 2.0**-44


class Pair(NamedTuple):
    """How a report in question differs by its value, and what everybody else's are."""

    p: float
    """The ratio of the first kind's chances."""
    a: float
    """The smaller one of the chances."""
    r: float
    """The chance of either kind in everybody else's reports."""


def pair_delta(pair: Pair, n: int, epsilon: float) -> CertifiedDelta:
    """The delta of n reports at this epsilon.

    With c reports of both kinds together, the first kind's number is decided by fair coins; S is the chance that it
    reaches k, from where on the ratio exceeds e^epsilon.
    """
    above = math.expm1(epsilon) * (1 - 2**-52)
    ratio = 1 + above
    if ratio >= pair.p:
        return CertifiedDelta(0.0, 0.0)
    both, others = 2 * pair.r, n - 1
    if not (pair.a > 0 and 0 < both <= 1 and (1 + pair.p) * pair.a <= 1 + 2.0**-40 and n >= 1):
        raise AccountingError(f"pair: found {pair}; allowed: chances that sum to at most 1")
    rest = max(0.0, 1 - pair.a - pair.p * pair.a)
    lost = 2 * math.exp(-_WIDE / 2) if both < 1 else 0.0
    if both < 1:
        spread = math.sqrt(_WIDE * others * both * (1 - both)) + _WIDE
        low, high = max(0, math.floor(others * both - spread)), min(n, math.ceil(others * both + spread) + 1)
    else:
        low, high = others, n
    c = np.arange(low, high + 1)
    mixed = rest * pair.r / (pair.a * (1 - both)) if both < 1 else 0.0
    least = ((pair.p * ratio - 1) * c + above * mixed * (n - c)) / ((pair.p - 1) * (2 + above))
    k = np.floor(least).astype(np.int64) + 1
    tail = _tails(c, k)
    edge = chances(k - 1, np.maximum(c - 1, 0), 0.5) * (c >= 1)
    with_one = _law(c - 1, others, both)
    gains = with_one * pair.a * 0.5 * edge * (pair.p - 1) * (2 + above)
    losses = with_one * pair.a * (1 + pair.p) * above * tail + _law(c, others, both) * rest * above * tail
    gain, loss = float(gains.sum()), float(losses.sum())
    excess = (gain + loss) * _SLACK + lost
    return CertifiedDelta(max(0.0, gain - loss) + excess, excess)


def _law(c: NDArray[np.int64], others: int, both: float) -> Floats:
    """How likely so many of the others' reports are of either kind."""
    return chances(c, others, both) if both < 1 else (c == others).astype(np.float64)


def _tails(c: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
    """P[Bin(c, 1/2) >= k] for consecutive c: float64 of the shape of both.

    Every 64th is added up, or every one where k grows otherwise; between them S_c(k) = S_{c+1}(k + 1) + b_c(k) / 2 =
    S_{c+1}(k) - b_c(k - 1) / 2, downwards.
    """
    steps = np.diff(k)
    if len(steps) and not ((steps >= 0) & (steps <= 1)).all():
        return _added(c, k)
    blocks = -(-len(c) // _BLOCK)
    tops = np.minimum(np.arange(1, blocks + 1) * _BLOCK, len(c)) - 1
    changes = np.zeros(blocks * _BLOCK)
    up = np.append(steps, 0) == 1
    changes[: len(c)] = np.where(up, chances(k, c, 0.5), -chances(k - 1, c, 0.5)) / 2
    changes[tops] = _added(c[tops], k[tops])
    rows = changes.reshape(blocks, _BLOCK)[:, ::-1]
    return np.asarray(np.cumsum(rows, axis=1)[:, ::-1].reshape(-1)[: len(c)], np.float64)


def _added(c: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
    """P[Bin(c, 1/2) >= k] as a sum of chances, each from the one before."""
    sure = k <= 0
    first = chances(np.maximum(k, 0), c, 0.5)
    total, term, place = np.ones(len(c)), np.ones(len(c)), np.maximum(k, 0).astype(np.float64)
    while True:
        term = term * np.maximum(c - place, 0) / (place + 1)
        place += 1
        total += term
        falling = 2 * place >= c
        if (((term <= _TINY * total) & falling) | (term == 0)).all():
            return np.where(sure, 1.0, first * total)


def pair_epsilon(pair: Pair, n: int, delta: float, limit: float, digits: int = 13) -> float:
    """The least epsilon of so many digits that is certified for this delta, or the limit if that is less."""

    def coarse(epsilon: float) -> CertifiedDelta:
        part = positive_part(atoms(pair).scores(epsilon), n, COARSE)
        scale = math.exp(part.log_scale) / n
        return CertifiedDelta(part.value * scale, part.excess * scale)

    def fine(epsilon: float) -> CertifiedDelta:
        return pair_delta(pair, n, epsilon)

    return least_epsilon(coarse, fine, delta, limit, digits)


def atoms(pair: Pair) -> PairAtoms:
    """Atoms of a blanket that is all of everybody else's report, to the nearest double."""
    rest, left = max(0.0, 1 - pair.a - pair.p * pair.a), 1 - 2 * pair.r
    kinds = [(pair.r, pair.p * pair.a / pair.r, pair.a / pair.r), (pair.r, pair.a / pair.r, pair.p * pair.a / pair.r)]
    if left > 0:
        kinds.append((left, rest / left, rest / left))
    masses, one, other = (np.array(column) for column in zip(*kinds, strict=True))
    return PairAtoms(masses, one, other, 0.0)
