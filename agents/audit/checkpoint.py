# SPDX-License-Identifier: Apache-2.0
"""The auditor's checkpoints: all that it knows, sealed, in one file of a folder that belongs to it alone.

Contract: a checkpoint is written whole or not at all, so that a kill at any moment leaves the last one.  It holds
users' values: sealed with the edge's state key (AES-256-GCM, a nonce of its own each, bound to the deployment),
readable by its owner only.  One of another form, deployment, key or plan is refused in one line that says what to do.
Not here: what is in it (auditor.py).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from murmurate.agents.audit.packed import pack, unpack
from murmurate.errors import MurmurateError
from murmurate.randomizers.errors import SnapshotError
from murmurate.randomizers.state import StateForm, collect, pieces

FORM: Final = StateForm("auditor's checkpoint", 1)
NAME: Final = "auditor.state"
REMEDY: Final = "empty it, and the audit proves from now on; or run the version that wrote it"
_PIECE = 1 << 26
_NONCE = 12


class CheckpointError(MurmurateError):
    """A checkpoint that this auditor cannot go on from."""


class Checkpoints:
    """The checkpoints of one deployment. facts: what has to be the same for state to have a meaning."""

    def __init__(self, folder: Path, deployment: str, secret: bytes, facts: Mapping[str, Any]) -> None:
        self._folder, self._file = folder, folder / NAME
        self._deployment, self._facts = deployment.encode(), dict(facts)
        self._key = AESGCM(hmac.digest(secret, b"murmurate/auditor/1\n" + self._deployment, "sha256"))

    def save(self, state: dict[str, Any]) -> int:
        """Write a state in the place of the last one. Gives its bytes."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        packed, arrays = pack(state)
        data = b"".join(pieces(FORM, {"facts": self._facts, "state": packed}, arrays.items()))
        new = self._folder / f"{NAME}.new"
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            for number, start in enumerate(range(0, len(data), _PIECE)):
                piece, nonce = data[start : start + _PIECE], secrets.token_bytes(_NONCE)
                last = start + _PIECE >= len(data)
                sealed = self._key.encrypt(nonce, piece, self._bound(number, last=last))
                file.write(len(sealed).to_bytes(4, "little") + bytes([last]) + nonce + sealed)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._file)
        return len(data)

    def load(self) -> dict[str, Any] | None:
        """The newest state, or None before the first."""
        try:
            sealed = self._file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            facts, arrays = collect(FORM, [self._opened(sealed)])
        except SnapshotError as error:
            found = str(error).partition(": ")[2].split(". ")[0]
            raise CheckpointError(f"{self._file}: {found}. Remedy: {REMEDY}") from None
        before, now = facts["facts"], orjson.loads(orjson.dumps(self._facts))
        other = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if other:
            found = f"found a checkpoint of another {' and '.join(other)}; allowed: this deployment's. Remedy: {REMEDY}"
            raise CheckpointError(f"{self._file}: {found}")
        found_state: dict[str, Any] = unpack(facts["state"], arrays)
        return found_state

    def _opened(self, sealed: bytes) -> bytes:
        parts, at, number, last = [], 0, 0, False
        try:
            while not last:
                size, last = int.from_bytes(sealed[at : at + 4], "little"), bool(sealed[at + 4])
                nonce, end = sealed[at + 5 : at + 5 + _NONCE], at + 5 + _NONCE + size
                parts.append(self._key.decrypt(nonce, sealed[at + 5 + _NONCE : end], self._bound(number, last=last)))
                at, number = end, number + 1
        except (InvalidTag, IndexError, ValueError):
            found = "found a checkpoint that this deployment's key does not open; allowed: its own"
            raise CheckpointError(f"{self._file}: {found}. Remedy: {REMEDY}") from None
        return b"".join(parts)

    def _bound(self, number: int, *, last: bool) -> bytes:
        """What each piece is bound to."""
        return hashlib.sha256(b"%s\n%d\n%d" % (self._deployment, number, last)).digest()
