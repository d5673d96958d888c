# SPDX-License-Identifier: Apache-2.0
"""Keyed randomness: the only source of chance that may touch a report.

Contract: words are a pseudorandom function of (secret, deployment, round, mechanism, purpose, user, canonical value):
the same context gives the same words on every machine and Python, and changing any part of it gives unrelated ones.
It fails closed: without a good key and a working cipher nothing is drawn.  Per round, mechanism and purpose

    K   = first 16 bytes of HMAC-SHA256(secret, lp(deployment) lp(round) lp(mechanism) lp(purpose) lp(version))
    MAC = AES_K(AES_K(user) xor value)                  two blocks of CBC-MAC; never leaves this file
    B_i = AES_K(MAC xor i)                              i as 16 little-endian bytes; words are cut from B_0 B_1 ...

with lp(x) = 4 bytes of length, then x; the deployment in UTF-8, version the digit 1, purpose a word: `report`, where
the value is the canonical 16 bytes of the reported one; `view`, `sign`, `branch` or `session` (DRAWN), where a question
draws before its mechanism does and the mechanism is what draws; or a stage's (PURPOSES), where mechanism is empty and
the value zero. A value of several words is them in a row, zero-filled to whole blocks, and each block is chained like
the first; a branch and a session take a zero value. Lengths, indices, values and words are little-endian.  Under one K
every input has one length, for which CBC-MAC is a PRF.  Source: ARCHITECTURE rule 1.  Not here: the cipher (cipher.py),
what a mechanism does with its words.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.cipher import BLOCK, aes, check_known_answer
from murmurate.randomizers.errors import ParameterError, RandomnessError, ValueRefusedError, shown
from murmurate.randomizers.lanes import Bytes, Lanes, NotCopyable, Words, check_width

ALGORITHM = b"1"
DIGEST = 32
SECRET_BYTES = 32

Purpose = Literal["scatter", "permutation", "slot", "split", "noise", "fakes"]
Drawn = Literal["report", "view", "branch", "sign", "session"]
DRAWN: tuple[Drawn, ...] = ("report", "view", "branch", "sign", "session")
"""The purposes of a question's draws: the mechanism's report, a view's choice, the user's branch, a number's sign, the
secret counters of a session.
"""
VALUE_FREE: tuple[Drawn, ...] = ("branch", "session")
"""The purposes that depend on no value."""
PURPOSES: tuple[Purpose, ...] = ("scatter", "permutation", "slot", "split", "noise", "fakes")

LASTING = hashlib.sha256(b"murmurate/rappor/permanent/1").digest()
"""The context in the place of a round for randomness that outlives rounds."""


class Key(NotCopyable):
    """A deployment's secret, from which rounds draw. It shows its fingerprint only, and cannot be copied or pickled.

    >>> key = Key(bytes(range(32)), deployment="shop")
    >>> key
    Key(deployment='shop', fingerprint='6bc040b5907b58f1')
    """

    __slots__ = ("_deployment", "_last", "_secret")

    def __init__(self, secret: bytes, *, deployment: str) -> None:
        if type(secret) not in (bytes, bytearray):
            found = "none" if secret is None else type(secret).__name__
            raise RandomnessError(f"key: found {found}; allowed: {_ALLOWED}")
        if len(secret) < SECRET_BYTES:
            raise RandomnessError(f"key: found {len(secret)} bytes; allowed: {_ALLOWED}")
        if len(set(secret)) < 8:
            raise RandomnessError(f"key: found {len(set(secret))} different bytes; allowed: {_ALLOWED}")
        if not isinstance(deployment, str) or not deployment or not _writable(deployment):
            raise RandomnessError("key: found no deployment name; allowed: the name that prefixes the topics")
        self._secret = bytes(secret)
        self._deployment = deployment
        self._last: tuple[tuple[bytes, ...], bytes] = ((), b"")
        check_known_answer()

    @property
    def deployment(self) -> str:
        """The name of the deployment that the key belongs to."""
        return self._deployment

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that distinguish keys and reveal nothing about them."""
        return hmac.digest(self._secret, b"murmurate fingerprint", "sha256")[:8].hex()

    def draw(self, users: Bytes, *, round: bytes) -> Draw:
        """The randomness of a round for these users (uint8[n, 16] pseudonyms). Only a mechanism opens it, with its
        values.
        """
        return Draw(self, _rows(users, "users"), checked_digest(round, "round"))

    def draw_one(self, user: bytes, *, round: bytes) -> DrawOne:
        """Give what `draw` gives, for a single user in plain Python: an embedded Device uses it."""
        if not isinstance(user, bytes) or len(user) != BLOCK:
            found = f"a pseudonym of {len(user)} bytes" if isinstance(user, bytes) else type(user).__name__
            raise ValueRefusedError(f"user: found {found}; allowed: {BLOCK}")
        return DrawOne(self, user, checked_digest(round, "round"))

    def words(
        self,
        purpose: Purpose,
        contexts: Bytes,
        *,
        round: bytes,
        k: int = 1,
        dtype: type[np.unsignedinteger[Any]] = np.uint64,
    ) -> Words:
        """Words for a stage: dtype[n, k], from uint8[n, 16] contexts, independent of every report's and every other
        purpose's.
        """
        if purpose not in PURPOSES:
            raise ParameterError(f"purpose: found {purpose!r}; allowed: {', '.join(PURPOSES)}")
        lanes = Lanes(self._derive(checked_digest(round, "round"), b"", purpose), _rows(contexts, "contexts"), None)
        check_width(k, dtype)
        out = np.empty((len(contexts), k), dtype)
        for rows, words in lanes.words(k, dtype):
            out[rows] = words
        return out

    def _derive(self, round: bytes, mechanism: bytes, purpose: str) -> bytes:
        context = (round, mechanism, purpose.encode())
        last = self._last  # looked at once: another thread may derive another key meanwhile
        if last[0] != context:
            parts = (self._deployment.encode(), *context, ALGORITHM)
            message = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
            self._last = last = context, hmac.digest(self._secret, message, "sha256")[:BLOCK]
        return last[1]

    def __repr__(self) -> str:
        return f"Key(deployment={self.deployment!r}, fingerprint={self.fingerprint!r})"


