# SPDX-License-Identifier: Apache-2.0
"""One Task: a stage instance with its logs, its transactional writer and its state partition. Exactly once.

Contract: a flush is one transaction of outputs and a state record.  Recovery: 1. fence every earlier writer, 2. the
newest state record, 3. its snapshot, 4. the logs from there to the marks, outputs thrown away, 5. live from the marks.
Whatever is delivered again lies below the marks and is skipped; a log that no longer reaches back to the snapshot is
an error, never a smaller state.  Any failure ends the Task for good.  Source: ARCHITECTURE rules 12 to 14.  Not here:
who owns a partition (app.py, worker.py); the same steps without a broker are agents/embedded/task.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping

from murmurate.agents.kafka.client import Client, Place, RecordRun, Waiting, Write, Writer
from murmurate.agents.kafka.errors import FencedError
from murmurate.agents.kafka.life import LIVES, Life, Observer
from murmurate.agents.kafka.log_readers import SharedLog
from murmurate.agents.kafka.pending import RUN, TURN, Pending
from murmurate.agents.kafka.recovery import check_state, check_unread, first_marks, newest, recover
from murmurate.agents.kafka.source_reader import SourceReader
from murmurate.agents.kafka.state import Pointer, StateRecord
from murmurate.agents.kafka.task_logs import TaskLogs
from murmurate.agents.kafka.task_state import chunk_writes, state_writes
from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.stage import Log, Record, Stage, TakesRuns
from murmurate.aggregators.transitions import State

SNAPSHOT_BYTES = 64 << 20
SNAPSHOT_S = 60.0
"""A large state is snapshotted after so much input, or so long after its last change."""
MOST_WAITING = 8 << 20
"""Bytes of records that wait in a Task before it asks for no more."""


class Task:
    """One instance. `hold` is told whether the owner should deliver no more for now; `shared` logs are read for all."""

    def __init__(
        self, wiring: Wiring, client: Client, observer: Observer, hold: Callable[[bool], None] = lambda held: None,
        shared: Mapping[Place, SharedLog] | None = None, sources: SourceReader | None = None,
    ) -> None:  # fmt: skip
        self.wiring, self.stands = wiring, State(wiring.name, Life.CLOSED, LIVES)
        self.marks: dict[Log, int] = {}
        self.stage: Stage | None = None
        self.state_bytes = 0
        """The bytes of the newest snapshot, or of the small state."""
        self.replayed = 0  # records folded again by the last recovery
        self._client, self._observer, self._hold = client, observer, hold
        self._logs = TaskLogs(client, shared or {}, sources)
        self._writer: Writer | None = None
        self._last: tuple[int, StateRecord] | None = None  # our newest state record and its offset
        self._pointer: Pointer | None = None
        self._waiting: dict[Log, deque[Waiting]] = {log: deque() for log in wiring.inputs}
        self._bytes, self._held, self._next_push = 0, False, 0  # of the pushed records that wait
        self._positions, self._came, self._began = dict[Log, int](), dict[Log, int](), dict[Log, int]()
        self._injected: deque[tuple[Log, bytes]] = deque()
        self._news, self._stopping, self._keep = asyncio.Event(), False, False  # `_keep`: the state is to be written
        self._idle, self._most = False, 1  # everything that came is committed; how many records are folded at once
        self._fresh, self._snapped = 0, 0.0  # input bytes since the last snapshot, and when that was

    # ---- records come ----

    def push(self, offset: int, value: bytes | None, *, more: bool = False) -> None:
        """A record of the pushed log; one that has come before is ignored. `more`: others follow at once, so wait."""
        assert self.wiring.pushed is not None  # noqa: S101 - who pushes has read the wiring
        if offset < self._next_push or self.life not in (Life.OPEN, Life.LIVE):
            return
        self._next_push = offset + 1
        self._bytes += len(value or b"")
        self._waiting[self.wiring.pushed].append((offset, value or b""))
        if self._bytes > MOST_WAITING and not self._held:
            self._held = True
            self._hold(True)
        if not more:
            self._news.set()

    def read(self, log: Log) -> int:
        """Up to which offset a log that it reads itself has been read, records or not."""
        return self._positions.get(log, 0)

    def came(self, log: Log) -> int:
        """The offset after the last record of such a log that has come."""
        return self._came.get(log, self.marks.get(log, 0))

    def through(self, log: Log, end: int) -> bool:
        """Whether a log that it reads itself has been read to this offset, and all that came is folded and committed:
        its state says so, so that a successor begins no earlier.
        """
        idle = self._idle and not self._injected and not any(self._waiting.values())
        return idle and self._last is not None and self.read(log) >= end

    @property
    def done(self) -> int:
        """Up to which offset the pushed log is committed."""
        assert self.wiring.pushed is not None  # noqa: S101 - as in `push`
        return self._last[1].marks.get(self.wiring.pushed, 0) if self._last else 0

    @property
    def needs(self) -> Mapping[Log, int]:
        """From where a successor would have to read each log."""
        return self._last[1].start if self._last else self.marks

    @property
    def next_push(self) -> int:
        """The offset of the pushed log that is to come next."""
        return self._next_push

    def inject(self, log: Log, value: bytes) -> None:
        """Fold a record of a log that is stored nowhere, such as a clock's tick."""
        if self.life is Life.LIVE:
            self._injected.append((log, value))
            self._idle = False
            self._news.set()

    def keep(self) -> None:
        """Write the state down, though nothing may have been folded since the last time."""
        if self.life is Life.LIVE:
            self._keep, self._idle = True, False
            self._news.set()

    # ---- life ----

    @property
    def life(self) -> Life:
        """Where it stands."""
        return self.stands.now

    async def open(self) -> None:
        """Fence every earlier writer, then learn the marks. Quick: no state is read."""
        wiring = self.wiring
        writer = self._writer = self._client.writer(wiring.identity)  # before it opens, so that whoever closes us does
        await writer.open()
        async with self._client.reader() as reader:
            last = await newest(reader, wiring.state)
            if last is None or last != self._last:
                self.stage = None  # somebody else has gone on, or has written here, or there is nothing yet
            self._last = last
            self._pointer = last[1].snapshot if last else None
            if last is not None:
                check_state(wiring, last[1])
                self.marks = dict(last[1].marks)
            else:
                await check_unread(self._client, wiring)
                self._began = self._began or await first_marks(reader, wiring)
                self.marks = dict(self._began)
        self._waiting = {log: deque() for log in wiring.inputs}
        self._bytes, self._held, self._stopping, self._positions, self._came = 0, False, False, {}, {}
        if wiring.pushed is not None:
            self._next_push = self.marks[wiring.pushed]
        self.stands.to(Life.OPEN)

    async def run(self) -> None:
        """Recover, then fold and flush until stopped. Every error leaves."""
        began = time.monotonic()
        if self.stage is None:
            async with self._client.reader() as reader:
                found = await recover(reader, self.wiring, self._last[1] if self._last else None, self.marks)
            self.stage, self.replayed, self._fresh = found
        self._most = RUN if isinstance(self.stage, TakesRuns) else 1  # once: it takes Python longer than a fold
        self._observer.recovered(self, time.monotonic() - began)
        self._snapped = time.monotonic()
        self.stands.to(Life.LIVE)
        if self.wiring.inputs == (self.wiring.pushed,):
            await self._live()
            return
        live, pulling = asyncio.create_task(self._live()), asyncio.create_task(self._pull())
        try:
            await asyncio.wait((live, pulling), return_when=asyncio.FIRST_COMPLETED)
        finally:
            pulling.cancel()
            if not live.done() and pulling.done():
                live.cancel()
            outcomes = await asyncio.gather(live, pulling, return_exceptions=True)
        for each in outcomes:
            outcome = each.exceptions[0] if isinstance(each, BaseExceptionGroup) else each
            if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
                raise outcome

    def stop(self) -> None:
        """Flush what is folded, then end `run`."""
        self._stopping = True
        self._news.set()

    async def park(self) -> None:
        """Let go of the partition, after `run` has ended; keep the state in case it comes back."""
        self.stands.to(Life.PARKED)
        await self._let_go()

    async def close(self) -> None:
        """Let go for good."""
        self.stage = None
        if self.life is not Life.CLOSED:
            self.stands.to(Life.CLOSED)
        await self._let_go()

    async def _let_go(self) -> None:
        if self._writer is not None:
            await self._writer.close()
            self._writer = None

    # ---- live ----

    async def _pull(self) -> None:
        """Read the logs that nobody pushes."""
        places = {self.wiring.place(log): log for log in self.wiring.inputs if log != self.wiring.pushed}

        def take(run: RecordRun) -> None:
            log = places[run.place]
            self._waiting[log].extend(run.records)
            self._came[log] = run.records[-1][0] + 1
            self._news.set()

        def reach(place: Place, offset: int) -> None:
            self._positions[places[place]] = offset

        starts = {place: self.marks[log] for place, log in places.items()}
        await self._logs.follow(
            starts, self.wiring.foreign, take, reach, lambda place: len(self._waiting[places[place]])
        )

    async def _live(self) -> None:
        pending = Pending()
        while True:
            self._idle = False
            self._fold_some(pending)
            if self._keep:
                pending.folded, pending.urgent, self._keep = 1, True, False
            if self._stopping:
                if pending.folded or pending.out:
                    await self._flush(pending)
                return
            now = time.monotonic()
            due = pending.since + pending.due_s
            if (pending.folded or pending.out) and now >= due:
                await self._flush(pending)
                pending = Pending()
            elif self._may_fold():
                await asyncio.sleep(0)
            else:
                self._news.clear()
                self._idle = not (pending.folded or pending.out)
                wait = None if self._idle else max(due - now, 0.001)
                with contextlib.suppress(asyncio.TimeoutError):
                    async with asyncio.timeout(wait):  # wait_for may swallow a cancellation
                        await self._news.wait()

    def _may_fold(self) -> bool:
        stage = self.stage
        assert stage is not None  # noqa: S101 - `run` has made it
        return bool(self._injected) or any(queue and stage.ready(log) for log, queue in self._waiting.items())

    def _fold_some(self, pending: Pending) -> None:
        """What there is, up to a turn's worth or a large decision."""
        stage, left, most = self.stage, TURN, self._most
        assert stage is not None  # noqa: S101 - `run` has made it
        while self._injected and not pending.full:
            log, value = self._injected.popleft()
            stage.fold(Record(log, 0, value))
            pending.add(stage.drain())
        for log in reversed(self.wiring.inputs):  # control logs first
            queue = self._waiting[log]
            while queue and left > 0 and not pending.full and stage.ready(log):
                run = [queue.popleft() for _ in range(min(len(queue), most))]
                size = sum(len(value) for _, value in run)
                if log == self.wiring.pushed:
                    self._bytes -= size
                left -= size + len(run)
                self._fold(stage, log, run, size, pending)
        if self._held and self._bytes < MOST_WAITING // 2:
            self._held = False
            self._hold(False)

    def _fold(self, stage: Stage, log: Log, run: list[Waiting], size: int, pending: Pending) -> None:
        """Records of a log, so many bytes of them. What lies below the mark has been folded before."""
        mark = self.marks[log]
        new = run if run[0][0] >= mark else [record for record in run if record[0] >= mark]
        if not new:
            return
        if len(new) == 1:
            stage.fold(Record(log, *new[0]))
        else:
            assert isinstance(stage, TakesRuns)  # noqa: S101 - others are given one at a time
            stage.fold_run(log, new)
        self.marks[log] = new[-1][0] + 1
        self._fresh += size
        pending.since = pending.since or time.monotonic()
        pending.folded += len(new)
        pending.input += size
        pending.add(stage.drain())

    async def _flush(self, pending: Pending) -> None:
        """One transaction: 1. outputs, 2. a snapshot if one is due, 3. the state record that points to it."""
        stage, writer, wiring, began = self.stage, self._writer, self.wiring, time.monotonic()
        if stage is None or writer is None:
            raise FencedError(f"{wiring.name}: it has been closed")
        writes = [Write(wiring.place(out.log), out.value, out.key) for out in pending.out]
        if stage.large and (self._fresh >= SNAPSHOT_BYTES or (self._fresh and began - self._snapped >= SNAPSHOT_S)):
            await self._snapshot(stage, writer)
        record, state = state_writes(stage, wiring, self.marks, self._pointer, self._last)
        if not stage.large:
            self.state_bytes = sum(len(write.value) for write in state)
        writes += state
        offsets = await writer.transact(writes)
        self._last = offsets[-1], record
        self._observer.flushed(self, time.monotonic() - began, tuple(pending.out))

    async def _snapshot(self, stage: Stage, writer: Writer) -> None:
        """The large state as it is now, in a transaction of its own, to which the next state record will point."""
        before, marks = self._pointer, dict(self.marks)
        generation = 1 - before.generation if before else 0
        parts = chunk_writes(self.wiring.state, generation, stage.snapshot(marks))
        offsets = await writer.transact(parts)
        self._pointer = Pointer(offsets[0], len(parts), generation, marks)
        self._fresh, self._snapped = 0, time.monotonic()
        self.state_bytes = sum(len(part.value) for part in parts)
