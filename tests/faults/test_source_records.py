# SPDX-License-Identifier: Apache-2.0
"""Records as sources have them: keys, headers, any time of their own, none at all for a value, a mebibyte, gaps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer

from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.collect import whole
from murmurate.agents.stages.door import Door
from murmurate.topics.block import RawBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.names import stream_id
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.inside import Inside, inside, now_ms

TEXT = """
[privacy]
epsilon = 1.0
window = {{ periods = 5 }}
min_batch = 20
[population]
partitions = 1
[time]
lateness = "2s"
[streams.timed]
measure = "frequency"
values = ["home", "help"]
every = "250ms"
share = 0.5
source = {{ topic = "{name}-timed", time = "/at" }}
[streams.untimed]
measure = "frequency"
values = ["home", "help"]
every = "250ms"
share = 0.5
source = {{ topic = "{name}-untimed" }}
"""
HOUR, DAY = 3_600_000, 86_400_000
TIMES = (None, -2 * DAY, -HOUR, HOUR // 2)
"""Of records, from now on; None: when they are written."""


@pytest.fixture
def both(broker: Broker, deployment_name: str, tmp_path: Path) -> Iterator[Deployed]:
    """Two sources, of one partition each: one whose events have a time, one whose have none."""
    found = Deployed(tmp_path, deployment_name, broker.bootstrap, TEXT.format(name=deployment_name))
    found.create(1)
    yield found
    found.close()


def event(user: str, at: int | None = None, **more: Any) -> bytes:
    return orjson.dumps({"user": user, "value": "home"} | ({} if at is None else {"at": at}) | more)


@pytest.mark.parametrize("kind", ["CreateTime", pytest.param("LogAppendTime", marks=pytest.mark.faults)])
def test_keys_headers_times_and_missing_values_of_records_mean_nothing(
    both: Deployed, tmp_path: Path, kind: str
) -> None:
    asyncio.run(asyncio.wait_for(_as_they_are(both, tmp_path, kind), 60))


async def _as_they_are(both: Deployed, folder: Path, kind: str) -> None:
    topics = {name: f"{both.plan.name}-{name}" for name in ("timed", "untimed")}
    async with both.client.admin() as admin:
        for topic in topics.values():
            await admin.alter(topic, {"message.timestamp.type": kind, "max.message.bytes": str(4 << 20)})
    began = now_ms()
    async with inside(both, ("edge",)) as this:
        await this.ready()
        producer = AIOKafkaProducer(
            bootstrap_servers=",".join(both.client.access.brokers), max_request_size=8 << 20, compression_type=None
        )
        await producer.start()
        for number, shift in enumerate(TIMES):
            record = None if shift is None else now_ms() + shift
            named = {"key": b"k", "timestamp_ms": record, "headers": [("trace", b"\xff\xfe"), ("trace", b"")]}
            at = now_ms()
            for topic, time_ms in ((topics["timed"], at), (topics["untimed"], None)):
                await producer.send_and_wait(topic, event(f"user-{number}", time_ms), **named)
                await producer.send_and_wait(topic, None, key=b"k")
        for topic, time_ms in ((topics["timed"], now_ms()), (topics["untimed"], None)):
            await producer.send_and_wait(topic, event("large", time_ms, more="x" * (1 << 20)))
            await producer.send_and_wait(topic, b"")
            await producer.send_and_wait(topic, event("last", time_ms))
        await producer.stop()
        rows = await _rows(both, 6)
        for name in topics:
            assert len(rows[name]) == 6
            assert all(began <= one <= now_ms() for one in rows[name]), (rows, began)
        assert _counted(this) == {"tombstone": 2 * len(TIMES), "json": 2, "size": 2}
    dead = [orjson.loads(got.value or b"") for got in await both._everything("dead.edge")]
    assert sorted(letter["reason"] for letter in dead) == ["json", "json", "size", "size"]


async def _rows(both: Deployed, wanted: int) -> dict[str, list[int]]:
    """The times of the rows of each stream in raw, once there are so many, or after a while."""
    found: dict[str, list[int]] = {}
    end = time.monotonic() + 10
    while min(map(len, found.values()), default=0) < wanted and time.monotonic() < end:
        blocks = [decode_record(got.value or b"") for got in await both._everything("raw")]
        found = {
            name: [
                at for one in blocks if isinstance(one, RawBlock) and one.stream == stream_id(name) for at in one.times
            ]
            for name in ("timed", "untimed")
        }
    return found


def _counted(this: Inside) -> dict[str, int]:
    found: dict[str, int] = {}
    for door in (task.stage for task in this.worker.tasks if isinstance(task.stage, Door)):
        for (_, reason), n in door.counts.items():
            if n:
                found[reason] = found.get(reason, 0) + n
    return found


BUSY = {"log.cleaner.backoff.ms": "200", "log.cleaner.min.cleanable.ratio": "0.01", "log.initial.task.delay.ms": "100"}
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "max.compaction.lag.ms": "100",
    "delete.retention.ms": "0",
}


@pytest.mark.faults
def test_a_compacted_source_is_read_over_its_gaps(deployment_name: str, tmp_path: Path) -> None:
    with Broker(tmp_path / "broker", settings=BUSY, brief=True) as broker:
        both = Deployed(tmp_path, deployment_name, broker.bootstrap, TEXT.format(name=deployment_name))
        both.create(1)
        try:
            asyncio.run(asyncio.wait_for(_compacted(both, tmp_path), 120))
        finally:
            both.close()


async def _compacted(both: Deployed, folder: Path) -> None:
    """What came before a stop is compacted; so is most of what comes after it, before anybody reads it."""
    source = Place(f"{both.plan.name}-untimed", 0)
    async with both.client.admin() as admin:
        await admin.alter(source.topic, COMPACTED)
    producer = AIOKafkaProducer(bootstrap_servers=",".join(both.client.access.brokers))
    await producer.start()

    async def written(keys: int, users: str) -> None:
        for number in range(100):
            await producer.send_and_wait(source.topic, event(f"{users}-{number}"), key=b"%d" % (number % keys))
            if number % 10 == 0:
                await producer.send_and_wait(source.topic, None, key=b"gone")
                await asyncio.sleep(0.11)  # the broker rolls its segments by time

    async with inside(both, ("edge",)) as this:
        await this.ready()
        await written(5, "before")
        assert len(await _rows_of(both, "untimed", 100)) == 100
    await written(5, "between")
    left = await _shrunk(both, source, 60)
    async with inside(both, ("edge",)) as this:
        await this.ready()
        await written(5, "after")
        rows = await _rows_of(both, "untimed", 200)
        assert 200 < len(rows) <= 200 + left
        assert not _counted(this).keys() - {"tombstone"}
    await producer.stop()


async def _rows_of(both: Deployed, name: str, wanted: int) -> list[int]:
    found: list[int] = []
    end = time.monotonic() + 20
    while len(found) < wanted and time.monotonic() < end:
        blocks = [decode_record(got.value or b"") for got in await both._everything("raw")]
        found = [
            at for one in blocks if isinstance(one, RawBlock) and one.stream == stream_id(name) for at in one.times
        ]
    return found


async def _shrunk(both: Deployed, place: Place, most: int) -> int:
    """How many records are left, once they are few."""
    left, end = most + 1, time.monotonic() + 60
    while left > most:
        assert time.monotonic() < end, left
        async with both.client.reader() as reader:
            _, found = await whole(reader, [place])
        left = len(found[place])
    return left
