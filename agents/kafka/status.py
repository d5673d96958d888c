# SPDX-License-Identifier: Apache-2.0
"""What is going on in a deployment, by what it has written: who works, how far each stage is, which rounds are open.

Contract: the newest state records say how far a stage is, never the offsets of its group; a lag of a few offsets is
counted in records, since the ends of transactions have offsets too.  What may not be read is said, not guessed.  Raw
lag needs an edge principal (ARCHITECTURE rule 9).  Not here: the table (cli/status.py), metrics (observe/).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from murmurate.agents.kafka.client import Admin, Client, Place, Reader
from murmurate.agents.kafka.clock_status import clock_lines
from murmurate.agents.kafka.collect import places, span, states
from murmurate.agents.kafka.errors import RefusedError
from murmurate.agents.kafka.provision import faults
from murmurate.agents.kafka.retention import WARNED, line, used
from murmurate.agents.kafka.state import StateRecord
from murmurate.agents.kafka.stream_status import StreamStatus, stream_states
from murmurate.agents.kafka.topic_watch import REMADE
from murmurate.agents.kafka.transactions import OpenTransaction, limit_ms, open_transactions
from murmurate.agents.stages.door import clock_of, lost_of
from murmurate.agents.stages.stage import Log
from murmurate.agents.stages.table import TABLE
from murmurate.config.agreement import holding
from murmurate.config.plan import Plan
from murmurate.config.settings import Deployment
from murmurate.config.switch import compared
from murmurate.topics.messages import Config
from murmurate.topics.names import topic

NONE: Final[Mapping[str, str]] = MappingProxyType({})
EXACT: Final = 2_000
"""Up to so many offsets behind, records are counted."""


@dataclass
class StageStatus:
    """One stage."""

    stage: str
    zone: str
    instances: int
    group: str = "Dead"
    """The state of its group, in Kafka's words."""
    workers: dict[str, list[Place]] = field(default_factory=dict)
    """The partitions of the stage's source that each worker owns."""
    unowned: list[Place] = field(default_factory=list)
    lag: dict[Place, int] = field(default_factory=dict)
    """Records that have not been folded; of a log that several instances read, those of the slowest."""
    refused: list[str] = field(default_factory=list)
    """What the brokers do not let us see."""
    config: int | None = None
    """The oldest config record under which one of its states was written last."""
    ids: dict[str, str] = field(default_factory=dict)
    """The ids of the topics that its states have read, by their full names."""
    needed: dict[Place, int] = field(default_factory=dict)
    """From where a stage that recovers would have to read each log."""
    retention: dict[Place, float] = field(default_factory=dict)
    """The share of its retention that the oldest of these records has used up."""
    lost: dict[Place, int] = field(default_factory=dict)
    """For doors: how many offsets of each source were gone before they were read, and skipped."""
    clocks: dict[Place, int] = field(default_factory=dict)
    """For doors: the newest time that each has passed on."""


@dataclass
class Status:
    """Everything."""

    stages: list[StageStatus]
    streams: list[StreamStatus]
    wrong: list[str]
    """A line for each thing that has to be put right."""
    transactions: list[OpenTransaction] = field(default_factory=list)
    """The transactions of producers that are open in the sources."""
    config: int | None = None
    """The number of the newest config record."""
    until_ms: int | None = None
    """The instant from which its values hold; None where they hold at once."""


