# SPDX-License-Identifier: Apache-2.0
"""A source deletes what its door has not read: one command says what is gone, and lets the rest go on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.structs import TopicPartition
from click.testing import CliRunner

from murmurate.agents.cli.repair import command
from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.collect import states
from murmurate.agents.kafka.repair_lost import lost, skip
from murmurate.agents.kafka.retention import line, used
from murmurate.agents.kafka.status import status
from murmurate.agents.stages.door import Door
from murmurate.agents.stages.perturb import Perturb
from tests.faults import test_sources
from tests.faults.deployed import Deployed
from tests.faults.inside import Inside, inside, now_ms
from tests.faults.test_sources import EACH, Application, _arrived

DEPLOYMENT = test_sources.DEPLOYMENT.replace('every = "250ms"', 'every = "10s"')
"""Without anybody who publishes, perturb stops after eight periods."""


async def deleted(deployed: Deployed, topic: str, partition: int, before: int) -> None:
    """As retention does it: the records before an offset are gone."""
    admin = AIOKafkaAdminClient(bootstrap_servers=",".join(deployed.client.access.brokers))
    await admin.start()
    await admin.delete_records({TopicPartition(topic, partition): RecordsToDelete(before)})
    await admin.close()


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.faults)])
def test_a_door_goes_on_after_what_is_lost_and_the_ledger_stays(
    deployed: Deployed, tmp_path: Path, whole: bool
) -> None:
    asyncio.run(asyncio.wait_for(_lost(deployed, tmp_path), 60))
    if whole:
        said = asyncio.run(asyncio.wait_for(_failure(deployed, tmp_path), 60))
        assert "repair skip-lost` says what is lost, and goes on" in said
        told = deployed.run("repair", "skip-lost")
        assert told.returncode == 1
        words = " ".join(told.stdout.split())
        assert f"{deployed.plan.name}.events 0: offsets 20 to 29 are gone before they were read" in words
        assert words.endswith("nothing was skipped (see --yes)")
        assert all(len(line) <= 80 for line in told.stdout.splitlines())
        asked = CliRunner().invoke(command, ["skip-lost", "--json", "-c", str(deployed.file)])
        (one,) = orjson.loads(asked.stdout)["lost"]
        assert (asked.exit_code, one["partition"], one["start"], one["end"], one["offsets"]) == (1, 0, EACH, 30, 10)
    asyncio.run(asyncio.wait_for(_goes_on(deployed, tmp_path), 60))
    if whole:
        asked = CliRunner().invoke(command, ["skip-lost", "--yes", "-c", str(deployed.file)])
        assert (asked.exit_code, asked.stdout) == (0, "nothing that a door needs is lost\n")


async def _lost(deployed: Deployed, folder: Path) -> None:
    """A source deletes ten events of those that came while there was no worker."""
    applied = Application(deployed)
    plain = await applied.producer()
    async with inside(deployed, ("edge",)) as this:
        await this.ready()
        await applied.write(plain, 0)
        assert await _arrived(deployed, EACH) == EACH
    await applied.write(plain, 0)
    await plain.stop()
    await deleted(deployed, applied.topic, 0, EACH + 10)


async def _failure(deployed: Deployed, folder: Path) -> str:
    async with inside(deployed, ("edge",)) as this:
        return await this.failure()


async def _goes_on(deployed: Deployed, folder: Path) -> None:
    """What is there is read, what is gone is counted at the edge, and all else is as it was."""
    before = await _states(deployed)
    (one,), refused = await lost(deployed.client, deployed.plan, fed=False)
    assert refused == []
    assert (one.start, one.end, one.offsets) == (EACH, EACH + 10, 10)
    first, last = one.periods["screen"]
    assert 0 <= (last or 0) - first < 20
    assert (one.since_ms or 0) <= (one.until_ms or 0) <= now_ms()
    done = await skip(deployed.client, deployed.plan, one, fed=False)
    assert done == one
    assert await skip(deployed.client, deployed.plan, one, fed=False) is None
    async with inside(deployed, ("edge",)) as this:
        await this.ready()
        assert await _arrived(deployed, EACH + 10) == EACH + 10
        (door,) = [door for door in _doors(this) if door.lost]
        assert (door.lost, (door.clock or 0) >= (one.since_ms or 0)) == (10, True)
        labels = {"topic": one.place.topic, "partition": "0"}
        assert this.metrics.edge.get_sample_value("murmurate_source_lost_records", labels) == 10
        assert this.metrics.public.get_sample_value("murmurate_source_lost_records", labels) is None
        (perturb,) = [task.stage for task in this.worker.tasks if isinstance(task.stage, Perturb)]
        while perturb.users < EACH + 10:
            await asyncio.sleep(0.02)
        await _retention(deployed, this)
    assert (await _states(deployed)).keys() == before.keys()
    found = await status(deployed.client, deployed.deployment, deployed.plan, now_ms=now_ms())
    assert [each.lost for each in found.stages if each.lost] == [{Place(one.place.topic, 0): 10}]


def _doors(this: Inside) -> list[Door]:
    return [task.stage for task in this.worker.tasks if isinstance(task.stage, Door)]


async def _states(deployed: Deployed) -> dict[int, bytes]:
    async with deployed.client.reader() as reader:
        found = await states(reader, deployed.plan.name, "perturb", 1)
    return {partition: record.small for partition, record in found.items()}


async def _retention(deployed: Deployed, this: Inside) -> None:
    """A record that is needed is told long before it is deleted: by the share of what its topic keeps."""
    name, raw = deployed.plan.name, Place(f"{deployed.plan.name}.raw", 0)
    source = Place(f"{name}.events", 0)
    async with deployed.client.reader(aborted=True) as everything:
        this.metrics.retention.due_ms = 0
        await this.metrics.retention.look(deployed.client, everything, this.worker.tasks)
        days = 86_400_000
        needed = {raw: 0, source: 0, Place(source.topic, 1): 0}
        found = await used(deployed.client, everything, needed, now_ms() + 3 * days)
    assert found[raw][0] == pytest.approx(3 / 4, abs=0.01)
    assert found[source][0] == pytest.approx(3 / 7, abs=0.01)  # the brokers' own week
    assert found[Place(source.topic, 1)] == (0.0, 0)
    assert line(raw, 0.75, 3 * days + 1).startswith(f"{name}.raw/0: found a record of 3d ago that is still needed, 75%")
    labels = {"topic": raw.topic, "partition": "0"}
    share = this.metrics.edge.get_sample_value("murmurate_retention_used_ratio", labels)
    assert share is not None
    assert share < 0.01
    assert this.metrics.public.get_sample_value("murmurate_retention_used_ratio", labels) is None


@pytest.mark.faults
def test_lost_records_of_our_own_logs_are_refused_with_the_reason(deployed: Deployed, tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_ours(deployed, tmp_path), 60))


async def _ours(deployed: Deployed, folder: Path) -> None:
    applied = Application(deployed)
    async with inside(deployed, ("edge",)) as this:
        await this.ready()
        plain = await applied.producer()
        await applied.write(plain, 0)
        await plain.stop()
        assert await _arrived(deployed, EACH) == EACH
    await deleted(deployed, f"{deployed.plan.name}.raw", 0, 3)
    found, (refused,) = await lost(deployed.client, deployed.plan, fed=False)
    assert found == []
    assert refused.startswith(f"perturb 0: {deployed.plan.name}.raw 0 begins at offset 3, and 0 is needed")
    assert "who there is and what was spent would be unknown" in refused
