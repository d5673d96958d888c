# SPDX-License-Identifier: Apache-2.0
"""A source gets more partitions while its deployment runs: nothing is lost or stops, and no restart is refused."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.agreement import agreed, sources_at_first
from murmurate.agents.kafka.client import Admin
from murmurate.agents.kafka.errors import RefusedError, TopicsError
from murmurate.agents.kafka.provision import create
from murmurate.agents.kafka.status import status
from murmurate.agents.stages.perturb import Perturb
from murmurate.config.secrets import fingerprints
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Progress
from tests.faults import test_sources
from tests.faults.deployed import Deployed
from tests.faults.inside import Inside, inside, now_ms
from tests.faults.test_sources import EACH, Application, _arrived, _late

DEPLOYMENT = test_sources.DEPLOYMENT.replace('every = "250ms"', 'every = "10s"')
"""Without anybody who publishes, perturb stops after eight periods."""


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.faults)])
def test_added_partitions_are_read_from_their_first_record_and_periods_wait_for_them(
    deployed: Deployed, tmp_path: Path, whole: bool
) -> None:
    asyncio.run(asyncio.wait_for(_added(deployed, tmp_path, whole), 90))


async def _added(deployed: Deployed, folder: Path, whole: bool) -> None:
    applied = Application(deployed)
    async with inside(deployed, ("edge",)) as this:
        await this.ready()
        await _waits_for(this, 0)
        plain = await applied.producer()
        await applied.write(plain, 0)
        async with deployed.client.admin() as admin:
            await admin.widen(applied.topic, 3)
        at = now_ms()
        await plain.stop()
        plain = await applied.producer()  # which knows the new partition
        await applied.write(plain, 2)
        assert await _arrived(deployed, 2 * EACH) == 2 * EACH
        assert _late(this) == 0
        await _waits_for(this, 2)
    await _announced_first(deployed, 2, at)
    await applied.write(plain, 2)
    await plain.stop()
    if whole:  # and again, with what a worker finds in the state
        async with inside(deployed, ("edge",)) as this:
            await this.ready()
            assert await _arrived(deployed, 3 * EACH) == 3 * EACH
            assert _late(this) == 0
            await _waits_for(this, 2)
    await _is_told(deployed)


async def _announced_first(deployed: Deployed, partition: int, at: int) -> None:
    """Before the first word of the new door nobody else has said a time at which it was there."""
    found = [decode_record(got.value or b"") for got in await deployed._everything("raw")]
    said = [one for one in found if isinstance(one, Progress)]
    first = next(i for i, one in enumerate(said) if one.partition == partition)
    assert said[first].time == 0
    assert all(one.time <= at for one in said[:first])


@pytest.mark.faults
def test_where_the_state_has_no_place_for_a_new_door_one_line_says_so_and_the_others_go_on(
    deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(asyncio.wait_for(_refused(deployed, tmp_path, monkeypatch, caplog), 90))


async def _refused(
    deployed: Deployed, folder: Path, patched: pytest.MonkeyPatch, said: pytest.LogCaptureFixture
) -> None:
    applied, state = Application(deployed), f"{deployed.plan.name}.state.door"

    async def widen(admin: Admin, name: str, partitions: int) -> None:
        raise RefusedError(f"partitions of {name}: refused: TopicAuthorizationFailedError")

    async with inside(deployed, ("edge",)) as this:
        await this.ready()
        await _waits_for(this, 0)  # a door without a state begins where its source ends
        async with deployed.client.admin() as admin:
            await admin.widen(applied.topic, 3)
            patched.setattr(Admin, "widen", widen)
        plain = await applied.producer()
        await applied.write(plain, 2)
        while "until then the new ones are not read" not in said.text:
            await asyncio.sleep(0.02)
        await applied.write(plain, 0)
        assert await _arrived(deployed, EACH) == EACH
        await _waits_for(this, 0)
        found = await status(deployed.client, deployed.deployment, deployed.plan, now_ms=now_ms())
        assert any(line.startswith(f"{state}: found 2 partitions; allowed: 3 (a source") for line in found.wrong)
        patched.undo()
        shown = fingerprints(known_secrets(deployed.plan.name), deployed.plan.name)
        report = await create(deployed.client, deployed.deployment, deployed.plan, shown, now_ms=now_ms())
        assert (report.refused, report.config, len(report.corrected)) == ((), None, 1)
        assert await _arrived(deployed, 2 * EACH) == 2 * EACH
        await _waits_for(this, 2)
        await plain.stop()
    assert said.text.count("until then") == 1


async def _waits_for(this: Inside, partition: int) -> None:
    """Until perturb has the times of this partition."""
    (perturb,) = [task.stage for task in this.worker.tasks if isinstance(task.stage, Perturb)]
    closing, end = perturb._streams["screen"].closing, time.monotonic() + 30
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
    with pytest.raises(TopicsError, match=r"found 1 partitions; allowed: at least 2.*made anew"):
        sources_at_first(record, deployed.plan, {source: 1})
