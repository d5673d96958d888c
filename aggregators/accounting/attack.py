# SPDX-License-Identifier: Apache-2.0
"""What shuffled reports show at least: a lower bound of every epsilon that may be claimed for them.

Contract: everybody else holds the second value of a pair, and an attacker counts the reports that speak most for the
first one (`Question.telling`).  The numbers follow one of two laws, both known exactly; the delta of these two is
attained by that attack, so no bound can be below `shown_at_least`.  Fake reports are counted with the others' where
there are any; with n = 1 they are all there is besides the report in question.  It counts one kind of reports only, so
it may lie a third or more below what is true.  Not here: what may be claimed (claim.py, fakes.py).
"""

from __future__ import annotations

import math

import numpy as np

from murmurate.aggregators.accounting.binomial import chances
from murmurate.randomizers.fakes import fake_telling
from murmurate.randomizers.question import Floats, Question

_WIDE = 12.0
_HALVINGS = 50
_LESS = 1 - 1e-9
_SEEN = 1e-18
"""Numbers that are rarer than this are left out where two kinds are added up, whose laws are cut at 12 deviations."""


def shown_at_least(question: Question, n: int, delta: float, fakes: int = 0) -> float:
    """An epsilon below which n shuffled reports of this question do not have this delta: 0 where nothing is shown."""
    one, other = (float(chance) for chance in question.telling)
    laws = _laws(one, other, n, fakes, float(fake_telling(question)) if fakes else 0.0)
    low, high = 0.0, question.epsilon
    if _delta(*laws, low) <= delta:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(*laws, middle) > delta else (low, middle)
    return low * _LESS


def attack_delta(one: float, other: float, n: int, epsilon: float, fakes: int = 0, faked: float = 0.0) -> float:
    """The delta of the number of reports of a kind, which one of n gives with either chance and all others with the
    second, and each fake with a chance of its own; for the order of both that shows more.
    """
    return _delta(*_laws(one, other, n, fakes, faked), epsilon)


def _delta(first: Floats, second: Floats, epsilon: float) -> float:
    ratio = math.exp(epsilon)
    return max(float(np.maximum(a - ratio * b, 0).sum()) for a, b in ((first, second), (second, first)))


def _laws(one: float, other: float, n: int, fakes: int, faked: float) -> tuple[Floats, Floats]:
    """The chances of the numbers by the value of the one report, over those that are likely."""
    if not fakes:
        low, high = _likely(n - 1, other)
        k = np.arange(low, high + 2)
        here, before = chances(k, n - 1, other), chances(k - 1, n - 1, other)
    else:
        law = np.convolve(_likely_law(n - 1, other), _likely_law(fakes, faked))
        here, before = np.append(law, 0.0), np.insert(law, 0, 0.0)
        seen = np.maximum(here, before) > _SEEN
        here, before = here[seen], before[seen]
    return (1 - one) * here + one * before, (1 - other) * here + other * before


def _likely(n: int, chance: float) -> tuple[int, int]:
    """The first and the last number that is likely."""
    spread = _WIDE * math.sqrt(max(1.0, n * chance * (1 - chance))) + _WIDE
    return max(0, math.floor(n * chance - spread)), min(n, math.ceil(n * chance + spread))


def _likely_law(n: int, chance: float) -> Floats:
    low, high = _likely(n, chance)
    return chances(np.arange(low, high + 1), n, chance)
