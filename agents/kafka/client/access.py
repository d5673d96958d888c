# SPDX-License-Identifier: Apache-2.0
"""How the brokers are reached: the [kafka] table with its secrets read and its certificates loaded.

Contract: what cannot be used is a ConfigError that names the key, before anybody connects; no password and no token is
ever shown.  Every connection of every command is made from an Access: there is no other way to one.  Not here: the
connections themselves (connection.py), what tokens are (tokens.py).
"""

from __future__ import annotations

import importlib
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from aiokafka.abc import AbstractTokenProvider

from murmurate.agents.kafka.client.tokens import TokenFile, TokenHook, TokenText
from murmurate.config.brokers import FILE_OR_ENV, Kafka, Secret
from murmurate.config.errors import ConfigError, Mistake
from murmurate.config.settings import Deployment

_MOST = 4096  # bytes of a file with a password
NONE: Final[Mapping[str, int | str]] = MappingProxyType({})


@dataclass(frozen=True)
class Access:
    """The addresses of the brokers, and the credentials."""

    brokers: tuple[str, ...]
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    """The password that goes with the user name."""
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    mechanism: str | None = None
    """How one logs in; None where nobody does."""
    tokens: AbstractTokenProvider | None = field(default=None, repr=False)
    """The giver of tokens, with OAUTHBEARER."""
    properties: Mapping[str, int | str] = field(default_factory=lambda: NONE)
    """The properties of the client that the file sets."""

    @property
    def protocol(self) -> str:
        """Kafka's name of what protects the connection."""
        if self.mechanism is None:
            return "PLAINTEXT" if self.tls is None else "SSL"
        return "SASL_PLAINTEXT" if self.tls is None else "SASL_SSL"

    def common(self, name: str, request_timeout_ms: int) -> dict[str, Any]:
        """What every kind of client of aiokafka is given, as its keyword arguments."""
        found: dict[str, Any] = {
            "bootstrap_servers": list(self.brokers), "client_id": self.properties.get("client_id", name),
            "security_protocol": self.protocol, "ssl_context": self.tls, "request_timeout_ms": request_timeout_ms,
        }  # fmt: skip
        if self.mechanism == "OAUTHBEARER":
            found |= {"sasl_mechanism": self.mechanism, "sasl_oauth_token_provider": self.tokens}
        elif self.mechanism is not None:
            found |= {
                "sasl_mechanism": self.mechanism, "sasl_plain_username": self.username,
                "sasl_plain_password": self.password,
            }  # fmt: skip
        shared = ("request_timeout_ms", "metadata_max_age_ms", "connections_max_idle_ms")
        return found | self.given(*shared)

    def given(self, *names: str) -> dict[str, Any]:
        """Those of these properties that the file sets."""
        return {name: self.properties[name] for name in names if name in self.properties}


def access(deployment: Deployment, environ: Mapping[str, str] | None = None) -> Access:
    """The deployment's access; ConfigError with a line for each thing that cannot be used."""
    kafka, mistakes = deployment.kafka, list[Mistake]()
    read = _Secrets(os.environ if environ is None else environ, mistakes)
    tls = _tls(kafka, read, mistakes) if kafka.tls else None
    mechanism = kafka.mechanism if kafka.login else None
    username = password = tokens = None
    if mechanism == "OAUTHBEARER":
        tokens = _tokens(kafka, read, mistakes)
    elif mechanism is not None:
        username, password = kafka.username, read.text("kafka.password", kafka.password)
    if mistakes:
        raise ConfigError(mistakes)
    properties = MappingProxyType(kafka.client.model_dump(exclude_none=True))
    return Access(kafka.brokers, username, password, tls, mechanism, tokens, properties)


class _Secrets:
    """Reads secrets from their places, and notes those that are not there."""

    def __init__(self, environ: Mapping[str, str], mistakes: list[Mistake]) -> None:
        self._environ, self._mistakes = environ, mistakes

    def text(self, key: str, place: Secret | None) -> str | None:
        """The first line of what is there."""
        if place is None:
            return None
        if place.env is not None:
            text, found = self._environ.get(place.env), "no such environment variable"
        else:
            text, found = _first_line(Path(place.file or "")), f"no readable file with a {key.rpartition('.')[2]}"
        if not text:
            self._mistakes.append(Mistake(key, found.replace("_", " "), FILE_OR_ENV))
        return text


def _tls(kafka: Kafka, read: _Secrets, mistakes: list[Mistake]) -> ssl.SSLContext | None:
    """What brokers are trusted by, and what we show them."""
    try:
        found = ssl.create_default_context(cafile=kafka.ca_file)
    except (OSError, ssl.SSLError) as error:
        mistakes.append(Mistake("kafka.ca_file", _reason(error), "a readable file of PEM certificates"))
        return None
    if kafka.cert_file is None:
        return found
    opens = read.text("kafka.key_password", kafka.key_password) or ""
    for key, path in (("kafka.cert_file", kafka.cert_file), ("kafka.key_file", kafka.key_file)):
        if path is not None and not os.access(path, os.R_OK):
            mistakes.append(Mistake(key, "no readable file", "a readable PEM file"))
            return None
    try:
        found.load_cert_chain(kafka.cert_file, kafka.key_file, opens)  # without a password it would ask the terminal
    except (OSError, ssl.SSLError) as error:
        allowed = "PEM files of a certificate and of its own key, and key_password where the key has one"
        mistakes.append(Mistake("kafka.cert_file", _reason(error), allowed))
    return found


def _reason(error: OSError) -> str:
    """What is wrong with certificates, without a number of OpenSSL's."""
    if not isinstance(error, ssl.SSLError):
        return (error.strerror or "unreadable").lower()
    words = (error.reason or "").lower().replace("_", " ")
    unopened = "no certificates, or a key that key_password does not open"
    return "the key of another certificate" if "key values mismatch" in words else unopened


def _tokens(kafka: Kafka, read: _Secrets, mistakes: list[Mistake]) -> AbstractTokenProvider | None:
    if kafka.token_hook is not None:
        function = _hook(kafka.token_hook, mistakes)
        return None if function is None else TokenHook(kafka.token_hook, function)
    text = read.text("kafka.token", kafka.token)
    if text is None or kafka.token is None:
        return None
    return TokenFile(Path(kafka.token.file)) if kafka.token.file else TokenText(text)


def _hook(name: str, mistakes: list[Mistake]) -> Callable[[], Any] | None:
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        missing = "no such module" if getattr(error, "name", None) == module else "a module that cannot be imported"
        mistakes.append(Mistake("kafka.token_hook", f"{missing}: {module}", "one that Python can import (PYTHONPATH)"))
        return None
    if not callable(found):
        mistakes.append(Mistake("kafka.token_hook", f"no function {function} in {module}", "one without arguments"))
        return None
    return found  # type: ignore[no-any-return]


def _first_line(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_MOST).splitlines()[0]
    except (OSError, UnicodeDecodeError, IndexError):
        return None
