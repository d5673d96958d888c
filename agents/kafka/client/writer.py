# SPDX-License-Identifier: Apache-2.0
"""Writes records: in transactions that fence their predecessors, or one by one.

Contract: a transaction awaits each delivery before it commits: aiokafka commits even where a record was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import aiokafka.producer.message_accumulator as _accumulator
import aiokafka.producer.sender as _sender
from aiokafka import AIOKafkaProducer
from aiokafka import errors as kafka
from aiokafka.client import CoordinationType
from aiokafka.protocol.transaction import EndTxnRequest

from murmurate.agents.kafka.client.kafka_errors import close_within, kafka_errors
from murmurate.agents.kafka.client.reasons import connected
from murmurate.agents.kafka.client.records import Place, Write
from murmurate.agents.kafka.errors import BrokerError, FencedError

_sender.BACKOFF_OVERRIDE = 0.002  # 20 ms by default, between back-to-back transactions of one producer


def _heard(future: asyncio.Future[Any]) -> None:
    """Nobody else asks how it ended: asyncio would write a page about it into the log."""
    if future.done() and not future.cancelled():
        future.exception()


_Batch: Any = _accumulator.MessageBatch
_failure = _Batch.failure


def _failed(batch: Any, *given: Any, **named: Any) -> None:
    _failure(batch, *given, **named)
    _heard(batch._drain_waiter)


_Batch.failure = _failed

TRANSACTION_MS = 10_000
"""A dead writer's open transaction hides what follows for at most this long; its successor ends it at once."""
BATCH_BYTES = 1 << 20
FENCED_CODES = (47, 90)
"""INVALID_PRODUCER_EPOCH, and PRODUCER_FENCED, as later versions of the request have it."""
SAFE_MS = 120_000
"""How long a record without a transaction is tried again, in order and once, while brokers are away."""


def _share_connections(client: Any) -> None:
    """One connection to each broker. aiokafka has a second one to the broker that coordinates transactions; steps of a
    transaction wait for each other either way.
    """
    ready, send = client.ready, client.send

    async def ready_by_one(node: int, *, group: object = None) -> bool:
        return bool(await ready(node))

    async def send_by_one(node: int, request: Any, *, group: object = None) -> Any:
        return await send(node, request)

    client.ready, client.send = ready_by_one, send_by_one


