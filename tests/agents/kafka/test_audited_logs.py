# SPDX-License-Identifier: Apache-2.0
"""The logs as an auditor takes them, from brokers in memory that show a transaction partition by partition."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, cast

import pytest

from murmurate.agents.audit.auditor import Auditor
from murmurate.agents.kafka.audited_logs import AuditedLogs, Passed
from murmurate.agents.kafka.client import Client, Described, Got, Place
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.stages.stage import Log
from murmurate.topics.names import TOPICS
from tests.agents.audit.test_auditor import PLAN, Tape, honest
from tests.agents.world import KEYS, TOPIC

COUNTS = {"perturb": PLAN.partitions, "aggregate": PLAN.targets}


class Brokers:
    """Logs in memory. `open`: from where on a partition's records belong to a transaction that is not over there."""

    def __init__(self, tape: Tape) -> None:
        counts = {"raw": PLAN.partitions, "reports": PLAN.targets, "batches": PLAN.targets}
        self.records: dict[Place, list[tuple[bytes | None, bytes] | None]] = {
            Place(f"{PLAN.name}.{name}", p): [(None, value) for value in tape.records[name, p]]
            for name in TOPICS for p in range(counts.get(name, 1))
        }  # fmt: skip
        self.open: dict[Place, int] = {}
        ends = {Log(place.topic.removeprefix(f"{PLAN.name}."), place.partition): len(held)
                for place, held in self.records.items()}  # fmt: skip
        for stage, count in COUNTS.items():
            for p in range(count):
                state = StateRecord(ends, {}, b"", None, {})
                self.records[Place(f"{PLAN.name}.state.{stage}", p)] = [(state_key(p), state.dump())]

    def end(self, place: Place, *, aborted: bool) -> int:
        return len(self.records[place]) if aborted else self.open.get(place, len(self.records[place]))

    def reader(self, *, aborted: bool = False) -> MemoryReader:
        return MemoryReader(self, aborted=aborted)

    def admin(self) -> MemoryAdmin:
        return MemoryAdmin(self)


class Opened:
    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *what: object) -> None:
        pass


class MemoryAdmin(Opened):
    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def describe(self, names: Sequence[str]) -> dict[str, Described]:
        counts = {name: sum(place.topic == name for place in self._brokers.records) for name in names}
        return {name: Described(count, 1, {}) for name, count in counts.items() if count}


class MemoryReader(Opened):
    def __init__(self, brokers: Brokers, *, aborted: bool) -> None:
        self._brokers, self._aborted, self._at = brokers, aborted, dict[Place, int]()

    def at(self, offsets: Mapping[Place, int]) -> None:
        self._at = dict(offsets)

    async def position(self, place: Place) -> int:
        return self._at[place]

    async def bounds(self, places: Collection[Place]) -> dict[Place, tuple[int, int]]:
        return {place: (0, self._brokers.end(place, aborted=self._aborted)) for place in places}

    async def poll(self, timeout_ms: int = 0) -> list[Got]:
        found = []
        for place, at in self._at.items():
            end = self._brokers.end(place, aborted=self._aborted)
            held = self._brokers.records[place][at:end]
            found += [Got(place, at + i, *one, 0) for i, one in enumerate(held) if one is not None]
            self._at[place] = end
        return found

    async def between(self, place: Place, start: int, stop: int) -> AsyncIterator[Got]:
        self.at({place: start})
        for got in await self.poll():
            yield got


async def passes(brokers: Brokers, *between: Any) -> list[tuple[int, Passed]]:
    """After each pass how many violations there are, and how far it went; between them this is done."""
    found: list[tuple[int, Passed]] = []
    async with AuditedLogs(cast(Client, cast(Any, brokers)), PLAN) as logs:
        await logs.begin()
        auditor = Auditor(PLAN, KEYS.edge.devices, {TOPIC: 2})
        for change in (None, *between):
            if change is not None:
                change()
            passed = await logs.take(auditor, looked_ms=len(found) + 1)
            assert passed is not None
            found.append((auditor.found.lost + auditor.found.miscounted, passed))
    return found


def half_shown(log: str) -> tuple[Brokers, Place]:
    """Brokers whose marks show everything done, where the last part of a log is not shown yet: nothing follows it."""
    brokers = Brokers(Tape(honest()))
    for place, held in brokers.records.items():
        if log == "reports" and place.topic.endswith((".batches", ".tallies", ".state.aggregate")):
            held.clear()  # nobody has read those reports
    place = Place(f"{PLAN.name}.{log}", 0)
    brokers.open[place] = 3 * len(brokers.records[place]) // 4
    return brokers, place


@pytest.mark.parametrize("log", ["tallies", "reports"])
def test_what_a_transaction_may_still_show_is_not_missing(log: str) -> None:
    brokers, _ = half_shown(log)
    seen = asyncio.run(passes(brokers, brokers.open.clear))
    assert [wrong for wrong, _ in seen] == [0, 0]
    assert [passed.judged_ms for _, passed in seen] == [None, 2]


@pytest.mark.parametrize("log", ["tallies", "reports"])
def test_what_a_transaction_has_taken_back_is_missing(log: str) -> None:
    brokers, place = half_shown(log)

    def abort() -> None:
        at, held = brokers.open.pop(place), brokers.records[place]
        held[at:] = [None] * (len(held) - at)

    seen = asyncio.run(passes(brokers, abort))
    assert seen[0][0] == 0 < seen[1][0]
    assert [passed.judged_ms for _, passed in seen] == [None, 2]
