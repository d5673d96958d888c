# SPDX-License-Identifier: Apache-2.0
"""A small deployment with everything in it: two streams, partitions everywhere, latecomers, missing values; for many
tests.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from murmurate.agents.embedded.runtime import Keys, Runtime, Schedule
from murmurate.agents.embedded.task import Fault, Faults
from murmurate.agents.stages.door import TICKS
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Key, Pepper, Secrets
from murmurate.topics.codec import encode
from murmurate.topics.domains import Categories, Domain
from murmurate.topics.events import Fields
from murmurate.topics.messages import Tick

TOPIC = "shop.events"
FIRST = 100
SECOND = 1000
NUMBERS = {"home": 1, "basket": 2, "help": 3.6, "elsewhere": 9}
SCREENS = Categories(("home", "basket", "help"), other=True)


def secret(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def key(name: str) -> Key:
    return Key(secret(name), deployment="shop")


KEYS = Keys(
    EdgeSecrets(
        Secrets(key("randomness"), key("slots"), key("split")),
        Pepper(secret("pepper"), deployment="shop"),
        secret("state"),
    ),
    key("shuffle"),
)


def stream(
    name: str, schedule: str = "lpa", *, measure: str = "frequency", domain: Domain = SCREENS, unit: str | None = None,
    **changes: Any,
) -> StreamPlan:  # fmt: skip
    units = {} if unit is None else {"unit": unit}
    plan = StreamPlan(
        name=name,
        measure=KINDS[measure](domain, changes.get("carry_ms", 0) is not None, **units),
        every_ms=SECOND,
        w=4,
        share_micro=1_000_000,
        slots=128,
        method=MethodOptions(schedule, variance="sampling" if schedule == "lpa" else None, filter="adaptive"),
        mechanism="auto",
        several="last",
        carry_ms=changes.pop("carry_ms", 0),
        topic=TOPIC,
        fields=Fields(stream="/stream"),
        config="0123456789abcdef",
    )
    return replace(plan, **changes)


def deployment(*streams: StreamPlan, **changes: Any) -> Plan:
    plan = Plan(
        name="shop",
        epsilon_micro=2_000_000,
        split="users",
        window_ms=None,
        delta=1e-8,
        min_batch=8,
        assumed_corrupt=0.1,
        partitions=3,
        targets=2,
        enrol="seen",
        forget_after_ms=10**12,
        lateness_ms=500,
        future_ms=5000,
        patience_ms=3000,
        streams=streams
        or (
            stream("screen", share_micro=600_000),
            stream("mood", "lbu", share_micro=400_000, carry_ms=1500, every_ms=2 * SECOND),
        ),
    )
    return replace(plan, **changes)


@dataclass(frozen=True)
class Event:
    """An event and where and when it arrives."""

    stream: str
    user: str
    time: int
    value: Any
    partition: int
    arrives: int

    def record(self) -> bytes:
        return orjson.dumps({"stream": self.stream, "user": self.user, "time": self.time, "value": self.value})


def crowd(plan: Plan, *, users: int = 240, periods: int = 12, seed: int = 1, sources: int = 2) -> list[Event]:
    """Events in order of arrival, at most 300 ms after their time."""
    rng = random.Random(seed)
    events = []
    start = (FIRST - 1) * SECOND
    for u in range(users):
        for each in plan.streams:
            for t in range(periods + 1):
                if t and rng.random() < 0.25:
                    continue
                for _ in range(1 + (rng.random() < 0.2)):
                    time = start + t * SECOND + rng.randrange(SECOND)
                    value = rng.choice(["home", "home", "basket", "help", "elsewhere"])
                    said = NUMBERS[value] if each.measure.range else value
                    events.append(Event(each.name, f"user-{u}", time, said, u % sources, time + rng.randrange(300)))
    return sorted(events, key=lambda event: (event.arrives, event.user, event.stream))


def arrivals(events: Sequence[Event], *, until: int, every: int = 250, sources: int = 2) -> list[Out]:
    """The source's logs and ticks: events as they arrive, and four times a second what the clock says."""
    out, ends, position = [], dict.fromkeys(range(sources), 0), 0
    for now in range((FIRST - 1) * SECOND, until + every, every):
        ticks = [Tick(topic=TOPIC, partition=p, time=now, end=ends[p]) for p in range(sources)]
        out += [Out(Log(TICKS, tick.partition), encode(tick)) for tick in ticks]
        while position < len(events) and events[position].arrives < now + every:
            event = events[position]
            out.append(Out(Log(TOPIC, event.partition), event.record()))
            ends[event.partition] += 1
            position += 1
    assert position == len(events)
    return out


def played(
    plan: Plan,
    records: Sequence[Out],
    *,
    schedule: Schedule | None = None,
    faults: Faults | None = None,
    step: int = 0,
    keep: bool = True,
    keys: Keys = KEYS,
    sources: int = 2,
) -> Runtime:
    """A runtime that has taken all the records, `step` at a time (all at once)."""
    runtime = Runtime(plan, keys, sources={TOPIC: sources}, schedule=schedule, faults=faults, keep=keep)
    runtime.start({each.name: FIRST * SECOND // each.every_ms for each in plan.everything})
    for at in range(0, len(records), step or len(records)):
        runtime.write(records[at : at + (step or len(records))])
        runtime.run()
    return runtime


def by_stream(runtime: Runtime) -> dict[str, list[bytes]]:
    """Releases, each stream's in order."""
    found: dict[str, list[bytes]] = {}
    for record in runtime.releases():
        found.setdefault(orjson.loads(record)["stream"], []).append(record)
    return found


class Shuffled:
    """Turns in an order, and of a size, that a seed decides; a frozen task gets none."""

    def __init__(self, rng: random.Random, frozen: Sequence[str] = ()) -> None:
        self.rng, self.frozen = rng, list(frozen)

    def turns(self, tasks: Sequence[Any]) -> list[tuple[Any, int, list[Log]]]:
        rng = self.rng
        return [
            (task, rng.choice([1, 2, 5, 50, 1000]), rng.sample(task.inputs, len(task.inputs)))
            for task in rng.sample(list(tasks), len(tasks))
            if task.name not in self.frozen
        ]


class Crashes:
    """Dies at given moments: the n-th time that a point is passed by a task of that kind."""

    def __init__(self, moments: Mapping[tuple[str, str], Sequence[int]]) -> None:
        self.moments = {place: set(times) for place, times in moments.items()}
        self.passed: dict[tuple[str, str], int] = {}
        self.died = 0

    def at(self, point: str, task: str) -> None:
        place = (point, task.split()[0])
        self.passed[place] = self.passed.get(place, 0) + 1
        if self.passed[place] in self.moments.get(place, ()):
            self.died += 1
            raise Fault(point)


def calm_and_torn(play: Callable[..., Runtime], name: str) -> tuple[Runtime, Runtime]:
    """The same events played in peace, and with crashes at every kind of point of door and perturb, logs in any order.
    play: takes `played`'s options.
    """
    calm, rng = play(step=100), random.Random(name)
    moments = {
        (point, stage): rng.sample(range(2, 20), 3)
        for point in ("before fold", "in the transaction", "after the commit") for stage in ("door", "perturb")
    } | {("in a snapshot", "perturb"): [1, 2, 3], ("in a recovery", "perturb"): [2, 4]}  # fmt: skip
    crashes = Crashes(moments)
    torn = play(step=40, schedule=Shuffled(rng), faults=crashes)
    assert crashes.died >= 8
    return calm, torn
