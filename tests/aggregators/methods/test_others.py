# SPDX-License-Identifier: Apache-2.0
"""DSATw, FAST, RescueDP and PeGaSus step by step, against golden steps (ARCHITECTURE section 5.7)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.agents.simulate.filter_error import Trial
from murmurate.agents.simulate.series import series
from murmurate.aggregators.methods.dissimilarity import publication_error
from murmurate.aggregators.methods.dsat import LBDsat, LPDsat, often
from murmurate.aggregators.methods.fast import LBFast, LPFast
from murmurate.aggregators.methods.grouping import Grouping
from murmurate.aggregators.methods.kalman import Kalman
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.pegasus import KAPPA, PARTS, LBPegasus, LPPegasus
from murmurate.aggregators.methods.pid import Pid
from murmurate.aggregators.methods.rescuedp import LBRescueDP, LPRescueDP
from murmurate.randomizers import GRR, ParameterError
from tests.aggregators.methods.driving import SEED, ask, decided
from tests.measured import sized

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "methods.json").read_text(encoding="ascii")
)
SETTING = Setting(sized(2), epsilon_micro=1_000_000, w=10, slots=20_000, first_t=1, seed=SEED)
EVEN = np.array([0.5, 0.5])
LOST = Answer(np.zeros(2, np.int64), 0)


def slots_of(request: Request) -> int:
    assert request.asked is not None
    return int(request.asked.sum())


def answer(request: Request, share: float, setting: Setting = SETTING) -> Answer:
    """One user a slot; this share of the reports names the second value."""
    n = setting.slots if request.asked is None else slots_of(request)
    named = round(n * share)
    return Answer(np.array([n - named, named]), n)


# ---- DSATw ----


@pytest.mark.parametrize("kind", [LBDsat, LPDsat])
def test_dsat_steers_its_threshold_as_in_the_golden_steps(kind: type[LBDsat | LPDsat]) -> None:
    golden = GOLDEN["DSAT_steps"]
    setting = replace(SETTING, w=golden["w"])
    dsat = kind(setting)
    dsat.allotment.most, dsat.allotment.unit = golden["C"], dsat.allotment.unit // golden["C"]
    dsat.crowd.learn(setting.slots, setting.slots)
    for (t, count, gap, _, threshold, publishes), ratio in zip(golden["rows"], golden["dis_over_err"], strict=True):
        step = dsat.open(t)
        assert dsat.allotment.count(t) == count
        assert isinstance(step, Decision) is (gap is None)
        if isinstance(step, Request):
            step = dsat.decide(ratio * dsat.price(dsat.allotment.offer(t), EVEN), EVEN)
        assert dsat.threshold == pytest.approx(threshold, rel=1e-6)
        assert isinstance(step, Request) is bool(publishes)
        if isinstance(step, Request):
            dsat.tally(answer(step, 0.4))


def test_dsat_takes_a_w_th_for_first_rounds_where_the_printed_part_empties_the_pool() -> None:
    """ARCHITECTURE erratum E7: by the printed C-th of the users, w = 30 periods take 7.5 times as many as there are."""
    w, most = 30, 4
    assert often(w) == most
    printed = w * (SETTING.slots // 2 // most) + SETTING.slots // 2
    assert printed > 4 * SETTING.slots
    lp = LPDsat(replace(SETTING, w=w))
    assert lp.unit == SETTING.slots // (2 * w)
    assert lp.allotment.offer(1) == SETTING.slots // (2 * most)
    assert w * lp.unit + most * lp.allotment.offer(1) <= SETTING.slots
    lb = LBDsat(replace(SETTING, w=w))
    assert w * lb.unit + most * lb.allotment.offer(1) <= SETTING.epsilon_micro


def test_dsat_counts_in_the_window_where_the_printed_time_makes_every_share_vanish() -> None:
    """ARCHITECTURE erratum E8: by count / t the share of a window's C publications falls to 0, with the threshold."""
    setting = replace(SETTING, w=20)
    dsat = LPDsat(setting)
    dsat.crowd.learn(setting.slots, setting.slots)
    steered = []
    for t in range(1, 400):
        step = dsat.open(t)
        if isinstance(step, Request):
            steered.append(dsat.threshold)
            step = dsat.decide(9.0, EVEN)  # worth it whenever it may be
        if isinstance(step, Request):
            dsat.tally(answer(step, 0.4))
    assert dsat.allotment.most / setting.w - dsat.allotment.count(400) / 400 > 0.1  # as printed: publish always
    assert steered[-1] > 1  # as many as it may: the threshold has risen


