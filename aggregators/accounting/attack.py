"""What shuffled reports show at least: a lower bound of every epsilon that may be claimed for them.

Contract: everybody else holds the second value of a pair, and an attacker counts the reports that speak most for the
first one (`Question.telling`).  The numbers follow one of two laws, both known exactly; the delta of these two is
attained by that attack, so no bound can be below `shown_at_least`.  It counts one kind of reports only, so it may lie a
third or more below what is true.  Not here: what may be claimed (claim.py).
"""

from __future__ import annotations

import math

import numpy as np

from murmurate.aggregators.accounting.binomial import chances
from murmurate.randomizers.question import Question

_WIDE = 12.0
_HALVINGS = 50
_LESS = 1 - 1e-9


def shown_at_least(question: Question, n: int, delta: float) -> float:
    """An epsilon below which n shuffled reports of this question do not have this delta: 0 where nothing is shown."""
    one, other = (float(chance) for chance in question.telling)
    low, high = 0.0, question.epsilon
    if attack_delta(one, other, n, low) <= delta:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if attack_delta(one, other, n, middle) > delta else (low, middle)
    return low * _LESS


def attack_delta(one: float, other: float, n: int, epsilon: float) -> float:
    """The delta of the number of reports of a kind, which one of n gives with either chance and all others with the
    second; for the order of both that shows more.
    """
    others, ratio = n - 1, math.exp(epsilon)
    spread = _WIDE * math.sqrt(max(1.0, others * other * (1 - other))) + _WIDE
    k = np.arange(max(0, math.floor(others * other - spread)), min(n, math.ceil(others * other + spread)) + 1)
    here, before = chances(k, others, other), chances(k - 1, others, other)
    first, second = (1 - one) * here + one * before, (1 - other) * here + other * before
    shown = [float(np.maximum(a - ratio * b, 0).sum()) for a, b in ((first, second), (second, first))]
    return max(shown)
