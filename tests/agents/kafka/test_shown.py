# SPDX-License-Identifier: Apache-2.0
"""Who reads what a transaction wrote waits until all of it is shown, and for one that hangs no longer than it must."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from murmurate.agents.kafka import shown
from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.shown import until_shown

PLACES = [Place("reports", 0), Place("reports", 1)]


class Told:
    """A reader that is told other ends each time, and the last ones for ever."""

    def __init__(self, *ends: tuple[int, int]) -> None:
        self.ends, self.asked = ends, 0

    async def bounds(self, places: Collection[Place]) -> dict[Place, tuple[int, int]]:
        ends = self.ends[min(self.asked, len(self.ends) - 1)]
        self.asked += 1
        return {place: (0, ends[place.partition]) for place in places}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "AGAIN_S", 0.0)


@pytest.mark.parametrize(
    ("committed", "asked"),
    [(((7, 9),), 1), (((8, 9),), 1), (((7, 8), (7, 8), (8, 9)), 3), (((6, 9), (7, 9)), 2)],
)
def test_every_partition_is_waited_for(committed: tuple[tuple[int, int], ...], asked: int) -> None:
    everything, reader = Told((7, 9), (100, 100)), Told(*committed)
    asyncio.run(until_shown(everything, reader, PLACES))
    assert (everything.asked, reader.asked) == (1, asked)


def test_who_is_told_to_stop_waits_no_longer() -> None:
    reader = Told((0, 0))
    asyncio.run(until_shown(Told((7, 9)), reader, PLACES, lambda: reader.asked == 5))
    assert reader.asked == 5


def test_one_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "LONGEST_S", 0.0)
    reader = Told((0, 0))
    asyncio.run(until_shown(Told((7, 9)), reader, PLACES))
    assert reader.asked >= 1
