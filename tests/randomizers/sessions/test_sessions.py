# SPDX-License-Identifier: Apache-2.0
"""Sessions of real devices: who takes part, what is refused, the same bytes one by one and together, after crashes too.

Reports are compared with what the protocol gives for the changes that a plain list of values has; shares of changes
are estimated from many users and compared with the truth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import DeviceArray, Grant, ParameterError, Refusal, question
from murmurate.randomizers.layouts import ItemsLayout
from murmurate.randomizers.sessions import Category, Count, Holding, ones
from murmurate.randomizers.sessions.node import Node
from tests.cases import every
from tests.randomizers.guards import SECRETS, people
from tests.randomizers.sessions.horizons import STREAM, Crowd, ask, horizon

FIRST = 10


def courses(users: int, periods: int, codes: int, seed: int = 0) -> np.ndarray:
    """A value for each period and user that changes now and then."""
    rng = np.random.default_rng(seed)
    held = np.empty((periods, users), np.int64)
    held[0] = rng.integers(0, codes, users)
    for t in range(1, periods):
        held[t] = np.where(rng.random(users) < 0.25, rng.integers(0, codes, users), held[t - 1])
    return held


def lived(crowd: Crowd, made: Any, held: np.ndarray, *, crashes: bool = False) -> list[bytes]:
    """All reports of a horizon."""
    said = []
    for step in range(1, made.tree.periods + 1):
        values = held[step - 1].tolist()
        for level, node in made.tree.ending(step):
            reports = crowd.round(ask(made, FIRST, level, node), values)
            assert reports is not None
            said.append(reports.tobytes())
            if crashes:
                crowd.crash()
        crowd.look(FIRST + step - 1, values)
        if crashes:
            crowd.crash()
    return said


@pytest.mark.parametrize("each", [False, True])
def test_one_device_and_all_together_give_the_same_bytes_also_after_crashes(each: bool) -> None:
    made, users = horizon(6, every=each), people(40)
    held = courses(40, 6, 4)
    assert lived(Crowd(made, users), made, held) == lived(Crowd(made, users), made, held, crashes=True)


def test_a_node_and_its_question_survive_the_wire() -> None:
    made = horizon(13, 3, every=True, of=Holding(ItemsLayout(6, 2, True)))
    node = Node(made, 1, 3)
    again = question(node.spec())
    assert isinstance(again, Node)
    assert (again, again.spec(), again.bill(30)) == (node, node.spec(), node.bill(30))
    assert again.horizon.digest == made.digest


def test_nodes_estimate_what_the_users_of_their_level_have_changed() -> None:
    made, users = horizon(4, each=1, cohorts=1, of=Category(3, none=False), changes=7), 12_000
    held = courses(users, 4, 3)
    array = DeviceArray(Crowd(made, people(1), w=1).terms, STREAM, SECRETS)
    array.enrol(people(users))
    slots = array._slot[:users]
    for step in range(1, 5):
        for level, node in made.tree.ending(step):
            one = ask(made, FIRST, level, node)
            grant = array.charge(one)
            assert isinstance(grant, Grant)
            reports = array.answer(grant, held[step - 1]).reports
            told = Node(made, level, node)
            mine = made.level_of_slot[slots] == level
            begin = told.begins
            before = np.full(users, -1) if begin == 0 else held[begin - 1]
            truth = (made.ones.changes(before, held[step - 1])[mine]).mean(axis=0)
            estimate = told.estimate(told.support(reports), len(reports))
            error = np.sqrt(told.plug_in(told.support(reports), len(reports)))
            assert (np.abs(estimate - truth) < 5 * error).all(), (step, level, node)
        array.look(FIRST + step - 1, held[step - 1])


def test_who_comes_later_waits_and_who_leaves_goes_on() -> None:
    made, users = horizon(4, each=2, cohorts=1), people(60)
    crowd = Crowd(made, users)
    held = courses(60, 4, 4)
    early = np.arange(60) < 30
    first = crowd.array.charge(ask(made, FIRST, 0, 1))
    assert isinstance(first, Grant)
    crowd.array.answer(first, held[0], early)
    crowd.array.look(FIRST, held[0])
    later = crowd.array.charge(ask(made, FIRST, 1, 1))
    assert isinstance(later, Grant)
    nobody = np.zeros(60, np.bool_)  # nobody of them is in the population any more
    rows = crowd.array.answer(later, held[1], nobody).rows
    assert set(rows.tolist()) == {row for row in range(30) if made.level_of_slot[crowd.array._slot[row]] == 1}


def test_a_server_that_repeats_reorders_or_renames_gets_nothing() -> None:
    made, users = horizon(8, cohorts=2), people(30)
    crowd, values = Crowd(made, users, w=5), [0] * 30
    assert crowd.round(ask(made, FIRST, 1, 1), values) is None  # before the horizon is open
    assert crowd.round(ask(made, FIRST, 0, 1), values) is not None
    again = crowd.round(ask(made, FIRST, 0, 1), values)  # granted to nobody
    assert again is not None
    assert not len(again)
    other = horizon(8, cohorts=2, changes=2)
    assert crowd.round(ask(other, FIRST, 1, 1), values) is None  # another protocol for the same horizon
    assert crowd.round(ask(made, FIRST + 1, 0, 1), values) is None  # another horizon of the same cohort
    crowd.look(FIRST, values)
    crowd.look(FIRST + 1, values)
    late = crowd.round(ask(made, FIRST, 0, 3), values)  # the node of level 1 was skipped
    assert late is not None
    assert len(late)
    assert crowd.round(ask(made, FIRST, 1, 1), values) is None  # and is too late now
    wrong = replace(ask(made, FIRST, 2, 1), asked=made.asked(1))
    assert crowd.round(wrong, values) is None


def test_a_horizon_is_not_opened_a_second_time_after_its_end() -> None:
    """Else whoever was asked about some nodes of it would tell the others from the counters of the beginning."""
    made = horizon(8, cohorts=1, every=True)
    crowd = Crowd(made, people(30))
    crowd.round(ask(made, FIRST, 0, 1), [1] * 30)
    crowd.round(ask(made, FIRST, 1, 1), [1] * 30)
    told = [device for device in crowd.devices if made.level_of_slot[device._slots[STREAM]] < 2]
    for t in range(FIRST, FIRST + 8):
        crowd.look(t, [1] * 30)
    for device in told:
        again = replace(ask(made, FIRST, 0, 1), digest=bytes(32))
        for one in (ask(made, FIRST, 0, 1), again, ask(made, FIRST, 1, 2), ask(made, FIRST, 0, 5)):
            refused = device.answer(one, 1, now=FIRST + 8)
            assert isinstance(refused, Refusal)
            assert refused.reason == "session"
    assert len(told) > 10


def test_a_session_whose_end_nobody_looked_at_is_forgotten_all_the_same() -> None:
    made = horizon(4, cohorts=1)
    crowd = Crowd(made, people(30))
    crowd.round(ask(made, FIRST, 0, 1), [1] * 30)
    crowd.look(FIRST, [1] * 30)
    assert all(device._sessions[STREAM] for device in crowd.devices)
    crowd.look(FIRST + 9, [1] * 30)  # an app that was closed meanwhile, or a partition that came later
    assert not crowd.array.in_session
    assert not any(device._sessions[STREAM] for device in crowd.devices)


def test_the_first_round_again_leaves_counters_and_changes_as_they_are() -> None:
    made = horizon(4, cohorts=1)
    crowd = Crowd(made, people(30))
    crowd.round(ask(made, FIRST, 0, 1), [1] * 30)
    before = crowd.array._sessions.arrays()
    kept = {name: array.copy() for name, array in before.items()}
    again = crowd.round(replace(ask(made, FIRST, 0, 1), digest=bytes(32)), [1] * 30)
    assert again is not None
    assert not len(again)
    after = crowd.array._sessions.arrays()
    assert after.keys() == kept.keys()
    assert all(np.array_equal(after[name], array) for name, array in kept.items())


@every("seeds", [range(3)], long=[range(3, 1000)])
def test_whatever_is_asked_one_device_and_all_together_say_the_same(seeds: range) -> None:
    lawful = horizon(4, cohorts=2, each=2, every=True), horizon(4, cohort=1, cohorts=2, each=2, every=True)
    strange = [
        replace(horizon(2, cohorts=2, each=2), of=12), replace(horizon(8, cohort=2, cohorts=3, each=1), of=12),
        horizon(4, cohorts=2, each=2, every=True, changes=1),
        horizon(4, cohorts=2, each=2, every=True, name="ddrm_online"),
    ]  # fmt: skip
    answered = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        crowd, looked, held = Crowd(lawful[0], people(20), w=3), FIRST - 1, courses(20, 30, 4, seed)
        for _ in range(40):
            t = looked + 1 + int(rng.integers(2))
            turn = (t - FIRST) // 4
            made, begin = lawful[turn % 2], FIRST + 4 * turn
            if rng.random() < 0.4:
                made, begin = [*lawful, *strange][rng.integers(6)], t - int(rng.integers(3))
            step = t - begin + 1
            one = ask(made, begin, *made.tree.ending(step if made.tree.ending(step) else 1)[-1])
            if rng.random() < 0.3:
                one = replace(one, digest=rng.bytes(32))
            if one.t > looked:  # what was looked at is settled
                reports = crowd.round(one, held[one.t - FIRST].tolist())
                answered += 0 if reports is None else len(reports)
            if rng.random() < 0.4 and looked < FIRST + 28:
                looked += 1
                crowd.look(looked, held[looked - FIRST].tolist())
            if rng.random() < 0.1:
                crowd.crash()
    assert answered > 20 * len(seeds)


def test_two_cohorts_take_turns_and_a_third_horizon_waits_for_its_rest() -> None:
    first, second = horizon(4, cohorts=2), horizon(4, cohort=1, cohorts=2)
    crowd, values = Crowd(first, people(40), w=5), [1] * 40
    for begin, made in ((FIRST, first), (FIRST + 4, second), (FIRST + 8, first)):
        for step in range(1, 5):
            for level, node in made.tree.ending(step):
                reports = crowd.round(ask(made, begin, level, node), values)
                assert reports is not None
                assert len(reports)
            crowd.look(begin + step - 1, values)
    soon = Crowd(first, people(40), w=7)  # level 0 was last asked six periods before
    for step in range(1, 5):
        for level, node in first.tree.ending(step):
            soon.round(ask(first, FIRST, level, node), values)
        soon.look(FIRST + step - 1, values)
    refused = soon.array.charge(ask(first, FIRST + 8, 0, 1))
    assert isinstance(refused, Grant)
    assert refused.refused.keys() == {"gap"}
    assert not refused.answering.any()


def test_changes_over_the_limit_are_not_told() -> None:
    made = horizon(2, each=1, cohorts=1, of=Category(2, none=False), changes=1, name="exsub_online")
    crowd = Crowd(made, people(8), w=1)
    reports = crowd.round(ask(made, FIRST, 0, 1), [0] * 8)
    assert reports is not None
    session = next(iter(crowd.array._sessions._held.values()))
    assert (session.left[0] == 0).all()  # the first value took the only one
    crowd.look(FIRST, [0] * 8)
    assert crowd.round(ask(made, FIRST, 1, 1), [1] * 8) is not None


def test_what_was_not_looked_at_is_told_as_no_change() -> None:
    made = horizon(4, each=2, cohorts=1)
    crowd, values = Crowd(made, people(40), w=1), [0] * 40
    crowd.round(ask(made, FIRST, 0, 1), values)
    session = next(iter(crowd.array._sessions._held.values()))
    left = session.left[0].copy()
    crowd.look(FIRST + 2, values)  # period FIRST + 1 was never shown
    assert crowd.round(ask(made, FIRST, 0, 3), [1] * 40) is not None
    assert (session.left[0] == left).all()


@pytest.mark.parametrize(
    ("of", "before", "after", "changes"),
    [
        (Category(4, none=True), 0, 2, [-1, 0, 1]),
        (Category(4, none=True), 3, 1, [0, 1, 0]),
        (Count(4, none=False), 1, 3, [0, 1, 1]),
        (Count(4, none=True), 3, 2, [1, 1, 1]),
        (Count(4, none=True), 0, 3, [-1, 0, 0]),
        (Holding(ItemsLayout(4, 2, True)), (0, 0x7FFFFFFF), (0, 3), [0, 0, 0, 1]),
        (Holding(ItemsLayout(4, 2, True)), (1, 2), (0xFFFFFFFE, 0), [0, -1, -1, 0]),
    ],
)
def test_changes_of_values_are_a_few_coordinates(of: Any, before: Any, after: Any, changes: list[int]) -> None:
    rows = [np.array([value], np.int64 if isinstance(value, int) else np.uint32) for value in (before, after)]
    assert of.changes(*rows)[0].tolist() == changes
    assert np.count_nonzero(changes) <= of.most_changes
    assert ones(of.spec()).spec() == of.spec()


@pytest.mark.parametrize(
    "spec",
    [{}, {"kind": "items", "layout": ["code", 4]}, {"kind": "category", "layout": ["code", 4]},
     {"kind": "category", "layout": ["code", 4], "none": 2}, "items"],
)  # fmt: skip
def test_what_describes_no_vector_is_refused(spec: Any) -> None:
    with pytest.raises(ParameterError, match="allowed"):
        ones(spec)


def test_a_node_is_not_answered_outside_a_session() -> None:
    made = horizon(4)
    device = Crowd(made, people(1)).devices[0]
    assert isinstance(device.answer(ask(made, FIRST, 1, 1), 0, now=1 << 40), Refusal)
    with pytest.raises(ParameterError, match="session"):
        Node(made, 0, 1).perturb_one(0, None)  # type: ignore[arg-type]
