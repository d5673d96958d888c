# SPDX-License-Identifier: Apache-2.0
"""The embedded runtime: every stage of a deployment on in-process logs, run until nothing moves. Deterministic.

Contract: the same records in give the same records out, whatever the schedule and the faults; no clock, no threads, no
broker.  Used by replay, demo and tests.  Not here: where records come from (replay/).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from murmurate.agents.embedded.log import Logs
from murmurate.agents.embedded.task import Faults, Task
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.publish import ROUNDS
from murmurate.agents.stages.released import LATEST
from murmurate.agents.stages.stage import Log, Out
from murmurate.agents.stages.table import CLOCK, TABLE, Deployed, StageRow
from murmurate.config.plan import Plan
from murmurate.randomizers import Key
from murmurate.topics.codec import encode
from murmurate.topics.messages import Progress, Start


class Keys(NamedTuple):
    """What all zones hold together, which only the embedded runtime ever has in one place."""

    edge: EdgeSecrets
    shuffle: Key


class Schedule(Protocol):
    """Which tasks get a turn, in which order, and how much they may fold."""

    def turns(self, tasks: Sequence[Task]) -> Sequence[tuple[Task, int, Sequence[Log]]]:
        """The next turns: task, most records of each log, order of its logs."""
        ...


class InTurn:
    """Everybody in the order of the pipeline, as much as there is."""

    def turns(self, tasks: Sequence[Task]) -> Sequence[tuple[Task, int, Sequence[Log]]]:
        """One turn each."""
        return [(task, 1 << 30, task.inputs) for task in tasks]


class Runtime:
    """A whole deployment in this process. `keep`: never forget a record, for whoever audits the logs afterwards."""

    def __init__(
        self, plan: Plan, keys: Keys, *, sources: Mapping[str, int] | None = None, faults: Faults | None = None,
        schedule: Schedule | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        self.plan, self.logs = plan, Logs()
        self._keep, self._schedule = keep, schedule or InTurn()
        of = Deployed(plan, keys, dict(sources or {stream.topic: 1 for stream in plan.everything}))
        revisions = {stream.name: (stream.config, stream.revision) for stream in plan.everything}
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """Time spent in each stage, for benchmarks; nothing depends on it."""

        def tasks(row: StageRow) -> list[Task]:
            """All instances of a stage."""
            return [
                Task(_named(row, log), partial(row.make, of, log), reads, self.logs, revisions, faults)
                for log in row.sources(plan, of.sources)
                for reads in (row.inputs(log, ticks=True),)
            ]

        self.of_stage = {name: tasks(row) for name, row in TABLE.items()}
        """The tasks of each stage."""
        self.tasks = [task for each in self.of_stage.values() for task in each]
        self._released: list[tuple[Log, int]] = []  # log and offset of each release
        self.logs.listeners.append(self._note)

    @property
    def publish(self) -> Task:
        """The first instance that releases."""
        return self.of_stage["publish"][0]

    def start(self, first_t: Mapping[str, int]) -> None:
        """Begin with the first period of each stream, which `rounds` announces."""
        starts = [
            Start(stream=stream.name, t=first_t[stream.name], config=stream.config, revision=stream.revision)
            for stream in self.plan.everything
            if stream.name in first_t
        ]
        self.logs.append(Out(ROUNDS, encode(start)) for start in starts)

    def write(self, records: Sequence[Out]) -> None:
        """Append to the logs: events, ticks, raw blocks."""
        self.logs.append(records)

    def tick(self, time_ms: int) -> None:
        """Give publish's timer the time."""
        self.write([Out(CLOCK, encode(Progress(topic="clock", partition=0, time=time_ms)))])

    def run(self) -> bool:
        """Until nothing moves. Whether every record was folded; else somebody is frozen, or raw waits."""
        moved = True
        while moved:
            moved = False
            for task, most, order in self._schedule.turns(self.tasks):
                began = time.perf_counter()
                moved |= task.step(most, order)
                self.seconds[task.name.split()[0]] += time.perf_counter() - began
            if not self._keep:
                self._forget()
        return not any(task.available(log) for task in self.tasks for log in task.inputs)

    def releases(self, since: int = 0) -> list[bytes]:
        """All releases in the order in which they were written, but for the first so many."""
        return [self.logs.read(log, offset).value for log, offset in self._released[since:]]

    def _note(self, written: Sequence[Out]) -> None:
        for log, *_ in written:
            if log.topic == "releases":
                self._released.append((log, sum(log == before for before, _ in self._released)))

    def _forget(self) -> None:
        """Drop what no task can need again; releases stay, and rows of the newest ones have no reader here."""
        for log in self.logs.topics():
            if log.topic == LATEST:
                self.logs.forget(log, self.logs.end(log))
        needed: dict[Log, int] = {}
        for task in self.tasks:
            for log, offset in task.start.items():
                needed[log] = min(offset, needed.get(log, offset))
        for log, offset in needed.items():
            self.logs.forget(log, offset)


def _named(row: StageRow, source: Log) -> str:
    return f"{row.name} {source.partition}" if row.source else f"{row.name} {source.topic} {source.partition}"
