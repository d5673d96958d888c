# SPDX-License-Identifier: Apache-2.0
"""Appends a record by itself and learns when the broker appended it, by the broker's own clock.

Contract: the time is the one that the broker put on the record on its way into the log (LogAppendTime), so it lies
between the call and its return whatever went wrong in between: a record that is sent twice is told with the time of
the copy that was acknowledged.  No transaction and no sequence number: of a duplicate the brokers tell no time.  Not
here: what is made of the time (kafka/skew.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaProducer

from murmurate.agents.kafka.client.kafka_errors import close_within, kafka_errors
from murmurate.agents.kafka.client.reasons import connected
from murmurate.agents.kafka.client.records import Write
from murmurate.agents.kafka.errors import TopicsError

APPENDED = 1  # Kafka's number for LogAppendTime


class Appender:
    """A writer of single records that tells their times."""

    def __init__(self, common: Mapping[str, Any]) -> None:
        self._common = common
        self._producer = AIOKafkaProducer(**common, acks=1, linger_ms=0)

    async def __aenter__(self) -> Appender:
        try:
            await connected("writer", self._common, self._producer.start())
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *what: object) -> None:
        await close_within(self._producer.stop())

    async def know(self, topic: str) -> None:
        """Learn who leads the topic's partitions, so that the next record goes out at once."""
        with kafka_errors(f"topic {topic}"):
            await self._producer.partitions_for(topic)

    async def append(self, write: Write) -> int:
        """When the broker appended this record, in milliseconds. TopicsError where the topic keeps writers' times."""
        (topic, partition), value, key = write
        with kafka_errors(f"writing to {topic} {partition}"):
            told = await self._producer.send_and_wait(topic, value, key=key, partition=partition)
        if told.timestamp_type != APPENDED:
            raise TopicsError(
                f"{topic}: message.timestamp.type: found CreateTime; allowed: LogAppendTime (see `murmurate topics "
                "create`)"
            )
        return int(told.timestamp)
