# SPDX-License-Identifier: Apache-2.0
"""The word of quiet doors: at a raw partition it says what a progress record of each of them would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from murmurate.agents.stages.closing import Closing

WORDS = some.lists(some.tuples(some.sets(some.integers(0, 3), min_size=1), some.integers(0, 40_000)), max_size=12)


@given(WORDS)
def test_a_word_of_several_doors_closes_what_their_progress_would(words: list[tuple[set[int], int]]) -> None:
    together, alone = Closing(1000, 500, 4), Closing(1000, 500, 4)
    clock = 0
    for partitions, step in words:
        clock += step
        together.shown(sorted(partitions), clock)
        for partition in sorted(partitions):
            alone.progress(partition, clock)
        assert together.times == alone.times
        assert together.reached_t == alone.reached_t
