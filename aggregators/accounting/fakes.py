# SPDX-License-Identifier: Apache-2.0
"""What uniform fake reports of the mixing zone add: against an analyst, and against one who knows everybody else.

Contract: n users and F fakes are shuffled together; fakes are uniform over all reports (randomizers/fakes.py).  With u
the uniform law a user's report is with chance `share` a draw from u whatever the value.  Tell an attacker which of the
others' reports are not such draws, and what they are: that can only help.  What is left is one report among K - 1 draws
from u, and there delta is D(K) = E[(H_1 + ... + H_K)_+] / K, H = (P[y|x] - E P[y|x']) / u(y) under u, E = e^epsilon.

1. Whoever knows all other users' *reports* has the fakes alone against them: delta = D(F + 1), exactly.
2. Whoever knows all other users' *values* has K = 1 + Bin(n - 1, share) + F.  D does not grow with K (the mean of the
   H is a reverse martingale), so E[K' D(K')] with K' = Bin(n, share) + F is at least (n share + F) E[D(K)]: delta is at
   most E[(H_1 + ... + H_K')_+] / (n share + F), a sum of independent scores of two kinds.  Without fakes it is the
   blanket's delta.

The chance that a fake was not drawn uniformly is added.  Which pair of values is the worst: ARCHITECTURE section 5.16.
Source: Wang 2021, section 9.5; the bound is ours.  Not here: mechanisms for which uniform reports prove nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple

from murmurate.aggregators.accounting.blanket import COARSE, MOST_REPORTS
from murmurate.aggregators.accounting.claim import DIGITS, checked_delta, floored, honest, mixed_claim
from murmurate.aggregators.accounting.compose import MixedRound, composed_epsilon
from murmurate.aggregators.accounting.errors import AccountingError, NotCertifiedError
from murmurate.aggregators.accounting.scores import Scores, orders
from murmurate.aggregators.accounting.search import CertifiedDelta, least_epsilon
from murmurate.aggregators.accounting.sums import positive_part_of
from murmurate.randomizers.errors import shown
from murmurate.randomizers.fakes import MISSED, checked_faked
from murmurate.randomizers.frequency import GRR, HadamardResponse
from murmurate.randomizers.frequency.local_hash import LocalHash
from murmurate.randomizers.question import Atom, Blanket, Question, one_apart
from murmurate.randomizers.thresholds import MICRO

_LEAST = 1e-300
_MOST_LOG = 600.0
_LESS = 1 - 2.0**-50
FakesBound = Literal["fakes", "blanket", "clones", "local", "counts"]
"""Users and fakes together, the bounds without any fakes, or no mixing at all."""


class UniformPart(NamedTuple):
    """A mechanism's reports relative to the uniform law, for the worst pair of values."""

    atoms: Blanket
    """Likelihoods relative to the uniform law, whose masses add up to 1."""
    share: Fraction
    """The chance with which a report is a draw from the uniform law, whatever the value is."""


class FakesClaim(NamedTuple):
    """An (epsilon, delta) that shuffled reports have with so many fakes among them, and where it is from."""

    epsilon: float
    """The claim, in nats."""
    delta: float
    """The chance with which it may fail; 0 where the claim is the local one."""
    bound: FakesBound
    """The bound that gave it."""
    n: int
    """Honest users whose reports hide one another, of three significant digits; 1 where all others' are known."""
    fakes: int
    """Fake reports, of three significant digits, rounded down."""


def uniform_part(question: Question) -> UniformPart:
    """The reports of a mechanism relative to the uniform law; ParameterError for one that takes no fakes."""
    of = checked_faked(question)
    one, ratio = Fraction(1), of.realised
    if isinstance(of, (GRR, LocalHash)):
        outputs = of.g if isinstance(of, LocalHash) else of.d
        low = of.p / ratio * outputs
        atoms = one_apart(Fraction(1, outputs), ratio, outputs)
        return UniformPart(tuple(Atom(mass, low * a, low * b) for mass, a, b in atoms), low)
    if isinstance(of, HadamardResponse):  # the rows in which two columns agree are half of all, each with two bits
        high, low, quarter = 2 * of.p, 2 * (1 - of.p), Fraction(1, 4)
        pairs = ((high, low), (low, high), (high, high), (low, low))
        return UniformPart(tuple(Atom(quarter, *pair) for pair in pairs), low)
    # Subsets by which of two values they hold.  A tie is as likely for every value, and left out of the report in
    # question: it says nothing.
    d, k = of.d, of.k
    split, both, none = (
        Fraction(ways, d * (d - 1)) for ways in (k * (d - k), k * (k - 1), (d - k) * (d - k - 1))
    )  # fmt: skip
    low = one / (Fraction(k, d) * (ratio - 1) + 1)
    high = low * ratio
    kinds = ((split, high, low), (split, low, high), (both, high, high), (none, low, low))
    return UniformPart(tuple(Atom(*kind) for kind in kinds if kind[0]), of.blanket()[0].mass / split)


def fakes_delta(question: Question, n: int, fakes: int, epsilon: float, sharpness: float = 1.0) -> CertifiedDelta:
    """The delta of n shuffled users and so many fakes at this epsilon, whatever the others hold.  With n = 1 all the
    others' reports may be known.
    """
    return _delta(_by_users(uniform_part(question), n), fakes, epsilon, sharpness)


def fakes_epsilon(question: Question, n: int, fakes: int, delta: float, digits: int = 6) -> float:
    """The least epsilon of so many digits that is certified for this delta; the local one, if that is less."""
    return _least(_by_users(uniform_part(question), n), fakes, delta, question.epsilon, digits)


