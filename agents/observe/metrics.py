# SPDX-License-Identifier: Apache-2.0
"""The metrics of a worker: counted from what its Tasks commit, looked up in them when somebody asks.

Contract: counters follow committed transactions, so that nothing is counted twice, however often it is folded again;
where a stage alone knows a count, what it says after a recovery is the beginning and only growth counts.  What comes
from a stage of the edge goes to the edge's registry and to no other (ARCHITECTURE rule 9).  A gauge is of the Tasks
that are live here: one that goes takes its samples along.  Not here: names (families.py), HTTP (web/), Faust's own
monitor.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter as Count
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

import orjson
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from murmurate import __version__
from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.errors import BrokerError
from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.task import Task
from murmurate.agents.observe.committed import HoldsLedger, counts, messages
from murmurate.agents.observe.families import EdgeFamilies, Families, gauge, served
from murmurate.agents.observe.late_share import LateShares
from murmurate.agents.observe.retention import RetentionUsed
from murmurate.agents.observe.sources import SourceTransactions
from murmurate.agents.shortage import Shortages
from murmurate.agents.stages.curate import Curate
from murmurate.agents.stages.door import Door
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.publish import Publish
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Out
from murmurate.config.plan import Plan
from murmurate.topics.events import Reason
from murmurate.topics.names import STAGES, Zone

REFRESH_S: Final = 5.0
MOST_NAMES: Final = 64
"""A stream of more names has no estimates here, nor has one whose names are found: each name is a label."""
MICRO: Final = 1e-6
RESULTS: Final[Mapping[str, str]] = {
    **dict.fromkeys((reason.value for reason in Reason), "malformed"),
    Reason.STREAM.value: "unknown", Reason.VALUE.value: "unknown", "foreign": "unknown",
    **{result: result for result in ("late", "future", "second", "accepted", "cut", "width", "over", "tombstone")},
}  # fmt: skip
"""What the stages of the edge count, as results of murmurate_events_total; anything else is none."""
log = logging.getLogger("murmurate.metrics")

MARKERS = 16
"""How many offsets behind it is worth looking whether they are records."""


class Metrics:
    """Told by every Task what happens; `public` and `edge` are what the endpoints serve. `now_ms`: the wall clock."""

    def __init__(self, plan: Plan, zones: Iterable[Zone], *, now_ms: Callable[[], int], fed: bool = False) -> None:
        self.plan, self.zones, self.fed = plan, tuple(zones), fed
        """`fed`: the door's clock is a recording's, so that a delay by the wall clock says nothing."""
        self.now_ms = now_ms
        self.ends: dict[Place, int] = {}
        """The ends of the logs at the last refresh."""
        self.sources, self.retention = SourceTransactions(now_ms), RetentionUsed(now_ms)
        self.newest: dict[str, tuple[dict[str, Any], int]] = {}
        """For each stream, the newest release that was committed here, and when."""
        self.since: dict[str, int] = {}
        """When each instance became live."""
        self._shortages = Shortages(plan)
        self._tasks: WeakValueDictionary[str, Task] = WeakValueDictionary()  # one that was closed may be forgotten
        self._before: dict[str, Count[Any]] = {}
        self._others, self._edge = Families(CollectorRegistry()), EdgeFamilies(CollectorRegistry())
        self._others.registry.register(_Gauges(self, edge=False))
        self._edge.registry.register(_Gauges(self, edge=True))
        self.late = LateShares()
        self._edge.registry.register(self.late)
        self.public = served(self._others.registry)
        self.edge = served(self._others.registry, self._edge.registry)

    def add(self, gauges: Collector, *, edge: bool) -> None:
        """Serve these too: at every endpoint of the worker, or at the edge's alone."""
        (self._edge if edge else self._others).registry.register(gauges)

    def live(self, *, edge: bool) -> list[Task]:
        """The Tasks that fold: of the edge, or of the other zones."""
        live = [task for task in self._tasks.values() if task.life is Life.LIVE]
        return [task for task in live if (STAGES[task.wiring.stage] == "edge") == edge]

    def ages(self) -> dict[str, int]:
        """How old the newest release is of each stream that is published here, or since when that is here."""
        now, found = self.now_ms(), dict[str, int]()
        for task in self.live(edge=False):
            if isinstance(stage := task.stage, Publish):
                for stream in stage.begun:
                    at = max(self.newest[stream][1] if stream in self.newest else 0, self.since[task.wiring.name])
                    found[stream] = max(0, now - at)
        return found

    def given_up_now(self) -> dict[str, int]:
        """How often the open round of each stream that is published here was given up."""
        stages = [task.stage for task in self.live(edge=False) if isinstance(task.stage, Publish)]
        return {stream: n for stage in stages for stream, n in stage.given_up_now.items()}

    # ---- what Tasks tell ----

    def recovered(self, task: Task, seconds: float) -> None:
        """It is live: what its stage has counted so far was counted before, or by somebody else."""
        name = task.wiring.name
        self._tasks[name], self.since[name] = task, self.now_ms()
        self._before[name] = counts(task)
        log.info("recovered", extra={"task": name, "seconds": round(seconds, 3), "records": task.replayed})

    def flushed(self, task: Task, seconds: float, out: tuple[Out, ...]) -> None:
        """A transaction has been committed."""
        stage = task.wiring.stage
        families = self._edge if STAGES[stage] == "edge" else self._others
        families.flush.labels(stage).observe(seconds)
        for letter in messages(out, f"dead.{STAGES[stage]}"):
            families.dead.labels(stage, letter["reason"]).inc()
        grown = self._grown(task)
        match task.stage:
            case Door():
                self._count_events(grown.items())
                self.late.take(stage, grown)
            case Perturb():
                self.late.take(stage, {key: n for (kind, key), n in grown.items() if kind == "event"})
                self._count_events((key, n) for (kind, key), n in grown.items() if kind == "event")
                for key in (key for kind, key in grown if kind == "refusal"):
                    self._edge.refusals.labels(*key).inc(grown["refusal", key])
            case Curate():
                for key, n in grown.items():
                    self._edge.curated.labels(*key).inc(n)
            case Shuffle():
                self._others.batches.labels("", "wrong_round").inc(grown["wrong_round"])  # of no stream that is known
                for seal in messages(out, "batches"):
                    self._sealed(stage, seal)
            case Publish():
                for stream, n in grown.items():
                    self._others.given_up.labels(stream).inc(n)
                for release in messages(out, "releases"):
                    self._released(release)
            case _:
                self._strangers(stage, grown)
                for tally in messages(out, "tallies"):
                    self._reports(tally["stream"], stage, tally["counted"], tally["rejected"]["malformed"])

    def _grown(self, task: Task) -> Count[Any]:
        """What the stage has counted since the last transaction."""
        name, now = task.wiring.name, counts(task)
        grown, self._before[name] = now - self._before.get(name, Count()), now
        return grown

    def _count_events(self, found: Iterable[tuple[tuple[str, str], int]]) -> None:
        for (stream, reason), n in found:
            if reason in RESULTS:
                self._edge.events.labels(stream, RESULTS[reason]).inc(n)

    def _reports(self, stream: str, stage: str, ok: int, malformed: int) -> None:
        self._others.reports.labels(stream, stage, "ok").inc(ok)
        self._others.reports.labels(stream, stage, "malformed").inc(malformed)

    def _strangers(self, stage: str, grown: Count[Any]) -> None:
        """Reports of rounds that nobody knows any more: not of any stream."""
        self._others.reports.labels("", stage, "wrong_round").inc(grown["wrong_round"])

    def _sealed(self, stage: str, seal: dict[str, Any]) -> None:
        stream, malformed = seal["descriptor"]["stream"], seal["rejected"]["malformed"]
        self._reports(stream, stage, seal["received"] - malformed, malformed)
        small = seal["rejected"].get("undersized", False)
        result = "too_small" if small else "deadline" if seal["missing"] else "sealed"
        self._others.batches.labels(stream, result).inc()

    def _released(self, release: dict[str, Any]) -> None:
        stream, now = release["stream"], self.now_ms()
        if (said := self._shortages.take(release)) is not None:
            log.warning("%s: %s", stream, said)
        if release["revision"] > self.plan.any_stream(stream).revision:
            self._others.releases.labels(stream, "revised").inc()
            return
        self._others.releases.labels(stream, release["decision"]).inc()
        self.newest[stream] = release, now
        if not self.fed:
            end = (release["t"] + 1) * self.plan.any_stream(stream).every_ms
            self._others.close_delay.labels(stream).observe(max(0, now - end) / 1000)

    # ---- what is looked up at the brokers ----

    async def refresh(self, client: Client, every_s: float = REFRESH_S) -> None:
        """Learn the ends of the logs again and again, until cancelled. Brokers that are away leave them as they are."""
        while True:
            try:
                async with client.reader() as reader, client.reader(aborted=True) as everything:
                    while True:
                        await self.look(reader)
                        await self.sources.look(client, reader, everything, self.live(edge=True), fed=self.fed)
                        await self.retention.look(client, everything, self._tasks.values())
                        await asyncio.sleep(every_s)
            except BrokerError as error:
                log.warning("lag is not known: %s", error)
            await asyncio.sleep(every_s)

    async def look(self, reader: Reader) -> None:
        """Learn the ends of every live Task's logs."""
        live = [*self.live(edge=False), *self.live(edge=True)]
        places = {task.wiring.place(log) for task in live for log in task.wiring.inputs}
        if not places:
            return
        ends = {place: end for place, (_, end) in (await reader.bounds(sorted(places))).items()}
        for task in live:  # what is pushed to a Task ends with ends of transactions, which are no records
            pushed = task.wiring.pushed
            if pushed is not None and 0 < ends[task.wiring.place(pushed)] - (mark := task.marks[pushed]) <= MARKERS:
                place = task.wiring.place(pushed)
                if not [got async for got in reader.between(place, mark, ends[place])]:
                    ends[place] = mark
        self.ends = ends


