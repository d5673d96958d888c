# SPDX-License-Identifier: Apache-2.0
"""Users who come, go and change within a horizon, stops within one and files that change within one, through perturb.

Contract of each test: the same reports in every order of the logs and from every crash, and an auditor who finds
nothing.  Not here: servers that cheat (test_horizons.py), whole deployments (tests/agents/embedded/test_exactness.py).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from murmurate.agents.embedded.log import Logs
from murmurate.agents.embedded.task import Life, Task
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import Plan
from murmurate.errors import MurmurateError
from murmurate.topics.codec import encode
from murmurate.topics.messages import Round
from tests.agents.stages.hands import ROUNDS, Hand
from tests.agents.stages.horizon_rounds import (
    ALL,
    COHORTS,
    FEW,
    HOME,
    LAWFUL,
    PLAN,
    SCREEN,
    SLOT,
    UNTIL,
    USERS,
    Course,
    T,
    checked,
    habits,
    of_level,
    opening,
    raw_of,
    run,
    sent,
)
from tests.agents.world import FIRST, KEYS, TOPIC
from tests.cases import every

Events = Sequence[tuple[int, int, int]]
SECOND_HORIZON = FIRST + T


def told(events: Events, seed: int) -> dict[str, int]:
    """How many reports each lawful round gets."""
    found = sent(checked(Course(raw_of(events, UNTIL), opening(*LAWFUL)), seed))
    return {digest: sum(reports.values()) for digest, reports in found.items()}


def expected(users: Sequence[int], later: Sequence[int] = ()) -> dict[str, int]:
    """What they get if these users are there in the first horizon, and the later ones too in those after it."""
    found = {}
    for one in LAWFUL:
        if isinstance(one, Round):
            mask = one.slots.mask()
            begun = [*users, *later] if one.t >= SECOND_HORIZON else users
            found[one.digest.hex()] = sum(bool(mask[SLOT[user]]) for user in begun)
    return {digest: n for digest, n in found.items() if n}


# ---- who comes, goes and changes ----


def test_who_comes_within_a_horizon_is_told_of_from_the_next_on() -> None:
    early, late = range(25), range(25, USERS)
    came = [(FIRST - 1, user, user % 4) for user in early] + [(FIRST + user % T, user, user % 4) for user in late]
    assert told(came, 1) == expected(early, late)


def test_who_leaves_within_a_horizon_goes_on_to_its_end_and_is_not_in_the_next() -> None:
    """Users are forgotten after a window of silence; half of them are silent from the first period on."""
    stays = [(t, user, 1) for t in range(FIRST - 1, UNTIL) for user in range(0, USERS, 2)]
    leaves = [(FIRST - 1, user, 2) for user in range(1, USERS, 2)]
    silent = replace(PLAN, forget_after_ms=4000)
    course = Course(raw_of([*stays, *leaves], UNTIL), opening(*LAWFUL))
    found = {name: sum(n.values()) for name, n in sent(checked(course, 0, silent)).items()}
    first = {one.digest.hex() for one in LAWFUL if isinstance(one, Round) and one.t < SECOND_HORIZON}
    everybody, half = expected(range(USERS)), expected(range(0, USERS, 2))
    assert found == {name: n for name, n in everybody.items() if name in first} | {
        name: n for name, n in half.items() if name not in first
    }


def test_who_changes_more_often_than_is_told_is_told_as_no_change_from_then_on() -> None:
    """Two courses that part after the last change that is told give the same reports but for words of their own, so it
    is the counters that are compared: they move alike, and as many changes are left.
    """
    events = [(t, user, (user + t) % 4) for t in range(FIRST - 1, UNTIL) for user in range(USERS)]
    assert told(events, 2) == expected(range(USERS))
    hand = Hand(Perturb(PLAN, KEYS.edge, 0, {TOPIC: 1}))
    hand.give(ROUNDS, *opening(*LAWFUL[:7]))
    hand.give(Log("raw", 0), *raw_of(events, FIRST + 3)[0])
    assert isinstance(hand.stage, Perturb)
    (session,) = hand.stage._streams["screen"].devices._sessions._held.values()
    assert FEW == 3  # the first value is one change, each other one two
    assert (session.left[0] == 0).all()
    assert len(session.left[0]) == sum(HOME[user] == 0 for user in of_level(COHORTS[0], 0)) > 0


def test_events_at_a_partition_that_is_not_their_users_put_nobody_into_a_horizon() -> None:
    forged = [(t, user, 3) for t in range(FIRST - 1, UNTIL) for user in range(0, USERS, 3)]
    honest = run(Course(raw_of(ALL, UNTIL), opening(*LAWFUL)), random.Random(0), order=["raw", "rounds"])
    both = checked(Course(raw_of(ALL, UNTIL, forged), opening(*LAWFUL)), 0)
    assert sorted(both.all("reports")) == sorted(honest.all("reports"))
    assert {digest: sum(found.values()) for digest, found in sent(both).items()} == expected(range(USERS))


# ---- a stop ----


@every("stops", [(5, 24)], long=[range(1, 90)])
def test_a_stop_at_any_turn_within_horizons_changes_no_report(stops: Sequence[int]) -> None:
    course = Course(raw_of(habits(random.Random(4), UNTIL), UNTIL), opening(*LAWFUL))
    usual = sorted(run(course, random.Random(0)).all("reports"))
    assert len(usual) > 50
    for stop in stops:
        assert sorted(run(course, random.Random(0), stop=stop).all("reports")) == usual, stop


def test_a_snapshot_at_every_record_is_one_to_go_on_from() -> None:
    raw, rounds = raw_of(habits(random.Random(4), UNTIL), UNTIL)[0], [encode(one) for one in opening(*LAWFUL)]
    records = [(ROUNDS, one) for one in rounds[:1]]
    for t, of_period in enumerate(np.array_split(np.arange(len(raw)), UNTIL - FIRST)):
        records += [(Log("raw", 0), raw[i]) for i in of_period] + [
            (ROUNDS, one) for one in rounds[1 + 3 * t : 4 + 3 * t]
        ]
    calm, torn = (Hand(Perturb(PLAN, KEYS.edge, 0, {TOPIC: 1})) for _ in range(2))
    answers = 0
    for log, record in records:
        out = calm.give(log, record)
        assert torn.give(log, record) == out
        answers += len(out)
        assert isinstance(torn.stage, Perturb)
        small, snapshot = torn.stage.small(), list(torn.stage.snapshot())
        torn.stage = Perturb(PLAN, KEYS.edge, 0, {TOPIC: 1})
        torn.stage.restore(small, snapshot)
    assert answers > 60


# ---- a file that changes ----

CHANGED = {
    "another method": ("was written under config", {"config": "fedcba9876543210"}),
    "another revision": ("was written under config", {"revision": 2}),
    "another window": ("frozen facts", {"w": 5}),
    "other slots": ("frozen facts", {"slots": 24}),
}


def worker(plan: Plan, logs: Logs) -> Task:
    """The first partition's, before it has read anything."""
    revisions = {one.name: (one.config, one.revision) for one in plan.streams}
    inputs = [Log("raw", 0), ROUNDS]
    return Task("perturb 0", lambda: Perturb(plan, KEYS.edge, 0, {TOPIC: 1}), inputs, logs, revisions)


@pytest.mark.parametrize("name", CHANGED)
def test_a_file_that_changes_within_a_horizon_is_refused_and_the_old_one_goes_on(name: str) -> None:
    said, change = CHANGED[name]
    other = replace(PLAN, streams=(replace(SCREEN, **change),))  # type: ignore[arg-type]
    raw, rounds = raw_of(habits(random.Random(4), UNTIL), UNTIL)[0], opening(*LAWFUL)
    found = []
    for cut in (None, 6):  # records of `rounds`, within the first horizon
        logs = Logs()
        held = worker(PLAN, logs)
        logs.append(Out(Log("raw", 0), one) for one in raw)
        logs.append(Out(ROUNDS, encode(one)) for one in rounds[:cut])
        while held.step():
            pass
        if cut is not None:
            before = logs.all("reports")
            newer = worker(other, logs)
            newer.state = list(held.state)
            with pytest.raises(MurmurateError, match=said):
                newer.recover()
            assert newer.life is Life.STOPPED
            assert logs.all("reports") == before
            logs.append(Out(ROUNDS, encode(one)) for one in rounds[cut:])
            held.recover()
            while held.step():
                pass
        found.append(logs.all("reports"))
    assert found[0] == found[1]
    assert len(found[0]) > 50
