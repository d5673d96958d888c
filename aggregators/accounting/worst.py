# SPDX-License-Identifier: Apache-2.0
"""What a window is worth against mixed reports where earlier answers decide what later rounds ask.

Contract: `worst_window` holds for every schedule that the rounds may take, whichever was taken; n is the smallest
number of reports that is counted in any round of the window.  Where answers choose no amounts the worst schedule is all
of the rounds, since not to ask tells an attacker no more, and they compose exactly (compose.py).  Where they do, every
round is below a normal pair, whose mu^2 add up along a schedule (gaussian.py); the largest sum is found over all of
them (schedules.py).  Amounts between two that are told apart are below what clones give to the larger one; or below its
own blanket, where a smaller epsilon is the same mechanism with more noise.  Not here: one round alone (claim.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

from murmurate.aggregators.accounting.claim import (
    DIGITS,
    Bound,
    MixedClaim,
    blankets,
    checked_delta,
    floored,
    honest,
    stepped,
    window_claim,
)
from murmurate.aggregators.accounting.clones import clones_blanket
from murmurate.aggregators.accounting.compose import FINE, QUICK
from murmurate.aggregators.accounting.errors import AccountingError, NotCertifiedError
from murmurate.aggregators.accounting.gaussian import dominating_mu, normal_epsilon
from murmurate.aggregators.accounting.schedules import Absorbed, SharedOut, WindowRounds
from murmurate.randomizers import BLH, GRR, OUE, Viewed
from murmurate.randomizers.question import Blanket, Question
from murmurate.randomizers.thresholds import MICRO

NOISIER: Final = (GRR, OUE, BLH)
"""Mechanisms whose report at a smaller epsilon is a function of the one at a larger one, and of coins: a cell that is
replaced by chance, a bit that is turned by chance.
"""
_LEFT: Final = 1e-3
"""How much of delta may be what normal pairs leave, over all rounds."""
_DISTINCT: Final = 64
"""With more amounts than these, amounts that absorption may ask are told apart by octaves as any others."""


def worst_window(
    rounds: WindowRounds, counted: int, delta: float, corrupt: float = 0.0, *, quick: bool = False
) -> MixedClaim:
    """What a user's rounds in a window have together, whatever is asked. counted: the reports of the smallest round.
    quick: with coarser grids and steps of n, which claim some more where rounds compose.
    """
    quick = quick and rounds.most > 1
    n, delta = honest(counted, corrupt), checked_delta(delta)
    n = stepped(n, 1 if rounds.publications is None else 2) if quick else floored(n)
    if not rounds.most:
        raise AccountingError("window: found no round; allowed: rounds from 1 on")
    if rounds.publications is None:
        asked = [(rounds.question(amount), n, times) for amount, times in rounds.often]
        return window_claim(asked, delta, fineness=QUICK if quick else FINE)
    return _worst(rounds, rounds.publications, n, delta, quick)


@lru_cache(maxsize=256)
def _worst(rounds: WindowRounds, publications: Absorbed | SharedOut, n: int, delta: float, quick: bool) -> MixedClaim:
    local = MixedClaim(rounds.total / MICRO, 0.0, "local", n)
    largest = rounds.question(publications.largest)
    if not all(blankets(question) for question in (largest, *(rounds.question(one.amount) for one in rounds.often))):
        return local
    left = _LEFT * delta / rounds.most
    bounds = set[Bound]()

    def own(amount: int) -> float:
        question = rounds.question(amount)
        bound, blanket = blankets(question)[0]
        bounds.add(bound)
        return dominating_mu(blanket, n, question.epsilon, left, quick) ** 2

    def clones(amount: int) -> float:
        bounds.add("clones")
        return dominating_mu(_clones(amount), n, amount / MICRO, left, quick) ** 2

    if isinstance(publications, Absorbed) and publications.w > _DISTINCT:
        publications = SharedOut(publications.total, publications.w, Fraction(1), publications.total)
    known = isinstance(publications, Absorbed) or (rounds.one_mechanism and _noisier(largest))
    try:
        total = sum(times * own(amount) for amount, times in rounds.often)
        total += publications.dearest(own if known else clones, quick)
        found = normal_epsilon(math.sqrt(total) * (1 + 2**-40), (1 - _LEFT) * delta, local.epsilon, DIGITS)
    except NotCertifiedError:
        return local
    bound: Bound = "clones" if "clones" in bounds else "blanket"
    return MixedClaim(found, delta, bound, n) if found < local.epsilon else local


def _noisier(question: Question) -> bool:
    return isinstance(question.inner if isinstance(question, Viewed) else question, NOISIER)


@lru_cache(maxsize=512)
def _clones(amount: int) -> Blanket:
    return clones_blanket(Fraction(math.exp(amount / MICRO)) * (1 + Fraction(1, 1 << 50)))