def claim_with_fakes(question: Question, counted: int, fakes: int, delta: float, corrupt: float = 0.0) -> FakesClaim:
    """What n shuffled reports and so many fakes have against whoever sees them all at once: never more than without."""
    part, added = uniform_part(question), floored(checked_fakes(fakes, counted))
    plain = mixed_claim(question, counted, delta, corrupt)
    found = _claim(part, question.epsilon, plain.n, added, float(delta))
    return min(FakesClaim(*plain, fakes=added), found, key=lambda claim: claim.epsilon)


def claim_against_users(question: Question, counted: int, fakes: int, delta: float) -> FakesClaim:
    """What one report has among so many fakes against whoever knows all other users' reports, as a server does with
    which they collude.
    """
    added = floored(checked_fakes(fakes, counted))
    return _claim(uniform_part(question), question.epsilon, 1, added, checked_delta(delta))


def window_against_users(rounds: Sequence[tuple[Question, int, int]], delta: float) -> FakesClaim:
    """What a user's reports have in several rounds, each among its fakes, against whoever knows all other users'
    reports. rounds: a mechanism, the fakes of a round, and how many rounds there are like it.
    """
    made = tuple((uniform_part(question), question.epsilon_micro, floored(n), times) for question, n, times in rounds)
    if len(made) == 1 and made[0][-1] == 1:
        part, micro, fakes, _ = made[0]
        return _claim(part, micro / MICRO, 1, fakes, checked_delta(delta))
    return _composed(made, checked_delta(delta))


def checked_fakes(fakes: int, counted: int) -> int:
    """The number of fakes, if it is one and no more than the reports."""
    if isinstance(fakes, bool) or not isinstance(fakes, int) or not 0 <= fakes <= honest(counted, 0.0):
        raise AccountingError(
            f"fakes: found {shown(fakes)} for {counted} reports; allowed: a whole number from 0, and no more than the "
            "reports"
        )
    return fakes


class _Mixed(NamedTuple):
    """Users and what their reports have of the uniform law."""

    part: UniformPart
    n: int
    share: float
    """The chance of a draw from the uniform law: that of the report in question is 1 where it is alone."""


def _by_users(part: UniformPart, n: int) -> _Mixed:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise AccountingError(f"n: found {shown(n)}; allowed: a whole number of reports from 1")
    return _Mixed(part, min(n, MOST_REPORTS), 1.0 if n == 1 else float(part.share))


def _delta(mixed: _Mixed, fakes: int, epsilon: float, sharpness: float) -> CertifiedDelta:
    """The bound for the worse order of the pair, and the chance of fakes that were not drawn uniformly."""
    fakes = min(fakes, MOST_REPORTS)
    missed = fakes * MISSED * (1 + math.exp(epsilon))
    least = (mixed.n * mixed.share + fakes) * _LESS
    worst = CertifiedDelta(0.0, 0.0)
    for pair in _orders(mixed.part.atoms):
        values, chances, _ = pair.scores(epsilon)
        users = Scores(values, mixed.share * chances, max(0.0, 1 - mixed.share))
        found = positive_part_of([(users, mixed.n), (Scores(values, chances, 0.0), fakes)], sharpness)
        if found.log_scale > _MOST_LOG:
            return CertifiedDelta(1.0, 1.0)  # delta is never more, and nothing is certified
        if found.value > 0:
            scale = math.exp(found.log_scale) / least
            worst = max(worst, CertifiedDelta(found.value * scale + _LEAST, found.excess * scale + _LEAST))
    return CertifiedDelta(worst.bound + missed, worst.excess + missed)


def _least(mixed: _Mixed, fakes: int, delta: float, limit: float, digits: int) -> float:
    def curve(sharpness: float) -> Callable[[float], CertifiedDelta]:
        return lambda at: _delta(mixed, fakes, at, sharpness)

    return least_epsilon(curve(COARSE), curve(1.0), delta, limit, digits)


@lru_cache(maxsize=4096)
def _claim(part: UniformPart, local: float, n: int, fakes: int, delta: float) -> FakesClaim:
    """What users and fakes have together, or the local epsilon where that is less or nothing is certified."""
    try:
        found = _least(_by_users(part, n), fakes, delta, local, DIGITS) if fakes else local
    except NotCertifiedError:
        found = local
    return FakesClaim(found, delta, "fakes", n, fakes) if found < local else FakesClaim(local, 0.0, "local", n, fakes)


@lru_cache(maxsize=1024)
def _composed(rounds: tuple[tuple[UniformPart, int, int, int], ...], delta: float) -> FakesClaim:
    """The exact composition of rounds in which the fakes alone hide a user: one draw more than fakes from the uniform
    law, which is a blanket of the whole mass; or the local epsilon of all rounds, where that is less.
    """
    local = float(sum(Fraction(micro, MICRO) * times for _, micro, _, times in rounds))
    found, least = local, min(fakes for _, _, fakes, _ in rounds)
    missed = sum(fakes * times for _, _, fakes, times in rounds) * MISSED * (1 + math.exp(local))
    if missed < delta:
        made = [
            MixedRound(part.atoms, min(fakes, MOST_REPORTS) + 1, micro / MICRO, times)
            for part, micro, fakes, times in rounds
        ]
        with suppress(NotCertifiedError):
            found = composed_epsilon(made, delta - missed, DIGITS)
    return FakesClaim(found, delta, "fakes", 1, least) if found < local else FakesClaim(local, 0.0, "local", 1, least)


_orders = lru_cache(maxsize=64)(orders)
