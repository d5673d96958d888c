# SPDX-License-Identifier: Apache-2.0
"""Reports that show their values, at the mixing zone: their sums leave it, made in one place, and nothing else."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import Plan
from murmurate.randomizers.frequency.appended import AUE
from murmurate.topics.block import BatchBlock, TallyBlock, encode_reports, encode_tally
from murmurate.topics.codec import encode
from murmurate.topics.message import Message
from murmurate.topics.messages import Close, Done, Round, Seal, Tally
from tests.agents.stages.hands import CLOSINGS, ROUNDS, Hand, perturb, pseudonyms, question, read, start
from tests.agents.summed import added_up, asked
from tests.agents.world import FIRST, deployment, key, stream

PLAN = added_up()
SCREEN, ASKED = PLAN.streams[0], asked(PLAN)
ROUND = question(PLAN, SCREEN, FIRST, mechanism=ASKED.spec(), targets=1)
EACH = 6
"""Reports of each of the three contributors."""


def reports(contributor: int, n: int = EACH, of: AUE = ASKED) -> np.ndarray:
    draw = key("randomness").draw(pseudonyms(n, contributor), round=ROUND.digest)
    return of.perturb(np.arange(n) % of.d, draw)


def sent(round_: Round, rows: np.ndarray, contributor: int) -> list[bytes | Message]:
    blocks = list(encode_reports(round_.digest, contributor, rows)) if len(rows) else []
    return [*blocks, Done(round=round_.digest.hex(), contributor=contributor, sent=len(rows), total=len(rows))]


def sealed(round_: Round = ROUND, plan: Plan = PLAN, n: int = EACH, q: int = 0, seed: int | None = None) -> list[Out]:
    """What one target writes to `batches` after reports of every contributor, in this order or a drawn one."""
    close = Close(round=round_.digest.hex(), contributors=tuple(range(plan.partitions)))
    records = [one for c in range(plan.partitions) for one in sent(round_, reports(c, n), c)] if q == 0 else []
    by_log: dict[Log, list[bytes | Message]] = {ROUNDS: [round_], Log("reports", q): records, CLOSINGS: [close]}
    hand, out = Hand(Shuffle(plan, key("shuffle"), q)), list[Out]()
    rng = random.Random(seed)
    while any(by_log.values()):
        able = [log for log, waiting in by_log.items() if waiting]
        log = able[0] if seed is None else rng.choice(able)
        out += hand.give(log, by_log[log].pop(0))
    assert isinstance(hand.stage, Shuffle)
    assert not hand.stage._open
    return [one for one in out if one.log != CLOSINGS]


def seals(out: list[Out]) -> list[Seal]:
    return [one for one in read(out) if isinstance(one, Seal)]


def test_the_sums_of_all_reports_leave_the_zone_with_their_number_and_no_report_does() -> None:
    out = sealed()
    (block,), (seal,) = [one for one in read(out) if isinstance(one, TallyBlock)], seals(out)
    assert not any(isinstance(one, BatchBlock) for one in read(out))
    everybody = np.concatenate([reports(c) for c in range(3)])
    assert block.counts.tolist() == ASKED.support(everybody).tolist()
    assert (seal.received, seal.counted, seal.blocks, seal.rejected.malformed) == (18, 18, 1, 0)


def test_what_leaves_has_one_length_whatever_the_values_are() -> None:
    lengths = set()
    for seed in range(5):
        counts = ASKED.support(
            ASKED.perturb(np.full(20, seed % 5), key(f"{seed}").draw(pseudonyms(20), round=bytes(32)))
        )
        (block,) = encode_tally(ROUND.digest, 0, counts * 10**seed)
        lengths.add(len(block))
    assert lengths == {64 + 8 * ASKED.d}


@pytest.mark.parametrize("seed", range(8))
def test_any_interleaving_gives_the_same_bytes(seed: int) -> None:
    assert [one.value for one in sealed(seed=seed)] == [one.value for one in sealed()]


def test_other_targets_write_nothing_and_wait_for_nothing() -> None:
    assert sealed(q=1) == []


def test_a_report_that_no_value_gives_is_in_no_sum_and_counted_as_malformed() -> None:
    hand = Hand(Shuffle(PLAN, key("shuffle"), 0))
    hand.give(ROUNDS, ROUND)
    for c in range(3):
        rows = reports(c)
        rows[0] = 0xFF if c == 1 else rows[0]
        hand.give(Log("reports", 0), *sent(ROUND, rows, c))
    out = hand.give(CLOSINGS, Close(round=ROUND.digest.hex(), contributors=(0, 1, 2)))
    (seal,), (block,) = seals(out), [one for one in read(out) if isinstance(one, TallyBlock)]
    assert (seal.received, seal.counted, seal.rejected.malformed) == (18, 17, 1)
    left = np.concatenate([reports(0), reports(1)[1:], reports(2)])
    assert block.counts.tolist() == ASKED.support(left).tolist()


def test_too_small_a_round_shows_nothing_but_that_it_was() -> None:
    out = sealed(n=3)
    assert [type(one) for one in read(out)] == [Seal]
    assert [(seal.received, seal.counted, seal.blocks, seal.rejected.undersized) for seal in seals(out)] == [
        (0, 0, 0, True)
    ]
    exactly = sealed(n=4)  # min_batch = 12
    assert [seal.counted for seal in seals(exactly)] == [12]


WEAKER = AUE(d=5, ones=ASKED.ones + 1, batch=ASKED.batch, central=ASKED.central, delta=ASKED.delta)
CHEATS = {
    "another question": question(PLAN, SCREEN, FIRST, mechanism=WEAKER.spec(), targets=1),
    "over more targets": question(PLAN, SCREEN, FIRST, mechanism=ASKED.spec(), targets=2),
}


@pytest.mark.parametrize("round_", CHEATS.values(), ids=CHEATS)
def test_a_round_that_the_zones_own_file_does_not_have_is_held_back_and_no_device_answers_it(round_: Round) -> None:
    assert [(seal.received, seal.rejected.undersized) for seal in seals(sealed(round_))] == [(0, True)]
    guard = perturb(PLAN)
    guard.give(ROUNDS, start(SCREEN))
    assert [done.total for done in read(guard.give(ROUNDS, round_), "reports")] == [0] * round_.targets


def test_a_zone_whose_streams_are_protected_holds_it_back_whatever_a_server_asks() -> None:
    protected = deployment(stream("screen", "lpu"), min_batch=12)
    assert [(seal.received, seal.rejected.undersized) for seal in seals(sealed(plan=protected))] == [(0, True)]


def tallied(*records: bytes | Message) -> Tally:
    (tally,) = read(Hand(Aggregate(PLAN, 0)).give(Log("batches", 0), *records))
    assert isinstance(tally, Tally)
    return tally


def test_a_tally_is_the_sums_that_came() -> None:
    out = sealed()
    (block,) = [one for one in read(out) if isinstance(one, TallyBlock)]
    tally = tallied(*(one.value for one in out))
    assert (tally.counts, tally.counted, tally.targets) == (tuple(block.counts.tolist()), 18, 1)
    assert tallied(*(one.value for one in sealed(n=3))).rejected.undersized


def test_sums_that_their_seal_does_not_fit_stop_the_count() -> None:
    out = [one.value for one in sealed()]
    (seal,) = seals(sealed())
    short = list(encode_tally(ROUND.digest, 0, np.ones(4, np.int64)))
    many = list(encode_tally(ROUND.digest, 0, np.full(5, 37)))
    rows = list(encode_reports(ROUND.digest, 0, reports(0)))
    for records in ([out[-1]], [*short, out[-1]], [*many, out[-1]], [*rows, out[-1]], [out[0], *out]):
        with pytest.raises(StageError, match="aggregate 0"):
            tallied(*records, encode(seal))


def test_what_a_server_calls_summed_in_a_stream_of_another_question_is_refused_before_it_costs() -> None:
    plan = replace(PLAN, streams=(replace(stream("screen", "lpu")),), mixed=None)
    guard = perturb(plan)
    guard.give(ROUNDS, start(plan.streams[0]))
    round_ = question(plan, plan.streams[0], FIRST, mechanism=ASKED.spec(), targets=1)
    assert [done.total for done in read(guard.give(ROUNDS, round_), "reports")] == [0]
