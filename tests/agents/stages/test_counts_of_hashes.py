# SPDX-License-Identifier: Apache-2.0
"""A round of groups whose counts of hash and cell are kept: counted in blocks, and counted again by the auditor."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from murmurate.agents.audit.answers import ContributorAnswer
from murmurate.agents.audit.asked import AskedRound
from murmurate.agents.audit.prints import Printer
from murmurate.agents.audit.recount import SubBatch
from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.round_question import question_of
from murmurate.aggregators.accounting.claim import mixed_claim
from murmurate.randomizers import OLH, Branches, Extensions, LongPrefix, OLHCounts, Question, Viewed
from murmurate.randomizers.layouts import NONE
from murmurate.randomizers.randomness import contexts
from murmurate.topics.block import TallyBlock, encode_batch
from murmurate.topics.codec import decode, encode
from murmurate.topics.messages import Rejected, Round, Seal, TallyInBlocks
from tests.agents.stages.hands import Hand, question, read
from tests.agents.stages.test_aggregate import BATCHES, PLAN, SCREEN
from tests.agents.world import FIRST, KEYS, key

STRINGS = ("bits", 100, 1)
VIEWS = [LongPrefix(STRINGS, bits) for bits in (9, 40, 100)]
ASKED = Branches([(1, Viewed(view, OLHCounts(d=view.d, epsilon=2, pool=400))) for view in VIEWS])
ROUND = question(PLAN, SCREEN, FIRST, mechanism=ASKED.spec(), targets=1)
N = 500


def told() -> tuple[Question, np.ndarray]:
    """Reports of users of whom half hold one string, and some none."""
    asked = question_of(ROUND)
    rows = np.random.default_rng(1).integers(0, 1 << 31, (N, 4)).astype(np.uint32)
    rows[::2] = 7
    rows[:, -1] &= np.uint32(0xF800_0000)
    rows[::9] = NONE, 0, 0, 0
    return asked, asked.perturb(rows, key("device").draw(contexts(np.arange(N)), round=ROUND.digest))


def sealed(counted: int, malformed: int = 0) -> Seal:
    return Seal(
        round=ROUND.digest.hex(), q=0, received=counted + malformed, counted=counted, missing=(),
        rejected=Rejected(malformed=malformed, undersized=False), blocks=1, descriptor=ROUND,
    )  # fmt: skip


def test_a_round_says_its_domain_in_a_number_that_every_reader_of_json_keeps() -> None:
    again = decode(encode(ROUND))
    assert isinstance(again, Round)
    assert again.digest == ROUND.digest
    assert question_of(again) == question_of(ROUND)
    assert question_of(again).spec() == ASKED.spec()
    assert ASKED.spec()["of"][2][1]["mechanism"]["d"] == (1 << 52) + 1


def test_as_many_parents_as_a_question_may_name_fit_a_round() -> None:
    named = Extensions(("bits", 256, 1), Extensions.named(range(1 << 240, (1 << 240) + 970), 248), 248, 256)
    asked = Viewed(named, OLH(d=named.d, epsilon=1, pool=0))
    round_ = question(PLAN, SCREEN, FIRST, mechanism=asked.spec(), targets=1)
    again = decode(encode(round_))
    assert isinstance(again, Round)
    assert again.digest == round_.digest
    assert question_of(again) == asked
    assert len(encode(round_)) > 60_000


def test_its_counts_travel_in_blocks_and_those_of_no_value_are_dropped() -> None:
    asked, reports = told()
    spoiled = np.concatenate((reports, [[3, 0, 0, 0], [0, 255, 255, 0], [1, 0, 0, 8]])).astype(np.uint8)
    hand = Hand(Aggregate(PLAN, 0))
    out = hand.give(BATCHES, *encode_batch(ROUND.digest, 0, spoiled), sealed(N + 3))
    announced, *blocks = read(out)
    assert isinstance(announced, TallyInBlocks)
    assert (announced.received, announced.counted, announced.rejected.malformed) == (N + 3, N, 3)
    assert announced.cells == asked.outcomes == 3 * (1 + 400 * 8)
    assert [hashlib.sha256(one.value).hexdigest() for one in out[1:]] == list(announced.blocks)
    counts = np.concatenate([block.counts for block in blocks if isinstance(block, TallyBlock)])
    assert (counts == asked.support(reports)).all()
    asked.check(counts, N)


@pytest.mark.parametrize("fault", ["none", "a count moved", "a report left out"])
def test_the_auditor_counts_it_again_and_sees_a_count_that_moved(fault: str) -> None:
    asked, reports = told()
    out = Hand(Aggregate(PLAN, 0)).give(BATCHES, *encode_batch(ROUND.digest, 0, reports), sealed(N))
    announced, *blocks = read(out)
    batch, answer = SubBatch(), ContributorAnswer()
    batch.sealed(sealed(N), 0, 0)
    batch.tallied(announced)
    answer.take(0, reports)
    batch.rows = [reports[1:] if fault == "a report left out" else reports]
    for digest, block in zip(announced.blocks, blocks, strict=True):
        batch.counts[digest] = block.counts.copy()
    if fault == "a count moved":
        counts = batch.counts[announced.blocks[0]]
        counts[1 + int(np.argmax(counts[1:] > 0))] -= 1
        counts[1 + int(np.argmin(counts[1:]))] += 1
    slots = np.ones(SCREEN.slots, np.bool_)
    round_ = AskedRound(0, ROUND, asked, slots, ~slots, 1)
    batch.recount(PLAN, round_, 0, {0: answer}, Printer(KEYS.edge.devices.randomness))
    assert batch.right == (fault == "none")


def test_what_mixing_is_worth_for_it_is_that_of_its_cells() -> None:
    found = mixed_claim(ASKED, 100_000, 1e-8)
    assert found.bound == "blanket"
    cells = mixed_claim(OLHCounts(d=9, epsilon=2), 100_000, 1e-8)
    assert found.epsilon == pytest.approx(cells.epsilon, rel=0.02)
    assert found.epsilon < 0.05 * 2
