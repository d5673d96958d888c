# SPDX-License-Identifier: Apache-2.0
"""Opened randomness: words by the lane, from a derived key, users and values.

Contract: MAC and words as defined in randomness.py; the same words whatever the size of a lane.  A key never leaves.
Not here: which key belongs to what (randomness.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.cipher import BLOCK, aes_into
from murmurate.randomizers.errors import ParameterError, RandomnessError, shown

LANE_BYTES = 1 << 20  # of words at a time, and
LANE_ROWS = 1 << 14  # contexts whose MACs are made at a time: all of these stay in a core's second-level cache

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
        at_once = max(1, min(LANE_ROWS, len(self._users)))
        step = max(1, min(at_once, LANE_BYTES // (BLOCK * blocks)))
        encrypt = aes_into(self._key)
        mac, scratch = (
            np.empty((at_once + 1, 2), "<u8") for _ in range(2)
        )  # one block more: the cipher asks for the room
        counter = np.empty((step, blocks, 2), "<u8")
        stream = np.empty((step * blocks + 1, 2), "<u8")
        index = np.arange(blocks, dtype="<u8")
        for first in range(0, len(self._users), at_once):
            rows = slice(first, min(first + at_once, len(self._users)))
            self._mac(rows, encrypt, mac, scratch)
            for start in range(rows.start, rows.stop, step):
                own = mac[start - first : min(start + step, rows.stop) - first]
                m = len(own)
                if blocks == 1:
                    encrypt(own, stream)
                else:
                    np.bitwise_xor(own[:, None, 0], index, out=counter[:m, :, 0])
                    counter[:m, :, 1] = own[:, None, 1]
                    encrypt(counter[:m], stream)
                yield (
                    slice(start, start + m),
                    stream[: m * blocks].view(np.dtype(dtype).newbyteorder("<")).reshape(m, -1)[:, :k],
                )

    def _mac(
        self,
        rows: slice,
        encrypt: Callable[[NDArray[Any], NDArray[Any]], None],
        mac: NDArray[np.uint64],
        scratch: NDArray[np.uint64],
    ) -> None:
        """Write the MACs of these contexts into the first rows of `mac`: many at once, since each block is one turn."""
        m = rows.stop - rows.start
        encrypt(self._users[rows], scratch)
        if self._values is not None:
            values = self._values[rows].view("<u8")
            for block in range(0, values.shape[1] - 2, 2):  # of more than one block, all but the last
                np.bitwise_xor(scratch[:m], values[:, block : block + 2], out=mac[:m])
                encrypt(mac[:m], scratch)
            np.bitwise_xor(scratch[:m], values[:, -2:], out=scratch[:m])
        encrypt(scratch[:m], mac)


def check_width(k: int, dtype: type[np.unsignedinteger[Any]]) -> None:
    """Refuse what is no number of words or no word."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"words: found {shown(k)} a context; allowed: at least 1")
    if np.dtype(dtype).kind != "u":
        raise ParameterError(f"words: found {np.dtype(dtype)}; allowed: an unsigned type")
