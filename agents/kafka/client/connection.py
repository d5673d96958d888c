"""Makes every connection to the brokers."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Collection, Iterable
from typing import Any

from aiokafka import AIOKafkaClient
from aiokafka import errors as kafka
from aiokafka.conn import create_conn

from murmurate.agents.kafka.client.access import MECHANISM, Access
from murmurate.agents.kafka.client.admin import Admin
from murmurate.agents.kafka.client.appender import Appender
from murmurate.agents.kafka.client.kafka_errors import kafka_errors
from murmurate.agents.kafka.client.member import Member, Shared
from murmurate.agents.kafka.client.reader import Reader
from murmurate.agents.kafka.client.writer import Sender, Writer
from murmurate.agents.kafka.errors import AwayError, RefusedError

REQUEST_MS = 20_000
AGAIN_S = 1.0


class Client:
    """Makes connections that all know where the brokers are and who we are."""

    def __init__(self, access: Access, name: str = "murmurate") -> None:
        self.access, self.name = access, name

    def _common(self) -> dict[str, Any]:
        common: dict[str, Any] = {
            "bootstrap_servers": list(self.access.brokers), "client_id": self.name,
            "security_protocol": self.access.protocol, "ssl_context": self.access.tls,
            "request_timeout_ms": REQUEST_MS,
        }  # fmt: skip
        if self.access.username is not None:
            common |= {
                "sasl_mechanism": MECHANISM, "sasl_plain_username": self.access.username,
                "sasl_plain_password": self.access.password,
            }  # fmt: skip
        return common

    async def answers(self) -> None:
        """Return when a broker answers; AwayError or RefusedError otherwise."""
        client = AIOKafkaClient(**self._common())
        with kafka_errors(f"brokers {', '.join(self.access.brokers)}"):
            try:
                await client.bootstrap()
            except kafka.KafkaConnectionError:
                await self._reason(client.hosts)
                raise
            finally:
                await client.close()

    async def _reason(self, hosts: Iterable[tuple[str, int, Any]]) -> None:
        """Raise what stands in the way if waiting does not help: aiokafka keeps it to itself, and says "unable"."""
        common = self._common()
        del common["bootstrap_servers"]
        for host, port, _ in hosts:
            try:
                (await create_conn(host, port, **common)).close()
            except ssl.SSLCertVerificationError as error:
                where, found = f"broker {host}:{port}", error.verify_message
                raise RefusedError(f"{where}: its certificate is not to be trusted: {found} (kafka.ca_file)") from error
            except kafka.SaslAuthenticationFailed:
                raise
            except (TimeoutError, OSError, kafka.KafkaError):  # that one is away
                continue

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

    def reader(self, *, aborted: bool = False) -> Reader:
        """A reader that belongs to no group. `aborted`: of what was never committed too, for an audit."""
        return Reader(self._common(), aborted=aborted)

    def writer(self, identity: str) -> Writer:
        """A transactional writer: opening a second one of the same identity fences this one."""
        return Writer(self._common(), identity)

    def sender(self) -> Sender:
        """A writer without transactions, for records that are nobody's state."""
        return Sender(self._common())

    def appender(self) -> Appender:
        """A writer that tells when the brokers appended."""
        return Appender(self._common())

    def member(self, group: str, topics: Collection[str], instance: str, shared: Shared) -> Member:
        """A member of a group that only shares out partitions."""
        return Member(self._common(), group, topics, instance, shared)

    def admin(self) -> Admin:
        """Topics and groups."""
        return Admin(self._common())
