# SPDX-License-Identifier: Apache-2.0
"""Why no connection comes about, where waiting would not help: aiokafka says "unable" and keeps the cause to itself.

Contract: nothing is asked before a connection has failed.  Then each broker is asked once more, in small steps: with
our settings, without TLS or with it, and which logins it takes.  What is found is a LockedOutError whose one line names
the key to change; a broker that is away is none.  Not here: what an error is to the caller (kafka_errors.py).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Mapping
from typing import Any, Final

from aiokafka import errors as kafka
from aiokafka.conn import AIOKafkaConnection, collect_hosts, create_conn
from aiokafka.protocol.admin import SaslHandShakeRequest

from murmurate.agents.kafka.client.kafka_errors import kafka_errors
from murmurate.agents.kafka.client.tokens import LoginError
from murmurate.agents.kafka.errors import LockedOutError

PROBE_MS: Final = 5_000
_UNREACHED = (TimeoutError, OSError, kafka.KafkaError)
_ANY: Final = "SCRAM-SHA-512"  # a login is asked for only to hear which ones there are


async def connected(what: str, common: Mapping[str, Any], starting: Awaitable[object]) -> None:
    """Await the start of a client that has these settings. LockedOutError where only other settings would help."""
    with kafka_errors(what):
        try:
            await starting
        except (kafka.KafkaConnectionError, kafka.SaslAuthenticationFailed):
            await explain(common)
            raise


async def explain(common: Mapping[str, Any]) -> None:
    """Raise what stands in the way at a broker, if it is none of those that pass."""
    for host, port, _ in collect_hosts(common["bootstrap_servers"]):
        await _Broker(host, port, common).explain()


class _Broker:
    """One address of a broker, and the settings that do not lead to it."""

    def __init__(self, host: str, port: int, common: Mapping[str, Any]) -> None:
        self.host, self.port, self.where = host, port, f"broker {host}:{port}"
        self._ours: dict[str, Any] = {
            key: value for key, value in common.items()
            if key in ("client_id", "ssl_context", "security_protocol") or key.startswith("sasl_")
        }  # fmt: skip
        self._tls: bool = self._ours["security_protocol"] in ("SSL", "SASL_SSL")
        self._login: str | None = common.get("sasl_mechanism")

    async def explain(self) -> None:
        """1. As we are told to. 2. If that fails before anybody logs in, by the other way of TLS. 3. Who would have to
        log in, hears so.
        """
        try:
            connection = await self._connect(**self._ours)
        except ssl.SSLCertVerificationError as error:
            found = error.verify_message
            raise LockedOutError(
                f"{self.where}: its certificate is not to be trusted: {found} (kafka.ca_file)"
            ) from error
        except LoginError as error:
            raise LockedOutError(_said(error)) from error
        except kafka.SaslAuthenticationFailed as error:
            raise LockedOutError(f"{self.where}: login refused: {_said(error)} ({self._keys()})") from error
        except (kafka.UnsupportedSaslMechanismError, kafka.IllegalSaslStateError) as error:
            raise LockedOutError(await self._other_login()) from error
        except _UNREACHED as error:
            await self._other_tls(error)
            return
        try:
            if self._login is None and (logins := await self._logins(connection)):
                security = "sasl_ssl" if self._tls else "sasl_plaintext"
                raise LockedOutError(
                    f'{self.where}: found no login; allowed: kafka.security = "{security}" and kafka.mechanism = '
                    f"{' or '.join(logins)}"
                )
        finally:
            connection.close()

    async def _connect(self, **settings: Any) -> AIOKafkaConnection:
        connection: AIOKafkaConnection = await create_conn(
            self.host, self.port, request_timeout_ms=PROBE_MS, **settings
        )
        return connection

    async def _other_tls(self, error: BaseException) -> None:
        """Raise what is wrong about TLS, if that is what is wrong."""
        alert = _alert(error)
        if self._tls and "_ALERT_" in alert:
            said = alert.partition("_ALERT_")[2].lower().replace("_", " ")
            raise LockedOutError(
                f"{self.where}: it wants a certificate of ours that it trusts: {said} (kafka.cert_file, kafka.key_file)"
            ) from error
        security = self._ours["security_protocol"].lower()
        if await (self._is_plain() if self._tls else self._is_tls()):
            how = "without TLS" if self._tls else "TLS"
            other = security.replace("ssl", "plaintext") if self._tls else security.replace("plaintext", "ssl")
            raise LockedOutError(
                f'{self.where}: it speaks {how}: found kafka.security = "{security}"; allowed: "{other}"'
            ) from error

    async def _is_plain(self) -> bool:
        """Whether it speaks Kafka's protocol without TLS."""
        try:
            (await self._connect(security_protocol="PLAINTEXT")).close()
        except _UNREACHED:
            return False
        return True

    async def _is_tls(self) -> bool:
        """Whether it speaks TLS, with whatever certificate: nothing is sent to it."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            async with asyncio.timeout(PROBE_MS / 1000):
                _, writer = await asyncio.open_connection(self.host, self.port, ssl=context)
        except _UNREACHED:
            return False
        writer.transport.abort()
        return True

    async def _logins(self, connection: AIOKafkaConnection) -> list[str]:
        """The logins that it takes here; none where nobody logs in."""
        try:
            answer: Any = await connection.send(SaslHandShakeRequest(_ANY))
        except _UNREACHED:
            return []
        return sorted(answer.enabled_mechanisms)

    async def _other_login(self) -> str:
        """A line that says which logins it takes."""
        settings = {"security_protocol": "SSL" if self._tls else "PLAINTEXT", "ssl_context": self._ours["ssl_context"]}
        try:
            connection = await self._connect(**settings)
        except _UNREACHED:
            logins = []
        else:
            logins = await self._logins(connection)
            connection.close()
        if not logins:
            security = "ssl" if self._tls else "plaintext"
            return f'{self.where}: nobody logs in there; allowed: kafka.security = "{security}"'
        return f"{self.where}: found kafka.mechanism = {self._login}; allowed: {' or '.join(logins)}"

    def _keys(self) -> str:
        if self._login == "OAUTHBEARER":
            return "kafka.token or kafka.token_hook"
        return "kafka.username, kafka.password, kafka.mechanism"


def _said(error: BaseException) -> str:
    """What somebody says about a login, in a line: no password and no token is repeated in it."""
    return str(error.args[0]).partition("\n")[0] if error.args else "no reason given"


def _alert(error: BaseException) -> str:
    """The TLS alert that a broker ended the connection with; empty if there was none."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError) and seen.reason:
            return seen.reason
        seen = seen.__cause__ or seen.__context__
    return ""
