# SPDX-License-Identifier: Apache-2.0
"""A member of a consumer group that assigns partitions; it reads nothing itself."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition

from murmurate.agents.kafka.client.kafka_errors import check_membership, close_within, kafka_errors, leaves
from murmurate.agents.kafka.client.reasons import connected
from murmurate.agents.kafka.client.records import Place
from murmurate.config.brokers import SESSION_MS

METADATA_MS = 5_000
"""How soon a group that was shared out while a broker did not yet know its topics is shared out again: such a broker
says that there are none, and then nobody owns anything. Five minutes by default.
"""

WATCH_S = 0.5


class Shared(Protocol):
    """The receiver of a group's assignments."""

    async def revoked(self) -> None:
        """All partitions are given up for now."""
        ...

    async def assigned(self, places: frozenset[Place]) -> None:
        """These are ours now, and no others."""
        ...


class Member(ConsumerRebalanceListener):
    """Membership of a group that shares out partitions and reads nothing itself."""

    def __init__(
        self, common: Mapping[str, Any], given: Mapping[str, Any], group: str, topics: Collection[str], instance: str,
        shared: Shared,
    ) -> None:  # fmt: skip
        self._shared, self._topics = shared, list(topics)
        usual: dict[str, Any] = {
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": 1_000,
            "rebalance_timeout_ms": 10_000,
        }
        self._common = {"metadata_max_age_ms": METADATA_MS, **common}
        self._consumer: Any = AIOKafkaConsumer(
            **self._common, group_id=group, group_instance_id=instance, enable_auto_commit=False,
            auto_offset_reset="latest", max_poll_interval_ms=2**31 - 1, **{**usual, **given},
        )  # fmt: skip

    async def open(self) -> None:
        """Join."""
        await connected("group", self._common, self._consumer.start())
        self._consumer.subscribe(self._topics, listener=self)

    async def watch(self) -> None:
        """Never returns; raises what went wrong with the membership. aiokafka keeps that for whoever reads records, and
        nobody reads any here.
        """
        while True:
            with kafka_errors("group"):
                check_membership(self._consumer)
            await asyncio.sleep(WATCH_S)

    def look_again(self) -> None:
        """Learn at once how many partitions the topics have, and share them out again if that has changed."""
        self._consumer._client.force_metadata_update()

    async def close(self) -> None:
        """Leave."""
        leaves(self._consumer)
        await close_within(self._consumer.stop())

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Everything goes back before it is shared out anew."""
        await self._shared.revoked()

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Ours from now on."""
        self._consumer.pause(*assigned)  # a reader of its own reads them
        await self._shared.assigned(frozenset(Place(at.topic, at.partition) for at in assigned))
