# SPDX-License-Identifier: Apache-2.0
"""Draws whose words are given: for looking at what single words do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from murmurate.randomizers import Draw
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.randomness import DIGEST, Drawn


class Chosen(Draw):
    """One row of words a user, in the round of zeros. `dtype`: the only one that may be asked for, if there is one."""

    __slots__ = ("dtype", "given")

    def __init__(self, given: np.ndarray, dtype: Any = None) -> None:
        self.given, self.dtype = given, dtype
        self._round = bytes(DIGEST)

    def __len__(self) -> int:
        return len(self.given)

    def open(self, mechanism: bytes, values: Any, purpose: Drawn = "report") -> Lanes:
        return ChosenLanes(self.given, self.dtype)


class ChosenLanes(Lanes):
    """All of them in one lane."""

    __slots__ = ("dtype", "given")

    def __init__(self, given: np.ndarray, dtype: Any) -> None:
        self.given, self.dtype = given, dtype

    def words(self, k: int, dtype: Any) -> Iterator[tuple[slice, np.ndarray]]:
        assert self.given.shape[1] == k
        assert self.dtype in (None, dtype)
        yield slice(0, len(self.given)), self.given.astype(dtype)
