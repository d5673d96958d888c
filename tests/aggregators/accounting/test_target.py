# SPDX-License-Identifier: Apache-2.0
"""The mechanism and the local epsilon for a central target: certified, the best there is, and the smallest batch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.accounting import (
    AccountingError,
    MixedTarget,
    mixed_claim,
    smallest_batch,
    under_target,
    window_claim,
)
from murmurate.aggregators.candidates import candidates, cells_at
from murmurate.aggregators.measures.attributes import Attribute
from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.items import ItemShares
from murmurate.aggregators.measures.marginals import Marginals
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.measures.strings import Prefixes
from murmurate.randomizers import GRR, OLH, Weighted
from murmurate.topics.domains import Bits, Grid, Items
from tests.cases import every

LOOSE, TIGHT = MixedTarget(0.5, 1e-9), MixedTarget(0.05, 1e-8, 0.1)
MEASURES: list[Measure] = [
    Frequency.of_size(16),
    Mean(Grid(0, 1, 65_537, "points")),
    Mean(Grid(0, 1, 65_537, "points"), says_none=False),
    Distribution.of_size(64),
    ItemShares(Items(300, 8), pad=4),
    Prefixes(Bits(48), prefix=8),
]


def test_a_central_target_has_a_hundredth_of_the_local_error_and_less() -> None:
    chosen = under_target(candidates(Frequency.of_size(915)), LOOSE, smallest=602_325, limit=20_000_000)
    local = OLH(d=915, epsilon=0.5).variance(602_325, 1 / 915)
    assert (chosen.name, chosen.claim.epsilon) == ("grr", 0.5)
    assert float(local) >= 20_000 * chosen.variance
    assert chosen.variance == float(chosen.question.variance(602_325, 1 / 915))


@every("measure", MEASURES)
def test_what_is_chosen_keeps_the_target_and_the_limit_and_a_step_more_would_not(measure: Measure) -> None:
    for limit in (500_000, 8_000_000):
        chosen = under_target(candidates(measure), TIGHT, smallest=10_000, limit=limit)
        assert chosen.question.epsilon_micro == chosen.epsilon_micro <= limit
        assert chosen.claim == mixed_claim(chosen.question, 10_000, TIGHT.delta, TIGHT.corrupt)
        assert chosen.claim.epsilon <= TIGHT.epsilon
        assert chosen.gain > 1
        if chosen.epsilon_micro < limit:
            more = measure.question(chosen.name, Fraction(chosen.epsilon_micro * 102 // 100, 10**6))
            assert mixed_claim(more, 10_000, TIGHT.delta, TIGHT.corrupt).epsilon > TIGHT.epsilon


@every("limit", [1_500_000], long=[3_000_000])
def test_no_other_candidate_that_keeps_the_target_has_a_smaller_variance(limit: int) -> None:
    measure = Frequency.of_size(16)
    chosen = under_target(candidates(measure), TIGHT, smallest=5_000, limit=limit)
    for one in candidates(measure):
        for micro in np.linspace(100_000, limit, 6).astype(int).tolist():
            question = one.question(micro)
            if one.variance(question, 5_000) < chosen.variance / 1.01:
                assert mixed_claim(question, 5_000, TIGHT.delta, TIGHT.corrupt).epsilon > TIGHT.epsilon


@every(("d", "limit", "better"), [(915, 4_000_000, 1.4), (16, 4_000_000, 1.0)])
def test_local_hashing_with_cells_for_the_target_is_taken_where_it_is_better(d: int, limit: int, better: float) -> None:
    measure, target = Frequency.of_size(d), MixedTarget(0.5, 1e-8, 0.1)
    cells = cells_at(measure, target, smallest=1000, limit=limit)
    usual, chosen = (
        under_target(candidates(measure, cells=g), target, smallest=1000, limit=limit) for g in (None, cells)
    )
    assert usual.variance >= better * chosen.variance
    assert chosen.claim.epsilon <= 0.5
    assert (cells is None) == (chosen.name == usual.name)


def test_where_mixing_adds_nothing_the_local_epsilon_is_the_target() -> None:
    grr = candidates(Frequency.of_size(16), "grr")
    chosen = under_target(grr, MixedTarget(0.5, 1e-9), smallest=2, limit=8_000_000)
    assert (chosen.epsilon_micro, chosen.claim.bound, chosen.gain) == (500_000, "local", 1.0)
    small = under_target(grr, MixedTarget(2.0, 1e-9), smallest=2, limit=1_000_000)
    assert (small.epsilon_micro, small.gain) == (1_000_000, 1.0)  # the limit is below the target


def test_several_rounds_of_the_same_users_keep_the_target_together() -> None:
    target = MixedTarget(0.1, 1e-8)
    chosen = under_target(candidates(Frequency.of_size(64)), target, smallest=50_000, limit=8_000_000, rounds=20)
    assert chosen.claim == window_claim([(chosen.question, 50_000, 20)], 1e-8)
    assert 0.098 <= chosen.claim.epsilon <= 0.1


def test_a_named_mechanism_is_the_only_candidate_and_several_views_may_share_or_mix() -> None:
    assert [one.name for one in candidates(MEASURES[0], "oue")] == ["oue"]
    plan, city = Attribute.of_texts("plan", ("free", "pro")), Attribute.of_texts("city", tuple("abcdefghij"))
    marginals = Marginals.of((plan, city), (("plan",), ("city", "plan")))
    names = [one.name for one in candidates(marginals)]
    assert names[0] == "grr"
    assert names[-1] == "auto"
    chosen = under_target(candidates(marginals), TIGHT, smallest=40_000, limit=6_000_000)
    assert chosen.claim.epsilon <= TIGHT.epsilon


def test_who_prefers_bytes_has_no_longer_reports() -> None:
    made = [
        under_target(candidates(MEASURES[0]), TIGHT, smallest=10_000, limit=1_000_000, prefer=prefer)
        for prefer in ("accuracy", "bytes")
    ]
    assert made[1].question.wire_size <= made[0].question.wire_size
    assert made[1].variance <= 1.51 * made[0].variance


def test_choices_are_the_same_on_every_machine() -> None:
    made = [under_target(candidates(measure), TIGHT, smallest=10_000, limit=8_000_000) for measure in MEASURES]
    assert [(one.name, one.epsilon_micro) for one in made] == [
        ("grr", 1_461_000), ("value_presence", 962_500), ("hm", 888_400), ("sw_presence", 1_035_000),
        ("grr", 2_060_000), ("grr", 2_587_000),
    ]  # fmt: skip


@every(("question", "target"), [(GRR(d=16, epsilon=1), MixedTarget(0.02, 1e-6, 0.1)), (OLH(d=99, epsilon=2), TIGHT)])
def test_the_smallest_batch_keeps_the_target_and_one_report_fewer_does_not(
    question: GRR | OLH, target: MixedTarget
) -> None:
    found = smallest_batch(question, target)
    assert found is not None
    assert mixed_claim(question, found, target.delta, target.corrupt).epsilon <= target.epsilon
    assert mixed_claim(question, found - 1, target.delta, target.corrupt).epsilon > target.epsilon
    twice = smallest_batch(question, target, rounds=2)
    assert twice is not None
    assert 1.9 * found < twice < 2.1 * found


def test_a_question_within_the_target_needs_the_fewest_and_one_that_does_not_mix_has_no_batch() -> None:
    assert smallest_batch(GRR(d=16, epsilon=1), MixedTarget(1.0, 1e-6, 0.5)) == 4
    assert smallest_batch(Weighted(GRR(d=8, epsilon=1), 5), LOOSE) is None


@pytest.mark.parametrize(
    ("target", "rounds", "said"),
    [
        (MixedTarget(0, 1e-6), 1, "mixed: epsilon: found 0; allowed: a number above 0"),
        (MixedTarget(float("nan"), 1e-6), 1, "mixed: epsilon: found nan; allowed: a number above 0"),
        (MixedTarget(0.5, 0), 1, "delta: found 0; allowed: a number above 0 and below 1"),
        (
            MixedTarget(1e-6, 1e-6), 3,
            "mixed: epsilon: found 1e-06 for 3 rounds; allowed: at least a micro-nat for each, 3e-06",
        ),
        (LOOSE, 0, "mixed: found 8 candidates, 0 rounds and 5 micro-nats; allowed: at least one each"),
    ],
)  # fmt: skip
def test_a_target_that_is_none_is_refused_in_one_line(target: MixedTarget, rounds: int, said: str) -> None:
    with pytest.raises(AccountingError) as refused:
        under_target(candidates(MEASURES[0]), target, smallest=1_000, limit=5, rounds=rounds)
    assert str(refused.value) == said
