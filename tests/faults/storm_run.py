# SPDX-License-Identifier: Apache-2.0
"""A deployment in a storm, by the command line alone: topics made, workers started, a recording fed, an auditor beside
it, violations planted in the end.

Contract: product and brokers are as they are out of the box: no patience, time-out or interval is set.  The auditor
says all along that everything holds.  What does not hold is an AssertionError that says where.  Not here: what a storm
does (storm.py), what has to come out of it (storm_compared.py), the violations (planted.py).

    python -m tests.faults.storm_run --seed 2 --seconds 420 --kills 54 --events 500000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.faults.broker import Broker
from tests.faults.deployed import Deployed, Process
from tests.faults.planted import auditor, until_more, violations
from tests.faults.recordings import VALUES, two_streams
from tests.faults.storm import ANY, MOMENTS, Storm, deeds
from tests.faults.storm_compared import Came, by_stream, compare
from tests.faults.test_audit_ledger import write

PAGES = (*VALUES, *(f"page {i}" for i in range(40)))
"""Reports are wide: a narrow one often equals another user's right one."""
TEXT = f"""
[privacy]
epsilon = 1.0
window = {{ periods = 10 }}
min_batch = 20

[population]
partitions = 4
forget_after = "1h"

[time]
clock = "feed"

[streams.screen]
measure = "frequency"
values = {list(PAGES)}
every = "2s"
share = 0.5
method = "lpa"
mechanism = "oue"

[streams.fare]
measure = "mean"
range = [0, 120]
every = "3s"
share = 0.5
method = "lpu"
"""
STOCK = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "10000",
    "group.initial.rebalance.delay.ms": "3000",
    "group.min.session.timeout.ms": "6000",
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
}
"""What the other tests' brokers have shorter than Kafka's own defaults."""
WORKERS, FENCED = 3, 3
IDLE_S, WITHIN_S, SAMPLE_S = 240.0, 10.0, 2.0
ALL = (0, 1, 2)


@dataclass(frozen=True)
class Size:
    """How long a storm is, and how bad. A second of it is one of the recording."""

    seconds: int
    events: int
    users: int
    kills: int
    freezes_s: tuple[float, ...]
    losses: tuple[tuple[tuple[int, ...], float], ...]
    """Which brokers are lost, for how many seconds."""


SHORT = Size(50, 40_000, 4_000, 6, (9.0,), (((1,), 6.0),))
WHOLE = Size(
    420, 500_000, 10_000, 54, (2.0, 5.0, 8.0, 12.0, 16.0, 20.0),
    (((0,), 15.0), ((1,), 15.0), ((2,), 15.0), ((0, 1), 10.0), (ALL, 6.0)),
)  # fmt: skip


@dataclass
class Seen:
    """What the auditor's metrics said while the storm went on."""

    samples: int = 0
    unaudited_s: float = 0.0
    """The longest that anything written was not judged."""
    behind: int = 0
    reports: int = 0


