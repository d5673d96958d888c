# SPDX-License-Identifier: Apache-2.0
"""Makes every connection to the brokers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any, Final

from aiokafka import AIOKafkaClient

from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.client.admin import Admin
from murmurate.agents.kafka.client.appender import Appender
from murmurate.agents.kafka.client.member import Member, Shared
from murmurate.agents.kafka.client.reader import POLL_MS, Reader
from murmurate.agents.kafka.client.reasons import connected
from murmurate.agents.kafka.client.writer import Sender, Writer
from murmurate.agents.kafka.errors import AwayError
from murmurate.config.brokers import REQUEST_MS

AGAIN_S = 1.0
OF_READERS: Final = ("fetch_max_wait_ms", "fetch_max_bytes", "max_partition_fetch_bytes")
OF_WRITERS: Final = ("transaction_timeout_ms",)
OF_MEMBERS: Final = ("session_timeout_ms", "heartbeat_interval_ms", "rebalance_timeout_ms")
"""The properties of the client that each kind of connection takes besides those of all."""


class Client:
    """Makes connections that all know where the brokers are and who we are."""

    def __init__(self, access: Access, name: str = "murmurate") -> None:
        self.access, self.name = access, name

    def _common(self) -> dict[str, Any]:
        return self.access.common(self.name, REQUEST_MS)

    async def answers(self) -> None:
        """Return when a broker answers; AwayError or RefusedError otherwise."""
        common = self._common()
        client = AIOKafkaClient(**common)
        try:
            await connected(f"brokers {', '.join(self.access.brokers)}", common, client.bootstrap())
        finally:
            await client.close()

    async def wait(self, seconds: float) -> None:
        """Return when a broker answers; AwayError if none has for so long."""
        end = time.monotonic() + seconds
        while True:
            try:
                await self.answers()
                return
            except AwayError:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(AGAIN_S)

    def reader(self, *, aborted: bool = False, patience_ms: int = POLL_MS) -> Reader:
        """A reader that belongs to no group. `aborted`: of what was never committed too, for an audit;
        `patience_ms`: how long brokers hold its fetches.
        """
        return Reader(self._common(), self.access.given(*OF_READERS), aborted=aborted, patience_ms=patience_ms)

    def writer(self, identity: str) -> Writer:
        """A transactional writer: opening a second one of the same identity fences this one."""
        return Writer(self._common() | self.access.given(*OF_WRITERS), identity)

    def sender(self, *, patient: bool = True) -> Sender:
        """A writer without transactions, for records that are nobody's state. `patient`: it tries for minutes."""
        return Sender(self._common(), patient=patient)

    def appender(self) -> Appender:
        """A writer that tells when the brokers appended."""
        return Appender(self._common())

    def member(self, group: str, topics: Collection[str], instance: str, shared: Shared) -> Member:
        """A member of a group that only shares out partitions."""
        return Member(self._common(), self.access.given(*OF_MEMBERS), group, topics, instance, shared)

    def admin(self) -> Admin:
        """Topics and groups."""
        return Admin(self._common())
