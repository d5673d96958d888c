# SPDX-License-Identifier: Apache-2.0
"""Tokens for OAUTHBEARER: from a file, an environment variable, or a function of the user's.

Contract: every connection logs in with the token of that moment: a file is read again, a function called again.  A
token that says it has expired is never sent, and no token stands in a message.  What fails is a LoginError, which
aiokafka takes for a broker that cannot be reached: it tries again while a worker runs, and ends one that begins.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
from aiokafka import conn
from aiokafka import errors as kafka
from aiokafka.abc import AbstractTokenProvider

MOST: Final = 1 << 16  # bytes of a token
HOOK_S: Final = 20.0
"""How long a function may take for a token."""


class LoginError(kafka.KafkaError):
    """Our side of a login fails: there is no token, or an old one."""


class TokenFile(AbstractTokenProvider):
    """The token in a file, as it is whenever one logs in; the one before, where somebody is writing there just now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before: str | None = None

    async def token(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The file's first line."""
        try:
            self._before = self._read()
        except LoginError:
            if self._before is None:
                raise
            return usable(self._before.encode(), "kafka.token", "write a new one into its file")
        return self._before

    def _read(self) -> str:
        try:
            lines = self._path.read_bytes()[: MOST + 1].splitlines()
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            raise LoginError(f"kafka.token: its file: {reason}; allowed: a readable file with a token") from None
        return usable(lines[0] if lines else b"", "kafka.token", "write a new one into its file")


class TokenText(AbstractTokenProvider):
    """One token, which lasts for as long as it says."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def token(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What the variable held when we began."""
        return usable(self._text.encode(), "kafka.token", "set a new one in its variable, and start again")


class TokenHook(AbstractTokenProvider):
    """A function that gives a token, or a coroutine of one; of a tuple the first part counts, as signers give it."""

    def __init__(self, name: str, function: Callable[[], Any]) -> None:
        self._name, self._function = name, function

    async def token(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What the function gives; it may take its time, in a thread of its own."""
        where = f"kafka.token_hook: {self._name}"
        try:
            async with asyncio.timeout(HOOK_S):
                found = await asyncio.to_thread(self._function)
                found = await found if inspect.isawaitable(found) else found
        except TimeoutError:
            raise LoginError(f"{where}: took more than {HOOK_S:g} s; allowed: less") from None
        except Exception as error:  # whatever it is: its text may say what it signs with
            raise LoginError(f"{where}: failed with {type(error).__name__}; allowed: a token") from None
        found = found[0] if isinstance(found, tuple) and found else found
        if not isinstance(found, str):
            raise LoginError(f"{where}: found {type(found).__name__}; allowed: a text, or a tuple that begins with one")
        return usable(found.encode(), where, "let it give a new one")


_conn: Any = conn


class HeardAuthenticator(_conn.OAuthAuthenticator):  # type: ignore[misc]
    """A login by token that hears a refusal: aiokafka takes whatever a broker answers for a yes."""

    async def step(self, payload: bytes | None) -> tuple[bytes, bool] | None:
        """The token, once; SaslAuthenticationFailed if the broker does not take it."""
        if self._token_sent and payload:
            try:
                status = str(orjson.loads(payload)["status"])[:64]
            except (ValueError, KeyError, TypeError):
                status = "no status"
            raise kafka.SaslAuthenticationFailed(f"the token was refused: {status}")
        found: tuple[bytes, bool] | None = await super().step(payload)
        return found


_conn.OAuthAuthenticator = HeardAuthenticator


def usable(token: bytes, where: str, remedy: str) -> str:
    """The token, if it can be sent: LoginError if there is none, or it says that it has expired."""
    text = token.decode("utf-8", "replace").strip()
    if not text or not text.isascii() or len(text) > MOST or any(ord(sign) <= 32 for sign in text):
        raise LoginError(f"{where}: found no token; allowed: one line of ASCII, up to {MOST} bytes")
    ends = expiry(text)
    if ends is not None and (late := time.time_ns() / 1e9 - ends) >= 0:
        raise LoginError(f"{where}: the token has expired {spoken(late)} ago; {remedy}")
    return text


def expiry(token: str) -> float | None:
    """When a JSON web token says that it expires, in seconds since 1970; None where it does not say.

    >>> expiry("eyJhbGciOiJub25lIn0.eyJleHAiOjE2MDAwMDAwMDB9.")
    1600000000.0
    >>> expiry("opaque")
    """
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    ends = claims.get("exp") if isinstance(claims, dict) else None
    return float(ends) if isinstance(ends, int | float) else None


def spoken(seconds: float) -> str:
    """A length of time in its largest whole unit.

    >>> spoken(7300), spoken(60), spoken(1)
    ('2 hours', '1 minute', '1 second')
    """
    for name, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' * (count > 1)}"
    count = max(1, int(seconds))
    return f"{count} second{'s' * (count > 1)}"
