# SPDX-License-Identifier: Apache-2.0
"""From a plan to the Tasks of each stage on Kafka: the keys that a worker holds, and what its zones have agreed on.

Contract: what a stage reads, and how it is made, stands in the table of stages alone.  Not here: that table
(stages/table.py), running Tasks (worker.py), making topics (provision.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.stage import Log
from murmurate.agents.stages.table import TABLE, Deployed
from murmurate.config.agreement import fingerprint, values
from murmurate.config.plan import Plan
from murmurate.config.secrets import fingerprints
from murmurate.randomizers import Key, Pepper, Secrets
from murmurate.topics.messages import Config
from murmurate.topics.names import ZONES, topic


class ZoneKeys(NamedTuple):
    """The keys of the zones that a worker runs; None where it runs none of that zone."""

    edge: EdgeSecrets | None
    shuffle: Key | None
    fingerprints: Mapping[str, str] = MappingProxyType({})
    """The fingerprints of all secrets, by name."""


def zone_keys(secrets: Mapping[str, bytes], deployment: str) -> ZoneKeys:
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
    return ZoneKeys(edge, shuffle, fingerprints(secrets, deployment))


class Topology:
    """The Tasks of a deployment. `sources`: partitions of each source topic when the deployment began; `fed`: ticks
    come from `feed`; `agreed`: number of the config record that was compared; `ids`: of topics, by their full names.
    """

    def __init__(
        self, plan: Plan, keys: ZoneKeys, sources: Mapping[str, int], *, fed: bool, agreed: int = 0,
        ids: Mapping[str, str] = MappingProxyType({}), record: Config | None = None,
    ) -> None:  # fmt: skip
        said = values(plan, fed=fed)
        self._config = {zone: (fingerprint(zone, said, keys.fingerprints), agreed) for zone in ZONES}
        self._of = Deployed(plan, keys, dict(sources), fed, record)
        self._ids = dict(ids)
        self._revisions = {stream.name: (stream.config, stream.revision) for stream in plan.everything}

    def partitions(self, stage: str) -> int:
        """How many instances a stage has; of the door, how many places its state had for them at first."""
        return TABLE[stage].state_partitions(self._of.plan, self._of.sources)

    def door_states(self, sources: Mapping[str, int]) -> int:
        """How many partitions the state of the doors needs for so many partitions of each source topic."""
        return TABLE["door"].state_partitions(self._of.plan, sources)

    def wiring(self, stage: str, source: Log) -> Wiring:
        """The instance of a stage for a source partition."""
        row, of = TABLE[stage], self._of
        theirs = row.source is None
        added = theirs and source.partition >= of.sources.get(source.topic, 0)
        inputs = row.inputs(source, fed=of.fed)
        names = {log.topic: log.topic if theirs and log == source else topic(of.plan.name, log.topic) for log in inputs}
        return Wiring(
            of.plan.name, stage, row.state_partition(source, of.sources), partial(row.make, of, source),
            inputs, self._revisions, self._config[row.zone],
            pushed=None if theirs else source, foreign=frozenset({source.topic} if theirs else ()),
            ids={own: self._ids[name] for own, name in names.items() if name in self._ids},
            from_end=theirs and not of.fed and not added, added=added,
        )  # fmt: skip

    def wirings(self, stage: str, sources: Mapping[str, int] | None = None) -> list[Wiring]:
        """All instances of a stage, for so many partitions of each source topic; by default for those of the
        beginning.
        """
        row = TABLE[stage]
        return [self.wiring(stage, log) for log in row.sources(self._of.plan, sources or self._of.sources)]
