# SPDX-License-Identifier: Apache-2.0
"""Which mechanism to ask with, and at which local epsilon, so that mixed reports keep a central (epsilon, delta).

Contract: `under_target` gives the candidate of the least exact variance, by the chooser's rule, among those whose claim
for the smallest batch that is released is at most the target; its local epsilon is at most the limit.  What it returns
was certified as a claim is (claim.py), so a search that misses the best epsilon costs accuracy and never privacy.  A
local epsilon has four digits, or is the limit, or a round's part of the target: so that no last bit of a machine
decides.  Where mixing adds nothing, that is a local epsilon of the target itself.  Not here: which candidates a measure
has (aggregators/candidates.py), rounds that a method chooses after it has seen others (worst.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from murmurate.aggregators.accounting.blanket import COARSE, MOST_REPORTS
from murmurate.aggregators.accounting.blanket import delta as blanket_delta
from murmurate.aggregators.accounting.claim import (
    DIGITS,
    FEWEST,
    MixedClaim,
    blankets,
    checked_delta,
    honest,
    mixed_claim,
    window_claim,
)
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.aggregators.chooser import NEAR, Prefer
from murmurate.randomizers.errors import shown
from murmurate.randomizers.question import Question
from murmurate.randomizers.thresholds import MICRO

_PLACES: Final = 4
"""How many digits of a local epsilon are looked through."""
_NEAR: Final = 64
"""How far beyond a coarse epsilon a finer one is looked for, in steps of the last digit."""
_DOUBT: Final = 1.1
"""Variances at coarse epsilons that are nearer than this are compared at finer ones."""
_LESS: Final = 8
"""How often the search goes down, from one step of the last digit to twice as many, where a claim fails by rounding."""


class Candidate(NamedTuple):
    """A way of asking, at every local epsilon."""

    name: str
    question: Callable[[int], Question]
    """The question at so many micro-nats."""
    variance: Callable[[Question, int], float]
    """The exact variance of a figure from so many reports, by which candidates are compared."""


class MixedTarget(NamedTuple):
    """What a user wants to have against everybody but the mixing zone, in any window."""

    epsilon: float
    delta: float
    corrupt: float = 0.0
    """The share of reports that is assumed to come from whoever attacks."""


class Chosen(NamedTuple):
    """What keeps a target with the least variance."""

    name: str
    """The candidate's name."""
    question: Question
    """The candidate's question at the local epsilon."""
    epsilon_micro: int
    """The local epsilon of a round, in micro-nats."""
    claim: MixedClaim
    """What the smallest batch, in each of the rounds, is claimed to have."""
    variance: float
    """The exact variance of a figure from the smallest batch."""
    gain: float
    """The least variance of all candidates where a report by itself keeps the target, as a multiple of this one."""


def checked_target(target: MixedTarget) -> MixedTarget:
    """The target, if it can be one."""
    found = target.epsilon
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < math.inf:
        raise AccountingError(f"mixed: epsilon: found {shown(found)}; allowed: a number above 0")
    checked_delta(target.delta)
    return target


