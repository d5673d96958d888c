"""A small state that has grown stands in chunks beside its record, and comes back whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from murmurate.agents.kafka.state import MOST_SMALL, StateRecord, joined, split
from murmurate.agents.stages.stage import Log

MARKS = {Log("tallies", 0): 7}
RECORD = StateRecord(MARKS, MARKS, b"small", None, {"screen": ("0123456789abcdef", 1)})


def grown(size: int) -> StateRecord:
    return replace(RECORD, small=bytes(i % 251 for i in range(size)))


@pytest.mark.parametrize("size", [0, 5, MOST_SMALL])
def test_a_small_state_stays_in_its_record(size: int) -> None:
    assert split(grown(size), None) == (grown(size), [])
    assert joined(grown(size), []) == grown(size).small


@pytest.mark.parametrize("size", [MOST_SMALL + 1, 2 * MOST_SMALL, 3 * MOST_SMALL + 5])
def test_a_grown_one_comes_back_whole_from_its_chunks(size: int) -> None:
    record, chunks = split(grown(size), (41, RECORD))
    assert max(map(len, chunks)) <= MOST_SMALL
    read = StateRecord.load(record.dump(), "state 0")
    assert read.snapshot is not None
    assert (read.small, read.snapshot.chunks, read.snapshot.offset) == (b"", len(chunks), 42)
    assert joined(read, chunks) == grown(size).small


def test_chunks_never_overwrite_those_of_the_record_before() -> None:
    before, generations = None, list[int]()
    for offset in (10, 20, 30):
        record, _ = split(grown(MOST_SMALL + 1), before)
        assert record.snapshot is not None
        generations.append(record.snapshot.generation)
        before = offset, record
    assert generations == [0, 1, 0]
