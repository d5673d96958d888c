# SPDX-License-Identifier: Apache-2.0
"""The secrets of a deployment: from files, from the environment, or made here for a run that leaves nothing behind.

Contract: a secret is 64 hexadecimal digits (32 bytes), as `openssl rand -hex 32` prints them, in a file or a variable
of its own; a line end may follow, nothing else.  Raw bytes and base64 are refused, because neither can be told from a
damaged file.  An error names the key and never shows a path, a variable or content: someone may have put the secret
itself there.  Not here: which process may hold what (it asks for its zones' secrets and gets no other).
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, get_args

from murmurate.config.brokers import FILE_OR_ENV, Secret
from murmurate.config.errors import ConfigError, Mistake
from murmurate.config.settings import Deployment, SecretName
from murmurate.randomizers import Key
from murmurate.randomizers.errors import RandomnessError
from murmurate.topics.names import ZONES, Zone

NAMES: Final[tuple[SecretName, ...]] = get_args(SecretName)
"""Every secret."""
ZONE_SECRETS: Final[Mapping[Zone, tuple[SecretName, ...]]] = MappingProxyType(
    {"edge": ("pepper", "randomness", "slots", "split", "state"), "mixing": ("shuffle",), "analysis": ()}
)
"""Which zone needs which secrets. No secret belongs to two zones, and the analysis zone needs none."""
FROZEN: Final[tuple[SecretName, ...]] = ("pepper", "slots", "split")
"""The secrets on which the ledger rests: their fingerprints are frozen facts."""
SECRET_BYTES: Final = 32
_FORM: Final = "64 hexadecimal digits and a line end, as `openssl rand -hex 32` prints them"
_LACKING: Final = ("nothing", "no such file", "no such environment variable")
_ADVICE: Final = "`murmurate keys new secrets/` makes secrets, and prints the lines for the deployment file"
_MOST: Final = 4096  # of a file that is read at all


def generate(names: Iterable[str] = NAMES) -> dict[str, bytes]:
    """32 random bytes for each name: for embedded runs, which end with their secrets."""
    return {name: secrets.token_bytes(SECRET_BYTES) for name in names}


def load(
    deployment: Deployment, zones: Iterable[Zone] = ZONES, environ: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """The secrets that these zones need, 32 bytes each; ConfigError with a line for each that cannot be used."""
    return _load(deployment, [name for zone in zones for name in ZONE_SECRETS[zone]], environ)


def readable(deployment: Deployment, environ: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """The secrets that this process could read, of whatever zone; ConfigError for one that cannot be used."""
    return _load(deployment, [name for name in NAMES if present(deployment, name, environ)], environ)


def _load(deployment: Deployment, names: Iterable[SecretName], environ: Mapping[str, str] | None) -> dict[str, bytes]:
    environment = os.environ if environ is None else environ
    found: dict[str, bytes] = {}
    mistakes: list[Mistake] = []
    for name in names:
        key = f"secrets.{name}"
        place: Secret | None = getattr(deployment.secrets, name)
        try:
            if place is None:
                raise _Unusable("nothing", FILE_OR_ENV)
            found[name] = _secret(place, environment, deployment.name)
            twin = next((other for other in found if other != name and found[other] == found[name]), None)
            if twin is not None:
                raise _Unusable(f"the same secret as secrets.{twin}", "a secret of its own")
        except _Unusable as unusable:
            mistakes.append(Mistake(key, *unusable.args))
    if mistakes:
        lacking = any(mistake.found in _LACKING for mistake in mistakes)
        raise ConfigError(mistakes, _ADVICE if lacking else "")
    return found


def present(deployment: Deployment, name: SecretName, environ: Mapping[str, str] | None = None) -> bool:
    """Whether this process could read a secret, whatever it holds."""
    place: Secret | None = getattr(deployment.secrets, name)
    if place is None:
        return False
    if place.env is not None:
        return place.env in (os.environ if environ is None else environ)
    return os.access(place.file or "", os.R_OK)


def fingerprints(found: Mapping[str, bytes], deployment: str) -> dict[str, str]:
    """Sixteen hexadecimal digits for each secret: what may be printed, and what frozen facts hold."""
    return {name: Key(secret, deployment=deployment).fingerprint for name, secret in found.items()}


class _Unusable(Exception):  # noqa: N818 - never leaves this file
    """(found, allowed) on its way up."""


def _secret(place: Secret, environ: Mapping[str, str], deployment: str) -> bytes:
    text = _from_file(place.file) if place.file is not None else _from_environment(place.env or "", environ)
    digits = text.removesuffix(b"\n").removesuffix(b"\r")
    if not digits:
        raise _Unusable("an empty secret", _FORM)
    if not re.fullmatch(rb"[0-9a-fA-F]*", digits):
        raise _Unusable(f"{len(text)} bytes that are not hexadecimal digits alone", _FORM)
    if len(digits) != 2 * SECRET_BYTES:
        raise _Unusable(f"{len(digits)} hexadecimal digits", _FORM)
    secret = bytes.fromhex(digits.decode())
    try:
        Key(secret, deployment=deployment)
    except RandomnessError:
        raise _Unusable("a secret of a few different bytes", "random bytes") from None
    return secret


def _from_file(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            text = file.read(_MOST + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise _Unusable("no such file", _FORM) from None
    except IsADirectoryError:
        raise _Unusable("a directory", f"a file of {_FORM}") from None
    except (OSError, ValueError):
        raise _Unusable("a file that cannot be read", f"a readable file of {_FORM}") from None
    if len(text) > _MOST:
        raise _Unusable(f"a file of more than {_MOST} bytes", _FORM)
    return text


def _from_environment(variable: str, environ: Mapping[str, str]) -> bytes:
    if variable not in environ:
        raise _Unusable("no such environment variable", f"a variable of {_FORM}")
    return environ[variable].encode("utf-8", "surrogateescape")
