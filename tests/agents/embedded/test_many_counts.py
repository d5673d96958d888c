# SPDX-License-Identifier: Apache-2.0
"""A stream whose counts travel in blocks: no crash and no interleaving changes a byte, and the audit counts them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from murmurate.agents.audit.auditor import Audit, audit
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.stage import Log
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.topics.block import TallyBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.domains import Categories
from murmurate.topics.messages import TallyInBlocks
from tests.agents.world import (
    FIRST,
    KEYS,
    SECOND,
    TOPIC,
    Crashes,
    Shuffled,
    arrivals,
    by_stream,
    crowd,
    deployment,
    played,
    stream,
)

WORDS = ("home", "basket", "help", *(f"v{i}" for i in range(270)))
PLAN = deployment(
    stream(
        "screen", "lpu", share_micro=600_000, domain=Categories(WORDS, other=True), mechanism="she",
        method=MethodOptions("lpu", filter="off"),
    ),
    stream("mood", "lbu", share_micro=400_000, carry_ms=1500, every_ms=2 * SECOND),
    min_batch=2,
)  # fmt: skip
"""4 400 counts of one stream, four of the other."""
RECORDS = arrivals(crowd(PLAN, users=40, periods=5), until=(FIRST + 7) * SECOND, every=500)
POINTS = ("before fold", "after fold", "in the transaction", "after the commit", "in a recovery")


@pytest.fixture(scope="module")
def calm() -> Runtime:
    return played(PLAN, RECORDS, step=100)


def audited(runtime: Runtime, tallies: Sequence[bytes] | None = None) -> Audit:
    def read(topic: str, partition: int) -> Sequence[bytes]:
        if topic == "tallies" and tallies is not None:
            return tallies
        log = Log(topic, partition)
        return [runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))]

    return audit(PLAN, KEYS.edge.devices, read, {TOPIC: 2})


def test_counts_are_announced_and_follow_in_blocks_and_the_audit_counts_them_again(calm: Runtime) -> None:
    records = calm.logs.all("tallies")
    found = [decode_record(record) for record in records]
    at = [number for number, one in enumerate(found) if isinstance(one, TallyInBlocks)]
    assert len(at) >= 10
    assert all(isinstance(found[number + 1], TallyBlock) for number in at)
    assert audited(calm).holds
    damaged = [*records[: at[0] + 1], *records[at[0] + 2 :]]
    assert audited(calm, damaged).miscounted == 1
    assert audited(calm, [*records, records[at[0] + 1]]).holds


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.audit)])
def test_a_crash_at_any_point_changes_no_byte(calm: Runtime, seed: int) -> None:
    rng = random.Random(seed)
    kinds = ("aggregate", "publish")
    crashes = Crashes({(point, kind): rng.sample(range(1, 40), 6) for point in POINTS for kind in kinds})
    runtime = played(PLAN, RECORDS, faults=crashes, schedule=Shuffled(rng), step=100)
    assert crashes.died >= 20
    assert by_stream(runtime) == by_stream(calm)
    assert audited(runtime).holds


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), step=st.sampled_from([20, 100, 1000]))
def test_no_interleaving_of_the_logs_changes_a_release(calm: Runtime, seed: int, step: int) -> None:
    runtime = played(PLAN, RECORDS, schedule=Shuffled(random.Random(seed)), step=step, keep=False)
    assert by_stream(runtime) == by_stream(calm)
