# SPDX-License-Identifier: Apache-2.0
"""A rolling restart with other values under load: every period is judged by what holds for it, and by nothing else."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.agreement import compare
from murmurate.agents.kafka.applying import apply, cancel
from murmurate.agents.kafka.errors import AgreementError
from murmurate.config.plan import Plan
from murmurate.config.secrets import fingerprints
from murmurate.config.until import HeldUntil
from murmurate.topics.names import ZONES
from tests.faults.deployed import Deployed
from tests.faults.inside import Inside, inside, now_ms
from tests.faults.recordings import START_MS, deployment, recording

DEPLOYMENT = deployment(partitions=2, method="lpu", periods=4)
PERIODS = 16
SWITCH_MS = START_MS + 9_000


def changed(plan: Plan) -> Plan:
    """The new file: nothing is released any more from the instant on, since nobody has so many users."""
    held = HeldUntil(SWITCH_MS, min_batch=plan.min_batch, patience_ms=plan.patience_ms)
    return replace(plan, min_batch=5_000, patience_ms=30_000, until=held)


def keys(deployed: Deployed) -> Mapping[str, str]:
    return fingerprints(known_secrets(deployed.plan.name), deployed.plan.name)


async def applied(deployed: Deployed, plan: Plan) -> int:
    told = await apply(deployed.client, plan, keys(deployed), fed=True, from_ms=SWITCH_MS, now_ms=now_ms())
    return told.record.number


def test_releases_of_a_rolling_restart_are_those_of_one_run_that_switches_at_that_period(
    deployed: Deployed, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "events.jsonl", users=400, periods=PERIODS))
    after = copy.copy(deployed)
    after.plan = changed(deployed.plan)
    wanted = after.expected(source)
    sizes = {orjson.loads(one)["reports"]["rejected"].get("undersized", False) for one in wanted}
    assert sizes == {False, True}  # both are seen

    async def scenario() -> list[bytes]:
        async with inside(deployed) as old:
            await old.ready()
            assert await applied(deployed, after.plan) == 2
            deployed.feed(source)
            assert (await old.failure()).startswith("OutdatedError: config 2 from ")
        record = (await compare(deployed.client, after.plan, keys(deployed), fed=True)).record
        async with inside(after, record=record) as new:
            await new.ready()
            found = await deployed._releases(len(wanted), 60.0, lambda: None)
            assert not new.running.done()
            return found

    found = asyncio.run(asyncio.wait_for(scenario(), 150))
    assert found == wanted, deployed.blame(found, wanted)


@pytest.mark.faults
def test_zones_that_are_started_again_one_by_one_judge_no_round_by_two_values(
    deployed: Deployed, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "events.jsonl", users=400, periods=PERIODS))
    after = copy.copy(deployed)
    after.plan = changed(deployed.plan)
    wanted = after.expected(source)

    async def scenario() -> list[bytes]:
        await applied(deployed, after.plan)
        record = (await compare(deployed.client, after.plan, keys(deployed), fed=True)).record
        stops = list[tuple[asyncio.Event, asyncio.Task[None]]]()

        async def work(of: Deployed, zone: str, stop: asyncio.Event, ready: asyncio.Event) -> None:
            async with inside(of, (zone,), record=record) as one:  # type: ignore[arg-type] # one of ZONES
                await one.ready()
                ready.set()
                await waits(one, stop)

        async def begin(of: Deployed, zone: str) -> None:
            stop, ready = asyncio.Event(), asyncio.Event()
            task = asyncio.create_task(work(of, zone, stop, ready))
            stops.append((stop, task))
            await asyncio.wait((task, asyncio.create_task(ready.wait())), return_when=asyncio.FIRST_COMPLETED)

        for zone in ZONES:
            await begin(deployed, zone)
        deployed.feed(source)
        await deployed._releases(4, 60.0, lambda: None)
        for zone in ("mixing", "edge", "analysis"):
            stop, task = stops.pop(ZONES.index(zone) if len(stops) == 3 and zone == "mixing" else 0)
            stop.set()
            await task
            await begin(after, zone)
        found = await deployed._releases(len(wanted), 60.0, lambda: None)
        for stop, task in stops:
            stop.set()
            await task
        return found

    found = asyncio.run(asyncio.wait_for(scenario(), 240))
    assert found == wanted, deployed.blame(found, wanted)


async def waits(one: Inside, stop: asyncio.Event) -> None:
    """Until it is told to stop, or has ended because its file ends."""
    told = asyncio.create_task(stop.wait())
    await asyncio.wait((told, one.running), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()


def test_a_change_is_taken_back_before_its_instant_and_only_one_waits_at_a_time(deployed: Deployed) -> None:
    after, mine = changed(deployed.plan), keys(deployed)

    async def scenario() -> None:
        client = deployed.client
        with pytest.raises(AgreementError, match="found no change that is to come"):
            await cancel(client, deployed.plan, mine, fed=True, now_ms=now_ms())
        assert await applied(deployed, after) == 2
        agreed = await compare(client, deployed.plan, mine, fed=True)
        assert (agreed.number, agreed.ends_ms) == (1, SWITCH_MS)  # the old file still goes
        assert (await compare(client, after, mine, fed=True)).number == 2
        with pytest.raises(AgreementError, match="allowed: one at a time"):
            await applied(deployed, after)
        told = await cancel(client, after, mine, fed=True, now_ms=now_ms())
        assert (told.record.number, told.record.until) == (3, None)
        assert (await compare(client, deployed.plan, mine, fed=True)).number == 3
        with pytest.raises(AgreementError, match=r"min_batch: found 5000; allowed: 20; time.patience_ms"):
            await compare(client, after, mine, fed=True)
        with pytest.raises(AgreementError, match=r"privacy.epsilon_micro: found 2; .*a deployment of another name"):
            await applied(deployed, replace(after, epsilon_micro=2))

    asyncio.run(asyncio.wait_for(scenario(), 60))
