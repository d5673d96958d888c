# SPDX-License-Identifier: Apache-2.0
"""The privacy blanket: what shuffling n reports of one concrete question is worth, from above.

Contract: let atoms say what everybody's reports have in common and how often each of two values gives it
(`Question.blanket`).  Shuffled reports of n users, one of whom holds the one value or the other, satisfy
(epsilon, delta) with delta = (1/n) E[(G_1 + ... + G_n)_+], whatever the others hold: G is one - E other with the chance
of its atom and else 0, E = e^epsilon.  It is exact for a user among blanket reports, so it composes (compose.py).
`delta` is never too small, and says by how much it may be too large for inaccuracy; the lattice besides adds less than
a hundred-thousandth to epsilon from n = 100 on, as its tests say.  Source: Balle, Bell, Gascon and Nissim 2019, lemma
5.3; Su, Cheng and Wang 2025.  Not here: questions without a blanket (clones.py), which bound to claim (claim.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from murmurate.aggregators.accounting.scores import PairAtoms, orders
from murmurate.aggregators.accounting.search import CertifiedDelta, least_epsilon
from murmurate.aggregators.accounting.sums import positive_part
from murmurate.randomizers.question import Blanket

_LEAST = 1e-300
MOST_LOG = 600.0
MOST_REPORTS = 10**8
"""More reports than so many count as so many: a lattice would be too coarse for them."""
COARSE = 1 / 16
"""How fine the lattice is with which a root is looked for, as a part of the one that certifies."""


def delta(blanket: Blanket, n: int, epsilon: float, sharpness: float = 1.0) -> CertifiedDelta:
    """The delta of n shuffled reports at this epsilon, for the worse order of the pair."""
    return _delta(orders_of(blanket), min(n, MOST_REPORTS), epsilon, sharpness)


def _delta(pairs: tuple[PairAtoms, ...], n: int, epsilon: float, sharpness: float) -> CertifiedDelta:
    worst = CertifiedDelta(0.0, 0.0)
    for pair in pairs:
        part = positive_part(pair.scores(epsilon), n, sharpness)
        if part.log_scale > MOST_LOG:
            return CertifiedDelta(1.0, 1.0)  # delta is never more, and nothing is certified
        if part.value > 0:
            scale = math.exp(part.log_scale) / n
            worst = max(worst, CertifiedDelta(part.value * scale + _LEAST, part.excess * scale + _LEAST))
    return worst


def epsilon(blanket: Blanket, n: int, delta: float, limit: float, digits: int = 6, sharpness: float = 1.0) -> float:
    """The least epsilon of so many decimal digits that is certified for this delta, or the limit if that is less.

    NotCertifiedError where inaccuracy would be more than a thousandth of delta.
    """
    pairs, n = orders_of(blanket), min(n, MOST_REPORTS)

    def curve(sharpness: float) -> Callable[[float], CertifiedDelta]:
        return lambda at: _delta(pairs, n, at, sharpness)

    return least_epsilon(curve(COARSE), curve(sharpness), delta, limit, digits)


orders_of = lru_cache(maxsize=64)(orders)
