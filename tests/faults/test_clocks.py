# SPDX-License-Identifier: Apache-2.0
"""Clocks that are wrong, on a real broker: a worker's, a door's that was left ahead, ticks that nothing can pass."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.kafka.clock_status import newest_states
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.repair_clock import find_ahead, mend
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.kafka.status import status
from murmurate.agents.observe.health import readiness
from murmurate.agents.stages.door import Door, set_back
from murmurate.agents.stages.stage import Log
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.messages import Progress, Tick
from murmurate.topics.quiet import Quiet
from tests.faults.deployed import Deployed
from tests.faults.inside import LONGEST_S, Inside, inside, now_ms

DEPLOYMENT = """
[privacy]
epsilon = 1.0
window = { periods = 5 }
min_batch = 20
[population]
partitions = 1
[time]
lateness = "500ms"
skew = "400ms"
[streams.screen]
measure = "frequency"
values = ["home", "help"]
every = "500ms"
"""
HOURS_2 = 7_200_000
FEW = 30


class Machine:
    """A machine whose clock may be set."""

    def __init__(self, ahead_ms: int = 0) -> None:
        self.ahead_ms = ahead_ms

    def __call__(self) -> int:
        return now_ms() + self.ahead_ms


async def until(this: Inside, came: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONGEST_S):
        while not came():
            if this.running.done():
                this.running.result()
            await asyncio.sleep(0.02)


def clocks(this: Inside) -> list[int | None]:
    """What each door has passed on."""
    return [task.stage.clock for task in this.worker.tasks if isinstance(task.stage, Door)]


def waits(this: Inside) -> str:
    return "; ".join(readiness(this.worker).said.get("waiting", []))


async def progress(deployed: Deployed) -> list[int]:
    """All times that doors have written into `raw`."""
    found = [decode_record(got.value or b"") for got in await deployed._everything("raw")]
    return [one.time for one in found if isinstance(one, Progress | Quiet)]


async def wrong(deployed: Deployed) -> str:
    return "\n".join((await status(deployed.client, deployed.deployment, deployed.plan, now_ms=now_ms())).wrong)


@pytest.mark.parametrize("ahead_ms", [HOURS_2, pytest.param(-HOURS_2, marks=pytest.mark.faults)])
def test_a_worker_whose_clock_is_wrong_gives_no_tick_until_it_is_right(
    deployed: Deployed, tmp_path: Path, ahead_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(asyncio.wait_for(_wrong_clock(deployed, ahead_ms), 100))
    (line,) = [one for one in caplog.messages if "found this machine's clock" in one][:1]
    side = "ahead of" if ahead_ms > 0 else "behind"
    assert f"7200.0 s {side} the brokers'; allowed: 400ms (time.skew)" in line


async def _wrong_clock(deployed: Deployed, ahead_ms: int) -> None:
    machine = Machine(ahead_ms)
    async with inside(deployed, clock=machine) as this:
        await until(this, lambda: all(owner.ready for owner in this.worker.owners.values()) and "7200.0" in waits(this))
        assert not this.worker.ready
        assert clocks(this) == [None, None]
        async with asyncio.timeout(LONGEST_S):
            while "worker inside: found its clock 7200.0 s" not in (said := await wrong(deployed)):
                await asyncio.sleep(0.2)
        assert "set its machine's clock" in said
        assert await progress(deployed) == []
        machine.ahead_ms = 0  # somebody sets it right
        await this.ready()
        await until(this, lambda: None not in clocks(this))
        machine.ahead_ms = ahead_ms  # and wrong again
        await until(this, lambda: not this.worker.ready)
    shown = await progress(deployed)
    assert shown
    assert max(shown) <= now_ms()
    assert "worker inside" not in await wrong(deployed)  # it has gone


def test_a_tick_with_an_end_that_nothing_reaches_is_cut_and_told(
    deployed: Deployed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(asyncio.wait_for(_lost_records(deployed), 100))
    (line,) = [one for one in caplog.messages if "waits for the records below offset" in one]
    assert line.startswith(
        f"door {deployed.plan.name}.events/0: found a tick that waits for the records below offset 1000"
    )
    assert "allowed: at most 1, where the partition ends" in line


async def _lost_records(deployed: Deployed) -> None:
    source = Place(f"{deployed.plan.name}.events", 0)
    async with inside(deployed, ("edge",)) as this:
        await this.ready()
        async with deployed.client.sender() as sender:
            event = {"stream": "screen", "user": "u", "time": now_ms(), "value": "home"}
            await sender.send([Write(source, orjson.dumps(event))])
        task = next(one for one in this.worker.tasks if one.wiring.name == "door 0")
        await until(this, lambda: None not in clocks(this))
        door = task.stage
        assert isinstance(door, Door)
        await until(this, lambda: door.waits_for is None)
        forged = Tick(topic=source.topic, partition=0, time=now_ms(), end=1000)
        task.inject(Log("ticks", 0), encode(forged))
        doors = this.worker.doors
        assert doors is not None
        await until(this, lambda: doors.ticks.bounded[source] == 1)
        clock = forged.time
        await until(this, lambda: (door.clock or 0) > clock)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.faults)])
def test_a_door_that_was_left_ahead_is_set_back_and_nothing_closes_twice(
    deployed: Deployed, tmp_path: Path, caplog: pytest.LogCaptureFixture, whole: bool
) -> None:
    source = Place(f"{deployed.plan.name}.events", 0)
    asyncio.run(asyncio.wait_for(_ran(deployed), 60))
    asyncio.run(_left_ahead(deployed, source))
    refused, counts = asyncio.run(asyncio.wait_for(_late_events(deployed, source), 60))
    assert refused.startswith(f"door {source.topic}/0: found its clock 71")  # two hours less what this takes
    assert counts["screen", "late"] == FEW
    assert any("see `murmurate repair clock`" in one for one in caplog.messages)
    if whole:
        _by_command(deployed, source)
    else:
        asyncio.run(_set_back(deployed, source))
    refused, counts = asyncio.run(asyncio.wait_for(_late_events(deployed, source), 60))
    assert "clock" not in refused
    assert counts["screen", "late"] == 0
    shown = asyncio.run(progress(deployed))
    assert max(shown[-2:]) <= now_ms()  # the source is waited for again
    assert not whole or deployed.run("audit", "ledger").returncode == 0


async def _set_back(deployed: Deployed, source: Place) -> None:
    found = await find_ahead(deployed.client, deployed.plan, fed=False, to_ms=None)
    assert [one.source for one in found.doors] == [source]
    assert found.closed == {}  # the other source did not stand ahead
    await mend(deployed.client, deployed.plan, found.doors)
    assert not (await find_ahead(deployed.client, deployed.plan, fed=False, to_ms=None)).doors


def _by_command(deployed: Deployed, source: Place) -> None:
    looked = deployed.run("repair", "clock")
    assert looked.returncode == 1
    assert "nothing was changed (see --yes)" in looked.stdout
    assert all(len(line) <= 80 for line in looked.stdout.splitlines())
    mended = deployed.run("repair", "clock", "--yes", "--json")
    assert mended.returncode == 0, mended.stderr
    (door,) = orjson.loads(mended.stdout)["doors"]
    assert (door["topic"], door["partition"]) == tuple(source)
    assert deployed.run("repair", "clock").stdout == "no door's clock stands ahead\n"


async def _ran(deployed: Deployed) -> None:
    async with inside(deployed, ("edge",)) as this:
        await this.ready()
        await until(this, lambda: None not in clocks(this))


async def _left_ahead(deployed: Deployed, source: Place) -> None:
    """As a worker of an older version, whose clock was two hours ahead, left its door and `raw`."""
    state = Place(f"{deployed.plan.name}.state.door", source.partition)
    writer = deployed.client.writer(f"{deployed.plan.name}-door-{source.partition}")
    await writer.open()
    async with deployed.client.reader() as reader:
        (got,) = await newest_states(reader, [state])
    record = StateRecord.load(got.value or b"", "state")
    clock = now_ms() + HOURS_2
    told = encode(Progress(topic=source.topic, partition=source.partition, time=clock))
    left = replace(record, small=set_back(record.small, clock))
    await writer.transact([
        Write(Place(f"{deployed.plan.name}.raw", 0), told), Write(state, left.dump(), state_key(source.partition)),
    ])  # fmt: skip
    await writer.close()


async def _late_events(deployed: Deployed, source: Place) -> tuple[str, Counter[tuple[str, str]]]:
    """What status says, and what the door counts, when punctual events come."""
    async with inside(deployed, ("edge",)) as this:
        await this.ready()
        task = next(one for one in this.worker.tasks if one.wiring.name == f"door {source.partition}")
        door = task.stage
        assert isinstance(door, Door)
        lines = [{"stream": "screen", "user": f"user-{i}", "time": now_ms(), "value": "home"} for i in range(FEW)]
        async with deployed.client.sender() as sender:
            await sender.send([Write(source, orjson.dumps(line)) for line in lines])
        await until(this, lambda: door.judged["screen"] == FEW)
        said = await status(deployed.client, deployed.deployment, deployed.plan, now_ms=now_ms())
        return "\n".join(line for line in said.wrong if line.startswith("door ")), Counter(door.counts)


def test_the_brokers_time_is_told_of_each_record_and_a_topic_that_keeps_writers_times_is_refused(
    deployed: Deployed,
) -> None:
    async def appended() -> None:
        state = Write(Place(f"{deployed.plan.name}.state.door", 0), b"{}", b"clock/one")
        async with deployed.client.appender() as appender:
            sent = now_ms()
            told = [await appender.append(state) for _ in range(2)]
            assert sent - 1 <= told[0] <= told[1] <= now_ms() + 1
            with pytest.raises(TopicsError, match="found CreateTime; allowed: LogAppendTime"):
                await appender.append(Write(Place(f"{deployed.plan.name}.events", 0), b"{}"))

    asyncio.run(appended())
