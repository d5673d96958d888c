# SPDX-License-Identifier: Apache-2.0
"""The Tasks of one stage in this worker: opened when their partitions come, parked when they go.

Contract: a Task runs only while its partition is ours by the group's word; whoever loses one stops writing, and if it
did not notice, its writer is fenced.  A Task whose partition comes back goes on where it was, if nobody else has
written meanwhile.  The first failure of a Task is the stage's, and so is one that happens while partitions are given
or taken: aiokafka writes what its listeners raise into a log and goes on, so nothing is left to it.  Not here: the
group (app.py, client.Member).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable, Iterator, Mapping

from murmurate.agents.kafka.errors import BrokerError
from murmurate.agents.kafka.life import Life
from murmurate.agents.kafka.task import Task

STOP_S = 8.0
"""How long a Task may take to flush when its partition goes."""


class StageOwner:
    """The Tasks of a stage, by partition."""

    def __init__(self, make: Callable[[int], Task]) -> None:
        self._make = make
        self.check: Callable[[], Awaitable[None]] | None = None
        """Raises where this worker may open nothing any more."""
        self.tasks: dict[int, Task] = {}
        self._runs: dict[int, asyncio.Task[None]] = {}
        self._opening: list[asyncio.Task[None]] = []
        self._stopped = asyncio.Event()
        self._lock = asyncio.Lock()
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.settled = False
        """Whether the group has assigned partitions to this instance."""

    @property
    def live(self) -> Mapping[int, Task]:
        """Those that fold."""
        return {p: task for p, task in self.tasks.items() if task.life is Life.LIVE}

    @property
    def ready(self) -> bool:
        """Whether everything that is ours has recovered."""
        return self.settled and all(task.life in (Life.LIVE, Life.PARKED) for task in self.tasks.values())

    async def assigned(self, partitions: frozenset[int]) -> None:
        """These are ours now, and no others."""
        with self.failing():
            await self._assigned(partitions)

    async def _assigned(self, partitions: frozenset[int]) -> None:
        async with self._lock:
            gone = [p for p in self.tasks if p not in partitions]
            for partition in gone:
                await self.tasks.pop(partition).close()
            if gone:
                gc.collect()  # producers and readers are cycles; by itself Python may look for them after days
            new = [p for p in sorted(partitions) if p not in self._runs]
            if new and self.check is not None:
                await self.check()
            if self._stopped.is_set():
                return
            for partition in new:
                self.tasks.setdefault(partition, self._make(partition))
            self._opening = [asyncio.create_task(self.tasks[p].open()) for p in new]
            opened = await asyncio.gather(*self._opening, return_exceptions=True)
            if self._stopped.is_set():
                return
            for failed in (one for one in opened if one is not None):
                raise failed
            for partition in new:
                self._runs[partition] = asyncio.create_task(self._run(self.tasks[partition]))
            self.settled = True

    async def revoked(self) -> None:
        """All partitions are given up for now: flush, then park."""
        with self.failing():
            async with self._lock:
                self.settled = False
                await self._end(Task.park)

    async def stop(self) -> None:
        """Flush, commit, let go for good. What is still being opened is given up: where brokers are away, a producer
        would wait for them for ever.
        """
        self._stopped.set()
        for opening in self._opening:
            opening.cancel()
        async with self._lock:
            await self._end(Task.close)

    async def _end(self, how: Callable[[Task], object]) -> None:
        for partition in self._runs:
            self.tasks[partition].stop()
        if self._runs:
            _, slow = await asyncio.wait(self._runs.values(), timeout=STOP_S)
            for run in slow:
                run.cancel()
        self._runs.clear()
        for partition, task in list(self.tasks.items()):
            if task.life is Life.CLOSED:
                del self.tasks[partition]
            elif how is Task.park and task.life is not Life.PARKED:
                await task.park()
            elif how is Task.close:
                await task.close()

    async def _run(self, task: Task) -> None:
        try:
            await task.run()
        except asyncio.CancelledError:
            await task.close()  # what it was doing is unknown: whoever comes next begins from the logs
            raise
        except Exception as error:
            given_up = not self.settled or task.wiring.partition not in self._runs
            await task.close()
            if given_up and isinstance(error, BrokerError):
                return  # it is another's by now, who has fenced us
            self.fail(error)

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """What goes wrong in here is the stage's failure, and nobody else's."""
        try:
            yield
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """The stage has failed of this, unless it has failed before."""
        if not self._failed.done():
            self._failed.set_exception(error)

    async def failure(self) -> None:
        """Never returns; raises what a Task failed of."""
        await asyncio.shield(self._failed)

    def wanted(self, partition: int) -> int | None:
        """The offset that is wanted next; None if the partition is not ours."""
        task = self.tasks.get(partition)
        return task.next_push if task is not None and task.life in (Life.OPEN, Life.LIVE) else None

    def take(self, partition: int, offset: int, value: bytes | None, more: bool) -> None:
        """A record of the source partition. `more`: others follow at once."""
        task = self.tasks.get(partition)
        if task is not None:
            task.push(offset, value, more=more)

    def marks(self) -> Mapping[int, int]:
        """Up to which offset each source partition that is live is done."""
        return {p: task.done for p, task in self.live.items()}

    def forget_failure(self) -> None:
        """Silence a failure nobody asked for, when the worker ends for another reason."""
        if self._failed.done():
            with contextlib.suppress(Exception):
                self._failed.exception()
