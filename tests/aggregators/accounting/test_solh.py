# SPDX-License-Identifier: Apache-2.0
"""SOLH: cells for a central target, by the exact bound and by the paper's rule."""

from __future__ import annotations

import math
from typing import Any

import pytest

from murmurate.aggregators.accounting import AccountingError, mixed_claim
from murmurate.aggregators.accounting.literature import target_solh
from murmurate.aggregators.accounting.solh import solh_buckets
from murmurate.randomizers import OLH
from tests.aggregators.accounting.given import GOLDEN
from tests.cases import every

TARGETS = [(602_325, 915, 0.5, 1e-9), (10_000, 300, 0.2, 1e-6), (1_000, 20, 0.4, 1e-5)]


@every(("n", "d", "epsilon", "delta"), TARGETS[1:], long=TARGETS[:1])
def test_the_exact_choice_keeps_the_target_and_is_never_worse_than_the_papers(
    n: int, d: int, epsilon: float, delta: float
) -> None:
    exact, paper = (solh_buckets(n, epsilon, delta, d=d, rule=rule) for rule in ("exact", "paper"))
    assert exact.variance <= paper.variance <= (target_solh(epsilon, n, delta).variance + 1 / (n * d)) * 1.001
    for choice in (exact, paper):
        made = OLH(d=d, epsilon=choice.epsilon, g=choice.cells)
        assert mixed_claim(made, n, delta).epsilon <= epsilon
        assert float(made.variance(n, 1 / d)) == pytest.approx(choice.variance, rel=0.01)  # n of three digits
        more = OLH(d=d, epsilon=choice.epsilon * 1.002, g=choice.cells)
        assert mixed_claim(more, n, delta).epsilon > 0.99 * epsilon


def test_the_papers_rule_gives_the_papers_cells() -> None:
    for row in GOLDEN["kosarak"][:2]:
        found = solh_buckets(990_002, row["eps_c"], 1e-9, d=42_178, rule="paper")
        assert abs(found.cells - row["d_prime_round"]) <= 1
        assert float(found.epsilon) > row["eps_l"]


def test_no_other_number_of_cells_is_better() -> None:
    """The variance at a few dozen other numbers, each with the largest epsilon that keeps the target."""
    from murmurate.aggregators.accounting import solh

    best = solh_buckets(10_000, 0.2, 1e-6, d=300)
    asked = solh._Asked(10_000, 0.2, 1e-6, 300, 20_000_000)
    for k in range(2, 28):
        other = solh._at(asked, round(1.7**k))
        assert best.variance <= other.variance * (1 + 1e-4), other


def test_what_a_device_may_spend_bounds_the_choice() -> None:
    free = solh_buckets(10_000, 0.2, 1e-6, d=300)
    bound = solh_buckets(10_000, 0.2, 1e-6, d=300, limit=1.5)
    assert bound.epsilon == 1.5 < free.epsilon
    assert bound.variance > free.variance
    assert mixed_claim(OLH(d=300, epsilon=1.5, g=bound.cells), 10_000, 1e-6).epsilon <= 0.2
    alone = solh_buckets(2, 0.2, 1e-6, d=300)  # mixing two reports is worth nothing
    assert alone.epsilon < 0.21 or alone.cells > 10**6
    assert mixed_claim(OLH(d=300, epsilon=alone.epsilon, g=alone.cells), 2, 1e-6).epsilon <= 0.2


@every(
    ("n", "epsilon", "delta", "more"),
    [
        (1, 0.5, 1e-6, {}),
        (100, 0, 1e-6, {}),
        (100, math.nan, 1e-6, {}),
        (100, True, 1e-6, {}),
        (100, 2, 1e-6, {"limit": 1}),
        (100, 0.5, 0, {}),
        (100, 0.5, 1e-6, {"rule": "best"}),
        (100, 0.5, 1e-6, {"corrupt": 1}),
    ],
)
def test_a_target_that_is_none_is_refused(n: int, epsilon: Any, delta: float, more: dict[str, Any]) -> None:
    with pytest.raises(AccountingError, match="found"):
        solh_buckets(n, epsilon, delta, d=10, **more)
