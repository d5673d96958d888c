# SPDX-License-Identifier: Apache-2.0
"""Frozen facts that change within a horizon, keys that do, a history that is lost: the session is abandoned at once.

Whenever the change comes, between any two rounds, no node of the old horizon is answered any more, no horizon is
answered before the longest window after the change has passed, and the first one after that is answered in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from murmurate.randomizers import Grant, Key, Refusal
from murmurate.randomizers.device import Device
from murmurate.randomizers.devices import DeviceArray
from murmurate.randomizers.guard import Ask
from murmurate.randomizers.reopening import reopen_device, reopen_devices
from murmurate.randomizers.sessions import Horizon
from murmurate.randomizers.terms import Terms
from tests.cases import every
from tests.randomizers.guards import SECRETS, people, secret
from tests.randomizers.sessions.horizons import STREAM, Crowd, ask, horizon

T, W, FIRST, USERS = 4, 5, 10, 30
MADE = horizon(T, cohorts=2, every=True)
VALUES = [user % 4 for user in range(USERS)]


def rounds(made: Horizon, first_t: int) -> Iterator[Ask]:
    """All nodes of a horizon, in order."""
    for step in range(1, T + 1):
        yield from (ask(made, first_t, level, node) for level, node in made.tree.ending(step))


NODES = len(list(rounds(MADE, FIRST)))


def begun(asked: int) -> Crowd:
    """Users who have answered so many nodes of a horizon; periods before the newest one have been looked at."""
    crowd, now = Crowd(MADE, people(USERS), w=W), FIRST
    for one in list(rounds(MADE, FIRST))[:asked]:
        if one.t > now:
            crowd.look(now, VALUES)
            now = one.t
        assert crowd.round(one, VALUES) is not None
    return crowd


Guarded = DeviceArray | list[Device]


def answers(guarded: Guarded, one: Ask) -> int:
    """How many users answer a round."""
    if isinstance(guarded, DeviceArray):
        grant = guarded.charge(one)
        return len(guarded.answer(grant, np.array(VALUES)).reports) if isinstance(grant, Grant) else 0
    told = [device.answer(one, value, now=1 << 40) for device, value in zip(guarded, VALUES, strict=True)]
    return sum(not isinstance(answer, Refusal) for answer in told)


def look(guarded: Guarded, t: int) -> None:
    """Let a period pass."""
    if isinstance(guarded, DeviceArray):
        guarded.look(t, np.array(VALUES))
        guarded.end_sessions(t)
        return
    for device, value in zip(guarded, VALUES, strict=True):
        device.look(STREAM, t, value)


def reopened(crowd: Crowd, terms: Terms, opened_ms: int) -> list[Guarded]:
    """All users together, and one by one, under other terms."""
    array = reopen_devices(crowd.array.snapshot(), terms, STREAM, SECRETS, opened_ms=opened_ms)
    alone = [
        reopen_device(device.snapshot(), terms, device._user, SECRETS, opened_ms=opened_ms) for device in crowd.devices
    ]
    return [array, alone]


def users_of(guarded: DeviceArray, one: Ask) -> int:
    """How many users a round asks."""
    assert one.asked is not None
    return int(one.asked[guarded._slot[: len(guarded)]].sum())


@every(("asked", "w"), [(1, 3), (4, 8)], long=[(asked, w) for asked in range(NODES + 1) for w in (3, 8)])
def test_changed_facts_end_a_horizon_at_once_and_close_its_slots_for_the_longest_window(asked: int, w: int) -> None:
    crowd = begun(asked)
    (stream,) = crowd.terms.streams
    terms = replace(crowd.terms, streams=(replace(stream, w=w),))
    old = list(rounds(MADE, FIRST))
    newest = old[asked - 1].t if asked else FIRST - 1
    for guarded in reopened(crowd, terms, 1000 * (newest + 1)):
        assert not any(answers(guarded, one) for one in old)
        opens = newest + 1 + max(W, w)
        for begin in range(newest + 1, opens - T, 2):  # horizons that are over before the window has passed
            assert not any(answers(guarded, one) for one in rounds(MADE, begin))
            look(guarded, begin + T)
        first = FIRST + 2 * T + max(W, w)
        for one in rounds(MADE, first):
            assert answers(guarded, one) == users_of(crowd.array, one)
        look(guarded, first + T)


def test_a_horizon_that_begins_while_slots_are_closed_is_told_by_levels_whose_bill_begins_later() -> None:
    crowd = begun(1)
    (stream,) = crowd.terms.streams
    terms = replace(crowd.terms, streams=(replace(stream, w=W + 1),))
    opened = FIRST + T + W + 1  # the only bill ended with period FIRST + T - 1
    for guarded in reopened(crowd, terms, 1000 * (FIRST + 1)):
        for one in rounds(MADE, opened - 1):
            due = users_of(crowd.array, one) if one.question.bill(one.t).first >= opened else 0
            assert answers(guarded, one) == due


@every("asked", range(1, NODES + 1, 2))
def test_another_key_ends_a_horizon_and_costs_nobody_a_second_one_within_the_window(asked: int) -> None:
    crowd = begun(asked)
    other = SECRETS._replace(randomness=Key(secret("another"), deployment="shop"))
    array = DeviceArray.restore(crowd.array.snapshot(), crowd.terms, STREAM, other)
    assert not array.in_session
    told = {one.digest for one in list(rounds(MADE, FIRST))[:asked]}
    paid = {one.question.level for one in rounds(MADE, FIRST) if one.digest in told}  # type: ignore[attr-defined]
    for one in rounds(MADE, FIRST):
        assert (answers(array, one) > 0) == (one.question.level not in paid)  # type: ignore[attr-defined]
