# SPDX-License-Identifier: Apache-2.0
"""What may be claimed for a question whose reports were shuffled: one number, rounded up, and the bound it is from.

Contract: `mixed_claim` and `window_claim` never exceed the epsilon that reports have by themselves, nor grow with the
number of reports or with delta; they are decimal numbers of three significant digits (or the local epsilon), the
same on every machine.  n = floor((1 - f) counted), where f is the share of reports that is assumed to come from
whoever attacks.  Where a bound cannot be certified the next one is taken: never a smaller number.  Nothing is claimed
for reports that outlive their round, or that carry a public number: they are not alike.  Reports that are added up in
the mixing zone have the claim of their counts (summed_claim.py), and none by themselves.  The claim is against whoever
sees what was shuffled, of one batch that was shuffled as one, for a value that does not depend on what the mixing zone
does.  Not here: whose words n and f are (docs/MIXING.md).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from murmurate.aggregators.accounting.blanket import COARSE
from murmurate.aggregators.accounting.blanket import delta as blanket_delta
from murmurate.aggregators.accounting.clones import clones_blanket
from murmurate.aggregators.accounting.compose import FINE, QUICK, Fineness, MixedRound, composed_epsilon
from murmurate.aggregators.accounting.errors import AccountingError, NotCertifiedError
from murmurate.aggregators.accounting.one_round import round_epsilon
from murmurate.aggregators.accounting.search import next_below
from murmurate.aggregators.accounting.summed_claim import summed_window
from murmurate.randomizers.errors import shown
from murmurate.randomizers.frequency.appended import AUE
from murmurate.randomizers.question import AuditFace, Blanket, Question

DIGITS = 3
"""How many significant digits a claim has."""
FEWEST = 2
"""The fewest honest reports that hide one another."""
Bound = Literal["blanket", "clones", "local", "counts"]
"""The blanket of the concrete question, clones of any question of its epsilon, no mixing at all, or the exact counts of
reports that were added up.
"""


class MixedClaim(NamedTuple):
    """An (epsilon, delta) that shuffled reports have, and where it is from."""

    epsilon: float
    """The claim, in nats."""
    delta: float
    """The chance with which it may fail; 0 where the claim is the local one."""
    bound: Bound
    """The bound that gave it."""
    n: int
    """Honest reports, of three significant digits, rounded down."""


def mixed_claim(question: Question, counted: int, delta: float, corrupt: float = 0.0) -> MixedClaim:
    """What n shuffled reports of this question have, seen all at once."""
    n = honest(counted, corrupt)
    if question.summed_when_mixed:
        return _of_sums([(question, floored(n), 1)], checked_delta(delta))
    return _of_round(_ByDigest(question), floored(n), checked_delta(delta))


def window_claim(
    rounds: Sequence[tuple[Question, int, int]], delta: float, corrupt: float = 0.0, fineness: Fineness = FINE
) -> MixedClaim:
    """What several rounds have together for users who answer in each: a question, the reports that are counted in a
    round, and how many rounds there are like it.  Users must be counted in all of them.
    """
    if not rounds or any(isinstance(times, bool) or not isinstance(times, int) or times < 1 for _, _, times in rounds):
        raise AccountingError("window: found no round, or one that is asked less than once; allowed: rounds from 1 on")
    if any(question.summed_when_mixed for question, _, _ in rounds):
        sums = [(question, floored(honest(counted, corrupt)), times) for question, counted, times in rounds]
        return _of_sums(sums, checked_delta(delta))
    made = tuple((_ByDigest(question), floored(honest(counted, corrupt)), times) for question, counted, times in rounds)
    if len(made) == 1 and made[0][2] == 1:
        return _of_round(made[0][0], made[0][1], checked_delta(delta))
    return _of_window(made, checked_delta(delta), fineness)


def honest(counted: int, corrupt: float) -> int:
    """How many of so many reports are honest, where a share of them may not be.

    >>> honest(1000, 0.1)
    900
    """
    if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
        raise AccountingError(f"n: found {shown(counted)}; allowed: a whole number of reports")
    if isinstance(corrupt, bool) or not isinstance(corrupt, (int, float)) or not 0 <= corrupt < 1:
        raise AccountingError(f"corrupt: found {shown(corrupt)}; allowed: a share of the reports from 0 to below 1")
    n = math.floor((1 - Fraction(repr(float(corrupt)))) * counted)
    if n < FEWEST:
        without = f" of {counted}" if corrupt else ""
        raise AccountingError(f"n: found {n} honest reports{without}; allowed: at least {FEWEST}")
    return n


def checked_delta(delta: float) -> float:
    """The delta, if a promise can fail with such a chance."""
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 < delta < 1:
        raise AccountingError(f"delta: found {shown(delta)}; allowed: a number above 0 and below 1")
    return float(delta)


def unclaimed(question: Question) -> Literal["public measure", "lasting reports"] | None:
    """Why nothing is claimed for reports of this question, or None: they are not alike if a public number or what a
    user sent before tells them apart.
    """
    if question.memoised:
        return "lasting reports"
    return None if type(question).public is AuditFace.public else "public measure"


def blankets(question: Question) -> list[tuple[Bound, Blanket]]:
    """What bounds there are for a question, the one that knows most first. None where its reports are not alike."""
    if unclaimed(question) is not None:
        return []
    own = question.blanket()
    named: list[tuple[Bound, Blanket]] = [("blanket", own)] if own is not None else []
    return [*named, ("clones", clones_blanket(question.realised))]


class _ByDigest:
    """A question that is the same as another one of the same digest, whichever round it reads."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByDigest) and self.question.digest == other.question.digest

    def __hash__(self) -> int:
        return hash(self.question.digest)