class _Gauges(Collector):
    """What is as it is when somebody asks."""

    def __init__(self, metrics: Metrics, *, edge: bool) -> None:
        self._metrics, self._is_edge = metrics, edge

    def collect(self) -> Iterator[GaugeMetricFamily]:
        tasks = self._metrics.live(edge=self._is_edge)
        yield self._lag(tasks)
        size = gauge("murmurate_state_bytes")
        for task in tasks:
            size.add_metric((task.wiring.stage, str(task.wiring.partition)), task.state_bytes)
        yield size
        yield from self._ledger(tasks) if self._is_edge else self._published(tasks)
        yield self._metrics.retention.gauge(tasks)

    def _lag(self, tasks: Iterable[Task]) -> GaugeMetricFamily:
        """How far the slowest of the readers of a log lags. A log's end may lie behind ends of transactions, which are
        no records: whoever has read up to there and holds nothing back lags by nothing.
        """
        most: dict[Place, int] = {}
        for task in tasks:
            for log in task.wiring.inputs:
                place, mark = task.wiring.place(log), task.marks[log]
                if place in self._metrics.ends:
                    read = task.read(log) if task.came(log) <= mark else 0
                    behind = max(0, self._metrics.ends[place] - max(mark, read))
                    most[place] = max(behind, most.get(place, 0))
        lag = gauge("murmurate_lag_records")
        for place, behind in sorted(most.items()):
            lag.add_metric((place.topic, str(place.partition)), behind)
        return lag

    def _ledger(self, tasks: Iterable[Task]) -> Iterator[GaugeMetricFamily]:
        users, spent, most = gauge("murmurate_users"), gauge("murmurate_epsilon_spent_max"), dict[str, int]()
        initial, waiting = gauge("murmurate_users_initial"), Count[str]()
        for task in tasks:
            stage: object = task.stage
            if isinstance(stage, HoldsLedger):
                users.add_metric((str(task.wiring.partition),), stage.users)
                for stream, micro in stage.most_spent_micro.items():
                    most[stream] = max(micro, most.get(stream, 0))
                waiting.update(stage.initial)
        for stream, micro in sorted(most.items()):
            spent.add_metric((stream,), micro * MICRO)
        for stream, count in sorted(waiting.items()):
            initial.add_metric((stream,), count)
        yield from (users, initial, spent, *self._metrics.sources.gauges(tasks))

    def _published(self, tasks: Iterable[Task]) -> Iterator[GaugeMetricFamily]:
        metrics, ages = self._metrics, self._metrics.ages()
        opened, age = gauge("murmurate_rounds_open"), gauge("murmurate_release_age_seconds")
        estimate, error = gauge("murmurate_release_estimate"), gauge("murmurate_release_stderr")
        mixed, hidden = gauge("murmurate_mixed_epsilon"), gauge("murmurate_mixed_reports")
        for task in tasks:
            if not isinstance(task.stage, Publish):
                continue
            for stream, rounds in task.stage.open_rounds.items():
                opened.add_metric((stream,), rounds)
            for stream in task.stage.begun:
                release, _ = metrics.newest.get(stream, (None, 0))
                age.add_metric((stream,), ages[stream] / 1000)
                if (claim := (release or {}).get("privacy", {}).get("shuffled")) is not None:
                    mixed.add_metric((stream,), claim["epsilon"])
                    hidden.add_metric((stream,), claim["n"])
                if release is None or len(release["estimate"]) > MOST_NAMES or "names" in release:
                    continue
                for name, value in release["estimate"].items():
                    if value is not None:  # nothing is known of it: no sample rather than a number
                        estimate.add_metric((stream, name), value)
                        error.add_metric((stream, name), release["stderr"][name])
        yield from (opened, age, estimate, error, mixed, hidden)
        info = gauge("murmurate_info")
        info.add_metric((__version__, metrics.plan.name, config_digest(metrics.plan)), 1)
        yield info


def config_digest(plan: Plan) -> str:
    """Tells two configurations of a deployment apart: 16 hexadecimal digits."""
    streams = sorted((stream.name, stream.config, stream.revision) for stream in plan.everything)
    return hashlib.sha256(orjson.dumps([plan.name, streams])).hexdigest()[:16]
