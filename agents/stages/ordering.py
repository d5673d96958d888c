"""Keyed permutations: order without chance, by sorting 128-bit words of the keyed randomness."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key


def permutation(key: Key, contexts: NDArray[np.uint8], *, round: bytes) -> NDArray[np.int64]:
    """A permutation of n contexts (uint8[n, 16]): int64[n]. Nobody without the key can tell it from a uniform one."""
    words = key.words("permutation", contexts, round=round, k=2)
    order = np.argsort(words[:, 0])
    sorted_words = words[order, 0]
    if (sorted_words[1:] == sorted_words[:-1]).any():  # two of 2^64: the second half of the word decides
        order = np.lexsort((words[:, 1], words[:, 0]))
    return order


def by_target(targets: NDArray[Any], of: int) -> list[NDArray[np.int64]]:
    """For each of `of` targets the positions that go there, in their order."""
    order = np.argsort(targets.astype(np.uint16), kind="stable")
    return np.split(order, np.searchsorted(targets[order], np.arange(1, of)))
