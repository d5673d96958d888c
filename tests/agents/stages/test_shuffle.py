# SPDX-License-Identifier: Apache-2.0
"""The shuffle: who counts, who is dropped, when nothing is released, and what of the arrival survives (nothing)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Out, Record
from murmurate.randomizers import ParameterError
from murmurate.topics.block import BatchBlock, encode_reports
from murmurate.topics.message import Message
from murmurate.topics.messages import Close, Done, GiveUp, Seal
from tests.agents.stages.hands import CLOSINGS, ROUNDS, Hand, question, read, settled, start
from tests.agents.world import FIRST, deployment, key, stream

PLAN = deployment(stream("screen"), partitions=3, targets=2, min_batch=8)
SCREEN = PLAN.streams[0]
ROUND = question(PLAN, SCREEN, FIRST)
DIGEST = ROUND.digest


def shuffle(q: int = 0) -> Hand:
    return Hand(Shuffle(PLAN, key("shuffle"), q))


def reports(q: int = 0) -> Log:
    return Log("reports", q)


def sent(
    contributor: int, n: int, total: int | None = None, *, value: int = 0, width: int = 1
) -> list[bytes | Message]:
    """What one contributor sends here: n reports, then `done`."""
    blocks = list(encode_reports(DIGEST, contributor, np.full((n, width), value, np.uint8))) if n else []
    done = Done(round=DIGEST.hex(), contributor=contributor, sent=n, total=n if total is None else total)
    return [*blocks, done]


def seals(out: list[object]) -> list[Seal]:
    return [one for one in out if isinstance(one, Seal)]


GIVE_UP = GiveUp(round=DIGEST.hex())


def close(*contributors: int) -> Close:
    return Close(round=DIGEST.hex(), contributors=contributors)


ALL = close(0, 1, 2)


def give(hand: Hand, log: Log, *records: bytes | Message) -> list[Out]:
    """Fold these, and then what it says in `closings` itself; the sub-batch that comes of both."""
    out = hand.give(log, *records)
    said = [one.value for one in out if one.log == CLOSINGS]
    return [one for one in out if one.log != CLOSINGS] + hand.give(CLOSINGS, *said)


def counted(hand: Hand) -> dict[str, int]:
    assert isinstance(hand.stage, Shuffle)
    return {what: n for what, n in hand.stage.counts.items() if n}


@pytest.mark.parametrize("seed", range(20))
def test_any_interleaving_of_the_same_logs_gives_the_same_sub_batch(seed: int) -> None:
    rng = random.Random(seed)
    logs: dict[Log, list[bytes | Message]] = {
        ROUNDS: [start(SCREEN), ROUND, settled(SCREEN, FIRST - 1)],
        CLOSINGS: [close(0, 3), ALL, close(1)],
        reports(1): [one for c in rng.sample(range(3), 3) for one in sent(c, 5 + c, value=c)],
    }
    usual = read(shuffle_all(logs, [ROUNDS, CLOSINGS, reports(1)], 1))
    hand, out = shuffle(1), []
    waiting = {log: list(records) for log, records in logs.items()}
    while any(waiting.values()):
        log = rng.choice([log for log, records in waiting.items() if records])
        out += hand.give(log, waiting[log].pop(0))
    assert [encode_of(one) for one in read(out)] == [encode_of(one) for one in usual]
    (seal,) = seals(usual)
    assert (seal.received, seal.counted, seal.blocks, seal.missing) == (18, 18, 1, ())


def shuffle_all(logs: dict[Log, list[bytes | Message]], order: list[Log], q: int) -> list[Out]:
    hand = shuffle(q)
    return [out for log in order for out in hand.give(log, *logs[log])]


def encode_of(one: object) -> object:
    return one.reports.tobytes() if isinstance(one, BatchBlock) else one


def test_nothing_is_sealed_before_the_last_contributor_and_then_at_once() -> None:
    hand = shuffle()
    assert hand.give(ROUNDS, ROUND) == []
    assert hand.give(reports(), *sent(0, 9), *sent(2, 0)) == []
    out = read(give(hand, reports(), *sent(1, 4)))
    assert [type(one) for one in out] == [BatchBlock, Seal]
    assert sorted(out[0].reports.ravel().tolist()) == [0] * 13


def test_reports_that_somebody_writes_into_rounds_count_for_nobody() -> None:
    hand = shuffle()
    hand.give(ROUNDS, ROUND, *sent(1, 5, value=1))
    out = read(give(hand, reports(), *sent(0, 9), *sent(1, 4), *sent(2, 0)))
    assert [type(one) for one in out] == [BatchBlock, Seal]
    assert sorted(out[0].reports.ravel().tolist()) == [0] * 13


@pytest.mark.parametrize(("totals", "released"), [((3, 3, 2), True), ((3, 3, 1), False), ((0, 0, 0), False)])
@pytest.mark.parametrize("q", [0, 1])
def test_min_batch_is_decided_by_the_rounds_total_alike_on_all_targets(
    totals: tuple[int, ...], released: bool, q: int
) -> None:
    # target 0 gets all but one report of each contributor, target 1 the rest: neither sees min_batch by itself
    hand = shuffle(q)
    hand.give(ROUNDS, ROUND)
    out = []
    for c, total in enumerate(totals):
        here = max(0, total - 1) if q == 0 else min(1, total)
        out += hand.give(reports(q), *sent(c, here, total))
    out += hand.give(CLOSINGS, ALL)
    (seal,) = seals(read(out))
    received = sum(max(0, total - 1) if q == 0 else min(1, total) for total in totals)
    assert seal.received == (received if released else 0)
    assert (seal.counted, seal.rejected.undersized) == ((received, False) if released else (0, True))
    assert counted(hand) == ({"sealed": 1} if released else {"too_small": 1})


def test_only_the_first_target_answers_a_give_up_and_names_whom_it_has_seen_done() -> None:
    for q in (0, 1):
        hand = shuffle(q)
        hand.give(ROUNDS, ROUND)
        hand.give(reports(q), *sent(2, 3), *sent(1, 2)[:-1])  # 1's block without its `done` is not enough
        out = read(hand.give(ROUNDS, GIVE_UP))
        assert out == ([close(2)] if q == 0 else [])


def test_the_first_close_holds_and_a_second_changes_nothing() -> None:
    hand = shuffle()
    hand.give(ROUNDS, ROUND)
    hand.give(reports(), *sent(0, 9))
    out = read(hand.give(CLOSINGS, close(0, 1), close(0)))
    assert out == []  # it waits for 1, whom the first close names
    (seal,) = seals(read(hand.give(reports(), *sent(1, 3))))
    assert (seal.received, seal.missing) == (12, (2,))
    assert counted(hand) == {"deadline": 1}


def test_a_contributor_that_was_closed_out_is_dropped_before_and_after_the_seal() -> None:
    hand = shuffle()
    hand.give(ROUNDS, ROUND)
    hand.give(reports(), *sent(2, 5, value=2))
    hand.give(CLOSINGS, close(0))
    (block, seal) = read(give(hand, ROUNDS, GIVE_UP) + hand.give(reports(), *sent(0, 9)))
    assert (seal.received, seal.missing) == (9, (1, 2))
    assert set(block.reports.ravel().tolist()) == {0}
    assert hand.give(reports(), *sent(1, 7)) == []
    assert hand.give(ROUNDS, GIVE_UP) == hand.give(CLOSINGS, close(0, 1, 2)) == []


def test_of_a_round_below_min_batch_nothing_leaves_but_that_it_was() -> None:
    for q in (0, 1):
        hand = shuffle(q)
        hand.give(ROUNDS, ROUND)
        hand.give(CLOSINGS, close(1))
        out = hand.give(reports(q), *sent(0, 9), *sent(1, 3, 7), *sent(2, 9))
        (seal,) = read(out)  # and no block: 7 are fewer than min_batch, though 25 were sent
        assert (seal.received, seal.counted, seal.rejected.malformed, seal.missing) == (0, 0, 0, (0, 2))
        assert seal.rejected.undersized


@pytest.mark.parametrize("q", [0, 1])
def test_a_close_that_somebody_writes_into_rounds_closes_nothing(q: int) -> None:
    hand = shuffle(q)
    assert hand.give(ROUNDS, ROUND, close(1), close(0)) == []
    out = hand.give(reports(q), *sent(0, 9), *sent(1, 9), *sent(2, 9)) + hand.give(CLOSINGS, ALL)
    (seal,) = seals(read(out))
    assert (seal.received, seal.missing) == (27, ())


def test_nobody_writes_a_round_or_a_give_up_into_closings() -> None:
    hand = shuffle()
    hand.give(CLOSINGS, ROUND, GIVE_UP)
    assert hand.give(reports(), *sent(0, 9), *sent(1, 9), *sent(2, 9)) == []  # nothing was asked
    assert read(hand.give(ROUNDS, ROUND)) == [ALL]


def test_a_mechanism_that_nobody_knows_stops_the_process() -> None:
    round_ = question(PLAN, SCREEN, FIRST, mechanism={"name": "oracle", "d": 5, "epsilon_micro": 1})
    hand = shuffle()
    hand.give(ROUNDS, round_)
    with pytest.raises(ParameterError):
        hand.give(CLOSINGS, Close(round=round_.digest.hex(), contributors=()))


def test_a_close_that_names_nobody_seals_an_empty_sub_batch() -> None:
    hand = shuffle()
    (seal,) = read(hand.give(ROUNDS, ROUND) + hand.give(CLOSINGS, close()))
    assert (seal.received, seal.blocks, seal.missing) == (0, 0, (0, 1, 2))
    assert counted(hand) == {"too_small": 1}


def test_a_give_up_after_the_seal_is_not_answered() -> None:
    hand = shuffle()
    hand.give(ROUNDS, ROUND)
    assert seals(read(give(hand, reports(), *sent(0, 9), *sent(1, 0), *sent(2, 0))))
    assert hand.give(ROUNDS, GIVE_UP) == hand.give(CLOSINGS, close(0)) == []


def test_the_first_target_closes_a_round_as_soon_as_all_are_in_and_seals_like_the_others_by_that_record() -> None:
    for q in (0, 1):
        hand = shuffle(q)
        hand.give(ROUNDS, ROUND)
        out = hand.give(reports(q), *sent(0, 9), *sent(1, 0), *sent(2, 0))
        assert read(out) == ([ALL] if q == 0 else [])
        assert hand.give(ROUNDS, GIVE_UP) == []  # it has been said
        (seal,) = seals(read(hand.give(CLOSINGS, ALL)))
        assert (seal.received, seal.missing) == (9, ())


def test_a_give_up_that_finds_nobody_is_not_answered_and_the_first_to_come_wait_one_more_for_the_others() -> None:
    hand = shuffle()
    assert hand.give(ROUNDS, ROUND, GIVE_UP, GIVE_UP) == []  # the door is down
    hand.give(reports(), *sent(2, 9))
    assert hand.give(ROUNDS, GIVE_UP) == []  # the door is back: the others have a whole patience to come
    assert read(hand.give(ROUNDS, GIVE_UP)) == [close(2)]


def test_a_door_that_comes_back_loses_nobody_who_needs_less_than_the_patience() -> None:
    hand = shuffle()
    hand.give(ROUNDS, ROUND, GIVE_UP)
    hand.give(reports(), *sent(2, 9))
    hand.give(ROUNDS, GIVE_UP)
    assert read(hand.give(reports(), *sent(0, 1), *sent(1, 1))) == [ALL]


def test_reports_of_a_wrong_width_are_dropped_and_counted_but_do_count_for_the_size() -> None:
    hand = shuffle()
    hand.give(ROUNDS, ROUND)
    out = give(hand, reports(), *sent(0, 5), *sent(1, 3, width=2), *sent(2, 0))
    (seal,) = seals(read(out))
    assert (seal.received, seal.counted, seal.rejected.malformed, seal.rejected.undersized) == (8, 5, 3, 0)


def test_a_contributor_whose_count_is_wrong_stops_the_process() -> None:
    hand = shuffle()
    hand.give(ROUNDS, ROUND)
    lying = Done(round=DIGEST.hex(), contributor=0, sent=4, total=9)
    with pytest.raises(StageError, match="contributor 0 sent 4, 3 came"):
        give(hand, reports(), *sent(0, 3)[:-1], lying, *sent(1, 0), *sent(2, 0))


@pytest.mark.parametrize("seed", range(12))
def test_a_shuffle_that_comes_back_at_any_time_seals_what_it_would_have(seed: int) -> None:
    rng = random.Random(seed)
    rounds = [question(PLAN, SCREEN, FIRST + i) for i in range(5)]
    q = seed % 2
    closes = [Close(round=round_.digest.hex(), contributors=(0, 1, 2)) for round_ in rounds]
    logs: dict[Log, list[bytes | Message]] = {ROUNDS: [*rounds], CLOSINGS: [*(closes if q else ())], reports(q): []}
    for round_ in rounds:
        for c in range(3):
            n = rng.randrange(6)
            if n:
                logs[reports(q)] += encode_reports(round_.digest, c, np.full((n, 1), c, np.uint8))
            logs[reports(q)].append(Done(round=round_.digest.hex(), contributor=c, sent=n, total=n))
    usual = shuffle_all({**logs, CLOSINGS: [*closes]}, [ROUNDS, CLOSINGS, reports(q)], q)
    hand, out = shuffle(q), []
    while any(hand.ends[log] < len(records) for log, records in logs.items()):
        log = rng.choice([log for log, records in logs.items() if hand.ends[log] < len(records)])
        new = hand.give(log, logs[log][hand.ends[log]])
        logs[CLOSINGS] += [one.value for one in new if one.log == CLOSINGS]
        out += [one for one in new if one.log != CLOSINGS]
        marks = {each: hand.ends[each] for each in logs}
        begin, small, other = dict(hand.stage.replay_from(marks)), hand.stage.small(), shuffle(q)
        small = hand.stage.small()
        other.stage.restore(small, ())
        for each in rng.sample(list(logs), 3):
            for offset in range(begin[each], marks[each]):
                record = logs[each][offset]
                value = record if isinstance(record, bytes) else record.canonical()
                other.stage.fold(Record(each, offset, value))
        other.stage.drain()
        other.ends, hand = hand.ends, other
    assert sorted(map(repr, out)) == sorted(map(repr, usual))
    assert len(seals(read(out))) == 5


def test_who_sent_what_cannot_be_read_from_a_batch() -> None:
    # The same reports from other contributors, in other blocks and another order: other places, and nothing else.
    written = []
    for split in ((30, 0, 0), (10, 10, 10), (0, 3, 27)):
        hand = shuffle()
        hand.give(ROUNDS, ROUND)
        out = [one for c, n in enumerate(split) for one in give(hand, reports(), *sent(c, n, value=7))]
        written.append([one.value for one in out])
    assert written[0] == written[1] == written[2]


def test_what_a_closed_out_contributor_sent_before_and_after_is_dropped_and_counted_nowhere() -> None:
    for first in (0, 1, 2):  # how much of it came in time does not matter
        hand = shuffle()
        hand.give(ROUNDS, ROUND)
        late = sent(2, 5, value=2)
        hand.give(reports(), *sent(0, 9), *late[:first])
        (seal,) = seals(read(hand.give(CLOSINGS, close(0))))
        hand.give(reports(), *late[first:])
        assert (seal.received, seal.rejected.malformed) == (9, 0)
        assert counted(hand) == {"deadline": 1}


def test_a_contributor_that_never_comes_back_costs_a_bounded_memory() -> None:
    hand, sizes, starts = shuffle(), [], []
    for i in range(300):
        round_ = question(PLAN, SCREEN, FIRST + i)
        digest = round_.digest.hex()
        done = [Done(round=digest, contributor=c, sent=0, total=0) for c in (0, 1)]
        hand.give(ROUNDS, round_)
        hand.give(reports(), *done)
        assert seals(read(hand.give(CLOSINGS, Close(round=digest, contributors=(0, 1)))))
        hand.stage.replay_from({log: hand.ends[log] for log in (ROUNDS, CLOSINGS, reports())})
        sizes.append(len(hand.stage.small()))
    assert sizes[299] == sizes[200] < 20_000
    # It comes back after all, with everything: nothing is sealed again, and nothing of it is kept for long.
    for i in range(300):
        round_ = question(PLAN, SCREEN, FIRST + i)
        blocks = encode_reports(round_.digest, 2, np.zeros((3, 1), np.uint8))
        out = hand.give(reports(), *blocks, Done(round=round_.digest.hex(), contributor=2, sent=3, total=3))
        assert out == []
    for i in range(300, 400):
        hand.give(ROUNDS, question(PLAN, SCREEN, FIRST + i))
        hand.give(CLOSINGS, close_of(i))
        marks = {log: hand.ends[log] for log in (ROUNDS, CLOSINGS, reports())}
        starts.append(hand.stage.replay_from(marks)[reports()])
    assert starts[0] < starts[-1] == hand.ends[reports()]  # a recovery does not read that far back for ever
    # Rounds, older than the newest ones with somebody missing; not reports, which may be one user's.
    assert counted(hand)["wrong_round"] == 300 - 72
    assert len(hand.stage.small()) < 20_000


def close_of(i: int) -> Close:
    return Close(round=question(PLAN, SCREEN, FIRST + i).digest.hex(), contributors=())


def test_reports_that_come_long_before_their_round_is_read_still_count() -> None:
    hand = shuffle()
    hand.give(reports(), *sent(0, 9), *sent(1, 1), *sent(2, 1))
    for i in range(1, 30):
        hand.give(ROUNDS, question(PLAN, SCREEN, FIRST + i))
        hand.give(CLOSINGS, close_of(i))
    (seal,) = seals(read(give(hand, ROUNDS, ROUND)))
    assert (seal.received, seal.missing) == (11, ())
