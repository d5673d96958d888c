# SPDX-License-Identifier: Apache-2.0
"""Group offsets, as an outsider could set them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaClient, TopicPartition
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.protocol.commit import OffsetCommitRequest

from murmurate.agents.kafka.client import Client, Place

SIMPLE = -1  # no generation: an offset that belongs to no member


async def force(client: Client, group: str, offsets: Mapping[Place, int]) -> list[int]:
    """Commit these for a group from outside: the broker's answer for each, 0 if it took it."""
    connection: Any = AIOKafkaClient(bootstrap_servers=",".join(client.access.brokers))
    await connection.bootstrap()
    try:
        coordinator = await connection.coordinator_lookup(0, group)
        await connection.ready(coordinator)
        topics: dict[str, list[tuple[int, int, str]]] = {}
        for place, offset in offsets.items():
            at = TopicPartition(*place)
            topics.setdefault(at.topic, []).append((at.partition, offset, ""))
        answer = await connection.send(coordinator, OffsetCommitRequest(group, SIMPLE, "", -1, list(topics.items())))
        return [code for _, partitions in answer.topics for _, code in partitions]
    except GroupCoordinatorNotAvailableError as error:  # the broker has just come back
        return [error.errno]
    finally:
        await connection.close()
