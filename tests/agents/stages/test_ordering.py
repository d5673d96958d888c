# SPDX-License-Identifier: Apache-2.0
"""Permutations are permutations, uniform to whoever has no key; targets keep the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.agents.stages.ordering import CHUNK, by_target, by_words, in_order, permutation, permutation_of_rows
from murmurate.randomizers import Key
from murmurate.randomizers.randomness import contexts
from tests.agents.world import key

ROUND = bytes(range(32))


@given(n=st.integers(0, 3000), part=st.integers(0, 9))
def test_a_permutation_moves_everybody_somewhere_and_nobody_twice(n: int, part: int) -> None:
    order = permutation_of_rows(key("shuffle"), n, part, round=ROUND)
    assert sorted(order.tolist()) == list(range(n))
    again = permutation_of_rows(key("shuffle"), n, part, round=ROUND)
    assert (order == again).all()


@pytest.mark.parametrize("change", ["key", "round", "part"])
def test_another_key_round_or_target_gives_another_permutation(change: str) -> None:
    usual = permutation_of_rows(key("shuffle"), 500, 0, round=ROUND)
    other = permutation_of_rows(
        key("other" if change == "key" else "shuffle"),
        500,
        int(change == "part"),
        round=bytes(32) if change == "round" else ROUND,
    )
    assert (usual == other).sum() < 20  # matches of two permutations: Poisson(1); 20 or more has chance 4e-19


def test_where_two_first_words_are_the_same_the_second_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.array([[5, 1], [3, 9], [5, 0], [3, 2]], np.uint64)

    def same(self: Key, purpose: str, contexts: np.ndarray, **options: Any) -> np.ndarray:
        assert (purpose, options["k"]) == ("permutation", 2)
        return words[contexts.view(np.uint64)[:, 0].astype(np.int64)]

    monkeypatch.setattr(Key, "words", same)
    assert permutation_of_rows(key("shuffle"), 4, 0, round=ROUND).tolist() == [3, 1, 2, 0]


def test_users_are_permuted_by_who_they_are_and_not_by_where_they_stand() -> None:
    users = np.random.default_rng(1).integers(0, 256, (300, 16), np.uint8)
    moved = np.random.default_rng(2).permutation(300)
    first = users[permutation(key("edge"), users, round=ROUND)]
    assert (users[moved][permutation(key("edge"), users[moved], round=ROUND)] == first).all()


def test_a_permutation_of_more_rows_than_are_drawn_at_once_is_the_order_of_all_words() -> None:
    count = 2 * CHUNK + 17
    words = key("shuffle").words("permutation", contexts(np.arange(count), 3), round=ROUND, k=2)
    order = permutation_of_rows(key("shuffle"), count, 3, round=ROUND)
    assert (order == np.lexsort((words[:, 1], words[:, 0]))).all()


@given(
    st.lists(st.tuples(*[st.sampled_from([0, 1, 1 << 31, 1 << 32, 1 << 48, 1 << 63, (1 << 64) - 1])] * 2), max_size=50)
)
def test_words_are_ordered_by_all_their_bits(words: list[tuple[int, int]]) -> None:
    array = np.array(words, np.uint64).reshape(-1, 2)
    assert by_words(len(array), array.__getitem__).tolist() == sorted(range(len(words)), key=lambda i: words[i])


@given(n=st.integers(0, 20_000), spread=st.sampled_from([64, 60, 40, 8, 1]), seed=st.integers(0, 1 << 30))
def test_numbers_are_sorted_however_they_are_spread(n: int, spread: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).integers(0, 1 << spread, n, np.uint64, endpoint=False)
    numbers[: n // 100] = np.iinfo(np.uint64).max
    assert (in_order(numbers.copy()) == np.sort(numbers)).all()


@given(targets=st.lists(st.integers(0, 6), max_size=200), of=st.integers(7, 9))
def test_every_position_goes_to_its_target_in_its_order(targets: list[int], of: int) -> None:
    split = by_target(np.array(targets, np.uint64), of)
    assert [part.tolist() for part in split] == [[i for i, t in enumerate(targets) if t == q] for q in range(of)]


def test_the_last_of_the_most_targets_there_can_be_gets_its_own() -> None:
    split = by_target(np.array([65535, 0, 65535], np.int64), 1 << 16)
    assert len(split) == 1 << 16
    assert split[65535].tolist() == [0, 2]
    assert split[0].tolist() == [1]
