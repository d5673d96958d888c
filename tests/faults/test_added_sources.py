"""A source gets more partitions while its deployment runs: nothing is lost, nothing stops, and no restart is refused."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from murmurate.agents.kafka.agreement import agreed, sources_at_first
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.status import status
from murmurate.agents.stages.door import Door
from murmurate.agents.stages.perturb import Perturb
from tests.faults.deployed import Deployed
from tests.faults.inside import Inside, inside, now_ms
from tests.faults.test_sources import DEPLOYMENT, EACH, Application, _arrived, _late

__all__ = ["DEPLOYMENT"]


def test_added_partitions_are_read_from_their_first_record_and_periods_wait_for_them(
    deployed: Deployed, tmp_path: Path
) -> None:
    asyncio.run(asyncio.wait_for(_added(deployed, tmp_path), 90))


async def _added(deployed: Deployed, folder: Path) -> None:
    applied = Application(deployed)
    async with inside(deployed, folder, ("edge",)) as this:
        await this.ready()
        plain = await applied.producer()
        await applied.write(plain, 0)
        async with deployed.client.admin() as admin:
            await admin.widen(applied.topic, 3)
        await plain.stop()
        plain = await applied.producer()  # which knows the new partition
        await applied.write(plain, 2)
        assert await _arrived(deployed, 2 * EACH) == 2 * EACH
        assert _late(this) == 0
        await _waits_for(this, 2)
    await applied.write(plain, 2)
    await plain.stop()
    async with inside(deployed, folder, ("edge",)) as this:  # and again, with what it finds in the state
        await this.ready()
        assert await _arrived(deployed, 3 * EACH) == 3 * EACH
        assert _late(this) == 0
        await _waits_for(this, 2)
    await _is_told(deployed)


async def _waits_for(this: Inside, partition: int) -> None:
    """Until perturb has the times of this partition."""
    (perturb,) = [task.stage for task in this.worker.tasks if isinstance(task.stage, Perturb)]
    closing, end = perturb._streams["screen"].closing, time.monotonic() + 10
    while closing.times.get(partition, 0) < now_ms() - 2_000:
        assert time.monotonic() < end, closing.times
        await asyncio.sleep(0.02)
    assert closing.sources == 2


async def _is_told(deployed: Deployed) -> None:
    """The record says how many there were at first; nobody compares that. Fewer than that are refused."""
    found = await status(deployed.client, deployed.deployment, deployed.plan, now_ms=now_ms())
    (door,) = [each for each in found.stages if each.stage == "door"]
    assert door.instances == 3
    assert not [line for line in found.wrong if "found no worker" not in line]
    async with deployed.client.reader() as reader:
        record = await agreed(reader, deployed.plan.name)
    assert record is not None
    source = f"{deployed.plan.name}.events"
    assert sources_at_first(record, deployed.plan, {source: 3}) == {source: 2}
    with pytest.raises(TopicsError, match="found 1 partitions; allowed: at least 2.*made anew"):
        sources_at_first(record, deployed.plan, {source: 1})
