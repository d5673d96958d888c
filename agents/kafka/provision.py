# SPDX-License-Identifier: Apache-2.0
"""The topics of a deployment on the brokers: what there has to be, made where it is missing, and what is wrong with it.

Contract: everything follows from names.TOPICS and the plan.  `create` may run as often as one likes, at the same time
too: what is there and right stays, a setting that differs is corrected, a number of partitions never is.  Topics of
users are looked at and never touched.  Source: ARCHITECTURE rules 12 and 13, section 5.11.  Not here: who
may do what (rights.py), what is written into `rounds` (opening.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from murmurate.agents.kafka.agreement import agreed, stranger
from murmurate.agents.kafka.client import Admin, Client, Described
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.opening import Opening, begin, look
from murmurate.agents.stages.table import topic_partitions
from murmurate.config.plan import Plan
from murmurate.config.settings import Deployment
from murmurate.topics.names import DAY_MS, STAGES, TOPICS, ZONES, Topic, Zone, topic, topics

HORIZON_MS: Final = 4 * DAY_MS
"""The replay horizon. A snapshot is never older than about a minute of running, so this is how long a zone's workers
may be away: from Friday evening over a long weekend to Tuesday morning. Anything longer would only keep raw data and
reports alive.
"""
SEGMENTS: Final = 24
"""Kafka removes whole segments: with so many to a retention, a record outlives it by a 24th at most."""
LEAST_SEGMENT_MS: Final = 60_000
STATE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "segment.bytes": str(64 << 20),
        "min.cleanable.dirty.ratio": "0.1",
        "max.compaction.lag.ms": "30000",
        "delete.retention.ms": "60000",
    }
)
"""The settings that keep a state topic near the size of its state: 76 MB for a state of 64 MB; Kafka's defaults keep 1
GB.
"""
ROWS: Final[Mapping[str, str]] = MappingProxyType(
    {**STATE, "segment.bytes": str(16 << 20), "delete.retention.ms": str(DAY_MS)}
)
"""The settings of rows for subscribers: who has been away for less than a day also hears which rows are deleted."""
COPIES_IN_SYNC: Final = 2
_FOR_LIFE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "raw": "for life: moving a user to another partition would forget what was spent",
        "rounds": "one order for everybody",
        "state.door": "as many as the source topics have: one of them was made anew with fewer",
    }
)


@dataclass(frozen=True)
class Report:
    """What `create` has done, or would do."""

    created: dict[str, int]
    """Topics that were made, with their partitions."""
    right: tuple[str, ...]
    corrected: tuple[str, ...]
    """A line for each setting that was not as it has to be, and is now."""
    refused: tuple[str, ...]
    """A line for each thing that cannot be put right."""
    started: dict[str, int]
    """Streams that begin, with their first periods."""
    config: int | None = None
    """The number of the config record that was written; None where the one in force holds all of it."""
    uncompared: tuple[str, ...] = ()
    """Secrets of which no fingerprint is known yet, so that a worker which holds one cannot join."""


def wanted(deployment: Deployment, plan: Plan, sources: Mapping[str, int]) -> dict[str, Described]:
    """Every topic of ours as it has to be. `sources`: partitions of each source topic. `events`, where a stream takes
    its events from there, is made once and then the user's: it has no settings of ours.
    """
    copies, found, sources = deployment.kafka.replication, {}, _with_ours(plan, sources)
    counts = topic_partitions(plan, sources)
    for row in topics(fed=deployment.time.clock == "feed", central=bool(plan.central), latest=plan.latest):
        name = topic(plan.name, row.name)
        if row.cleanup == "theirs":
            if name in sources:
                found[name] = Described(sources[name], copies, {})
        else:
            found[name] = Described(counts.get(row.name, 1), copies, _settings(row, plan, copies))
    return found


def _longest_ms(plan: Plan) -> int:
    """The longest stretch that a ledger looks back on."""
    return max((stream.w * stream.every_ms for stream in plan.streams), default=0) or max(
        stream.every_ms for stream in plan.central
    )


def _settings(row: Topic, plan: Plan, copies: int) -> dict[str, str]:
    """Compression would let the length of what is stored depend on what it says; a record's own time would say when it
    was made (ARCHITECTURE rule 8), and by the broker's time no writer can have records removed early or kept.
    """
    settings = {
        "cleanup.policy": row.cleanup,
        "max.message.bytes": str(row.max_bytes),
        "compression.type": "uncompressed",
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": str(COPIES_IN_SYNC if copies > COPIES_IN_SYNC else 1),
        "unclean.leader.election.enable": "false",
    }
    kept_ms = row.retention.ms(_longest_ms(plan), HORIZON_MS)
    if kept_ms is None:
        return {**settings, **(ROWS if row.latest else STATE)}
    return settings | {"retention.ms": str(kept_ms), "segment.ms": str(max(kept_ms // SEGMENTS, LEAST_SEGMENT_MS))}


async def sources(client: Client, plan: Plan) -> dict[str, int]:
    """Partitions of each source topic; TopicsError for the first that is missing."""
    async with client.admin() as admin:
        found = await _sources(admin, plan)
    ours = topic(plan.name, "events")
    if any(stream.topic == ours for stream in plan.everything) and ours not in found:
        raise TopicsError(f"{ours}: found no such topic; allowed: the one that `murmurate topics create` makes")
    return found


async def _sources(admin: Admin, plan: Plan) -> dict[str, int]:
    """The partitions of the source topics, all of which exist; only our own may be missing."""
    names, ours = sorted({stream.topic for stream in plan.everything}), topic(plan.name, "events")
    found = await admin.describe(names)
    for stream in plan.everything:
        if stream.topic not in found and stream.topic != ours:
            raise TopicsError(
                f"{stream.topic}: found no such topic, or none that we may see; allowed: the topic of your "
                f"application, which streams.{stream.name}.source.topic names"
            )
    return {name: found[name].partitions for name in names if name in found}


def _with_ours(plan: Plan, sources: Mapping[str, int]) -> Mapping[str, int]:
    """Partitions of each source topic, `events` with its own as well where it is one and is not there yet."""
    ours = topic(plan.name, "events")
    return {ours: plan.partitions, **sources} if any(s.topic == ours for s in plan.everything) else sources


async def create(
    client: Client, deployment: Deployment, plan: Plan, secrets: Mapping[str, str] = MappingProxyType({}), *,
    now_ms: int, dry_run: bool = False,
) -> Report:  # fmt: skip
    """1. Look at the sources. 2. Make what is missing. 3. Correct settings. 4. Write the config record that all workers
    compare, with fingerprints of these secrets. 5. Begin the streams, under the wall clock: the period after the one
    that holds `now_ms` is the first.
    """
    async with client.admin() as admin:
        counts = _with_ours(plan, await _sources(admin, plan))
        want = wanted(deployment, plan, counts)
        have = await admin.describe(want)
        missing = {name: want[name] for name in want if name not in have}
        if topic(plan.name, "rounds") in have:  # nothing of somebody else's is corrected
            async with client.reader() as reader:
                record = await agreed(reader, plan.name)
            if record is not None and (other := stranger(record, plan, secrets)):
                return Report({}, (), (), (other,), {})
        corrected, refused, right = [], [], []
        doors = topic(plan.name, "state.door")
        if doors in have and have[doors].partitions < want[doors].partitions:
            corrected += list(_lasting(doors, have[doors], want[doors]))[:1]
            have[doors] = have[doors]._replace(partitions=want[doors].partitions)
            if not dry_run:
                await admin.widen(doors, want[doors].partitions)
        for name in have:
            lines = list(_lasting(name, have[name], want[name]))
            wrong = _differing(have[name], want[name])
            refused += lines
            corrected += [_difference(name, key, have[name], want[name]) for key in wrong]
            if not lines and not wrong and not any(line.startswith(f"{name}: ") for line in corrected):
                right.append(name)
            if wrong and not dry_run:
                await admin.alter(name, {key: want[name].settings[key] for key in wrong})
        if missing and "rounds" in {name.removeprefix(f"{plan.name}.") for name in have}:
            fed = deployment.time.clock == "feed"  # another clock, or a central stream more: it would want more topics
            looked = await look(client, plan, secrets, counts, fed=fed, now_ms=now_ms)
            refused += looked.refused
            missing = {} if looked.refused else missing
        if missing and not dry_run:
            made = await admin.create(missing)
            missing = {name: want[name] for name in missing if name in made}
    opening = Opening(None, (), (), ())
    if not refused:
        fed, there = deployment.time.clock == "feed", topic(plan.name, "rounds") not in missing
        if dry_run:
            opening = await look(client, plan, secrets, counts, fed=fed, now_ms=now_ms, there=there)
        else:
            opening = await begin(client, plan, secrets, counts, fed=fed, now_ms=now_ms)
    created = {name: described.partitions for name, described in missing.items()}
    return Report(
        created, tuple(right), tuple(corrected), (*refused, *opening.refused),
        {start.stream: start.t for start in opening.starts}, None if opening.config is None else opening.config.number,
        opening.uncompared,
    )  # fmt: skip


async def faults(
    client: Client, deployment: Deployment, plan: Plan, zones: Iterable[Zone] = ZONES, *, doors: bool = False
) -> list[str]:
    """A line for each thing that would make a worker of these zones fail, or lose what it still needs. doors: one too
    if there are doors that wait for a place for their state, for which no worker stops.
    """
    stages = {stage for zone in zones for stage, home in STAGES.items() if home == zone}
    async with client.admin() as admin:
        try:
            found = await _sources(admin, plan) if "door" in stages else {}
        except TopicsError as error:
            return [str(error)]
        used = {topic(plan.name, row.name) for row in TOPICS.values() if stages & {*row.writers, *row.readers}}
        want = {name: described for name, described in wanted(deployment, plan, found).items() if name in used}
        have = await admin.describe(want)
    state = topic(plan.name, "state.door")
    if not doors and state in have and have[state].partitions < want[state].partitions:
        want[state] = want[state]._replace(partitions=have[state].partitions)
    return [line for name in want for line in complaints(name, have.get(name), want[name])]


def complaints(name: str, have: Described | None, want: Described) -> list[str]:
    """What is wrong with a topic and cannot be worked with, a line each."""
    if have is None:
        return [f"{name}: found no such topic, or none that we may see; allowed: {want.partitions} partitions"]
    harmful = ("cleanup.policy", "message.timestamp.type")
    wrong = [key for key in harmful if have.settings.get(key) != want.settings.get(key, have.settings.get(key))]
    for key in ("retention.ms", "max.message.bytes"):
        found = int(have.settings.get(key, -1))
        if 0 <= found < int(want.settings.get(key, 0)):
            wrong.append(key)
    return [*_lasting(name, have, want), *(_difference(name, key, have, want) for key in wrong)]


def _lasting(name: str, have: Described, want: Described) -> Iterator[str]:
    """What only a new topic, or somebody who moves it, could put right."""
    if not want.settings:
        return  # it is the user's
    if have.partitions != want.partitions:
        reason = _FOR_LIFE.get(name.partition(".")[2], "records and state have their places in them")
        if name.endswith(".state.door") and have.partitions < want.partitions:
            reason = "a source topic has been given more: `murmurate topics create` adds them"
        yield f"{name}: found {have.partitions} partitions; allowed: {want.partitions} ({reason})"
    if have.replication < want.replication:
        more = "kafka-reassign-partitions adds copies"
        yield f"{name}: found {have.replication} copies; allowed: {want.replication} ({more})"


def _differing(have: Described, want: Described) -> list[str]:
    return [key for key, value in want.settings.items() if have.settings.get(key) != value]


def _difference(name: str, key: str, have: Described, want: Described) -> str:
    return f"{name}: {key}: found {have.settings.get(key, 'nothing')}; allowed: {want.settings[key]}"
