# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.latency`: what a release waits for on the wall clock, hop by hop.

Contract: a broker and a worker of all zones, as a user runs them, under the wall clock.  Each hop is the time between
the last records of one period in two logs, by the broker's own append times; the first one begins at the end of the
period plus lateness, and `seen` is when a reader of ours had the release.  On a machine that does other work the least
and the lower quartile say more than the median.  No figure is asserted.  Not here: rounds that the feed's clock drives
(benchmarks/kafka/rounds.py), what it costs (benchmarks/idle.py).
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from benchmarks.idle import DEPLOYMENT, LATENESS_MS, TARGETS, cpu_s
from murmurate.agents.kafka.client import Client, Got, Place, Write
from murmurate.topics.codec import decode, kind_of
from murmurate.topics.messages import Close, Done, Progress, Round, Seal, Tally
from murmurate.topics.quiet import Quiet
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed

USERS: Final = 400
HOPS: Final = ("raw", "reports", "closings", "batches", "tallies", "releases", "seen")
"""The logs of a period, in order: each name stands for the last record that the period needs there."""
WAYS: Final = {"quiet": False, "events": False, "events in transactions": True}
"""How events come, and whether their producer writes them in transactions."""


async def watch(client: Client, place: Place, until: float, seen: dict[int, int]) -> None:
    """When a reader of ours has each release."""
    async with client.reader() as reader:
        reader.at({place: (await reader.bounds([place]))[place][1]})
        while time.monotonic() < until:
            for got in await reader.poll():
                seen[int(orjson.loads(got.value or b"")["t"])] = time.time_ns() // 10**6