def under_target(
    candidates: Sequence[Candidate],
    target: MixedTarget,
    *,
    smallest: int,
    limit: int,
    rounds: int = 1,
    prefer: Prefer = "accuracy",
) -> Chosen:
    """The best candidate, at the best local epsilon that it may have.

    smallest: the reports of the smallest batch that is released. limit: the micro-nats that a device may spend in one
    round. rounds: how often a user answers in a window.

    1. Each candidate's largest epsilon, by a coarse bound for rounds put together in one.
    2. Of those whose variances there are near the smallest the largest epsilon by the bound that certifies, near the
       other one.
    3. Of those near the smallest variance the quickest, or the one with the shortest reports.
    4. The claim itself, a little further down where it fails by its rounding; else the next best candidate.
    """
    checked_target(target)
    if not candidates or rounds < 1 or limit < 1:
        found = f"{len(candidates)} candidates, {rounds} rounds and {limit} micro-nats"
        raise AccountingError(f"mixed: found {found}; allowed: at least one each")
    alone = _alone(target, rounds)
    if alone < 1:
        raise AccountingError(
            f"mixed: epsilon: found {target.epsilon} for {rounds} rounds; "
            f"allowed: at least a micro-nat for each, {rounds / MICRO}"
        )
    n = honest(smallest, target.corrupt)
    at = {one.name: _largest(one, target, n, limit, rounds) for one in candidates}
    variance = {one.name: _rounded(one.variance(one.question(at[one.name]), smallest)) for one in candidates}
    doubtful = _DOUBT * NEAR[prefer] * min(variance.values())
    for one in [one for one in candidates if variance[one.name] <= doubtful]:
        at[one.name] = _finer(one, target, n, limit, rounds, at[one.name])
        variance[one.name] = _rounded(one.variance(one.question(at[one.name]), smallest))
    local = min(one.variance(one.question(min(alone, limit)), smallest) for one in candidates)
    left = list(candidates)
    while True:
        best = _best(left, at, variance, prefer)
        made = _certified(best, target, smallest, at[best.name], rounds)
        if made is not None or len(left) == 1:
            break
        left.remove(best)
    epsilon, claim = made or (min(alone, limit), _claim(best, min(alone, limit), target, smallest, rounds))
    question = best.question(epsilon)
    own = best.variance(question, smallest)
    return Chosen(best.name, question, epsilon, claim, own, local / own)


def smallest_batch(question: Question, target: MixedTarget, *, rounds: int = 1) -> int | None:
    """The fewest reports whose claim is at most the target; None where no batch keeps it, however large.

    >>> from murmurate.randomizers import GRR
    >>> smallest_batch(GRR(d=16, epsilon=1), MixedTarget(0.02, 1e-6, 0.1))
    9712
    """
    checked_target(target)
    honest(MOST_REPORTS, target.corrupt)
    if not _holds(question, target, MOST_REPORTS, rounds):
        return None
    low, high = place_of(FEWEST, DIGITS) - 1, place_of(MOST_REPORTS, DIGITS)
    for sharpness in (COARSE, 1.0):  # a coarse bound is a little too large, so that fewer may do
        while high - low > 1:
            middle = (low + high) // 2
            keeps = _holds(question, target, value_at(middle, DIGITS), rounds, sharpness)
            low, high = (low, middle) if keeps else (middle, high)
        low = max(place_of(FEWEST, DIGITS) - 1, high - _NEAR)
    while value_at(high, DIGITS) <= MOST_REPORTS:
        counted = math.ceil(value_at(high, DIGITS) / (1 - Fraction(repr(float(target.corrupt)))))
        if _window(question, target, counted, rounds).epsilon <= target.epsilon:
            return counted
        high += 1
    return None


def _alone(target: MixedTarget, rounds: int) -> int:
    """The micro-nats with which so many reports keep the target by themselves."""
    return math.floor(Fraction(repr(float(target.epsilon))) * MICRO / rounds)


def _largest(candidate: Candidate, target: MixedTarget, n: int, limit: int, rounds: int) -> int:
    """The largest local epsilon that a coarse bound lets keep the target."""
    low = min(limit, _alone(target, rounds))
    if low == limit or _holds(candidate.question(limit), target, n, rounds):
        return limit
    return max(
        low, _halved(candidate, target, n, rounds, (place_of(low, _PLACES), place_of(limit, _PLACES) + 1), COARSE)
    )


def _finer(candidate: Candidate, target: MixedTarget, n: int, limit: int, rounds: int, coarse: int) -> int:
    """The largest local epsilon near a coarse one that the certifying bound lets keep the target, for a single round;
    for several the coarse one, since their claim is not quite that of one of fewer reports.
    """
    if coarse == limit or rounds > 1:
        return coarse
    first = place_of(coarse, _PLACES)
    return max(
        coarse, _halved(candidate, target, n, rounds, (first, min(first + _NEAR, place_of(limit, _PLACES))), 1.0)
    )


