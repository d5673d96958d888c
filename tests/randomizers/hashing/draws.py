"""Draws for tests of local hashing: from a fixed key, and with chosen words."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from murmurate.randomizers import Draw, Key
from murmurate.randomizers.randomness import Lanes, contexts

KEY = Key(hashlib.sha256(b"local hash").digest(), deployment="shop")
ROUND = hashlib.sha256(b"round").digest()
TWO_64 = 2**64


def draw(n: int, part: int = 0) -> Draw:
    return KEY.draw(contexts(np.arange(n), part), round=ROUND)


def chi_square_limit(freedom: int, tests: int = 1) -> float:
    """What a chi-square exceeds with probability below 1e-6 in `tests` tries (Laurent and Massart 2000)."""
    x = math.log(1e6 * tests)
    return freedom + 2 * math.sqrt(freedom * x) + 2 * x


class Chosen(Draw):
    """A draw whose two words a user are given."""

    __slots__ = ("given",)

    def __init__(self, given: np.ndarray) -> None:
        self.given = given

    def __len__(self) -> int:
        return len(self.given)

    def open(self, mechanism: bytes, values: Any) -> Lanes:
        return ChosenLanes(self.given)


class ChosenLanes(Lanes):
    """All of them in one lane."""

    __slots__ = ("given",)

    def __init__(self, given: np.ndarray) -> None:
        self.given = given

    def words(self, k: int, dtype: Any) -> Iterator[tuple[slice, np.ndarray]]:
        assert (k, dtype) == (2, np.uint64)
        yield slice(0, len(self.given)), self.given
