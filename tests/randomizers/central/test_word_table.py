# SPDX-License-Identifier: Apache-2.0
"""Tables of one word: every outcome has exactly its level's words, and arrays are looked up as plain Python does it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.randomizers import ParameterError
from murmurate.randomizers.central.word_table import TOP, WordTable
from tests.cases import every

CUTS = st.lists(st.integers(0, TOP), max_size=40)


def levels_between(cuts: list[int]) -> list[int]:
    edges = [0, *sorted(cuts), TOP]
    return [after - before for before, after in pairwise(edges)]


@given(CUTS)
def test_every_outcome_has_exactly_as_many_words_as_its_level_says(cuts: list[int]) -> None:
    levels = levels_between(cuts)
    table = WordTable(levels, range(100, 100 + len(levels)))
    assert [table.count(100 + i) for i in range(len(levels))] == levels


@given(CUTS)
def test_each_cell_gives_its_first_outcome_up_to_a_word_and_its_second_after_it(cuts: list[int]) -> None:
    # An outcome is constant between these words, so that looking at them and their neighbours is looking at all words.
    levels = levels_between(cuts)
    table = WordTable(levels, range(len(levels)))
    last = table._last.tolist()
    width = TOP // len(last)
    words = [w for cell, end in enumerate(last) for w in (cell * width, end, end + 1, (cell + 1) * width - 1)]
    words = [word for word in words if word < TOP]
    found = table.pick(np.array(words, np.uint64))
    assert found.tolist() == [table.pick_one(word) for word in words]
    counted = [0] * len(levels)
    for cell, end in enumerate(last):
        counted[table.pick_one(end)] += end + 1 - cell * width
        if end + 1 < (cell + 1) * width:
            counted[table.pick_one(end + 1)] += (cell + 1) * width - end - 1
    assert counted == levels


@every("levels", [[TOP - 1], [TOP, 1], [TOP + 1, -1], [TOP // 2] * 3])
def test_levels_that_do_not_add_to_all_words_are_refused(levels: list[int]) -> None:
    with pytest.raises(ParameterError, match="levels: found"):
        WordTable(levels, range(len(levels)))
