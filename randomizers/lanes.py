"""Opened randomness: words by the lane, from a derived key, users and values.

Contract: MAC and words as defined in randomness.py; the same words whatever the size of a lane.  A key never leaves.
Not here: which key belongs to what (randomness.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.cipher import BLOCK, aes_into
from murmurate.randomizers.errors import ParameterError, RandomnessError, shown

LANE_BYTES = 1 << 20  # of words at a time, and
LANE_ROWS = 1 << 14  # contexts: with its inputs a lane stays in a core's second-level cache

Bytes = NDArray[np.uint8]
Words = NDArray[np.unsignedinteger[Any]]


class NotCopyable:
    """What holds key material: it cannot be copied or pickled."""

    __slots__ = ()

    def __reduce__(self) -> Never:
        raise RandomnessError(
            f"a {type(self).__name__} holds a key and cannot be copied or pickled: make it where it is needed"
        )


class Lanes(NotCopyable):
    """Opened randomness, handed out a cache-sized lane at a time, so that no caller ever holds n x k words."""

    __slots__ = ("_key", "_users", "_values")

    def __init__(self, key: bytes, users: Bytes, values: Bytes | None) -> None:
        self._key, self._users, self._values = key, users, values

    def words(self, k: int, dtype: type[np.unsignedinteger[Any]]) -> Iterator[tuple[slice, Words]]:
        """Yield (rows, words) with words of shape (rows, k). They are overwritten by the next lane."""
        check_width(k, dtype)
        itemsize = np.dtype(dtype).itemsize
        blocks = -(-k * itemsize // BLOCK)
        step = max(1, min(LANE_ROWS, LANE_BYTES // (BLOCK * blocks), len(self._users)))
        encrypt = aes_into(self._key)
        mac, scratch = (
            np.empty((step + 1, 2), "<u8") for _ in range(2)
        )  # one block more: the cipher asks for the room
        counter = np.empty((step, blocks, 2), "<u8")
        stream = np.empty((step * blocks + 1, 2), "<u8")
        index = np.arange(blocks, dtype="<u8")
        for start in range(0, len(self._users), step):
            users = self._users[start : start + step]
            m = len(users)
            encrypt(users, scratch)
            if self._values is not None:
                values = self._values[start : start + m].view("<u8")
                for block in range(0, values.shape[1] - 2, 2):  # of more than one block, all but the last
                    np.bitwise_xor(scratch[:m], values[:, block : block + 2], out=mac[:m])
                    encrypt(mac[:m], scratch)
                np.bitwise_xor(scratch[:m], values[:, -2:], out=scratch[:m])
            encrypt(scratch[:m], mac)
            if blocks == 1:
                encrypt(mac[:m], stream)
            else:
                np.bitwise_xor(mac[:m, None, 0], index, out=counter[:m, :, 0])
                counter[:m, :, 1] = mac[:m, None, 1]
                encrypt(counter[:m], stream)
            yield (
                slice(start, start + m),
                stream[: m * blocks].view(np.dtype(dtype).newbyteorder("<")).reshape(m, -1)[:, :k],
            )


def check_width(k: int, dtype: type[np.unsignedinteger[Any]]) -> None:
    """Refuse what is no number of words or no word."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"words: found {shown(k)} a context; allowed: at least 1")
    if np.dtype(dtype).kind != "u":
        raise ParameterError(f"words: found {np.dtype(dtype)}; allowed: an unsigned type")