_ALLOWED = f"at least {SECRET_BYTES} random bytes, as `secrets.token_bytes({SECRET_BYTES})` makes them"


class Draw(NotCopyable):
    """The randomness of n users in one round. Nothing is drawn until a mechanism opens it with its values."""

    __slots__ = ("_key", "_round", "_users")

    def __init__(self, key: Key, users: Bytes, round: bytes) -> None:
        self._key, self._users, self._round = key, users, round

    def __len__(self) -> int:
        return len(self._users)

    @property
    def round(self) -> bytes:
        """The digest of its round."""
        return self._round

    def open(self, mechanism: bytes, values: Bytes | None, purpose: Drawn = "report") -> Lanes:
        """The words of this draw for these canonical values (uint8[n, 16 blocks]), for questions; None for a purpose
        that does not depend on the value.
        """
        if values is not None or purpose not in VALUE_FREE:
            values = _blocks(values)
            if len(values) != len(self):
                raise ValueRefusedError(f"values: found {len(values)} for {len(self)} users; allowed: one for each")
        key = self._key._derive(self._round, checked_digest(mechanism, "mechanism"), _drawn(purpose))
        return Lanes(key, self._users, values)

    def of(self, rows: NDArray[np.integer[Any]] | slice) -> Draw:
        """The randomness of these users alone, in this order."""
        return Draw(self._key, self._users[rows], self._round)

    def lasting(self) -> Draw:
        """The randomness of the same users that belongs to no round: for memoised mechanisms (ARCHITECTURE rule 11)."""
        return Draw(self._key, self._users, LASTING)


