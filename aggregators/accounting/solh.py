# SPDX-License-Identifier: Apache-2.0
"""How many cells local hashing has at a central target (SOLH), by the exact bound or by the rule of the paper.

Contract: `solh_buckets` gives the number of cells and the largest local epsilon at which the blanket of n shuffled
reports is certified to keep (epsilon, delta), so that a claim for OLH with these cells is at most the target.  Exact:
of all numbers the one whose variance is least, the mean over d values; it is never worse than the paper's.  Paper: d' =
round((m + 2) / 3) with m = epsilon^2 (n - 1) / (14 ln(2 / delta)), which minimises a bound that is several times too
large (Wang 2021, section 9.3.3, ARCHITECTURE erratum C27); its local epsilon is the certified one, too.
`cells_below` finds a number that is near enough in a tenth of the time, for a choice among mechanisms.  A pool of
seeds adds its own variance, which depends on who holds what and is left out.  Not here: the mechanism (OLH with `g`),
other mechanisms at a central target.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from murmurate.aggregators.accounting.blanket import COARSE
from murmurate.aggregators.accounting.blanket import delta as blanket_delta
from murmurate.aggregators.accounting.claim import DIGITS, checked_delta, floored, honest
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.aggregators.accounting.literature import target_solh
from murmurate.aggregators.accounting.search import FLOOR, PART
from murmurate.randomizers import OLH
from murmurate.randomizers.errors import shown
from murmurate.randomizers.frequency.olh import MAX_CELLS
from murmurate.randomizers.thresholds import MAX_MICRO, MICRO

CellRule = Literal["exact", "paper"]
"""The least exact variance, or what the dissertation's closed form has as its best."""
_GRID: Final = 24
"""Numbers of cells that are tried before the search goes on between the best one's neighbours."""
_CLOSE: Final = 1e-3
"""Numbers of cells whose logarithms are as close as this are not told apart, but for the next ones to the best."""
_NEAR: Final = 0.1
"""How close is close enough for a choice among mechanisms: the variance is flat around its least."""
_GOLDEN: Final = (math.sqrt(5) - 1) / 2


class HashChoice(NamedTuple):
    """Cells and a local epsilon for a central target."""

    cells: int
    """The number of cells of the hash functions."""
    epsilon: Fraction
    """The local epsilon of a report, in whole micro-nats."""
    variance: float
    """The exact variance of a frequency of 1 / d from n reports, over random hash functions."""


def solh_buckets(
    n: int,
    epsilon: float,
    delta: float,
    *,
    d: int,
    limit: float = MAX_MICRO / MICRO,
    rule: CellRule = "exact",
    corrupt: float = 0.0,
) -> HashChoice:
    """The cells and the local epsilon, of at most the limit, for a batch of n reports at this central epsilon.

    1. Powers of a number of cells, from 2 to as many as there are.  2. Golden sections between the neighbours of the
    best one.  3. The whole numbers next to it, and the paper's.
    """
    if rule not in ("exact", "paper"):
        raise AccountingError(f"rule: found {shown(rule)}; allowed: exact, paper")
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not FLOOR <= epsilon <= limit:
        raise AccountingError(f"epsilon: found {shown(epsilon)}; allowed: a central one from {FLOOR:f} to {limit:g}")
    reports = floored(honest(n, corrupt))
    target = float(Context(prec=DIGITS, rounding=ROUND_FLOOR).create_decimal(Decimal(repr(float(epsilon)))))
    asked = _Asked(reports, target, checked_delta(delta), d, int(limit * MICRO))
    return _paper(asked) if rule == "paper" else _exact(asked)


def cells_below(n: int, epsilon: float, delta: float, *, d: int, limit: float) -> int | None:
    """About the best number of cells below d, for a batch of n honest reports and a local epsilon up to the limit; None
    where more would be better, since as many cells as values are a randomized response that has no collisions.

    1. Halves of d, down to where the variance rises.  2. Golden sections between the neighbours of the best one.
    """
    if d < 4 or not FLOOR <= epsilon < limit:
        return None
    asked = _Asked(floored(n), epsilon, checked_delta(delta), d, int(limit * MICRO))

    def variance(cells: float) -> float:
        return _at(asked, round(cells), COARSE).variance

    best = d / 2
    while best >= 4 and variance(best / 2) < variance(best):
        best /= 2
    low, high = math.log(max(2, best / 2)), math.log(min(d - 1, 2 * best))
    while high - low > _NEAR:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if variance(math.exp(left)) <= variance(math.exp(right)) else (left, high)
    found = round(math.exp((low + high) / 2))
    return found if math.log(d / found) > 2 * _NEAR else None


class _Asked(NamedTuple):
    """A central target and what else the variance depends on."""

    n: int
    epsilon: float
    delta: float
    d: int
    limit: int
    """The largest local epsilon, in micro-nats."""


def _paper(asked: _Asked) -> HashChoice:
    return _at(asked, min(MAX_CELLS, target_solh(asked.epsilon, asked.n, asked.delta).cells))


def _exact(asked: _Asked) -> HashChoice:
    steps = math.log(MAX_CELLS / 2) / (_GRID - 1)
    tried = [_at(asked, round(2 * math.exp(steps * k)), COARSE) for k in range(_GRID)]
    best = min(range(_GRID), key=lambda k: tried[k].variance)
    low, high = (math.log(tried[k].cells) for k in (max(0, best - 1), min(_GRID - 1, best + 1)))
    while math.exp(high) - math.exp(low) > 2 and high - low > _CLOSE:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        one, other = _at(asked, round(math.exp(left)), COARSE), _at(asked, round(math.exp(right)), COARSE)
        tried += [one, other]
        low, high = (low, right) if one.variance <= other.variance else (left, high)
    near = min(tried, key=lambda choice: choice.variance).cells
    last = [_at(asked, cells) for cells in (near - 1, near, near + 1) if 2 <= cells <= MAX_CELLS]
    return min([*last, _paper(asked)], key=lambda choice: choice.variance)


@lru_cache(maxsize=4096)
def _at(asked: _Asked, cells: int, sharpness: float = 1.0) -> HashChoice:
    """The largest local epsilon with these cells, and the variance that it has; a coarse lattice certifies less."""
    micro = _largest(asked, cells, sharpness)
    made = _made(asked, cells, micro)
    return HashChoice(cells, Fraction(micro, MICRO), float(made.variance(asked.n, 1 / asked.d)))


def _largest(asked: _Asked, cells: int, sharpness: float) -> int:
    """By halving with a coarse lattice, then downwards until a fine one certifies; at least the target itself."""
    low = int(asked.epsilon * MICRO)
    below, above = low, asked.limit
    if _keeps(asked, cells, above, COARSE):
        below = above
    while above - below > max(1, below >> 12):
        middle = (below + above) // 2
        below, above = (middle, above) if _keeps(asked, cells, middle, COARSE) else (below, middle)
    step = max(1, below >> 12)
    while sharpness > COARSE and below > low and not _keeps(asked, cells, below, sharpness):
        below, step = max(low, below - step), 2 * step
    return below


def _keeps(asked: _Asked, cells: int, micro: int, sharpness: float) -> bool:
    """Whether reports of this local epsilon are certified to keep the target."""
    found = blanket_delta(_made(asked, cells, micro).blanket(), asked.n, asked.epsilon, sharpness)
    return found.bound <= asked.delta and found.excess <= PART * asked.delta


def _made(asked: _Asked, cells: int, micro: int) -> OLH:
    return OLH(d=asked.d, epsilon=Fraction(micro, MICRO), g=cells)
