# SPDX-License-Identifier: Apache-2.0
"""One stage instance with its logs: fold, flush, crash, recover. The same steps as on Kafka, without a broker.

Contract: a flush is one transaction of outputs and a state record {marks, from, small, snapshot}; between snapshots
the logs are the state.  Recovery: 1. newest state record, and its proof, 2. `restore` from its small part and snapshot,
3. fold the logs from `from` to the marks, outputs thrown away, 4. go on at the marks.  Whatever is delivered again lies
below the marks and is skipped. Source: ARCHITECTURE rules 11 to 13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Final, Protocol

import orjson

from murmurate.agents.embedded.log import Logs
from murmurate.agents.stages.errors import WAY_ON, StateError, named
from murmurate.agents.stages.sealing import check_proof, marks_bytes, prove
from murmurate.agents.stages.stage import Log, Out, Stage
from murmurate.aggregators.transitions import State
from murmurate.randomizers import FrozenFactsError

SNAPSHOT_BYTES = 64 << 20  # of input between two snapshots


class Fault(Exception):  # noqa: N818 - it ends an instance and never leaves the runtime
    """The process dies here."""


class Faults(Protocol):
    """What goes wrong, as a value in the input of a run."""

    def at(self, point: str, task: str) -> None:
        """Called at each point of an instance's life; raises Fault where it should die."""
        ...


class Fair:
    """Nothing goes wrong."""

    def at(self, point: str, task: str) -> None:
        """Live on."""


class Life(Enum):
    """Where a Task stands."""

    LIVE = "live"
    """The Task folds records."""
    FLUSHING = "flushing"
    """The Task is in its transaction."""
    DEAD = "dead"
    """The process of the Task is gone."""
    RECOVERING = "recovering"
    """Another instance becomes what it was."""
    STOPPED = "stopped"
    """What it found is no state to go on from."""


LIVES: Final[Mapping[Life, tuple[Life, ...]]] = MappingProxyType({
    Life.LIVE: (Life.FLUSHING, Life.DEAD),
    Life.FLUSHING: (Life.LIVE, Life.DEAD),
    Life.DEAD: (Life.RECOVERING,),
    Life.RECOVERING: (Life.LIVE, Life.DEAD, Life.STOPPED),
    Life.STOPPED: (Life.RECOVERING,),
})  # fmt: skip
"""What may follow: whoever stopped may be started again."""


@dataclass(frozen=True)
class StateRecord:
    """The state of an instance that a transaction stores."""

    marks: Mapping[Log, int]
    """The next offset of each log."""
    start: Mapping[Log, int]
    """Where a recovering instance must begin to read."""
    small: bytes
    snapshot: tuple[bytes, ...]
    """The newest snapshot. On Kafka a pointer stands here instead."""
    chunks: int
    """The number of chunks of the snapshot: a snapshot that is lost is no snapshot that was never taken."""
    revisions: Mapping[str, tuple[str, int]]
    """Config digest and revision of each stream: another config stops here."""
    proof: bytes = b""
    """For a stage that holds a key: proof that it wrote all other fields but the snapshot, which proves itself."""

    def content(self) -> bytes:
        """The content of the record without its proof and the snapshot: the same bytes for the same content."""
        marks = [marks_bytes(self.marks).decode(), marks_bytes(self.start).decode()]
        return orjson.dumps([*marks, self.small.hex(), self.chunks, self.revisions], option=orjson.OPT_SORT_KEYS)


