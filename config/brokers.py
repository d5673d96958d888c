# SPDX-License-Identifier: Apache-2.0
"""The [kafka] table: where the brokers are, who we are to them, and what protects the connection.

Contract: what a login needs is there, and a certificate or token that no connection would use is refused.  No secret
stands in the file, only the place of one.  Not here: reading secrets and certificates (agents/kafka/client/access.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, model_validator

from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import Text, Texts, WholeNumber
from murmurate.config.streams import ConfigTable

ADDRESS: Final = Text(r"^[A-Za-z0-9._:\[\]-]+:[0-9]{1,5}$", 'a host and a port, such as "localhost:9092"')
WORD: Final = Text(r"^.{1,1024}$", "a text")
HOOK: Final = Text(
    r"^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$",
    'a module that Python can import and a function in it, such as "signer:token"',
)
CLIENT_NAME: Final = Text(r"^[A-Za-z0-9._-]{1,64}$", "1 to 64 of A-Z, a-z, 0-9, dot, dash, underscore")
FILE_OR_ENV: Final = '{ file = "PATH" } or { env = "VARIABLE" }'
"""The forms in which a place of a secret is written."""
HIDDEN_KEYS: Final = frozenset({"password", "token", "key_password"})
"""The keys under which somebody may have put a secret itself: what stands there is never shown."""
SESSION_MS: Final = 6_000
"""How long a group waits for a member that says nothing, unless the file says otherwise."""
REQUEST_MS: Final = 20_000
"""How long a request may take, unless the file says otherwise."""

Security = Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"]
Login = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
LOGINS: Final[tuple[Login, ...]] = get_args(Login)
"""Every way to log in."""
_Ms = Annotated[int | None, WholeNumber(1, 3_600_000)]
_Bytes = Annotated[int | None, WholeNumber(1 << 20, 1 << 30)]


class Secret(ConfigTable):
    """Where a secret is kept: a file or an environment variable, never the deployment file itself."""

    file: Annotated[str, WORD] | None = Field(default=None, repr=False)
    """A file with the secret."""
    env: Annotated[str, WORD] | None = Field(default=None, repr=False)
    """An environment variable with the secret."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.env is None):
            found = "neither file nor env" if self.file is None else "both file and env"
            raise NotAllowedError(Mistake("", found, FILE_OR_ENV))
        return self


class ClientProperties(ConfigTable):
    """Properties of the Kafka client by their own names. Those on which exactness or privacy rests cannot be set."""

    client_id: Annotated[str, CLIENT_NAME] | None = None
    """What brokers call this client in logs and quotas."""
    request_timeout_ms: _Ms = None
    """How long a request may take; 20 000 if left out."""
    metadata_max_age_ms: _Ms = None
    """How soon it is asked again which brokers lead which partitions."""
    connections_max_idle_ms: _Ms = None
    """How long an idle connection is kept."""
    session_timeout_ms: _Ms = None
    """How long a group waits for a worker that says nothing; 6 000 if left out."""
    heartbeat_interval_ms: _Ms = None
    """How often a worker says that it is there; 1 000 if left out."""
    rebalance_timeout_ms: _Ms = None
    """How long a group waits for all its workers to join again; 10 000 if left out."""
    fetch_max_wait_ms: _Ms = None
    """How long brokers hold an answer back for records to come; 100 if left out."""
    fetch_max_bytes: _Bytes = None
    """The most bytes of an answer; 16 MiB if left out."""
    max_partition_fetch_bytes: _Bytes = None
    """The most bytes of a partition in an answer; 4 MiB if left out."""
    transaction_timeout_ms: _Ms = None
    """When brokers end a transaction of a dead worker; 10 000 if left out."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        session, request = self.session_timeout_ms or SESSION_MS, self.request_timeout_ms or REQUEST_MS
        if session > request:
            raise NotAllowedError(Mistake("session_timeout_ms", f"{session}", f"up to request_timeout_ms, {request}"))
        if (beat := self.heartbeat_interval_ms or 1_000) * 2 > session:
            allowed = f"at most half of session_timeout_ms, {session}"
            raise NotAllowedError(Mistake("heartbeat_interval_ms", f"{beat}", allowed))
        return self


class Kafka(ConfigTable):
    """How the brokers are reached."""

    brokers: Annotated[tuple[str, ...], Texts(ADDRESS, 1, 100)] = ("localhost:9092",)
    """The brokers to connect to first."""
    replication: Annotated[int, WholeNumber(1, 100)] = 1
    """Copies of each record; 1 on a laptop."""
    targets: Annotated[int | None, WholeNumber(1, 1024)] = None
    """Partitions of reports and of batches, over which reports scatter; left out: partitions, at most 8."""
    security: Security = "plaintext"
    """What protects the connection: TLS with ssl and sasl_ssl, a login with sasl_plaintext and sasl_ssl."""
    mechanism: Login = "SCRAM-SHA-512"
    """How one logs in."""
    username: Annotated[str, WORD] | None = None
    """The user name of a login by password."""
    password: Secret | None = None
    """The password of a login by password."""
    token: Secret | None = None
    """The token of OAUTHBEARER; a file is read again for every connection."""
    token_hook: Annotated[str, HOOK] | None = None
    """The Python function that gives the token of OAUTHBEARER, for signers such as that of MSK."""
    ca_file: Annotated[str, WORD] | None = None
    """Who signed the brokers' certificates."""
    cert_file: Annotated[str, WORD] | None = None
    """The client's own certificate, where brokers ask for one."""
    key_file: Annotated[str, WORD] | None = None
    """The private key of cert_file, where it is not in that file too."""
    key_password: Secret | None = None
    """The password of the private key, where it has one."""
    client: ClientProperties = ClientProperties()
    """Further properties of the Kafka client."""

    @property
    def tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.security in ("ssl", "sasl_ssl")

    @property
    def login(self) -> bool:
        """Whether one logs in."""
        return self.security in ("sasl_plaintext", "sasl_ssl")

    @model_validator(mode="after")
    def _someone_logs_in(self) -> Self:
        mistakes = [*self._login_mistakes(), *self._unused()]
        if mistakes:
            raise NotAllowedError(*mistakes)
        return self

    def _login_mistakes(self) -> Iterator[Mistake]:
        if not self.login:
            return
        if self.mechanism == "OAUTHBEARER":
            if (self.token is None) == (self.token_hook is None):
                found = "nothing" if self.token is None else "token and token_hook"
                yield Mistake("token", found, f"{FILE_OR_ENV} with OAUTHBEARER, or a token_hook")
            return
        forms = {"username": f"a text with {self.security}", "password": f"{FILE_OR_ENV} with {self.security}"}
        for key, form in forms.items():
            if getattr(self, key) is None:
                yield Mistake(key, "nothing", form)

    def _unused(self) -> Iterator[Mistake]:
        """What is there to protect a connection, and would not."""
        by_token = self.login and self.mechanism == "OAUTHBEARER"
        for key in ("token", "token_hook"):
            if getattr(self, key) is not None and not by_token:
                yield Mistake(key, "one", 'only with mechanism = "OAUTHBEARER" and sasl_plaintext or sasl_ssl')
        if self.cert_file is not None and not self.tls:
            yield Mistake("cert_file", f"one with {self.security}", "only with ssl or sasl_ssl")
        for key in ("key_file", "key_password"):
            if getattr(self, key) is not None and self.cert_file is None:
                yield Mistake(key, "one without cert_file", "only with cert_file")
