"""Which stages there are, what each reads, how many instances it has and how one is made: one row a stage.

Contract: both runtimes make their Tasks from this table, topics get their partitions by it, and nothing else says such
a thing.  An instance is known by the log that its stage's instances share out, its source; the door's are the users'
own topics.  Where a runtime keeps a stage's clock in no topic, it gives it the ticks itself.  Zones stand with the
topics (names.STAGES).  Not here: running them (embedded/runtime.py, kafka/worker.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.publish import FEED, ROUNDS, Publish
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Stage
from murmurate.config.plan import Plan
from murmurate.randomizers import Key
from murmurate.topics.names import STAGES, Zone

CLOCK: Final = Log("clock", 0)
"""The log of publish's own timer."""


class HasZoneKeys(Protocol):
    """The keys of some zones; None where a zone's are not here, and no stage of it is made."""

    @property
    def edge(self) -> EdgeSecrets | None:
        """The edge's."""

    @property
    def shuffle(self) -> Key | None:
        """The mixing zone's."""


@dataclass(frozen=True)
class Deployed:
    """What instances are made from."""

    plan: Plan
    keys: HasZoneKeys
    sources: Mapping[str, int]
    """Partitions of each source topic."""
    fed: bool = False
    """Whether ticks come from `feed`."""


@dataclass(frozen=True)
class StageRow:
    """One stage."""

    name: str
    source: str | None
    """The topic whose partitions its instances share out; None: those that the users' events come from."""
    partitions: Callable[[Plan], int] | None
    """How many there are of that topic; None: theirs."""
    make: Callable[[Deployed, Log], Stage]
    """A function that makes an instance from its source."""
    also: tuple[Log, ...] = ()
    """Which logs every instance reads besides."""
    ticks: Callable[[Log], Log] | None = None
    """By its source, the log of the ticks that it goes by, if it does."""
    fed: tuple[Log, ...] = ()
    """Which logs it reads besides where a recording is fed."""

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
        """All that an instance reads. ticks: whether its ticks are records of a log, and not given by the runtime."""
        own = (self.ticks(source),) if ticks and self.ticks is not None else ()
        return (source, *self.also, *(self.fed if fed else ()), *own)

    def state_partition(self, source: Log, topics: Mapping[str, int]) -> int:
        """Where an instance has its state: fixed for as long as the set of source topics stays the same."""
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
    return Shuffle(of.plan, of.keys.shuffle, source.partition)


def _aggregate(of: Deployed, source: Log) -> Stage:
    return Aggregate(of.plan, source.partition)


def _publish(of: Deployed, source: Log) -> Stage:
    return Publish(of.plan, source.partition, fed=of.fed)


def _edge(of: Deployed) -> EdgeSecrets:
    assert of.keys.edge is not None  # noqa: S101 - as above
    return of.keys.edge


TABLE: Final[Mapping[str, StageRow]] = MappingProxyType({
    row.name: row
    for row in (
        StageRow("door", None, None, _door, ticks=lambda source: Log(TICKS, source.partition), fed=(Log(TICKS, 0),)),
        StageRow("perturb", "raw", lambda plan: plan.partitions, _perturb, (ROUNDS,)),
        StageRow("shuffle", "reports", lambda plan: plan.targets, _shuffle, (ROUNDS,)),
        StageRow("aggregate", "batches", lambda plan: plan.targets, _aggregate),
        StageRow(
            "publish", "tallies", lambda plan: plan.tallies, _publish, (ROUNDS,),
            ticks=lambda source: CLOCK, fed=(Log(FEED, 0),),
        ),
    )
})  # fmt: skip
"""Every stage, in the order of the pipeline."""


def topic_partitions(plan: Plan, topics: Mapping[str, int]) -> dict[str, int]:
    """How many partitions a topic of ours has, by its name behind the deployment's; of those with more than one rule
    each stage's source and its state. Releases stand where their tallies do.
    """
    shared = {row.source: row.partitions(plan) for row in TABLE.values() if row.source and row.partitions}
    states = {f"state.{row.name}": row.state_partitions(plan, topics) for row in TABLE.values()}
    return {**shared, "releases": plan.tallies, **states}
