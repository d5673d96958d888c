# SPDX-License-Identifier: Apache-2.0
"""Publish asks, counts to Q, decides, and gives up only when patience is over."""

from __future__ import annotations

import json
from dataclasses import replace

import orjson
import pytest

from murmurate.agents.stages.agreed import AGAIN_MS
from murmurate.agents.stages.errors import StageError, StateError
from murmurate.agents.stages.publish import AHEAD, FORM, Publish
from murmurate.agents.stages.released import ReleasedRecords
from murmurate.agents.stages.stage import Log
from murmurate.aggregators.batches import worth_asking
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.randomizers.state import dump, load
from murmurate.topics.codec import decode, encode
from murmurate.topics.latest import latest_key, latest_rows
from murmurate.topics.messages import Config, Dead, GiveUp, Progress, Rejected, Round, Settled, Tally
from murmurate.topics.release import Release
from tests.agents.stages.hands import ROUNDS, Hand, read, start
from tests.agents.world import FIRST, SECOND, deployment, stream
from tests.topics.second_wire import GOLDEN

PLAN = deployment(stream("screen", "lpu"), min_batch=8)
SCREEN = PLAN.streams[0]
TALLIES, CLOCK = Log("tallies", 0), Log("clock", 0)
END = (FIRST + 1) * SECOND + 500
"""The end of the first period, lateness included; patience is 3 000."""


def publish() -> tuple[Hand, Round]:
    hand = Hand(Publish(PLAN))
    return hand, read(hand.give(ROUNDS, start(SCREEN)))[0]