def test_a_release_that_stands_unasked_is_less_sure_the_older_it_is() -> None:
    dsat, errors = LPDsat(SETTING), []
    for t in range(1, 9):
        step = dsat.open(t)
        if isinstance(step, Decision):
            errors.append(float(step.vector.variance.mean()))
        while isinstance(step, Request):
            step = dsat.tally(answer(step, 0.3 if t == 1 else 0.4))
    assert len(errors) == 6
    assert errors == sorted(errors)
    assert errors[-1] > 2 * errors[0]


# ---- the filter ----


def test_the_filter_has_the_golden_gains_levels_and_errors() -> None:
    kalman, t = Kalman(), 0
    for measured, variance, gap, gain, level, error, wander in GOLDEN["kalman"]["rows"]:
        t += gap
        found = kalman.correct(np.array([measured]), variance, t)
        assert gain is None or found == pytest.approx(gain, rel=1e-6)
        assert (kalman.level[0], kalman.error, kalman.wander) == pytest.approx((level, error, wander), rel=1e-6)
    assert kalman.error_at(t) == kalman.error
    assert kalman.error_at(t + 3) == kalman.error + 3 * kalman.wander


def test_the_filter_has_one_gain_for_all_statistics() -> None:
    kalman = Kalman()
    kalman.correct(np.array([0.1, 0.5]), 1e-4, 1)
    gain = kalman.correct(np.array([0.2, 0.5]), 1e-4, 2)
    assert kalman.level == pytest.approx([0.1 + 0.1 * gain, 0.5])


def test_the_controller_remembers_so_many_errors() -> None:
    pid = Pid(3)
    assert [pid.feedback(error) for error in (1.0, 0.0, 0.0, 0.0)] == pytest.approx([1.0, 0.05, 0.1 / 3, 0.0])


# ---- FAST and RescueDP ----


def test_fast_sets_the_golden_intervals() -> None:
    fast = LPFast(replace(SETTING, w=30))
    for posterior, prior, _, _, interval in GOLDEN["FAST_steps"]["rows"]:
        fast.kalman.level = np.array([posterior])
        fast.adapt(np.array([prior]))
        assert fast.interval == pytest.approx(interval, rel=1e-6)
    fast.kalman.level = np.array([0.0])
    fast.adapt(np.array([1e9]))
    assert fast.interval == 1.0


def test_fast_samples_m_times_a_window_at_most_with_an_m_th_each() -> None:
    for kind, taken in ((LBFast, 250_000), (LPFast, 5_000)):
        fast, asked = kind(replace(SETTING, w=30)), []
        for t in range(1, 200):
            step = fast.open(t)
            if isinstance(step, Request):
                asked.append(t)
                amount = step.question.epsilon_micro if step.asked is None else slots_of(step)
                assert amount == taken
                step = fast.tally(answer(step, 0.35 if t % 2 else 0.55))  # never as predicted: sample soon
            assert decided(step).published is (t in asked[-1:])
        assert all(sum(at <= s < at + 30 for s in asked) <= 4 for at in range(1, 200))
        assert asked[:5] == [1, 2, 3, 4, 31]


def test_rescuedp_takes_samples_as_in_the_golden_trace() -> None:
    """ARCHITECTURE erratum E9 among it: the printed (delta / Var)^2 is 9 at the second sample, every interval 1."""
    trace = GOLDEN["LP_RescueDP_trace"]
    rescue = LPRescueDP(SETTING, variance="paper")
    rescue.crowd.learn(trace["n"], trace["n"])
    rows = iter(trace["rows"])
    due, row = 1, next(rows)
    for t in range(1, 15):
        step = rescue.open(t)
        if t != due:
            assert not decided(step).published
            continue
        _, share, slots, measured, level, delta, coming, interval, due = row
        assert rescue.used.facts()[-1][0] == t
        assert rescue.used.facts()[-1][1] == pytest.approx(share, rel=1e-6)
        assert slots_of(ask(step)) == slots
        rescue.waiting = None
        variance = publication_error(GRR(d=2, epsilon=1), slots, trace["n"], EVEN, "paper")
        rescue.take(np.array([measured]), variance, EVEN)
        assert rescue.kalman.level[0] == pytest.approx(level, rel=1e-6)
        assert rescue.interval == pytest.approx(interval, rel=1e-6)
        assert rescue.due == due
        if delta is not None:
            assert coming == pytest.approx(rescue.price(4_000, EVEN), rel=1e-6)
            assert delta**2 / coming < 3 < (delta / coming) ** 2
        row = next(rows, row)


@pytest.mark.parametrize("kind", [LBFast, LPFast, LBRescueDP, LPRescueDP])
def test_a_lost_sample_is_asked_again_and_predictions_lose_certainty(kind: Any) -> None:
    method = kind(replace(SETTING, w=20))
    first = decided(method.tally(answer(ask(method.open(1)), 0.4)))
    assert first.published
    ask(method.open(2))
    second = decided(method.tally(LOST))
    assert (second.published, second.measured_t) == (False, 1)
    assert second.vector.unbiased.tobytes() == first.vector.unbiased.tobytes()
    assert (second.vector.variance > first.vector.variance).all()
    assert isinstance(method.open(3), Request)


