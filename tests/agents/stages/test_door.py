# SPDX-License-Identifier: Apache-2.0
"""The door: what it writes follows from events and ticks, not from how they interleave."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import orjson
import pytest

from murmurate.agents.stages.door import BATCH, TICKS, Door, clock_of, lost_of, set_back, skipped
from murmurate.agents.stages.stage import NO_VALUE, Log, Out, Record
from murmurate.topics.block import REFUSED, RawBlock
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.domains import Categories
from murmurate.topics.events import Fields
from murmurate.topics.messages import Dead, Progress, Tick
from murmurate.topics.names import stream_id
from tests.agents.stages.hands import Hand, read
from tests.agents.world import KEYS, TOPIC, deployment, stream

SOURCE = Log(TOPIC, 0)
CLOCK = Log(TICKS, 0)


def door(plan: Any = None) -> Hand:
    return Hand(Door(plan or deployment(partitions=1), KEYS.edge.pepper, TOPIC, 0))


def event(time: int | None = 0, *, user: str = "u", value: Any = "home", name: str = "screen") -> bytes:
    return orjson.dumps({"stream": name, "user": user, "value": value} | ({} if time is None else {"time": time}))


def tick(time: int, end: int) -> Tick:
    return Tick(topic=TOPIC, partition=0, time=time, end=end)


def counts(hand: Hand) -> dict[str, int]:
    assert isinstance(hand.stage, Door)
    found = Counter({"read": hand.stage.read})
    for (_, reason), n in hand.stage.counts.items():
        found[reason] += n
    return dict(found)


def test_events_wait_for_the_tick_that_covers_them_and_go_before_its_progress() -> None:
    hand = door()
    assert hand.give(SOURCE, event(10), event(20), event(30)) == []
    found = read(hand.give(CLOCK, tick(100, 2)))
    assert [type(one) for one in found] == [RawBlock, Progress]
    assert found[0].times.tolist() == [10, 20]
    assert (found[1].topic, found[1].partition, found[1].time) == (TOPIC, 0, 100)
    found = read(hand.give(CLOCK, tick(200, 3)))
    assert found[0].times.tolist() == [30]


def test_many_events_below_a_tick_do_not_wait_for_the_last_of_them() -> None:
    hand = door()
    hand.give(CLOCK, tick(100, BATCH + 2))
    found = read(hand.give(SOURCE, *(event(10) for _ in range(BATCH))))
    assert sum(len(one.times) for one in found) == BATCH
    assert hand.stage.replay_from({SOURCE: BATCH, CLOCK: 1}) == {SOURCE: BATCH, CLOCK: 0}
    again = door()
    again.stage.restore(hand.stage.small(), ())
    assert again.give(CLOCK, tick(100, BATCH + 2)) == []  # folded again: its events have been written
    again.ends[SOURCE] = BATCH
    found = read(again.give(SOURCE, event(11), event(12)))
    assert [type(one) for one in found] == [RawBlock, Progress]
    assert found[0].times.tolist() == [11, 12]


def test_a_second_tick_of_the_same_time_corrects_where_the_events_end() -> None:
    hand = door()
    assert hand.give(CLOCK, tick(100, 5)) == []
    assert hand.give(SOURCE, event(10)) == []  # offsets 1 to 4 hold no records
    found = read(hand.give(CLOCK, tick(100, 1)))
    assert [type(one) for one in found] == [RawBlock, Progress]


def test_what_is_no_tick_stops_no_door() -> None:
    hand = door()
    (found,) = read(hand.give(CLOCK, b"no tick"))
    assert (found.reason, found.topic, found.offset) == ("unknown", TICKS, 0)


def test_a_tick_before_its_events_waits_for_them_and_so_do_those_behind_it() -> None:
    hand = door()
    assert hand.give(CLOCK, tick(100, 2), tick(200, 2), tick(300, 3)) == []
    assert hand.give(SOURCE, event(10)) == []
    found = read(hand.give(SOURCE, event(20)))
    assert [type(one) for one in found] == [RawBlock, Progress, Progress]
    assert [one.time for one in found[1:]] == [100, 200]
    assert [type(one) for one in read(hand.give(SOURCE, event(30)))] == [RawBlock, Progress]


def test_every_raw_partition_gets_the_clock_and_each_user_only_their_own() -> None:
    hand = door(deployment(partitions=5))
    out = hand.give(SOURCE, *[event(5, user=f"user-{i}") for i in range(200)]) + hand.give(CLOCK, tick(100, 200))
    assert [one.log.partition for one in out if b"progress" in one.value] == [0, 1, 2, 3, 4]
    total = 0
    for one in out:
        block = decode_record(one.value)
        if isinstance(block, RawBlock):
            first = block.users[:, :8].copy().view("<u8").ravel()
            assert (first % 5 == one.log.partition).all()
            total += len(block.users)
    assert total == 200


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_does_not_depend_on_how_events_and_ticks_interleave(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("murmurate.agents.stages.door.BATCH", 7)
    rng = random.Random(seed)
    events = [event(rng.randrange(4000), user=f"u{i}", value=rng.choice(["home", 3, "?"])) for i in range(60)]
    ends = sorted(rng.sample(range(61), 10))
    ticks = [tick(i * 300, end) for i, end in enumerate(ends)]
    written = []
    for first, longest in product((0.0, 0.5, 1.0), (1, 4, 40)):
        hand, out, queues = door(), [], ([*events], [*ticks])
        while any(queues):
            source = queues[0] if queues[0] and (not queues[1] or rng.random() < first) else queues[1]
            run = [source.pop(0) for _ in range(min(len(source), rng.randint(1, longest)))]
            out += hand.give_run(SOURCE if source is queues[0] else CLOCK, run)
        written.append(([one for one in out if one.log.topic == "raw"], counts(hand)))
    assert all(one == written[0] for one in written)


def test_a_tick_that_repeats_or_covers_nothing_new_writes_its_time_and_no_event_twice() -> None:
    hand = door()
    hand.give(SOURCE, event(10), event(20))
    hand.give(CLOCK, tick(100, 2))
    assert [type(one) for one in read(hand.give(CLOCK, tick(100, 2), tick(150, 0), tick(160, 1)))] == [Progress] * 3


def test_late_and_future_events_are_judged_by_the_ticks_around_them() -> None:
    hand = door()
    hand.give(CLOCK, tick(1499, 0))
    out = hand.give(SOURCE, event(0), event(6500), event(6501)) + hand.give(CLOCK, tick(1500, 3))
    assert read(out)[0].times.tolist() == [0, 6500]  # lateness 500, future 5000
    out = hand.give(SOURCE, event(999), event(1000)) + hand.give(CLOCK, tick(1600, 5))
    assert read(out)[0].times.tolist() == [1000]
    assert {k: v for k, v in counts(hand).items() if k != "read"} == {"late": 1, "future": 1}


def test_events_without_a_time_have_the_time_of_their_tick_and_are_never_late() -> None:
    hand = door(deployment(stream("screen", fields=Fields(time=None)), partitions=1))
    found = read(hand.give(SOURCE, event(None)) + hand.give(CLOCK, tick(1000, 1)))
    assert found[0].times.tolist() == [1000]
    found = read(hand.give(SOURCE, event(None), event(5)) + hand.give(CLOCK, tick(90_000, 3)))
    assert found[0].times.tolist() == [90_000, 90_000]  # a time that nobody declared is not looked at


def test_two_streams_on_one_topic_without_a_pointer_both_read_every_event() -> None:
    plan = deployment(
        stream("screen", fields=Fields(), share_micro=500_000),
        stream("mood", fields=Fields(value="/mood"), share_micro=500_000, domain=Categories(("good", "bad"))),
        partitions=1,
    )
    hand = door(plan)
    record = orjson.dumps({"user": "u", "time": 7, "value": "basket", "mood": "bad"})
    found = read(hand.give(SOURCE, record) + hand.give(CLOCK, tick(100, 1)))
    blocks = {one.stream: one for one in found if isinstance(one, RawBlock)}
    assert blocks[stream_id("screen")].values.tolist() == [1]
    assert blocks[stream_id("mood")].values.tolist() == [1]
    assert (blocks[stream_id("screen")].users == blocks[stream_id("mood")].users).all()


def test_a_refused_value_still_shows_its_user_and_nothing_of_it_is_named() -> None:
    hand = door(deployment(stream("screen", domain=Categories(("home",)), fields=Fields()), partitions=1))
    found = read(
        hand.give(SOURCE, event(7, value="SECRET"), event(8, value=3), b"SECRET{") + hand.give(CLOCK, tick(100, 3))
    )
    raw = next(one for one in found if isinstance(one, RawBlock))
    assert raw.values.tolist() == [REFUSED, REFUSED]
    dead = [one for one in found if isinstance(one, Dead)]
    assert [(one.reason, one.topic, one.partition, one.offset) for one in dead] == [("json", TOPIC, 0, 2)]
    assert b"SECRET" not in b"".join(encode(one) for one in dead)


def test_a_door_that_comes_back_reads_what_had_not_been_covered() -> None:
    plan, written = deployment(partitions=1), []
    events, ticks = [event(i * 100) for i in range(30)], [tick(i * 400, min(30, i * 4)) for i in range(9)]
    logs = {SOURCE: events, CLOCK: [encode(one) for one in ticks]}
    for torn in (False, True):
        stage = Door(plan, KEYS.edge.pepper, TOPIC, 0)
        out: list[Out] = []
        marks = {SOURCE: 0, CLOCK: 0}
        rng = random.Random(4)
        while marks != {SOURCE: 30, CLOCK: 9}:
            log = rng.choice([SOURCE, CLOCK])
            if marks[log] == len(logs[log]):
                continue
            stage.fold(Record(log, marks[log], logs[log][marks[log]]))
            marks[log] += 1
            out += stage.drain().records
            if torn:
                small, begin = stage.small(), stage.replay_from(marks)
                stage = Door(plan, KEYS.edge.pepper, TOPIC, 0)
                stage.restore(small, ())
                for each in rng.sample([SOURCE, CLOCK], 2):
                    for offset in range(begin[each], marks[each]):
                        stage.fold(Record(each, offset, logs[each][offset]))
                assert stage.drain().records == ()
        written.append(out)
    assert written[0] == written[1]
    assert sum(len(one.users) for one in read(written[0]) if isinstance(one, RawBlock)) == 30


def test_a_clock_that_goes_back_lets_nothing_into_a_closed_period_behind_the_door() -> None:
    # The raw partition takes the newest time for ever: what slips in is refused there, users and all.
    from tests.agents.stages.hands import RAW, perturb

    plan = deployment(stream("screen"), partitions=1)
    hand, guard = door(plan), perturb(plan)
    out = hand.give(CLOCK, tick(0, 0), tick(9000, 0), tick(100, 0))
    out += hand.give(SOURCE, event(3000), event(3000, user="new")) + hand.give(CLOCK, tick(200, 2))
    before = b"".join(guard.stage.snapshot())
    guard.give(RAW, *[one.value for one in out if b"progress" in one.value])
    closed = b"".join(guard.stage.snapshot())
    guard.give(RAW, *[one.value for one in out if b"progress" not in one.value])
    assert before != closed == b"".join(guard.stage.snapshot())


def test_a_clock_that_goes_back_is_no_progress_and_events_are_judged_by_its_newest_time() -> None:
    hand = door(deployment(stream("screen", fields=Fields()), partitions=1))
    out = hand.give(CLOCK, tick(9000, 0), tick(100, 0))
    out += hand.give(SOURCE, event(8000), event(7999), event(14_000)) + hand.give(CLOCK, tick(200, 3))
    found = read(out)
    assert [one.time for one in found if isinstance(one, Progress)] == [9000] * 3
    assert [one.times.tolist() for one in found if isinstance(one, RawBlock)] == [[8000, 14_000]]
    assert {k: v for k, v in counts(hand).items() if k != "read"} == {"late": 1, "future": 0}
    back = door(deployment(stream("screen", fields=Fields()), partitions=1))
    back.stage.restore(hand.stage.small(), ())
    assert read(back.give(CLOCK, tick(300, 3)))[0].time == 9000


def test_plans_may_name_fields_for_a_reader_of_their_own() -> None:
    plan = deployment(replace(stream("screen"), fields=Fields(user="/who/id", value="/what", time="/at")), partitions=1)
    record = orjson.dumps({"who": {"id": 12}, "what": "help", "at": "1970-01-01T00:00:01Z"})
    hand = door(plan)
    found = read(hand.give(SOURCE, record) + hand.give(CLOCK, tick(1200, 1)))
    assert (found[0].times.tolist(), found[0].values.tolist()) == ([1000], [2])
    assert found[0].users.tobytes() == KEYS.edge.pepper.pseudonym(b"12")


def test_a_record_that_is_no_json_is_counted_and_named_dead_as_ever_and_shows_its_user() -> None:
    hand = door(deployment(stream("screen"), partitions=1))
    broken = event(5, user="shown").replace(b'"home"', b"NaN")
    found = read(hand.give(SOURCE, broken, event(5, user="good"), b'{"user": "lost') + hand.give(CLOCK, tick(100, 3)))
    assert [(one.reason, one.offset) for one in found if isinstance(one, Dead)] == [("json", 0), ("json", 2)]
    (block,) = [one for one in found if isinstance(one, RawBlock)]
    assert block.values.tolist() == [REFUSED, 0]
    assert block.users.tobytes() == KEYS.edge.pepper.pseudonyms([b"shown", b"good"]).tobytes()
    assert {k: v for k, v in counts(hand).items() if v} == {"read": 3, "json": 2}


def test_a_record_that_is_no_json_shows_nobody_where_its_time_is_out_of_order() -> None:
    hand = door(deployment(stream("screen"), partitions=1, future_ms=1000))
    hand.give(CLOCK, tick(9000, 0))
    late, future = (event(time).replace(b'"home"', b"NaN") for time in (100, 99_000))
    found = read(hand.give(SOURCE, late, future) + hand.give(CLOCK, tick(9100, 2)))
    assert not [one for one in found if isinstance(one, RawBlock)]
    assert {k: v for k, v in counts(hand).items() if v} == {"read": 2, "json": 2, "late": 1, "future": 1}


def test_a_record_without_a_value_is_no_event_and_no_dead_letter_and_an_empty_value_is_one() -> None:
    hand = door()
    found = read(hand.give(SOURCE, event(10), NO_VALUE, b"", event(30)) + hand.give(CLOCK, tick(100, 4)))
    assert found[0] == Dead(reason="json", topic=TOPIC, partition=0, offset=2)
    assert found[1].times.tolist() == [10, 30]
    assert {reason: n for reason, n in counts(hand).items() if n} == {"read": 3, "json": 1, "tombstone": 1}
    hand = door()
    assert read(hand.give(SOURCE, NO_VALUE, NO_VALUE) + hand.give(CLOCK, tick(100, 2)), "dead.edge") == []
    assert counts(hand) == {"read": 0, "tombstone": 2}


def test_a_door_that_skips_what_is_lost_goes_on_there_with_its_clock_and_counts_it() -> None:
    hand = door()
    hand.give(SOURCE, event(10), event(20))
    hand.give(CLOCK, tick(100, 1))
    small = hand.stage.small()
    assert b"lost" not in small  # a state without losses has the bytes that it always had
    assert (lost_of(small), clock_of(small)) == (0, 100)
    once = skipped(small, 50, 49)
    assert (lost_of(once), lost_of(skipped(once, 60, 10))) == (49, 59)
    after = door()
    after.stage.restore(once, ())
    assert after.stage.small() == once
    after.ends[SOURCE] = 50
    found = read(after.give(SOURCE, event(200)) + after.give(CLOCK, tick(300, 51)))
    assert found[0].times.tolist() == [200]
    assert found[1].time == 300


def test_a_tick_that_nothing_reaches_is_corrected_although_others_wait_behind_it() -> None:
    hand = door()
    forged = tick(100, 10**15)
    assert hand.give(CLOCK, forged, tick(200, 1), tick(300, 2)) == []
    assert isinstance(hand.stage, Door)
    assert hand.stage.waits_for == forged
    (first,) = read(hand.give(CLOCK, tick(100, 0)))
    assert first.time == 100
    found = read(hand.give(SOURCE, event(5), event(6)))
    assert [one.time for one in found if isinstance(one, Progress)] == [200, 300]
    assert counts(hand)["read"] == 2


def test_a_state_that_is_set_back_differs_in_its_clock_alone_and_late_events_count_again() -> None:
    hand = door()
    hand.give(SOURCE, event(0))
    hand.give(CLOCK, tick(9_000_000, 1))
    assert isinstance(hand.stage, Door)
    ahead = hand.stage.small()
    back = set_back(ahead, 2000)
    assert (clock_of(ahead), clock_of(back)) == (9_000_000, 2000)
    assert set_back(back, 9_000_000) == ahead
    for small, late, shows in ((ahead, 1, 9_000_000), (back, 0, 2500)):
        again = Door(deployment(partitions=1), KEYS.edge.pepper, TOPIC, 0)
        again.restore(small, ())
        again.fold_run(SOURCE, [(1, event(2100))])
        again.fold(Record(CLOCK, 0, encode(tick(2500, 2))))
        assert again.counts["screen", "late"] == late
        assert read(again.drain().records)[-1].time == shows
