# SPDX-License-Identifier: Apache-2.0
"""A deployment whose mixing zone adds up: the logs hold what they must, whatever crashes, and estimates are right."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import orjson
import pytest

from murmurate.agents.audit.auditor import audit
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log
from murmurate.aggregators.accounting import mixed_claim
from murmurate.randomizers.frequency.appended import AUE
from murmurate.topics.block import BatchBlock, TallyBlock, encode_reports, encode_tally
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Close, Done, Tally
from tests.agents.embedded.test_exactness import END, PERIODS, audited
from tests.agents.stages.hands import CLOSINGS, ROUNDS, Hand, pseudonyms, question, read
from tests.agents.summed import EPSILON, added_up, asked
from tests.agents.world import FIRST, KEYS, TOPIC, Crashes, Shuffled, arrivals, crowd, key, played

PLAN = added_up()
RECORDS = arrivals(crowd(PLAN, users=120, periods=PERIODS), until=END)


@pytest.fixture(scope="module")
def calm() -> Runtime:
    return played(PLAN, RECORDS, step=100)


def records(runtime: Runtime, topic: str, partition: int) -> list[bytes]:
    log = Log(topic, partition)
    return [runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))]


def test_logs_hold_and_each_release_says_that_there_is_no_local_protection(calm: Runtime) -> None:
    found = audited(calm, PLAN)
    assert found.holds, found.where
    assert found.reports > 100
    told = [orjson.loads(record) for record in calm.releases()]
    assert len(told) >= PERIODS
    for one in told:
        privacy = one["privacy"]
        assert privacy["epsilon"] is None
        assert privacy["unprotected_locally"] is True
        assert "epsilon" not in one["mechanism"]
        assert (one["mechanism"]["name"], one["mechanism"]["central"]) == ("aue", EPSILON)
        if (claim := privacy["shuffled"]) is not None:
            assert (claim["bound"], claim["delta"]) == ("counts", PLAN.delta)
            assert claim["epsilon"] <= EPSILON
    assert sum(one["decision"] == "published" for one in told) >= PERIODS - 1


def test_no_report_is_in_what_the_analysis_zone_reads(calm: Runtime) -> None:
    blocks = [decode_record(record) for q in range(PLAN.targets) for record in records(calm, "batches", q)]
    assert not any(isinstance(block, BatchBlock) for block in blocks)
    assert {len(block.counts) for block in blocks if isinstance(block, TallyBlock)} == {asked(PLAN).d}


def test_a_sum_that_is_one_off_and_a_round_that_should_have_been_held_back_are_found(calm: Runtime) -> None:
    assert not audited(calm, replace(PLAN, min_batch=PLAN.min_batch + 40)).holds

    def forged(topic: str, partition: int) -> Sequence[bytes]:
        found = records(calm, topic, partition)
        if topic == "batches":
            for at, record in enumerate(found):
                if isinstance(block := decode_record(record), TallyBlock):
                    more = block.counts + np.eye(len(block.counts), dtype=np.int64)[0]
                    (found[at],) = encode_tally(block.round, block.q, more)
        return found

    assert audit(PLAN, KEYS.edge.devices, forged, {TOPIC: 2}).miscounted >= PERIODS


@pytest.mark.parametrize("seed", range(1))
def test_whatever_crashes_and_in_whatever_order_logs_are_read_the_releases_are_the_same(
    calm: Runtime, seed: int
) -> None:
    rng = random.Random(seed)
    points = "before fold", "after fold", "in the transaction", "after the commit"
    moments = {
        (point, stage): rng.sample(range(2, 12), 3) for point in points for stage in ("shuffle", "aggregate", "publish")
    }
    crashes = Crashes(moments)
    torn = played(PLAN, RECORDS, step=40, schedule=Shuffled(rng), faults=crashes)
    assert crashes.died >= 12
    assert list(torn.releases()) == list(calm.releases())
    found = audited(torn, PLAN)
    assert found.holds, found.where


def tallied(plan_of: AUE, users: np.ndarray, t: int) -> np.ndarray:
    """The counts of one round through shuffle and aggregate, of users who hold these codes."""
    round_ = question(PLAN, PLAN.streams[0], t, mechanism=plan_of.spec(), targets=1)
    reports = plan_of.perturb(users, key("randomness").draw(pseudonyms(len(users)), round=round_.digest))
    hand = Hand(Shuffle(PLAN, key("shuffle"), 0))
    hand.give(ROUNDS, round_)
    for c in range(PLAN.partitions):
        mine = reports[c :: PLAN.partitions]
        done = Done(round=round_.digest.hex(), contributor=c, sent=len(mine), total=len(mine))
        hand.give(Log("reports", 0), *encode_reports(round_.digest, c, mine), done)
    out = hand.give(CLOSINGS, Close(round=round_.digest.hex(), contributors=tuple(range(PLAN.partitions))))
    batches = [one.value for one in out if one.log.topic == "batches"]
    (tally,) = read(Hand(Aggregate(PLAN, 0)).give(Log("batches", 0), *batches))
    assert isinstance(tally, Tally)
    assert tally.counted == len(users)
    return np.array(tally.counts)


@pytest.mark.parametrize("rounds", [100, pytest.param(5000, marks=pytest.mark.audit)])
def test_estimates_through_the_stages_are_unbiased_with_exactly_the_variance_that_is_said(rounds: int) -> None:
    """False alarm 1e-6 in all: the mean of the standardized errors within 5.5 of its deviations, their mean square too
    (each round's error is normal to a few percent, whose square has variance 2).
    """
    of, users = asked(PLAN), np.array([0] * 30 + [1] * 20 + [4] * 10)
    truth = np.bincount(users, minlength=of.d) / len(users)
    found = np.array([of.estimate(tallied(of, users, t), len(users)) for t in range(FIRST, FIRST + rounds)])
    errors = (found - truth) / np.sqrt(of.variance(len(users), truth))
    assert np.abs(errors.mean(axis=0)).max() < 5.5 / np.sqrt(rounds)
    assert np.abs((errors**2).mean(axis=0) - 1).max() < 5.5 * np.sqrt(2.2 / rounds)


def test_a_claim_shrinks_with_the_reports_and_the_smallest_batch_keeps_the_target() -> None:
    claims = [mixed_claim(asked(PLAN), n, PLAN.delta, PLAN.assumed_corrupt) for n in (PLAN.min_batch, 40, 400)]
    assert EPSILON >= claims[0].epsilon > claims[1].epsilon > claims[2].epsilon
