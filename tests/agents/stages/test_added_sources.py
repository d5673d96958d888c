# SPDX-License-Identifier: Apache-2.0
"""Which source partitions a raw partition waits for follows from its log, wherever somebody begins to read it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.agents.audit.people import PeopleAtPartition
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Record
from murmurate.errors import MurmurateError
from murmurate.topics.block import RawBlock
from murmurate.topics.codec import decode_record, encode
from tests.agents.stages.hands import RAW, Hand, perturb, progress, pseudonyms, rows
from tests.agents.world import KEYS, SECOND, TOPIC, deployment, stream

PLAN = deployment(stream("screen", "lpu"), partitions=1)
SCREEN = PLAN.streams[0]
AT_FIRST = 2
Clocks = list[tuple[int, int]]
SHOWN = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 12_000)), max_size=40)
"""(source partition, time): two of them were there at first."""


def closed(clocks: Clocks) -> dict[int, int]:
    """The record that closes each period, worked out plainly."""
    found: dict[int, int] = {}
    times: dict[int, int] = {}
    begun: int | None = None
    for number, (partition, time) in enumerate(clocks):
        times[partition] = time
        if all(p in times for p in range(AT_FIRST)):
            reached = max(0, min(times.values()) - 500) // SECOND
            begun = reached if begun is None else begun
            found |= {t: number for t in range(begun, reached) if t not in found}
    return found


def folded(stage: Perturb, clocks: Clocks, start: int = 0) -> dict[int, int]:
    """The record at which the stage may close each period."""
    found: dict[int, int] = {}
    closing = stage._streams["screen"].closing
    for number, (partition, time) in enumerate(clocks[start:], start):
        stage.fold(Record(RAW, number, encode(progress(time, partition))))
        if closing.open_t is not None and closing.reached_t is not None:
            since = max([*found, closing.open_t - 1]) + 1
            found |= {t: number for t in range(since, closing.reached_t) if t not in found}
    return found


def fresh(sources: int = AT_FIRST) -> Perturb:
    return Perturb(PLAN, KEYS.edge, 0, {TOPIC: sources})


@given(clocks=SHOWN, cut=st.integers(0, 40), known=st.integers(1, 5))
def test_periods_close_at_the_same_records_wherever_a_successor_begins(clocks: Clocks, cut: int, known: int) -> None:
    whole, cut = fresh(), min(cut, len(clocks))
    folded(whole, clocks[:cut])
    marks = {RAW: cut, Log("rounds", 0): 0}
    state = whole.small(), list(whole.snapshot(marks))
    folded(whole, clocks, cut)
    after = fresh(known)  # whatever its topic has by then: the state knows how many there were at first
    after.restore(*state, marks)
    folded(after, clocks, cut)
    anew = fresh(known)
    anew.restore(state[0], ())
    folded(anew, clocks)
    for other in (after, anew):
        assert (other.small(), list(other.snapshot(marks))) == (whole.small(), list(whole.snapshot(marks)))


@given(clocks=SHOWN)
def test_devices_and_auditor_close_by_the_same_rule(clocks: Clocks) -> None:
    assert folded(fresh(), clocks) == closed(clocks)
    people = PeopleAtPartition(PLAN, SCREEN, KEYS.edge.devices, 0, {TOPIC: AT_FIRST})
    said = [(t, n) for n, (partition, time) in enumerate(clocks) for t in people.tick(progress(time, partition), n)]
    assert dict(said) == closed(clocks)
    assert len(said) == len(closed(clocks))


def test_events_of_a_new_door_for_periods_that_are_over_are_nobodys() -> None:
    hand = perturb(PLAN, sources=1)
    users = pseudonyms(3)
    events = rows(PLAN, SCREEN, users, [8_000, 9_000, 11_000], [1, 1, 1])
    hand.give(RAW, progress(0), progress(10_500), *events)
    stage = hand.stage
    assert isinstance(stage, Perturb)
    assert (stage.users, stage.edge_counts["screen", "late"]) == (1, 2)
    people = PeopleAtPartition(PLAN, SCREEN, KEYS.edge.devices, 0, {TOPIC: 1})
    for number, time in enumerate((0, 10_500)):
        people.tick(progress(time), number)
    for event in events:
        block = decode_record(event)
        assert isinstance(block, RawBlock)
        people.take(block)
    assert people.users(np.arange(len(people))).tolist() == [users[2].tolist()]


def test_a_new_door_holds_periods_back_from_its_first_word_on() -> None:
    hand = Hand(fresh())
    hand.give(RAW, progress(0), progress(0, 1), progress(2_000), progress(1_600, 1))
    closing = hand.stage._streams["screen"].closing  # type: ignore[attr-defined]
    assert closing.reached_t == 1
    hand.give(RAW, progress(0, 2), progress(9_000), progress(9_000, 1))
    assert closing.reached_t == 1
    hand.give(RAW, progress(9_000, 2))
    assert closing.reached_t == 8


def test_another_topic_is_refused_as_ever() -> None:
    small = fresh().small()
    other = Perturb(replace(PLAN, streams=(replace(SCREEN, topic="clicks"),)), KEYS.edge, 0, {"clicks": 2})
    with pytest.raises(MurmurateError, match=r"frozen facts differ: .*source.clicks"):
        other.restore(small, ())
