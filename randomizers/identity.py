# SPDX-License-Identifier: Apache-2.0
"""Pseudonyms of users, and the partition, stream and slot that follow from a pseudonym and a key.

Contract: a pseudonym is the first 16 bytes of HMAC-SHA256(pepper, lp(deployment) user), lp(x) = 4 little-endian bytes
of length, then x; its first 8 bytes as a little-endian integer, mod P, are its raw partition.  Slot and stream come
from keys of their own, independent of the pepper and of the partition, and never change while the frozen facts stand.
The slots of one user in two streams are independent: where all are asked, answering one reveals nothing of the other.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.cipher import BLOCK
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.lanes import Bytes, Lanes
from murmurate.randomizers.randomness import DIGEST, Key, canonical
from murmurate.randomizers.thresholds import MICRO

_NO_ROUND = bytes(DIGEST)
SLOTS = 2
"""The version of the way in which slots are drawn, a frozen fact. Under 1 a user had the same slot in all streams of as
many slots.
"""
ITEMS = hashlib.sha256(b"murmurate items 1").digest()
"""The context, in the place of a round, of the keys that rank items. It is not UTF-8, so that no user's name can equal
it.
"""
NO_STREAM = -1
MOST_KNOWN = 1 << 16
"""The number of users whose pseudonyms a door caches: some 13 MB."""


class Pepper:
    """The secret that turns a user's name into a pseudonym. It shows its fingerprint only."""

    __slots__ = ("_key", "_prefix", "_secret")

    def __init__(self, secret: bytes, *, deployment: str) -> None:
        self._key = Key(secret, deployment=deployment)  # the same demands on a secret, and the same silence about it
        self._secret = bytes(secret)
        name = deployment.encode()
        self._prefix = len(name).to_bytes(4, "little") + name

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that tell peppers apart."""
        return self._key.fingerprint

    def pseudonym(self, user: bytes) -> bytes:
        """The 16 bytes that stand for this user everywhere behind the door."""
        return hmac.digest(self._secret, self._prefix + user, "sha256")[:BLOCK]

    def pseudonyms(self, users: Iterable[bytes]) -> Bytes:
        """uint8[n, 16] for n users."""
        digest, secret, prefix = hmac.digest, self._secret, self._prefix
        return np.frombuffer(
            b"".join([digest(secret, prefix + user, "sha256")[:BLOCK] for user in users]), np.uint8
        ).reshape(-1, BLOCK)

    def ranks(self, users: Bytes, items: NDArray[np.int64]) -> NDArray[np.uint64]:
        """A keyed number for each of these users (uint8[n, 16] pseudonyms) and items, the same in every period: of a
        list with too many items those with the smallest numbers are kept. uint64[n].
        """
        found = np.empty(len(users), np.uint64)
        key = self._key._derive(ITEMS, b"", "items")
        for rows, words in Lanes(key, np.ascontiguousarray(users), canonical(items)).words(1, np.uint64):
            found[rows] = words[:, 0]
        return found

    def __repr__(self) -> str:
        return f"Pepper(fingerprint={self.fingerprint!r})"


class PseudonymCache(dict[bytes, bytes]):
    """A cache of the pseudonyms of recent users, for sources in which users recur.

    >>> PseudonymCache(Pepper(bytes(range(32)), deployment="shop")).pseudonyms([b"u-1", b"u-1"]).shape
    (2, 16)
    """

    __slots__ = ("_pepper",)

    def __init__(self, pepper: Pepper) -> None:
        super().__init__()
        self._pepper = pepper

    def __missing__(self, user: bytes) -> bytes:
        if len(self) >= MOST_KNOWN:
            self.clear()
        found = self[user] = self._pepper.pseudonym(user)
        return found

    def pseudonyms(self, users: Iterable[bytes]) -> Bytes:
        """uint8[n, 16] for n users."""
        return np.frombuffer(b"".join(map(self.__getitem__, users)), np.uint8).reshape(-1, BLOCK)

    def __repr__(self) -> str:
        return f"PseudonymCache({self._pepper!r})"


def partitions(users: Bytes, of: int) -> NDArray[np.int64]:
    """The raw partition of each pseudonym, out of `of`: int64[n]."""
    first = np.ascontiguousarray(users[:, :8]).view("<u8").reshape(-1)
    return (first % np.uint64(of)).astype(np.int64)


def slots(key: Key, users: Bytes, of: int, stream: str) -> NDArray[np.uint16]:
    """The slot of each pseudonym in a stream, out of `of`, by the slot key: uint16[n]."""
    words = key.words("slot", users, round=slot_context(stream))[:, 0]
    return (words % np.uint64(of)).astype(np.uint16)


def slot_context(stream: str) -> bytes:
    """The context, in the place of a round, in which slots are drawn: SHA-256 of "murmurate slots 2", a line feed, the
    name.
    """
    return hashlib.sha256(f"murmurate slots {SLOTS}\n{stream}".encode()).digest()


def streams(key: Key, users: Bytes, shares_micro: Sequence[int]) -> NDArray[np.int64]:
    """The stream that each pseudonym serves by the split key, as an index into the shares, or NO_STREAM: int64[n]."""
    if not all(share > 0 for share in shares_micro) or sum(shares_micro) > MICRO:
        raise ParameterError(
            f"shares: found {sum(shares_micro)} millionths together; allowed: each above 0, at most {MICRO}"
        )
    words = key.words("split", users, round=_NO_ROUND)[:, 0] % np.uint64(MICRO)
    index = np.searchsorted(np.cumsum(shares_micro), words.astype(np.int64), side="right")
    return np.where(index < len(shares_micro), index, NO_STREAM)