class DrawOne(NotCopyable):
    """The randomness of one user in one round, in plain Python."""

    __slots__ = ("_key", "_round", "_user")

    def __init__(self, key: Key, user: bytes, round: bytes) -> None:
        self._key, self._user, self._round = key, user, round

    @property
    def round(self) -> bytes:
        """The digest of its round."""
        return self._round

    def open(self, mechanism: bytes, value: bytes | None, purpose: Drawn = "report") -> Callable[[int, int], list[int]]:
        """A function (k, bits) that gives this user's first k words of that width, for questions."""
        value = bytes(BLOCK) if value is None and purpose in VALUE_FREE else value
        if not value or len(value) % BLOCK:
            found = f"{len(value)} canonical bytes" if value is not None else "none"
            raise ValueRefusedError(f"value: found {found}; allowed: {BLOCK}, or more whole blocks")
        encrypt = aes(self._key._derive(self._round, checked_digest(mechanism, "mechanism"), _drawn(purpose)))
        mac = int.from_bytes(encrypt(self._user), "little")
        for start in range(0, len(value), BLOCK):
            block = int.from_bytes(value[start : start + BLOCK], "little")
            mac = int.from_bytes(encrypt((mac ^ block).to_bytes(BLOCK, "little")), "little")

        def words(k: int, bits: int) -> list[int]:
            size = bits // 8
            blocks = -(-k * size // BLOCK)
            data = encrypt(b"".join((mac ^ i).to_bytes(BLOCK, "little") for i in range(blocks)))
            return [int.from_bytes(data[j * size : (j + 1) * size], "little") for j in range(k)]

        return words

    def lasting(self) -> DrawOne:
        """The randomness of the same user that belongs to no round."""
        return DrawOne(self._key, self._user, LASTING)


def canonical(values: NDArray[np.integer[Any]]) -> Bytes:
    """The canonical 16 bytes of whole-number values, little-endian in two's complement: uint8[n, 16]."""
    out = np.empty((len(values), 2), "<i8")
    out[:, 0] = values
    np.right_shift(out[:, 0], 63, out=out[:, 1])
    return out.view(np.uint8)


def canonical_one(value: int) -> bytes:
    """The canonical 16 bytes of one value."""
    return value.to_bytes(BLOCK, "little", signed=True)


def canonical_words(rows: NDArray[np.uint32]) -> Bytes:
    """The canonical bytes of values of several words, little-endian and zero-filled to whole blocks: uint8[n, 16
    blocks].
    """
    n, words = rows.shape
    out = np.zeros((n, -(-words // 4) * 4), "<u4")
    out[:, :words] = rows
    return out.view(np.uint8)


def canonical_words_one(words: Sequence[int]) -> bytes:
    """The canonical bytes of one value of several words."""
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return data + bytes(-len(data) % BLOCK)


def contexts(index: NDArray[np.integer[Any]], part: int = 0) -> Bytes:
    """Contexts for a stage that draws by position: row index and part (a partition, say). uint8[n, 16]."""
    out = np.empty((len(index), 2), "<u8")
    out[:, 0], out[:, 1] = index, part
    return out.view(np.uint8)


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _rows(array: Bytes, what: str) -> Bytes:
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != BLOCK:
        found = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueRefusedError(f"{what}: found {found}; allowed: uint8[n, {BLOCK}]")
    return np.ascontiguousarray(array)


def _blocks(array: Bytes | None) -> Bytes:
    if (
        not isinstance(array, np.ndarray)
        or array.dtype != np.uint8
        or array.ndim != 2
        or not array.shape[1]
        or array.shape[1] % BLOCK
    ):
        found = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueRefusedError(f"values: found {found}; allowed: uint8[n, {BLOCK}], or more whole blocks")
    return np.ascontiguousarray(array)


def _drawn(purpose: Drawn) -> Drawn:
    if purpose not in DRAWN:
        raise ParameterError(f"purpose: found {shown(purpose)}; allowed: {', '.join(DRAWN)}")
    return purpose


def checked_digest(digest: bytes, what: str) -> bytes:
    """The digest, if it has the length of one."""
    if not isinstance(digest, bytes) or len(digest) != DIGEST:
        found = f"{len(digest)} bytes" if isinstance(digest, bytes) else type(digest).__name__
        raise ParameterError(f"{what}: found {found}; allowed: a digest of {DIGEST} bytes")
    return digest
