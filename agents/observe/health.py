# SPDX-License-Identifier: Apache-2.0
"""Whether a worker lives, and whether it is ready: assigned, recovered, folding.

Contract: an answer to `alive` is proof that the event loop turns.  `readiness` says in JSON what a worker waits for:
stages and partitions, nothing of what they hold.  Not here: HTTP (web/server.py), restarting anybody (whoever asks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from murmurate.agents.kafka.life import Life

if TYPE_CHECKING:  # a page of a replay has neither, and does without Kafka
    from murmurate.agents.kafka.owner import StageOwner
    from murmurate.agents.kafka.worker import Worker


class Readiness(NamedTuple):
    """The answer of `/readyz`."""

    ready: bool
    said: dict[str, Any]


Probe = Callable[[], Readiness]
"""A function that gives the current readiness."""


def alive() -> dict[str, Any]:
    """Said from inside the loop."""
    return {"status": "ok"}


class StandsStill(Protocol):
    """What is known of brokers that are away, and of a deployment that stands still."""

    def brokers(self) -> str | None:
        """A line where they are away."""
        ...

    def lines(self) -> list[str]:
        """A line for each other thing."""
        ...


def readiness(worker: Worker, still: StandsStill | None = None) -> Readiness:
    """Whether every stage knows its partitions, all of them have recovered and brokers answer; if not, what it waits
    for; if so, what stands still all the same.
    """
    zones = list(worker.zones)
    away = None if still is None else still.brokers()
    if worker.ready and away is None:
        live = {stage: len(owner.live) for stage, owner in worker.owners.items()}
        said: dict[str, Any] = {"ready": True, "zones": zones, "partitions": live}
        if still is not None and (lines := still.lines()):
            said["stands_still"] = lines
        return Readiness(True, said)
    clock = worker.clock.wrong
    waiting = [line for stage, owner in worker.owners.items() for line in _waits(stage, owner)]
    waiting += [] if clock is None else [f"clock: {clock}"]
    waiting += [] if away is None else [away]
    return Readiness(False, {"ready": False, "zones": zones, "waiting": waiting})


def _waits(stage: str, owner: StageOwner) -> list[str]:
    if not owner.settled:
        return [f"{stage}: waits for its partitions"]
    tasks = owner.tasks.items()
    late = [number for number, task in sorted(tasks) if task.life not in (Life.LIVE, Life.PARKED)]
    return [f"{stage}: recovers {len(late)} of {len(owner.tasks)} partitions ({', '.join(map(str, late))})"] * bool(
        late
    )
