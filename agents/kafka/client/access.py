"""How the brokers are reached: the [kafka] table with its password read and its certificates loaded.

Contract: what cannot be used is a ConfigError that names the key, before anybody connects; the password is never
shown.  Not here: the connections themselves (connection.py).
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from murmurate.config.errors import ConfigError, Mistake
from murmurate.config.settings import FILE_OR_ENV, Deployment

MECHANISM = "SCRAM-SHA-512"
_MOST = 4096  # bytes of a file with a password


@dataclass(frozen=True)
class Access:
    """The addresses of the brokers, and the credentials."""

    brokers: tuple[str, ...]
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    """The password that goes with the user name: SCRAM-SHA-512 over TLS."""
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @property
    def protocol(self) -> str:
        """Kafka's name of what protects the connection."""
        if self.tls is None:
            return "PLAINTEXT"
        return "SSL" if self.username is None else "SASL_SSL"


def access(deployment: Deployment, environ: Mapping[str, str] | None = None) -> Access:
    """The deployment's access; ConfigError with a line for each thing that cannot be used."""
    kafka, mistakes = deployment.kafka, []
    password = tls = None
    if kafka.security != "plaintext":
        try:
            tls = ssl.create_default_context(cafile=kafka.ca_file)
        except (OSError, ssl.SSLError) as error:
            reason = "no certificates" if isinstance(error, ssl.SSLError) else (error.strerror or "unreadable").lower()
            mistakes.append(Mistake("kafka.ca_file", reason, "a readable file of PEM certificates"))
    if kafka.security == "sasl_ssl" and kafka.password is not None:
        place = kafka.password
        if place.env is not None:
            password = (os.environ if environ is None else environ).get(place.env)
            found = "no such environment variable"
        else:
            password, found = _first_line(Path(place.file or "")), "no readable file with a password"
        if not password:
            mistakes.append(Mistake("kafka.password", found, FILE_OR_ENV))
    if mistakes:
        raise ConfigError(mistakes)
    username = kafka.username if kafka.security == "sasl_ssl" else None
    return Access(kafka.brokers, username, password, tls)


def _first_line(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_MOST).splitlines()[0]
    except (OSError, UnicodeDecodeError, IndexError):
        return None