class Writer:
    """One transactional id. After any failure it must be thrown away."""

    def __init__(self, common: Mapping[str, Any], identity: str) -> None:
        self.identity = identity
        self._common = {"transaction_timeout_ms": TRANSACTION_MS, **common}
        self._producer = AIOKafkaProducer(
            **self._common, transactional_id=identity, linger_ms=0, retry_backoff_ms=10, max_batch_size=BATCH_BYTES,
            max_request_size=8 * BATCH_BYTES,
        )  # fmt: skip
        _share_connections(self._producer.client)

    async def open(self) -> None:
        """Fence every earlier holder of the identity and end what it left open."""
        await connected(f"writer {self.identity}", self._common, self._producer.start())

    async def holds(self) -> bool:
        """Whether the brokers still know this opening; FencedError if somebody has opened the identity since. Asks its
        coordinator to end a transaction that was never begun, which is refused either way: nothing is written anywhere,
        and no reader waits. An identity that wrote nothing for a week is forgotten.
        """
        sender, known = self._producer._sender, self._producer._txn_manager
        assert known is not None  # noqa: S101 - it has a transactional id
        with kafka_errors(f"writer {self.identity}"):
            node = await sender._find_coordinator(CoordinationType.TRANSACTION, self.identity)
            asked = EndTxnRequest(
                transactional_id=self.identity, producer_id=known.producer_id, producer_epoch=known.producer_epoch,
                transaction_result=False,
            )  # fmt: skip
            told = await self._producer.client.send(node, asked)
        if told.error_code in FENCED_CODES:
            raise FencedError(f"writer {self.identity}: another instance has taken over")
        known_here = bool(told.error_code != kafka.InvalidProducerIdMapping.errno)
        if known_here and told.error_code != kafka.InvalidTxnState.errno:
            sender._coordinator_dead(CoordinationType.TRANSACTION)  # it may have moved: the next time shows
        return known_here

    async def transact(self, writes: Iterable[Write]) -> list[int]:
        """All of these, or none: their offsets, once they are committed."""
        producer = self._producer
        with kafka_errors(f"transaction of {self.identity}"):
            await producer.begin_transaction()
            sent: list[asyncio.Future[Any]] = []
            try:
                for place, value, key in writes:
                    sent.append(await producer.send(place.topic, value or None, key=key, partition=place.partition))
                offsets = [int((await delivery).offset) for delivery in sent]  # each one: a refused record must stop us
                await producer.commit_transaction()
            except BaseException as error:
                for delivery in sent:
                    delivery.add_done_callback(_heard)
                if isinstance(
                    error, kafka.IllegalOperation | AssertionError
                ):  # the transaction has ended from behind meanwhile
                    raise self._ended_by() from error
                raise
        return offsets

    def _ended_by(self) -> BaseException:
        """What aiokafka's own routine met that ended the transaction while records were still handed to it."""
        known = self._producer._txn_manager
        assert known is not None  # noqa: S101 - it has a transactional id
        ended = known._transaction_waiter
        met = ended.exception() if ended is not None and ended.done() and not ended.cancelled() else None
        return met or kafka.ProducerClosed()

    async def close(self) -> None:
        """Let go. What is open is left to the successor, or to the timeout."""
        await close_within(self._producer.stop())
        ended = getattr(self._producer._txn_manager, "_transaction_waiter", None)
        if ended is not None:
            _heard(ended)


class Sender:
    """Writes records as they come, each once and in order."""

    def __init__(self, common: Mapping[str, Any], *, patient: bool = True) -> None:
        self._common = {**common, "request_timeout_ms": SAFE_MS} if patient else dict(common)
        self._producer = AIOKafkaProducer(
            **self._common,
            enable_idempotence=True,
            linger_ms=5,
            max_batch_size=BATCH_BYTES,
            max_request_size=8 * BATCH_BYTES,
        )

    async def __aenter__(self) -> Sender:
        await connected("writer", self._common, self._producer.start())
        return self

    async def __aexit__(self, *what: object) -> None:
        await close_within(self._producer.stop())

    async def send(self, writes: Sequence[Write]) -> list[int]:
        """Write these, and return their offsets once all are safe. Many small records cost little."""
        queues: dict[Place, list[int]] = {}
        for i, write in enumerate(writes):
            queues.setdefault(write.place, []).append(i)
        offsets = [0] * len(writes)
        with kafka_errors("writing"):
            await asyncio.gather(*(self._send(place, mine, writes, offsets) for place, mine in queues.items()))
        return offsets

    async def _send(self, place: Place, mine: list[int], writes: Sequence[Write], offsets: list[int]) -> None:
        """The records of one partition, in as few batches as they fit in."""
        producer, sent, at = self._producer, [], 0
        while at < len(mine):
            batch, first = producer.create_batch(), at
            while at < len(mine):
                write = writes[mine[at]]
                if batch.append(key=write.key, value=write.value or None, timestamp=None) is None:
                    break
                at += 1
            if at == first:
                raise BrokerError(f"writing to {place.topic}: found a record of {len(writes[mine[at]].value)} bytes")
            batch.close()
            delivery = await producer.send_batch(batch, place.topic, partition=place.partition)
            sent.append((first, at, delivery))
        for first, end, delivery in sent:
            base = int((await delivery).offset)
            for i in range(first, end):
                offsets[mine[i]] = base + i - first

    async def partitions(self, topic: str) -> int:
        """How many partitions a topic has."""
        with kafka_errors(f"topic {topic}"):
            return len(await self._producer.partitions_for(topic))
