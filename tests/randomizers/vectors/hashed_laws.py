# SPDX-License-Identifier: Apache-2.0
"""What Collision and CoCo keep beyond laws.py: privacy under a round's hash functions, and supports over all functions.

A round has a few hash functions, under which supports are not what they are on average; so privacy is checked under
those of several rounds, and supports over every function from symbols to cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from murmurate.randomizers.audit import ExactAudit, audit_exact
from murmurate.randomizers.lanes import Bytes
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.vectors.entries import Held
from murmurate.randomizers.vectors.hashed import HashedOracle
from tests.randomizers.vectors.laws import all_held, numbers

EPSILONS = (0.000001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.693147, 0.7, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 8, 11, 20)
LAYOUTS = [(kind, d, s, d % 2) for kind in ("signed", "items") for d, s in ((1, 1), (3, 2), (4, 3))]


def users(n: int, part: int = 0) -> Bytes:
    """The pseudonyms of n users."""
    return contexts(np.arange(n), part)


def audit(question: HashedOracle, round: bytes) -> ExactAudit:
    """The exact audit over all vectors of signs, some with numbers, and *none*."""
    values = [question.value(held) for held in all_held(question)] + numbers(question)
    return audit_exact(question, round=round, values=values)


def check_privacy(question: HashedOracle, rounds: int) -> None:
    """Epsilon holds in rounds with different hash functions; the largest ratio is within a billionth of it."""
    for number in range(rounds):
        found = audit(question, number.to_bytes(32, "big"))
        assert found.holds, (question, number, found.violations)
    assert question.realised <= question.bound
    assert question.realised > question.bound * (1 - Fraction(1, 10**9))


def mean_supports(question: HashedOracle, held: Held) -> list[tuple[Fraction, Fraction, Fraction]]:
    """For each item, the probabilities of supporting +1, -1 and both, over all functions from symbols to cells."""
    entries = [(item, sign) for item in range(question.d) for sign in (1, -1)]
    symbols = [int(question._symbols(np.array(item), np.array(sign))) for item, sign in entries]
    names = sorted(set(symbols))
    law = cache(lambda cells: question.law_given(cells))
    functions = list(product(range(question.t), repeat=len(names)))
    counts = np.zeros((question.d, 3), object)
    for function in functions:
        of = dict(zip(names, function, strict=True))
        cell = {
            entry: int(question._signed(np.uint16(of[symbol]), np.int8(entry[1])))
            for entry, symbol in zip(entries, symbols, strict=True)
        }
        chances = law(tuple(sorted(cell[entry] for entry in held)))
        for item in range(question.d):
            up, down = cell[item, 1], cell[item, -1]
            counts[item] += chances[up], chances[down], chances[up] if up == down else Fraction(0)
    return [tuple(row / len(functions)) for row in counts]


def check_supports(question: HashedOracle, vectors: Sequence[Held]) -> None:
    """The probabilities of supports are what is said; of sets with one count an item, those of +1."""
    said = question.supports
    for held in vectors:
        for item, found in enumerate(mean_supports(question, held)):
            sign = dict(held).get(item, 0)
            wanted = {
                0: (said.absent, said.absent, said.both_absent),
                1: (said.own, said.opposite, said.both_held),
                -1: (said.opposite, said.own, said.both_held),
            }[sign]
            looked_at = 3 if question.outcomes == 2 * question.d else 1
            for chance, expected in list(zip(found, wanted, strict=True))[:looked_at]:
                assert abs(chance - expected) <= expected * Fraction(1, 1 << 50), (question, held, item)