@pytest.mark.parametrize("kind", [LBFast, LPFast, LBRescueDP, LPRescueDP])
def test_samples_that_reach_too_few_users_are_asked_once_a_window_to_see_whether_more_came(kind: Any) -> None:
    method, asked = kind(replace(SETTING, min_batch=50_000)), []
    for t in range(1, 41):
        step = method.open(t)
        if isinstance(step, Request):
            asked.append(t)
            decided(method.tally(answer(step, 0.4)))
    assert asked == [1, 11, 21, 31]


# ---- PeGaSus ----


def test_groups_form_as_in_the_golden_trace() -> None:
    golden = GOLDEN["PeGaSus_free_trace"]
    groups, total = Grouping(golden["kappa"]), 0.0
    for estimate, size, release in golden["rows"]:
        joins = groups.take(np.array([estimate]), golden["V_p"])
        total = total + estimate if joins else estimate
        assert groups.size == size
        assert total / groups.size == pytest.approx(release, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "grouping", "taken"),
    [
        (LBPegasus, "free", [100_000]),
        (LBPegasus, "paid", [20_000, 80_000]),
        (LPPegasus, "free", [2_000]),
        (LPPegasus, "paid", [400, 1_600]),
    ],
)
def test_pegasus_takes_a_w_th_each_period_and_releases_the_mean_of_a_group(
    kind: Any, grouping: str, taken: list[int]
) -> None:
    method, decisions = kind(SETTING, grouping=grouping), []
    for t in range(1, 9):
        step, amounts = method.open(t), []
        while isinstance(step, Request):
            amounts.append(step.question.epsilon_micro if step.asked is None else slots_of(step))
            step = method.tally(answer(step, 0.4 if t <= 5 else 0.9))
        assert amounts == taken
        decisions.append(step)
    # The same estimates form one group, whose mean is as they are and surer; a jump begins another.
    assert method.groups.size == 3
    assert all(decision.vector.unbiased == pytest.approx(decisions[0].vector.unbiased) for decision in decisions[:5])
    assert abs(decisions[5].vector.unbiased[1] - decisions[4].vector.unbiased[1]) > 0.3
    assert method._mean(method.standing).variance.mean() < decisions[5].vector.variance.mean()


def test_a_paid_group_hides_a_tenth_of_what_its_estimates_vary_by_where_users_are_divided() -> None:
    method = LPPegasus(SETTING, grouping="paid", variance="paper")
    question = ask(method.open(1))
    grouper = method._error(method.grouper, answer(question, 0.4))
    estimate = method._error(method.unit, answer(ask(method.tally(answer(question, 0.4))), 0.4))
    assert method.groups.kappa * grouper == pytest.approx(0.1 * estimate)


def test_so_it_has_less_error_than_by_the_variance_of_the_grouper(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial("sin", 1.0, "grr", periods=200)
    runs = [(seed, trial.truth(seed).holders) for seed in range(10)]

    def error() -> float:
        spec = MethodOptions("lp-pegasus", grouping="paid")
        each = [series(held, spec, trial.setting(seed), seed=seed) for seed, held in runs]
        return sum(float(((one.said - one.true) ** 2).mean()) for one in each)

    now = error()
    monkeypatch.setitem(KAPPA, "paid", 0.1 * (PARTS - 1))
    assert now < 0.9 * error()


def test_a_lost_round_of_the_grouper_begins_a_group() -> None:
    method = LPPegasus(SETTING, grouping="paid")
    for t in (1, 2, 3):
        step = method.open(t)
        while isinstance(step, Request):
            lost = t == 3 and step.purpose == "dissimilarity"
            step = method.tally(LOST if lost else answer(step, 0.4))
        assert decided(step).published
        assert method._size == (t if t < 3 else 1)


def test_unknown_grouping_and_too_little_to_divide_are_refused() -> None:
    with pytest.raises(ParameterError, match="grouping: found 'split'; allowed: free, paid"):
        LBPegasus(SETTING, grouping="split")
    for kind, least in ((LPPegasus, "w = 10"), (LPFast, "2"), (LPRescueDP, "8"), (LPDsat, "2 w = 20")):
        with pytest.raises(ParameterError, match=f"found 1 to divide, w = 10; allowed: at least {least}"):
            kind(replace(SETTING, slots=1))
    with pytest.raises(ParameterError, match="found 49 to divide, w = 10; allowed: at least 5 w = 50"):
        LBPegasus(replace(SETTING, epsilon_micro=49), grouping="paid")
