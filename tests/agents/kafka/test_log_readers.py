# SPDX-License-Identifier: Apache-2.0
"""A log that is read once for all: everybody gets every record from their offset on, in order, whenever they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import pytest

from murmurate.agents.kafka.client import Client, Got, Place, RecordRun
from murmurate.agents.kafka.errors import AwayError
from murmurate.agents.kafka.log_readers import SharedLog

ROUNDS = Place("shop.rounds", 0)


class Log:
    """A log in memory, and how often it was opened. Each of its readers gives a few records at a time."""

    def __init__(self) -> None:
        self.size, self.opened, self.broken = 0, 0, False

    def reader(self, *, patience_ms: int = 0) -> Reader:
        return Reader(self)


class Reader:
    def __init__(self, log: Log) -> None:
        self._log, self._at = log, 0

    async def __aenter__(self) -> Reader:
        self._log.opened += 1
        return self

    async def __aexit__(self, *what: object) -> None:
        pass

    def at(self, offsets: Mapping[Place, int]) -> None:
        self._at = offsets[ROUNDS]

    async def runs(self) -> list[RecordRun]:
        await asyncio.sleep(0)
        if self._log.broken:
            raise AwayError("gone")
        found = [(offset, b"%d" % offset) for offset in range(self._at, min(self._at + 3, self._log.size))]
        self._at += len(found)
        return [RecordRun(ROUNDS, found)] if found else []

    async def position(self, place: Place) -> int:
        return self._at

    async def between(self, place: Place, start: int, stop: int) -> AsyncIterator[Got]:
        for offset in range(start, stop):
            await asyncio.sleep(0)  # others come while somebody catches up
            yield Got(ROUNDS, offset, None, b"%d" % offset, 0)


async def until(wanted: int, *lists: list[int]) -> None:
    async with asyncio.timeout(10):
        while any(len(one) < wanted for one in lists):
            await asyncio.sleep(0)


def follow(shared: SharedLog, start: int) -> tuple[list[int], asyncio.Task[None]]:
    seen: list[int] = []
    return seen, asyncio.create_task(
        shared.follow(start, lambda run: seen.extend(offset for offset, _ in run.records), lambda place, at: None)
    )


def test_whoever_comes_later_and_from_further_back_gets_every_record_once_and_in_order() -> None:
    async def run() -> None:
        log = Log()
        log.size = 50
        shared = SharedLog(cast(Client, cast(Any, log)), ROUNDS)
        first, one = follow(shared, 20)
        await until(10, first)
        second, two = follow(shared, 0)
        log.size = 90
        await until(70, first)
        await until(90, second)
        assert (first, second) == (list(range(20, 90)), list(range(90)))
        assert log.opened == 2  # one for both, and one to catch up
        two.cancel()
        log.size = 95
        await until(75, first)
        one.cancel()
        await asyncio.gather(one, two, return_exceptions=True)
        again, three = follow(shared, 93)
        await until(2, again)
        assert again == [93, 94]
        three.cancel()

    asyncio.run(run())


def test_a_log_that_cannot_be_read_fails_everybody_and_can_be_followed_again() -> None:
    async def run() -> None:
        log = Log()
        log.size = 5
        shared = SharedLog(cast(Client, cast(Any, log)), ROUNDS)
        first, one = follow(shared, 0)
        second, two = follow(shared, 0)
        await until(5, first, second)
        log.broken = True
        for each in (one, two):
            with pytest.raises(AwayError):
                await each
        log.broken = False
        again, three = follow(shared, 0)
        await until(5, again)
        three.cancel()

    asyncio.run(run())