async def status(
    client: Client,
    deployment: Deployment,
    plan: Plan,
    secrets: Mapping[str, str] = MappingProxyType({}),
    *,
    now_ms: int,
) -> Status:
    """Look at everything, once: 1. topics, 2. who works, 3. how far stages and streams are, 4. the file and these
    secrets' fingerprints beside the config record, 5. clocks and open transactions. AwayError if nobody answers.
    """
    wrong = await faults(client, deployment, plan, doors=True)
    sources = sorted({stream.topic for stream in plan.everything})
    shared = [row.source for row in TABLE.values() if row.source is not None]
    names = [topic(plan.name, name) for name in (*shared, "rounds", "releases", "feed", "ticks")]
    names += [topic(plan.name, f"state.{stage}") for stage in TABLE]
    there = await places(client, [*sources, *names])
    needed = [stage for stage, row in TABLE.items() if row.source != "sums" or plan.central]
    found = [_stage(plan, stage, there, sources) for stage in needed]
    async with client.admin() as admin:
        ids = await admin.ids([*sources, *names])
        for each in found:
            own = [place for name in _source(plan, each.stage, sources) for place in there.get(name, [])]
            await _workers(admin, plan, each, own)
            wrong += _unmanned(each)
    fed = deployment.time.clock == "feed"
    lags = asyncio.gather(*(_lag(client, plan, each, there, sources, fed=fed) for each in found))
    configs: list[Config] = []
    _, streams = await asyncio.gather(lags, stream_states(client, plan, there, now_ms, wrong, configs, fed=fed))
    read = {name: identity for each in found for name, identity in each.ids.items()}
    wrong += [f"{name}: {REMADE}" for name in sorted(read) if ids.get(name, read[name]) != read[name]]
    config = holding(configs)
    if config is not None:
        differing = compared(config, plan, secrets, fed=fed, now_ms=0 if fed else now_ms).differences
        wrong += [f"{each.line} (config {config.number} in {topic(plan.name, 'rounds')})" for each in differing]
    door = next(each for each in found if each.stage == "door")
    wrong += await clock_lines(client, plan, there, {one.stage: set(one.workers) for one in found}, now_ms, fed=fed)
    own = [] if door.refused else [place for name in sources for place in there.get(name, [])]
    await _retained(client, found, there, now_ms, wrong)
    waits = await _waits(client, own, {} if fed else door.clocks, now_ms, wrong)
    return Status(
        found,
        streams,
        wrong,
        waits,
        None if config is None else config.number,
        None if config is None or config.until is None else config.until.time,
    )


async def _retained(
    client: Client, stages: list[StageStatus], there: Mapping[str, list[Place]], now_ms: int, wrong: list[str]
) -> None:
    """How much of its retention each log has used up that a stage needs; a line for each that is near its end."""
    worst: dict[Place, tuple[float, int]] = {}
    async with client.reader(aborted=True) as everything:
        for stage in stages:
            needed = {place: start for place, start in stage.needed.items() if place in there.get(place.topic, [])}
            with contextlib.suppress(RefusedError):  # its lag was refused too, which is said
                shares = await used(client, everything, needed, now_ms)
                stage.retention = {place: share for place, (share, _) in shares.items()}
                worst |= {place: max(share, worst.get(place, share)) for place, share in shares.items()}
    wrong += [line(place, *share) for place, share in sorted(worst.items()) if share[0] >= WARNED]


async def _waits(
    client: Client, sources: list[Place], clocks: Mapping[Place, int], now_ms: int, wrong: list[str]
) -> list[OpenTransaction]:
    """What is open in the sources; a line for each that hangs."""
    async with client.reader() as committed, client.reader(aborted=True) as everything:
        found = await open_transactions(committed, everything, sources, clocks, now_ms)
    longest = await limit_ms(client) if found else 0
    wrong += [each.line(now_ms, longest) for each in found if each.hangs(now_ms, longest)]
    return found


def _source(plan: Plan, stage: str, sources: list[str]) -> list[str]:
    source = TABLE[stage].source
    return sources if source is None else [topic(plan.name, source)]


def _stage(plan: Plan, stage: str, there: Mapping[str, list[Place]], sources: list[str]) -> StageStatus:
    instances = sum(len(there.get(name, [])) for name in _source(plan, stage, sources))
    return StageStatus(stage, TABLE[stage].zone, instances)


# ---- who works ----


