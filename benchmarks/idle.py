# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.idle`: what a deployment costs while little or nothing happens, and when a release comes.

Contract: a broker and a worker of all zones, as a user runs them, with many source and raw partitions.  CPU times are
those of the processes over a window, so that they mean the same on a busy machine; delays are of the wall clock, from
the end of a period plus lateness to the append of its release, and mean something on a quiet one only.  No figure is
asserted.  Not here: what many events cost (benchmarks/kafka).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

import orjson

from murmurate.agents.kafka.client import Place, Write
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Progress
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed

SOURCES, RAW, EVENTS, TARGETS = 48, 16, 20, 2
LATENESS_MS, FIRST = 2000, 2
TICK = os.sysconf("SC_CLK_TCK")
DEPLOYMENT = """
[privacy]
epsilon = 1.0
window = {{ periods = 20 }}
min_batch = 2
[population]
partitions = {raw}
[time]
lateness = "{lateness}ms"
[streams.screen]
measure = "frequency"
values = ["home", "help"]
every = "{every}s"
"""


class Cost(NamedTuple):
    """What a window cost, and how late its releases came."""

    worker: float
    """Share of a core."""
    broker: float
    descriptors: int
    transactions: float
    """Of all stages together, each second; of the doors alone in `doors`."""
    doors: float
    progress: float
    """Progress records in `raw`, each second."""
    delays: list[int]
    """Milliseconds from the end of a period plus lateness to its release."""


def cpu_s(pid: int) -> float:
    """CPU time of a process so far."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / TICK


def descriptors(pid: int) -> int:
    """How many files and connections a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def ends(deployed: Deployed, topics: Mapping[str, int]) -> dict[Place, int]:
    """Where the partitions of these topics end."""
    places = [Place(f"{deployed.plan.name}.{topic}", p) for topic, count in topics.items() for p in range(count)]
    async with deployed.client.reader() as reader:
        return {place: end for place, (_, end) in (await reader.bounds(places)).items()}


async def measured(deployed: Deployed, broker: int, worker: int, sources: int, seconds: float, events: int) -> Cost:
    """A window of so many seconds, with so many events in each."""
    name, every = deployed.plan.name, deployed.plan.streams[0].every_ms
    raw = deployed.plan.partitions
    logs = {"raw": raw, "releases": 1, "state.door": sources, "state.perturb": raw}
    logs |= {"state.shuffle": TARGETS, "state.aggregate": TARGETS, "state.publish": 1}
    topic = deployed.plan.streams[0].topic
    before = await ends(deployed, logs)
    began, cpu = time.monotonic(), (cpu_s(worker), cpu_s(broker))
    async with deployed.client.sender() as sender:
        sent = 0
        while (left := began + seconds - time.monotonic()) > 0:
            if events:
                event = {"stream": "screen", "user": f"u{sent}", "time": time.time_ns() // 10**6, "value": "home"}
                await sender.send([Write(Place(topic, sent % sources), orjson.dumps(event))])
                sent += 1
            await asyncio.sleep(min(left, 1 / events if events else 1.0))
    took = time.monotonic() - began
    spent = (cpu_s(worker) - cpu[0], cpu_s(broker) - cpu[1])
    after = await ends(deployed, logs)
    moved = {place: after[place] - before[place] for place in after}
    flushes = {place: n / 2 / took for place, n in moved.items() if ".state." in place.topic}  # a record and a marker
    progress, delays = 0, list[int]()
    async with deployed.client.reader() as reader:
        for place in (place for place in after if place.topic in (f"{name}.raw", f"{name}.releases")):
            async for got in reader.between(place, before[place], after[place]):
                if place.topic.endswith("raw"):
                    progress += isinstance(decode_record(got.value or b""), Progress)
                else:
                    t = orjson.loads(got.value or b"")["t"]
                    delays.append(got.time_ms - (t + 1) * every - LATENESS_MS)
    doors = sum(n for place, n in flushes.items() if place.topic.endswith("door"))
    rates = sum(flushes.values()), doors, progress / took
    return Cost(spent[0] / took, spent[1] / took, descriptors(worker), *rates, delays)


def shown(what: str, cost: Cost) -> str:
    """A row of the table."""
    delays = sorted(cost.delays)
    late = f"{median(delays):5.0f} {delays[0]:5d} {delays[-1]:5d}" if delays else f"{'-':>5} {'-':>5} {'-':>5}"
    return (
        f"{what:24} {cost.worker:7.1%} {cost.broker:7.1%} {cost.descriptors:5d} {cost.transactions:7.1f} "
        f"{cost.doors:7.1f} {cost.progress:8.1f} {late} {len(delays):3d}"
    )


def heading() -> str:
    """What the columns are."""
    return (
        f"{'':24} {'worker':>7} {'broker':>7} {'fds':>5} {'tx/s':>7} {'doors':>7} {'progress':>8} "
        f"{'p50':>5} {'least':>5} {'most':>5} {'n':>3}"
    )


def run(every_s: int, seconds: float, sources: int, raw: int) -> None:
    """One deployment on a broker of its own: quiet, then with some events."""
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder) / "broker", version="4.2.0") as broker:
        broker.start()
        text = DEPLOYMENT.format(raw=raw, lateness=LATENESS_MS, every=every_s)
        deployed = Deployed(Path(folder) / "deployed", f"idle{every_s}", broker.bootstrap, text)
        try:
            deployed.create(sources)
            worker = deployed.worker()
            if len(deployed.releases(FIRST, 300.0)) < FIRST:
                raise RuntimeError(f"no release came: {worker.said()[-2000:]}")
            for what, events in (("quiet", 0), (f"{EVENTS} events/s", EVENTS)):
                cost = asyncio.run(measured(deployed, broker._running(0).pid, worker.pid, sources, seconds, events))
                print(shown(f"every {every_s} s, {what}", cost), flush=True)
            worker.terminate()
            worker.wait()
        finally:
            deployed.close()


def main() -> None:
    reader = argparse.ArgumentParser(prog="python -m benchmarks.idle", description=__doc__)
    reader.add_argument("--every", type=int, nargs="+", default=[1, 10], help="length of a period in seconds")
    reader.add_argument("--seconds", type=float, default=60, help="of each window")
    reader.add_argument("--sources", type=int, default=SOURCES, help="source partitions")
    reader.add_argument("--raw", type=int, default=RAW, help="raw partitions")
    options = reader.parse_args()
    print(heading())
    for every_s in options.every:
        run(every_s, options.seconds, options.sources, options.raw)


if __name__ == "__main__":
    main()
