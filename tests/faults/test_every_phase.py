# SPDX-License-Identifier: Apache-2.0
"""LPA and LBA on Kafka with kill -9 in every phase of a round: releases byte-equal to those of the fault-free run.

The phases are mortal.py's: a worker that comes to one for the first time, from some period on, dies there by its own
hand; so every phase is hit, and not hoped for.  `make test` runs LBA alone, which has every phase; in `make faults` the
two deployments run side by side, since a life begins with waiting.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from murmurate.agents.cli.main import command
from murmurate.agents.kafka.client import Place, Write
from murmurate.topics.codec import encode
from murmurate.topics.messages import Start
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed, Process
from tests.faults.mortal import CHARGED, MOMENTS, PHASES, STEPS
from tests.faults.recordings import START_MS, promise

ROOT = Path(__file__).parents[2]
LONG = pytest.param(("lpa", "lba"), marks=pytest.mark.faults)
FIRST = START_MS // 1000
VALUES = ("home", "help")
WRITTEN = ("rounds", "closings", "reports", "batches", "tallies", "releases")
STREAM = """
[streams.screen]
measure = "frequency"
values = ["home", "help"]
every = "1s"
method = "METHOD"
"""


@pytest.fixture
def deployments(
    methods: tuple[str, ...], broker: Broker, deployment_name: str, tmp_path: Path
) -> Iterator[list[Deployed]]:
    """A deployment of each method, with few partitions: a life has less to begin with."""
    found = []
    for method in methods:
        name = f"t-{method}-{deployment_name[-8:]}"
        text = promise(epsilon=4.0, periods=4, min_batch=2, partitions=2) + STREAM.replace("METHOD", method)
        found.append(Deployed(tmp_path / method, name, broker.bootstrap, text))
        found[-1].create(partitions=2)
    yield found
    for each in found:
        each.close()


def recording(path: Path, *, users: int, periods: int, seed: int) -> Path:
    """What most users say changes every two periods, so that there is always something to publish."""
    draw = random.Random(seed)
    with path.open("wb") as file:
        for t in range(periods):
            for at, user in sorted((draw.randrange(1000), user) for user in range(users)):
                value = VALUES[t // 2 % 2] if draw.random() < 0.9 else draw.choice(VALUES)
                event = {"stream": "screen", "user": f"user-{user}", "time": START_MS + 1000 * t + at, "value": value}
                file.write(orjson.dumps(event) + b"\n")
    return path


class Mortals:
    """Workers of a deployment that die in each phase, once or more often, in periods that a seed decides or later."""

    def __init__(self, deployed: Deployed, *, seed: int, periods: int, workers: int, times: int = 1) -> None:
        self.deployed, self.times, self._died = deployed, times, deployed.folder / "died"
        draw = random.Random(seed)
        when = {step: [FIRST + draw.randrange(periods) for _ in range(times)] for step in STEPS}
        wanted = {f"{step}, {moment}": periods for step, periods in when.items() for moment in MOMENTS}
        wanted[CHARGED] = [FIRST] * times  # while there is no feed yet
        (deployed.folder / "wanted").write_bytes(orjson.dumps(wanted))
        args = [sys.executable, "-m", "tests.faults.mortal", str(deployed.file), str(deployed.folder / "wanted")]
        web = {"MURMURATE__WEB__LISTEN": "127.0.0.1:0", "MURMURATE__WEB__EDGE": "127.0.0.1:0"}
        names = [f"w{i}" for i in range(workers)]
        log = deployed.folder / "mortal.log"
        self._process = Process([*args, str(self._died), *names], log, web | {"PYTHONPATH": str(ROOT)})
        deployed.others.append(self._process)
        asyncio.run(self._begin())

    async def _begin(self) -> None:
        """Start the stream before there is a feed: its first round waits until it comes."""
        plan = self.deployed.plan
        start = Start(stream="screen", t=FIRST, config=plan.streams[0].config, revision=plan.streams[0].revision)
        async with self.deployed.client.sender() as sender:
            await sender.send([Write(Place(f"{plan.name}.rounds", 0), encode(start))])

    def died(self) -> list[str]:
        """In which phases somebody died, in their order."""
        return self._died.read_text().splitlines() if self._died.exists() else []

    def until_charged(self) -> None:
        """Until the first round has been charged, and that was forgotten."""
        end = time.monotonic() + 60
        while self.died().count(CHARGED) < self.times:
            assert self._process.running, self._process.said()[-2000:]
            assert time.monotonic() < end, self._process.said()[-2000:]
            time.sleep(0.05)  # another process writes the file

    def end(self) -> None:
        """SIGTERM to whoever lives."""
        self._process.terminate()
        assert self._process.wait() == 0


def live_on(groups: list[Mortals], source: str) -> None:
    """To the end: the releases are those of a replay, each phase was somebody's last, and the auditor is silent."""
    wanted = [mortals.deployed.expected(source) for mortals in groups]
    for mortals in groups:
        mortals.until_charged()
    feeds = [mortals.deployed.feed(source) for mortals in groups]
    for mortals, feed, releases in zip(groups, feeds, wanted, strict=True):
        deployed = mortals.deployed
        found = deployed.releases(len(releases), 120.0)
        assert found == releases, deployed.blame(found, releases)
        died = mortals.died()
        print(deployed.plan.name, *(f"{died.count(phase)} x {phase}" for phase in PHASES), sep="\n  ")
        assert min(died.count(phase) for phase in PHASES) >= mortals.times
        assert feed.wait() == 0
        mortals.end()
        assert all(asyncio.run(never_committed(deployed, topic)) for topic in WRITTEN)
        audit = CliRunner().invoke(command, ["audit", "ledger", "--json", "-c", str(deployed.file)])
        assert audit.exit_code == 0, audit.output


async def never_committed(deployed: Deployed, topic: str) -> int:
    """How many records of a topic the dead have left behind."""
    committed = await deployed._everything(topic)
    places = {got.place for got in committed}
    async with deployed.client.reader(aborted=True) as reader:
        written = 0
        for place, (first, end) in (await reader.bounds(places)).items():
            async for _ in reader.between(place, first, end):
                written += 1
    return written - len(committed)


@pytest.mark.parametrize("methods", [("lba",), LONG], ids="-".join)
def test_kill_9_in_every_phase_of_a_round_changes_no_byte(deployments: list[Deployed], tmp_path: Path) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=300, periods=16, seed=1))
    live_on([Mortals(deployed, seed=1, periods=6, workers=2) for deployed in deployments], source)


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize("methods", [LONG], ids="-".join)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kill_9_in_every_phase_again_and_again(deployments: list[Deployed], tmp_path: Path, seed: int) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=1500, periods=60, seed=seed))
    live_on([Mortals(deployed, seed=seed, periods=45, workers=3, times=3) for deployed in deployments], source)
