# SPDX-License-Identifier: Apache-2.0
"""Draws for tests of local hashing: from a fixed key, and with chosen words."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from murmurate.randomizers import Draw, Key
from murmurate.randomizers.randomness import contexts
from tests.randomizers.chosen import Chosen

KEY = Key(hashlib.sha256(b"local hash").digest(), deployment="shop")
ROUND = hashlib.sha256(b"round").digest()
TWO_64 = 2**64


def draw(n: int, part: int = 0) -> Draw:
    return KEY.draw(contexts(np.arange(n), part), round=ROUND)


def chi_square_limit(freedom: int, tests: int = 1) -> float:
    """What a chi-square exceeds with probability below 1e-6 in `tests` tries (Laurent and Massart 2000)."""
    x = math.log(1e6 * tests)
    return freedom + 2 * math.sqrt(freedom * x) + 2 * x


def chosen(given: np.ndarray) -> Chosen:
    """A draw whose two words of 64 bits a user are given."""
    assert given.shape[1] == 2
    return Chosen(given, np.uint64)