def tally(of: Round, q: int, counted: int = 20) -> Tally:
    rejected = Rejected(malformed=0)
    return Tally(
        round=of.digest.hex(), q=q, received=counted, counted=counted, rejected=rejected, missing=(), stream=of.stream,
        t=of.t, targets=of.targets, counts=(counted, counted // 2, 0, 0, 0),
    )  # fmt: skip


def tick(time: int) -> Progress:
    return Progress(topic="clock", partition=0, time=time)


def test_a_start_opens_the_first_round_once() -> None:
    hand, round_ = publish()
    assert (round_.stream, round_.t, round_.contributors, round_.targets) == ("screen", FIRST, 3, 2)
    assert (round_.config, round_.revision, round_.patience_ms) == (SCREEN.config, 1, 3000)
    assert hand.give(ROUNDS, start(SCREEN), start(SCREEN, FIRST + 7)) == []


def test_the_last_tally_brings_release_settling_and_the_next_round_in_one_flush() -> None:
    hand, round_ = publish()
    assert hand.give(TALLIES, tally(round_, 1)) == []
    found = read(hand.give(TALLIES, tally(round_, 0)))
    assert [type(one) for one in found] == [Release, Settled, Round]
    assert (found[0].t, found[0].reports.received, found[1].t, found[2].t) == (FIRST, 40, FIRST, FIRST + 1 + AHEAD)


def test_a_release_is_keyed_by_its_stream_and_nothing_else_has_a_key() -> None:
    hand, round_ = publish()
    keys = {out.log.topic: out.key for out in hand.give(TALLIES, tally(round_, 0), tally(round_, 1))}
    assert keys == {"releases": b"screen", "rounds": None}


def test_where_the_file_asks_for_rows_they_come_with_their_release_and_not_with_a_revision_of_an_older_one() -> None:
    hand = Hand(Publish(replace(PLAN, latest=True)))
    (round_, *_) = read(hand.give(ROUNDS, start(SCREEN)))
    out = hand.give(TALLIES, tally(round_, 0), tally(round_, 1))
    (said,) = [one for one in read(out) if isinstance(one, Release)]
    rows = [one for one in out if one.log == Log("releases.latest", 0)]
    assert [one.value for one in rows] == [encode(row) for row in latest_rows(said)]
    assert [one.key for one in rows] == [latest_key("screen", name) for name in sorted(said.estimate)]
    again = ReleasedRecords(0, latest=True)
    assert [one.log.topic for one in again.records(said, newest=False)] == ["releases"]


def test_the_row_of_a_name_that_is_found_no_more_is_deleted_also_by_a_successor() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["release of found names"]
    first = decode(golden.encode())
    assert isinstance(first, Release)
    fewer = {key: {"tea": getattr(first, key)["tea"]} for key in ("estimate", "stderr", "unbiased")}
    hand, successor = ReleasedRecords(0, latest=True), ReleasedRecords(0, latest=True)
    hand.records(first)
    successor.restore(orjson.loads(orjson.dumps(hand.kept())))
    for one in (hand, successor):
        gone, tea = one.records(first.model_copy(update=fewer))[1:]
        assert (gone.value, gone.key) == (b"", latest_key("words", "bread"))
        assert tea.key == latest_key("words", "tea")
        assert [out.key for out in one.records(first)[1:]] == [latest_key("words", n) for n in ("bread", "tea")]


def test_where_the_turns_are_known_a_few_periods_are_asked_at_once_and_released_in_their_order() -> None:
    hand = Hand(Publish(PLAN))
    rounds = read(hand.give(ROUNDS, start(SCREEN)))
    assert [one.t for one in rounds] == list(range(FIRST, FIRST + 1 + AHEAD))
    for early in rounds[:0:-1]:
        assert hand.give(TALLIES, tally(early, 0), tally(early, 1)) == []
    other = Hand(Publish(PLAN))
    other.stage.restore(hand.stage.small(), ())
    for one in (hand, other):
        found = read(one.give(TALLIES, tally(rounds[0], 0), tally(rounds[0], 1)))
        assert [release.t for release in found if isinstance(release, Release)] == [one.t for one in rounds]
        assert [settled.t for settled in found if isinstance(settled, Settled)] == [one.t for one in rounds]
        more = [one for one in found if isinstance(one, Round)]
        assert [one.t for one in more] == list(range(FIRST + 1 + AHEAD, FIRST + 2 + 2 * AHEAD))
        assert hand.stage.open_rounds == {"screen": 1 + AHEAD}  # type: ignore[attr-defined]


def test_where_the_next_question_depends_on_this_answer_one_period_is_asked_at_a_time() -> None:
    plan = deployment(stream("screen", "lpa"), min_batch=8)
    assert len(read(Hand(Publish(plan)).give(ROUNDS, start(plan.streams[0])))) == 1


def test_a_tally_with_another_number_of_counts_stops_the_process_and_says_so() -> None:
    hand, round_ = publish()
    wrong = tally(round_, 0).model_copy(update={"counts": (20, 10)})
    with pytest.raises(StageError, match=r"found int64\[2\]; allowed: int64\[5\]"):
        hand.give(TALLIES, wrong)


def test_a_tally_that_no_reports_of_the_round_give_stops_the_process() -> None:
    hand, round_ = publish()
    right = tally(round_, 0)
    wrong = right.model_copy(update={"counts": (right.counted + 1, *right.counts[1:])})
    with pytest.raises(StageError, match=rf"more support than reports; allowed: 0 to {right.counted}"):
        hand.give(TALLIES, wrong)


def test_the_order_of_tallies_changes_no_byte() -> None:
    written = []
    for order in ((0, 1), (1, 0)):
        hand, round_ = publish()
        written.append([out for q in order for out in hand.give(TALLIES, tally(round_, q))])
    assert written[0] == written[1]


def test_a_second_tally_of_a_sub_batch_stops_the_process() -> None:
    hand, round_ = publish()
    hand.give(TALLIES, tally(round_, 1))
    with pytest.raises(StageError, match="a second tally of sub-batch 1"):
        hand.give(TALLIES, tally(round_, 1))


def test_a_tally_of_a_round_that_is_over_or_was_never_asked_stops_the_process() -> None:
    hand, round_ = publish()
    hand.give(TALLIES, tally(round_, 0), tally(round_, 1))
    with pytest.raises(StageError, match="a tally of a round that is not open"):
        hand.give(TALLIES, tally(round_, 1))
    with pytest.raises(StageError, match="not open"):
        Hand(Publish(PLAN)).give(TALLIES, tally(round_, 0))


def test_a_tally_of_a_stream_of_another_partition_is_not_ours() -> None:
    hand, round_ = publish()
    assert hand.give(TALLIES, tally(round_.model_copy(update={"stream": "mood"}), 0)) == []


def test_an_undersized_answer_leaves_the_last_release_standing() -> None:
    hand = Hand(Publish(PLAN))
    ahead = read(hand.give(ROUNDS, start(SCREEN)))
    out = read(hand.give(TALLIES, tally(ahead[0], 0), tally(ahead[0], 1)))
    again = read(hand.give(TALLIES, *[tally(ahead[1], q, 0) for q in (0, 1)]))[0]
    assert (again.decision, again.measured_t, again.t) == ("approximated", FIRST, FIRST + 1)
    assert again.unbiased == out[0].unbiased


def test_before_the_first_answer_a_release_has_names_and_no_numbers_and_says_that_too_few_came() -> None:
    hand = Hand(Publish(deployment(stream("screen", "lpu", thresholds={"home": 0.3}), min_batch=1000)))
    (round_, *_) = read(hand.give(ROUNDS, start(SCREEN)))
    short = [
        tally(round_, q, 0).model_copy(update={"rejected": Rejected(malformed=0, undersized=True)}) for q in (0, 1)
    ]
    (found, *_) = read(hand.give(TALLIES, *short))
    assert isinstance(found, Release)
    assert (found.decision, found.measured_t, found.thresholds) == ("unmeasured", None, None)
    assert found.reports
    assert (found.reports.received, found.reports.counted, found.reports.missing) == (0, 0, 0)
    assert found.reports.rejected == Rejected(malformed=0, undersized=True)
    for said in (found.estimate, found.stderr, found.unbiased):
        assert dict(said) == dict.fromkeys(SCREEN.names)


def test_a_state_with_releases_of_another_form_is_refused_with_the_remedy() -> None:
    hand = Hand(Publish(deployment(stream("screen", method=MethodOptions("lpu", filter="adaptive", revise=2)))))
    rounds = read(hand.give(ROUNDS, start(SCREEN)))
    hand.give(TALLIES, tally(rounds[0], 0), tally(rounds[0], 1))
    facts, arrays = load(FORM, hand.stage.small())
    past = facts["courses"]["screen"]["past"]
    assert "murmurate/release/2" in past[0]
    past[0] = past[0].replace("murmurate/release/2", "murmurate/release/1")
    with pytest.raises(StateError, match=r"release of another form .*version 1 of release; allowed: 2.*another name"):
        Hand(Publish(hand.stage._plan)).stage.restore(  # type: ignore[attr-defined]
            dump(FORM, facts, arrays), ()
        )


def test_a_round_is_given_up_not_a_millisecond_before_patience_ends_and_again_after_each_further_patience() -> None:
    hand, round_ = publish()
    assert hand.give(CLOCK, tick(0), tick(END), tick(END + 2999)) == []
    (found,) = read(hand.give(CLOCK, tick(END + 3000)))
    assert found == GiveUp(round=round_.digest.hex())
    assert hand.give(CLOCK, tick(END + 3001), tick(END + 5999)) == []
    assert read(hand.give(CLOCK, tick(END + 6000))) == [found]


def test_patience_begins_at_the_first_tick_after_a_round_was_asked_if_that_comes_after_its_period() -> None:
    hand, round_ = publish()  # of a period that was over for an hour when its round was asked
    late = END + 3_600_000
    assert hand.give(CLOCK, tick(late), tick(late + 2999)) == []
    assert read(hand.give(CLOCK, tick(late + 3000))) == [GiveUp(round=round_.digest.hex())]


def test_each_round_has_a_patience_of_its_own() -> None:
    hand = Hand(Publish(PLAN))
    round_, second, *_ = read(hand.give(ROUNDS, start(SCREEN)))
    hand.give(CLOCK, tick(END + 2000))
    hand.give(TALLIES, tally(round_, 0), tally(round_, 1))
    assert hand.give(CLOCK, tick(END + SECOND + 2999)) == []
    assert hand.give(CLOCK, tick(END + SECOND + 2999 + 2999)) == []
    assert read(hand.give(CLOCK, tick(END + SECOND + 5999))) == [GiveUp(round=second.digest.hex())]


def test_patience_goes_on_across_a_crash() -> None:
    hand, round_ = publish()
    for time, given_up in ((END + 10**6, False), (END + 10**6 + 2999, False), (END + 10**6 + 3000, True)):
        other = Hand(Publish(PLAN))
        other.stage.restore(hand.stage.small(), ())
        hand = other
        assert read(hand.give(CLOCK, tick(time))) == ([GiveUp(round=round_.digest.hex())] if given_up else [])


def test_where_a_recording_is_fed_patience_begins_when_the_recording_has_come_so_far_and_across_a_crash() -> None:
    hand = Hand(Publish(PLAN, fed=True))
    round_ = read(hand.give(ROUNDS, start(SCREEN)))[0]
    feed, today = Log("feed", 0), 10**12  # publish's timer shows today, the recording is of another day
    assert hand.give(CLOCK, tick(today), tick(today + 10**6)) == []
    assert hand.give(feed, tick(END - 1)) == []
    assert hand.give(CLOCK, tick(today + 2 * 10**6)) == []
    assert hand.give(feed, tick(END)) == []
    other = Hand(Publish(PLAN, fed=True))
    other.stage.restore(hand.stage.small(), ())
    assert other.give(CLOCK, tick(today + 3 * 10**6), tick(today + 3 * 10**6 + 2999)) == []
    assert read(other.give(CLOCK, tick(today + 3 * 10**6 + 3000))) == [GiveUp(round=round_.digest.hex())]


def test_however_far_a_recording_runs_ahead_nobodys_patience_ends_but_by_publishs_own_timer() -> None:
    hand = Hand(Publish(PLAN, fed=True))
    rounds = read(hand.give(ROUNDS, start(SCREEN)))
    feed, today = Log("feed", 0), 10**12
    closings = [END + n * SECOND for n in range(9)]  # eight periods ahead, which is longer than patience
    assert closings[-1] - END > PLAN.patience_ms
    assert hand.give(feed, *map(tick, closings)) == []
    assert hand.give(CLOCK, tick(today), tick(today + 2999)) == []
    assert read(hand.give(CLOCK, tick(today + 3000))) == [GiveUp(round=rounds[0].digest.hex())]
    hand.give(TALLIES, tally(rounds[0], 0), tally(rounds[0], 1))  # the next one's begins when its turn has come
    assert hand.give(CLOCK, tick(today + 3001), tick(today + 6000)) == []
    assert read(hand.give(CLOCK, tick(today + 6001))) == [GiveUp(round=rounds[1].digest.hex())]


@pytest.mark.parametrize("method", ["lpu", "lpa", "lbu"])
def test_a_publish_that_comes_back_between_any_two_records_writes_the_same_bytes(method: str) -> None:
    plan = deployment(stream("screen", method), min_batch=8)
    written = []
    for torn in (False, True):
        hand, out = Hand(Publish(plan)), []
        waiting = [start(plan.streams[0])]
        for _ in range(25):
            record = waiting.pop(0)
            new = hand.give(ROUNDS, record) if not isinstance(record, Tally) else hand.give(TALLIES, record)
            waiting += [tally(one, q) for one in read(new) if isinstance(one, Round) for q in (1, 0)]  # type: ignore[misc]
            out += new
            if torn:
                other = Hand(Publish(plan))
                other.stage.restore(hand.stage.small(), ())
                assert other.stage.small() == hand.stage.small()
                hand = other
        written.append(out)
    assert written[0] == written[1]


@pytest.mark.parametrize("change", [{"config": "f" * 16}, {"revision": 2}, {"name": "other"}])
def test_state_of_another_configuration_stops_the_process_and_names_the_command(change: dict[str, object]) -> None:
    hand, _ = publish()
    other = replace(PLAN, streams=(replace(SCREEN, **change),))  # type: ignore[arg-type]
    with pytest.raises(StateError, match="check --against") as caught:
        Publish(other).restore(hand.stage.small(), ())
    assert "screen" in str(caught.value)
    assert load(FORM, hand.stage.small())[0]["courses"]["screen"]["config"] == SCREEN.config


@pytest.mark.parametrize(("min_batch", "least"), [(1, 27), (1000, 1172)])
def test_what_is_worth_asking_stays_above_min_batch_by_five_sigma(min_batch: int, least: int) -> None:
    assert worth_asking(min_batch) == least
    assert least - 5 * least**0.5 >= min_batch > (least - 1) - 5 * (least - 1) ** 0.5


def test_a_period_is_released_once_more_when_its_lag_is_over_also_by_a_successor() -> None:
    plan = deployment(stream("screen", "lpu", method=MethodOptions("lpu", filter="adaptive", revise=2)), min_batch=8)
    hand = Hand(Publish(plan))
    rounds = read(hand.give(ROUNDS, start(plan.streams[0])))
    first: dict[int, Release] = {}
    for i in range(5):
        said = read(hand.give(TALLIES, tally(rounds[i], 0), tally(rounds[i], 1, counted=25 + i)))
        releases = [one for one in said if isinstance(one, Release)]
        first[releases[0].t] = releases[0]
        assert (releases[0].t, releases[0].revision) == (FIRST + i, 1)
        assert [(one.t, one.revision) for one in releases[1:]] == ([(FIRST + i - 2, 2)] if i >= 2 else [])
        for again in releases[1:]:
            before = first[again.t]
            changed = {"estimate", "stderr", "revision"}
            assert again.model_dump(exclude=changed) == before.model_dump(exclude=changed)
            assert again.stderr != before.stderr
        successor = Hand(Publish(plan))
        successor.stage.restore(hand.stage.small(), ())
        assert successor.stage.small() == hand.stage.small()
        hand = successor


def test_periods_of_which_nothing_is_known_are_not_kept_for_a_revision() -> None:
    plan = deployment(stream("screen", "lpu", method=MethodOptions("lpu", filter="adaptive", revise=2)), min_batch=8)
    hand = Hand(Publish(plan))
    waiting = read(hand.give(ROUNDS, start(plan.streams[0])))
    for i in range(5):
        said = read(hand.give(TALLIES, *(tally(waiting[i], q, counted=0) for q in (0, 1))))
        waiting += [one for one in said if isinstance(one, Round)]
        kept = load(FORM, hand.stage.small())[0]["courses"]["screen"]["past"]
        assert [orjson.loads(one)["t"] for one in kept] == list(range(max(FIRST, FIRST + i - 1), FIRST + i + 1))


def config(number: int, min_batch: int = 8) -> Config:
    return Config(number=number, values={"privacy.min_batch": min_batch}, secrets={})


def test_a_config_record_is_written_again_before_the_log_forgets_it_and_across_a_crash() -> None:
    hand, _ = publish()
    assert hand.give(ROUNDS, config(4), config(5)) == []
    assert config(5) not in read(hand.give(CLOCK, tick(END), tick(END + AGAIN_MS - 1)))
    after = Hand(Publish(PLAN))
    after.stage.restore(hand.stage.small(), ())
    (again,) = [one for one in read(after.give(CLOCK, tick(END + AGAIN_MS))) if isinstance(one, Config)]
    assert again == config(5)
    assert after.give(ROUNDS, again) == []  # its own, and the same
    assert config(5) not in read(after.give(CLOCK, tick(END + AGAIN_MS + 1), tick(END + 2 * AGAIN_MS)))
    assert config(5) in read(after.give(CLOCK, tick(END + 2 * AGAIN_MS + 1)))


def test_a_config_record_whose_number_does_not_follow_is_nobodys_and_named() -> None:
    hand, _ = publish()
    hand.give(ROUNDS, config(2))
    for forged in (config(2, 1), config(1), config(4), config(77)):
        (dead,) = read(hand.give(ROUNDS, forged))
        assert dead == Dead(reason="config", topic="rounds", partition=0, offset=hand.ends[ROUNDS] - 1)
    assert hand.give(ROUNDS, config(3)) == []
