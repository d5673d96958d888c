# SPDX-License-Identifier: Apache-2.0
"""Keyed central noise: the same key, digest and place always give the same noise.

Contract: noise is a function of (key, digest, cell, level, index) and of nothing else, whatever is asked for at a
time, so that a stage that dies and starts anew adds the same noise to the same sum (ARCHITECTURE rule 27).  The digest
is of all that shapes the sums: stream, absolute time, clipping, tree, gamma.  Words are `Key.words("noise", ...)` for

    context = index (64 bits), then trial (16 bits), level (16), cell (32)        all little-endian

The rate of a node's noise is epsilon / (levels times sensitivity), not as printed (ARCHITECTURE erratum E14).
Not here: the law (discrete_laplace.py), what the noise is added to.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.central.discrete_laplace import DiscreteLaplace
from murmurate.randomizers.errors import ParameterError, RandomnessError, shown
from murmurate.randomizers.randomness import Key, checked_digest, contexts

_TRIALS = 1 << 16


class NoiseOfNodes(Protocol):
    """Whatever has whole-number noise for every node of a tree: keyed noise, or given numbers in a test."""

    def of(self, level: int, first: int, count: int) -> NDArray[np.int64]:
        """Noise of the nodes first..first+count-1 of a level (1 = leaves)."""
        ...


class NodeNoise:
    """Discrete Laplace noise of the nodes of one tree and one of its cells (a category, say).

    >>> noise = NodeNoise(Key(bytes(range(32)), deployment="shop"), bytes(32), Fraction(1, 2))
    >>> noise.of(1, 4, 3).tolist() == noise.of(1, 0, 9)[4:7].tolist()
    True
    """

    __slots__ = ("_cell", "_digest", "_key", "law")

    def __init__(self, key: Key, digest: bytes, gamma: Fraction | int | DiscreteLaplace, cell: int = 0) -> None:
        if isinstance(cell, bool) or not isinstance(cell, int) or not 0 <= cell < 1 << 32:
            raise ParameterError(f"cell: found {shown(cell)}; allowed: a whole number below 2^32")
        self.law = gamma if isinstance(gamma, DiscreteLaplace) else law_of(gamma)
        self._key, self._digest, self._cell = key, checked_digest(digest, "digest"), cell

    def of(self, level: int, first: int, count: int) -> NDArray[np.int64]:
        """Noise of the nodes first..first+count-1 of a level (1 = leaves): int64[count]."""
        if not 0 < level < 1 << 16 or first < 0 or count < 0:
            raise ParameterError(
                f"nodes: found {count} of level {level} from {first}; allowed: from 0, level 1 to 65535"
            )
        place = self._cell << 16 | level
        return keyed_noise(self.law, self._key, np.arange(first, first + count), digest=self._digest, place=place)

    @property
    def gamma(self) -> Fraction:
        """The rate of the noise: a change of the node by one step is worth e^gamma."""
        return self.law.gamma

    @property
    def variance(self) -> float:
        """The variance of one node's noise."""
        return float(self.law.variance)

    def __repr__(self) -> str:
        return f"NodeNoise(gamma={self.gamma}, cell={self._cell})"


@lru_cache(maxsize=64, typed=True)
def law_of(gamma: Fraction | int) -> DiscreteLaplace:
    """The law of this rate: its tables are made once and shared by all trees and cells that use it."""
    return DiscreteLaplace(gamma)


def keyed_noise(
    law: DiscreteLaplace, key: Key, index: NDArray[np.int64], *, digest: bytes, place: int = 0
) -> NDArray[np.int64]:
    """One value of the law for each index (int64[n], not below 0), for a place below 2^48 that tells its uses apart."""
    if not 0 <= place < 1 << 48:
        raise ParameterError(f"place: found {shown(place)}; allowed: a whole number below 2^48")

    def further(rows: NDArray[np.int64], trial: int) -> NDArray[np.uint64]:
        if trial >= _TRIALS:  # e^-655350
            raise RandomnessError(f"noise: found {trial} words for one value; allowed: fewer")
        return _words(key, index[rows], place << 16 | trial, digest, 1)[:, 0]

    return law.noise(_words(key, index, place << 16, digest, law.words), further)


def _words(key: Key, index: NDArray[np.int64], part: int, digest: bytes, k: int) -> NDArray[np.uint64]:
    return key.words("noise", contexts(index, part), round=digest, k=k).view(np.uint64)
