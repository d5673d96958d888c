"""What a window is worth against mixed reports where earlier answers decide what later rounds ask.

Contract: `worst_window` holds for every schedule that the rounds may take, whichever was taken; n is the smallest number
of reports that is counted in any round of the window.  Where answers choose no amounts the worst schedule is all of the
rounds, since not to ask is no better for an attacker, and they compose exactly (compose.py).  Where they do, every round
is below a normal pair, whose mu^2 add up along a schedule (gaussian.py); the largest sum is found over all of them
(schedules.py).  Amounts between two that are told apart are below what clones give to the larger one; or below its own
blanket, where a smaller epsilon is the same mechanism with more noise.  Not here: rounds fixed beforehand (claim.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from murmurate.aggregators.accounting.claim import (
    DIGITS,
    Bound,
    MixedClaim,
    blankets,
    checked_delta,
    floored,
    honest,
    window_claim,
)
from murmurate.aggregators.accounting.clones import clones_blanket
from murmurate.aggregators.accounting.errors import AccountingError, NotCertifiedError
from murmurate.aggregators.accounting.gaussian import dominating_mu, normal_epsilon
from murmurate.aggregators.accounting.schedules import Shared, WindowRounds
from murmurate.randomizers import BLH, GRR, OUE
from murmurate.randomizers.question import Blanket
from murmurate.randomizers.thresholds import MICRO

NOISIER: Final = (GRR, OUE, BLH)
"""Mechanisms whose report at a smaller epsilon is a function of the one at a larger one, and of coins: a cell that is
replaced by chance, a bit that is turned by chance.
"""
_LEFT: Final = 1e-3
"""How much of delta may be what normal pairs leave, over all rounds."""
_DISTINCT: Final = 64
"""With more amounts than these, amounts that absorption may ask are told apart by octaves as any others."""


class _Part(NamedTuple):
    """Rounds of one blanket, at most so many."""

    blanket: Blanket
    local: float
    times: int


def worst_window(rounds: WindowRounds, counted: int, delta: float, corrupt: float = 0.0) -> MixedClaim:
    """What a user's rounds in a window have together, whatever is asked. counted: the reports of the smallest round."""
    n, delta = floored(honest(counted, corrupt)), checked_delta(delta)
    if not rounds.often and rounds.publications is None:
        raise AccountingError("window: found no round; allowed: rounds from 1 on")
    often = [(rounds.question(amount), counted, times) for amount, times in rounds.often]
    if rounds.publications is None:
        return window_claim(often, delta, corrupt)
    local = MixedClaim(rounds.total / MICRO, 0.0, "local", n)
    if not all(blankets(question) for question, _, _ in often) or not blankets(rounds.question(_largest(rounds))):
        return local
    try:
        mu, bound = _worst_mu(rounds, n, _LEFT * delta / rounds.most)
        found = normal_epsilon(mu, (1 - _LEFT) * delta, local.epsilon, DIGITS)
    except NotCertifiedError:
        return local
    return MixedClaim(found, delta, bound, n) if found < local.epsilon else local


def _worst_mu(rounds: WindowRounds, n: int, left: float) -> tuple[float, Bound]:
    """The mu of the worst schedule, and the weakest bound that it is from."""
    publications, bounds = rounds.publications, set[Bound]()
    assert publications is not None  # noqa: S101 - the caller has seen to it

    def own(amount: int) -> float:
        question = rounds.question(amount)
        bound, blanket = blankets(question)[0]
        bounds.add(bound)
        return dominating_mu(blanket, n, question.epsilon, left) ** 2

    def any_of(amount: int) -> float:
        bounds.add("clones")
        local = amount / MICRO
        return dominating_mu(_clones(amount), n, local, left) ** 2

    apart = not isinstance(publications, Shared)
    if apart and publications.w > _DISTINCT:
        publications = Shared(publications.total, publications.w, Fraction(1), publications.total)
        apart = False
    noisier = rounds.one_mechanism and isinstance(rounds.question(_largest(rounds)), NOISIER)
    total = sum(times * own(amount) for amount, times in rounds.often)
    total += publications.dearest(own if apart or noisier else any_of)
    return math.sqrt(total) * (1 + 2**-40), "clones" if "clones" in bounds else "blanket"


def _largest(rounds: WindowRounds) -> int:
    of = rounds.publications
    assert of is not None  # noqa: S101 - asked of such rounds alone
    return of.total if not isinstance(of, Shared) else min(of.most, math.floor(of.part * of.total))


@lru_cache(maxsize=512)
def _clones(amount: int) -> Blanket:
    return clones_blanket(Fraction(math.exp(amount / MICRO)) * (1 + Fraction(1, 1 << 50)))
