# SPDX-License-Identifier: Apache-2.0
"""A soak, as it runs: the load, who comes and goes meanwhile, the samples, and what is found when it ends.

Contract: the load begins once every period that it may fall into waits for its doors, and ends before anything is
counted; whatever is wrong is a line of `wrong`, and the run goes on unless a worker or the load has ended.
Not here: what is right (soak_checks.py, soak_thirds.py), what is written (soak_load.py).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import orjson

from murmurate.agents.cli.worker import BROKER
from murmurate.agents.kafka.client import Sender
from murmurate.agents.kafka.errors import AwayError
from murmurate.agents.kafka.status import status
from tests.faults.deployed import Deployed, Process
from tests.faults.inside import now_ms
from tests.faults.soak_checks import SETTLED, Releases, doors_that_told, kept, lateness, results
from tests.faults.soak_load import Source, writers
from tests.faults.soak_options import PARTITIONS, PLANTED_AT, WIDENED_AT, WIDER, Options
from tests.faults.soak_thirds import Sample, descriptors, growth, rss_mb
from tests.faults.soak_visits import Visit, visit
from tests.faults.test_observe import get, served

WORKERS: Final = 2
LAST_S: Final = 300.0
"""How long the last periods may take."""


@dataclass
class Soak:
    """A run, as far as it has come."""

    deployed: Deployed
    options: Options
    releases: Releases
    sources: list[Source]
    auditor: Process | None = None
    samples: list[Sample] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Nothing is planted while somebody visits, whose counters are read a moment before it leaves."""

    @property
    def processes(self) -> list[Process]:
        return [*self.deployed.workers, *([self.auditor] if self.auditor else [])]

    def growth(self) -> tuple[list[str], list[str]]:
        """Figures of memory, descriptors and lag, and what of them is wrong."""
        names = [f"worker {i}" for i in range(len(self.deployed.workers))] + ["auditor"] * bool(self.auditor)
        return growth(self.samples, names)

    async def until(self, part: float) -> None:
        """Until so much of the run is over."""
        await asyncio.sleep(max(0.0, self.began + part * 60 * self.options.minutes - time.monotonic()))


def begun(deployed: Deployed) -> None:
    """Make the topics, start the workers, and wait until each door has told a time: a door without a state begins where
    its source ends.
    """
    deployed.create(PARTITIONS)
    for i in range(WORKERS):
        deployed.worker(instance=f"w{i}").until('"ready"', 120.0)
    wanted, end = PARTITIONS * len(deployed.plan.everything), time.monotonic() + LAST_S
    while len(doors_that_told(deployed)) < wanted:
        assert time.monotonic() < end, deployed.blame([], [])
        time.sleep(0.2)  # other processes write


def run(deployed: Deployed, options: Options) -> Soak:
    """All of it, on workers that run."""
    return asyncio.run(_run(deployed, options))


async def _run(deployed: Deployed, options: Options) -> Soak:
    """1. The auditor and the load begin.  2. Until the time is over: samples, visits, partitions, planted records.
    3. The load ends, and its last periods are waited for.  4. Workers end, and what they left is counted.
    """
    brokers = ",".join(deployed.client.access.brokers)
    async with deployed.client.sender() as sender, deployed.client.reader() as reader:
        sources = [
            Source(
                one.name, one.topic, PARTITIONS, options.rate, options.rate * options.every_s, brokers, options.turn_s
            )
            for one in deployed.plan.everything
        ]
        soak = Soak(deployed, options, Releases(reader, deployed), sources)
        if options.kind == "mixed":
            soak.auditor = _auditor(deployed)
        loading = list(writers(sources, sender, options.kind))
        for source in sources:
            source.begin()
        meanwhile = []
        if options.kind == "mixed":
            meanwhile = [asyncio.create_task(one) for one in (_visits(soak), _widen(soak), _plant(soak, sender))]
        try:
            await _sampled(soak, [*loading, *meanwhile])
            await asyncio.gather(*meanwhile)
        finally:
            for source in sources:
                source.stop.set()
        await asyncio.gather(*loading)
        await _last_periods(soak)
        await _judge(soak)
    return soak


