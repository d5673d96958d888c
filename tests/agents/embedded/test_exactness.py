# SPDX-License-Identifier: Apache-2.0
"""Whatever goes wrong, the releases are those of the undisturbed run, to the byte; and the logs hold exactly what
they must.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from murmurate.agents.audit.auditor import Audit, audit
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.embedded.task import Task
from murmurate.agents.stages.door import Door
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan
from murmurate.topics.domains import Grid
from tests.agents.world import (
    FIRST,
    KEYS,
    SECOND,
    TOPIC,
    Crashes,
    Event,
    Shuffled,
    arrivals,
    by_stream,
    crowd,
    deployment,
    played,
    stream,
)
from tests.cases import every, in_turn

PERIODS = 8
END = (FIRST + PERIODS + 2) * SECOND
SPLIT = deployment()
BUDGET = deployment(split="budget")
ALONE = deployment(stream("screen", "lpu", carry_ms=None, several="first"), partitions=1, targets=1)
SELDOM = deployment(
    stream("screen", "lsp", share_micro=600_000),
    stream(
        "mood", "lb-fast", share_micro=400_000, carry_ms=1500,
        method=MethodOptions("lb-fast", filter="adaptive", revise=2),
    ),
)  # fmt: skip
CHANGES = deployment(
    stream(
        "screen", "sao2", share_micro=700_000,
        method=MethodOptions(
            "sao2", horizon="4", changes="4", fanout="2", goal="mean", users="0", filter="adaptive"
        ),
    ),
    stream(
        "mood", "sao2", share_micro=300_000, carry_ms=None, measure="mean", domain=Grid(0, 4, 5, "points"),
        method=MethodOptions(
            "sao2", horizon="3", changes="2", fanout="3", goal="prefix", users="0", form="majority", portions="simple",
            revise=3,
        ),
    ),
    min_batch=2,
)  # fmt: skip
PLANS = {
    "split by users": SPLIT,
    "split by budget": BUDGET,
    "one stream, one partition, values for ever": ALONE,
    "periods in which nothing is asked, or that are released twice": SELDOM,
    "horizons of changes": CHANGES,
}
POINTS = ["before fold", "after fold", "in the transaction", "after the commit", "in a snapshot", "in a recovery"]


pytestmark = pytest.mark.usefixtures("frequent_snapshots")


def records(plan: Plan, users: int = 120) -> list[Out]:
    return arrivals(crowd(plan, users=users, periods=PERIODS), until=END)


def audited(runtime: Runtime, plan: Plan) -> Audit:
    def read(topic: str, partition: int) -> Sequence[bytes]:
        log = Log(topic, partition)
        return [runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))]

    return audit(plan, KEYS.edge.devices, read, {TOPIC: 2})


class Calm(dict[str, Runtime]):
    """The undisturbed run of each plan, from when somebody asks for it."""

    def __missing__(self, name: str) -> Runtime:
        self[name] = played(PLANS[name], records(PLANS[name]), step=100)
        return self[name]


class FewCalm(dict[str, dict[str, list[bytes]]]):
    """What it releases of few events."""

    def __missing__(self, name: str) -> dict[str, list[bytes]]:
        self[name] = by_stream(played(PLANS[name], FEW[name], step=1000))
        return self[name]


CALM, FEW_CALM = Calm(), FewCalm()
FEW = {
    name: arrivals(crowd(plan, users=30, periods=4), until=(FIRST + 6) * SECOND, every=500)
    for name, plan in PLANS.items()
}


@pytest.mark.parametrize("name", PLANS)
def test_the_undisturbed_run_releases_every_period_once_and_passes_the_audit(name: str) -> None:
    plan, runtime = PLANS[name], CALM[name]
    for each in plan.streams:
        said = [orjson.loads(record) for record in by_stream(runtime)[each.name]]
        released = [record for record in said if record["revision"] == 1]
        revised = [record["t"] for record in said if record["revision"] == 2]
        assert len(revised) == (len(released) - each.method.revise if each.method.revise else 0)
        assert len(released) == (END - 500) // each.every_ms - FIRST * SECOND // each.every_ms
    found = audited(runtime, plan)
    assert found.holds, found.where
    assert found.reports > 0


@pytest.mark.parametrize(("name", "point"), in_turn([(name, point) for name in PLANS for point in POINTS], 1, of=3))
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.audit)])
def test_a_crash_at_any_point_changes_no_byte(name: str, point: str, seed: int) -> None:
    rng = random.Random(f"{point} {seed}")
    kinds = ("door", "perturb", "shuffle", "aggregate", "publish")
    moments = {(point, kind): rng.sample(range(1, 30), 3) for kind in kinds}
    if point in ("in a recovery", "in a snapshot"):  # first something has to fail, or to be large
        moments |= {("after fold", kind): rng.sample(range(20, 60), 4) for kind in kinds}
        moments[point, "perturb"] = [1, 2, 3]
    crashes = Crashes(moments)
    plan = PLANS[name]
    runtime = played(plan, records(plan), faults=crashes, schedule=Shuffled(rng), step=100)
    assert crashes.died >= 3
    assert by_stream(runtime) == by_stream(CALM[name])
    found = audited(runtime, plan)
    assert found.holds, found.where


@pytest.mark.parametrize("examples", [16, pytest.param(3000, marks=pytest.mark.audit)])
def test_no_interleaving_of_the_logs_changes_a_release(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(seed=st.integers(0, 2**32), step=st.sampled_from([20, 100, 1000]), name=st.sampled_from(sorted(PLANS)))
    def law(seed: int, step: int, name: str) -> None:
        schedule = Shuffled(random.Random(seed))
        assert by_stream(played(PLANS[name], FEW[name], schedule=schedule, step=step, keep=False)) == FEW_CALM[name]

    law()


def test_a_replay_from_any_snapshot_gives_the_same_state() -> None:
    # Each perturb instance is torn down after every few records; the snapshot of the new one is that of the old one.
    runtime = Runtime(SPLIT, KEYS, sources={TOPIC: 2}, schedule=Shuffled(random.Random(7)), keep=True)
    runtime.start({each.name: FIRST * SECOND // each.every_ms for each in SPLIT.streams})
    given_records = records(SPLIT)
    for at in range(0, len(given_records), 150):
        runtime.write(given_records[at : at + 150])
        runtime.run()
        for one in runtime.tasks:
            before = b"".join(one.stage.snapshot()), one.stage.small()
            one.recover()
            one.stage.replay_from(one.marks)
            assert (b"".join(one.stage.snapshot()), one.stage.small()) == before
    assert sum(one.recoveries for one in runtime.tasks) > 100
    assert by_stream(runtime) == by_stream(CALM["split by users"])


# ---- what happens to events ----


def disturbed(events: Sequence[Event], rng: random.Random) -> list[Event]:
    """5 % twice, 5 % later than they were but within lateness."""
    out = list(events)
    out += [replace(event, arrives=event.arrives + rng.randrange(100)) for event in rng.sample(out, len(out) // 20)]
    for i in rng.sample(range(len(out)), len(out) // 20):
        out[i] = replace(out[i], arrives=out[i].time + 450)
    return sorted(out, key=lambda event: event.arrives)


def test_duplicates_and_reordering_within_lateness_change_no_byte() -> None:
    events = crowd(SPLIT, users=120, periods=PERIODS)
    for seed in range(3):
        runtime = played(SPLIT, arrivals(disturbed(events, random.Random(seed)), until=END), step=100)
        assert by_stream(runtime) == by_stream(CALM["split by users"])
        assert audited(runtime, SPLIT).holds


def test_late_events_are_counted_and_leave_nothing_behind() -> None:
    events = crowd(SPLIT, users=120, periods=PERIODS)
    rng = random.Random(3)
    late = set(rng.sample(range(len(events)), len(events) // 10))
    # later than the lateness after the end of the longest period that may hold them, up to 2 w after it
    tardy = [
        replace(e, arrives=e.time + 3500 + rng.randrange(2 * 4 * SECOND)) for i, e in enumerate(events) if i in late
    ]
    tardy = [event for event in tardy if event.arrives < END - SECOND]
    kept = [event for i, event in enumerate(events) if i not in late]
    without = played(SPLIT, arrivals(kept, until=END), step=100)
    both = played(SPLIT, arrivals(sorted(kept + tardy, key=lambda e: e.arrives), until=END), step=100)
    assert by_stream(both) == by_stream(without)
    assert refused(*both.of_stage["door"])["late"] == len(tardy) > 50
    assert audited(both, SPLIT).holds


def test_a_forged_future_changes_nothing_and_closes_nothing() -> None:
    events = crowd(SPLIT, users=120, periods=PERIODS)
    forged = [replace(events[50], time=events[50].time + ahead) for ahead in (10**6, 10**9, 10**12)]
    runtime = played(SPLIT, arrivals(sorted(events + forged, key=lambda e: e.arrives), until=END), step=100)
    assert by_stream(runtime) == by_stream(CALM["split by users"])
    assert refused(*runtime.of_stage["door"])["future"] == 3


def test_bad_events_are_refused_by_reason_and_the_rest_goes_on() -> None:
    good = b'{"stream": "screen", "user": "u", "time": 100000, "value": "home"}'
    bad = [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 10_000,
        b'{"stream": "screen"}',
        good.replace(b"screen", b"nobody"),
        good.replace(b'"u"', b"1.5"),
        good.replace(b'"u"', b'""'),
        good.replace(b"100000", b'"noon"'),
        good.replace(b"100000", b"NaN"),
    ]
    given_records = records(SPLIT)
    at = next(i for i, out in enumerate(given_records) if out.log == Log(TOPIC, 1))
    runtime = Runtime(SPLIT, KEYS, sources={TOPIC: 2}, keep=True)
    runtime.start({each.name: FIRST * SECOND // each.every_ms for each in SPLIT.streams})
    # the same partition, so that its offsets move: ticks count what they cover
    shifted = [_shifted(out, len(bad)) if i >= at else out for i, out in enumerate(given_records)]
    runtime.write(shifted[:at] + [Out(Log(TOPIC, 1), record) for record in bad] + shifted[at:])
    runtime.run()
    assert by_stream(runtime) == by_stream(CALM["split by users"])
    counts = refused(runtime.of_stage["door"][1])
    assert {reason: counts[reason] for reason in ("json", "field", "stream", "type", "user", "time")} == {
        "json": 5, "field": 1, "stream": 1, "type": 1, "user": 1, "time": 1,
    }  # fmt: skip
    dead = runtime.logs.all("dead.edge")
    assert len(dead) == len(bad)
    assert not any(b"home" in record or b"nobody" in record for record in dead)


def refused(*doors: Task) -> Counter[str]:
    """How many events these doors have refused, by reason."""
    found = Counter[str]()
    for door in doors:
        assert isinstance(door.stage, Door)
        for (_, reason), n in door.stage.counts.items():
            found[reason] += n
    return found


def _shifted(out: Out, by: int) -> Out:
    from murmurate.topics.codec import decode, encode
    from murmurate.topics.messages import Tick

    if out.log != Log("ticks", 1):
        return out
    tick = decode(out.value)
    assert isinstance(tick, Tick)
    return Out(out.log, encode(tick.model_copy(update={"end": tick.end + by if tick.end else 0})))


# ---- contributors who do not come ----


def test_a_missing_contributor_is_closed_out_by_one_logged_close_and_everybody_drops_it() -> None:
    schedule = Shuffled(random.Random(1), frozen=["perturb 2"])
    runtime = Runtime(SPLIT, KEYS, sources={TOPIC: 2}, schedule=schedule, keep=True)
    runtime.start({each.name: FIRST * SECOND // each.every_ms for each in SPLIT.streams})
    runtime.write(records(SPLIT))
    assert not runtime.run()
    assert not runtime.releases()  # everybody waits for it
    for now in range(FIRST * SECOND, END + 15000, 250):  # each round of the dead has a patience of its own
        runtime.tick(now)
        runtime.run()
    released = by_stream(runtime)["screen"]
    assert len(released) > 4
    assert all(b'"missing":1' in release for release in released[:4])
    schedule.frozen.clear()  # it wakes, and posts what nobody waits for any more
    runtime.run()
    for now in range(END + 15000, END + 20000, 250):
        runtime.tick(now)
        runtime.run()
    found = audited(runtime, SPLIT)
    assert found.holds, found.where
    after = by_stream(runtime)["screen"]
    assert after[: len(released)] == released


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.audit) for seed in (1, 2, 3))])
def test_a_door_that_is_down_for_longer_than_the_patience_delays_periods_and_drops_nothing(seed: int) -> None:
    schedule = Shuffled(random.Random(seed), frozen=[f"door {TOPIC} 1"])
    runtime = Runtime(SPLIT, KEYS, sources={TOPIC: 2}, schedule=schedule, keep=True)
    runtime.start({each.name: FIRST * SECOND // each.every_ms for each in SPLIT.streams})
    runtime.write(records(SPLIT))
    for now in range(FIRST * SECOND, END + 60_000, 250):  # one tick for each turn of everybody
        if now == END + 20_000:
            assert not runtime.releases()
            schedule.frozen.clear()
        runtime.tick(now)
        runtime.run()
    assert by_stream(runtime) == by_stream(played(SPLIT, records(SPLIT)))


@every("seeds", [(0, 1)], long=[(2, 3, 4, 5)])
def test_a_closed_round_never_opens_again_and_the_dead_may_recover_at_any_time(seeds: tuple[int, ...]) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        schedule = Shuffled(rng, frozen=["perturb 2"])
        crashes = Crashes(
            {("after fold", kind): rng.sample(range(1, 300), 6) for kind in ("shuffle", "publish", "perturb")}
        )
        runtime = Runtime(SPLIT, KEYS, sources={TOPIC: 2}, schedule=schedule, faults=crashes, keep=True)
        runtime.start({each.name: FIRST * SECOND // each.every_ms for each in SPLIT.streams})
        runtime.write(records(SPLIT))
        for now in range(FIRST * SECOND, END + 8000, 250):
            if now == END:
                schedule.frozen.clear()
            runtime.tick(now)
            runtime.run()
        found = audited(runtime, SPLIT)
        assert found.holds, found.where
        periods = by_stream(runtime)["screen"]
        assert len(set(periods)) == len(periods)
