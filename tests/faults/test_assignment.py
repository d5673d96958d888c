# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while a group gives partitions ends the worker with its reason: it does not live on and hold them."""

from __future__ import annotations

import asyncio

from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.stages.stage import Log
from tests.faults.deployed import Deployed
from tests.faults.inside import inside
from tests.faults.recordings import deployment

DEPLOYMENT = deployment(partitions=1)


def put(deployed: Deployed, stage: str, value: bytes) -> None:
    """As the newest state record of a stage's first instance."""

    async def written() -> None:
        async with deployed.client.sender() as sender:
            await sender.send([Write(Place(f"{deployed.plan.name}.state.{stage}", 0), value, state_key(0))])

    asyncio.run(written())


def foreign(deployed: Deployed) -> StateRecord:
    """A state of perturb that was written under other secrets."""
    revisions = {stream.name: (stream.config, stream.revision) for stream in deployed.plan.streams}
    marks = {Log("raw", 0): 0, Log("rounds", 0): 0}
    return StateRecord(marks, marks, b"{}", None, revisions, ("0123456789abcdef", 1))


def test_a_state_that_is_none_of_ours_ends_the_worker_with_one_line_and_exit_1(
    deployed: Deployed,
) -> None:
    put(deployed, "door", b"garbage")
    worker = deployed.worker()
    put(deployed, "shuffle", foreign(deployed).dump())

    async def mixing() -> str:
        async with inside(deployed, ("mixing",)) as this:
            return await this.failure()

    said = "shuffle 0: the state was written under config fingerprint 0123456789abcdef; found "
    assert asyncio.run(mixing()).startswith(f"StateError: {said}")
    assert worker.wait() == 1
    (line,) = [line for line in worker.lines() if line["level"] == "ERROR" and "logger" not in line]
    assert line["message"].startswith("StateError: ")
    assert "Traceback" not in worker.said()
