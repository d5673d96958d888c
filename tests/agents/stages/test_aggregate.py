# SPDX-License-Identifier: Apache-2.0
"""Aggregate: each sub-batch counted once, exactly, or the process stops."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.stage import Log, Record
from murmurate.topics.block import encode_batch
from murmurate.topics.codec import encode
from murmurate.topics.messages import Rejected, Round, Seal, Tally
from tests.agents.stages.hands import GRR, Hand, question, read
from tests.agents.world import FIRST, deployment, stream

PLAN = deployment(stream("screen"), partitions=3, targets=2, min_batch=8)
SCREEN = PLAN.streams[0]
BATCHES = Log("batches", 0)


def about(t: int = FIRST) -> Round:
    return question(PLAN, SCREEN, t)


def seal(of: Round, q: int, counted: int, blocks: int, *, undersized: bool = False, malformed: int = 0) -> Seal:
    rejected = Rejected(malformed=malformed, undersized=undersized)
    return Seal(
        round=of.digest.hex(), q=q, received=counted + malformed, counted=counted, missing=(1,),
        rejected=rejected, blocks=blocks, descriptor=of,
    )  # fmt: skip


def batch(of: Round, q: int, *values: int) -> list[bytes]:
    return list(encode_batch(of.digest, q, np.array(values, np.uint8)[:, None])) if values else []


def aggregate() -> Hand:
    return Hand(Aggregate(PLAN, 0))


def test_a_tally_counts_each_cell_and_says_all_that_the_seal_said() -> None:
    hand = aggregate()
    blocks = batch(about(), 1, 0, 1, 1, 4, 4, 4)
    assert hand.give(BATCHES, *blocks) == []
    (tally,) = read(hand.give(BATCHES, seal(about(), 1, 6, 1, malformed=2)))
    assert isinstance(tally, Tally)
    assert tally.counts == (1, 2, 0, 0, 3)
    assert (tally.q, tally.received, tally.counted, tally.missing, tally.t) == (1, 8, 6, (1,), FIRST)
    assert tally.rejected.malformed == 2


def test_reports_that_no_value_gives_are_dropped_and_counted() -> None:
    hand = aggregate()
    (tally,) = read(hand.give(BATCHES, *batch(about(), 0, 0, 5, 255, 4), seal(about(), 0, 4, 1, malformed=1)))
    assert (tally.received, tally.counted, tally.rejected.malformed) == (5, 2, 3)
    assert tally.counts == (1, 0, 0, 0, 1)
    assert isinstance(hand.stage, Aggregate)
    assert dict(hand.stage.counts) == {"ok": 2, "malformed": 3}


def test_an_undersized_sub_batch_has_a_tally_of_nothing() -> None:
    (tally,) = read(aggregate().give(BATCHES, seal(about(), 0, 0, 0, undersized=True)))
    assert (tally.received, tally.counted, sum(tally.counts), tally.rejected.undersized) == (0, 0, 0, True)


@pytest.mark.parametrize(("counted", "blocks"), [(3, 2), (3, 0), (2, 1), (4, 1)])
def test_blocks_or_reports_other_than_the_seal_says_stop_the_process(counted: int, blocks: int) -> None:
    hand = aggregate()
    with pytest.raises(StageError, match="aggregate 0: a sub-batch of"):
        hand.give(BATCHES, *batch(about(), 0, 1, 2, 3), seal(about(), 0, counted, blocks))


def test_sub_batches_of_several_rounds_may_mix_in_one_log() -> None:
    hand, one, two = aggregate(), about(FIRST), about(FIRST + 1)
    hand.give(BATCHES, *batch(one, 0, 1, 1), *batch(two, 0, 2), *batch(one, 1, 3))
    tallies = read(hand.give(BATCHES, seal(two, 0, 1, 1), seal(one, 1, 1, 1), seal(one, 0, 2, 1)))
    assert [tally.counts for tally in tallies] == [(0, 0, 1, 0, 0), (0, 0, 0, 1, 0), (0, 2, 0, 0, 0)]
    assert GRR.d == 5


def test_an_aggregate_that_comes_back_at_any_time_counts_each_sub_batch_once() -> None:
    rounds = [about(FIRST + i) for i in range(4)]
    log: list[bytes] = []
    for i, of in enumerate(rounds):  # blocks of the next round come before the seal of this one
        log += batch(of, 0, i, i)
        if i:
            log.append(encode(seal(rounds[i - 1], 0, 2, 1)))
    log.append(encode(seal(rounds[3], 0, 2, 1)))
    usual = aggregate().give(BATCHES, *log)
    assert len(usual) == 4
    hand, out = aggregate(), []
    for offset, value in enumerate(log):
        out += hand.give(BATCHES, value)
        begin = hand.stage.replay_from({BATCHES: offset + 1})[BATCHES]
        other = aggregate()
        other.stage.restore(hand.stage.small(), ())
        for again in range(begin, offset + 1):
            other.stage.fold(Record(BATCHES, again, log[again]))
        other.stage.drain()
        other.ends, hand = hand.ends, other
    assert out == usual
