# SPDX-License-Identifier: Apache-2.0
"""Two workers of one name: the earlier one ends with a line, the later one works, and a dead one's name is free at
once; and two deployments of one name: whoever comes second is refused.
"""

from __future__ import annotations

import asyncio

import pytest

from murmurate.agents.kafka.agreement import compare
from murmurate.agents.kafka.errors import AgreementError, NameTakenError
from murmurate.agents.kafka.presence import Presence
from murmurate.agents.kafka.provision import create
from murmurate.config.loader import load
from murmurate.config.planning import plan as planned
from murmurate.config.secrets import NAMES, fingerprints
from tests.faults.deployed import Deployed
from tests.faults.inside import inside, now_ms
from tests.faults.recordings import deployment

DEPLOYMENT = deployment(partitions=1)
LINE = (
    "another worker of the mixing zone with --instance inside has started; allowed: a name of its own for each, which "
    "it keeps when it is started again"
)


def test_the_earlier_of_two_workers_of_one_name_ends_with_a_line_and_the_later_one_works(
    deployed: Deployed,
) -> None:
    async def scenario() -> None:
        async with inside(deployed, ("mixing",)) as earlier:
            await earlier.ready()
            async with inside(deployed, ("mixing",)) as later:
                assert await earlier.failure() == f"NameTakenError: {LINE}"
                await later.ready()
                assert not later.running.done()
            assert later.running.result() is None

    asyncio.run(asyncio.wait_for(scenario(), 120))


@pytest.mark.faults
def test_a_command_says_that_line_and_exits_2(deployed: Deployed) -> None:
    earlier = deployed.worker(instance="inside")
    earlier.until('"ready"')

    async def scenario() -> None:
        async with inside(deployed, ("mixing",)) as later:
            assert await asyncio.to_thread(earlier.wait) == 2
            await later.ready()

    asyncio.run(asyncio.wait_for(scenario(), 120))
    assert [one["message"] for one in earlier.lines() if one["level"] == "ERROR"][-1:] == [LINE]


def test_a_name_holds_until_somebody_takes_it_and_zones_have_names_of_their_own(deployed: Deployed) -> None:
    async def scenario() -> None:
        client, name = deployed.client, deployed.plan.name
        first, again = (Presence(client, name, ("edge", "mixing"), "one") for _ in range(2))
        others = Presence(client, name, ("edge", "mixing"), "two"), Presence(client, name, ("analysis",), "one")
        await first.take()
        for other in others:
            await other.take()
        await first.check()
        await again.take()  # as after a kill: nobody waits
        await again.check()
        with pytest.raises(NameTakenError, match="another worker of the edge zone with --instance one has started"):
            await first.check()
        for each in (first, again, *others):
            await each.close()

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_a_second_deployment_of_a_name_is_refused_in_one_line_and_corrects_nothing(deployed: Deployed) -> None:
    name = deployed.plan.name
    theirs = fingerprints({secret: bytes(range(n, n + 32)) for n, secret in enumerate(NAMES)}, name)
    longer = {"MURMURATE__STREAMS__SCREEN__EVERY": "1d", "MURMURATE__POPULATION__FORGET_AFTER": "20d"}
    this = load(deployed.file, longer)  # its topics keep records for longer

    async def scenario() -> None:
        async with deployed.client.admin() as admin:
            before = await admin.describe([f"{name}.rounds", f"{name}.raw"])
            report = await create(deployed.client, this, planned(this), theirs, now_ms=now_ms())
            (line,) = report.refused
            assert line.startswith(f"{name}.rounds: found another deployment of the name '{name}' on these brokers")
            assert (report.created, report.corrected, report.config) == ({}, (), None)
            assert await admin.describe([f"{name}.rounds", f"{name}.raw"]) == before
        with pytest.raises(AgreementError, match="allowed: a name of its own for each"):
            await compare(deployed.client, deployed.plan, theirs, fed=True)

    asyncio.run(asyncio.wait_for(scenario(), 60))
