# SPDX-License-Identifier: Apache-2.0
"""What every mechanism for sparse vectors keeps, from its exact law: privacy, probabilities of supports, variances.

`check_exactly(question)` does all of it for a small question; a mechanism's own tests add what is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.layouts import FILLER, UNIT
from murmurate.randomizers.question import Value
from murmurate.randomizers.randomness import Key, contexts
from murmurate.randomizers.vectors import SparseOracle, VectorQuestion
from murmurate.randomizers.vectors.entries import Held

KEY = Key(bytes(range(32)), deployment="vectors")


def all_held(question: VectorQuestion) -> Iterator[Held]:
    """Every vector of signs (of sets: every set) with at most s entries."""
    signs = (1, -1) if question.signed else (1,)
    for size in range(question.s + 1):
        for items in combinations(range(question.d), size):
            for chosen in product(signs, repeat=size):
                yield tuple(zip(items, chosen, strict=True))


def numbers(question: VectorQuestion) -> list[Value]:
    """Some values with numbers that are no signs, and *none* where there is one."""
    values: list[Value] = [question.of.nothing] if question.of.none else []
    if question.signed:
        first = [0, UNIT // 2]
        last = [word for item in range(question.s) for word in (item, UNIT + UNIT // (3 + item))]
        values += [(*held, *(FILLER, 0) * ((question.words - len(held)) // 2)) for held in (first, last)]
    return values


def check_exactly(question: SparseOracle, *, round: bytes = bytes(32)) -> None:
    """The exact facts of a small question: see the names of the parts."""
    question = question.of_round(round)
    vectors = {held: question.law(question.value(held)) for held in all_held(question)}
    _epsilon_holds(question, round)
    for held, law in vectors.items():
        _supports_are_what_is_said(question, held, law)


def _epsilon_holds(question: VectorQuestion, round: bytes) -> None:
    values = [question.value(held) for held in all_held(question)] + numbers(question)
    audit = audit_exact(question, round=round, values=values)
    assert audit.holds, (question, audit.violations)


def _supports_are_what_is_said(question: SparseOracle, held: Held, law: Mapping[bytes, Fraction]) -> None:
    rows = np.array([list(report) for report in law], np.uint8).reshape(len(law), -1)
    assert not question.malformed(rows).any()
    chances, signs = list(law.values()), dict(held)
    each = np.array([question.support(row[np.newaxis]) for row in rows])  # reports x 2 d
    for item in range(question.d):
        up, down = each[:, item], each[:, question.d + item]
        plus, minus, both = (
            sum((c for c, hit in zip(chances, hits, strict=True) if hit), Fraction(0)) for hits in (up, down, up * down)
        )
        said, sign = question.supports, signs.get(item, 0)
        expected = {
            0: (said.absent, said.absent, said.both_absent),
            1: (said.own, said.opposite, said.both_held),
            -1: (said.opposite, said.own, said.both_held),
        }[sign]
        for found, wanted in zip((plus, minus, both), expected, strict=True):
            assert abs(found - wanted) <= wanted * Fraction(1, 1 << 50), (question, held, item, float(found), wanted)


def one_and_many_agree(question: VectorQuestion, values: list[Value], *, round: bytes = bytes(32)) -> None:
    """`perturb` and `perturb_one` give the same bytes."""
    question = question.of_round(round)
    users = contexts(np.arange(len(values)))
    reports = question.perturb(question.of.array(values), KEY.draw(users, round=round))
    assert not question.malformed(reports).any()
    for user, value, report in zip(users, values, reports, strict=True):
        assert question.perturb_one(value, KEY.draw_one(user.tobytes(), round=round)) == report.tobytes()


def reports_follow_the_law(question: VectorQuestion, value: Value, n: int = 200_000) -> None:
    """A chi-square test of drawn reports against the law; false alarm 1e-6 (normal approximation of its tail)."""
    law = question.law(value)
    users = contexts(np.arange(n), 7)
    values = np.repeat(question.of.array([value]), n, axis=0)
    reports, counts = np.unique(question.perturb(values, KEY.draw(users, round=bytes(32))), axis=0, return_counts=True)
    seen = {row.tobytes(): int(count) for row, count in zip(reports, counts, strict=True)}
    assert seen.keys() <= law.keys()
    large = [report for report, chance in law.items() if chance * n >= 10]
    rest = 1 - sum(law[report] for report in large)
    cells = [(seen.get(report, 0), float(law[report] * n)) for report in large]
    if rest * n >= 10:
        cells.append((n - sum(count for count, _ in cells), float(rest * n)))
    chi = sum((found - wanted) ** 2 / wanted for found, wanted in cells)
    degrees = max(1, len(cells) - 1)
    assert chi < degrees + 5 * (2 * degrees) ** 0.5 + 25, (question, value, chi, degrees)


def estimates_are_right(question: SparseOracle, value: Value, *, rounds: int = 400, n: int = 500) -> None:
    """Unbiased within 5 standard errors, and a variance within 6 (of d statistics): false alarm below 1e-5."""
    values = np.repeat(question.of.array([value]), n, axis=0)
    runs = []
    for number in range(rounds):
        draw = KEY.draw(contexts(np.arange(n), number), round=bytes(31) + b"\1")
        runs.append(question.estimate(question.support(question.perturb(values, draw)), n))
    found = np.array(runs)
    held = dict(question.held_by(value))
    means = np.array([held.get(item, 0) for item in range(question.d)], np.float64)
    truth = np.concatenate((means, np.abs(means)))[: question.statistics]
    variance = question.variance(n, np.abs(means))
    if question.statistics > question.d:
        variance = np.concatenate((variance, question.share_variance(n, np.abs(means))))
    assert (np.abs(found.mean(axis=0) - truth) < 5 * np.sqrt(variance / rounds) + 1e-12).all()
    ratio = found.var(axis=0, ddof=1) / np.maximum(variance, 1e-300)
    assert (np.abs(ratio - 1) < 6 * np.sqrt(3 / rounds)).all(), (question, ratio)
