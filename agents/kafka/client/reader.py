# SPDX-License-Identifier: Apache-2.0
"""Reads committed records of named partitions, outside any consumer group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from murmurate.agents.kafka.client.access import NONE
from murmurate.agents.kafka.client.kafka_errors import close_within, kafka_errors
from murmurate.agents.kafka.client.reasons import connected
from murmurate.agents.kafka.client.records import Got, Place, RecordRun
from murmurate.agents.stages.stage import NO_VALUE

FETCH_BYTES = 4 << 20
POLL_MS = 100
PATIENT_MS, MOST_PATIENT_MS = 500, 2000
"""How long brokers hold a fetch of a reader that only follows logs: what comes is told at once, so nothing waits for
that, but a reader that turns to other partitions does. The second is for those that never turn.
"""


class Reader:
    """A reader of committed records of given partitions, from given offsets. `aborted`: those of open and aborted
    transactions too, for audits.
    """

    def __init__(
        self, common: Mapping[str, Any], given: Mapping[str, Any] = NONE, *, aborted: bool = False,
        patience_ms: int = POLL_MS,
    ) -> None:  # fmt: skip
        isolation = "read_uncommitted" if aborted else "read_committed"
        usual: dict[str, Any] = {
            "fetch_max_wait_ms": patience_ms, "max_partition_fetch_bytes": FETCH_BYTES,
            "fetch_max_bytes": 4 * FETCH_BYTES,
        }  # fmt: skip
        self._common, self._patience_ms = common, patience_ms
        self._consumer = AIOKafkaConsumer(
            **common, isolation_level=isolation, auto_offset_reset="none", enable_auto_commit=False,
            **{**usual, **given},
        )  # fmt: skip

    async def __aenter__(self) -> Reader:
        try:
            await connected("reader", self._common, self._consumer.start())
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *what: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection."""
        await close_within(self._consumer.stop())

    def at(self, offsets: Mapping[Place, int]) -> None:
        """Read these partitions from these offsets, and no others."""
        places = [TopicPartition(*place) for place in offsets]
        self._consumer.assign(places)
        for place, offset in offsets.items():
            self._consumer.seek(TopicPartition(*place), offset)

    async def poll(self, timeout_ms: int = POLL_MS, most: int | None = None) -> list[Got]:
        """The next records, in order within each partition; none after the timeout."""
        got: list[Got] = []
        for at, records in (await self._next(timeout_ms, most)).items():
            place = Place(at.topic, at.partition)
            got += [Got(place, r.offset, r.key, r.value, r.timestamp) for r in records]
        return got

    async def runs(self) -> list[RecordRun]:
        """Records without what a stage has no use for: there may be many small ones. None where only the position has
        moved, past the end of a transaction, and while nothing comes.
        """
        found = await self._next(0, None) or await self._come(self._patience_ms)
        return [
            RecordRun(
                Place(at.topic, at.partition), [(r.offset, NO_VALUE if r.value is None else r.value) for r in records]
            )
            for at, records in found.items()
            if records
        ]

    async def _next(self, timeout_ms: int, most: int | None) -> Mapping[TopicPartition, Sequence[Any]]:
        with kafka_errors("reading"):
            return await self._consumer.getmany(timeout_ms=timeout_ms, max_records=most)

    async def _come(self, timeout_ms: int) -> Mapping[TopicPartition, Sequence[Any]]:
        """What the next answer of a broker holds, which may be no record; nothing after the timeout. `getmany` goes on
        waiting where an answer moves the position alone, and whoever waits for that position would wait with it.
        """
        waiter = self._fetcher._create_fetch_waiter()
        with kafka_errors("reading"):
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await waiter
            except TimeoutError:
                return {}
        return await self._next(0, None)

    @property
    def _fetcher(self) -> Any:
        return self._consumer._fetcher

    def wake(self) -> None:
        """Let `runs` return now, with what there is."""
        for waiter in list(self._fetcher._fetch_waiters):
            if not waiter.done():
                waiter.set_result(None)

    async def position(self, place: Place) -> int:
        """The offset of the next record: records that were aborted or compacted away lie behind it too."""
        with kafka_errors(f"position of {place.topic} {place.partition}"):
            return int(await self._consumer.position(TopicPartition(*place)))

    def reached(self) -> dict[Place, int]:
        """The position of each partition that is read, without waiting for one."""
        subscription = self._consumer._subscription.subscription
        assignment = subscription.assignment if subscription is not None else None
        states = {at: assignment.state_value(at) for at in assignment.tps} if assignment is not None else {}
        return {Place(*at): state.position for at, state in states.items() if state.has_valid_position}

    async def bounds(self, places: Collection[Place]) -> dict[Place, tuple[int, int]]:
        """The first offset of each partition and where it ends: before the first record of a transaction that is open,
        or behind everything, for a reader of what was `aborted` too.
        """
        wanted = [TopicPartition(*place) for place in places]
        with kafka_errors(f"offsets of {', '.join(sorted({place.topic for place in places}))}"):
            first = await self._consumer.beginning_offsets(wanted)
            end = await self._consumer.end_offsets(wanted)
        return {Place(at.topic, at.partition): (first[at], end[at]) for at in wanted}

    async def ends(self, places: Collection[Place]) -> dict[Place, int]:
        """Where these partitions end, as in `bounds`."""
        wanted = [TopicPartition(*place) for place in places]
        if not wanted:
            return {}
        with kafka_errors(f"ends of {', '.join(sorted({place.topic for place in places}))}"):
            end = await self._consumer.end_offsets(wanted)
        return {Place(at.topic, at.partition): end[at] for at in wanted}

    async def between(self, place: Place, start: int, stop: int) -> AsyncIterator[Got]:
        """The records from `start` to before `stop`. A reader that is kept fetches nothing after them, until it is told
        what to read next.
        """
        if start >= stop:
            return
        self.at({place: start})
        while await self.position(place) < stop:
            for got in await self.poll():
                if got.offset >= stop:
                    break
                yield got
            else:
                continue
            break
        self._consumer.pause(TopicPartition(*place))
