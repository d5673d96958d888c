# SPDX-License-Identifier: Apache-2.0
"""Central streams on the embedded runtime: whatever dies, and however logs interleave, every byte from the curator
on is that of the undisturbed run.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from murmurate.agents.embedded.runtime import Runtime
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Settled
from tests.agents.central import EVERY_KIND, beside, curated, only, ran, spending
from tests.agents.world import FIRST, SECOND, Crashes, Shuffled, arrivals, by_stream
from tests.cases import in_turn

PERIODS = 8
END = (FIRST + PERIODS + 2) * SECOND
PLANS = {
    "beside a local stream": beside(),
    "beside one, by budget": beside(split="budget"),
    "alone": only(),
    "alone, by budget": only(split="budget"),
}
RECORDS = {name: arrivals(spending(plan, users=12, periods=PERIODS), until=END) for name, plan in PLANS.items()}
POINTS = ["before fold", "after fold", "in the transaction", "after the commit", "in a snapshot", "in a recovery"]

pytestmark = pytest.mark.usefixtures("frequent_snapshots")


class Calm(dict[str, Runtime]):
    """The undisturbed run of each plan, from when somebody asks for it."""

    def __missing__(self, name: str) -> Runtime:
        self[name] = ran(PLANS[name], RECORDS[name], step=100)
        return self[name]


CALM = Calm()


@pytest.mark.parametrize("name", PLANS)
def test_every_period_of_every_central_stream_is_curated_and_released_once_in_order(name: str) -> None:
    runtime = CALM[name]
    for each in EVERY_KIND:
        said = curated(runtime, each.name)
        assert [one.t for one in said] == list(range(FIRST, FIRST + PERIODS + 1))
        assert len(by_stream(runtime)[each.name]) == len(said)
        rounds = [decode_record(value) for value in runtime.logs.all("rounds")]
        settled = [one.t for one in rounds if isinstance(one, Settled) and one.stream == each.name]
        assert settled == [one.t for one in said]  # a feed goes by them


@pytest.mark.parametrize(("name", "point"), in_turn([(name, point) for name in PLANS for point in POINTS], 1, of=3))
def test_a_crash_at_any_point_changes_no_byte(name: str, point: str) -> None:
    rng = random.Random(f"{point} {name}")
    kinds = ("door", "perturb", "curate", "publish")
    moments = {(point, kind): rng.sample(range(1, 30), 3) for kind in kinds}
    if point in ("in a recovery", "in a snapshot"):  # first something has to fail, or to be large
        moments |= {("after fold", kind): rng.sample(range(20, 60), 4) for kind in kinds}
        moments[point, "perturb"] = [1, 2, 3]
    crashes = Crashes(moments)
    runtime = ran(PLANS[name], RECORDS[name], faults=crashes, schedule=Shuffled(rng), step=100)
    assert crashes.died >= 3
    assert by_stream(runtime) == by_stream(CALM[name])
    for each in EVERY_KIND:
        assert curated(runtime, each.name) == curated(CALM[name], each.name)


@pytest.mark.parametrize("examples", [4, pytest.param(400, marks=pytest.mark.audit)])
def test_no_interleaving_of_the_logs_changes_a_release(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(seed=st.integers(0, 2**32), step=st.sampled_from([50, 1000]), name=st.sampled_from(sorted(PLANS)))
    def law(seed: int, step: int, name: str) -> None:
        runtime = ran(PLANS[name], RECORDS[name], schedule=Shuffled(random.Random(seed)), step=step)
        assert by_stream(runtime) == by_stream(CALM[name])

    law()


def test_a_central_stream_is_the_same_beside_other_streams_as_alone() -> None:
    plan = only()
    events = spending(plan, users=12, periods=PERIODS)
    whole = by_stream(ran(plan, arrivals(events, until=END), step=100))
    for each in EVERY_KIND:
        mine = [event for event in events if event.stream == each.name]
        alone = by_stream(ran(only(each), arrivals(mine, until=END), step=100))
        assert alone[each.name] == whole[each.name]


def test_the_number_of_raw_partitions_changes_no_release() -> None:
    events = spending(only(), users=12, periods=PERIODS)
    runs = [by_stream(ran(only(partitions=p), arrivals(events, until=END), step=100)) for p in (1, 2, 5)]
    assert runs[0] == runs[1] == runs[2]
