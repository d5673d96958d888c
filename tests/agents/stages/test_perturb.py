# SPDX-License-Identifier: Apache-2.0
"""Perturb: everybody answers, once; and nothing depends on how raw and rounds interleave, or on who died when."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmurate.agents.embedded.log import Logs
from murmurate.agents.embedded.task import Task
from murmurate.agents.stages.admission import raw_records
from murmurate.agents.stages.closing import MAX_UNSETTLED
from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import Plan, StreamPlan
from murmurate.errors import MurmurateError
from murmurate.randomizers import mechanism
from murmurate.topics.block import REFUSED
from murmurate.topics.codec import encode
from murmurate.topics.message import Message
from murmurate.topics.slots import Slots
from tests.agents.stages.hands import (
    RAW,
    ROUNDS,
    Hand,
    dones,
    perturb,
    progress,
    pseudonyms,
    question,
    reports,
    rows,
    settled,
    start,
)
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, deployment, stream

PLAN = deployment(stream("screen"), partitions=1, targets=2)
SCREEN = PLAN.streams[0]
BEFORE, DURING, AFTER = (FIRST - 1) * SECOND, FIRST * SECOND, (FIRST + 2) * SECOND


def population(n: int = 60, codes: Sequence[int] | None = None) -> list[bytes]:
    """Users who were there before the first period."""
    return rows(PLAN, SCREEN, pseudonyms(n), [BEFORE + 1] * n, codes or [1] * n)


def opened(plan: Plan = PLAN) -> Hand:
    hand = perturb(plan)
    hand.give(RAW, progress(BEFORE))
    hand.give(ROUNDS, start(plan.streams[0]))
    return hand


# ---- who answers ----


def test_everybody_answers_with_and_without_a_value_and_done_adds_up() -> None:
    hand = opened()
    hand.give(RAW, *population(), *rows(PLAN, SCREEN, pseudonyms(60)[:20], [DURING] * 20, [2] * 20))
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST))
    out = hand.give(RAW, progress(AFTER))
    sent = reports(out)
    said = dones(out)
    assert [done.total for done in said] == [60, 60]
    assert [len(sent[said[0].round, q]) for q in (0, 1)] == [done.sent for done in said]
    assert sum(done.sent for done in said) == 60


def test_who_comes_during_a_period_is_asked_about_the_next() -> None:
    hand = opened()
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST))
    hand.give(RAW, *rows(PLAN, SCREEN, pseudonyms(5), [DURING - 1] * 2 + [DURING] * 3, [1] * 5))
    assert dones(hand.give(RAW, progress(DURING + 1500)))[0].total == 2
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST + 1, slots=Slots.every(128)))
    out = hand.give(RAW, progress(DURING + 2500))
    assert dones(out)[0].total == 0  # population division: all slots have answered less than w periods ago
    hand.give(ROUNDS, settled(SCREEN, FIRST + 1), question(PLAN, SCREEN, FIRST + SCREEN.w))
    assert dones(hand.give(RAW, progress(DURING + 9000)))[0].total == 5


def test_a_refused_value_enrols_and_answers_none_like_silence() -> None:
    said = []
    for code in (REFUSED, 2):
        hand = opened()
        hand.give(RAW, *population(40, [code] * 40))
        hand.give(ROUNDS, question(PLAN, SCREEN, FIRST))
        said.append(hand.give(RAW, progress(AFTER)))
    assert [one.value for one in said[0]] == [one.value for one in said[1]]  # yesterday's value is not carried
    assert dones(said[0])[0].total == 40


def test_users_of_another_partition_are_refused() -> None:
    plan = deployment(stream("screen"), partitions=2, targets=1)
    users = pseudonyms(100)
    mine, theirs = users[users[:, 0] % 2 == 0], users[users[:, 0] % 2 == 1]
    hand = opened(plan)
    hand.give(RAW, *rows(plan, plan.streams[0], mine, [BEFORE] * len(mine), [1] * len(mine)))
    hand.give(RAW, *rows(plan, plan.streams[0], theirs, [BEFORE] * len(theirs), [1] * len(theirs), p=1))
    hand.give(ROUNDS, question(plan, plan.streams[0], FIRST))
    assert dones(hand.give(RAW, progress(AFTER)))[0].total == len(mine) < 100


def test_a_partition_without_users_says_done_to_every_target() -> None:
    hand = opened()
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST))
    out = hand.give(RAW, progress(AFTER))
    assert [(done.sent, done.total) for done in dones(out)] == [(0, 0), (0, 0)]
    assert reports(out) == {}


def test_under_split_by_users_each_user_answers_one_stream_with_all_of_epsilon() -> None:
    plan = deployment(stream("a", share_micro=500_000), stream("b", share_micro=300_000), partitions=1, targets=1)
    users, hand = pseudonyms(400), perturb(plan)
    hand.give(RAW, progress(BEFORE))
    for each in plan.streams:
        hand.give(ROUNDS, start(each), question(plan, each, FIRST))
        hand.give(RAW, *rows(plan, each, users, [BEFORE] * 400, [1] * 400))
    totals = [done.total for done in dones(hand.give(RAW, progress(AFTER)))]
    assert abs(totals[0] - 200) < 50  # 5 sigma
    assert abs(totals[1] - 120) < 46
    assert sum(totals) < 400  # a fifth serves no stream


# ---- what a server may say ----


def test_the_same_round_twice_is_answered_once() -> None:
    for later in (False, True):
        hand = opened()
        hand.give(RAW, *population())
        round_ = question(PLAN, SCREEN, FIRST)
        out = hand.give(ROUNDS, round_) + ([] if later else hand.give(ROUNDS, round_))
        out += hand.give(RAW, progress(AFTER))
        out += hand.give(ROUNDS, round_)
        assert len(dones(out)) == 2
        hand.give(ROUNDS, settled(SCREEN, FIRST))
        assert hand.give(ROUNDS, round_) == []


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": {"name": "grr", "d": 6, "epsilon_micro": 1_000_000}},
        {"mechanism": {"name": "nobody", "d": 5}},
        {"mechanism": {"name": "grr", "d": 5}},
        {"mechanism": {"name": "oue", "d": 1 << 53 - 1, "epsilon_micro": -1}},
        {"mechanism": {"name": "oue", "d": "5", "epsilon_micro": "1"}},
        {"slots": Slots.every(64)},
        {"slots": Slots.chosen(np.arange(64) < 3)},
        {"contributors": 2},
        {"targets": 3},
        {"targets": 1 << 16},
        {"config": "fedcba9876543210"},
        {"revision": 2},
        {"t": FIRST + MAX_UNSETTLED + SCREEN.w + 1},
        {"t": (1 << 53) - 1},
    ],
)
def test_a_question_outside_the_promise_gets_no_report_but_an_end(change: dict[str, Any]) -> None:
    hand = opened()
    hand.give(RAW, *population())
    round_ = question(PLAN, SCREEN, **({"t": FIRST} | change))
    out = hand.give(ROUNDS, round_, round_)
    assert [(one.log.partition, done.total) for one, done in zip(out, dones(out), strict=True)] == [(0, 0), (1, 0)]
    assert isinstance(hand.stage, Perturb)
    assert sum(hand.stage.refusals.values()) == 60
    assert hand.give(RAW, progress(AFTER)) == []
    assert hand.give(ROUNDS, round_) == []
    # and it has cost nothing: an honest one is answered by everybody
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST + 2))
    assert dones(hand.give(RAW, progress(AFTER + 2 * SECOND)))[0].total == 60


def test_a_question_that_costs_too_much_gets_no_report_but_an_end_when_its_period_closes() -> None:
    hand = opened()
    hand.give(RAW, *population())
    dear = {"name": "grr", "d": 5, "epsilon_micro": 2_000_001}
    assert hand.give(ROUNDS, question(PLAN, SCREEN, FIRST, mechanism=dear)) == []
    assert [done.total for done in dones(hand.give(RAW, progress(AFTER)))] == [0, 0]
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST + 2))
    assert dones(hand.give(RAW, progress(AFTER + 2 * SECOND)))[0].total == 60


def test_a_round_of_fewer_targets_than_there_are_is_answered_to_those() -> None:
    hand = opened()
    hand.give(RAW, *population())
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST, targets=1))
    assert [(done.sent, done.total) for done in dones(hand.give(RAW, progress(AFTER)))] == [(60, 60)]


def test_any_other_descriptor_of_the_same_question_is_a_charge_of_its_own() -> None:
    # whatever a server may vary without being refused: nobody answers twice in a window for one price
    for change in ({"patience_ms": 1}, {"targets": 1}, {"purpose": "dissimilarity"}):
        hand = opened()
        hand.give(RAW, *population())
        hand.give(ROUNDS, question(PLAN, SCREEN, FIRST), question(PLAN, SCREEN, FIRST, **change))
        totals = {done.round: done.total for done in dones(hand.give(RAW, progress(AFTER)))}
        assert list(totals.values()) == [60, 0]


def test_a_question_about_a_near_future_is_charged_at_once_and_never_answered_before_its_period() -> None:
    hand = opened()
    hand.give(RAW, *population())
    assert hand.give(ROUNDS, question(PLAN, SCREEN, FIRST + MAX_UNSETTLED + SCREEN.w)) == []
    assert hand.give(RAW, progress(AFTER)) == []
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST + 2))
    assert dones(hand.give(RAW, progress(AFTER + 2 * SECOND)))[0].total == 0  # older than the newest charge


def test_how_far_ahead_a_round_may_ask_follows_from_rounds_alone() -> None:
    said = []
    for clock in (AFTER, AFTER + 60 * SECOND):
        hand = opened()
        hand.give(RAW, *population(), progress(clock))
        far = FIRST + MAX_UNSETTLED + SCREEN.w + 1
        hand.give(ROUNDS, question(PLAN, SCREEN, far))
        hand.give(ROUNDS, settled(SCREEN, FIRST), question(PLAN, SCREEN, far, patience_ms=5))
        assert isinstance(hand.stage, Perturb)
        said.append(dict(hand.stage.refusals))
    assert said == [{("screen", "future"): 60}] * 2


def test_a_round_before_the_start_is_as_if_it_had_not_been_asked() -> None:
    hand = perturb(PLAN)
    hand.give(RAW, progress(BEFORE), *population())
    first = hand.give(ROUNDS, question(PLAN, SCREEN, FIRST), start(SCREEN, FIRST + 1), question(PLAN, SCREEN, FIRST))
    assert first + hand.give(RAW, progress(AFTER)) == []
    hand.give(ROUNDS, start(SCREEN, FIRST), question(PLAN, SCREEN, FIRST), start(SCREEN, FIRST + 10**6))
    hand.give(ROUNDS, question(PLAN, SCREEN, FIRST + 2))  # and costs nothing; and the first start holds
    assert dones(hand.give(RAW, progress(AFTER + 2 * SECOND)))[0].total == 60


# ---- clocks and blocks that nobody would expect ----


def test_a_round_whose_period_the_first_progress_jumps_over_is_answered_at_once() -> None:
    for early in (True, False):
        hand = perturb(PLAN)
        hand.give(RAW, *population())
        out = hand.give(ROUNDS, start(SCREEN), question(PLAN, SCREEN, FIRST)) if early else []
        out += hand.give(RAW, progress((FIRST + 5) * SECOND))
        out += [] if early else hand.give(ROUNDS, start(SCREEN), question(PLAN, SCREEN, FIRST))
        assert [(done.sent, done.total) for done in dones(out)] == [(0, 0), (0, 0)]


@pytest.mark.parametrize("split", ["users", "budget"])
def test_a_partitions_first_block_may_hold_only_users_of_others(split: str) -> None:
    plan = deployment(stream("a", share_micro=500_000), stream("b", share_micro=500_000), partitions=2, split=split)
    users, hand = pseudonyms(200), perturb(plan)
    hand.give(RAW, progress(BEFORE), *rows(plan, plan.streams[0], users, [BEFORE] * 200, [1] * 200, p=1))
    hand.give(RAW, *rows(plan, plan.streams[0], users, [BEFORE] * 200, [1] * 200, p=0))
    for each in plan.streams:
        cheap = {"name": "grr", "d": 5, "epsilon_micro": 1_000_000}
        hand.give(ROUNDS, start(each), question(plan, each, FIRST, mechanism=cheap))
    said = dones(hand.give(RAW, progress(AFTER)))
    mine, theirs = int((users[:, 0] % 2 == 0).sum()), int((users[:, 0] % 2 == 1).sum())
    assert 0 < said[0].total <= mine
    assert isinstance(hand.stage, Perturb)
    assert hand.stage.edge_counts["a", "foreign"] == theirs


def test_an_event_is_late_by_the_newest_time_that_raw_has_shown_however_long_the_close_is_put_off() -> None:
    said = []
    decided = [*(settled(SCREEN, t) for t in range(FIRST, FIRST + 12)), question(PLAN, SCREEN, FIRST + 13)]
    for slow in (False, True):
        hand = opened()
        hand.give(RAW, *population(40))
        if not slow:
            hand.give(ROUNDS, *decided)
        hand.give(RAW, progress((FIRST + 13) * SECOND + 500))  # `slow`: only eight periods are closed
        late = (FIRST + 12) * SECOND
        hand.give(RAW, *rows(PLAN, SCREEN, pseudonyms(5, seed=9), [late] * 5, [2] * 5))
        assert isinstance(hand.stage, Perturb)
        assert hand.stage.edge_counts["screen", "late"] == 5
        if slow:
            hand.give(ROUNDS, *decided)
        out = hand.give(RAW, progress((FIRST + 15) * SECOND))
        said.append([one.value for one in out])
    assert said[0] == said[1]
    assert dones(out)[0].total == 40


def test_a_code_that_means_nothing_here_shows_its_user_like_a_refused_value() -> None:
    said = []
    for code in (REFUSED, 5, 1 << 20):
        hand = opened()
        hand.give(RAW, *population(), *rows(PLAN, SCREEN, pseudonyms(60), [DURING] * 60, [code] * 60))
        hand.give(ROUNDS, question(PLAN, SCREEN, FIRST))
        said.append([one.value for one in hand.give(RAW, progress(AFTER))])
    assert said[0] == said[1] == said[2]


def test_events_that_give_way_to_another_of_the_same_user_and_period_are_counted() -> None:
    hand = opened()
    hand.give(RAW, *population(10), *rows(PLAN, SCREEN, pseudonyms(10)[:4], [DURING] * 4, [2] * 4))
    hand.give(RAW, *rows(PLAN, SCREEN, pseudonyms(10)[:3], [DURING + 7] * 3, [1] * 3))
    before = list(hand.stage.snapshot())
    back = perturb(PLAN)
    back.stage.restore(hand.stage.small(), before)
    for each in (hand, back):
        each.give(RAW, progress(AFTER))
        assert isinstance(each.stage, Perturb)
        assert each.stage.edge_counts["screen", "second"] == 3


def test_raw_waits_while_too_many_periods_are_unsettled_and_rounds_never_do() -> None:
    hand = opened()
    hand.give(RAW, progress((FIRST + MAX_UNSETTLED + 4) * SECOND))
    assert not hand.stage.ready(RAW)
    assert hand.stage.ready(ROUNDS)
    hand.give(ROUNDS, *[settled(SCREEN, t) for t in range(FIRST, FIRST + MAX_UNSETTLED + 3)])
    assert hand.stage.ready(RAW)


def test_state_of_other_streams_or_other_frozen_facts_is_refused_without_naming_anybody() -> None:
    hand = opened()
    hand.give(RAW, *population())
    small, snapshot = hand.stage.small(), list(hand.stage.snapshot())
    others = [
        deployment(stream("other"), partitions=1, targets=2),
        deployment(stream("screen", w=5), partitions=1, targets=2),
        deployment(stream("screen", slots=256), partitions=1, targets=2),
        deployment(stream("screen"), partitions=1, targets=2, epsilon_micro=1_000_000),
    ]
    for other in others:
        with pytest.raises(MurmurateError) as caught:
            Perturb(other, KEYS.edge, 0, {TOPIC: 1}).restore(small, snapshot)
        assert not any(user.tobytes().hex() in str(caught.value) for user in pseudonyms(60))
    with pytest.raises(StateError):
        Perturb(PLAN, KEYS.edge, 0, {TOPIC: 1}).restore(small, [snapshot[0][:-1]])


# ---- interleavings and crashes, with jumps of the clock, sparse populations and two questions a period ----

Scenario = tuple[Plan, list[bytes], list[bytes]]


def scenario(rng: random.Random) -> Scenario:
    plan = deployment(
        stream("screen", carry_ms=rng.choice([0, 2000, None]), w=3, slots=96),
        partitions=1,
        targets=2,
        forget_after_ms=rng.choice([3000, 10**12]),
    )
    screen, users = plan.streams[0], pseudonyms(12, 3)
    now = BEFORE
    raw = [encode(progress(now))] if rng.random() < 0.7 else []
    for _ in range(rng.randrange(6, 25)):
        n, first = rng.randrange(0, 8), (now - 500) // SECOND * SECOND
        if n:
            times = [rng.randrange(first, now + 3000) for _ in range(n)]
            raw += rows(plan, screen, users[rng.sample(range(12), n)], times, rng.choices([0, 1, 2, REFUSED], k=n))
        now += rng.choice([100, 300, 700, 1000, 4000, 9000])
        raw.append(encode(progress(now)))
        if rng.random() < 0.1:
            raw.append(encode(progress(now - 5000)))  # a clock that goes back
    return plan, raw, [encode(one) for one in asking(plan, screen, rng)]


def asking(plan: Plan, screen: StreamPlan, rng: random.Random) -> list[Message]:
    spec = mechanism({"name": "grr", "d": screen.d, "epsilon_micro": 2_000_000}).spec()
    rounds: list[Message] = [start(screen)]
    for t in range(FIRST, FIRST + rng.randrange(3, 14)):
        for purpose in ("dissimilarity", "publication")[: rng.choice([1, 1, 2])]:
            mask = np.array([rng.random() < 0.5 for _ in range(96)])
            mask[:2] = True, False
            rounds.append(question(plan, screen, t, mechanism=spec, slots=Slots.chosen(mask), purpose=purpose))
        rounds.append(settled(screen, t))
    return rounds


def written(
    made: Scenario, rng: random.Random, *, order: list[Log] | None = None, crashes: bool = False
) -> list[bytes]:
    plan, raw, rounds = made
    logs = Logs()
    logs.append([Out(RAW, record) for record in raw] + [Out(ROUNDS, record) for record in rounds])
    task = Task("perturb 0", lambda: Perturb(plan, KEYS.edge, 0, {TOPIC: 1}), [RAW, ROUNDS], logs, {})
    idle = 0
    while idle < 3:
        moved = task.step(1 << 30 if order else rng.choice([1, 2, 5]), order or rng.sample([RAW, ROUNDS], 2))
        idle = 0 if moved else idle + 1
        if crashes and rng.random() < 0.5:
            if task.state and rng.random() < 0.3:
                snapshot, begin = task.snapshot()
                task.state.append(task.record(begin, snapshot))
            task.recover()
    return sorted(logs.all("reports"))


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.audit) for seed in range(20, 60))])
def test_neither_interleaving_nor_crashes_change_a_report(seed: int) -> None:
    rng = random.Random(seed)
    made = scenario(rng)
    usual = written(made, rng, order=[RAW, ROUNDS])
    assert written(made, rng, order=[ROUNDS, RAW]) == usual
    assert written(made, rng) == usual
    assert written(made, rng, crashes=True) == usual


def test_who_watches_is_told_how_many_users_there_are_and_the_largest_window_that_any_of_them_spent() -> None:
    plan = deployment(stream("screen", "lpu"), partitions=1)
    hand = Hand(Perturb(plan, KEYS.edge, 0, {TOPIC: 1}))
    stage, name = hand.stage, "screen"
    assert isinstance(stage, Perturb)
    assert (stage.users, stage.most_spent_micro) == (0, {name: 0})
    hand.give(ROUNDS, start(plan.streams[0]), question(plan, plan.streams[0], FIRST))
    assert stage.most_spent_micro == {name: plan.epsilon_of(name)}
    hand.give(
        RAW, *(out.value for out in raw_records(plan, name, pseudonyms(3), np.full(3, 5), np.zeros(3, np.uint32)))
    )
    assert stage.users == 3


def test_what_closes_periods_is_frozen_too() -> None:
    plan = deployment(stream("screen", "lpu"), partitions=1)
    small = Perturb(plan, KEYS.edge, 0, {TOPIC: 1}).small()
    other = Perturb(replace(plan, lateness_ms=7), KEYS.edge, 0, {TOPIC: 1})
    with pytest.raises(MurmurateError, match=r"frozen facts differ: .*; allowed: .* a deployment of another name"):
        other.restore(small, ())
