# SPDX-License-Identifier: Apache-2.0
"""Which stages there are, what each reads, how many instances it has and how one is made: one row a stage.

Contract: both runtimes make their Tasks from this table, topics get their partitions by it, and no other place has
these facts.  An instance is named by its source, the one log that no other instance of its stage reads; the door's
sources are the partitions of the users' own topics.  A runtime without a topic for a stage's clock hands it the ticks
itself.  The zone of each stage is in topics/names.py.  Not here: running them (embedded/runtime.py, kafka/worker.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.curate import Curate
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.publish import FEED, ROUNDS, Publish
from murmurate.agents.stages.shuffle import CLOSINGS, Shuffle
from murmurate.agents.stages.stage import Log, Stage
from murmurate.config.plan import Plan
from murmurate.randomizers import Key
from murmurate.topics.messages import Config
from murmurate.topics.names import STAGES, Zone

CLOCK: Final = Log("clock", 0)
"""The log of publish's own timer."""


class HasZoneKeys(Protocol):
    """The keys of the zones that run here; None for the others, of which no stage is made."""

    @property
    def edge(self) -> EdgeSecrets | None:
        """The keys of the edge."""

    @property
    def shuffle(self) -> Key | None:
        """The key of the mixing zone."""


@dataclass(frozen=True)
class Deployed:
    """The facts of a deployment from which instances are made."""

    plan: Plan
    keys: HasZoneKeys
    sources: Mapping[str, int]
    """Partitions of each source topic when the deployment began."""
    fed: bool = False
    """Whether ticks come from `feed`."""
    agreed: Config | None = None
    """The config record that was compared, where there is one."""


@dataclass(frozen=True)
class StageRow:
    """One stage."""

    name: str
    source: str | None
    """The topic of which each instance reads one partition; None: the topics with the users' events."""
    partitions: Callable[[Plan], int] | None
    """The number of partitions of `source`; None where that is None."""
    make: Callable[[Deployed, Log], Stage]
    """A function that makes an instance from its source."""
    also: tuple[Log, ...] = ()
    """The other logs that every instance reads."""
    ticks: Callable[[Log], Log] | None = None
    """A function from an instance's source to the log of its ticks; None for a stage without a clock."""
    fed: tuple[Log, ...] = ()
    """The logs that an instance also reads where a recording is fed."""

    @property
    def zone(self) -> Zone:
        """Who runs it."""
        return STAGES[self.name]

    def sources(self, plan: Plan, topics: Mapping[str, int]) -> Sequence[Log]:
        """The sources of all its instances. topics: partitions of each source topic."""
        if self.source is None or self.partitions is None:
            return [Log(topic, p) for topic, count in topics.items() for p in range(count)]
        return [Log(self.source, p) for p in range(self.partitions(plan))]

    def inputs(self, source: Log, *, fed: bool = False, ticks: bool = False) -> tuple[Log, ...]:
        """All logs that an instance reads. ticks: whether its ticks come from a log rather than from the runtime."""
        own = (self.ticks(source),) if ticks and self.ticks is not None else ()
        return (source, *self.also, *(self.fed if fed else ()), *own)

    def state_partition(self, source: Log, topics: Mapping[str, int]) -> int:
        """The partition with an instance's state: fixed as long as the set of source topics stays the same."""
        if self.source is not None:
            return source.partition
        names = sorted(topics)
        return source.partition * len(names) + names.index(source.topic)

    def state_partitions(self, plan: Plan, topics: Mapping[str, int]) -> int:
        """How many partitions its state has."""
        if self.partitions is not None:
            return self.partitions(plan)
        return len(topics) * max(topics.values(), default=1)


def _door(of: Deployed, source: Log) -> Stage:
    return Door(of.plan, _edge(of).pepper, source.topic, source.partition)


def _perturb(of: Deployed, source: Log) -> Stage:
    return Perturb(of.plan, _edge(of), source.partition, of.sources)


def _shuffle(of: Deployed, source: Log) -> Stage:
    assert of.keys.shuffle is not None  # noqa: S101 - whoever runs a stage has loaded its zone's secrets
    return Shuffle(of.plan, of.keys.shuffle, source.partition, of.agreed)


def _aggregate(of: Deployed, source: Log) -> Stage:
    return Aggregate(of.plan, source.partition)


def _curate(of: Deployed, source: Log) -> Stage:
    return Curate(of.plan, _edge(of), source.partition)


def _publish(of: Deployed, source: Log) -> Stage:
    return Publish(of.plan, source.partition, fed=of.fed, agreed=of.agreed)


def _edge(of: Deployed) -> EdgeSecrets:
    assert of.keys.edge is not None  # noqa: S101 - as above
    return of.keys.edge


TABLE: Final[Mapping[str, StageRow]] = MappingProxyType({
    row.name: row
    for row in (
        StageRow("door", None, None, _door, ticks=lambda source: Log(TICKS, source.partition), fed=(Log(TICKS, 0),)),
        StageRow("perturb", "raw", lambda plan: plan.partitions, _perturb, (ROUNDS,)),
        StageRow("curate", "sums", lambda plan: int(bool(plan.central)), _curate, (ROUNDS,)),
        StageRow("shuffle", "reports", lambda plan: plan.targets, _shuffle, (ROUNDS, CLOSINGS)),
        StageRow("aggregate", "batches", lambda plan: plan.targets, _aggregate),
        StageRow(
            "publish", "tallies", lambda plan: plan.tallies, _publish, (ROUNDS,),
            ticks=lambda source: CLOCK, fed=(Log(FEED, 0),),
        ),
    )
})  # fmt: skip
"""Every stage, in the order of the pipeline."""


def topic_partitions(plan: Plan, topics: Mapping[str, int]) -> dict[str, int]:
    """The number of partitions of each topic that may have several, by its name without the deployment's: each stage's
    source and its state. A stream's releases, and their rows, are in the partition with the number of its tallies'.
    """
    shared = {row.source: row.partitions(plan) for row in TABLE.values() if row.source and row.partitions}
    states = {f"state.{row.name}": row.state_partitions(plan, topics) for row in TABLE.values()}
    return {**shared, "releases": plan.tallies, "releases.latest": plan.tallies, **states}
