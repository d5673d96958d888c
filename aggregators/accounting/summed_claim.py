# SPDX-License-Identifier: Apache-2.0
"""What may be claimed for rounds whose reports were added up before anybody saw them: the exact delta of their counts.

Contract: as `mixed_claim` and `window_claim` (claim.py), for questions whose reports show their values by themselves:
there is no local epsilon to fall back to, so that where no epsilon is certified an AccountingError says so, and nothing
is claimed.  Rounds that the same users answer add up, each at its part of delta.  Not here: how many ones are needed
(added_ones.py), who adds up (agents/stages/summing.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.aggregators.accounting.search import CertifiedDelta, least_epsilon
from murmurate.randomizers.frequency.appended import AUE, counted_delta

LIMIT: Final = 20.0
"""No epsilon from here on is claimed."""


def summed_epsilon(question: AUE, n: int, delta: float, digits: int) -> float:
    """The least epsilon of so many digits, rounded up, that the counts of n honest reports have at this delta."""
    found = _least(question.ones, n, delta, digits)
    if found is None:
        raise AccountingError(
            f"{question.name}: found {n} honest reports, too few for any epsilon below {LIMIT:g} at delta {delta:g}; "
            f"allowed: {question.batch} or more"
        )
    return found


def summed_window(rounds: Sequence[tuple[AUE, int, int]], delta: float, digits: int) -> float:
    """The epsilon of several rounds for users who answer in each: a question, its honest reports, and how often."""
    times = sum(one[2] for one in rounds)
    total = sum(Fraction(repr(summed_epsilon(of, n, delta / times, digits))) * k for of, n, k in rounds)
    exact = float(total)
    return exact if Fraction(exact) >= total else math.nextafter(exact, math.inf)


@lru_cache(maxsize=1024)
def _least(ones: int, n: int, delta: float, digits: int) -> float | None:
    def curve(epsilon: float) -> CertifiedDelta:  # its inaccuracy is in the bound
        return CertifiedDelta(counted_delta(ones, n, epsilon), 0.0)

    found = least_epsilon(curve, curve, delta, LIMIT, digits)
    return found if found < LIMIT else None
