# SPDX-License-Identifier: Apache-2.0
"""The auditor's table of users is a dictionary from pseudonyms to rows, many at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.audit.user_table import NOBODY, UserTable


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40), max_size=6), st.booleans())
def test_it_gives_each_pseudonym_the_row_of_its_first_appearance(
    batches: list[list[tuple[int, int]]], far: bool
) -> None:
    table, rows = UserTable(), dict[tuple[int, int], int]()
    for batch in batches:
        users = np.array(batch or np.zeros((0, 2)), np.uint64)
        if far:
            users = users * np.uint64(0x9E3779B97F4A7C15)
        pseudonyms = np.ascontiguousarray(users).view(np.uint8).reshape(len(batch), 16)
        assert table.find(pseudonyms).tolist() == [rows.get(user, NOBODY) for user in batch]
        for user in batch:
            rows.setdefault(user, len(rows))
        assert table.add(pseudonyms).tolist() == [rows[user] for user in batch]
        assert len(table) == len(rows) == len(table.users)
        assert (table.of(table.find(pseudonyms)) == pseudonyms).all()


def test_it_grows_with_its_users() -> None:
    chance, table = np.random.default_rng(1), UserTable()
    users = chance.integers(0, 256, (20_000, 16), np.uint8)
    for start in range(0, len(users), 3000):
        assert (table.add(users[start : start + 3000]) == np.arange(start, min(start + 3000, len(users)))).all()
    assert (table.find(users[::-1]) == np.arange(len(users))[::-1]).all()
    assert (table.find(users[:10] ^ np.uint8(1)) == NOBODY).all()
