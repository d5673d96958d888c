# SPDX-License-Identifier: Apache-2.0
"""A topic that was deleted and made again has other records at the marks of the old one: nobody goes on with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.deployed import Deployed
from tests.faults.recordings import deployment, recording

DEPLOYMENT = deployment(periods=4, partitions=1)


def ids(deployed: Deployed, *names: str) -> dict[str, str]:
    async def asked() -> dict[str, str]:
        async with deployed.client.admin() as admin:
            return await admin.ids([f"{deployed.plan.name}.{name}" for name in names])

    return asyncio.run(asked())


def make_again(deployed: Deployed, name: str) -> None:
    async def remade() -> None:
        full = f"{deployed.plan.name}.{name}"
        async with deployed.client.admin() as admin:
            described = await admin.describe([full])
            await admin.delete([full])
            while full in await admin.topics():
                await asyncio.sleep(0.05)
            await admin.create(described)
            assert (await admin.describe([full]))[full].partitions == described[full].partitions

    asyncio.run(remade())


def until_its_group_knows(deployed: Deployed, stage: str) -> None:
    """Until the group of the stage has committed how far it has read."""

    async def committed() -> None:
        async with asyncio.timeout(60), deployed.client.admin() as admin:
            while not any((await admin.committed(f"{deployed.plan.name}-{stage}")).values()):
                await asyncio.sleep(0.1)  # brokers tell nobody of it

    asyncio.run(committed())


def test_a_topic_made_again_ends_the_workers_is_named_by_status_and_stops_every_start(
    deployed: Deployed, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=200, periods=6))
    worker = deployed.worker()
    feed = deployed.feed(source)
    deployed.releases(len(deployed.expected(source)))
    feed.wait()
    before = ids(deployed, "reports", "batches", "nothing")
    assert len(set(before.values())) == 2
    make_again(deployed, "reports")
    after = ids(deployed, "reports", "batches")
    assert after[f"{deployed.plan.name}.reports"] != before[f"{deployed.plan.name}.reports"]
    assert after[f"{deployed.plan.name}.batches"] == before[f"{deployed.plan.name}.batches"]
    words = f"{deployed.plan.name}.reports: was deleted and made again"
    assert worker.wait() == 3
    assert any(words in str(line) for line in worker.lines())
    again = worker.again()
    assert again.wait() == 3
    assert any(words in str(line) for line in again.lines())
    assert words in " ".join(deployed.run("status").stdout.split())


@pytest.mark.faults
@pytest.mark.parametrize(
    "topic", ["raw", "rounds", "closings", "batches", "tallies", "state.shuffle", "state.perturb", "state.publish"]
)
def test_so_it_is_with_every_other_topic(deployed: Deployed, tmp_path: Path, topic: str) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=200, periods=6))
    worker = deployed.worker()
    deployed.feed(source).wait()
    deployed.releases(len(deployed.expected(source)))
    if topic.startswith("state."):
        until_its_group_knows(deployed, topic.removeprefix("state."))
    worker.terminate()
    make_again(deployed, topic)
    again = worker.again()
    assert again.wait() == 3, again.said()
    assert f"{deployed.plan.name}.{topic}" in again.said()
