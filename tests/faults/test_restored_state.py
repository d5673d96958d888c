# SPDX-License-Identifier: Apache-2.0
"""Somebody wrote into a state topic: the stage stops, one command looks, another lets it go on with no byte changed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.kafka.recovery import newest
from murmurate.agents.kafka.state import state_key
from tests.faults.deployed import Deployed
from tests.faults.recordings import deployment, recording

DEPLOYMENT = deployment(periods=4, partitions=1)


def overwrite(deployed: Deployed, stage: str, value: bytes | None) -> None:
    """Write a record in the place of a state; None: the newest one again, with a proof that was guessed."""

    async def written() -> None:
        place = Place(f"{deployed.plan.name}.state.{stage}", 0)
        async with deployed.client.reader() as reader, deployed.client.sender() as sender:
            last = await newest(reader, place)
            assert last is not None
            await sender.send(
                [Write(place, replace(last[1], proof=bytes(16)).dump() if value is None else value, state_key(0))]
            )

    asyncio.run(written())


def restored(deployed: Deployed, source: str, stage: str, value: bytes | None, words: str) -> None:
    wanted = deployed.expected(source)
    worker = deployed.worker()
    feed = deployed.feed(source)
    deployed.releases(3)
    worker.terminate()
    assert worker.wait() == 0
    overwrite(deployed, stage, value)
    stopped = worker.again()
    assert stopped.wait() != 0
    assert words in stopped.said()
    if value is not None:
        looked = deployed.run("state", "inspect", "--json")
        assert looked.returncode == 1
        wrong = [row for row in orjson.loads(looked.stdout)["states"] if row["fault"]]
        assert [(row["stage"], row["place"]) for row in wrong] == [(stage, f"{deployed.plan.name}.state.{stage}/0")]
        assert wrong[0]["readable"] is not None
        shown = deployed.run("state", "inspect", "--stage", stage)
        assert f"restore --stage {stage}" in " ".join(shown.stdout.split())
        assert max(map(len, shown.stdout.splitlines())) <= 80
    done = deployed.run("state", "restore", "--stage", stage, "--partition", "0")
    assert done.returncode == 0, done.stderr
    assert "stands at offset" in done.stdout
    assert deployed.run("state", "inspect").returncode == 0
    again = deployed.run("state", "restore", "--stage", stage, "--partition", "0")
    assert "nothing to restore" in again.stdout
    stopped.again()
    assert deployed.releases(len(wanted)) == wanted
    assert feed.wait() == 0


def test_perturb_goes_on_from_its_own_last_state_when_another_was_forged(deployed: Deployed, tmp_path: Path) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=300, periods=8))
    restored(deployed, source, "perturb", None, "found a state record that was changed")


@pytest.mark.faults
@pytest.mark.parametrize("stage", ["door", "perturb", "shuffle", "aggregate", "publish"])
@pytest.mark.parametrize("value", [b"no state", b'{"half":'])
def test_every_stage_goes_on_when_garbage_stands_in_its_place(
    deployed: Deployed, tmp_path: Path, stage: str, value: bytes
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=300, periods=8))
    restored(deployed, source, stage, value, "state inspect")


def test_a_partition_that_no_stage_has_is_named(deployed: Deployed) -> None:
    ended = deployed.run("state", "restore", "--stage", "perturb", "--partition", "9")
    assert ended.returncode == 2
    assert "--partition: found 9; allowed: one of 0" in ended.stderr
