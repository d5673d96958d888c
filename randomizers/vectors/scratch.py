# SPDX-License-Identifier: Apache-2.0
"""Arrays that one lane after the other uses again.

Contract: `array` gives room of a shape under a name, with whatever it held before; the next call with that name takes
it back.  A fresh array of more than 128 KiB costs a page fault every 4 KiB, which for a lane's arrays took longer than
what was computed in them.  Not here: arrays that are handed out.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Scratch:
    """Named room for arrays; not to be shared between threads."""

    def __init__(self) -> None:
        self._room: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array of this shape and type, with arbitrary content."""
        size = prod(shape) * np.dtype(dtype).itemsize
        room = self._room.get(name)
        if room is None or len(room) < size:
            room = self._room[name] = np.empty(size, np.uint8)
        return np.asarray(room[:size].view(dtype).reshape(shape))
