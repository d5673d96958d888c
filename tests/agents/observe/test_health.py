# SPDX-License-Identifier: Apache-2.0
"""A worker is ready when it knows its partitions and all have recovered; until then it says what it waits for."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.owner import StageOwner
from murmurate.agents.kafka.skew import words
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.worker import Worker
from murmurate.agents.observe.health import alive, readiness


def worker(*lives: Life, settled: bool = True, wrong: str | None = None) -> Worker:
    """A worker of the mixing zone whose Tasks stand there."""
    owner = StageOwner(lambda partition: cast(Task, None))
    owner.settled = settled
    owner.tasks = {p: cast(Task, SimpleNamespace(life=life)) for p, life in enumerate(lives)}
    made: Any = object.__new__(Worker)
    made.zones, made.owners = ("mixing",), {"shuffle": owner}
    made.clock = SimpleNamespace(wrong=wrong)
    return cast(Worker, made)


def test_a_worker_that_was_told_no_partitions_waits_for_them() -> None:
    async def scenario() -> None:
        found = readiness(worker(settled=False))
        assert not found.ready
        assert found.said["waiting"] == ["shuffle: waits for its partitions"]

    asyncio.run(scenario())


def test_a_worker_is_not_ready_while_a_partition_recovers() -> None:
    async def scenario() -> None:
        found = readiness(worker(Life.LIVE, Life.OPEN))
        assert not found.ready
        assert found.said["waiting"] == ["shuffle: recovers 1 of 2 partitions (1)"]

    asyncio.run(scenario())


def test_a_ready_worker_says_what_it_runs() -> None:
    async def scenario() -> None:
        found = readiness(worker(Life.LIVE, Life.LIVE))
        assert found.said == {"ready": True, "zones": ["mixing"], "partitions": {"shuffle": 2}}
        assert readiness(worker()).ready  # the others have them all

    asyncio.run(scenario())


def test_a_worker_whose_clock_is_wrong_is_not_ready_and_says_how_wrong() -> None:
    async def scenario() -> None:
        wrong = words(7_200_000, 1000)
        found = readiness(worker(Life.LIVE, wrong=wrong))
        assert not found.ready
        assert found.said["waiting"] == [f"clock: {wrong}"]
        assert "7200.0 s ahead of the brokers'; allowed: 1s (time.skew)" in wrong

    asyncio.run(scenario())


def test_alive_is_one_word() -> None:
    assert alive() == {"status": "ok"}
