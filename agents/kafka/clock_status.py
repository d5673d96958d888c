# SPDX-License-Identifier: Apache-2.0
"""What is wrong with clocks, by what workers and doors have written: a line each, for `murmurate status`.

Contract: a worker that runs is judged by its own record of how far its clock is from the brokers'; a door by the time
that it passed on last, beside the moment at which the brokers appended that, so that it does not matter what time it is
where this is asked.  State topics that may not be read show nothing here.  Not here: measuring (skew.py), setting a
door's clock back (repair_clock.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

import orjson

from murmurate.agents.kafka.client import Client, Got, Place, Reader
from murmurate.agents.kafka.collect import last, span
from murmurate.agents.kafka.errors import RefusedError
from murmurate.agents.kafka.skew import KEY
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.stages.door import clock_of
from murmurate.agents.stages.table import TABLE
from murmurate.config.plan import Plan
from murmurate.config.quantities import shortest
from murmurate.topics.names import ZONES

BACK: Final = 1000
"""How many offsets back the records of workers are looked for: a worker writes one every ten seconds, and a door moves
the end by at most eight offsets a second, which is where events come all the time.
"""
STILL_MS: Final = 60_000
"""A door that has passed no tick for so long, and the longest period and lateness, stands still."""


async def clock_lines(
    client: Client, plan: Plan, there: Mapping[str, list[Place]], running: Mapping[str, Set[str]], now_ms: int, *,
    fed: bool,
) -> list[str]:  # fmt: skip
    """A line for each clock that is wrong. `running`: the workers of each stage."""
    found = []
    async with client.reader() as reader:
        for zone in ZONES:
            first = next(row.name for row in TABLE.values() if row.zone == zone)
            place = Place(f"{plan.name}.state.{first}", 0)
            if place.topic in there:
                try:
                    found += list(_workers(await _told(reader, place), running.get(first, set())))
                except RefusedError:
                    continue  # what may not be read is said of the stage's lag
        doors = there.get(f"{plan.name}.state.door", [])
        if doors and not fed:
            try:
                newest = await newest_states(reader, doors)
            except RefusedError:
                return found
            for got in newest:
                found += _door(plan, got, now_ms, manned=bool(running.get("door")))
    return found


async def newest_states(reader: Reader, places: list[Place]) -> list[Got]:
    """The newest state record of each of these partitions that has one."""
    _, found = await last(reader, places, 1, lambda got: got.key == state_key(got.place.partition) and bool(got.value))
    return [records[-1] for _, records in sorted(found.items()) if records]


async def _told(reader: Reader, place: Place) -> dict[str, dict[str, Any]]:
    """The newest record of each worker about its clock."""
    first, end = (await reader.bounds([place]))[place]
    found: dict[str, dict[str, Any]] = {}
    async for got in span(reader, {place: (max(first, end - BACK), end)}):
        if got.key is not None and got.key.startswith(KEY) and got.value:
            with contextlib.suppress(ValueError):  # somebody else wrote it
                found[got.key.removeprefix(KEY).decode(errors="replace")] = dict(orjson.loads(got.value))
    return found


def _workers(told: Mapping[str, dict[str, Any]], running: Set[str]) -> Iterator[str]:
    for worker in sorted(told.keys() & running):
        skew, bound, bounded = (_whole(told[worker].get(name)) for name in ("skew_ms", "bound_ms", "bounded"))
        if abs(skew) > bound > 0:
            yield (
                f"worker {worker}: found its clock {abs(skew) / 1000:.1f} s {'ahead of' if skew > 0 else 'behind'} the "
                f"brokers'; allowed: {shortest(bound)} (time.skew). It gives no tick: set its machine's clock"
            )
        if bounded:
            yield (
                f"worker {worker}: found {bounded} ticks with ends above those of their sources, and cut them; "
                "allowed: none. They were forged, or records were lost: its log says where"
            )


def _whole(said: Any) -> int:
    return said if isinstance(said, int) else 0


def _door(plan: Plan, got: Got, now_ms: int, *, manned: bool) -> Iterator[str]:
    """By the wall clock alone: what a recording's clock shows is of another day."""
    where = f"{got.place.topic} {got.place.partition}"
    record = StateRecord.load(got.value or b"", where)
    clock, topics = clock_of(record.small), {log.topic for log in record.marks}
    if not clock:
        return
    name = ", ".join(f"{log.topic}/{log.partition}" for log in record.marks)
    ahead, still = clock - got.time_ms, now_ms - clock
    longest = max((stream.every_ms for stream in plan.everything if stream.topic in topics), default=0)
    if ahead > 2 * plan.skew_ms:  # each of two workers may be off by as much as is allowed
        yield (
            f"door {name}: found its clock {ahead / 1000:.1f} s ahead of the brokers'; allowed: {2 * plan.skew_ms} ms. "
            "Whatever comes until then is refused as late: see `murmurate repair clock`"
        )
    elif manned and still > longest + plan.lateness_ms + STILL_MS:
        yield (
            f"door {name}: found no tick passed for {still // 1000} s; allowed: {STILL_MS // 1000} s more than a "
            "period and lateness. Its worker's clock is refused (its log, /readyz), or it waits for an open transaction"
        )