class StormRun:
    """One deployment, from its topics to the report."""

    def __init__(self, folder: Path, size: Size, seed: int, *, keep: bool = False) -> None:
        self.size, self.seed = size, seed
        self.brokers = Broker(folder / "brokers", nodes=len(ALL), settings=STOCK, keep=keep)
        name = f"t-storm-{secrets.token_hex(4)}"
        self.deployed = Deployed(folder / "shop", name, self.brokers.bootstrap, TEXT, replication=len(ALL))
        self.source = two_streams(
            folder / "clicks.jsonl", events=size.events, users=size.users, seconds=size.seconds, seed=seed, values=PAGES
        )
        self.storm = Storm(
            self.deployed, self.brokers, seed=seed,
            pause_s=0.85 * size.seconds / (size.kills + len(size.freezes_s) + len(size.losses)),
        )  # fmt: skip
        self.seen = Seen()
        self.found_after: list[tuple[str, float]] = []
        self._began = time.monotonic()
        self.came = Came()

    def run(self) -> None:
        """1. What has to come out. 2. The storm. 3. What came out. 4. Planted violations."""
        with self.brokers:
            try:
                wanted = self._expected()
                self._began = time.monotonic()
                self._made()
                following = auditor(self.deployed)
                following.until("metrics at", 60.0)
                for _ in range(WORKERS):
                    self.deployed.worker()
                for worker in self.deployed.workers:
                    worker.until('"ready"', 120.0)
                feed = self.deployed.feed(str(self.source), "--speed", "1x")
                asyncio.run(self._weather(following, feed, sum(map(len, wanted.values()))))
                self._ended(feed)
                self.came = compare(self.deployed, wanted, self.size.events)
                assert not self.came.wrong, self._blame(self.came.wrong)
                self._audited(following)
                self._plant(following)
            finally:
                self.storm.close()
                self.deployed.close()

    def _expected(self) -> dict[str, list[bytes]]:
        """Per stream the releases of a replay with the same keys."""
        done = self.deployed.run("replay", str(self.source), "--repeatable", "--out", "day")
        assert done.returncode == 0, done.stdout + done.stderr
        return by_stream((self.deployed.folder / "day" / "releases.jsonl").read_bytes().splitlines())

    def _made(self) -> None:
        made = self.deployed.run("topics", "create")
        assert made.returncode == 0, made.stdout + made.stderr

    async def _weather(self, following: Process, feed: Process, periods: int) -> None:
        """The storm, and beside it what the auditor's metrics say: the first one that ends, ends the other."""
        size = self.size
        self.storm.plan(deeds(self.storm, kills=size.kills, freezes_s=size.freezes_s, losses=size.losses))
        storm = asyncio.create_task(self.storm.follow(periods, IDLE_S))
        sampling = asyncio.create_task(self._sample(following, feed))
        try:
            done, _ = await asyncio.wait((storm, sampling), return_when=asyncio.FIRST_COMPLETED)
        finally:
            storm.cancel()
            sampling.cancel()
            await asyncio.gather(storm, sampling, return_exceptions=True)
        for each in done:
            each.result()
        self.storm.finish()
        assert len(self.storm.released) >= periods, self._blame(f"{len(self.storm.released)} of {periods} periods")

    async def _sample(self, following: Process, feed: Process) -> None:
        url, seen = following.said().split("metrics at ")[1].split()[0], self.seen
        while True:
            assert following.running, following.said()[-2000:]
            assert feed.running or feed.wait() == 0, feed.said()[-2000:]
            told = await asyncio.to_thread(read_metrics, url)
            seen.samples += 1
            seen.unaudited_s = max(seen.unaudited_s, told["murmurate_audit_unaudited_seconds"])
            seen.behind = max(seen.behind, int(told.get("murmurate_audit_lag_records", 0)))
            seen.reports = int(told["murmurate_audit_reports"])
            assert not told["murmurate_audit_violations"], following.said()[-4000:]
            await asyncio.sleep(SAMPLE_S)

    def _ended(self, feed: Process) -> None:
        """The feed and the workers end by themselves, as they should, once all are ready again."""
        assert feed.wait(60.0) == 0, feed.said()[-2000:]
        end = time.monotonic() + 120.0
        while not all(map(is_ready, self.deployed.workers)):
            assert time.monotonic() < end, self._blame("not every worker is ready again")
            self.storm()
            time.sleep(0.1)  # other processes write their logs
        for worker in self.deployed.workers:
            worker.terminate()
        for worker in self.deployed.workers:
            assert worker.wait(60.0) == 0, worker.said()[-2000:]
        assert set(self.storm.codes) <= {FENCED}, self._blame(f"workers ended with {dict(self.storm.codes)}")

    def _audited(self, following: Process) -> None:
        """It has judged all of it and says so; whoever looks once says the same."""
        until_more(following, "holds  ", following.said().count("holds  ") + 1, 120.0)
        assert "VIOLATION" not in following.said(), following.said()[-4000:]
        once = self.deployed.run("audit", "ledger", "--json")
        assert once.returncode == 0, once.stdout + once.stderr
        told = json.loads(once.stdout)
        assert told["told"], once.stdout

    def _plant(self, following: Process) -> None:
        """One kind after another: how long until each is said."""
        for kind, violation in list(violations(self.deployed, "screen")):
            said = following.said().count(f"VIOLATION {kind}")
            write(self.deployed, violation)
            self.found_after.append((kind, until_more(following, f"VIOLATION {kind}", said, WITHIN_S)))
        following.terminate()
        assert following.wait() == 4, following.said()[-2000:]

    def _blame(self, what: str) -> str:
        return f"{what}\n{self.report()}\n{self.deployed.blame([], [])}"

    def report(self) -> str:
        """What happened, in a few lines."""
        storm, names = self.storm, sorted({worker.log.stem for worker in self.deployed.workers})
        lines = [
            f"seed {self.seed}: {self.size.events} events, {self.came.reports} reports, {self.came.releases} releases, "
            f"in {time.monotonic() - self._began:.0f} s",
            f"  {storm.kills} kills; {storm.deaths} workers ended by themselves, with {dict(storm.codes)}",
        ]
        for moment in (ANY, *MOMENTS):
            hit = storm.hit.get(moment, Counter())
            lines.append(f"    {moment:<36}" + "".join(f"  {name} {hit[name]:2d}" for name in names))
        frozen = ", ".join(f"{name} {seconds:g} s" for name, seconds in storm.freezes)
        lost = "; ".join(f"{nodes} for {seconds:.0f} s" for nodes, seconds in storm.losses)
        lines += [
            f"  frozen: {frozen}", f"  brokers lost: {lost}",
            f"  {self.came.given_up} times given up, {self.came.left_out} rounds closed without a contributor",
            f"  bytes compared, periods: {self.came.compared}",
            f"  auditor: {self.seen.reports} reports judged, {self.seen.samples} times asked; at most "
            f"{self.seen.behind} records behind, {self.seen.unaudited_s:.1f} s not judged",
            "  found after: " + ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in self.found_after),
        ]  # fmt: skip
        return "\n".join(lines)


def is_ready(worker: Process) -> bool:
    """Whether the last that it said of it is that it is ready."""
    said = [line["message"] for line in worker.lines() if line["message"] in ("serving", "ready")]
    return worker.running and said[-1:] == ["ready"]


def read_metrics(url: str) -> dict[str, float]:
    """Each metric, added up over its labels."""
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - the address that the auditor has said
        lines = answer.read().decode().splitlines()
    found: dict[str, float] = {}
    for line in lines:
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            name = name.split("{")[0]
            found[name] = found.get(name, 0.0) + float(value)
    return found


def main() -> int:
    """Run one, of any size."""
    options = argparse.ArgumentParser(description="a deployment in a storm")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=int, default=WHOLE.seconds)
    options.add_argument("--events", type=int, default=WHOLE.events)
    options.add_argument("--users", type=int, default=WHOLE.users)
    options.add_argument("--kills", type=int, default=WHOLE.kills)
    options.add_argument("--short", action="store_true", help="one freeze and one loss")
    options.add_argument("--folder", type=Path, help="where its logs stay")
    args = options.parse_args()
    bad = SHORT if args.short else WHOLE
    size = Size(args.seconds, args.events, args.users, args.kills, bad.freezes_s, bad.losses)
    with tempfile.TemporaryDirectory() as folder:
        run = StormRun(args.folder or Path(folder), size, args.seed, keep=args.folder is not None)
        try:
            run.run()
        finally:
            print(run.report(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