async def produce(client: Client, topic: str, sources: int, until: float, rate: int, *, transactions: bool) -> None:
    """So many events a second, until then."""
    writer = client.writer("latency-events")
    try:
        await writer.open()
        async with client.sender() as sender:
            sent = 0
            while time.monotonic() < until:
                event = {"stream": "screen", "user": f"u{sent % USERS}", "time": time.time_ns() // 10**6}
                write = Write(Place(topic, sent % sources), orjson.dumps({**event, "value": "home"}))
                await (writer.transact([write]) if transactions else sender.send([write]))
                sent += 1
                await asyncio.sleep(1 / rate)
    finally:
        await writer.close()


async def records(deployed: Deployed, topics: Mapping[str, int]) -> dict[str, list[Got]]:
    """Every record of these topics that is a message."""
    found: dict[str, list[Got]] = {}
    async with deployed.client.reader() as reader:
        for topic, partitions in topics.items():
            places = [Place(f"{deployed.plan.name}.{topic}", p) for p in range(partitions)]
            for place, (first, end) in (await reader.bounds(places)).items():
                found.setdefault(topic, []).extend([
                    got async for got in reader.between(place, first, end)
                    if topic == "releases" or kind_of(got.value or b"") == "message"
                ])  # fmt: skip
    return found


def reached(raw: list[Got], sources: int, partitions: int, instants: Mapping[int, int]) -> dict[int, int]:
    """When the last raw partition knew that each period was over. `instants`: of each period."""
    last = dict[int, int]()
    for partition in range(partitions):
        clocks, waiting = dict[int, int](), sorted(instants)
        for got in raw:
            message = decode(got.value or b"") if got.place.partition == partition else None
            if isinstance(message, Progress):
                clocks[message.partition] = message.time
            elif isinstance(message, Quiet):
                clocks.update(dict.fromkeys(message.partitions, message.time))
            while waiting and len(clocks) == sources and min(clocks.values()) >= instants[waiting[0]]:
                t = waiting.pop(0)
                last[t] = max(last.get(t, 0), got.time_ms)
    return last


def passed(found: Mapping[str, list[Got]], every_ms: int, sources: int, raw: int) -> dict[str, dict[int, int]]:
    """When the last record of each period came into each log."""
    times: dict[str, dict[int, int]] = {hop: {} for hop in ("end", "asked", *HOPS)}
    rounds = {
        message.digest.hex(): (message.t, got.time_ms) for got in found["rounds"]
        if isinstance(message := decode(got.value or b""), Round)
    }  # fmt: skip
    times["end"] = {t: (t + 1) * every_ms + LATENESS_MS for t, _ in rounds.values()}
    times["asked"] = dict(rounds.values())
    times["raw"] = reached(found["raw"], sources, raw, times["end"])
    kinds: dict[str, type[Done | Close | Seal | Tally]] = {
        "reports": Done, "closings": Close, "batches": Seal, "tallies": Tally,
    }  # fmt: skip
    for topic, kind in kinds.items():
        for got in found[topic]:
            message = decode(got.value or b"")
            if isinstance(message, kind) and message.round in rounds:
                t = rounds[message.round][0]
                times[topic][t] = max(times[topic].get(t, 0), got.time_ms)
    times["releases"] = {int(orjson.loads(got.value or b"")["t"]): got.time_ms for got in found["releases"]}
    return times


def shown(times: Mapping[str, Mapping[int, int]]) -> Iterator[str]:
    """The table of one window. Periods that were not asked about before their end are counted beside it."""
    periods = sorted(set(times["seen"]).intersection(*(times[hop] for hop in ("end", "asked", *HOPS))))
    if not periods:
        yield "  no period was released"
        return
    before, rows = "end", [("asked after the end", "end", "asked")]
    for hop in HOPS:
        rows.append((f"{before} to {hop}", before, hop))
        before = hop
    for what, start, stop in [*rows, ("end to releases", "end", "releases"), ("end to seen", "end", "seen")]:
        taken = np.array([times[stop][t] - times[start][t] for t in periods])
        p50, p25, p90 = np.percentile(taken, (50, 25, 90))
        yield f"  {what:22} {p50:7.0f} {p25:7.0f} {taken.min():7d} {p90:7.0f} {len(taken):5d}"


async def window(deployed: Deployed, sources: int, raw: int, seconds: float, rate: int, *, transactions: bool) -> None:
    """Measure for so long and print the table."""
    until, seen = time.monotonic() + seconds, dict[int, int]()
    name, stream = deployed.plan.name, deployed.plan.streams[0]
    pid = deployed.workers[0].pid
    cpu = cpu_s(pid)
    async with asyncio.TaskGroup() as group:
        group.create_task(watch(deployed.client, Place(f"{name}.releases", 0), until, seen))
        if rate:
            way = produce(deployed.client, stream.topic, sources, until, rate, transactions=transactions)
            group.create_task(way)
    spent = (cpu_s(pid) - cpu) / seconds
    topics = {"rounds": 1, "raw": raw, "reports": TARGETS, "closings": 1, "batches": TARGETS, "tallies": 1}
    times = passed(await records(deployed, {**topics, "releases": 1}), stream.every_ms, sources, raw)
    times["seen"] = seen
    for line in shown(times):
        print(line, flush=True)
    print(f"  worker {spent:.1%} of a core", flush=True)


async def enrol(deployed: Deployed, sources: int) -> None:
    """Everybody says something once."""
    now, topic = time.time_ns() // 10**6, deployed.plan.streams[0].topic
    events = [{"stream": "screen", "user": f"u{i}", "time": now, "value": "home"} for i in range(USERS)]
    async with deployed.client.sender() as sender:
        await sender.send([Write(Place(topic, i % sources), orjson.dumps(one)) for i, one in enumerate(events)])


def main() -> None:
    reader = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    reader.add_argument("--every", type=int, default=1, help="length of a period in seconds")
    reader.add_argument("--seconds", type=float, default=60, help="of each window")
    reader.add_argument("--sources", type=int, default=2, help="source partitions")
    reader.add_argument("--raw", type=int, default=2, help="raw partitions")
    reader.add_argument("--rate", type=int, default=20, help="events a second, where some come")
    reader.add_argument("ways", nargs="*", choices=[*WAYS, []], help="how events come; all of them by default")
    options = reader.parse_args()
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder) / "broker", version="4.2.0") as broker:
        broker.start()
        text = DEPLOYMENT.format(raw=options.raw, lateness=LATENESS_MS, every=options.every)
        deployed = Deployed(Path(folder) / "deployed", "latency", broker.bootstrap, text)
        try:
            deployed.create(options.sources)
            worker = deployed.worker()
            if len(deployed.releases(2, 300.0)) < 2:
                raise RuntimeError(f"no release came: {worker.said()[-2000:]}")
            asyncio.run(enrol(deployed, options.sources))
            for what in options.ways or WAYS:
                print(f"{what:24} {'p50':>7} {'p25':>7} {'least':>7} {'p90':>7} {'n':>5}  milliseconds", flush=True)
                rate = 0 if what == "quiet" else options.rate
                measured = window(
                    deployed, options.sources, options.raw, options.seconds, rate, transactions=WAYS[what]
                )
                asyncio.run(measured)
            worker.terminate()
            worker.wait()
        finally:
            deployed.close()


if __name__ == "__main__":
    main()