async def _workers(admin: Admin, plan: Plan, found: StageStatus, own: list[Place]) -> None:
    """The members of the stage's group, by the names of their workers."""
    try:
        found.group, owners = await admin.owners(f"{plan.name}-{found.stage}")
    except RefusedError as error:
        found.refused.append(str(error))
        return
    for member, owned in owners.items():
        found.workers.setdefault(_worker(member, found.stage), []).extend(sorted(owned & set(own)))
    owned_by_any = {place for theirs in found.workers.values() for place in theirs}
    found.unowned = [place for place in own if place not in owned_by_any]


def _worker(member: str, stage: str) -> str:
    """A static member is called after its instance, `w0-perturb-` and 36 characters of the brokers' own."""
    instance, mark, rest = member[:-37], member[-37:-36], member[-36:]
    return instance.removesuffix(f"-{stage}") if mark == "-" and rest.count("-") == 4 else member


def _unmanned(found: StageStatus) -> list[str]:
    if found.refused or not found.instances:
        return []
    if not found.workers:
        return [f"{found.stage}: found no worker; allowed: at least one (see `murmurate worker --zone {found.zone}`)"]
    if found.unowned and found.group == "Stable":
        names = " ".join(f"{place.topic}/{place.partition}" for place in found.unowned)
        return [f"{found.stage}: found nobody who has {names}; allowed: a worker for each partition"]
    return []


# ---- how far it is ----


async def _lag(
    client: Client, plan: Plan, found: StageStatus, there: Mapping[str, list[Place]], sources: list[str], *, fed: bool
) -> None:
    """What each input holds beyond the marks. An instance that has never flushed has everything before it; under the
    wall clock a door begins where its source ends.
    """
    state = f"{plan.name}.state.{found.stage}"
    if state not in there:
        return
    try:
        async with client.reader() as reader:
            known = await states(reader, plan.name, found.stage, len(there[state]))
            marks: dict[Place, int] = {}
            for name in _source(plan, found.stage, sources) if fed or found.stage != "door" else ():
                marks |= {place: first for place, (first, _) in (await reader.bounds(there.get(name, []))).items()}
            begun: dict[Place, int] = {}
            found.config = min((record.config[1] for record in known.values()), default=None)
            for record in known.values():
                found.ids |= {
                    own if own in sources else topic(plan.name, own): identity for own, identity in record.ids.items()
                }
            if found.stage == "door":
                found.clocks = _clocks(known.values(), sources)
                found.lost = {
                    place: n for record in known.values() if (n := lost_of(record.small))
                    for place in _places(plan, record.marks, sources) if place.topic in sources
                }  # fmt: skip
            for record in known.values():
                for place, mark in _places(plan, record.marks, sources).items():
                    begun[place] = min(mark, begun.get(place, mark))
                for place, start in _places(plan, record.start, sources).items():
                    found.needed[place] = min(start, found.needed.get(place, start))
            marks |= begun
            found.lag = await behind(reader, {p: mark for p, mark in marks.items() if p in there.get(p.topic, [])})
    except RefusedError as error:
        found.refused.append(str(error))


def _places(plan: Plan, offsets: Mapping[Log, int], sources: Iterable[str]) -> dict[Place, int]:
    def place(log: Log) -> Place:
        return Place(log.topic if log.topic in sources else f"{plan.name}.{log.topic}", log.partition)

    return {place(log): offset for log, offset in offsets.items()}


def _clocks(records: Iterable[StateRecord], sources: Iterable[str]) -> dict[Place, int]:
    return {
        Place(*log): clock
        for record in records
        if (clock := clock_of(record.small)) is not None
        for log in record.marks
        if log.topic in sources
    }


async def behind(reader: Reader, marks: Mapping[Place, int]) -> dict[Place, int]:
    """What lies beyond these offsets: records where they are few, else offsets."""
    if not marks:
        return {}
    ends = {place: end for place, (_, end) in (await reader.bounds(list(marks))).items()}
    lag = {place: max(0, ends[place] - mark) for place, mark in marks.items()}
    few = {place: (marks[place], ends[place]) for place, n in lag.items() if 0 < n <= EXACT}
    lag |= dict.fromkeys(few, 0)
    async for got in span(reader, few):
        lag[got.place] += 1
    return dict(sorted(lag.items()))
