# SPDX-License-Identifier: Apache-2.0
"""Padded sampling with OLH under (epsilon, delta): a weaker promise, for the library alone.

Contract: **not epsilon-LDP.**  With a probability of at most delta over its random hash function, a report tells more
than epsilon; no round, method or release of a stream asks by it, and no ledger charges it.  Of L items, and dummies
padding to L, no more than l' fall into one cell except with that probability, so that sampling lets OLH run at
ln((L / l') (e^epsilon - 1) + 1).  It holds for sets of at most L items, so that larger ones are refused.  Source: Wang
2021, section 5.2 (l' by a bound over all l' + 1 of the L items); the number of cells there is ceil(e^epsilon' + 1), of
which the bound makes use.  Not here: padded sampling under epsilon alone, which SVIM uses (set_search.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from murmurate.randomizers import OLH, Padded, ParameterError, Viewed
from murmurate.randomizers.candidates import Candidates


class WeakerSampling(NamedTuple):
    """What (epsilon, delta) allows OLH behind a padded sample."""

    together: int
    """The number l' of the L items that may share a cell."""
    epsilon: float
    """The epsilon at which OLH runs."""
    cells: int
    """The number of its cells."""


def weaker_sampling(length: int, epsilon: float, delta: float) -> WeakerSampling:
    """The smallest l' such that more than l' of L items share one of g = ceil((L / l') (e^epsilon - 1) + 2) cells with
    a probability of at most delta, and the epsilon that this allows. l' = L always does, and allows nothing more.

    >>> weaker_sampling(10, 1.0, 0.001).together, round(weaker_sampling(10, 1.0, 0.001).epsilon, 7)
    (7, 1.2397322)
    """
    if length < 1 or not epsilon > 0 or not 0 < delta < 1:
        raise ParameterError(
            f"weaker_sampling: found length {length}, epsilon {epsilon}, delta {delta}; "
            "allowed: length >= 1, epsilon > 0, delta between 0 and 1"
        )
    chance = Fraction(delta)
    together = next(
        few for few in range(1, length + 1)
        if math.comb(length, few + 1) <= chance * _cells(length, few, epsilon) ** few
    )  # fmt: skip
    return WeakerSampling(together, math.log1p(_more(length, together, epsilon)), _cells(length, together, epsilon))


def _more(length: int, together: int, epsilon: float) -> float:
    """The ratio that sampling allows, less 1."""
    return length / together * math.expm1(epsilon)


def _cells(length: int, together: int, epsilon: float) -> int:
    return math.ceil(_more(length, together, epsilon) + 2)


def weaker_question(
    layout: Any, length: int, epsilon: float, delta: float, candidates: Candidates | None = None, pool: int = 0
) -> Viewed:
    """The padded sample through OLH at the larger epsilon, which is also the pure epsilon that the question states of
    itself: whoever asks by it under (epsilon, delta) has to say so.
    """
    view = Padded(layout, length, candidates)
    if view.held.most > length:
        raise ParameterError(
            f"weaker_question: found sets of up to {view.held.most} candidates; allowed: {length}, the length to which "
            "they are padded"
        )
    made = weaker_sampling(length, epsilon, delta)
    return Viewed(view, OLH(d=view.d, epsilon=made.epsilon, pool=pool, g=made.cells))