def _auditor(deployed: Deployed) -> Process:
    options = ["audit", "ledger", "--follow", "--state", str(deployed.folder / "audited"), "--listen", "127.0.0.1:0"]
    process = Process([*deployed.command, *options, "-c", str(deployed.file)], deployed.folder / "audit.log", {})
    deployed.others.append(process)
    return process


async def _sampled(soak: Soak, tasks: list[asyncio.Task[None]]) -> None:
    """A line for each sample, until the time is over."""
    deployed, end = soak.deployed, soak.began + 60 * soak.options.minutes
    while (left := end - time.monotonic()) > 0:
        await asyncio.sleep(min(soak.options.sample_s, left))
        for task in tasks:
            if task.done():
                task.result()
        _restart(soak)
        try:
            found = await status(deployed.client, deployed.deployment, deployed.plan, now_ms=now_ms())
        except AwayError as error:  # where the machine has much else to do, brokers may not answer in time
            print(f"no sample: {error}", flush=True)
            continue
        lag = sum(records or 0 for stage in found.stages for records in stage.lag.values())
        await soak.releases.take()
        memory = tuple(rss_mb(one) for one in soak.processes)
        opened = tuple(descriptors(one) for one in deployed.workers)
        count = sum(soak.releases.taken.values())
        sample = Sample(time.monotonic() - soak.began, memory, opened, lag, count)
        soak.samples.append(sample)
        shown = "  ".join(f"{mb:6.1f} MB" for mb in memory)
        behind = max(soak.releases.delays_ms[-len(soak.sources) :], default=0) / 1000
        print(
            f"{sample.seconds / 60:5.1f} min  {shown}  {sum(opened)} fds  lag {lag:6d}  releases {count}, "
            f"the last {behind:.1f} s after its time  refused workers {len(soak.visits)}  wrong {len(soak.wrong)}",
            flush=True,
        )


def _restart(soak: Soak) -> None:
    """Start workers again that say so, as whoever runs them would; their memory says nothing any more."""
    assert soak.auditor is None or soak.auditor.running, soak.auditor.said()[-2000:]
    for number, worker in enumerate(soak.deployed.workers):
        if not worker.running:
            last = worker.lines()[-1]["message"]
            assert worker.wait() == BROKER, f"worker {number}: {last}"
            soak.wrong.append(f"worker {number} was started again, so that its memory is not compared: {last}")
            soak.deployed.workers[number] = worker.again()


async def _visits(soak: Soak) -> None:
    """Workers whose clock is ahead come and go."""
    for number, part in enumerate(soak.options.visits_at):
        await soak.until(part)
        async with soak.alone:
            found = await asyncio.to_thread(visit, soak.deployed, number, soak.options.stay_s)
        soak.visits.append(found)
        soak.wrong += found.wrong


async def _widen(soak: Soak) -> None:
    """Every source gets more partitions; producers that begin later write to them."""
    await soak.until(WIDENED_AT)
    for source in soak.sources:
        async with soak.deployed.client.admin() as admin:
            await admin.widen(source.topic, WIDER)
        source.partitions = WIDER


async def _plant(soak: Soak, sender: Sender) -> None:
    """Now and then, late events and garbage."""
    for part in PLANTED_AT:
        await soak.until(part)
        async with soak.alone:
            for source in soak.sources:
                await source.plant(sender)


async def _last_periods(soak: Soak) -> None:
    """Until the period of the last event is released."""
    await _patiently(soak, lambda: all(
        soak.releases.ends.get(one.stream, 0) > one.last_ms for one in soak.sources
    ), "the last periods were not released")  # fmt: skip


