"""Writing: in transactions that fence their predecessors, or record by record.

Contract: a transaction awaits each delivery before it commits: aiokafka commits even where a record was refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import aiokafka.producer.sender as _sender
from aiokafka import AIOKafkaProducer
from aiokafka import errors as kafka

from murmurate.agents.kafka.client.records import Write
from murmurate.agents.kafka.client.said import said

_sender.BACKOFF_OVERRIDE = 0.002  # 20 ms by default, between back-to-back transactions of one producer

TRANSACTION_MS = 10_000
"""A dead writer's open transaction hides what follows for at most this long; its successor ends it at once."""
BATCH_BYTES = 1 << 20


class Writer:
    """One transactional id. After any failure it must be thrown away."""

    def __init__(self, common: Mapping[str, Any], identity: str) -> None:
        self.identity = identity
        self._producer = AIOKafkaProducer(
            **common, transactional_id=identity, transaction_timeout_ms=TRANSACTION_MS, linger_ms=0,
            retry_backoff_ms=10, max_batch_size=BATCH_BYTES, max_request_size=8 * BATCH_BYTES,
        )  # fmt: skip

    async def open(self) -> None:
        """Fence every earlier holder of the identity and end what it left open."""
        with said(f"writer {self.identity}"):
            await self._producer.start()

    async def transact(self, writes: Iterable[Write]) -> list[int]:
        """All of these, or none: their offsets, once they are committed."""
        producer = self._producer
        with said(f"transaction of {self.identity}"):
            await producer.begin_transaction()
            sent = [
                await producer.send(place.topic, value, key=key, partition=place.partition)
                for place, value, key in writes
            ]
            offsets = [int((await delivery).offset) for delivery in sent]  # each one: a refused record must stop us
            await producer.commit_transaction()
        return offsets

    async def close(self) -> None:
        """Let go. What is open is left to the successor, or to the timeout."""
        with contextlib.suppress(kafka.KafkaError, asyncio.TimeoutError):
            await asyncio.wait_for(self._producer.stop(), 5)


class Sender:
    """Writes records as they come, each once and in order."""

    def __init__(self, common: Mapping[str, Any]) -> None:
        self._producer = AIOKafkaProducer(
            **common, enable_idempotence=True, linger_ms=5, max_batch_size=BATCH_BYTES, max_request_size=8 * BATCH_BYTES
        )

    async def __aenter__(self) -> Sender:
        with said("writer"):
            await self._producer.start()
        return self

    async def __aexit__(self, *what: object) -> None:
        with contextlib.suppress(kafka.KafkaError):
            await self._producer.stop()

    async def send(self, writes: Sequence[Write]) -> list[int]:
        """Write these, and return their offsets once all are safe."""
        with said("writing"):
            sent = [
                await self._producer.send(place.topic, value, key=key, partition=place.partition)
                for place, value, key in writes
            ]
            return [int((await delivery).offset) for delivery in sent]

    async def partitions(self, topic: str) -> int:
        """How many partitions a topic has."""
        with said(f"topic {topic}"):
            return len(await self._producer.partitions_for(topic))
