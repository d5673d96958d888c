# SPDX-License-Identifier: Apache-2.0
"""A deployment on a real broker, as its users meet it: a file, secrets, topics, workers as processes, a feed.

Every process is started here and ended here, by its id; what a worker logged is kept for whoever asks why.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.client import Client, Described, Got, Place
from murmurate.agents.kafka.client.access import access
from murmurate.agents.kafka.provision import create
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.config.loader import load
from murmurate.config.planning import plan as planned
from murmurate.config.secrets import NAMES, fingerprints

RUN = [sys.executable, "-m", "murmurate"]


class Deployed:
    """One deployment in a folder of its own."""

    def __init__(
        self, folder: Path, name: str, bootstrap: str, text: str, replication: int = 1, *, run: Sequence[str] = RUN
    ) -> None:
        self.folder, self.file = folder, folder / "murmurate.toml"
        self.command = list(run)
        """What starts `murmurate`."""
        folder.mkdir(parents=True, exist_ok=True)
        brokers = orjson.dumps(bootstrap.split(",")).decode()
        places = "\n".join(f'{secret} = {{ file = "{folder / secret}" }}' for secret in NAMES)
        self.file.write_text(
            f'name = "{name}"\n{text}\n[kafka]\nbrokers = {brokers}\nreplication = {replication}\ntargets = 2\n\n'
            f"[secrets]\n{places}\n"
        )
        for secret, value in known_secrets(name).items():
            (folder / secret).write_text(value.hex() + "\n")
        self.deployment = load(self.file, {})
        self.plan = planned(self.deployment)
        self.client = Client(access(self.deployment, {}))
        self.workers: list[Process] = []
        self.others: list[Process] = []
        self.longest_pause_s = 0.0
        """Between two releases that were followed."""

    def create(self, partitions: int = 2) -> None:
        """Make the topics: those of the sources, and ours, which keep everything for whoever audits them. Each source
        partition has a door, and each door costs a worker as much as a stage does.
        """
        asyncio.run(self._create(partitions))

    async def _create(self, partitions: int) -> None:
        async with self.client.admin() as admin:
            copies = self.deployment.kafka.replication
            topics = {stream.topic for stream in self.plan.everything}
            await admin.create({topic: Described(partitions, copies, {}) for topic in topics})
        shown = fingerprints(known_secrets(self.plan.name), self.plan.name)
        await create(self.client, self.deployment, self.plan, shown, now_ms=time.time_ns() // 10**6)

    def worker(self, *options: str, instance: str = "", env: Mapping[str, str] | None = None) -> Process:
        """Start a worker; `--instance` makes a restart the same member."""
        name = instance or f"w{len(self.workers)}"
        web = {"MURMURATE__WEB__LISTEN": "127.0.0.1:0", "MURMURATE__WEB__EDGE": "127.0.0.1:0"}
        args = [*self.command, "worker", "-c", str(self.file), "--instance", name, *options]
        process = Process(args, self.folder / f"{name}.log", web | dict(env or {}))
        self.workers.append(process)
        return process

    def feed(self, source: str, *options: str) -> Process:
        """Start to feed a recording."""
        args = [*self.command, "feed", source, "-c", str(self.file), *options]
        process = Process(args, self.folder / "feed.log", {})
        self.others.append(process)
        return process

    def run(self, *args: str, within_s: float = 600.0) -> subprocess.CompletedProcess[str]:
        """A verb, to its end."""
        command = [*self.command, *args, "-c", str(self.file)]
        return subprocess.run(command, capture_output=True, text=True, timeout=within_s, cwd=self.folder)

    def expected(self, source: str, stream: str | None = None) -> list[bytes]:
        """The releases of a replay of the same recording with the same keys: no broker, no fault."""
        secrets = known_secrets(self.plan.name)
        return Replay(self.plan, open_source(source, self.plan, stream), keys(secrets, self.plan.name)).run().releases

    def releases(self, count: int, timeout_s: float = 120.0, watch: Callable[[], None] = lambda: None) -> list[bytes]:
        """The first `count` records of the releases topic, or as many as came until nothing came for so long."""
        return asyncio.run(self._releases(count, timeout_s, watch))

    async def _releases(self, count: int, timeout_s: float, watch: Callable[[], None]) -> list[bytes]:
        found: list[bytes] = []
        async with self.client.reader() as reader:
            place = Place(f"{self.plan.name}.releases", 0)
            reader.at({place: 0})
            last = time.monotonic()
            while len(found) < count and time.monotonic() - last < timeout_s:
                watch()
                for got in await reader.poll(200):
                    if found:
                        self.longest_pause_s = max(self.longest_pause_s, time.monotonic() - last)
                    found.append(got.value or b"")
                    last = time.monotonic()
        return found

    def everything(self, topic: str) -> list[Got]:
        """Every committed record of a topic of ours, partition by partition."""
        return asyncio.run(self._everything(topic))

    async def _everything(self, topic: str) -> list[Got]:
        name, found = f"{self.plan.name}.{topic}", []
        async with self.client.admin() as admin, self.client.reader() as reader:
            partitions = (await admin.describe([name]))[name].partitions
            places = [Place(name, p) for p in range(partitions)]
            for place, (first, end) in (await reader.bounds(places)).items():
                found += [got async for got in reader.between(place, first, end)]
        return found

    def blame(self, found: Sequence[bytes], wanted: Sequence[bytes]) -> str:
        """Where the releases part, and the last things that were logged."""
        at = next(
            (i for i, (a, b) in enumerate(zip(found, wanted, strict=False)) if a != b), min(len(found), len(wanted))
        )
        here = [f"{len(found)} of {len(wanted)} releases; the first that differs is number {at}:"]
        here += [f"  {records[at]!r}" for records in (found, wanted) if at < len(records)]
        for process in (*self.workers, *self.others):
            here += [f"--- {process.log.name}", *process.said().splitlines()[-8:]]
        return "\n".join(here)

    def close(self) -> None:
        """End every process that was started here."""
        for process in (*self.workers, *self.others):
            process.end()


class Process:
    """A command that runs, with what it says in a file."""

    def __init__(self, args: Sequence[str], log: Path, env: Mapping[str, str]) -> None:
        self.args, self.log, self.env = list(args), log, dict(env)
        self.restarts = True
        """Whether whoever looks after it starts it again when it has ended."""
        self._next: Process | None = None  # that was started in its place
        self._out = log.open("ab")
        self._process = subprocess.Popen(
            self.args, stdout=self._out, stderr=self._out, env=os.environ | dict(env), cwd=log.parent
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def again(self) -> Process:
        """The same command once more."""
        self._out.close()
        self._next = Process(self.args, self.log, self.env)
        return self._next

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def lines(self) -> list[dict[str, Any]]:
        """Its log, as JSON."""
        return [orjson.loads(line) for line in self.said().splitlines() if line.startswith("{")]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        self._process.terminate()

    def wait(self, timeout_s: float = 30.0) -> int:
        return self._process.wait(timeout_s)

    def until(self, text: str, timeout_s: float = 30.0) -> None:
        """Until it has said this."""
        end = time.monotonic() + timeout_s
        while text not in self.said():
            assert self.running, f"it ended: {self.said()[-2000:]}"
            assert time.monotonic() < end, f"it never said {text!r}: {self.said()[-2000:]}"
            time.sleep(0.05)  # another process writes the file

    def end(self) -> None:
        if self.running:
            self._process.kill()
            self._process.wait()
        self._out.close()
        if self._next is not None:
            self._next.end()


def by_stream(releases: list[bytes]) -> list[bytes]:
    """By stream, then by period: how streams take turns is nobody's concern."""
    said = [(orjson.loads(text), text) for text in releases]
    return [text for _, text in sorted(said, key=lambda one: (one[0]["stream"], one[0]["t"], one[0]["revision"]))]
