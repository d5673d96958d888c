# SPDX-License-Identifier: Apache-2.0
"""A deployment whose mixing zone adds fakes: what is released is right, on average and to the byte after a crash."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import orjson
import pytest

from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Out
from murmurate.randomizers import GRR, OLH, Faked
from murmurate.randomizers.fakes import estimate_with_fakes, variance_with_fakes
from murmurate.randomizers.mechanism import PureOracle
from murmurate.topics.block import encode_reports
from murmurate.topics.messages import Close, Done, Tally
from tests.agents.embedded.test_exactness import END, PERIODS, audited
from tests.agents.stages.hands import CLOSINGS, ROUNDS, Hand, pseudonyms, question, read
from tests.agents.world import FIRST, Crashes, Shuffled, arrivals, crowd, deployment, key, played, stream

FAKES = 8
PLAN = deployment(stream("screen", "lpu"), min_batch=8, fakes=FAKES)
RECORDS = arrivals(crowd(PLAN, users=120, periods=PERIODS), until=END)


def test_logs_with_fakes_hold_and_one_fake_more_or_less_is_found() -> None:
    runtime = played(PLAN, RECORDS, step=100)
    found = audited(runtime, PLAN)
    assert found.holds, found.where
    assert found.reports > 100
    told = [orjson.loads(record) for record in runtime.releases()]
    measured = [one for one in told if one["privacy"]["shuffled"] is not None]
    assert len(measured) >= PERIODS - 1
    for one in measured:
        assert one["privacy"]["shuffled"].get("fakes", 0) in (0, FAKES)  # 0: mixing adds nothing to so few
        assert one["privacy"]["shuffled"]["against_users"]["epsilon"] <= 2
        assert one["mechanism"]["fakes"] == FAKES
    assert sum(one["reports"]["received"] for one in told) <= found.reports
    assert not audited(runtime, replace(PLAN, fakes=FAKES - 1)).holds


@pytest.mark.parametrize("seed", range(3))
def test_whatever_crashes_and_in_whatever_order_logs_are_read_the_releases_are_the_same(seed: int) -> None:
    calm, rng = played(PLAN, RECORDS, step=100), random.Random(seed)
    moments = {
        (point, stage): rng.sample(range(2, 12), 3)
        for point in ("before fold", "after fold", "in the transaction", "after the commit")
        for stage in ("shuffle", "aggregate", "publish")
    }
    crashes = Crashes(moments)
    torn = played(PLAN, RECORDS, step=40, schedule=Shuffled(rng), faults=crashes)
    assert crashes.died >= 12
    assert list(torn.releases()) == list(calm.releases())
    found = audited(torn, PLAN)
    assert found.holds, found.where


def tallied(inner: PureOracle, users: list[int], fakes: int, t: int) -> np.ndarray:
    """The counts of one round through shuffle and aggregate, of users who hold these codes."""
    plan = deployment(stream("screen", "lsp", w=1), partitions=1, targets=2, min_batch=2, fakes=fakes)
    round_ = question(plan, plan.streams[0], t, mechanism=Faked(inner, fakes).spec())
    draw = key("randomness").draw(pseudonyms(len(users)), round=round_.digest)
    reports = inner.of_round(round_.digest).perturb(np.array(users), draw)
    where, n, support = np.arange(len(users)) % 2, len(users), np.zeros(inner.d, np.int64)
    close = Close(round=round_.digest.hex(), contributors=(0,))
    for q in range(2):
        hand, mine = Hand(Shuffle(plan, key("shuffle"), q)), reports[where == q]
        done = Done(round=round_.digest.hex(), contributor=0, sent=len(mine), total=n)
        hand.give(ROUNDS, round_)
        hand.give(Log("reports", q), *encode_reports(round_.digest, 0, mine), done)
        out: list[Out] = hand.give(CLOSINGS, close)
        (tally,) = read(Hand(Aggregate(plan, q)).give(Log("batches", q), *(one.value for one in out)))
        assert isinstance(tally, Tally)
        support += tally.counts
    return support


@pytest.mark.parametrize("rounds", [300, pytest.param(5000, marks=pytest.mark.audit)])
@pytest.mark.parametrize("inner", [GRR(d=3, epsilon=2), OLH(d=4, epsilon=2, pool=0)], ids=str)
def test_estimates_through_the_stages_are_unbiased_with_exactly_the_variance_that_is_said(
    inner: PureOracle, rounds: int
) -> None:
    """False alarm 1e-6 in all: the mean of the standardized errors within 5.5 of its deviations, their mean square too
    (each round's error is normal to a few percent, whose square has variance 2).
    """
    fakes, users = 40, [0] * 30 + [1] * 20 + [inner.d - 1] * 10
    truth = np.bincount(users, minlength=inner.d) / len(users)
    found = np.array([
        estimate_with_fakes(inner, tallied(inner, users, fakes, t), len(users), fakes)
        for t in range(FIRST, FIRST + rounds)
    ])  # fmt: skip
    errors = (found - truth) / np.sqrt(variance_with_fakes(inner, len(users), fakes, truth))
    assert np.abs(errors.mean(axis=0)).max() < 5.5 / np.sqrt(rounds)
    assert np.abs((errors**2).mean(axis=0) - 1).max() < 5.5 * np.sqrt(2.2 / rounds)
    without = variance_with_fakes(inner, len(users), 0, truth)
    assert ((found - truth) ** 2 / without).mean() > 1.2  # the fakes' part is there, and needed


def test_the_law_of_an_estimate_with_fakes_is_unbiased_and_its_variance_exact() -> None:
    """By enumeration: every report of two users and every fake, through `support` and `estimate` of the question."""
    inner = GRR(d=3, epsilon=1)
    asked, users = Faked(inner, 2), (0, 2)
    outcomes: dict[tuple[int, ...], float] = {(0, 0, 0): 1.0}
    for law in (*(inner.law(value) for value in users), *[dict.fromkeys(inner.law(0), Fraction(1, 3))] * 2):
        more: dict[tuple[int, ...], float] = {}
        for counts, chance in outcomes.items():
            for report, likely in law.items():
                support = asked.support(np.frombuffer(report, np.uint8)[None])
                at = tuple((np.array(counts) + support).tolist())
                more[at] = more.get(at, 0.0) + chance * float(likely)
        outcomes = more
    truth = np.array([0.5, 0, 0.5])
    estimates = {counts: asked.estimate(np.array(counts), 2) for counts in outcomes}
    mean = sum(chance * estimates[counts] for counts, chance in outcomes.items())
    square = sum(chance * (estimates[counts] - truth) ** 2 for counts, chance in outcomes.items())
    assert mean == pytest.approx(truth, abs=1e-12)
    assert square == pytest.approx(asked.variance(2, truth), rel=1e-12)
    assert asked.variance(2, truth) == pytest.approx(
        inner.variance(2, truth) + asked.added_variance(2, truth), rel=1e-12
    )