class Task:
    """A stage instance, its inputs and its state partition."""

    def __init__(
        self, name: str, build: Callable[[], Stage], inputs: Sequence[Log], logs: Logs,
        revisions: Mapping[str, tuple[str, int]], faults: Faults | None = None,
    ) -> None:  # fmt: skip
        self.name, self.inputs = name, list(inputs)
        self._build, self._logs, self._revisions = build, logs, dict(revisions)
        self._faults: Faults = faults or Fair()
        self.state: list[StateRecord] = []
        """The state partition; the last record counts."""
        self.stage: Stage = build()
        self.marks = dict.fromkeys(self.inputs, 0)
        self.recoveries = 0
        self._fresh = 0  # bytes folded since the last snapshot
        self._life = State(name, Life.LIVE, LIVES)

    @property
    def life(self) -> Life:
        """Where it stands."""
        return self._life.now

    def available(self, log: Log) -> int:
        """How many records wait."""
        return self._logs.end(log) - self.marks[log]

    def step(self, most: int = 1 << 30, order: Sequence[Log] | None = None) -> bool:
        """Fold up to `most` records of each log, in this order of logs, and flush. Whether anything was done."""
        try:
            if self.life is not Life.LIVE:
                self.recover()
                return True
            moved = False
            for log in order or self.inputs:
                for _ in range(min(most, self.available(log))):
                    if not self.stage.ready(log):
                        break
                    self.fold(log)
                    moved = True
            if moved:
                self.flush()
            return moved
        except Fault:
            self._life.to(Life.DEAD)
            return True

    def fold(self, log: Log, again: int | None = None) -> None:
        """Fold the log's next record; or deliver an old one again, which the marks make harmless."""
        offset = self.marks[log] if again is None else again
        if offset < self.marks[log]:
            return
        record = self._logs.read(log, offset)
        self._faults.at("before fold", self.name)
        self.stage.fold(record)
        self._fresh += len(record.value)
        self.marks[log] = offset + 1
        self._faults.at("after fold", self.name)

    def flush(self) -> None:
        """One transaction: 1. outputs, 2. the state record; both or neither."""
        self._life.to(Life.FLUSHING)
        out = self.stage.drain()
        last = self.state[-1] if self.state else None
        snapshot = last.snapshot if last else ()
        start = dict(last.start) if last else dict.fromkeys(self.inputs, 0)
        if not self.stage.large:
            start = dict(self.stage.replay_from(self.marks))
        elif self._fresh >= SNAPSHOT_BYTES:
            snapshot, start = self.snapshot()
        record = self.record(start, snapshot)
        self._faults.at("in the transaction", self.name)
        self._logs.append(out.records)
        self.state.append(record)
        del self.state[:-2]  # a compacted log keeps the last; one more, so that tests see it replaced
        self._faults.at("after the commit", self.name)
        self._life.to(Life.LIVE)

    def snapshot(self) -> tuple[tuple[bytes, ...], dict[Log, int]]:
        """The large state as it is now, and the marks it belongs to."""
        self._faults.at("in a snapshot", self.name)
        self._fresh = 0
        return tuple(self.stage.snapshot(self.marks)), dict(self.marks)

    def record(self, start: Mapping[Log, int], snapshot: tuple[bytes, ...]) -> StateRecord:
        """The state record of the instance as of now: the newest snapshot is this one, and was taken at these marks."""
        small = self.stage.small()
        record = StateRecord(dict(self.marks), dict(start), small, snapshot, len(snapshot), self._revisions)
        return replace(record, proof=prove(self.stage, record.content()))

    def recover(self) -> None:
        """A new instance takes over where the last transaction ended: whoever was live until now is dead."""
        if self.life is Life.LIVE:
            self._life.to(Life.DEAD)
        self._life.to(Life.RECOVERING)
        self.recoveries += 1
        try:
            self._recover()
        except (StateError, FrozenFactsError):
            self._life.to(Life.STOPPED)
            raise
        self._life.to(Life.LIVE)

    def _recover(self) -> None:
        self.stage = self._build()
        self.marks, self._fresh = dict.fromkeys(self.inputs, 0), 0
        if not self.state:
            return
        last = self.state[-1]
        for stream, revision in last.revisions.items():
            if self._revisions.get(stream, revision) != revision:
                raise StateError(
                    f"{self.name}: stream {stream!r}: the state was written under config {revision[0]}, revision "
                    f"{revision[1]}; found {self._revisions[stream]}; {WAY_ON}"
                )
        check_proof(self.stage, last.content(), last.proof, self.name)
        if len(last.snapshot) != last.chunks:
            found = f"found {len(last.snapshot)} chunks of the snapshot"
            raise StateError(f"{self.name}: the state is torn: {found}; allowed: {last.chunks}")
        with named(self.name):
            self.stage.restore(last.small, last.snapshot, last.start)
        self.marks = {log: last.start.get(log, 0) for log in self.inputs}
        while waiting := [log for log in self.inputs if self.marks[log] < last.marks.get(log, 0)]:
            # Every log may be folded up to its mark in some order; in this one the stage holds no more than it would.
            for log in [log for log in waiting if self.stage.ready(log)] or waiting[:1]:
                self._again(log, last.marks[log])
        self.stage.drain()  # committed already
        self.marks = dict(last.marks)

    def _again(self, log: Log, end: int) -> None:
        """Fold what was folded before, up to here or until the stage would rather have another log."""
        while self.marks[log] < end:
            self._faults.at("in a recovery", self.name)
            record = self._logs.read(log, self.marks[log])
            self.stage.fold(record)
            self._fresh += len(record.value)  # else a task that dies often would never take a snapshot
            self.marks[log] += 1
            if not self.stage.ready(log):
                return

    @property
    def start(self) -> Mapping[Log, int]:
        """From where this task may still need its logs."""
        return self.state[-1].start if self.state else dict.fromkeys(self.inputs, 0)

    def write(self, records: Sequence[Out]) -> None:
        """Append to the logs as an outsider: events, ticks, the clock."""
        self._logs.append(records)