async def _patiently(soak: Soak, came: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + LAST_S
    while not came():
        if time.monotonic() > end:
            soak.wrong.append(f"{otherwise} within {LAST_S:g} s")
            return
        await soak.releases.take()
        await asyncio.sleep(0.2)  # other processes write them


async def _judge(soak: Soak) -> None:
    """1. What workers counted and said, and how they end.  2. The auditor.  3. Releases.  4. What stands in topics."""
    deployed, sources, releases = soak.deployed, soak.sources, soak.releases
    found = await status(deployed.client, deployed.deployment, deployed.plan, now_ms=now_ms())
    soak.wrong += [f"status: {line}" for line in found.wrong]
    counted = sum((one.results for one in soak.visits), Counter[str]())
    for worker in deployed.workers:
        _, edge = served(worker)
        counted += results(get(f"{edge}/metrics").text)
    soak.wrong += lateness(counted, sources)
    for worker in deployed.workers:
        worker.terminate()
    codes = [one.wait(LAST_S) for one in deployed.workers]
    soak.wrong += [f"workers ended with {codes}; allowed: 0"] * any(codes)
    lines = [line for one in deployed.workers for line in one.lines() if "logger" not in line]  # those of our own
    errors = Counter(line["message"] for line in lines if line["level"] in ("ERROR", "CRITICAL"))
    soak.wrong += [f"workers said {n} times: {line}" for line, n in errors.items()]

    if soak.auditor:
        soak.auditor.terminate()
        code, last = soak.auditor.wait(LAST_S), soak.auditor.said().splitlines()[-1]
        if (code, last.strip()) != (0, "holds"):
            soak.wrong.append(f"audit ledger --follow: ended with {code}: {last}")
        audited = deployed.run("audit", "ledger", "--json")
        told = orjson.loads(audited.stdout)
        soak.told.append(f"audit ledger: {told['reports']} reports, {sum(told['violations'].values())} violations")
        if audited.returncode:
            soak.wrong.append(f"audit ledger: ended with {audited.returncode}: {audited.stdout} {audited.stderr}")

    await releases.take()
    since = max(one.start_ms for one in sources) + SETTLED * soak.options.every_s * 1000
    until = min(one.last_ms for one in sources)
    soak.wrong += [*releases.wrong, *releases.nobody_silent(since, until)]
    found_there = await kept(deployed)
    soak.wrong += found_there.compared(sources, deployed.deployment.time.skew_ms)

    soak.told += _figures(soak, found_there.ahead_ms, since, until)


def _figures(soak: Soak, ahead_ms: int, since: int, until: int) -> list[str]:
    """What is worth to be known beside what is wrong."""
    delays, slowest_s = sorted(soak.releases.delays_ms), max((one.refused_s for one in soak.visits), default=0)
    lines = [
        f"releases: {dict(soak.releases.taken)}; after their time by {delays[len(delays) // 2] / 1000:.1f} s in the "
        f"middle, {delays[-1] / 1000:.1f} s at most",
        f"refused workers: {len(soak.visits)}, each after {slowest_s:.1f} s at most; "
        f"newest time that a door told: {ahead_ms} ms after the brokers'",
    ]
    for one in soak.sources:
        share, error = soak.releases.silent_share(one.stream, since, until)
        first, last = soak.releases.begins.get(one.stream, 0), soak.releases.ends.get(one.stream, 0)
        lines.append(
            f"{one.topic}: {one.lawful} events, {one.added} of them in {one.partitions - one.at_first} added "
            f"partitions; {one.aborted} aborted and written again; planted {one.late} late, {one.garbage} garbage; "
            f"slowest write {one.slowest_ms} ms; share of nothing {share:.4f} (+-{error:.4f}); "
            f"released from {(one.start_ms - first) / 1000:.1f} s before its first event until "
            f"{(last - one.last_ms) / 1000:.1f} s after its last"
        )
    return lines
