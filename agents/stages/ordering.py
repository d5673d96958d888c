"""Keyed permutations: order without chance, by sorting 128-bit words of the keyed randomness."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key


def permutation(key: Key, contexts: NDArray[np.uint8], *, round: bytes) -> NDArray[np.int64]:
    """A permutation of n contexts (uint8[n, 16]): int64[n]. Nobody without the key can tell it from a uniform one."""
    return by_words(key.words("permutation", contexts, round=round, k=2))


def by_words(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The order of n 128-bit words, uint64[n, 2]: np.lexsort((words[:, 1], words[:, 0])), and three times as fast.

    1. By the upper 32 bits, in two stable passes over 16: those are numpy's radix sort. 2. The few that share them, by
    all 128.
    """
    upper = words[:, 0] >> np.uint64(32)
    order = np.argsort(upper.astype(np.uint16), kind="stable")
    order = order[np.argsort((upper >> np.uint64(16)).astype(np.uint16)[order], kind="stable")]
    in_order = upper[order]
    same = in_order[1:] == in_order[:-1]
    if same.any():
        tied = np.zeros(len(order), np.bool_)
        tied[1:] |= same
        tied[:-1] |= same
        rows = order[tied]
        order[tied] = rows[np.lexsort((words[rows, 1], words[rows, 0]))]
    return order


def by_target(targets: NDArray[Any], of: int) -> list[NDArray[np.int64]]:
    """For each of `of` targets the positions that go there, in their order."""
    order = np.argsort(targets.astype(np.uint16), kind="stable")
    return np.split(order, np.searchsorted(targets[order], np.arange(1, of)))
