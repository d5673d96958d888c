"""Whether a worker lives, and whether it is ready: assigned, recovered, folding.

Contract: an answer to `alive` is proof that the event loop turns.  `readiness` says in JSON what a worker waits for:
stages and partitions, nothing of what they hold.  Not here: HTTP (web/server.py), restarting anybody (whoever asks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from murmurate.agents.kafka.life import Life
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


def readiness(worker: Worker) -> Readiness:
    """Whether every stage knows its partitions and all of them have recovered; if not, what it waits for."""
    zones = list(worker.zones)
    if worker.ready:
        live = {stage: len(owner.live) for stage, owner in worker.owners.items()}
        return Readiness(True, {"ready": True, "zones": zones, "partitions": live})
    clock = worker.clock.wrong
    waiting = [line for stage, owner in worker.owners.items() for line in _waits(stage, owner)]
    waiting += [] if clock is None else [f"clock: {clock}"]
    return Readiness(False, {"ready": False, "zones": zones, "waiting": waiting})


def _waits(stage: str, owner: StageOwner) -> list[str]:
    if not owner.settled:
        return [f"{stage}: waits for its partitions"]
    tasks = owner.tasks.items()
    late = [number for number, task in sorted(tasks) if task.life not in (Life.LIVE, Life.PARKED)]
    return [f"{stage}: recovers {len(late)} of {len(owner.tasks)} partitions ({', '.join(map(str, late))})"] * bool(
        late
    )
