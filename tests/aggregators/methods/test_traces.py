# SPDX-License-Identifier: Apache-2.0
"""LBU, LPU and LPA step by step, against what each period must do."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.methods.absorption import LPA, Absorption
from murmurate.aggregators.methods.errors import TurnError
from murmurate.aggregators.methods.last_estimate import measured
from murmurate.aggregators.methods.method import Answer, Request, Setting
from murmurate.aggregators.methods.uniform import LBU, LPU
from murmurate.randomizers import GRR, OLH, HadamardResponse, ParameterError, SnapshotError, SubsetSelection
from tests.aggregators.methods.driving import SEED, ask, decided
from tests.measured import sized

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "methods.json").read_text(encoding="ascii")
)
SETTING = Setting(sized(2), epsilon_micro=1_000_000, w=4, slots=2_000, first_t=1, seed=SEED)
EVEN = np.array([0.5, 0.5])
LOST = Answer(np.zeros(2, np.int64), 0)


def even(request: Request, users: int = 1) -> Answer:
    """The answer of so many users a slot, half of whose reports name each value."""
    n = users * int(SETTING.slots if request.asked is None else request.asked.sum())
    return Answer(np.array([n - n // 2, n // 2]), n)


def test_a_tie_is_approximated() -> None:
    lpa = LPA(SETTING, variance="paper")
    lpa.open(1)
    lpa.crowd.learn(10, 10)
    assert not decided(lpa.decide(lpa.price(250, EVEN), EVEN)).published


def test_in_any_window_absorption_offers_at_most_w_units_whatever_is_decided() -> None:
    # Brute force over all decisions of 12 periods.
    for w in (1, 2, 3, 5):
        for pattern in range(1 << 12):
            schedule, used = Absorption(unit=1, w=w), []
            for step in range(1, 13):
                amount = schedule.offer(step)
                publish = amount > 0 and bool(pattern >> step - 1 & 1)
                if publish:
                    schedule.spend(step, amount)
                used.append(amount if publish else 0)
                assert sum(used[-w:]) <= w


def test_lpa_releases_zeros_with_the_widest_error_before_anything_is_known() -> None:
    lpa = LPA(SETTING)
    ask(lpa.open(1))
    decision = decided(lpa.tally(LOST))
    assert (decision.published, decision.measured_t) == (False, None)
    assert decision.vector.unbiased.tolist() == [0, 0]
    assert decision.vector.variance.tolist() == [1, 1]


def test_zeros_are_off_by_what_the_first_round_saw() -> None:
    lpa = LPA(SETTING)
    lpa.open(1)
    lpa.crowd.learn(10, 10)
    assert decided(lpa.decide(-1.0, EVEN)).vector.variance.tolist() == [0.25, 0.25]  # 1/d^2 at least
    lpa = LPA(replace(SETTING, min_batch=10_000))
    lpa.open(1)
    lpa.crowd.learn(10, 10)
    assert decided(lpa.decide(0.4, EVEN)).vector.variance.tolist() == [0.4, 0.4]


def test_a_release_that_stands_is_never_surer_than_its_own_reports_nor_than_its_distance() -> None:
    lpa = LPA(SETTING)
    published = decided(lpa.tally(even(ask(lpa.tally(even(ask(lpa.open(1))))))))
    assert published.published
    own = published.vector.variance
    lpa.open(2)
    assert np.array_equal(decided(lpa.decide(-0.5, EVEN)).vector.variance, own)
    lpa.open(3)
    price = lpa.price(lpa.allotment.offer(lpa.step), EVEN)
    assert decided(lpa.decide(price, EVEN)).vector.variance == pytest.approx(np.maximum(own, price))
    ask(lpa.open(4))
    assert decided(lpa.tally(LOST)).vector.variance == pytest.approx(np.maximum(own, price))  # the last distance speaks


def test_a_published_value_has_the_error_of_mechanism_and_sampling() -> None:
    lpu = LPU(SETTING)
    question = ask(lpu.open(1))
    decision = decided(lpu.tally(even(question, users=10)))
    grr = GRR(d=2, epsilon=1)
    sampling = 0.25 / 5_000 * (20_000 - 5_000) / 19_999
    assert decision.vector.variance == pytest.approx(grr.variance(5_000, EVEN) + sampling)
    lbu = LBU(SETTING)
    decision = decided(lbu.tally(even(ask(lbu.open(1)))))
    assert decision.vector.variance == pytest.approx(GRR(d=2, epsilon=0.25).variance(2_000, EVEN))


def test_an_empty_second_round_leaves_the_release_and_uses_its_units() -> None:
    lpa = LPA(SETTING)
    ask(lpa.open(1))
    lpa.crowd.learn(10, 10)
    lpa.decide(-1.0, EVEN)
    ask(lpa.open(2))
    ask(lpa.decide(9.0, EVEN))
    decision = decided(lpa.tally(LOST))
    assert not decision.published
    assert decision.measured_t is None
    assert (lpa.allotment.facts()) == {"last": 2, "last_units": 2}
    assert decision.vector.variance.tolist() == [9.0, 9.0]


def test_a_round_that_would_stay_below_min_batch_is_not_asked() -> None:
    for min_batch, asks in ((250, True), (251, False)):
        lpa = LPA(replace(SETTING, min_batch=min_batch))
        lpa.open(1)
        lpa.crowd.learn(10, 10)
        assert isinstance(lpa.decide(9.0, EVEN), Request) is asks


def test_lpu_asks_group_after_group_in_the_golden_sizes() -> None:
    golden = GOLDEN["LPU_group_sizes"]
    lpu = LPU(replace(SETTING, slots=golden["S"], w=golden["w"], first_t=77))
    masks = []
    for t in range(77, 77 + 2 * golden["w"]):
        asked = ask(lpu.open(t)).asked
        assert asked is not None
        masks.append(asked)
        lpu.tally(LOST)
    assert [int(mask.sum()) for mask in masks] == 2 * golden["sizes"]
    assert np.array_equal(np.sum(masks, axis=0), np.full(golden["S"], 2))


def test_lbu_asks_everybody_for_a_whole_part_of_epsilon_each_period() -> None:
    lbu = LBU(replace(SETTING, epsilon_micro=1_000_003, w=20, measure=sized(9)))
    for t in range(1, 30):
        question = ask(lbu.open(t))
        assert question.asked is None
        assert question.question == SubsetSelection(d=9, epsilon=0.05)
        lbu.tally(Answer(np.zeros(9, np.int64), 0))


def test_the_chooser_decides_at_the_epsilon_that_is_used() -> None:
    five = replace(SETTING, measure=sized(5))
    assert ask(LPU(five).open(1)).question == GRR(d=5, epsilon=1)
    assert ask(LBU(five).open(1)).question == SubsetSelection(d=5, epsilon=0.25)
    assert ask(LBU(replace(five, mechanism="grr")).open(1)).question == GRR(d=5, epsilon=0.25)
    short = LPU(replace(SETTING, measure=sized(1000), prefer="bytes"))
    assert ask(short.open(1)).question == HadamardResponse(d=1000, epsilon=1)


def test_the_error_of_a_pooled_oracle_holds_what_the_pool_adds() -> None:
    errors = []
    for pool in (0, 2):
        oracle = OLH(d=2, epsilon=1.0, pool=pool)
        errors.append(measured(1, oracle, Answer(np.array([600, 400]), 1000), None).variance)
    added = OLH(d=2, epsilon=1.0, pool=2).pool_variance(
        1000, np.clip(oracle.estimate(np.array([600, 400]), 1000), 0, 1)
    )
    assert (added > 0).any()
    assert errors[1] - errors[0] == pytest.approx(added)


def test_a_missing_answer_of_a_uniform_method_lets_its_error_grow_with_age() -> None:
    lpu = LPU(SETTING)
    assert decided(lpu.tally(LOST) if isinstance(lpu.open(1), Request) else lpu.open(1)).vector.variance.tolist() == [
        1,
        1,
    ]
    lpu.open(2)
    first = decided(lpu.tally(Answer(np.array([200, 300]), 500)))
    lpu.open(3)
    assert decided(lpu.tally(LOST)).vector.variance.tolist() == [1, 1]  # one estimate says nothing about drift
    lpu.open(4)
    second = decided(lpu.tally(Answer(np.array([210, 290]), 500)))
    step = float(((second.vector.unbiased - first.vector.unbiased) ** 2).mean())
    errors = []
    for t in (5, 6, 7, 8):
        lpu.open(t)
        decision = decided(lpu.tally(LOST))
        assert decision.measured_t == 4
        errors.append(float(decision.vector.variance[0] - second.vector.variance.mean()))
    assert errors == pytest.approx([step * x for x in (0.5, 1, 2.25, 4)])  # gaps of 1/2, 1, 3/2 and 2 steps


def test_things_told_out_of_turn_are_refused_and_change_nothing() -> None:
    for method in (LBU(SETTING), LPU(SETTING), LPA(SETTING)):
        before = method.state()
        with pytest.raises(TurnError, match="no question is open"):
            method.tally(LOST)
        with pytest.raises(TurnError, match="opened after t = 0"):
            method.open(0)
        assert method.state() == before
        method.open(1)
        with pytest.raises(TurnError, match="waits for its answer"):
            method.open(2)
        method.tally(LOST)
        with pytest.raises(TurnError, match="found t = 1 opened after t = 1"):
            method.open(1)
    with pytest.raises(TurnError, match="no first round is open"):
        LPA(SETTING).decide(1.0, EVEN)


def test_the_state_of_another_setting_or_method_is_refused() -> None:
    state = LPA(SETTING).state()
    others = (LPA(replace(SETTING, w=5)), LPA(SETTING, variance="paper"), LPA(replace(SETTING, seed=bytes(32))))
    for other in others:
        with pytest.raises(SnapshotError, match="state of another setting"):
            other.load(state)
    with pytest.raises(SnapshotError):
        LPU(SETTING).load(state)


@pytest.mark.parametrize(
    ("kind", "setting", "said"),
    [
        (LPA, replace(SETTING, slots=7), "lpa: found 7 to divide, w = 4; allowed: at least 2 w = 8"),
        (LPU, replace(SETTING, slots=3), "slots: found 3 for 4 groups"),
        (LBU, replace(SETTING, epsilon_micro=3), "epsilon: found 3 micro-nats for w = 4 periods"),
    ],
)
def test_what_leaves_a_period_nothing_is_refused(kind: Any, setting: Setting, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        kind(setting)
