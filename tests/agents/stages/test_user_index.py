# SPDX-License-Identifier: Apache-2.0
"""The roll finds everybody, whoever else is there."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.stages.user_index import UNKNOWN, UserIndex

HALF = st.one_of(
    st.integers(0, 3), st.sampled_from([1 << 12, 1 << 32, (1 << 64) - 1, (1 << 64) - 2, 4095, 4096]), st.integers(0, 40)
)
PERSON = st.tuples(HALF, HALF)


def bytes_of(people: list[tuple[int, int]]) -> np.ndarray:
    return np.array(people, "<u8").reshape(-1, 2).view(np.uint8)


@settings(max_examples=300, deadline=None)
@given(batches=st.lists(st.lists(PERSON, max_size=30), max_size=8))
def test_a_roll_gives_the_rows_that_a_dict_gives_in_order_of_appearance(batches: list[list[tuple[int, int]]]) -> None:
    roll, model = UserIndex(), dict[tuple[int, int], int]()
    for people in batches:
        found = roll.find(bytes_of(people))
        assert found.tolist() == [model.get(person, UNKNOWN) for person in people]
        new = [person for person in people if person not in model]
        for person in new:
            model.setdefault(person, len(model))
        assert roll.add(bytes_of(new)).tolist() == [model[person] for person in new]
        assert len(roll) == len(model)
    everybody = list(model)
    assert roll.find(bytes_of(everybody)).tolist() == list(range(len(model)))
    assert roll.users.tobytes() == bytes_of(everybody).tobytes()
    assert roll.since(len(model) // 2).tobytes() == bytes_of(everybody[len(model) // 2 :]).tobytes()


def test_people_whose_second_halves_are_the_same_are_told_apart() -> None:
    roll, people = UserIndex(), bytes_of([(first, 7) for first in range(1000)])
    assert roll.add(people).tolist() == list(range(1000))
    assert roll.find(people[::-1]).tolist() == list(range(1000))[::-1]
    assert roll.find(bytes_of([(1000, 7), (0, 8)])).tolist() == [UNKNOWN, UNKNOWN]


def test_people_who_collide_at_the_end_of_the_table_are_found_at_its_beginning() -> None:
    people = bytes_of([(i, 4095 + (i << 12)) for i in range(50)] + [(i, i << 12) for i in range(50)])
    roll = UserIndex()
    for at in range(0, 100, 7):
        roll.add(people[at : at + 7])
    assert roll.find(people).tolist() == list(range(100))


def test_a_roll_grows_through_several_tables_and_forgets_nobody() -> None:
    rng = np.random.default_rng(3)
    people = rng.integers(0, 256, (50_000, 16), np.uint8)
    people[:, 8] &= 0xFC  # collisions: only each fourth place of the table is anybody's first
    roll = UserIndex()
    for at in range(0, len(people), 777):
        assert (roll.find(people[at : at + 777]) == UNKNOWN).all()
        roll.add(people[at : at + 777])
    order = rng.permutation(len(people))
    assert (roll.find(people[order]) == order).all()
    assert (roll.find(rng.integers(0, 256, (1000, 16), np.uint8)) == UNKNOWN).all()


def test_nobody_is_found_in_an_empty_roll_and_nobody_may_be_added() -> None:
    roll = UserIndex()
    assert roll.find(bytes_of([(0, 0)])).tolist() == [UNKNOWN]  # the pseudonym of zeros is not "nobody"
    assert roll.add(bytes_of([])).tolist() == []
    assert roll.users.shape == (0, 16)
    assert roll.add(bytes_of([(0, 0), (0, 0)])).tolist() == [0, 0]
    assert len(roll) == 1