def floored(n: int) -> int:
    """The number of reports with three significant digits, rounded down."""
    return int(Context(prec=DIGITS, rounding=ROUND_FLOOR).create_decimal(Decimal(n)))


def stepped(n: int, apart: int = 1) -> int:
    """The number of reports that counts over rounds that compose, for what is claimed again and again: the next below
    of 48 numbers a decade, of three digits each, or of every second one of these (apart = 2).

    >>> stepped(9_000), stepped(9_099), stepped(9_100), stepped(9_000, 2), stepped(99)
    (8650, 9080, 9080, 8250, 99)
    """
    digits = floored(n)
    if digits < _STEPS[0]:
        return digits
    unit = int(10 ** (len(str(digits)) - DIGITS))
    steps = _STEPS[::apart]
    return steps[bisect_right(steps, digits // unit) - 1] * unit


_STEPS: Final = tuple(int(100 * 10 ** (k / 48) + 1e-6) for k in range(48))


@lru_cache(maxsize=4096)
def _of_round(keyed: _ByDigest, n: int, delta: float) -> MixedClaim:
    question = keyed.question
    best = MixedClaim(question.epsilon, 0.0, "local", n)
    for bound, blanket in blankets(question):
        if best.bound != "local" and _worse(blanket, n, next_below(best.epsilon, DIGITS), delta):
            continue
        try:
            found = round_epsilon(blanket, n, delta, question.epsilon, DIGITS)
        except NotCertifiedError:
            continue
        if found < best.epsilon:
            best = MixedClaim(found, delta, bound, n)
    return best


def _worse(blanket: Blanket, n: int, epsilon: float, delta: float) -> bool:
    """Whether this bound certifies less: mostly a coarse lattice is enough to see it."""
    return (
        blanket_delta(blanket, n, epsilon, COARSE).bound > 2 * delta or blanket_delta(blanket, n, epsilon).bound > delta
    )


@lru_cache(maxsize=1024)
def _of_window(rounds: tuple[tuple[_ByDigest, int, int], ...], delta: float, fineness: Fineness) -> MixedClaim:
    """The exact composition of the best bound of each round; a sum of equal parts of delta where that is less.  With
    coarser grids the sum is left out where there is a composition.
    """
    times = sum(one[2] for one in rounds)
    n = min(one[1] for one in rounds)
    local = sum(Fraction(keyed.question.epsilon_micro, 10**6) * k for keyed, _, k in rounds)
    claims = [MixedClaim(float(local), 0.0, "local", n)]
    kinds = [dict(blankets(keyed.question)) for keyed, _, _ in rounds]
    if all(kinds):
        names: list[Bound] = ["blanket" if "blanket" in kind else "clones" for kind in kinds]
        made = [
            MixedRound(kind[name], m, keyed.question.epsilon, k)
            for kind, name, (keyed, m, k) in zip(kinds, names, rounds, strict=True)
        ]
        try:
            found = composed_epsilon(made, delta, DIGITS, fineness)
            claims.append(MixedClaim(found, delta, "clones" if "clones" in names else "blanket", n))
        except NotCertifiedError:
            pass
    if fineness != QUICK or len(claims) == 1:
        claims.insert(1, _summed(rounds, delta / times, delta, n))
    return min(claims, key=lambda claim: claim.epsilon)


def _of_sums(rounds: Sequence[tuple[Question, int, int]], delta: float) -> MixedClaim:
    """Rounds whose reports are added up, all of them: other ones have another claim, and no sum with these."""
    added = [(question, n, times) for question, n, times in rounds if isinstance(question, AUE)]
    if len(added) < len(rounds):
        raise AccountingError("window: found reports that are added up beside others; allowed: one kind in a window")
    return MixedClaim(summed_window(added, delta, DIGITS), delta, "counts", min(n for _, n, _ in rounds))


def _summed(rounds: tuple[tuple[_ByDigest, int, int], ...], part: float, delta: float, n: int) -> MixedClaim:
    """The rounds' own claims at a part of delta each, added up."""
    singles = [(_of_round(keyed, m, part), k) for keyed, m, k in rounds]
    total = sum(Fraction(repr(claim.epsilon)) * k for claim, k in singles)
    bound: Bound = "clones" if any(claim.bound == "clones" for claim, _ in singles) else "blanket"
    exact = float(total)
    return MixedClaim(exact if Fraction(exact) >= total else math.nextafter(exact, math.inf), delta, bound, n)
