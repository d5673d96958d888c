# SPDX-License-Identifier: Apache-2.0
"""Keyed words look random where contexts are as regular as they can be: counters.

Keys are fixed, so a test here passes always or never; over the choice of a key each would alarm by chance with
probability at most 1e-6.
"""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.randomizers import Key
from murmurate.randomizers.randomness import canonical, contexts

ROUND, OTHER_ROUND = b"\x01" * 32, b"\x01" * 31 + b"\x02"
KEY = Key(bytes(range(100, 132)), deployment="shop")
CHI_SQUARE_255 = 377.1  # its quantile at 1 - 1e-6 with 255 degrees of freedom


def report_words(n: int, *, value: int = 0, round: bytes = ROUND, k: int = 1) -> NDArray[np.uint64]:
    """The words of users 0 to n - 1 who all hold this value: uint64[n, k]."""
    lanes = KEY.draw(contexts(np.arange(n)), round=round).open(b"\x03" * 32, canonical(np.full(n, value)))
    return np.concatenate([words.astype(np.uint64) for _, words in lanes.words(k, np.uint64)])


@pytest.mark.parametrize("k", [1, 16])
def test_bytes_are_uniform(k: int) -> None:
    words = report_words(320_000 // k, k=k)
    counts = np.bincount(np.ascontiguousarray(words).view(np.uint8).ravel(), minlength=256)
    expected = words.size * 8 / 256
    assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE_255


@pytest.mark.parametrize("place", range(8))
def test_each_byte_of_a_word_is_uniform(place: int) -> None:
    words = KEY.words("permutation", contexts(np.arange(100_000)), round=ROUND)
    counts = np.bincount(words.view(np.uint8)[:, place], minlength=256)
    expected = 100_000 / 256
    assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE_255


def signs(words: NDArray[Any]) -> NDArray[np.float64]:
    """The 64 bits of each word as -1 and 1: float64[n, 64]."""
    bits = np.unpackbits(np.ascontiguousarray(words, "<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return 2 * bits.astype(np.float64) - 1


def assert_bits_are_independent(one: NDArray[Any], other: NDArray[Any]) -> None:
    """All 64 x 64 pairs of bits agree half the time: by Hoeffding P(|sum of n signs| > t) <= 2 exp(-t^2 / 2n)."""
    n = len(one)
    limit = math.sqrt(2 * n * math.log(2 * 64 * 64 / 1e-6))
    assert np.abs(signs(one).T @ signs(other)).max() < limit


def test_bits_of_neighbouring_words_of_a_user_are_independent() -> None:
    words = report_words(50_000, k=4)
    for i, j in combinations(range(4), 2):
        assert_bits_are_independent(words[:, i], words[:, j])


def test_bits_of_neighbouring_users_are_independent() -> None:
    words = report_words(50_001)[:, 0]
    assert_bits_are_independent(words[:-1], words[1:])


def test_bits_of_neighbouring_values_rounds_and_purposes_are_independent() -> None:
    zero = report_words(50_000)[:, 0]
    assert_bits_are_independent(zero, report_words(50_000, value=1)[:, 0])
    assert_bits_are_independent(zero, report_words(50_000, round=OTHER_ROUND)[:, 0])
    assert_bits_are_independent(zero, KEY.words("scatter", contexts(np.arange(50_000)), round=ROUND)[:, 0])


def test_every_bit_of_a_word_is_set_half_the_time() -> None:
    sums = signs(report_words(200_000)[:, 0]).sum(axis=0)
    assert np.abs(sums).max() < math.sqrt(2 * 200_000 * math.log(2 * 64 / 1e-6))
