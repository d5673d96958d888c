# SPDX-License-Identifier: Apache-2.0
"""Memory that nothing uses any more, given back to the machine.

Contract: changes nothing that a program sees.  A C allocator keeps freed memory for later; where it lies between what
is still in use it keeps it for good, unless it is told to look.  Partitions that move take and free many megabytes, so
without this a worker would grow with each move.  Only glibc has to be told, and can be; elsewhere nothing happens.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from functools import cache
from typing import Final

EVERY_S: Final = 30.0
"""How often a worker gives back what it does not use. It takes a few milliseconds."""


def give_back() -> bool:
    """Give freed memory back. Whether the allocator can be told to."""
    trim = _trim()
    if trim is not None:
        trim(0)
    return trim is not None


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another allocator, or a system without a table of its own names
        return None
    return found


async def keep_small() -> None:
    """Give it back from time to time, until cancelled."""
    while True:
        await asyncio.sleep(EVERY_S)
        give_back()
