# SPDX-License-Identifier: Apache-2.0
"""Exact sums of central streams at a raw partition: of every event that is in time, in the period that holds it,
whatever else the partition does.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers import FrozenFactsError
from murmurate.randomizers.identity import partitions
from murmurate.topics.block import REFUSED, SumsBlock, encode_raw
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Dead
from murmurate.topics.names import stream_id
from tests.agents.central import CENTS, FEW, FOUND_SPENT, SCREENED, SPENT, VISITS, beside, only
from tests.agents.stages.hands import RAW, ROUNDS, Hand, progress, pseudonyms, question, start
from tests.agents.stages.test_counting import by_the_loop
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC

PLAN = only(SPENT, FOUND_SPENT, VISITS, SCREENED, FEW, partitions=1)
USERS = pseudonyms(6)
BEGIN = FIRST * SECOND
CLOCK = progress(BEGIN + PLAN.lateness_ms)
"""The door's clock, as period FIRST begins."""


def hand(plan: Plan = PLAN, sources: int = 1) -> Hand:
    return Hand(Perturb(plan, KEYS.edge, 0, {TOPIC: sources}))


def events(stream: CentralPlan, rows: Sequence[tuple[int, int, int]]) -> bytes:
    """A raw block of (user, time, code)."""
    users, times, codes = (list(column) for column in zip(*rows, strict=True))
    return next(encode_raw(stream_id(stream.name), USERS[users], np.array(times, np.int64), np.array(codes, np.uint32)))


