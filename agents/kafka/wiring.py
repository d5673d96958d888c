# SPDX-License-Identifier: Apache-2.0
"""What a Task is made of, and where its logs are on the brokers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from murmurate.agents.kafka.client import Place
from murmurate.agents.stages.stage import Log, Stage


@dataclass(frozen=True)
class Wiring:
    """What a Task is made of."""

    deployment: str
    stage: str
    partition: int
    build: Callable[[], Stage]
    inputs: tuple[Log, ...]
    """The logs that it reads, by the stage's names."""
    revisions: Mapping[str, tuple[str, int]]
    config: tuple[str, int] = ("", 0)
    """Fingerprint of what may never change, as this zone knows it; number of the config record that was compared."""
    pushed: Log | None = None
    """Delivered by whoever owns the partition; the others it reads itself."""
    foreign: frozenset[str] = frozenset()
    """Topics that are not the deployment's own: the sources."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """The ids of the topics of its logs, by the stage's names; none of them where brokers have no ids."""
    from_end: bool = False
    """Whether a first start begins with the records that come from then on (sources under the wall clock)."""
    added: bool = False
    """Whether its source partition was added while the deployment ran: it has nothing to say about earlier records."""

    @property
    def name(self) -> str:
        """For logs and metrics."""
        return f"{self.stage} {self.partition}"

    @property
    def identity(self) -> str:
        """The transactional id: the same for every instance that ever owns this partition."""
        return f"{self.deployment}-{self.stage}-{self.partition}"

    @property
    def state(self) -> Place:
        """The state partition: only this Task writes there."""
        return Place(f"{self.deployment}.state.{self.stage}", self.partition)

    def place(self, log: Log) -> Place:
        """A log as a partition of a topic."""
        return Place(log.topic if log.topic in self.foreign else f"{self.deployment}.{log.topic}", log.partition)