def _halved(
    candidate: Candidate, target: MixedTarget, n: int, rounds: int, between: tuple[int, int], sharpness: float
) -> int:
    """The last number, from the first of these places and before the last, that keeps the target; by halving."""
    first, last = between
    while last - first > 1:
        middle = (first + last) // 2
        keeps = _holds(candidate.question(value_at(middle, _PLACES)), target, n, rounds, sharpness)
        first, last = (middle, last) if keeps else (first, middle)
    return value_at(first, _PLACES)


def _holds(question: Question, target: MixedTarget, n: int, rounds: int, sharpness: float = COARSE) -> bool:
    """Whether n reports keep the target, roughly: rounds together are worth about what one of so many fewer is."""
    if question.epsilon_micro <= _alone(target, rounds):
        return True
    return any(
        blanket_delta(blanket, max(1, n // rounds), target.epsilon, sharpness).bound <= target.delta
        for _, blanket in blankets(question)
    )


def _best(candidates: Sequence[Candidate], at: dict[str, int], variance: dict[str, float], prefer: Prefer) -> Candidate:
    """The chooser's rule: near the smallest variance, the first one or that with the shortest reports."""
    smallest = min(variance[one.name] for one in candidates)
    near = [one for one in candidates if variance[one.name] <= NEAR[prefer] * smallest]
    if prefer == "accuracy":
        return near[0]
    return min(near, key=lambda one: (one.question(at[one.name]).wire_size, variance[one.name]))


def _certified(
    candidate: Candidate, target: MixedTarget, smallest: int, epsilon: int, rounds: int
) -> tuple[int, MixedClaim] | None:
    """The local epsilon, or one a little smaller, whose claim is at most the target; None if that fails too."""
    place = place_of(epsilon, _PLACES)
    for fewer in (0, *(2**power for power in range(_LESS))):
        epsilon = value_at(place - fewer, _PLACES) if fewer else epsilon
        if place - fewer < 0 or epsilon <= _alone(target, rounds):
            return None
        claim = _claim(candidate, epsilon, target, smallest, rounds)
        if claim.epsilon <= target.epsilon:
            return epsilon, claim
    return None


def _claim(candidate: Candidate, epsilon: int, target: MixedTarget, smallest: int, rounds: int) -> MixedClaim:
    return _window(candidate.question(epsilon), target, smallest, rounds)


def _window(question: Question, target: MixedTarget, counted: int, rounds: int) -> MixedClaim:
    if rounds == 1:
        return mixed_claim(question, counted, target.delta, target.corrupt)
    return window_claim([(question, counted, rounds)], target.delta, target.corrupt)


def _rounded(variance: float) -> float:
    """Nine digits of a variance: as many as all machines agree on."""
    return float(f"{variance:.9g}")


# ---- whole numbers of few digits, in their order ----


def value_at(place: int, digits: int) -> int:
    """The whole number of so many significant digits that is in this place, the first of which is 1.

    >>> [value_at(place, 2) for place in (0, 98, 99, 188, 189)]
    [1, 99, 100, 990, 1000]
    """
    least = int(10 ** (digits - 1))
    if place < 10 * least - 1:
        return place + 1
    power, rest = divmod(place - 10 * least + 1, 9 * least)
    return (least + rest) * int(10 ** (power + 1))


@lru_cache(maxsize=1024)
def place_of(value: int, digits: int) -> int:
    """The place of the largest such number that is not above the value.

    >>> all(place_of(value_at(place, 2), 2) == place for place in range(999)), place_of(1_009, 2) == place_of(1_000, 2)
    (True, True)
    """
    least, power = int(10 ** (digits - 1)), len(str(value)) - digits
    if power <= 0:
        return value - 1
    return 9 * least * power + value // int(10**power) - 1
