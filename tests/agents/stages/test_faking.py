# SPDX-License-Identifier: Apache-2.0
"""Fake reports at the mixing zone: who gets them, that only its key makes them, and that no record tells them apart."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.faking import fakes_of
from murmurate.agents.stages.publish import Publish
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.accounting import claim_against_users, claim_with_fakes
from murmurate.config.plan import Plan
from murmurate.randomizers import GRR, OLH, Faked, HadamardResponse, Question, SubsetSelection
from murmurate.randomizers.fakes import estimate_with_fakes, variance_with_fakes
from murmurate.topics.block import BatchBlock, encode_reports
from murmurate.topics.codec import decode, encode
from murmurate.topics.message import Message
from murmurate.topics.messages import Close, Done, Rejected, Round, Seal, Tally
from murmurate.topics.promises import AgainstUsers
from murmurate.topics.release import Release
from tests.agents.stages.hands import CLOSINGS, ROUNDS, Hand, question, read, settled, start
from tests.agents.world import FIRST, deployment, key, stream

FAKES = 6
PLAN = deployment(
    stream("screen", "lsp", w=1, mechanism="grr", stated_model="local"),
    partitions=3,
    targets=2,
    min_batch=8,
    fakes=FAKES,
)
SCREEN = PLAN.streams[0]
ASKED = Faked(GRR(d=5, epsilon=2), FAKES)
ROUND = question(PLAN, SCREEN, FIRST, mechanism=ASKED.spec())
ALL = Close(round=ROUND.digest.hex(), contributors=(0, 1, 2))
DIGEST = hashlib.sha256(b"a round").digest()


def sent(round_: Round, contributor: int, n: int, value: int = 0) -> list[bytes | Message]:
    """What one contributor sends to one target: n reports, then `done`."""
    blocks = list(encode_reports(round_.digest, contributor, np.full((n, 1), value, np.uint8))) if n else []
    return [*blocks, Done(round=round_.digest.hex(), contributor=contributor, sent=n, total=2 * n)]


def sealed(round_: Round, n: int, plan: Plan = PLAN) -> list[Out]:
    """The sub-batches of all targets, to each of which every contributor sends n reports."""
    out: list[Out] = []
    for q in range(PLAN.targets):
        hand = Hand(Shuffle(plan, key("shuffle"), q))
        hand.give(ROUNDS, round_)
        for c in range(PLAN.partitions):
            hand.give(Log("reports", q), *sent(round_, c, n, value=c))
        out += hand.give(CLOSINGS, ALL.model_copy(update={"round": round_.digest.hex()}))
    return out


def rows(out: list[Out]) -> list[int]:
    return sorted(int(row) for one in read(out) if isinstance(one, BatchBlock) for row in one.reports.ravel())


def seals(out: list[Out]) -> list[Seal]:
    return [one for one in read(out) if isinstance(one, Seal)]


@pytest.mark.parametrize(
    "inner",
    [GRR(d=300, epsilon=1), OLH(d=9, epsilon=1, pool=50), OLH(d=9, epsilon=1, pool=0), HadamardResponse(d=9, epsilon=1),
     SubsetSelection(d=6, epsilon=1, k=2)],
    ids=str,
)  # fmt: skip
def test_each_fake_goes_to_one_target_and_no_target_is_told_how_many_it_gets(inner: Question) -> None:
    asked = Faked(inner, 5000).of_round(DIGEST)
    parts = [fakes_of(key("shuffle"), asked, q, 4, round=DIGEST) for q in range(4)]
    assert sum(map(len, parts)) == 5000
    assert all(1000 < len(part) < 1500 for part in parts)  # 5000/4, sigma 31: 8 sigma, below 1e-14
    (alone,) = [fakes_of(key("shuffle"), asked, 0, 1, round=DIGEST)]
    whole = Counter(row.tobytes() for part in parts for row in part)
    assert whole == Counter(row.tobytes() for row in alone)  # where a fake goes does not change it
    assert not asked.malformed(alone).any()


def test_the_fakes_of_a_key_are_known_and_those_of_another_round_or_key_are_others() -> None:
    asked = Faked(GRR(d=5, epsilon=2), 12)
    own = fakes_of(key("shuffle"), asked, 0, 1, round=DIGEST)
    assert own.ravel().tolist() == KNOWN_GRR
    olh = Faked(OLH(d=9, epsilon=1, pool=50), 3).of_round(DIGEST)
    assert fakes_of(key("shuffle"), olh, 0, 1, round=DIGEST).tobytes().hex() == KNOWN_OLH
    another = fakes_of(key("shuffle"), asked, 0, 1, round=hashlib.sha256(b"another").digest())
    assert not np.array_equal(own, another)
    assert not np.array_equal(own, fakes_of(key("another"), asked, 0, 1, round=DIGEST))


KNOWN_GRR = [3, 4, 1, 2, 2, 4, 3, 0, 1, 3, 0, 4]
KNOWN_OLH = "270313030001"


def test_drawing_them_in_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Faked(GRR(d=300, epsilon=1), 100)
    usual = [fakes_of(key("shuffle"), asked, q, 3, round=DIGEST) for q in range(3)]
    monkeypatch.setattr("murmurate.agents.stages.faking.CHUNK", 7)
    assert all(np.array_equal(one, fakes_of(key("shuffle"), asked, q, 3, round=DIGEST)) for q, one in enumerate(usual))


def test_a_round_that_is_released_has_all_its_fakes_and_no_seal_says_which_or_where() -> None:
    out = sealed(ROUND, 2)
    assert len(rows(out)) == 12 + FAKES
    fakes = Counter(rows(out)) - Counter([0, 1, 2] * 4)
    drawn = [fakes_of(key("shuffle"), ASKED, q, 2, round=ROUND.digest) for q in range(2)]
    assert fakes == Counter(int(row) for part in drawn for row in part.ravel())
    for seal in seals(out):
        assert seal.received == seal.counted == 6 + len(drawn[seal.q])
        assert "fakes" not in seal.model_dump()
    assert sum(seal.counted for seal in seals(out)) == 12 + FAKES


def test_fakes_do_not_count_for_the_smallest_batch_and_a_smaller_one_has_none() -> None:
    out = sealed(ROUND, 1)  # 6 reports, and 6 fakes would make 12
    assert rows(out) == []
    assert [(seal.received, seal.counted, seal.rejected.undersized) for seal in seals(out)] == [(0, 0, True)] * 2


@pytest.mark.parametrize(
    "asked", [GRR(d=5, epsilon=2), Faked(GRR(d=5, epsilon=2), 1), Faked(GRR(d=5, epsilon=2), 7)], ids=str
)
def test_a_round_that_a_cheating_server_asks_with_another_number_of_fakes_is_held_back(asked: Question) -> None:
    out = sealed(question(PLAN, SCREEN, FIRST, mechanism=asked.spec()), 50)
    assert rows(out) == []
    assert [(seal.received, seal.counted, seal.rejected.undersized) for seal in seals(out)] == [(0, 0, True)] * 2


def test_a_zone_without_fakes_holds_back_a_round_that_names_some() -> None:
    assert rows(sealed(ROUND, 50, replace(PLAN, fakes=0))) == []


@pytest.mark.parametrize("seed", range(12))
def test_any_interleaving_and_a_crash_at_any_record_give_the_same_sub_batch(seed: int) -> None:
    rng = random.Random(seed)
    q = seed % 2
    logs: dict[Log, list[bytes | Message]] = {
        ROUNDS: [start(SCREEN), ROUND, settled(SCREEN, FIRST - 1)],
        CLOSINGS: [ALL],
        Log("reports", q): [one for c in rng.sample(range(3), 3) for one in sent(ROUND, c, 5 + c, value=c)],
    }
    usual = [one.value for one in sealed_of(logs, q)]
    waiting = {log: list(records) for log, records in logs.items()}
    hand = Hand(Shuffle(PLAN, key("shuffle"), q))
    out: list[Out] = []
    while any(waiting.values()):
        log = rng.choice([log for log, records in waiting.items() if records])
        out += hand.give(log, waiting[log].pop(0))
        if rng.random() < 0.3:  # it dies, and what was not sealed is read again
            hand = recovered(hand, {log: logs[log][: len(logs[log]) - len(waiting[log])] for log in logs})
    assert [one.value for one in out if one.log != CLOSINGS] == usual


def sealed_of(logs: dict[Log, list[bytes | Message]], q: int) -> list[Out]:
    hand = Hand(Shuffle(PLAN, key("shuffle"), q))
    return [one for log, records in logs.items() for one in hand.give(log, *records) if one.log != CLOSINGS]


def recovered(hand: Hand, folded: dict[Log, list[bytes | Message]]) -> Hand:
    """A new instance, with the state of the old one and the records that it has to read again."""
    marks = {log: len(records) for log, records in folded.items()}
    starts, small = hand.stage.replay_from(marks), hand.stage.small()
    assert isinstance(hand.stage, Shuffle)
    made = Hand(Shuffle(PLAN, key("shuffle"), hand.stage._q))
    made.stage.restore(small, (), marks)
    for log, records in folded.items():
        made.ends[log] = starts[log]
        made.give(log, *records[starts[log] :])
    return made


def released(by_target: list[tuple[int, tuple[int, ...]]]) -> Release:
    """What publish releases where the sub-batches have so many reports, with these counts."""
    hand = Hand(Publish(PLAN))
    asked = read(hand.give(ROUNDS, start(SCREEN)))[0]
    assert asked.mechanism["name"] == "faked"
    assert asked.mechanism["fakes"] == FAKES
    tallies = [
        Tally(
            round=asked.digest.hex(), q=q, received=n, counted=n, missing=(), stream="screen", t=asked.t, targets=2,
            rejected=Rejected(malformed=0, undersized=not n), counts=counts,
        )
        for q, (n, counts) in enumerate(by_target)
    ]  # fmt: skip
    (found,) = [one for one in read(hand.give(Log("tallies", 0), *tallies)) if isinstance(one, Release)]
    return found


def test_a_release_counts_users_estimates_their_shares_and_says_what_fakes_add() -> None:
    found = released([(40, (20, 10, 4, 3, 3)), (26, (16, 4, 2, 2, 2))])
    assert found.reports is not None
    assert found.privacy is not None
    assert (found.reports.received, found.reports.counted) == (60, 60)
    grr = GRR(d=5, epsilon=2)
    raw = estimate_with_fakes(grr, np.array([36, 14, 6, 5, 5]), 60, FAKES)
    assert [found.unbiased[name] for name in SCREEN.names] == pytest.approx(raw.round(6).tolist(), abs=1e-6)
    exact = np.sqrt(variance_with_fakes(grr, 60, FAKES, grr.likely(raw)))
    assert found.stderr_unbiased is not None
    assert [found.stderr_unbiased[name] for name in SCREEN.names] == pytest.approx(exact.tolist(), abs=1e-6)
    shuffled = found.privacy.shuffled
    assert shuffled is not None
    assert (shuffled.fakes, shuffled.n) == (FAKES, 54)
    alone = claim_against_users(grr, 60, FAKES, PLAN.delta)
    assert shuffled.against_users == AgainstUsers(epsilon=alone.epsilon, delta=alone.delta)
    assert shuffled.epsilon == claim_with_fakes(grr, 60, FAKES, PLAN.delta, PLAN.assumed_corrupt).epsilon
    assert decode(encode(found)) == found


def test_a_round_that_was_held_back_has_no_fakes_to_take_out() -> None:
    found = released([(0, (0,) * 5)] * 2)
    assert found.reports is not None
    assert found.privacy is not None
    assert (found.decision, found.reports.received, found.reports.counted) == ("unmeasured", 0, 0)
    assert found.privacy.shuffled is None


def test_fewer_reports_than_there_are_fakes_cannot_be_right() -> None:
    with pytest.raises(StageError, match="5 reports were counted in period 100, of which 6 should be fakes"):
        released([(5, (5, 0, 0, 0, 0)), (0, (0,) * 5)])