def sums(out: Sequence[Out]) -> dict[str, list[tuple[int, list[int]]]]:
    """By stream, each period that was said, with its sums."""
    names = {stream_id(each.name): each.name for each in PLAN.central}
    found: dict[str, list[tuple[int, list[int]]]] = {}
    for one in out:
        block = decode_record(one.value)
        if isinstance(block, SumsBlock):
            assert one.log == Log("sums", 0)
            found.setdefault(names[block.stream], []).append((block.t, block.sums.tolist()))
    return found


ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4 * SECOND - 1), st.sampled_from([0, 1, 2, 150, 500, REFUSED])),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, seed=st.integers(0, 2**32), torn=st.booleans())
def test_a_periods_sums_are_those_of_its_events_whatever_their_order_and_wherever_it_dies(
    rows: list[tuple[int, int, int]], seed: int, torn: bool
) -> None:
    rng, here = random.Random(seed), hand()
    here.give(RAW, CLOCK)
    out: list[Out] = []
    left = [(each, (user, BEGIN + time, code)) for each in PLAN.central for user, time, code in rows]
    for t in range(FIRST, FIRST + 4):
        end = (t + 1) * SECOND
        comes = [row[1] < end or rng.random() < 0.3 for _, row in left]
        now = [one for one, yes in zip(left, comes, strict=True) if yes]
        left = [one for one, yes in zip(left, comes, strict=True) if not yes]
        rng.shuffle(now)
        for each, row in now:
            out += here.give(RAW, events(each, [row]))
        if torn:
            again = hand()
            again.stage.restore(here.stage.small(), list(here.stage.snapshot()))
            here.stage = again.stage
        out += here.give(RAW, progress(end + PLAN.lateness_ms))
    found = sums(out)
    for each in PLAN.central:
        clipped: list[int] = []
        for t in range(FIRST, FIRST + 4):
            mine = [row for row in rows if (BEGIN + row[1]) // SECOND == t]
            if each is FEW:
                good = [row for row in rows if row[2] != REFUSED]
                mine = [row for row in by_the_loop(good, 2, 3 * SECOND) if (BEGIN + row[1]) // SECOND == t]
            codes = [code for _, _, code in mine]
            amounts = [code for code in codes if code != REFUSED]
            said = dict(found[each.name])[t]
            if each in (SPENT, FEW):
                assert said == [len(amounts), sum(min(code, 200) for code in amounts)]
            elif each is VISITS:
                assert said == [len(codes)]
            elif each is SCREENED:
                assert said == [codes.count(0), codes.count(1), codes.count(2)]
            else:
                at = np.array(said, np.int64)
                for theta in FOUND_SPENT.measure.candidates[::97]:
                    clipped = FOUND_SPENT.measure.figures(at, theta).tolist()
                    assert clipped == [sum(min(code, theta) for code in amounts), len(amounts)]
                above = FOUND_SPENT.measure.above(at)
                assert above[99] == sum(code > FOUND_SPENT.measure.candidates[99] for code in amounts)
        assert [t for t, _ in found[each.name]] == list(range(FIRST, FIRST + 4))


def test_every_sums_record_of_a_stream_is_as_long_as_any_other() -> None:
    lengths = Counter[int]()
    for rows in ([], [(0, BEGIN, 500)] * 1000):
        here = hand()
        here.give(RAW, CLOCK, *([events(FOUND_SPENT, rows)] if rows else []))
        for one in here.give(RAW, progress(BEGIN + 9 * SECOND)):
            block = decode_record(one.value)
            assert isinstance(block, SumsBlock)
            if block.stream == stream_id("found"):
                lengths[len(one.value)] += 1
    assert set(lengths) == {64 + 8 * (1 + FOUND_SPENT.measure.cells)}


def test_every_period_is_said_in_order_and_nothing_that_others_decide_delays_it() -> None:
    plan = beside(SPENT, partitions=1)
    here = hand(plan)
    out = here.give(RAW, CLOCK)
    for second in range(1, 40):  # no start, no round, no settled record: a local stream would wait after eight
        out += here.give(RAW, progress(BEGIN + second * SECOND + plan.lateness_ms))
    assert [t for t, _ in sums(out)["spent"]] == list(range(FIRST, FIRST + 39))


def test_nothing_in_rounds_is_an_event_or_a_clock() -> None:
    plan = beside(SPENT, partitions=1)
    screen = plan.streams[0]
    here = hand(plan)
    here.give(RAW, CLOCK)
    here.give(ROUNDS, start(screen), events(SPENT, [(0, BEGIN, 7)]), progress(BEGIN + 60 * SECOND))
    raw = next(encode_raw(stream_id("screen"), USERS, np.full(6, BEGIN), np.ones(6, np.uint32)))
    here.give(ROUNDS, raw)
    assert isinstance(here.stage, Perturb)
    assert here.stage.users == 0
    out = here.give(RAW, question(plan, screen, FIRST), progress(BEGIN + SECOND + plan.lateness_ms))
    assert sums(out) == {"spent": [(FIRST, [0, 0])]}
    assert {one.log.topic for one in out} == {"sums"}  # nor does raw ask


def test_late_and_foreign_events_and_those_before_the_clock_are_in_no_sum() -> None:
    plan = only(SPENT, FEW, partitions=3)
    here = Hand(Perturb(plan, KEYS.edge, 0, {TOPIC: 2}))
    mine = partitions(USERS, 3) == 0
    assert 0 < mine.sum() < len(USERS)
    early = [(user, BEGIN - 5 * SECOND, 100) for user in range(6)]
    here.give(RAW, events(SPENT, early), events(FEW, early), CLOCK, progress(BEGIN + 700, 1))
    good = [(user, BEGIN + 100, 10) for user in range(6)]
    late = [(user, BEGIN - SECOND, 100) for user in range(6)]
    out = here.give(RAW, events(SPENT, good + late), progress(BEGIN + 3 * SECOND))
    assert out == []  # the other source has not come so far
    out = here.give(RAW, progress(BEGIN + 2 * SECOND, 1))
    assert sums(out)["spent"][0] == (FIRST, [int(mine.sum()), 10 * int(mine.sum())])
    assert sums(out)["few"][0] == (FIRST, [0, 0])
    assert isinstance(here.stage, Perturb)
    counts = here.stage.edge_counts
    assert (counts["spent", "foreign"], counts["spent", "accepted"]) == (2 * int((~mine).sum()), 2 * int(mine.sum()))
    out = here.give(RAW, events(SPENT, good), progress(BEGIN + 9 * SECOND), progress(BEGIN + 9 * SECOND, 1))
    assert counts["spent", "late"] == 12
    assert all(each == [0, 0] for _, each in sums(out)["spent"])


def test_a_block_of_another_width_is_named_and_changes_nothing() -> None:
    here = hand()
    here.give(RAW, CLOCK)
    wide = next(encode_raw(stream_id("spent"), USERS, np.full(6, BEGIN), np.ones((6, 2), np.uint32)))
    (letter,) = here.give(RAW, wide)
    found = decode_record(letter.value)
    assert isinstance(found, Dead)
    assert (found.reason, letter.log.topic) == ("width", "dead.edge")
    assert sums(here.give(RAW, progress(BEGIN + 2 * SECOND)))["spent"][0] == (FIRST, [0, 0])


def test_events_of_central_streams_enrol_nobody() -> None:
    plan = beside(SPENT, VISITS, partitions=1)
    here = hand(plan)
    here.give(RAW, CLOCK, events(SPENT, [(0, BEGIN, 3)]), events(VISITS, [(1, BEGIN, REFUSED)]))
    assert isinstance(here.stage, Perturb)
    assert here.stage.users == 0


def test_a_state_of_another_config_or_of_other_streams_is_refused() -> None:
    here = hand()
    here.give(RAW, CLOCK, events(SPENT, [(0, BEGIN, 3)]))
    small, snapshot = here.stage.small(), list(here.stage.snapshot())
    again = hand()
    again.stage.restore(small, snapshot)
    assert list(again.stage.snapshot()) == snapshot
    changed = replace(SPENT, config="0" * 16)
    for plan in (only(changed, FOUND_SPENT, VISITS, SCREENED, FEW, partitions=1), only(SPENT, partitions=1)):
        with pytest.raises(FrozenFactsError, match="config of stream"):
            hand(plan).stage.restore(small, snapshot)
    assert CENTS.cells == 501


def test_exact_sums_do_not_show_in_a_snapshot() -> None:
    states = []
    for codes in ([433] * 1001, [1] * 1001):
        here = hand()
        here.give(RAW, CLOCK, *(events(each, [(0, BEGIN, code) for code in codes]) for each in (SPENT, FOUND_SPENT)))
        states.append(here.stage.small() + b"".join(here.stage.snapshot()))
    assert len(states[0]) == len(states[1])
    for exact in (1001 * 433, 1001 * 200, 1001):
        assert exact.to_bytes(8, "little") not in states[0]
        assert b"%d" % exact not in states[0]
