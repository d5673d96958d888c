"""From a plan to the Tasks of each stage: which logs each reads, who may run it, and where its state is.

Contract: one row a stage; source partitions have fixed places in the door's state for as long as the set of source
topics stays the same.  Not here: running them (worker.py), making topics (provision.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.publish import FEED, Publish
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Stage
from murmurate.config.agreement import fingerprint, values
from murmurate.config.plan import Plan
from murmurate.config.secrets import fingerprints
from murmurate.randomizers import Key, Pepper, Secrets
from murmurate.topics.names import STAGES, ZONES

ROUNDS: Final = Log("rounds", 0)
CLOCK: Final = Log("clock", 0)
"""Publish's own timer: in no topic."""
SOURCE: Final[Mapping[str, str]] = {
    "perturb": "raw",
    "shuffle": "reports",
    "aggregate": "batches",
    "publish": "tallies",
}
"""The topic whose partitions a stage's instances share out."""


class Held(NamedTuple):
    """The keys of the zones that a worker runs; None where it runs none of that zone."""

    edge: EdgeSecrets | None
    shuffle: Key | None
    fingerprints: Mapping[str, str] = MappingProxyType({})
    """Of all of them."""


def held(secrets: Mapping[str, bytes], deployment: str) -> Held:
    """Keys from loaded secrets."""
    edge = shuffle = None
    if "pepper" in secrets:
        devices = Secrets(
            randomness=Key(secrets["randomness"], deployment=deployment),
            slots=Key(secrets["slots"], deployment=deployment),
            split=Key(secrets["split"], deployment=deployment),
        )
        edge = EdgeSecrets(devices, Pepper(secrets["pepper"], deployment=deployment), secrets["state"])
    if "shuffle" in secrets:
        shuffle = Key(secrets["shuffle"], deployment=deployment)
    return Held(edge, shuffle, fingerprints(secrets, deployment))


class Topology:
    """The Tasks of a deployment. `sources`: partitions of each source topic; `fed`: ticks come from `feed`;
    `agreed`: number of the config record was compared.
    """

    def __init__(self, plan: Plan, keys: Held, sources: Mapping[str, int], *, fed: bool, agreed: int = 0) -> None:
        said = values(plan, fed=fed)
        self._config = {zone: (fingerprint(zone, said, keys.fingerprints), agreed) for zone in ZONES}
        self._plan, self._keys, self._sources, self._fed = plan, keys, dict(sources), fed
        self._topics = sorted(sources)
        self._revisions = {stream.name: (stream.config, stream.revision) for stream in plan.streams}

    def partitions(self, stage: str) -> int:
        """How many instances a stage has."""
        plan = self._plan
        counts = {
            "perturb": plan.partitions,
            "shuffle": plan.targets,
            "aggregate": plan.targets,
            "publish": plan.tallies,
        }
        return counts[stage] if stage != "door" else door_partitions(self._sources)

    def wiring(self, stage: str, partition: int) -> Wiring:
        """The instance of a stage for a source partition."""
        plan, source = self._plan, Log(SOURCE[stage], partition)
        build: Callable[[], Stage]
        inputs: tuple[Log, ...] = (source, ROUNDS)
        match stage:
            case "perturb":
                assert self._keys.edge is not None  # noqa: S101 - the worker has loaded its zones' secrets
                build = partial(Perturb, plan, self._keys.edge, partition, self._sources)
            case "shuffle":
                assert self._keys.shuffle is not None  # noqa: S101 - as above
                build = partial(Shuffle, plan, self._keys.shuffle, partition)
            case "aggregate":
                build, inputs = partial(Aggregate, plan, partition), (source,)
            case _:
                build = partial(Publish, plan, partition, fed=self._fed)
                if self._fed:
                    inputs = (source, ROUNDS, Log(FEED, 0))
        return Wiring(
            plan.name, stage, partition, build, inputs, self._revisions, self._config[STAGES[stage]], pushed=source
        )

    def door(self, topic: str, partition: int) -> Wiring:
        """The door of a source partition."""
        assert self._keys.edge is not None  # noqa: S101 - as above
        inputs = (Log(topic, partition), Log(TICKS, 0)) if self._fed else (Log(topic, partition),)
        return Wiring(
            self._plan.name, "door", partition * len(self._topics) + self._topics.index(topic),
            partial(Door, self._plan, self._keys.edge.pepper, topic, partition), inputs, self._revisions,
            self._config["edge"], foreign=frozenset({topic}), from_end=not self._fed,
        )  # fmt: skip


def door_partitions(sources: Mapping[str, int]) -> int:
    """Partitions of the door's state."""
    return len(sources) * max(sources.values(), default=1)
