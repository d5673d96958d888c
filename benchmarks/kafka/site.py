# SPDX-License-Identifier: Apache-2.0
"""A deployment on the benchmarks' broker: its topics, what is written into them, and the processes that work on it.

Contract: the clock is the feed's and nobody feeds, so nothing happens but what a benchmark writes.  A process that was
started here is ended here.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import orjson

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.client import Client, Described, Got, Place, Write
from murmurate.agents.kafka.client.access import access
from murmurate.agents.kafka.provision import create
from murmurate.agents.kafka.topology import ZoneKeys, zone_keys
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.loader import build
from murmurate.config.planning import plan as planned
from murmurate.topics.codec import encode
from murmurate.topics.messages import Progress, Start

T0 = 1_700_000_000
"""The first period, with periods of a second."""
CHUNK = 16 << 20  # bytes written at once
TICK = os.sysconf("SC_CLK_TCK")


class Site:
    """One deployment, of a name that no other has."""

    def __init__(
        self, bootstrap: str, *, partitions: int, targets: int, domain: int = 2, sources: int = 1,
        declared: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """domain: how many values a frequency has; declared: what else is measured, as a file says it."""
        measured = declared or {"measure": "frequency", "values": [f"v{i}" for i in range(domain)]}
        self.settings: dict[str, Any] = {
            "schema": 1, "name": f"bench-{secrets.token_hex(4)}",
            "privacy": {"epsilon": 1.0, "window": {"periods": 20}, "min_batch": 2},
            "population": {"partitions": partitions, "forget_after": "1d"},
            "time": {"clock": "feed", "lateness": "0s", "patience": "60s"},
            "kafka": {"brokers": bootstrap.split(","), "targets": targets},
            "streams": {
                "screen": {**measured, "every": "1s", "method": "lpu", "missing": {"carry": "always"}}
            },
        }  # fmt: skip
        self.deployment = build(self.settings)
        self.plan = planned(self.deployment)
        self.name = self.plan.name
        self.client = Client(access(self.deployment))
        (self.stream,) = self.plan.streams
        self.sources = {self.stream.topic: sources}
        self._processes: list[Process] = []

    @property
    def keys(self) -> ZoneKeys:
        """Of all zones."""
        return zone_keys(known_secrets(self.name), self.name)

    async def __aenter__(self) -> Site:
        async with self.client.admin() as admin:
            await admin.create({topic: Described(count, 1, {}) for topic, count in self.sources.items()})
        await create(self.client, self.deployment, self.plan, now_ms=T0 * 1000)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.end()
        async with self.client.admin() as admin:  # the next one shall not wait for the disk
            await admin.delete([t for t in await admin.topics() if t.startswith(f"{self.name}.") or t in self.sources])

    def place(self, log: Log) -> Place:
        """A log of ours."""
        return Place(f"{self.name}.{log.topic}", log.partition)

    def users(self, count: int) -> np.ndarray:
        """Pseudonyms: uint8[n, 16]."""
        return np.random.default_rng(0).integers(0, 256, (count, 16), np.uint8)

    def at(self, period: int, within_ms: int = 0) -> int:
        """A time in a period, counted from the first one."""
        return (T0 + period) * 1000 + within_ms

    def reached(self, time_ms: int) -> list[Out]:
        """The clock of every source partition shows this time."""
        return [
            Out(Log("raw", p), encode(Progress(topic=topic, partition=source, time=time_ms)))
            for topic, count in self.sources.items()
            for source in range(count)
            for p in range(self.plan.partitions)
        ]

    def start(self) -> list[Out]:
        """Publish may ask its first question."""
        stream = self.stream
        started = Start(stream=stream.name, t=T0, config=stream.config, revision=stream.revision)
        return [Out(Log("rounds", 0), encode(started))]

    async def write(self, records: Iterable[Out]) -> None:
        """Into our own topics, a bounded number of bytes at once."""
        async with self.client.sender() as sender:
            batch, size = list[Write](), 0
            for log, value, *_ in records:
                batch.append(Write(self.place(log), value))
                size += len(value)
                if size > CHUNK:
                    await sender.send(batch)
                    batch, size = [], 0
            await sender.send(batch)

    async def write_events(self, values: Sequence[bytes]) -> None:
        """Into the first partition of the source."""
        place = Place(self.stream.topic, 0)
        async with self.client.sender() as sender:
            for at in range(0, len(values), 50_000):
                await sender.send([Write(place, value) for value in values[at : at + 50_000]])

    async def read(self, topic: str, count: int) -> list[Got]:
        """The first so many records of partition 0 of a topic of ours."""
        found: list[Got] = []
        async with self.client.reader() as reader:
            reader.at({self.place(Log(topic, 0)): 0})
            while len(found) < count:
                self.check()
                found += await reader.poll()
        return found

    async def end(self, log: Log) -> int:
        """The offset after the last record of a log of ours."""
        async with self.client.reader() as reader:
            return (await reader.bounds([self.place(log)]))[self.place(log)][1]

    async def size(self, topic: str, partitions: int) -> int:
        """Bytes of keys and values that were committed to a topic of ours."""
        total = 0
        async with self.client.reader() as reader:
            places = [self.place(Log(topic, p)) for p in range(partitions)]
            for place, (first, end) in (await reader.bounds(places)).items():
                async for got in reader.between(place, first, end):
                    total += len(got.key or b"") + len(got.value or b"")
        return total

    def process(self, what: str, **more: Any) -> Process:
        """A process of benchmarks/kafka/process.py."""
        started = Process({"what": what, "settings": self.settings, "sources": self.sources, **more})
        self._processes.append(started)
        return started

    def worker(self, *zones: str, how: str = "worker", **more: Any) -> Process:
        """The stages of some zones, through Faust agents, or as bare Tasks that read everything themselves."""
        return self.process(how, zones=zones, instance=f"w{len(self._processes)}", **more)

    def check(self) -> None:
        """No process has failed."""
        for process in self._processes:
            process.check()


class Process:
    """A child: told what to do on its command line, asked to end by SIGTERM, it answers in one line of JSON."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        words = [sys.executable, "-m", "benchmarks.kafka.process", json.dumps(order)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )

    def check(self) -> None:
        if self._process.poll() not in (None, 0):
            raise RuntimeError(f"a process of the benchmark ended with {self._process.returncode}")

    @property
    def cpu_s(self) -> float:
        """CPU time so far, of all its threads."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICK

    @property
    def resident_mb(self) -> float:
        """Memory that it holds now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmRSS")) / 1024

    async def ready(self) -> None:
        """Until it says so."""
        await asyncio.to_thread(self._line)

    async def said(self) -> dict[str, Any]:
        """What it has to say when it ends by itself."""
        return await asyncio.to_thread(self._line)

    async def stop(self) -> dict[str, Any]:
        """Ask it to end: what it says then."""
        self._process.terminate()
        return await asyncio.to_thread(self._line)

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process of the benchmark ended with {self._process.wait()}")
        found: dict[str, Any] = orjson.loads(line)
        return found

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
