# SPDX-License-Identifier: Apache-2.0
"""A deployment at a steady load for a long time: is memory flat, does lag stay, do releases come?

`make soak` (ARGS="--minutes 30 --rate 10000").  One broker, two workers of all zones, events by the wall clock.  Prints
a line every half a minute and a verdict; exit 1 where memory grew by more than 5 % from the second third of the run to
the last, or lag did.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from murmurate.agents.kafka.client import Place, Reader, Sender, Write
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed, Process

VALUES = ("home", "search", "basket", "help")
SAMPLE_S, BEAT_S = 30.0, 0.25
GROWTH = 1.05
TEXT = f"""
[privacy]
epsilon = 1.0
window = "1m"
min_batch = 100

[population]
partitions = 4
forget_after = "1h"

[time]
lateness = "1s"

[streams.screen]
measure = "frequency"
values = {list(VALUES)}
every = "5s"
method = "lpa"
"""


@dataclass(frozen=True)
class Sample:
    """What was seen at a moment."""

    seconds: float
    memory_mb: tuple[float, ...]
    lag: int
    releases: int


def rss_mb(process: Process) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


async def load(sender: Sender, topic: str, rate: int, users: int, stop: asyncio.Event) -> None:
    """So many events a second, by the wall clock."""
    began, sent = time.monotonic(), 0
    while not stop.is_set():
        due = int((time.monotonic() - began) * rate)
        now = time.time_ns() // 10**6
        writes = []
        for i in range(sent, min(due, sent + rate)):
            user = (i * 7919) % users
            value = VALUES[(user + now // 60_000) % len(VALUES)]
            event = {"stream": "screen", "user": f"u{user}", "time": now, "value": value}
            writes.append(Write(Place(topic, user % 4), orjson.dumps(event)))
        await sender.send(writes)
        sent += len(writes)
        await asyncio.sleep(BEAT_S)


async def waiting(reader: Reader, deployed: Deployed) -> tuple[int, int]:
    """Records that wait for some stage, of all topics together; and releases so far."""
    name = deployed.plan.name
    status = deployed.run("status", "--json")
    stages = orjson.loads(status.stdout)["stages"]
    lag = sum(records or 0 for stage in stages for records in stage["lag"].values())
    releases = (await reader.bounds([Place(f"{name}.releases", 0)]))[Place(f"{name}.releases", 0)][1]
    return lag, releases


async def soak(deployed: Deployed, minutes: float, rate: int, users: int) -> list[Sample]:
    """The samples of a run."""
    stop, samples, began = asyncio.Event(), [], time.monotonic()
    async with deployed.client.sender() as sender, deployed.client.reader() as reader:
        loading = asyncio.create_task(load(sender, f"{deployed.plan.name}.events", rate, users, stop))
        while time.monotonic() - began < 60 * minutes:
            await asyncio.sleep(SAMPLE_S)
            assert not loading.done(), "the load has ended"
            assert all(worker.running for worker in deployed.workers), deployed.blame([], [])
            lag, releases = await waiting(reader, deployed)
            memory = tuple(rss_mb(worker) for worker in deployed.workers)
            samples.append(Sample(time.monotonic() - began, memory, lag, releases))
            shown = "  ".join(f"{mb:6.1f} MB" for mb in memory)
            print(f"{samples[-1].seconds / 60:5.1f} min  {shown}  lag {lag:8d}  releases {releases}", flush=True)
        stop.set()
        await loading
    return samples


def verdict(samples: list[Sample]) -> bool:
    """Whether memory and lag of the last third are those of the second."""
    third = len(samples) // 3
    second, last = samples[third : 2 * third], samples[2 * third :]
    good = True
    for i in range(len(last[0].memory_mb)):
        before, after = (statistics.median(one.memory_mb[i] for one in part) for part in (second, last))
        print(f"worker {i}: {before:.1f} MB, then {after:.1f} MB ({after / before - 1:+.1%})")
        good &= after <= GROWTH * before
    before, after = (statistics.median(one.lag for one in part) for part in (second, last))
    print(f"lag: {before:.0f} records, then {after:.0f}")
    return good and after <= 2 * before + 1000


def main() -> int:
    """Run it."""
    options = argparse.ArgumentParser(description="memory and lag of a deployment over a long time")
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--rate", type=int, default=10_000, help="events a second")
    options.add_argument("--users", type=int, default=50_000)
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder) / "broker") as broker:
        broker.start()
        deployed = Deployed(Path(folder) / "soak", "soak", broker.bootstrap, TEXT)
        try:
            deployed.create()
            for i in range(2):
                deployed.worker(instance=f"w{i}").until('"ready"', 60.0)
            return 0 if verdict(asyncio.run(soak(deployed, args.minutes, args.rate, args.users))) else 1
        finally:
            deployed.close()


if __name__ == "__main__":
    sys.exit(main())
