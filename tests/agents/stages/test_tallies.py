# SPDX-License-Identifier: Apache-2.0
"""Counts beyond a few thousand travel in blocks: each is counted once, whatever else stands there and whoever dies."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.publish import AHEAD, FORM, Publish
from murmurate.agents.stages.stage import Log, Out, Outbox, Record
from murmurate.agents.stages.tallies import RoundTallies, tally_records
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan
from murmurate.randomizers import mechanism
from murmurate.randomizers.state import load
from murmurate.topics.block import MAX_BLOCK, TallyBlock, encode_batch, encode_tally
from murmurate.topics.block import decode as decode_block
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.domains import Categories
from murmurate.topics.messages import MAX_CELLS, MESSAGE_CELLS, Dead, Rejected, Round, Seal, Settled, TallyInBlocks
from murmurate.topics.names import MAX_RECORD
from murmurate.topics.release import Release
from tests.agents.stages.hands import ROUNDS, Hand, question, read, start
from tests.agents.world import FIRST, deployment, stream

TALLIES, BATCHES = Log("tallies", 0), Log("batches", 0)
COUNTED = 40


def wide(values: int, oracle: str, targets: int = 2) -> Plan:
    """Of so many values, none included."""
    domain = Categories(tuple(f"v{i}" for i in range(values - 1)))
    one = stream("screen", "lpu", domain=domain, mechanism=oracle, method=MethodOptions("lpu", filter="off"))
    return deployment(one, min_batch=8, targets=targets)


TWO = wide(4096, "she")
"""65 536 counts: a block, and one of the last eight counts."""
MANY = wide(1 << 17, "grr")
"""131 072 counts: three blocks."""


def tally(of: Round, q: int, counts: np.ndarray, counted: int = COUNTED) -> list[bytes]:
    said = {
        "round": of.digest.hex(), "q": q, "received": counted, "counted": counted, "rejected": Rejected(malformed=0),
        "missing": (), "stream": of.stream, "t": of.t, "targets": of.targets,
    }  # fmt: skip
    return list(tally_records(said, counts))


def some(cells: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, COUNTED + 1, cells, np.int64)


def publish(plan: Plan) -> tuple[Hand, list[Round]]:
    hand = Hand(Publish(plan))
    return hand, [one for one in read(hand.give(ROUNDS, start(plan.streams[0]))) if isinstance(one, Round)]


def successor(plan: Plan, hand: Hand, log: Sequence[bytes]) -> Hand:
    """A publish that takes over: its state, and its log from where it wants it."""
    end = hand.ends[TALLIES]
    begin = hand.stage.replay_from({TALLIES: end})[TALLIES]
    after = Hand(Publish(plan))
    after.stage.restore(hand.stage.small(), ())
    for offset in range(begin, end):
        after.stage.fold(Record(TALLIES, offset, log[offset]))
    after.stage.drain()
    after.ends = hand.ends.copy()
    return after


# ---- records ----


@pytest.mark.parametrize(
    ("cells", "blocks"),
    [(MESSAGE_CELLS, 0), (MESSAGE_CELLS + 1, 1), (65_528, 1), (65_529, 2), (1 << 17, 3), (MAX_CELLS, 65)],
)
def test_more_counts_than_a_message_holds_are_announced_and_follow_in_blocks(cells: int, blocks: int) -> None:
    of, counts = question(TWO, TWO.streams[0], FIRST), some(cells, 1)
    first, *others = tally(of, 1, counts)
    assert len(others) == blocks
    assert max(map(len, others), default=0) <= MAX_BLOCK < MAX_RECORD
    came, message = RoundTallies(), decode_record(first)
    came.add(message, 7)  # type: ignore[arg-type]
    assert came.whole == (not blocks)
    for record in random.Random(3).sample(others, len(others)):
        block = decode_block(record)
        assert isinstance(block, TallyBlock)
        assert came.take(block, record, 6) == "foreign"
        assert came.take(block, record, 8) == "taken"
        assert came.take(block, record, 9) == "repeated"
    assert came.whole == 1
    assert came.first == (7 if blocks else None)
    assert np.array_equal(came.support(), counts)


def test_an_aggregate_writes_a_tally_of_many_counts_in_one_transaction() -> None:
    plan, values = MANY, [0, 5, 5, 131_071]
    spec = {"name": "grr", "d": 1 << 17, "epsilon_micro": 2_000_000}
    round_ = question(plan, plan.streams[0], FIRST, mechanism=spec)
    width = mechanism(spec).wire_size
    reports = np.array([list(value.to_bytes(width, "little")) for value in values], np.uint8)
    seal = Seal(
        round=round_.digest.hex(), q=1, received=5, counted=4, missing=(1,), rejected=Rejected(malformed=1), blocks=1,
        descriptor=round_,
    )  # fmt: skip
    stage = Aggregate(plan, 0)
    for offset, record in enumerate([*encode_batch(round_.digest, 1, reports), encode(seal)]):
        stage.fold(Record(BATCHES, offset, record))
    box = stage.drain()
    assert isinstance(box, Outbox)
    assert box.urgent
    assert {out.log for out in box.records} == {TALLIES}
    announced, *blocks = [decode_record(out.value) for out in box.records]
    assert isinstance(announced, TallyInBlocks)
    assert (announced.cells, announced.received, announced.counted, announced.missing) == (1 << 17, 5, 4, (1,))
    counts = np.concatenate([block.counts for block in blocks if isinstance(block, TallyBlock)])
    assert np.array_equal(counts, np.bincount(values, minlength=1 << 17))


def test_a_question_of_more_counts_than_a_tally_has_stops_the_process_with_one_line() -> None:
    spec = {"name": "grr", "d": MAX_CELLS + 1, "epsilon_micro": 2_000_000}
    round_ = question(MANY, MANY.streams[0], FIRST, mechanism=spec)
    seal = Seal(
        round=round_.digest.hex(), q=0, received=0, counted=0, missing=(), rejected=Rejected(malformed=0), blocks=0,
        descriptor=round_,
    )  # fmt: skip
    with pytest.raises(StageError, match="found a question of 4194305 counts; allowed: 4194304"):
        Hand(Aggregate(MANY, 0)).give(BATCHES, seal)


# ---- publish ----


def test_a_round_is_complete_with_the_last_block_of_its_last_tally_and_says_the_sum() -> None:
    hand, (round_, *_) = publish(TWO)
    support = [some(65_536, q) for q in (0, 1)]
    *first, last = [*tally(round_, 1, support[1]), *tally(round_, 0, support[0])]
    assert hand.give(TALLIES, *first) == []
    release, settled, _ = read(hand.give(TALLIES, last))
    assert isinstance(release, Release)
    assert isinstance(settled, Settled)
    told = mechanism(round_.mechanism).of_round(round_.digest).estimate(support[0] + support[1], 2 * COUNTED)
    assert [release.unbiased[name] for name in TWO.streams[0].names] == pytest.approx(told.tolist(), abs=1e-6)
    assert release.reports
    assert release.reports.counted == 2 * COUNTED


def test_blocks_that_wait_are_in_no_state_and_a_successor_reads_them_again() -> None:
    hand, rounds = publish(MANY)
    assert len(rounds) == 1 + AHEAD
    bare, log = len(hand.stage.small()), list[bytes]()
    for i, round_ in enumerate(rounds):
        log += tally(round_, i % 2, some(1 << 17, i))
    hand.give(TALLIES, *log)
    assert hand.stage.replay_from({TALLIES: hand.ends[TALLIES]}) == {TALLIES: 0}
    assert len(hand.stage.small()) - bare < 1_000 * len(rounds)  # of a megabyte of counts each
    after = successor(MANY, hand, log)
    assert after.stage.small() == hand.stage.small()
    assert support_of(after) == support_of(hand) == [some(1 << 17, i).tobytes() for i in range(len(rounds))]


def support_of(hand: Hand) -> list[bytes]:
    (course,) = hand.stage._periods.values()  # type: ignore[attr-defined]
    return [round_.tallies.support().tobytes() for round_ in course.waiting]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.audit)])
def test_a_publish_that_comes_back_between_any_two_blocks_writes_the_same_bytes(seed: int) -> None:
    written: list[list[Out]] = []
    for torn in (False, True):
        hand, rounds = publish(TWO)
        draw, log, out = random.Random(seed), list[bytes](), list[Out]()
        queues = [tally(one, q, some(65_536, one.t + q)) for one in rounds for q in (0, 1)]
        while queues := [queue for queue in queues if queue]:  # of several writers, in any order
            log.append(draw.choice(queues).pop(0))
            out += hand.give(TALLIES, log[-1])
            if torn:
                before = hand.stage.small()
                hand = successor(TWO, hand, log)
                assert hand.stage.small() == before
        written.append(out)
        assert sum(isinstance(one, Release) for one in read(out)) == len(rounds)
    assert written[0] == written[1]


# ---- what nobody should have written ----


def foreign(round_: Round, later: Round) -> dict[str, bytes]:
    """Blocks that were not announced, or not so."""
    true, stranger = some(65_536, 0), b"\x5a" * 32
    return {
        "of nobody's round": next(encode_tally(stranger, 0, true)),
        "of a round that has no tally yet": next(encode_tally(later.digest, 0, true)),
        "of another sub-batch": next(encode_tally(round_.digest, 1, true)),
        "of no sub-batch": next(encode_tally(round_.digest, 77, true)),
        "with other counts": next(encode_tally(round_.digest, 0, true + 1)),
        "with fewer counts": next(encode_tally(round_.digest, 0, true[:50])),
        "without counts": next(encode_tally(round_.digest, 0, true[:0])),
        "too far": list(encode_tally(round_.digest, 0, np.zeros(3 * 65_528, np.int64)))[2],
        "with negative counts": next(encode_tally(round_.digest, 0, -true)),
        "before it is announced": next(encode_tally(round_.digest, 0, true)),
    }


def letters(out: Sequence[Any]) -> list[tuple[str, int]]:
    return [(one.reason, one.offset) for one in read(out, "dead.analysis") if isinstance(one, Dead)]


def test_blocks_of_strangers_are_named_once_each_and_change_nothing() -> None:
    calm, (round_, *_) = publish(TWO)
    records = [*tally(round_, 0, some(65_536, 0)), *tally(round_, 1, some(65_536, 1))]
    wanted = calm.give(TALLIES, *records)
    hand, (round_, later, *_) = publish(TWO)
    before = foreign(round_, later)
    out = hand.give(TALLIES, *before.values())
    assert letters(out) == [("foreign", at) for at in range(len(before))]
    hand.give(TALLIES, records[0])
    after = {what: block for what, block in before.items() if what != "before it is announced"}
    out = hand.give(TALLIES, *after.values())
    assert [reason for reason, _ in letters(out)] == ["foreign"] * len(after)
    assert letters(hand.give(TALLIES, records[2], records[1], records[1], records[2])) == [
        ("repeated", hand.ends[TALLIES] - 2), ("repeated", hand.ends[TALLIES] - 1),
    ]  # fmt: skip
    torn = [records[1][:-1], records[1][:40], records[1][:-1] + bytes([records[1][-1] ^ 1])]
    assert [reason for reason, _ in letters(hand.give(TALLIES, *torn))] == ["torn", "torn", "corrupt"]
    assert hand.give(TALLIES, *records[3:]) == wanted
    assert letters(hand.give(TALLIES, records[1])) == [("foreign", hand.ends[TALLIES] - 1)]  # its round is over


def test_a_block_before_its_announcement_is_nobodys_to_a_successor_too() -> None:
    hand, (round_, *_) = publish(TWO)
    one, other = (tally(round_, q, some(65_536, q)) for q in (0, 1))
    log = [one[0], other[1], *one[1:], other[0], other[2]]  # what stands there too early lies behind another tally
    assert letters(hand.give(TALLIES, *log)) == [("foreign", 1)]
    after = successor(TWO, hand, log)
    assert after.give(TALLIES, other[1]) == (wanted := hand.give(TALLIES, other[1]))
    assert isinstance(read(wanted)[0], Release)


def test_counts_that_stand_in_another_log_are_nobodys() -> None:
    hand, (round_, *_) = publish(TWO)
    records = tally(round_, 0, some(65_536, 0))
    before = hand.stage.small()
    assert hand.give(ROUNDS, *records) == []
    assert hand.stage.small() == before


def test_a_tally_in_blocks_that_contradicts_its_round_stops_the_process_with_one_line() -> None:
    hand, (round_, *_) = publish(TWO)
    announced = tally(round_, 0, some(65_536, 0))[0]
    hand.give(TALLIES, announced)
    with pytest.raises(StageError, match="a second tally of sub-batch 0"):
        hand.give(TALLIES, announced)
    with pytest.raises(StageError, match=r"found 70000 in blocks; allowed: 65536"):
        publish(TWO)[0].give(TALLIES, tally(round_, 0, some(70_000, 0))[0])
    with pytest.raises(StageError, match="not open"):
        publish(TWO)[0].give(TALLIES, *tally(round_.model_copy(update={"patience_ms": 1}), 0, some(65_536, 0)))


@pytest.mark.parametrize("wrong", [-1, COUNTED + 1])
def test_counts_that_no_reports_give_stop_the_process_with_one_line(wrong: int) -> None:
    hand, (round_, *_) = publish(TWO)
    counts = some(65_536, 0)
    counts[65_535] = wrong
    with pytest.raises(StageError, match=f"more support than reports; allowed: 0 to {COUNTED}") as caught:
        hand.give(TALLIES, *tally(round_, 0, counts))
    assert "\n" not in str(caught.value)


def test_the_state_of_streams_of_few_counts_is_as_it_was() -> None:
    plan = deployment(stream("screen", "lpu"), min_batch=8)
    hand, (round_, *_) = publish(plan)
    hand.give(TALLIES, *tally(round_, 0, some(5, 0)))
    assert hand.stage.replay_from({TALLIES: 5}) == {TALLIES: 5}
    kept, _ = load(FORM, hand.stage.small())
    assert set(kept) == {"courses", "reached", "agreed"}
    assert set(kept["courses"]["screen"]["open"]) == {"round", "got"}
